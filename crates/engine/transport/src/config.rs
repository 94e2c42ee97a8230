//! Configuration of a host's TCP stack and of applications, as in a scenario.

use crate::segment::{Flags, HEADER, Segment, TIMESTAMP_OPTION};
use crate::voice::Codec;
use crate::windows;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

/// The implementation whose rules a TCP follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Linux 6.x: RACK-TLP, PRR, F-RTO, quick-ACK, autotuning, TSO autosizing.
    #[default]
    Linux,
    /// RFC 5681, 6582, 6675: duplicate-ACK counting, limited transmit, SACK pipe; no RACK, TLP or undo.
    Rfc,
    /// Windows 10 (1607) with its Internet template: as `rfc`, plus F-RTO, no restart after idle time, and
    /// RACK-TLP where the handshake took 10 ms or more. See `windows.rs`.
    Windows,
}

/// Whether a sender searches for the path MTU by probing (`tcp_mtu_probing`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MtuProbing {
    /// Never; only ICMP reports the MTU.
    #[default]
    Off,
    /// After timeouts that indicate a black hole for large segments.
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

/// A host's TCP stack. Settings that are left out have the profile's default.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Stack {
    /// `linux` (default), `rfc` or `windows` (Windows 10; its congestion control is `compound`).
    pub profile: Profile,
    /// Initial window, segments (default 10, RFC 6928).
    pub initial_window: Option<u32>,
    /// Maximum segment size, bytes of TCP payload without options, as set by `iperf3 -M` before timestamps
    /// are subtracted. Default: the path's MTU - 40, or - 60 with IPv6.
    pub mss: Option<u32>,
    /// TCP timestamps (RFC 7323), which take 12 bytes of each segment. Default true for linux only.
    pub timestamps: Option<bool>,
    /// Selective acknowledgement (RFC 2018). Default true.
    pub sack: Option<bool>,
    /// Negotiate ECN (RFC 3168). Default false.
    pub ecn: Option<bool>,
    /// Fixed receive window (awnd), without autotuning.
    pub receive_window: Option<Bytes>,
    /// Initial receive buffer of autotuning (`tcp_rmem[1]`, default 128 KiB; 64 KiB for windows, which
    /// counts payload only).
    pub initial_receive_buffer: Option<Bytes>,
    /// Maximum receive buffer of autotuning (`tcp_rmem[2]`, default 6 MiB; 16 MiB for windows).
    pub receive_buffer: Option<Bytes>,
    /// Maximum send buffer (`tcp_wmem[2]`, default 4 MiB).
    pub send_buffer: Option<Bytes>,
    /// Maximum delay of an ACK: default 40 ms for linux and windows, 200 ms for rfc.
    pub delayed_ack: Option<Span>,
    /// Minimum retransmission timeout: default 200 ms for linux, 300 ms for windows, 1 s for rfc (RFC 6298).
    pub rto_min: Option<Span>,
    /// Pace all connections (as with the `fq` qdisc), not only those with a congestion control that requires
    /// pacing.
    pub pacing: Option<bool>,
    /// Segmentation offload, with bursts of Linux's size. Default true for linux.
    pub tso: Option<bool>,
    /// Tail loss probes (RFC 8985 section 7; `tcp_early_retrans`), with SACK. Default true for linux, false
    /// for rfc; for windows true where the handshake took 10 ms or more.
    pub tlp: Option<bool>,
    /// Reduce the congestion window after idle time, or while it is not fully used (RFC 5681 section 4.1,
    /// RFC 2861; `tcp_slow_start_after_idle`). Default true, false for windows.
    pub idle_restart: Option<bool>,
    /// Search for the path MTU without ICMP (RFC 4821; `tcp_mtu_probing` 0, 1, 2). `off` (default);
    /// `on-blackhole`: after three seconds of unsuccessful timeouts, segments shrink to 1024 bytes, then by
    /// half each time; `always`: segments start at that size. They grow again as far as larger probes pass
    /// (`tcp_mtu_probe`).
    pub mtu_probing: Option<MtuProbing>,
}

