//! RTO (RFC 6298), tail loss probe (RFC 8985 section 7), RACK's reordering timer, window probe. At most one
//! of them is armed at a time, as in the kernel (`icsk_pending`).

use super::output::WriteMode;
use super::{Outgoing, Sender};
use crate::config::Profile;
use crate::rtt::RTO_MAX;
use crate::scoreboard::flag;
use crate::wheel::{Slot, between, round_up};
use congestion::{CaState, Event};
use units::{Span, Time};

/// Minimum timeout: two ticks of a 1000 Hz kernel (`TCP_TIMEOUT_MIN`).
pub(super) const TIMEOUT_MIN: Span = Span::from_millis(2);

/// The armed retransmission timer; at most one is armed (`icsk_pending`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// RTO, or the probe of a closed window.
    Retransmit,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// RACK's reordering timer (RFC 8985 section 6.3).
    Reorder,
}

/// The timers, and how often they fired without success.
#[derive(Default)]
pub(super) struct Timers {
    pub(super) armed: Option<(Timer, Time)>,
    /// The position in the timer wheel of Linux's common timer.
    slot: Slot,
    /// Time at which pacing permits the next burst.
    pub(super) pacing_at: Option<Time>,
    /// Timeouts since data was last acknowledged (`icsk_retransmits`).
    pub(super) retransmits: u32,
    /// Number of times that the timeout was doubled (`icsk_backoff`).
    pub(super) backoff: u32,
}

/// The outstanding tail loss probe.
#[derive(Default)]
pub(super) struct Tlp {
    /// Value of `snd_nxt` when the probe was sent (`tlp_high_seq`).
    pub(super) high_seq: Option<u64>,
    /// Whether the probe was a retransmission.
    pub(super) retrans: bool,
}

impl Sender {
    /// The RTO with backoff; Linux stores it in ticks (`icsk_rto`).
    #[inline]
    pub(super) fn rto(&self) -> Span {
        let rto = self.rtt.rto();
        let rto = if self.rules.linux { round_up(Span::from_micros(rto.as_micros())) } else { rto };
        (rto * (1u64 << self.timers.backoff.min(10))).min(RTO_MAX)
    }

    /// Maximum age of duplicate ACKs (`tcp_tsval_replay`).
    pub(crate) fn replay_window(&self) -> Span {
        self.rto() * 6 / 5
    }

    #[inline]
    pub(super) fn arm(&mut self, timer: Timer, after: Span) {
        let now = self.s.now;
        let at = if self.rules.linux { self.timers.slot.set(now, after) } else { now + after };
        self.timers.armed = Some((timer, at));
    }

    /// Arms a timer as [`Sender::arm`], delayed by the whole ticks for which pacing forbids sending
    /// (`tcp_pacing_delay`).
    #[inline]
    pub(super) fn arm_paced(&mut self, timer: Timer, after: Span) {
        if self.s.next_departure <= self.s.now || !self.rules.linux {
            return self.arm(timer, after);
        }
        let held = between(Time::ZERO, Time::ZERO + self.s.next_departure.since(self.s.now));
        self.arm(timer, after + held);
    }

    /// Time left until the oldest packet's RTO, at least 1 ns (`tcp_rto_delta_us`).
    fn rto_left(&self) -> Span {
        let head = self.scoreboard.front().map_or(self.s.now, |p| p.at);
        (head + self.rto()).since(self.s.now).max(Span::from_nanos(1))
    }

    /// Arms the RTO, or disarms it if nothing is outstanding (`tcp_rearm_rto`).
    #[inline]
    pub(super) fn rearm_rto(&mut self) {
        if self.scoreboard.is_empty() {
            self.timers.armed = None;
            return;
        }
        let after = match self.timers.armed {
            // Time that has passed with the other timers counts.
            Some((Timer::Reorder | Timer::Probe, _)) => self.rto_left(),
            _ => self.rto(),
        };
        self.arm_paced(Timer::Retransmit, after);
    }

