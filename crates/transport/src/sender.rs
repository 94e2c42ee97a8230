//! The sending half of a connection, as Linux 6.x sends.
//!
//! One file per concern: [`ack`] takes an ACK through the kernel's stages (SACKs, cumulative part,
//! recovery, rate sample, congestion control), [`recovery`] holds the state machine
//! Open/Disorder/CWR/Recovery/Loss with PRR and undo, [`rack`] marks losses by time, [`timers`] the
//! RTO and the tail loss probe, [`output`] decides what leaves when, [`rfc`] replaces loss marking for
//! stacks that only count duplicate ACKs, [`sack`] reads SACK blocks, [`usage`] judges how much of the
//! window was used, [`mtu`] shrinks packets. State is named as in `struct tcp_sock`.

mod ack;
mod info;
mod mtu;
mod output;
mod rack;
mod recovery;
mod rfc;
mod sack;
mod timers;
mod usage;

use crate::config::{Limits, Profile};
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::windows;
use congestion::{CaState, Controller, Probe, Socket, Window};
use units::{Span, Time, earliest};

pub use ack::AckInfo;
pub use info::Info;
pub use output::Limit;

/// `TCP_MSS_DEFAULT` (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u64 = 536;

/// Which of the retransmission timers is armed (only one ever is, `icsk_pending`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// RTO, or the probe of a closed window.
    Retransmit,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// RACK's reordering timer (RFC 8985 section 6.3).
    Reorder,
}

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

/// RACK's memory of the newest delivered transmission (RFC 8985 section 6.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rack {
    sent: Time,
    end_seq: u64,
    rtt: Span,
    advanced: bool,
    pub(super) reordering_seen: bool,
    /// Reordering window in quarters of the minimum RTT.
    steps: u32,
    persist: u32,
    dsack_round: u64,
    dsack_seen: bool,
}

/// The sending half.
pub struct Sender {
    profile: Profile,
    pub(crate) linux: bool,
    /// Losses are found by time, and the tail is probed (RFC 8985).
    rack_tlp: bool,
    pub(crate) sack: bool,
    pub(crate) tso: bool,
    pub(crate) send_buffer: u64,
    rto_min: Span,
    /// What the controller reads; also the state of record.
    pub s: Socket,
    /// What the controller writes.
    pub w: Window,
    pub(crate) cc: Box<dyn Controller>,
    owns_window: bool,
    fast_recovery: bool,
    pub(crate) board: Scoreboard,
    /// RTT estimator.
    pub rtt: Rtt,
    /// The newest RTT sample.
    pub last_rtt: Option<Span>,
    /// Set by a sample until [`Sender::take_rtt`].
    rtt_is_new: bool,
    /// Counters.
    pub stats: SendStats,
    /// Every retransmission, in order, where somebody wants to know them.
    pub again: Option<Vec<Again>>,

    /// End of what the application has written.
    pub(crate) write_seq: u64,
    /// No more will be written after `write_seq`.
    pub(crate) closed: bool,
    pub(crate) snd_wnd: u64,
    window_from: u64,
    initial_window: u32,

    pub(crate) sacked_out: u32,
    pub(crate) lost_out: u32,
    pub(crate) retrans_out: u32,
    /// One past the highest SACKed byte.
    highest_sack: u64,
    /// SACK blocks of the last ACK, to skip what was tagged already.
    sack_cache: [(u64, u64); 4],
    retransmit_hint: Option<u32>,
    reordering: u32,
    /// Duplicates the peer reported so far (`dsack_dups`).
    dsacks: u64,

    high_seq: u64,
    prior_ssthresh: u32,
    undo_marker: Option<u64>,
    undo_retrans: i64,
    /// Timestamp clock when recovery's first retransmission left; `None` = none in flight.
    retrans_stamp: Option<u32>,
    frto: bool,
    prr_delivered: u32,
    prr_out: u32,
    pub(crate) rack: Rack,

    tlp_high_seq: Option<u64>,
    tlp_retrans: bool,
    retransmits: u32,
    backoff: u32,
    pub(crate) timer: Option<(Timer, Time)>,
    pacing_at: Option<Time>,
    pacing_forced: bool,

    /// First send time of the sampling window (`first_tx_mstamp`).
    first_sent: Time,
    usage_seq: u64,
    max_packets_out: u32,
    cwnd_used: u32,
    cwnd_stamp: Time,
    small_end: u64,
    ecn: bool,
    cwr_due: bool,
}

