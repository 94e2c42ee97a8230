//! The diagnosis of UDP flows in a capture.

use crate::RttSummary;
use crate::both_ends::UdpBetweenEnds;
use crate::diagnosis::{Limiter, LimiterKind};
use serde::{Deserialize, Serialize};

/// The diagnosis of one direction between two UDP ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpFlowDiagnosis {
    /// The flow's id among the UDP flows: even for the end that sent first, odd for the other.
    pub id: u32,
    /// Sending end, `address:port`.
    pub from: String,
    /// Receiving end, `address:port`.
    pub to: String,
    /// Detected protocol: `quic`, `rtp` or `udp`.
    pub protocol: String,
    /// First datagram, seconds since the capture began.
    pub start_s: f64,
    /// Time from the first to the last datagram, s.
    pub duration_s: f64,
    /// Datagrams.
    pub packets: u64,
    /// Payload bytes.
    pub payload_bytes: u64,
    /// Bytes including IP headers.
    pub ip_bytes: u64,
    /// `ip_bytes` over the duration, Mbit/s.
    pub rate_mbps: f64,
    /// Highest rate over half a second, Mbit/s of IP bytes; absent for shorter flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_rate_mbps: Option<f64>,
    /// Rate over time.
    pub over_time: Vec<UdpRate>,
    /// Whether losses are known, and their source.
    pub loss: UdpLoss,
    /// Datagrams lost; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
    /// RTTs measured by the spin bit, ms, including delays of the ends (RFC 9312 section 3.8.2); absent
    /// where the bit does not spin.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spin_rtt_ms: Option<RttSummary>,
    /// Facts from QUIC's handshake; absent for other protocols.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quic: Option<QuicFacts>,
    /// Facts from RTP's sequence numbers and timestamps; absent for other protocols.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtp: Option<RtpFacts>,
    /// The rate limiter that the flow passes; absent where none shows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limiter: Option<Limiter>,
    /// Losses and delays between two captures of the path; absent where there is only one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub between_ends: Option<UdpBetweenEnds>,
}

impl UdpFlowDiagnosis {
    /// Kind of the limiter.
    pub fn limited_by(&self) -> Option<LimiterKind> {
        self.limiter.as_ref().map(|l| l.kind)
    }
}

/// Rate and losses in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpRate {
    /// Begin of the interval, seconds since the capture began.
    pub from_s: f64,
    /// Length of the interval, s.
    pub width_s: f64,
    /// Rate of IP bytes, Mbit/s.
    pub mbps: f64,
    /// Datagrams lost in the interval; absent where the times of losses are unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
}

/// Source of knowledge about the losses of a UDP flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UdpLoss {
    /// None: the packets do not show what is missing.
    #[default]
    NotVisible,
    /// RTP's sequence numbers show losses before the capture; losses after it are unknown.
    BeforeCapture,
    /// The sender's own qlog.
    Qlog,
    /// Two captures, one at each end, show losses between them.
    BothEnds,
}

/// Facts that QUIC reveals without decryption.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuicFacts {
    /// Version, hexadecimal: `1` (RFC 9000), `6b3343cf` (version 2, RFC 9369) ….
    pub version: String,
    /// Destination connection ID of the client's first Initial packet, hexadecimal.
    pub destination_id: String,
    /// Connection ID that the client chose, hexadecimal.
    pub source_id: String,
    /// Whether this direction is sent by the client.
    pub from_client: bool,
    /// RTT of the handshake, ms, including the ends' processing times (RFC 9312 section 3.8.1); absent where
    /// a packet of the handshake was retransmitted or is missing from the capture.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handshake_rtt_ms: Option<f64>,
    /// Share of `handshake_rtt_ms` between capture and server; absent where that is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_server_ms: Option<f64>,
    /// Share of `handshake_rtt_ms` between capture and client; absent where that is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_client_ms: Option<f64>,
    /// Whether the server sent Retry or Version Negotiation.
    pub retried: bool,
    /// Behaviour of the spin bit (RFC 9000 section 17.4).
    pub spin: SpinBit,
}

/// Behaviour of the spin bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SpinBit {
    /// Unknown: too few packets, or the bit changes so often that it may be random per packet.
    #[default]
    Unknown,
    /// The bit spins.
    Spins,
    /// The bit is constant: an end has disabled it.
    Disabled,
}

/// Facts that RTP (RFC 3550) reveals, of the source with most packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtpFacts {
    /// Synchronisation source (SSRC).
    pub ssrc: u32,
    /// Payload type.
    pub payload_type: u8,
    /// Packets of this source.
    pub packets: u64,
    /// Packets that did not arrive: lost between sender and capture.
    pub lost: u64,
    /// Packets that arrived after a later one.
    pub reordered: u64,
    /// Packets that arrived twice.
    pub duplicates: u64,
    /// Rate of the timestamp clock, Hz; absent where it is not a known one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_hz: Option<f64>,
    /// Interarrival jitter at the end of the flow, ms (RFC 3550 section 6.4.1); absent where the clock rate
    /// is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_ms: Option<f64>,
    /// Maximum of the interarrival jitter, ms; absent where the clock rate is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_jitter_ms: Option<f64>,
}