/// Spacing of the packets of a datagram source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Constant intervals.
    #[default]
    Constant,
    /// Exponentially distributed intervals.
    Poisson,
}

/// The application of a flow. `bulk`, `request`, `page`, `onoff` use TCP; `udp`, `voice`, `probe` use UDP.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum App {
    /// Sends as fast as TCP allows, for a duration or a number of bytes; with neither, until the end of the
    /// run.
    Bulk {
        /// Duration of sending.
        #[serde(default)]
        duration: Option<Span>,
        /// Number of bytes to send.
        #[serde(default)]
        bytes: Option<Bytes>,
    },
    /// The flow's `from` sends a request, its `to` answers, and `from` pauses for the think time.
    Request {
        /// Size of a request.
        request: Bytes,
        /// Size of an answer.
        response: Bytes,
        /// Pause between an answer and the next request.
        #[serde(default)]
        think: Option<Span>,
        /// Number of exchanges; by default until the end of the run.
        #[serde(default)]
        count: Option<u64>,
    },
    /// Pages as a browser loads them over HTTP/1.1: `from` opens its connections and requests on each the
    /// next object when the previous one has arrived, `to` answers, and `from` pauses for the think time. The
    /// result has one flow, whatever the number of connections.
    Page {
        /// Number of objects per page.
        objects: u32,
        /// Size of an object.
        size: Bytes,
        /// Number of connections (default 6).
        #[serde(default)]
        connections: Option<u32>,
        /// Size of a request (default 400 B).
        #[serde(default)]
        request: Option<Bytes>,
        /// Pause between two pages; the next page uses the same connections.
        #[serde(default)]
        think: Option<Span>,
        /// Number of pages; by default until the end of the run.
        #[serde(default)]
        count: Option<u64>,
        /// Size of the document that is loaded first and lists the objects; by default all objects are known
        /// at once.
        #[serde(default)]
        html: Option<Bytes>,
    },
    /// Bulk transfer in bursts: sends for `on`, pauses for `off`.
    Onoff {
        /// Length of a burst.
        on: Span,
        /// Length of a pause.
        off: Span,
        /// Rate at which the application writes during a burst; by default as fast as TCP allows.
        #[serde(default)]
        rate: Option<Rate>,
    },
    /// Datagrams at a rate of IP bytes.
    Udp {
        /// Rate of IP bytes.
        rate: Rate,
        /// IP packet size, bytes (default 1500).
        #[serde(default)]
        size: Option<u32>,
        /// Spacing: constant or Poisson.
        #[serde(default)]
        arrival: Arrival,
        /// Duration of sending; by default until the end of the run.
        #[serde(default)]
        duration: Option<Span>,
    },
    /// One direction of a call: a packet of speech every 20 ms, without silence suppression. The result rates
    /// its quality (`real_time.mos`).
    Voice {
        /// `g711` (64 kbit/s, IP packets of 200 bytes), `g729` (8 kbit/s, 60 bytes) or `opus` (24 kbit/s,
        /// 100 bytes).
        codec: Codec,
        /// Jitter buffer: how much later than the fastest packet of the run a packet may arrive to be played
        /// (default 60 ms).
        #[serde(default)]
        jitter_buffer: Option<Span>,
        /// Duration of the call; by default until the end of the run.
        #[serde(default)]
        duration: Option<Span>,
    },
    /// Small datagrams that the other end returns at once, as `ping` does: they measure the round trip that
    /// others experience.
    Probe {
        /// Time between two probes (default 100 ms).
        #[serde(default)]
        interval: Option<Span>,
        /// IP packet size, bytes (default 64).
        #[serde(default)]
        size: Option<u32>,
        /// Duration of sending; by default until the end of the run.
        #[serde(default)]
        duration: Option<Span>,
    },
}

impl App {
    /// Whether the flow's `to` sends more than its `from`; results then describe the sending by `to`.
    pub fn answers(&self) -> bool {
        self.asking().is_some_and(|asking| {
            let [answers, requests] = asking.sizes();
            answers > requests
        })
    }

