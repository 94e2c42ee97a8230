//! The sending half of a connection, as Linux 6.x sends.
//!
//! One file per concern: [`ack`] takes an ACK through the kernel's stages (SACKs, cumulative part,
//! recovery, rate sample, congestion control), [`recovery`] holds the state machine
//! Open/Disorder/CWR/Recovery/Loss with PRR and undo, [`rack`] marks losses by time, [`timers`] the
//! RTO and the tail loss probe, [`output`] decides what leaves when, [`rfc`] replaces loss marking for
//! stacks that only count duplicate ACKs, [`sack`] reads SACK blocks, [`usage`] judges how much of the
//! window was used, [`peer`] what the other end's window allows, [`delivery`] holds the rate that is told,
//! [`info`] is what `TCP_INFO` shows, [`mtu`] shrinks packets that the path does not carry. State is named as in `struct tcp_sock`.

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

/// What one data packet to send looks like; the connection adds ACK, window and timestamps.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// First byte.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// First transmission after a reduction must say CWR (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// A new transmission (only those are ECN-capable, RFC 3168 section 6.1.5).
    pub new: bool,
    /// The last of a burst, or of what the application wrote.
    pub push: bool,
    /// Nothing follows.
    pub fin: bool,
}

/// A retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// When it left.
    pub at: Time,
    /// First byte.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
}

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendStats {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Reductions undone as spurious.
    pub undone: u64,
    /// Times fast recovery began.
    pub recoveries: u64,
}

/// Whose rules a connection follows and what it may use; set once.
struct Rules {
    profile: Profile,
    linux: bool,
    /// Losses are found by time (RFC 8985).
    rack: bool,
    /// The tail is probed (RFC 8985 section 7); if not said, where losses are found by time.
    tlp: Option<bool>,
    /// The window shrinks after idle time.
    idle_restart: bool,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    tso: bool,
    /// Paced whatever the congestion control says.
    paced: bool,
    /// Largest send buffer, bytes.
    send_buffer: u64,
    rto_min: Span,
    /// Segments.
    initial_window: u32,
    /// The congestion control sets the window itself: no PRR, no decay.
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

/// Packets of the scoreboard by what became of them.
#[derive(Default)]
struct Count {
    /// SACKed, or without SACK the duplicate ACKs that stand for them (`sacked_out`).
    sacked: u32,
    /// Marked lost (`lost_out`).
    lost: u32,
    /// With a retransmission in flight (`retrans_out`).
    retrans: u32,
}

/// The sending half.
pub struct Sender {
    rules: Rules,
    /// What the controller reads; also the state of record.
    pub s: Socket,
    /// What the controller writes.
    pub w: Window,
    cc: Box<dyn Controller>,
    board: Scoreboard,
    count: Count,
    stream: WriteStream,
    buffer: SendBuffer,
    peer: Peer,
    /// Payload of a full segment by what was agreed and what the path carries.
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
    /// First send time of the sampling window (`first_tx_mstamp`).
    first_sent: Time,
    /// RTT estimator.
    pub rtt: Rtt,
    /// The newest RTT sample.
    pub last_rtt: Option<Span>,
    delivery: delivery::Delivery,
    /// Set by a sample until [`Sender::take_rtt`].
    rtt_is_new: bool,
    /// Counters.
    pub stats: SendStats,
    /// Every retransmission, in order, where somebody wants to know them.
    pub again: Option<Vec<Again>>,
}

impl Sender {
    /// Nothing sent yet.
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
            board: Scoreboard::new(limits.mss),
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
            again: None,
            rules,
        }
    }

    /// What the handshake agreed on.
    pub(crate) fn agree(&mut self, limits: &Limits) {
        (self.rules.sack, self.rules.timestamps, self.rules.ecn) =
            (limits.sack, limits.timestamps, limits.ecn);
        self.s.sack = limits.sack;
        self.full_mss = limits.mss;
        self.fit_mss();
    }

    /// The handshake is done; `rtt` is its round trip (unless the SYN was retransmitted).
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
            self.rtt.sample(rtt, 0, 0);
            self.rtt.sample_min(now, rtt, false);
            self.last_rtt = Some(rtt);
        }
        self.refresh();
        self.cc.init(&self.s, &mut self.w);
        self.take_app_limited();
        self.w.pacing |= self.rules.paced;
        self.update_pacing_rate();
    }

    /// Whether ECN was agreed on.
    #[inline]
    pub(crate) fn uses_ecn(&self) -> bool {
        self.rules.ecn
    }

    /// Whether timestamps were agreed on.
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
        self.board.len() as u32
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacked(&self) -> u64 {
        self.stream.all() - self.s.snd_una
    }

    /// Whether all was sent, FIN included, and is acknowledged.
    pub fn is_finished(&self) -> bool {
        self.stream.fin && self.s.snd_una == self.stream.all()
    }

    /// The connection was reset: nothing is outstanding, nothing will be sent.
    pub(crate) fn stop(&mut self) {
        self.timers = Timers::default();
        self.count = Count::default();
        self.recovery.hint = None;
        while self.board.pop() {}
        self.stream = WriteStream::default();
        self.s.snd_una = self.s.snd_nxt;
        self.stream.truncate(self.s.snd_nxt);
        self.cut_buffer();
    }

    /// Panics unless the counters are those of the scoreboard's flags.
    pub fn check(&self) {
        self.board.check();
        let (sacked, lost, retrans) = self.board.counts();
        assert_eq!(self.count.lost, lost, "lost_out");
        assert_eq!(self.count.retrans, retrans, "retrans_out");
        if self.rules.sack {
            assert_eq!(self.count.sacked, sacked, "sacked_out");
        }
        assert!(self.count.sacked + self.count.lost <= self.packets_out(), "left_out > packets_out");
        assert!(self.s.snd_una <= self.s.snd_nxt && self.s.snd_nxt <= self.stream.all(), "sequence");
        assert_eq!(self.board.front().map_or(self.s.snd_nxt, |p| p.seq), self.s.snd_una, "snd_una");
        assert!(self.w.cwnd >= 1, "cwnd");
        assert!(self.board.is_empty() || self.timers.armed.is_some(), "data outstanding and no timer");
    }

    /// When the sender must act next.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        earliest(self.timers.armed.map(|(_, t)| t), self.timers.pacing_at)
    }

    /// State's name for time series: the controller's own, else recovery's.
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

    /// The rate at which the path delivered of late, bytes per second (`tcpi_delivery_rate`); `None` before a sample.
    pub fn delivery_rate(&self) -> Option<u64> {
        self.delivery.rate(self.s.mss)
    }

    /// What the controller tells of its model of the path.
    pub fn model(&self) -> Probe {
        self.cc.probe()
    }

    /// Brings what the controller reads up to date.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        self.s.inflight = self.in_flight();
        self.s.srtt = self.rtt.smoothed();
        self.s.min_rtt = self.rtt.min();
    }

    pub(crate) fn set_state(&mut self, new: CaState) {
        self.refresh();
        self.cc.set_state(&self.s, &mut self.w, new);
        self.s.state = new;
    }

    /// A controller may declare the flow application-limited (BBR's PROBE_RTT, first flight).
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
