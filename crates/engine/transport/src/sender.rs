//! The sending half of a connection, as Linux 6.x sends.
//!
//! One file per concern: [`ack`] processes an ACK in the kernel's stages (SACK blocks, cumulative part,
//! recovery, rate sample, congestion control); [`recovery`] has the state machine
//! Open/Disorder/CWR/Recovery/Loss with PRR and undo; [`rack`] marks losses by time; [`timers`] has the RTO
//! and the tail loss probe; [`output`] decides what is sent when; [`rfc`] marks losses for stacks that only
//! count duplicate ACKs; [`sack`] processes SACK blocks; [`usage`] tracks how much of the window is used;
//! [`peer`] the window of the other end; [`delivery`] the reported delivery rate; [`info`] provides
//! `TCP_INFO`; [`mtu`] adapts packet sizes to the path MTU. State is named as in `struct tcp_sock`.

mod ack;
mod buffer;
mod delivery;
mod info;
mod mtu;
mod output;
mod peer;
mod rack;
mod recovery;
mod rfc;
mod sack;
mod stream;
mod timers;
mod usage;

use crate::config::{Limits, Profile};
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::windows;
use buffer::SendBuffer;
use congestion::{CaState, Controller, Probe, Socket, Window};
use units::{Span, Time, earliest};

use mtu::MtuSearch;
use peer::Peer;
use rack::Rack;
use recovery::{Prr, Recovery, Undo};
use sack::Sacks;
use stream::WriteStream;
use timers::{Timers, Tlp};
use usage::Usage;

pub use ack::AckInfo;
pub use info::Info;
pub use output::Limit;

/// Consecutive data packets to send at the same time; the connection adds ACK, window and timestamps.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// First byte.
    pub seq: u64,
    /// Payload bytes of all packets.
    pub bytes: u64,
    /// Payload bytes of each packet; the last one may have fewer.
    pub size: u32,
    /// Whether to set CWR in the first packet, which is the first transmission after a reduction (RFC 3168
    /// section 6.1.2).
    pub cwr: bool,
    /// Whether this is a new transmission; only those are ECN-capable (RFC 3168 section 6.1.5).
    pub new: bool,
    /// Whether to set PSH in the last packet: that of several, or of a write.
    pub push: bool,
    /// Whether to set FIN in the last packet.
    pub fin: bool,
}

/// A retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Time of sending.
    pub at: Time,
    /// First byte.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
}

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendStats {
    /// Data packets sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Reductions undone because they were spurious.
    pub undone: u64,
    /// Number of times that fast recovery was entered.
    pub recoveries: u64,
}

/// Rules and options of a connection.
struct Rules {
    profile: Profile,
    linux: bool,
    /// Whether losses are detected by time (RACK, RFC 8985).
    rack: bool,
    /// Whether to send tail loss probes (RFC 8985 section 7); `None`: if losses are detected by time.
    tlp: Option<bool>,
    /// Whether the window is reduced after idle time.
    idle_restart: bool,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    tso: bool,
    /// Whether to pace regardless of the congestion control.
    paced: bool,
    /// Maximum send buffer, bytes.
    send_buffer: u64,
    rto_min: Span,
    /// Initial window, segments.
    initial_window: u32,
    /// Whether the congestion control sets the window itself, without PRR and decay.
    owns_window: bool,
    fast_recovery: bool,
}

impl Rules {
    fn new(limits: &Limits, cc: &dyn Controller) -> Rules {
        let linux = limits.profile == Profile::Linux;
        Rules {
            profile: limits.profile,
            linux,
            rack: linux,
            tlp: limits.tlp,
            idle_restart: limits.idle_restart,
            sack: limits.sack,
            timestamps: limits.timestamps,
            ecn: limits.ecn,
            tso: limits.tso,
            paced: limits.pacing,
            send_buffer: limits.send_buffer,
            rto_min: limits.rto_min,
            initial_window: limits.initial_window,
            owns_window: cc.owns_window(),
            fast_recovery: cc.fast_recovery(),
        }
    }
}

/// Numbers of packets on the scoreboard by state.
#[derive(Default)]
struct Count {
    /// SACKed packets; without SACK, the duplicate ACKs that stand for them (`sacked_out`).
    sacked: u32,
    /// Packets marked lost (`lost_out`).
    lost: u32,
    /// Packets with a retransmission in flight (`retrans_out`).
    retrans: u32,
}

