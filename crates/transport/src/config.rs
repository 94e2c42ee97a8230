//! What a scenario may set of a host's stack and of an application. Plain data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

/// Whose rules the TCP follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Linux 6.x: RACK-TLP, PRR, F-RTO, quick-ACK, autotuning, TSO autosizing.
    #[default]
    Linux,
    /// RFC 5681, 6582, 6675: dup-ACK counting, limited transmit, SACK pipe; no RACK, TLP or undo.
    Rfc,
}

/// A host's TCP. Everything left out takes its profile's default.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stack {
    /// `linux` (default) or `rfc`.
    pub profile: Profile,
    /// Initial window, segments (default 10, RFC 6928).
    pub initial_window: Option<u32>,
    /// Maximum segment size in bytes of TCP payload with options counted off, as `iperf3 -M`
    /// sets it before timestamps; default: the path's MTU - 40.
    pub mss: Option<u32>,
    /// TCP timestamps (RFC 7323): 12 bytes of each segment. Default true for linux, false for rfc.
    pub timestamps: Option<bool>,
    /// Selective acknowledgement (RFC 2018). Default true.
    pub sack: Option<bool>,
    /// Negotiate ECN (RFC 3168). Default false.
    pub ecn: Option<bool>,
    /// A fixed receive window (awnd): no autotuning.
    pub receive_window: Option<Bytes>,
    /// Largest receive buffer autotuning may reach (`tcp_rmem[2]`, default 6 MiB).
    pub receive_buffer: Option<Bytes>,
    /// Largest send buffer (`tcp_wmem[2]`, default 4 MiB).
    pub send_buffer: Option<Bytes>,
    /// Longest delay of an ACK: default 40 ms for linux (200 ms for rfc).
    pub delayed_ack: Option<Span>,
    /// Smallest retransmission timeout: default 200 ms for linux, 1 s for rfc (RFC 6298).
    pub rto_min: Option<Span>,
    /// Pace every connection (as with the `fq` queue discipline), not only those whose
    /// congestion control asks for it.
    pub pacing: Option<bool>,
    /// Segmentation offload: bursts sized as Linux sizes them. Default true for linux.
    pub tso: Option<bool>,
}

/// How packets of a datagram source are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Evenly.
    #[default]
    Constant,
    /// Exponential gaps.
    Poisson,
}

/// What a flow does. `bulk`, `request`, `onoff` ride on TCP; `udp` on UDP.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum App {
    /// Sends as fast as TCP lets it, for a time or a number of bytes; with neither, to the end of the run.
    Bulk {
        /// Stop sending after this long.
        #[serde(default)]
        duration: Option<Span>,
        /// Stop after this many bytes.
        #[serde(default)]
        bytes: Option<Bytes>,
    },
    /// The flow's `from` asks, its `to` answers, then `from` thinks.
    Request {
        /// Size of a request.
        request: Bytes,
        /// Size of an answer.
        response: Bytes,
        /// Pause between an answer and the next request.
        #[serde(default)]
        think: Option<Span>,
        /// How many exchanges; without it, to the end of the run.
        #[serde(default)]
        count: Option<u64>,
    },
    /// Bulk in bursts: sends for `on`, pauses for `off`.
    Onoff {
        /// Length of a burst.
        on: Span,
        /// Length of a pause.
        off: Span,
        /// Rate at which the application writes while on; without it, as fast as TCP lets it.
        #[serde(default)]
        rate: Option<Rate>,
    },
    /// Datagrams at a rate, counted on IP level.
    Udp {
        /// Rate of IP bytes.
        rate: Rate,
        /// IP packet size in bytes (default 1500).
        #[serde(default)]
        size: Option<u32>,
        /// Evenly or Poisson.
        #[serde(default)]
        arrival: Arrival,
        /// Stop after this long.
        #[serde(default)]
        duration: Option<Span>,
    },
}
