//! Loss recovery: the states Open, Disorder, CWR, Recovery, Loss; proportional rate reduction (RFC 6937, with
//! the kernel's slow start reduction bound); undo by D-SACK and timestamps (RFC 3522, RFC 4015); F-RTO (RFC
//! 5682); the outcome of tail loss probes (RFC 8985 section 7.4).
//!
//! | here | Linux |
//! |---|---|
//! | FIN and SYN take no part in recovery | they do |
//! | timestamps in ms | in µs on routes that request it |

use super::ack::Resend;
use super::{AckInfo, Sender};
use crate::scoreboard::flag;
use congestion::{CaState, Event, LostPacket};

/// The active recovery.
#[derive(Default)]
pub(super) struct Recovery {
    /// Recovery ends when this is acknowledged: `snd_nxt` at its start (`high_seq`).
    pub(super) high_seq: u64,
    /// The first packet that may be waiting for retransmission (`retransmit_skb_hint`).
    pub(super) hint: Option<u32>,
    /// Whether F-RTO is determining if the timeout was spurious.
    pub(super) frto: bool,
    /// Whether the next data must set CWR.
    pub(super) cwr_due: bool,
}

/// State for undoing a reduction that turns out to be spurious.
#[derive(Default)]
pub(super) struct Undo {
    pub(super) prior_ssthresh: u32,
    /// Value of `snd_una` at the reduction; `None`: nothing to undo.
    pub(super) marker: Option<u64>,
    /// Retransmissions not yet proven spurious; -1: there were none.
    pub(super) retrans: i64,
    /// Timestamp of recovery's first retransmission; `None`: none is in flight.
    pub(super) retrans_stamp: Option<u32>,
}

/// Proportional rate reduction (RFC 6937): packets delivered and sent in this round.
#[derive(Default)]
pub(super) struct Prr {
    pub(super) delivered: u32,
    pub(super) out: u32,
}

impl Sender {
    /// Marks a packet lost (`tcp_mark_skb_lost`); the loss of a retransmission counts again.
    pub(super) fn mark_lost(&mut self, n: u32) {
        let p = self.scoreboard.get_mut(n);
        if p.is(flag::SACKED) {
            return;
        }
        let (was_lost, was_resent) = (p.is(flag::LOST), p.is(flag::RETRANS));
        p.flags = (p.flags | flag::LOST) & !flag::RETRANS;
        self.count.retrans -= was_resent as u32;
        self.count.lost += !was_lost as u32;
        if !was_lost || was_resent {
            self.s.lost += 1;
            self.report_loss(n);
        }
        let first = self.scoreboard.first();
        if self.recovery.hint.is_none_or(|h| n.wrapping_sub(first) < h.wrapping_sub(first)) {
            self.recovery.hint = Some(n);
        }
    }

    /// Reports a packet that was just marked lost to the controller.
    fn report_loss(&mut self, n: u32) {
        let p = self.scoreboard.get(n);
        let lost = LostPacket {
            seq: p.seq,
            end: p.end(),
            packets: 1,
            tx_in_flight: p.tx_in_flight,
            lost: (self.s.lost as u32).wrapping_sub(p.lost),
            is_app_limited: p.is(flag::APP_LIMITED),
        };
        self.refresh();
        self.cc.packet_lost(&self.s, &mut self.w, &lost);
    }