/// The sending half.
pub struct Sender {
    rules: Rules,
    /// State that the controller reads, which is also the authoritative state of the connection.
    pub s: Socket,
    /// State that the controller writes.
    pub w: Window,
    cc: Box<dyn Controller>,
    scoreboard: Scoreboard,
    count: Count,
    stream: WriteStream,
    buffer: SendBuffer,
    peer: Peer,
    /// Payload of a full-sized segment by negotiation and path MTU, bytes.
    full_mss: u32,
    mtu: MtuSearch,
    sacks: Sacks,
    recovery: Recovery,
    undo: Undo,
    prr: Prr,
    rack: Rack,
    tlp: Tlp,
    timers: Timers,
    usage: Usage,
    /// Send time of the first packet in the sampling window (`first_tx_mstamp`).
    first_sent: Time,
    /// RTT estimator.
    pub rtt: Rtt,
    /// The newest RTT sample.
    pub last_rtt: Option<Span>,
    delivery: delivery::Delivery,
    /// Whether there is an RTT sample that [`Sender::take_rtt`] has not returned yet.
    rtt_is_new: bool,
    /// Counters.
    pub stats: SendStats,
    /// All retransmissions in order, if they are to be recorded.
    pub retransmissions: Option<Vec<Retransmission>>,
}

impl Sender {
    /// A sender that has sent nothing.
    pub fn new(limits: &Limits, cc: Box<dyn Controller>) -> Sender {
        let s = Socket {
            mss: limits.mss,
            max_pacing_rate: limits.max_pacing_rate,
            sack: limits.sack,
            ..Socket::default()
        };
        let mut w = Window::new(limits.initial_window);
        w.pacing = limits.pacing;
        let rules = Rules::new(limits, &*cc);
        Sender {
            s,
            w,
            cc,
            scoreboard: Scoreboard::new(limits.mss),
            count: Count::default(),
            stream: WriteStream::default(),
            buffer: SendBuffer::default(),
            peer: Peer::default(),
            full_mss: limits.mss,
            mtu: MtuSearch::new(limits.mtu_probing),
            sacks: Sacks::default(),
            recovery: Recovery::default(),
            undo: Undo::default(),
            prr: Prr::default(),
            rack: Rack::default(),
            tlp: Tlp::default(),
            timers: Timers::default(),
            usage: Usage::default(),
            first_sent: Time::ZERO,
            rtt: Rtt::new(rules.linux, limits.rto_min),
            last_rtt: None,
            delivery: delivery::Delivery::default(),
            rtt_is_new: false,
            stats: SendStats::default(),
            retransmissions: None,
            rules,
        }
    }

    /// Applies the options that the handshake negotiated.
    pub(crate) fn agree(&mut self, limits: &Limits) {
        (self.rules.sack, self.rules.timestamps, self.rules.ecn) =
            (limits.sack, limits.timestamps, limits.ecn);
        self.s.sack = limits.sack;
        self.full_mss = limits.mss;
        self.fit_mss();
    }

    /// Completes the handshake. `rtt` is its round trip, unknown if the SYN was retransmitted.
    pub fn establish(&mut self, now: Time, rtt: Option<Span>, window: u64) {
        self.s.now = now;
        self.note_window(window);
        self.s.delivered = 1; // the SYN counts, as in the kernel
        self.s.delivered_time = now;
        self.first_sent = now;
        self.usage.stamp = now;
        if self.rules.profile == Profile::Windows {
            self.rules.rack = rtt.is_some_and(|rtt| rtt >= windows::RACK_FROM);
        }
        if let Some(rtt) = rtt {
            self.record_rtt(rtt, rtt, false);
        }
        self.refresh();
        self.cc.init(&self.s, &mut self.w);
        self.take_app_limited();
        self.w.pacing |= self.rules.paced;
        self.update_pacing_rate();
    }

    /// Whether ECN was negotiated.
    #[inline]
    pub(crate) fn uses_ecn(&self) -> bool {
        self.rules.ecn
    }

    /// Whether timestamps were negotiated.
    #[inline]
    pub(crate) fn uses_timestamps(&self) -> bool {
        self.rules.timestamps
    }

