//! Congestion controls: one file per algorithm, one registry line each.
//!
//! The [`Controller`] trait has the shape of Linux's `tcp_congestion_ops`, so that a model and the
//! kernel's own can be compared call by call. The transport owns the [`Window`]; a controller
//! changes it in the callbacks. There are two families:
//!
//! * loss-based (Reno, CUBIC, Tahoe, and Vegas, which also reacts to delay): the transport runs PRR and calls
//!   [`Controller::cong_avoid`] when an ACK may grow the window; [`Controller::ssthresh`] gives the reaction
//!   to a loss;
//! * model-based (BBR): [`Controller::cong_control`] gets every ACK's [`RateSample`] and sets cwnd and pacing
//!   rate itself.
//!
//! Windows are counted in packets of one MSS, as Linux does; pacing rates in bytes per second.
//!
//! A controller is created by name with [`make`] or, with parameters, by a [`Control`]. A new algorithm is
//! one file and one line in the registry below, and is covered by the harness of `tests/`. `tests/kernel.rs`
//! compares Reno, CUBIC and BBR v1 with recordings of Linux 6.18, call by call.

use units::{Choices, Label, Span, Stream, Time};

pub mod bbr;
pub mod bbr3;
mod cbrt;
pub mod compound;
pub mod cubic;
pub mod highspeed;
pub mod hsr;
mod hystart;
pub mod illinois;
mod jiffies;
mod registry;
pub mod reno;
pub mod tahoe;
pub mod vegas;
pub mod westwood;
mod windowed_max;

pub use jiffies::HZ;
pub use registry::{Algorithm, ParameterProblem, Parameters, Plain};
pub use reno::{cong_avoid_ai, slow_start};

// The registry of algorithms, one line each, in the order of the documentation. See `registry.rs`.
registry::controls! {
    "reno" => reno::Reno,
    "tahoe" => tahoe::Tahoe,
    "vegas" => vegas::Vegas,
    "cubic" => cubic::Cubic,
    "bbr" => bbr::Bbr,
    "bbr3" => bbr3::Bbr3,
    "bbr-hsr" => hsr::BbrHsr,
    "westwood" => westwood::Westwood,
    "compound" => compound::Compound,
    "highspeed" => highspeed::HighSpeed,
    "illinois" => illinois::Illinois,
}

impl Default for Control {
    /// CUBIC, Linux's default.
    fn default() -> Control {
        Control(Chosen::Cubic(Plain {}))
    }
}

/// A new controller of the algorithm `name` with default parameters; `None` if it is not in [`NAMES`].
/// Equivalent to [`Control::named`] followed by [`Control::make`].
pub fn make(name: &str, seed: u64, stream_name: &str) -> Option<Box<dyn Controller>> {
    Some(Control::named(name)?.make(seed, stream_name))
}

/// The connection's state that a controller may read: Linux's `tcp_sock`, with the same names.
#[derive(Clone, Debug)]
pub struct Socket {
    /// The current time.
    pub now: Time,
    /// Payload bytes of a full packet.
    pub mss: u32,
    /// Smoothed RTT (RFC 6298); `None` before the first sample.
    pub srtt: Option<Span>,
    /// Windowed minimum RTT as the transport measures it; `None` before the first sample.
    pub min_rtt: Option<Span>,
    /// Packets in flight: sent - sacked - lost + retransmitted (`tcp_packets_in_flight`).
    pub inflight: u32,
    /// Packets delivered so far, including SACKed (`tp->delivered`).
    pub delivered: u64,
    /// When `delivered` was last updated (`tp->delivered_mstamp`).
    pub delivered_time: Time,
    /// Packets marked lost so far (`tp->lost`).
    pub lost: u64,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// When the last data packet was sent (`tp->lsndtime`).
    pub last_sent: Option<Time>,
    /// The state of loss recovery.
    pub state: CaState,
    /// Whether the window was the limit in the last round (`tcp_is_cwnd_limited`, so also true
    /// in slow start while cwnd < 2 * the most packets out). Controllers check it themselves.
    pub is_cwnd_limited: bool,
    /// The `delivered` mark up to which the flow counts as application-limited; 0 = not limited.
    /// The transport clears it once `delivered` is beyond.
    pub app_limited: u64,
    /// Earliest departure time of the next paced packet (`tp->tcp_wstamp_ns`), as BBR's
    /// `bbr_packets_in_net_at_edt` reads it.
    pub next_departure: Time,
    /// Largest burst the device segments, bytes of payload and TCP/IP headers
    /// (`sk->sk_gso_max_size`); HyStart allows ACKs to be late by what such bursts explain.
    pub gso_max_size: u32,
    /// `pacing_rate >> pacing_shift` bytes make a burst, so the default of 10 means about 1 ms of data
    /// (`sk->sk_pacing_shift`).
    pub pacing_shift: u32,
    /// Upper bound of the pacing rate, bytes per second (`SO_MAX_PACING_RATE`); `u64::MAX` = none.
    pub max_pacing_rate: u64,
    /// Whether the peer sends SACKs: then more than one loss per round trip can be detected.
    pub sack: bool,
}