    /// Arms the probe timer if a probe makes sense, else the RTO (`tcp_set_xmit_timer`).
    #[inline]
    pub(super) fn set_timer(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm_rto();
        }
    }

    /// Arms the tail loss probe, except in recovery; returns whether it did.
    pub(super) fn schedule_probe(&mut self, advancing_rto: bool) -> bool {
        if !self.rules.tlp.unwrap_or(self.rules.rack)
            || !self.rules.sack
            || self.scoreboard.is_empty()
            || !matches!(self.s.state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut after = match self.rtt.smoothed() {
            Some(srtt) if self.packets_out() == 1 => srtt * 2 + self.rules.rto_min,
            Some(srtt) => srtt * 2 + TIMEOUT_MIN,
            None => crate::rtt::RTO_INITIAL,
        };
        // An earlier RTO that is not overdue determines the time. Rounding to whole microseconds and ticks,
        // and backoff, make one that starts now at most 1 us earlier, so that they seldom have to be
        // computed.
        if !advancing_rto || after + Span::from_micros(1) > self.rtt.rto() {
            let rto = if advancing_rto { self.rto() } else { self.rto_left() };
            if rto > Span::from_nanos(1) {
                after = after.min(rto);
            }
        }
        self.arm_paced(Timer::Probe, after);
        true
    }

    /// Fires all timers that are due.
    pub fn handle_wake(&mut self, now: Time, out: &mut Vec<Outgoing>) {
        self.s.now = now;
        if self.timers.pacing_at.is_some_and(|t| t <= now) {
            self.handle_pacing(out);
        }
        let Some((timer, at)) = self.timers.armed else { return };
        if at > now {
            return;
        }
        match timer {
            Timer::Retransmit if self.scoreboard.is_empty() => self.probe_window(out),
            Timer::Retransmit => self.handle_rto(out),
            Timer::Probe => self.send_probe(out),
            Timer::Reorder => self.handle_reorder_timeout(out),
        }
    }

    /// Sends a window probe: a byte that was already acknowledged makes the peer announce its window (RFC
    /// 9293 section 3.8.6.1).
    fn probe_window(&mut self, out: &mut Vec<Outgoing>) {
        if self.s.snd_nxt >= self.stream.end_with_fin() {
            self.timers.armed = None;
            return;
        }
        // A window too small for a segment: send what fits, as otherwise nothing would ever be sent (RFC 9293
        // section 3.8.6.2.1, override timeout).
        if self.peer.window > 0 && self.write_new(out, WriteMode::Override) {
            return;
        }
        out.push(Outgoing {
            seq: self.s.snd_una.saturating_sub(1),
            bytes: 0,
            size: self.s.mss,
            cwr: false,
            new: false,
            push: false,
            fin: false,
        });
        self.timers.backoff += 1;
        self.arm_paced(Timer::Retransmit, self.rto());
    }

    /// Handles the RTO: everything old enough is lost, and the window becomes one packet
    /// (`tcp_retransmit_timer`).
    fn handle_rto(&mut self, out: &mut Vec<Outgoing>) {
        self.stats.timeouts += 1;
        self.search_mtu();
        self.enter_loss();
        self.give_up_probe();
        self.timers.retransmits += 1;
        let first = self.scoreboard.first();
        self.scoreboard.split_block_after(first);
        self.retransmit(first, out);
        self.charge_pacing(self.payload(first) as u64);
        self.timers.backoff += 1;
        self.arm(Timer::Retransmit, self.rto());
    }

    /// Enters the Loss state (`tcp_enter_loss`).
    fn enter_loss(&mut self) {
        let new_recovery = self.s.state < CaState::Recovery;
        self.mark_timed_out();
        if self.s.state <= CaState::Disorder
            || self.recovery.high_seq <= self.s.snd_una
            || (self.s.state == CaState::Loss && self.timers.retransmits == 0)
        {
            self.undo.prior_ssthresh = self.current_ssthresh();
            self.w.prior_cwnd = self.w.cwnd;
            self.refresh();
            self.w.ssthresh = self.cc.ssthresh(&self.s, &mut self.w);
            self.cc.cwnd_event(&self.s, &mut self.w, Event::Loss);
            self.init_undo();
        }
        self.w.cwnd = self.in_flight() + 1;
        self.w.cwnd_cnt = 0;
        if self.s.state <= CaState::Disorder && self.count.sacked >= 3 {
            self.sacks.reordering = self.sacks.reordering.min(3);
        }
        self.set_state(CaState::Loss);
        self.recovery.high_seq = self.s.snd_nxt;
        self.tlp.high_seq = None;
        self.recovery.cwr_due = self.rules.ecn;
        self.recovery.frto =
            self.rules.profile != Profile::Rfc && (new_recovery || self.timers.retransmits > 0);
    }

    /// Marks packets that an RTO implies as lost; a SACKed first packet means that the receiver reneged.
    fn mark_timed_out(&mut self) {
        let reneged = self.scoreboard.front().is_some_and(|p| p.is(flag::SACKED));
        let first = self.scoreboard.first();
        if reneged {
            self.sacks.cache = [(0, 0); 4];
        }
        self.reset_dup_acks();
        for n in self.scoreboard.numbers() {
            if reneged && self.scoreboard.get(n).is(flag::SACKED) {
                self.scoreboard.get_mut(n).flags &= !flag::SACKED;
                self.count.sacked -= 1;
            } else if self.rules.rack && !reneged && n != first && !self.rack_expired(n, Span::ZERO) {
                continue; // sent too recently to be lost
            }
            self.mark_lost(n);
        }
    }

    /// Sends a tail loss probe: new data if there is any, else the last packet (`tcp_send_loss_probe`).
    fn send_probe(&mut self, out: &mut Vec<Outgoing>) {
        if self.tlp.high_seq.is_some() || self.scoreboard.is_empty() {
            self.rearm_rto();
            return;
        }
        self.tlp.retrans = false;
        let window = (self.s.snd_una + self.peer.window).saturating_sub(self.s.snd_nxt);
        let left = self.stream.end_with_fin() - self.s.snd_nxt;
        if left > 0 && window >= left.min(self.s.mss as u64) {
            if !self.write_new(out, WriteMode::Probe) {
                self.rearm_rto();
                return;
            }
        } else {
            self.give_up_probe();
            let last = self.scoreboard.end().wrapping_sub(1);
            if last != self.scoreboard.first() {
                self.scoreboard.split_block_after(last.wrapping_sub(1));
            }
            self.resend(last, out);
            self.charge_pacing(self.payload(last) as u64);
            self.tlp.retrans = true;
        }
        self.stats.probes += 1;
        self.tlp.high_seq = Some(self.s.snd_nxt);
        self.timers.armed = None;
        self.rearm_rto();
    }
}