    /// Number of connections.
    pub fn connections(&self) -> u32 {
        self.asking().map_or(1, |asking| asking.connections)
    }

    /// Whether the application ends by itself, given enough time.
    pub fn has_end(&self) -> bool {
        match self {
            App::Bulk { duration, bytes } => duration.is_some() || bytes.is_some(),
            App::Request { count, .. } | App::Page { count, .. } => count.is_some(),
            App::Onoff { .. } | App::Udp { .. } | App::Voice { .. } | App::Probe { .. } => false,
        }
    }
}

/// MSS of a peer that announces none (`TCP_MSS_DEFAULT`, RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// The capabilities that one end's SYN announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Maximum segment size, bytes of payload and options.
    pub mss: u32,
    /// TCP timestamps (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgement (RFC 2018).
    pub sack: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// Window scale (RFC 7323); `None`: windows are below 64 KiB in both directions.
    pub scale: Option<u8>,
}

impl Offer {
    /// The offer in a SYN or SYN/ACK.
    pub fn of(seg: &Segment) -> Offer {
        let options = seg.syn_options();
        // A request for ECN sets both flags, an agreement only ECE (RFC 3168 section 6.1.1).
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

/// A [`Stack`] with all defaults filled in for one connection.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    pub profile: Profile,
    /// Initial window, segments.
    pub initial_window: u32,
    /// The offer in this end's SYN. The following five fields are settled by the peer's offer
    /// ([`Limits::agree`]).
    pub offer: Offer,
    /// Payload of a full-sized segment, bytes, without options.
    pub mss: u32,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// Whether SACK was negotiated.
    pub sack: bool,
    /// Whether ECN was negotiated.
    pub ecn: bool,
    /// Whether windows are scaled.
    pub scaled: bool,
    /// Fixed receive window, bytes.
    pub receive_window: Option<u64>,
    /// Initial receive buffer, bytes; `None`: the profile's.
    pub initial_receive_buffer: Option<u64>,
    /// Maximum receive buffer, bytes.
    pub receive_buffer: u64,
    /// Maximum send buffer, bytes.
    pub send_buffer: u64,
    /// Maximum ACK delay.
    pub delayed_ack: Span,
    /// Minimum retransmission timeout.
    pub rto_min: Span,
    /// Whether to pace regardless of the congestion control.
    pub pacing: bool,
    /// Whether bursts have Linux's size.
    pub tso: bool,
    /// Whether to send tail loss probes; `None`: as the profile does.
    pub tlp: Option<bool>,
    /// Whether to reduce the window after idle time.
    pub idle_restart: bool,
    /// Search for the path MTU.
    pub mtu_probing: MtuProbing,
    /// Upper bound of the pacing rate, bytes/s.
    pub max_pacing_rate: u64,
}

impl Limits {
    /// Applies the peer's offer: an option is used if both ends offer it, and the MSS is the smaller one.
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
    /// The offer in this stack's SYN over a path with an MTU of `mtu` bytes.
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

    /// Maximum receive buffer, bytes.
    pub fn largest_receive_buffer(&self) -> u64 {
        let most = if self.profile == Profile::Windows { windows::BUFFER_MAX } else { 6 << 20 };
        self.receive_buffer.map_or(most, Bytes::get)
    }

    /// The limits of a connection of this stack over a path with an MTU of `mtu` bytes, to a peer that agrees
    /// to the whole offer. A [`crate::Tcp`] learns from the peer's SYN what it does agree to.
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
            // SO_MAX_PACING_RATE enables pacing (`sk_pacing_status`).
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

    /// The limits of a connection to a peer whose stack is known: the outcome of their handshake.
    pub fn limits(&self, peer: &Stack, mtu: u32, max_pacing_rate: Option<Rate>) -> Limits {
        let mut limits = self.own_limits(mtu, max_pacing_rate);
        limits.agree(&peer.offer(mtu));
        limits
    }
}