impl Default for Socket {
    /// A connection before its first event, with Linux's default limits: 1460-byte
    /// packets, 64 KiB bursts, no bound on the pacing rate.
    fn default() -> Socket {
        Socket {
            now: Time::ZERO,
            mss: 1460,
            srtt: None,
            min_rtt: None,
            inflight: 0,
            delivered: 0,
            delivered_time: Time::ZERO,
            lost: 0,
            snd_una: 0,
            snd_nxt: 0,
            last_sent: None,
            state: CaState::Open,
            is_cwnd_limited: false,
            app_limited: 0,
            next_departure: Time::ZERO,
            gso_max_size: DEFAULT_GSO_MAX_SIZE,
            pacing_shift: 10,
            max_pacing_rate: u64::MAX,
            sack: true,
        }
    }
}

/// `sk_gso_max_size` of TCP over an Ethernet-like device: 64 KiB less the largest header
/// (`MAX_TCP_HEADER` + 1, which is 193 in a kernel without Wi-Fi and IP-in-IP tunnels).
pub const DEFAULT_GSO_MAX_SIZE: u32 = 65_536 - MAX_TCP_HEADER - 1;

/// Room Linux reserves for headers in front of TCP payload: 128 B of TCP/IP and 32 B of link
/// layer, rounded up to a cache line.
pub(crate) const MAX_TCP_HEADER: u32 = 192;

/// Congestion state a controller may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets; initially `u32::MAX` ("infinite").
    pub ssthresh: u32,
    /// Linear-growth counter (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// Upper bound of cwnd.
    pub cwnd_clamp: u32,
    /// The window before the last reduction, for undo (`prior_cwnd`); maintained by the transport.
    pub prior_cwnd: u32,
    /// Pacing rate, bytes per second. Loss-based controllers leave it to the transport
    /// (200 % / 120 % of cwnd / srtt); model-based ones set it. Maintained even without pacing:
    /// burst sizes and HyStart depend on it.
    pub pacing_rate: u64,
    /// Whether packets are paced (BBR requests it in `init`; CUBIC and Reno are not paced
    /// unless the host is: then the transport sets it before `init`).
    pub pacing: bool,
    /// The controller requests that the transport count the flow as application-limited up to this
    /// `delivered` mark ([`Socket::app_limited`]): BBR does in `init` and on every ACK of
    /// PROBE_RTT. The transport takes it (`w.app_limited.take()`) after each callback.
    pub app_limited: Option<u64>,
}

impl Window {
    /// A fresh window of `initial` packets.
    pub fn new(initial: u32) -> Window {
        Window {
            cwnd: initial,
            ssthresh: u32::MAX,
            cwnd_cnt: 0,
            cwnd_clamp: u32::MAX,
            prior_cwnd: 0,
            pacing_rate: 0,
            pacing: false,
            app_limited: None,
        }
    }

