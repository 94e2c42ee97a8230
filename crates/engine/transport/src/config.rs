//! What a scenario may set of a host's stack and of an application. Plain data.

use crate::segment::{Flags, HEADER, Segment, TIMESTAMP_OPTION};
use crate::voice::Codec;
use crate::windows;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

/// Whose rules the TCP follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Linux 6.x: RACK-TLP, PRR, F-RTO, quick-ACK, autotuning, TSO autosizing.
    #[default]
    Linux,
    /// RFC 5681, 6582, 6675: dup-ACK counting, limited transmit, SACK pipe; no RACK, TLP or undo.
    Rfc,
    /// Windows 10 (1607) with its Internet template: as `rfc`, and F-RTO, no restart after idle time,
    /// RACK-TLP where the handshake took 10 ms or more. See `windows.rs`.
    Windows,
}

/// Whether a sender looks for the path's MTU by the sizes that get through (`tcp_mtu_probing`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MtuProbing {
    /// Never: only ICMP tells.
    #[default]
    Off,
    /// Once timeouts say that large segments vanish.
    OnBlackhole,
    /// From the start.
    Always,
}

impl MtuProbing {
    /// The value of `net.ipv4.tcp_mtu_probing`.
    pub fn sysctl(self) -> u8 {
        match self {
            MtuProbing::Off => 0,
            MtuProbing::OnBlackhole => 1,
            MtuProbing::Always => 2,
        }
    }
}

/// A host's TCP. Everything left out takes its profile's default.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Stack {
    /// `linux` (default), `rfc` or `windows` (Windows 10; its congestion control is `compound`).
    pub profile: Profile,
    /// Initial window, segments (default 10, RFC 6928).
    pub initial_window: Option<u32>,
    /// Maximum segment size in bytes of TCP payload with options counted off, as `iperf3 -M`
    /// sets it before timestamps; default: the path's MTU - 40, or - 60 with IPv6.
    pub mss: Option<u32>,
    /// TCP timestamps (RFC 7323): 12 bytes of each segment. Default true for linux only.
    pub timestamps: Option<bool>,
    /// Selective acknowledgement (RFC 2018). Default true.
    pub sack: Option<bool>,
    /// Negotiate ECN (RFC 3168). Default false.
    pub ecn: Option<bool>,
    /// A fixed receive window (awnd): no autotuning.
    pub receive_window: Option<Bytes>,
    /// Receive buffer that autotuning begins with (`tcp_rmem[1]`, default 128 KiB; 64 KiB for windows, which
    /// counts payload alone).
    pub initial_receive_buffer: Option<Bytes>,
    /// Largest receive buffer autotuning may reach (`tcp_rmem[2]`, default 6 MiB; 16 MiB for windows).
    pub receive_buffer: Option<Bytes>,
    /// Largest send buffer (`tcp_wmem[2]`, default 4 MiB).
    pub send_buffer: Option<Bytes>,
    /// Longest delay of an ACK: default 40 ms for linux and windows, 200 ms for rfc.
    pub delayed_ack: Option<Span>,
    /// Smallest retransmission timeout: default 200 ms for linux, 300 ms for windows, 1 s for
    /// rfc (RFC 6298).
    pub rto_min: Option<Span>,
    /// Pace every connection (as with the `fq` queue discipline), not only those whose
    /// congestion control asks for it.
    pub pacing: Option<bool>,
    /// Segmentation offload: bursts sized as Linux sizes them. Default true for linux.
    pub tso: Option<bool>,
    /// Tail loss probes (RFC 8985 section 7; `tcp_early_retrans`), with SACK. Default true for linux, false for
    /// rfc; for windows where the handshake took 10 ms or more.
    pub tlp: Option<bool>,
    /// Shrink the congestion window after idle time, or while it is not used (RFC 5681 section 4.1, RFC 2861;
    /// `tcp_slow_start_after_idle`). Default true, false for windows.
    pub idle_restart: Option<bool>,
    /// Look for the path's MTU without ICMP (RFC 4821; `tcp_mtu_probing` 0, 1, 2): `off` (default), `on-blackhole`: after
    /// three seconds of timeouts in vain segments shrink to 1024 bytes, then to half each time; or `always`: they begin so.
    /// They grow again as far as larger ones come through (`tcp_mtu_probe`).
    pub mtu_probing: Option<MtuProbing>,
}

/// How packets of a datagram source are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Evenly.
    #[default]
    Constant,
    /// Exponential gaps.
    Poisson,
}