    /// Packets in flight (`tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.packets_out() + self.count.retrans).saturating_sub(self.count.sacked + self.count.lost)
    }

    /// The RTT sample taken since the last call, if any.
    #[inline]
    pub fn take_rtt(&mut self) -> Option<Span> {
        std::mem::take(&mut self.rtt_is_new).then_some(self.last_rtt)?
    }

    #[inline]
    pub(crate) fn packets_out(&self) -> u32 {
        self.scoreboard.len() as u32
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacked(&self) -> u64 {
        self.stream.end_with_fin() - self.s.snd_una
    }

    /// Whether everything including the FIN was sent and acknowledged.
    pub fn is_finished(&self) -> bool {
        self.stream.fin && self.s.snd_una == self.stream.end_with_fin()
    }

    /// Ends the connection, which was reset: nothing is outstanding, and nothing will be sent.
    pub(crate) fn stop(&mut self) {
        self.timers = Timers::default();
        self.count = Count::default();
        self.recovery.hint = None;
        while self.scoreboard.pop() {}
        self.stream = WriteStream::default();
        self.s.snd_una = self.s.snd_nxt;
        self.stream.truncate(self.s.snd_nxt);
        self.truncate_buffer();
    }

    /// Panics unless the counters agree with the flags of the scoreboard.
    pub fn check(&self) {
        self.scoreboard.check();
        let (sacked, lost, retrans) = self.scoreboard.counts();
        assert_eq!(self.count.lost, lost, "lost_out");
        assert_eq!(self.count.retrans, retrans, "retrans_out");
        if self.rules.sack {
            assert_eq!(self.count.sacked, sacked, "sacked_out");
        }
        assert!(self.count.sacked + self.count.lost <= self.packets_out(), "left_out > packets_out");
        assert!(self.s.snd_una <= self.s.snd_nxt && self.s.snd_nxt <= self.stream.end_with_fin(), "sequence");
        assert_eq!(self.scoreboard.front().map_or(self.s.snd_nxt, |p| p.seq), self.s.snd_una, "snd_una");
        assert!(self.w.cwnd >= 1, "cwnd");
        assert!(self.scoreboard.is_empty() || self.timers.armed.is_some(), "data outstanding and no timer");
    }

    /// Time at which the sender must act next.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        earliest(self.timers.armed.map(|(_, t)| t), self.timers.pacing_at)
    }

    /// Name of the state for time series: the controller's, else that of recovery.
    pub fn state_name(&self) -> &'static str {
        match self.s.state {
            CaState::Loss => "loss",
            CaState::Recovery if !self.rules.owns_window => "recovery",
            CaState::Cwr if !self.rules.owns_window => "cwr",
            CaState::Disorder if !self.rules.owns_window => "disorder",
            _ => match self.cc.probe().state {
                "" if self.w.in_slow_start() => "slow start",
                "" => "avoidance",
                own => own,
            },
        }
    }

    /// The path's recent delivery rate, bytes/s (`tcpi_delivery_rate`); `None` before a sample.
    pub fn delivery_rate(&self) -> Option<u64> {
        self.delivery.rate(self.s.mss)
    }

    /// The controller's model of the path.
    pub fn model(&self) -> Probe {
        self.cc.probe()
    }

    /// Updates the state that the controller reads.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        self.s.inflight = self.in_flight();
    }

    /// Records an RTT sample of the oldest newly acknowledged data, and one of the newest for the minimum.
    #[inline]
    fn record_rtt(&mut self, oldest: Span, newest: Span, maybe_delayed: bool) {
        self.rtt.sample_min(self.s.now, newest, maybe_delayed);
        self.rtt.sample(oldest, self.s.snd_una, self.s.snd_nxt);
        (self.s.srtt, self.s.min_rtt) = (self.rtt.smoothed(), self.rtt.min());
        self.last_rtt = Some(oldest);
    }

    pub(crate) fn set_state(&mut self, new: CaState) {
        self.refresh();
        self.cc.set_state(&self.s, &mut self.w, new);
        self.s.state = new;
    }

    /// Applies the controller's declaration that the flow is application-limited (BBR's PROBE_RTT, first
    /// flight).
    #[inline]
    pub(crate) fn take_app_limited(&mut self) {
        if let Some(mark) = self.w.app_limited.take() {
            self.s.app_limited = mark;
        }
    }

    pub(crate) fn in_reduction(&self) -> bool {
        matches!(self.s.state, CaState::Cwr | CaState::Recovery)
    }
}