    /// `tcp_in_slow_start`.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The state of loss recovery, as Linux's `enum tcp_ca_state`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CaState {
    /// No sign of loss or congestion.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs were received, but nothing is marked lost.
    Disorder,
    /// The window is being reduced after an ECN echo or local congestion.
    Cwr,
    /// Fast recovery: packets are being retransmitted.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// One ACK's delivery rate sample, as Linux's `struct rate_sample`
/// (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// `delivered` when the most recent packet covered by this ACK was sent.
    pub prior_delivered: u64,
    /// Packets delivered over `interval`; `None` when the sample is not valid.
    pub delivered: Option<u32>,
    /// The interval: the longer of send and ACK phase. Zero when it is not valid, as when it was
    /// shorter than the smallest RTT (`delivered` stays set then, as in Linux).
    pub interval: Span,
    /// RTT of the most recently sent packet newly (S)ACKed that was not retransmitted.
    pub rtt: Option<Span>,
    /// Packets newly marked lost by this ACK.
    pub losses: u32,
    /// Packets newly acknowledged or SACKed.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Whether the most recent packet was sent while application-limited.
    pub is_app_limited: bool,
    /// Whether the sample is from a retransmitted packet.
    pub is_retrans: bool,
    /// Whether the ACK was probably delayed, so its RTT does not count for the minimum.
    pub is_ack_delayed: bool,
    /// Whether the ACK carried ECN-Echo.
    pub ece: bool,
    /// Packets in flight just after the most recent packet covered by this ACK was sent, including that
    /// packet.
    pub tx_in_flight: u32,
    /// Packets marked lost since that packet was sent.
    pub lost: u32,
}

/// A packet that was just marked lost, with the connection's state when it was last sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPacket {
    /// First byte of the packet.
    pub seq: u64,
    /// Offset after the packet's last byte.
    pub end: u64,
    /// Number of packets that the entry represents: 1, unless whole bursts are tracked as one.
    pub packets: u32,
    /// Packets in flight just after the packet was sent, including it.
    pub tx_in_flight: u32,
    /// Packets marked lost since the packet was sent, including it.
    pub lost: u32,
    /// Whether the packet was sent while application-limited.
    pub is_app_limited: bool,
}

/// Events reported to a controller (`enum tcp_ca_event`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// First transmission when nothing was in flight.
    TxStart,
    /// The window was restarted after idling.
    CwndRestart,
    /// The window reduction ended.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
}

/// Properties of an ACK before it is processed (`CA_ACK_*` of Linux).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckEvent {
    /// Whether header prediction failed: the ACK carries SACK blocks or ECN-Echo, or its window has changed.
    pub slow_path: bool,
    /// Whether the ACK updated the receive window.
    pub win_update: bool,
    /// Whether the ACK carries ECN-Echo.
    pub ece: bool,
}

/// A controller's internal state, for time series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probe {
    /// Name of the controller's state (`"PROBE_BW"`); empty if it has none.
    pub state: &'static str,
    /// Bottleneck bandwidth estimate, bytes per second.
    pub btl_bw: Option<u64>,
    /// Round-trip propagation estimate.
    pub rt_prop: Option<Span>,
    /// Current pacing gain.
    pub pacing_gain: Option<f64>,
    /// Current cwnd gain.
    pub cwnd_gain: Option<f64>,
    /// Number of round trips.
    pub round: Option<u64>,
}

/// A congestion control, called by the transport in the kernel's order. [`Socket`] is the
/// transport's state at the time of the call.
///
/// | when | the transport |
/// |---|---|
/// | established | [`init`](Controller::init), with `srtt` and `min_rtt` from the handshake |
/// | an ACK | moves `snd_una`, `delivered`, `delivered_time` and the scoreboard; [`pkts_acked`](Controller::pkts_acked); [`in_ack_event`](Controller::in_ack_event), also when nothing was outstanding; lets recovery move (below); then [`cong_control`](Controller::cong_control) if it [`owns_window`](Controller::owns_window), else PRR while the window is being reduced, or [`cong_avoid`](Controller::cong_avoid) where `tcp_may_raise_cwnd` allows; then takes [`Window::app_limited`] and, unless it owns the window, sets `pacing_rate` |
/// | a packet is marked lost | counts it in `lost`, then [`packet_lost`](Controller::packet_lost): before recovery begins or moves, on an ACK or a timer; again when its retransmission is lost |
/// | fast recovery or CWR begins | `cwnd_cnt = 0`, `prior_cwnd = cwnd`, `ssthresh = `[`ssthresh`](Controller::ssthresh), then [`set_state`](Controller::set_state) |
/// | a loss is found, and the controller has no [`fast_recovery`](Controller::fast_recovery) | instead of fast recovery: as there, but everything not SACKed counts as lost, `cwnd = 1`, `set_state(Loss)`; the first packet is sent again at once, the rest as slow start allows; no PRR, and the Loss state ends when all that was out is acknowledged |
/// | recovery ends | `set_state(Open)`, and unless it owns the window `cwnd = ssthresh` and [`CompleteCwr`](Event::CompleteCwr) |
/// | a timeout | if not already in `Loss`: `prior_cwnd = cwnd`, `ssthresh`, [`Event::Loss`]; `cwnd = inflight + 1`, `cwnd_cnt = 0`, `set_state(Loss)`, which comes with every timeout |
/// | a spurious reduction | `cwnd = `[`undo_cwnd`](Controller::undo_cwnd), and ssthresh is raised back to what it was |
/// | data sent, nothing in flight | [`TxStart`](Event::TxStart), *before* `last_sent` moves |
pub trait Controller: Send {
    /// The name, as in `TCP_CONGESTION`.
    fn name(&self) -> &'static str;