/// What a flow does. `bulk`, `request`, `page`, `onoff` ride on TCP; `udp`, `voice`, `probe` on UDP.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Pages as a browser loads them over HTTP/1.1: `from` opens its connections and asks on each for the next object when
    /// the one before is there, `to` answers, then `from` thinks. One flow of the result, whatever its connections.
    Page {
        /// Objects of a page.
        objects: u32,
        /// Size of an object.
        size: Bytes,
        /// Connections over which they come (default 6).
        #[serde(default)]
        connections: Option<u32>,
        /// Size of a request (default 400 B).
        #[serde(default)]
        request: Option<Bytes>,
        /// Pause between a page and the next, which comes over the same connections.
        #[serde(default)]
        think: Option<Span>,
        /// How many pages; without it, to the end of the run.
        #[serde(default)]
        count: Option<u64>,
        /// Size of the document that comes first and names the objects; without it all are known at once.
        #[serde(default)]
        html: Option<Bytes>,
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
    /// One direction of a call: a packet of speech every 20 ms, without silence suppression. The result says how it
    /// sounds (`real_time.mos`).
    Voice {
        /// `g711` (64 kbit/s, 200 bytes of IP packet), `g729` (8 kbit/s, 60 bytes) or `opus` (24 kbit/s, 100 bytes).
        codec: Codec,
        /// How much later than the fastest packet of the run one may come and still be heard (default 60 ms).
        #[serde(default)]
        jitter_buffer: Option<Span>,
        /// Hang up after this long.
        #[serde(default)]
        duration: Option<Span>,
    },
    /// Small datagrams that the other end sends back at once, as `ping` does: the delay that others meet, there and back.
    Probe {
        /// Time between two probes (default 100 ms).
        #[serde(default)]
        interval: Option<Span>,
        /// IP packet size in bytes (default 64).
        #[serde(default)]
        size: Option<u32>,
        /// Stop after this long.
        #[serde(default)]
        duration: Option<Span>,
    },
}

impl App {
    /// Whether the flow's `to` sends more than its `from`: then it is the side whose sending a result tells of.
    pub fn answers(&self) -> bool {
        self.asking().is_some_and(|asking| {
            let [answers, requests] = asking.sizes();
            answers > requests
        })
    }

    /// How many connections it opens.
    pub fn connections(&self) -> u32 {
        self.asking().map_or(1, |asking| asking.connections)
    }

    /// Whether it comes to an end by itself, given time.
    pub fn has_end(&self) -> bool {
        match self {
            App::Bulk { duration, bytes } => duration.is_some() || bytes.is_some(),
            App::Request { count, .. } | App::Page { count, .. } => count.is_some(),
            App::Onoff { .. } | App::Udp { .. } | App::Voice { .. } | App::Probe { .. } => false,
        }
    }
}

/// `TCP_MSS_DEFAULT`: what a peer takes that says nothing (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// What one end's SYN says it can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Largest segment it takes, bytes of payload and options.
    pub mss: u32,
    /// TCP timestamps (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgement (RFC 2018).
    pub sack: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// By how many bits its windows are shifted (RFC 7323); none: windows are below 64 KiB, both ways.
    pub scale: Option<u8>,
}

impl Offer {
    /// What a SYN or SYN-ACK says.
    pub fn of(seg: &Segment) -> Offer {
        let options = seg.syn_options();
        // Asking takes both flags, agreeing only the echo (RFC 3168 section 6.1.1).
        let (echo, reduced) = (seg.flags.has(Flags::ECE), seg.flags.has(Flags::CWR));
        Offer {
            mss: options.mss.map_or(DEFAULT_MSS, u32::from),
            timestamps: seg.ts_val != 0,
            sack: seg.sack_ok,
            ecn: echo && reduced != seg.flags.has(Flags::ACK),
            scale: options.scale,
        }
    }
}

/// A [`Stack`] with every default filled in for one connection.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// Whose rules.
    pub profile: Profile,
    /// Initial window, segments.
    pub initial_window: u32,
    /// What this end's SYN offers. Of the next five fields a connection learns by the peer's what is in
    /// force ([`Limits::agree`]).
    pub offer: Offer,
    /// Payload bytes of a full segment, options counted off.
    pub mss: u32,
    /// Timestamps on every segment.
    pub timestamps: bool,
    /// SACK negotiated.
    pub sack: bool,
    /// ECN negotiated.
    pub ecn: bool,
    /// Windows are scaled.
    pub scaled: bool,
    /// Fixed receive window, bytes.
    pub receive_window: Option<u64>,
    /// Receive buffer to begin with, bytes, if not the profile's own.
    pub initial_receive_buffer: Option<u64>,
    /// Largest receive buffer, bytes.
    pub receive_buffer: u64,
    /// Largest send buffer, bytes.
    pub send_buffer: u64,
    /// Longest ACK delay.
    pub delayed_ack: Span,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
    /// Pace whatever the congestion control says.
    pub pacing: bool,
    /// Burst sizing.
    pub tso: bool,
    /// Tail loss probes, if not by the profile.
    pub tlp: Option<bool>,
    /// Shrink the window after idle time.
    pub idle_restart: bool,
    /// Looking for the path's MTU.
    pub mtu_probing: MtuProbing,
    /// Upper bound of the pacing rate, bytes per second.
    pub max_pacing_rate: u64,
}