impl Sender {
    /// Nothing sent yet.
    pub fn new(limits: &Limits, cc: Box<dyn Controller>) -> Sender {
        let linux = limits.profile == Profile::Linux;
        let s = Socket {
            mss: limits.mss,
            max_pacing_rate: limits.max_pacing_rate,
            sack: limits.sack,
            ..Socket::default()
        };
        let mut w = Window::new(limits.initial_window);
        w.pacing = limits.pacing;
        Sender {
            profile: limits.profile,
            linux,
            rack_tlp: linux,
            sack: limits.sack,
            tso: limits.tso,
            send_buffer: limits.send_buffer,
            rto_min: limits.rto_min,
            s,
            w,
            owns_window: cc.owns_window(),
            fast_recovery: cc.fast_recovery(),
            cc,
            board: Scoreboard::new(limits.mss),
            rtt: Rtt::new(linux, limits.rto_min),
            last_rtt: None,
            rtt_is_new: false,
            stats: SendStats::default(),
            again: None,
            write_seq: 0,
            closed: false,
            snd_wnd: 0,
            window_from: 0,
            initial_window: limits.initial_window,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            highest_sack: 0,
            sack_cache: [(0, 0); 4],
            retransmit_hint: None,
            reordering: 3,
            dsacks: 0,
            high_seq: 0,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: 0,
            retrans_stamp: None,
            frto: false,
            prr_delivered: 0,
            prr_out: 0,
            rack: Rack { steps: 1, ..Rack::default() },
            tlp_high_seq: None,
            tlp_retrans: false,
            retransmits: 0,
            backoff: 0,
            timer: None,
            pacing_at: None,
            pacing_forced: limits.pacing,
            first_sent: Time::ZERO,
            usage_seq: 0,
            max_packets_out: 0,
            cwnd_used: 0,
            cwnd_stamp: Time::ZERO,
            small_end: 0,
            ecn: limits.ecn,
            cwr_due: false,
        }
    }

    /// The handshake is done; `rtt` is its round trip (unless the SYN was retransmitted).
    pub fn establish(&mut self, now: Time, rtt: Option<Span>, window: u64) {
        self.s.now = now;
        self.snd_wnd = window;
        // Half the window at most, so that two segments fit (`tcp_bound_to_half_wnd`).
        let half = if window > DEFAULT_MSS { window / 2 } else { window };
        self.s.mss = (self.s.mss as u64).min(half.max(1)) as u32;
        self.s.delivered = 1; // the SYN counts, as in the kernel
        self.s.delivered_time = now;
        self.first_sent = now;
        self.cwnd_stamp = now;
        if self.profile == Profile::Windows {
            self.rack_tlp = rtt.is_some_and(|rtt| rtt >= windows::RACK_FROM);
        }
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, 0, 0);
            self.rtt.sample_min(now, rtt, false);
            self.last_rtt = Some(rtt);
        }
        self.refresh();
        self.cc.init(&self.s, &mut self.w);
        self.take_app_limited();
        self.w.pacing |= self.pacing_forced;
        self.update_pacing_rate();
    }

    /// Packets in flight (`tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
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
        self.write_seq - self.s.snd_una
    }

    /// Panics unless the counters are those of the scoreboard's flags.
    pub fn check(&self) {
        self.board.check();
        let (sacked, lost, retrans) = self.board.counts();
        assert_eq!(self.lost_out, lost, "lost_out");
        assert_eq!(self.retrans_out, retrans, "retrans_out");
        if self.sack {
            assert_eq!(self.sacked_out, sacked, "sacked_out");
        }
        assert!(self.sacked_out + self.lost_out <= self.packets_out(), "left_out > packets_out");
        assert!(self.s.snd_una <= self.s.snd_nxt && self.s.snd_nxt <= self.write_seq, "sequence");
        assert_eq!(self.board.front().map_or(self.s.snd_nxt, |p| p.seq), self.s.snd_una, "snd_una");
        assert!(self.w.cwnd >= 1, "cwnd");
        assert!(self.board.is_empty() || self.timer.is_some(), "data outstanding and no timer");
    }

    /// When the sender must act next.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        earliest(self.timer.map(|(_, t)| t), self.pacing_at)
    }

    /// State's name for time series: the controller's own, else recovery's.
    pub fn state_name(&self) -> &'static str {
        match self.s.state {
            CaState::Loss => "loss",
            CaState::Recovery if !self.owns_window => "recovery",
            CaState::Cwr if !self.owns_window => "cwr",
            CaState::Disorder if !self.owns_window => "disorder",
            _ => match self.cc.probe().state {
                "" if self.w.in_slow_start() => "slow start",
                "" => "avoidance",
                own => own,
            },
        }
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