    /// The connection is established.
    fn init(&mut self, s: &Socket, w: &mut Window) {
        let _ = (s, w);
    }

    /// The slow-start threshold after a loss, packets. Called once per reduction.
    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32;

    /// May grow the window: `acked` packets were newly delivered.
    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        let _ = (s, w, acked);
    }

    /// True for a controller that sets cwnd and pacing itself in `cong_control`
    /// (the transport then runs neither PRR nor `cong_avoid`).
    fn owns_window(&self) -> bool {
        false
    }

    /// False for a controller that reacts to a detected loss as to a timeout: with slow start from one
    /// packet, after a fast retransmission (Tahoe). Queried once, when the connection is created.
    fn fast_recovery(&self) -> bool {
        true
    }

    /// Every ACK, after loss marking, for controllers that own the window.
    fn cong_control(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        let _ = (s, w, rs);
    }

    /// RTT and count of the packets this ACK acknowledged; `rtt` `None` when only retransmitted
    /// packets were. Called on every ACK of new data or SACK, after `snd_una` and `delivered`
    /// have been updated, and before loss recovery and window growth.
    fn pkts_acked(&mut self, s: &Socket, w: &mut Window, rtt: Option<Span>, pkts_acked: u32) {
        let _ = (s, w, rtt, pkts_acked);
    }

    /// An ACK arrived that is not older than `snd_una`, whatever it acknowledges: a duplicate, a window
    /// update, or an ACK when nothing was outstanding. `snd_una` and `delivered` have been updated,
    /// [`pkts_acked`](Controller::pkts_acked) has been called, loss recovery has not run yet (Linux since
    /// 6.16; before that it preceded `pkts_acked`).
    fn in_ack_event(&mut self, s: &Socket, w: &mut Window, ack: AckEvent) {
        let _ = (s, w, ack);
    }

    /// A packet was marked lost (`skb_marked_lost` of google/bbr's v3); `s.state` is the state before
    /// recovery reacts.
    fn packet_lost(&mut self, s: &Socket, w: &mut Window, lost: &LostPacket) {
        let _ = (s, w, lost);
    }

    /// Loss recovery is about to enter `new` (`s.state` is still the old one).
    fn set_state(&mut self, s: &Socket, w: &mut Window, new: CaState) {
        let _ = (s, w, new);
    }

    /// An event of the connection.
    fn cwnd_event(&mut self, s: &Socket, w: &mut Window, event: Event) {
        let _ = (s, w, event);
    }

    /// The reduction was spurious: the window to return to, packets.
    fn undo_cwnd(&mut self, s: &Socket, w: &mut Window) -> u32 {
        let _ = s;
        w.cwnd.max(w.prior_cwnd)
    }

    /// Minimum burst in packets for TSO sizing at the current pacing rate.
    fn min_tso_segs(&self, w: &Window) -> u32 {
        let _ = w;
        2
    }

    /// Size of the send buffer as a multiple of cwnd.
    fn sndbuf_expand(&self) -> u32 {
        2
    }

    /// Internal state, for time series.
    fn probe(&self) -> Probe {
        Probe::default()
    }
}