impl Limits {
    /// The peer offers this: an option is in force when both ends have it, the MSS is the smaller one.
    pub fn agree(&mut self, peer: &Offer) {
        let own = self.offer;
        self.timestamps = own.timestamps && peer.timestamps;
        let options = if self.timestamps { TIMESTAMP_OPTION } else { 0 };
        self.mss = own.mss.min(peer.mss).saturating_sub(options).max(1);
        self.sack = own.sack && peer.sack;
        self.ecn = own.ecn && peer.ecn;
        self.scaled = own.scale.is_some() && peer.scale.is_some();
    }
}

impl Stack {
    /// What this stack's SYN offers over a path of `mtu` bytes.
    fn offer(&self, mtu: u32) -> Offer {
        let largest = mtu.saturating_sub(HEADER).max(64);
        let buffer = self.receive_window.map_or(0, Bytes::get).max(self.largest_receive_buffer());
        // `tcp_select_initial_window`.
        let bits = buffer.max(1).ilog2().saturating_sub(15).min(14) as u8;
        Offer {
            mss: self.mss.unwrap_or(largest).min(largest),
            timestamps: self.timestamps.unwrap_or(self.profile == Profile::Linux),
            sack: self.sack.unwrap_or(true),
            ecn: self.ecn.unwrap_or(false),
            scale: Some(bits),
        }
    }

    /// Bytes that the receive buffer grows to at most.
    pub fn largest_receive_buffer(&self) -> u64 {
        let most = if self.profile == Profile::Windows { windows::BUFFER_MAX } else { 6 << 20 };
        self.receive_buffer.map_or(most, Bytes::get)
    }

    /// The limits of a connection of this stack over a path of `mtu` bytes to a peer that agrees to all
    /// it offers. A [`crate::Tcp`] learns from the peer's SYN what it does agree to.
    pub fn own_limits(&self, mtu: u32, max_pacing_rate: Option<Rate>) -> Limits {
        let (linux, windows) = (self.profile == Profile::Linux, self.profile == Profile::Windows);
        let (delayed_ack, rto_min) = match self.profile {
            Profile::Linux => (Span::from_millis(40), Span::from_millis(200)),
            Profile::Rfc => (Span::from_millis(200), Span::from_secs(1)),
            Profile::Windows => (windows::DELAYED_ACK, windows::RTO_MIN),
        };
        let offer = self.offer(mtu);
        let mut limits = Limits {
            profile: self.profile,
            initial_window: self.initial_window.unwrap_or(10).max(1),
            offer,
            mss: offer.mss,
            timestamps: offer.timestamps,
            sack: offer.sack,
            ecn: offer.ecn,
            scaled: true,
            receive_window: self.receive_window.map(Bytes::get),
            initial_receive_buffer: self.initial_receive_buffer.map(Bytes::get),
            receive_buffer: self.largest_receive_buffer(),
            send_buffer: self.send_buffer.map_or(4 << 20, Bytes::get),
            delayed_ack: self.delayed_ack.unwrap_or(delayed_ack),
            rto_min: self.rto_min.unwrap_or(rto_min),
            // SO_MAX_PACING_RATE turns pacing on (`sk_pacing_status`).
            pacing: self.pacing.unwrap_or(max_pacing_rate.is_some()),
            tso: self.tso.unwrap_or(linux),
            tlp: self.tlp,
            idle_restart: self.idle_restart.unwrap_or(!windows),
            mtu_probing: self.mtu_probing.unwrap_or_default(),
            max_pacing_rate: max_pacing_rate.map_or(u64::MAX, |r| r.as_bps() / 8),
        };
        limits.agree(&offer);
        limits
    }

    /// The same when `peer` is known ahead: what their handshake will agree on.
    pub fn limits(&self, peer: &Stack, mtu: u32, max_pacing_rate: Option<Rate>) -> Limits {
        let mut limits = self.own_limits(mtu, max_pacing_rate);
        limits.agree(&peer.offer(mtu));
        limits
    }
}