    /// The present ssthresh (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.in_reduction() {
            self.w.ssthresh
        } else {
            self.w.ssthresh.max((self.w.cwnd >> 1) + (self.w.cwnd >> 2))
        }
    }

    pub(super) fn init_undo(&mut self) {
        self.undo.marker = Some(self.s.snd_una);
        self.undo.retrans =
            self.count.retrans as i64 + (self.tlp.high_seq.is_some() && self.tlp.retrans) as i64;
        if self.undo.retrans == 0 {
            self.undo.retrans = -1;
        }
    }

    fn init_reduction(&mut self) {
        self.recovery.high_seq = self.s.snd_nxt;
        self.tlp.high_seq = None;
        self.w.cwnd_cnt = 0;
        self.w.prior_cwnd = self.w.cwnd;
        (self.prr.delivered, self.prr.out) = (0, 0);
        self.refresh();
        self.w.ssthresh = self.cc.ssthresh(&self.s, &mut self.w);
        self.recovery.cwr_due = self.rules.ecn;
    }

    /// Reduces the window at once, as in the RFCs without PRR (RFC 6675 section 5 step 4.2, RFC 6582 section
    /// 3.2 step 2, RFC 3168 section 6.1.2).
    fn reduce_at_once(&mut self) {
        if !self.rules.linux && !self.rules.owns_window {
            self.w.cwnd = self.w.ssthresh;
        }
    }

    /// Proportional rate reduction (RFC 6937 section 3.1): the window decreases to ssthresh over a round, by
    /// what is delivered; below ssthresh it grows no faster than in slow start.
    pub(super) fn reduce(&mut self, acked_sacked: u32, losses: u32, una_advanced: bool) {
        if acked_sacked == 0 || self.w.prior_cwnd == 0 {
            return;
        }
        self.prr.delivered += acked_sacked;
        let delta = self.w.ssthresh as i64 - self.in_flight() as i64;
        let sndcnt = if delta < 0 {
            let target =
                (self.w.ssthresh as u64 * self.prr.delivered as u64).div_ceil(self.w.prior_cwnd as u64);
            target as i64 - self.prr.out as i64
        } else {
            let mut n = (self.prr.delivered as i64 - self.prr.out as i64).max(acked_sacked as i64);
            if una_advanced && losses == 0 {
                n += 1;
            }
            n.min(delta)
        };
        let sndcnt = sndcnt.max((self.prr.out == 0) as i64);
        self.w.cwnd = (self.in_flight() as i64 + sndcnt).max(1) as u32;
    }

    fn end_reduction(&mut self) {
        if self.rules.owns_window {
            return;
        }
        if self.w.ssthresh != u32::MAX && (self.s.state == CaState::Cwr || self.undo.marker.is_some()) {
            self.w.cwnd = self.w.ssthresh;
            self.usage.stamp = self.s.now;
        }
        self.refresh();
        self.cc.cwnd_event(&self.s, &mut self.w, Event::CompleteCwr);
    }

    /// Enters recovery (`tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, ece: bool) {
        // The undo timestamp starts with the first retransmission.
        if !self.any_retrans() {
            self.undo.retrans_stamp = None;
        }
        self.undo.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_reduction() {
            if !ece {
                self.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.init_reduction();
        }
        self.stats.recoveries += 1;
        if !self.rules.fast_recovery {
            return self.start_over();
        }
        self.set_state(CaState::Recovery);
        self.reduce_at_once();
    }

    /// Tahoe (Fall and Floyd 1996, section 2): the fast retransmission is the first packet of a slow start
    /// that retransmits everything that the receiver has not reported.
    fn start_over(&mut self) {
        self.reset_dup_acks();
        for n in self.scoreboard.numbers() {
            if !self.scoreboard.get(n).is(flag::LOST) {
                self.mark_lost(n);
            }
        }
        self.recovery.frto = false;
        self.w.cwnd = self.in_flight() + 1;
        self.set_state(CaState::Loss);
    }

    /// Enters CWR: at most one reduction per round (RFC 3168 section 6.1.2).
    fn enter_cwr(&mut self) {
        self.undo.prior_ssthresh = 0;
        if self.s.state < CaState::Cwr {
            self.undo.marker = None;
            self.init_reduction();
            self.set_state(CaState::Cwr);
            self.reduce_at_once();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let disorder = self.count.sacked + self.count.lost > 0 || self.any_retrans();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.s.state != state {
            self.set_state(state);
            self.recovery.high_seq = self.s.snd_nxt;
        }
    }

    fn any_retrans(&self) -> bool {
        self.count.retrans > 0 || self.scoreboard.front().is_some_and(|p| p.is(flag::EVER_RETRANS))
    }

    fn try_to_open(&mut self, a: &AckInfo) {
        if !self.any_retrans() {
            self.undo.retrans_stamp = None;
        }
        if a.ece {
            self.enter_cwr();
        }
        if self.s.state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// Eifel detection (RFC 3522): whether the ACK was caused by an original sent before the first
    /// retransmission, or nothing was retransmitted yet because of pacing.
    fn packet_delayed(&self, a: &AckInfo) -> bool {
        match self.undo.retrans_stamp {
            Some(first) => a.ts_ecr != 0 && a.ts_ecr < first,
            None => self.rules.linux && (self.rules.sack || self.s.snd_una < self.recovery.high_seq),
        }
    }

    fn may_undo(&self, a: &AckInfo) -> bool {
        self.undo.marker.is_some() && (self.undo.retrans == 0 || self.packet_delayed(a))
    }

    /// Undoes a reduction. A packet whose loss is undone leaves RACK's list until it is retransmitted.
    fn undo(&mut self, unmark: bool) {
        if unmark {
            for n in self.scoreboard.numbers() {
                self.scoreboard.get_mut(n).flags &= !flag::LOST;
            }
            self.count.lost = 0;
            self.recovery.hint = None;
        }
        if self.undo.prior_ssthresh != 0 {
            self.refresh();
            self.w.cwnd = self.cc.undo_cwnd(&self.s, &mut self.w);
            if self.undo.prior_ssthresh > self.w.ssthresh {
                self.w.ssthresh = self.undo.prior_ssthresh;
                self.recovery.cwr_due = false;
            }
            self.stats.undone += 1;
        }
        self.usage.stamp = self.s.now;
        self.undo.marker = None;
        self.rack_reexamine();
    }

    /// Whether the state must be kept: without SACK, until something above `high_seq` is acknowledged, as
    /// otherwise duplicate ACKs of retransmitted data would start a spurious recovery (RFC 6582 section 4.1).
    fn prevents_reopening(&mut self) -> bool {
        if self.rules.sack || self.s.snd_una != self.recovery.high_seq {
            return false;
        }
        if !self.any_retrans() {
            self.undo.retrans_stamp = None;
        }
        true
    }

    /// Ends recovery, undoing the reduction if possible; returns whether the state must be kept for now.
    fn try_undo_recovery(&mut self, a: &AckInfo) -> bool {
        if self.rules.linux && self.may_undo(a) {
            self.undo(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        if self.prevents_reopening() {
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    fn try_undo_dsack(&mut self) -> bool {
        if self.rules.linux && self.undo.marker.is_some() && self.undo.retrans == 0 {
            self.undo(false);
            return true;
        }
        false
    }

    fn try_undo_loss(&mut self, a: &AckInfo, frto: bool) -> bool {
        if !frto && !self.may_undo(a) {
            return false;
        }
        self.undo(true);
        self.timers.retransmits = 0;
        if !self.prevents_reopening() && (frto || self.rules.sack) {
            self.set_state(CaState::Open);
        }
        true
    }

    /// Handles a partial ACK in recovery that a delayed original caused; returns whether to wait and mark
    /// nothing more.
    fn try_undo_partial(&mut self, a: &AckInfo) -> bool {
        if self.undo.marker.is_none() || !self.packet_delayed(a) {
            return false;
        }
        self.check_reordering(a.prior_una);
        if self.count.retrans > 0 {
            return true;
        }
        if !self.any_retrans() {
            self.undo.retrans_stamp = None;
        }
        self.undo(true);
        self.keep_open();
        false
    }

    /// Marks losses by the rules of the profile.
    fn identify_losses(&mut self, a: &mut AckInfo) {
        if !self.rules.sack {
            return self.mark_by_dup_acks(a.una_advanced);
        }
        if !self.rules.rack {
            return self.mark_by_sacks();
        }
        let prior = self.count.retrans;
        if self.rack_mark_lost() {
            a.set_timer = false;
        }
        a.lost_retrans |= prior > self.count.retrans;
    }

    /// The state machine (`tcp_fastretrans_alert`), for every ACK other than plain progress in Open.
    pub(super) fn recover(&mut self, a: &mut AckInfo, dup: u32) -> Resend {
        if a.ece {
            self.undo.prior_ssthresh = 0;
        }
        if self.s.state == CaState::Open {
            self.undo.retrans_stamp = None;
        } else if self.s.snd_una >= self.recovery.high_seq {
            match self.s.state {
                CaState::Cwr if self.s.snd_una != self.recovery.high_seq => {
                    self.end_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    self.reset_dup_acks();
                    if self.try_undo_recovery(a) {
                        return Resend::Nothing;
                    }
                    self.end_reduction(); // to ssthresh, unless undone
                }
                _ => {}
            }
        }
        match self.s.state {
            CaState::Recovery => {
                if !a.una_advanced {
                    self.add_dup_acks(dup);
                } else if self.rules.linux && self.try_undo_partial(a) {
                    return Resend::Nothing;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(a);
                }
                self.identify_losses(a);
                if self.s.state != CaState::Recovery {
                    if self.count.lost == 0 {
                        return Resend::Nothing;
                    }
                    self.enter_recovery(a.ece);
                }
            }
            CaState::Loss => {
                let resend = self.process_loss(a, dup);
                self.identify_losses(a);
                if !(self.s.state == CaState::Open || a.lost_retrans) {
                    return resend;
                }
                return match self.open_or_enter(a, dup) {
                    Resend::Nothing => resend,
                    other => other,
                };
            }
            _ => return self.open_or_enter(a, dup),
        }
        Resend::Lost
    }

    /// Enters recovery from Open, Disorder or CWR if something is lost.
    fn open_or_enter(&mut self, a: &mut AckInfo, dup: u32) -> Resend {
        if a.una_advanced {
            self.reset_dup_acks();
        }
        self.add_dup_acks(dup);
        if self.s.state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_losses(a);
        if self.count.lost == 0 {
            self.try_to_open(a);
            return Resend::Nothing;
        }
        if self.has_lost_probe() {
            return Resend::Probe;
        }
        self.enter_recovery(a.ece);
        Resend::Lost
    }

    /// F-RTO, undo, and the end of the Loss state (`tcp_process_loss`).
    fn process_loss(&mut self, a: &AckInfo, dup: u32) -> Resend {
        let recovered = self.s.snd_una >= self.recovery.high_seq;
        if a.una_advanced && self.rules.linux && self.try_undo_loss(a, false) {
            return Resend::Nothing;
        }
        if self.recovery.frto {
            // RFC 5682 section 3.1 step 3.b: data that was never retransmitted arrived.
            if a.orig_sacked && self.try_undo_loss(a, true) {
                return Resend::Nothing;
            }
            if self.s.snd_nxt > self.recovery.high_seq {
                if a.data_sacked || dup > 0 {
                    self.recovery.frto = false; // step 3.a: the loss was genuine
                }
            } else if a.una_advanced && !recovered {
                self.recovery.high_seq = self.s.snd_nxt;
                // Step 2.b: new data will show whether the timeout was spurious.
                if self.s.snd_nxt < self.stream.end_with_fin()
                    && self.s.snd_una + self.peer.window > self.s.snd_nxt
                {
                    return Resend::New;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(a);
            return Resend::Nothing;
        }
        if self.s.snd_nxt > self.recovery.high_seq && dup > 0 {
            self.add_dup_acks(dup); // data sent in step 2.b was delivered
        } else if a.una_advanced {
            self.reset_dup_acks();
        }
        Resend::Lost
    }

    /// Evaluates an ACK for an outstanding tail loss probe (RFC 8985 section 7.4.2).
    pub(super) fn process_tlp_ack(&mut self, ack: u64, a: &AckInfo) {
        let Some(high) = self.tlp.high_seq else { return };
        if ack < high {
            return;
        }
        if !self.tlp.retrans || a.dsack_tlp {
            self.tlp.high_seq = None;
        } else if ack > high {
            // The probe repaired a loss: reduce once.
            self.init_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.keep_open();
        } else if !a.una_advanced && !a.has_data && !a.win_update && !a.data_sacked {
            self.tlp.high_seq = None;
        }
    }
}
