//! Processing of an ACK by the sender, in the kernel's order (`tcp_ack`): SACK tagging, cumulative part, RTT,
//! tail loss probe, recovery, timers, delivery rate (draft-cheng-iccrg-delivery-rate-estimation), congestion
//! control, retransmissions, new data.

use super::output::WriteMode;
use super::timers::Timer;
use super::{Outgoing, Sender};
use crate::receive::timestamp;
use crate::scoreboard::{Brief, PlainRun, flag};
use crate::segment::{Flags, Segment};
use congestion::{AckEvent, CaState, RateSample};
use units::{Span, Time};

/// Properties of an ACK: the kernel's `FLAG_*`, and its rate sample under construction.
#[derive(Clone, Debug, Default)]
pub struct AckInfo {
    pub(super) una_advanced: bool,
    pub(super) data_acked: bool,
    pub(super) data_sacked: bool,
    pub(super) retrans_acked: bool,
    /// Whether data that was never retransmitted was (S)ACKed.
    pub(super) orig_sacked: bool,
    pub(super) dsack: bool,
    pub(super) dsack_tlp: bool,
    pub(super) win_update: bool,
    pub(super) has_data: bool,
    pub(super) ece: bool,
    pub(super) set_timer: bool,
    pub(super) lost_retrans: bool,
    maybe_delayed: bool,
    pub(super) prior_una: u64,
    /// Highest SACKed byte before this ACK.
    prior_sack_end: u64,
    /// Lowest never-retransmitted byte that was SACKed below the highest SACK: a sign of reordering.
    pub(super) reord: Option<u64>,
    pub(super) first_sacked: Option<Time>,
    pub(super) last_sacked: Option<Time>,
    prior_sacked: u32,
    /// Echoed timestamp; 0: none.
    pub(super) ts_ecr: u32,
    rate: Sample,
}

/// State recorded with the newest delivered packet, from which the rate sample is computed.
#[derive(Clone, Debug, Default)]
struct Sample {
    valid: bool,
    prior_delivered: u64,
    prior_time: Time,
    end: u64,
    send_phase: Span,
    app_limited: bool,
    retrans: bool,
    rtt: Option<Span>,
    prior_in_flight: u32,
    tx_in_flight: u32,
    /// Number of packets marked lost when the packet was sent, modulo 2^32.
    lost: u32,
}

/// The transmission that recovery requests; it is sent after the congestion control has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resend {
    Nothing,
    /// Packets marked lost.
    Lost,
    /// The lost MTU probe, in smaller segments.
    Probe,
    /// New data, to find out whether a timeout was spurious (RFC 5682 section 3.1 step 2.b).
    New,
}

impl Sender {
    /// Processes a segment's acknowledgement, and appends to `out` what may be sent now.
    #[inline]
    pub fn handle_ack(&mut self, now: Time, seg: &Segment, out: &mut Vec<Outgoing>) {
        self.s.now = now;
        let ack = seg.ack;
        if ack > self.s.snd_nxt {
            return;
        }
        if self.scoreboard.is_empty() && self.s.snd_nxt == self.stream.end_with_fin() && seg.sacks == 0 {
            // The receiving end of a one-way flow: nothing outstanding, nothing to send.
            if seg.len == 0 || seg.window as u64 != self.peer.window || seg.flags.has(Flags::ECE) {
                return self.handle_idle_ack(seg);
            }
            self.peer.window_from = seg.seq;
            return;
        }
        self.process_ack(seg, out);
    }

    /// Processes the acknowledgement of a segment when nothing is outstanding and nothing is to be sent.
    #[inline(never)]
    fn handle_idle_ack(&mut self, seg: &Segment) {
        let event = self.ack_event(seg);
        if event.slow_path || seg.len == 0 {
            self.report_ack(event);
        }
        self.note_window(seg.window as u64);
        self.peer.window_from = seg.seq;
    }

    fn process_ack(&mut self, seg: &Segment, out: &mut Vec<Outgoing>) {
        let (now, ack) = (self.s.now, seg.ack);
        if self.handle_plain_ack(seg) {
            self.push(now, out);
            self.check_app_limited();
            return;
        }
        let mut a = AckInfo {
            prior_una: self.s.snd_una,
            prior_sack_end: self.highest_sacked(),
            has_data: seg.room() > 0,
            ece: self.rules.ecn && seg.flags.has(Flags::ECE),
            ts_ecr: seg.ts_ecr,
            prior_sacked: self.count.sacked,
            ..AckInfo::default()
        };
        a.rate.prior_in_flight = self.in_flight();
        let mut event = self.ack_event(seg);
        let (delivered, lost) = (self.s.delivered, self.s.lost);
        if ack < self.s.snd_una {
            // An old ACK: its SACK blocks may still matter, for example by showing that a reduction was
            // spurious.
            if seg.sacks > 0 {
                self.tag_sacks(seg, &mut a);
                let resend = self.recover(&mut a, 0);
                self.resend_for(resend, out);
            }
            self.push(now, out);
            return;
        }
        if ack > self.s.snd_una {
            a.una_advanced = true;
            self.timers.retransmits = 0;
        }
        self.update_window(seg, &mut a);
        event.win_update = a.win_update;
        if self.scoreboard.is_empty() {
            self.report_ack(event);
            if seg.sacks > 0 {
                // A late D-SACK may still undo a reduction, or clear the tail loss probe.
                self.tag_sacks(seg, &mut a);
                if a.dsack {
                    self.recover(&mut a, 0);
                }
            }
            self.process_tlp_ack(ack, &a);
            if self.peer.window > 0 && matches!(self.timers.armed, Some((Timer::Retransmit, _))) {
                self.timers.armed = None; // the window is no longer closed
                self.timers.backoff = 0;
            }
            self.push(now, out);
            return;
        }
        if seg.sacks > 0 {
            self.tag_sacks(seg, &mut a);
        }
        self.clean(&mut a);
        if self.rules.rack && a.rate.valid {
            self.update_reorder_window(a.rate.prior_delivered);
        }
        self.report_ack(event);
        self.process_tlp_ack(ack, &a);
        let mut resend = Resend::Nothing;
        let not_dup = a.has_data || a.win_update || a.data_acked;
        let alert = a.data_sacked || a.ece || a.dsack;
        if !not_dup || alert || self.s.state != CaState::Open {
            let dup = !a.una_advanced && !not_dup && !a.dsack;
            resend = self.recover(&mut a, dup as u32);
        }
        if a.set_timer {
            self.set_timer();
        }
        let acked_sacked = (self.s.delivered - delivered) as u32;
        let losses = (self.s.lost - lost) as u32;
        let rs = self.rate_sample(&a.rate, a.maybe_delayed, a.ece, acked_sacked, losses);
        self.delivery.take(&rs);
        self.control(&a, &rs);
        self.resend_for(resend, out);
        self.push(now, out);
        self.check_app_limited();
    }

    /// Processes an ACK of new data if nothing is lost, SACKed or retransmitted: the steps of
    /// [`Sender::handle_ack`] that are left then, up to sending, with all packets acknowledged in one pass.
    /// Returns whether the ACK was of this kind, as nearly all are. Saves a tenth of a simulation's time.
    fn handle_plain_ack(&mut self, seg: &Segment) -> bool {
        let now = self.s.now;
        let event = self.ack_event(seg);
        let is_unusual = self.count.sacked + self.count.lost + self.count.retrans > 0
            || self.s.state != CaState::Open
            || !self.rules.sack
            || self.tlp.high_seq.is_some()
            || self.mtu.has_probe();
        if is_unusual || seg.ack <= self.s.snd_una || seg.sacks > 0 || event.ece {
            return false;
        }
        let prior_in_flight = self.packets_out();
        let Some(PlainRun { packets, first_at, last }) = self.scoreboard.pop_plain(seg.ack) else {
            return false;
        };
        self.scoreboard.trim_front(seg.ack);
        self.recovery.hint = None;
        self.timers.retransmits = 0;
        self.peer.window_from = seg.seq;
        if event.slow_path {
            self.note_window(seg.window as u64);
        }
        let advance = seg.ack - self.s.snd_una;
        self.s.snd_una = seg.ack;
        self.s.delivered += u64::from(packets);
        self.rack_advance(&last.brief());
        self.first_sent = last.at;
        let rate = Sample {
            valid: true,
            prior_delivered: last.delivered,
            prior_time: last.delivered_time,
            end: last.end(),
            send_phase: last.at.since(last.first_sent),
            app_limited: last.is(flag::APP_LIMITED),
            retrans: false,
            rtt: Some(now.since(last.at)),
            prior_in_flight,
            tx_in_flight: last.tx_in_flight,
            lost: last.lost,
        };
        let maybe_delayed =
            packets == 1 && advance < self.s.mss as u64 && last.delivered + 1 == self.s.delivered;
        self.record_rtt(now.since(first_at), now.since(last.at), maybe_delayed);
        self.rtt_is_new = true;
        self.timers.backoff = 0;
        self.refresh();
        self.cc.pkts_acked(&self.s, &mut self.w, rate.rtt, packets);
        if self.rules.rack {
            self.update_reorder_window(last.delivered);
        }
        self.cc.in_ack_event(&self.s, &mut self.w, AckEvent { win_update: true, ..event });
        self.set_timer();
        let rs = self.rate_sample(&rate, maybe_delayed, false, packets, 0);
        self.delivery.take(&rs);
        if self.rules.owns_window {
            self.cc.cong_control(&self.s, &mut self.w, &rs);
            self.take_app_limited();
        } else {
            self.raise_window(packets);
            self.update_pacing_rate();
        }
        true
    }

    /// Sends the transmission that recovery requested (`tcp_xmit_recovery`).
    fn resend_for(&mut self, resend: Resend, out: &mut Vec<Outgoing>) {
        match resend {
            Resend::Nothing => {}
            Resend::Probe => self.fail_probe(out),
            Resend::Lost => self.write_lost(out),
            Resend::New => {
                self.write_new(out, WriteMode::Push);
                if self.s.snd_nxt <= self.recovery.high_seq {
                    self.recovery.frto = false;
                    self.write_lost(out);
                }
            }
        }
    }

    /// Classifies an ACK for the controller, before the window is updated. Header prediction handles ACKs
    /// that differ from the last only in the acknowledged sequence number.
    fn ack_event(&self, seg: &Segment) -> AckEvent {
        let ece = self.rules.ecn && seg.flags.has(Flags::ECE);
        let slow_path = ece || seg.sacks > 0 || seg.window as u64 != self.peer.window;
        AckEvent { slow_path, win_update: false, ece }
    }

    /// Reports an ACK to the controller (`tcp_in_ack_event`).
    fn report_ack(&mut self, event: AckEvent) {
        self.refresh();
        self.cc.in_ack_event(&self.s, &mut self.w, event);
    }

    /// Removes packets that are cumulatively acknowledged (`tcp_clean_rtx_queue`).
    fn clean(&mut self, a: &mut AckInfo) {
        let now = self.s.now;
        let una = self.s.snd_una;
        let (mut first_acked, mut last_acked) = (None, None);
        // Lowest acknowledged byte that was sent once and not SACKed.
        let mut low = u64::MAX;
        let mut acked = 0u32;
        while let Some(p) = self.scoreboard.front() {
            if p.end() > una {
                self.scoreboard.trim_front(una);
                break;
            }
            let n = self.scoreboard.first();
            let p = p.brief();
            if p.is(flag::EVER_RETRANS) {
                if p.is(flag::RETRANS) {
                    self.count.retrans -= 1;
                }
                a.retrans_acked = true;
            } else if !p.is(flag::SACKED) {
                last_acked = Some(p.at);
                first_acked.get_or_insert(p.at);
                low = low.min(p.seq);
                if p.end() <= self.recovery.high_seq {
                    a.orig_sacked = true;
                }
            }
            if p.is(flag::SACKED) {
                self.count.sacked -= 1;
            } else if self.rules.sack {
                self.s.delivered += 1;
                if !self.is_spurious(&p, a) {
                    self.rack_advance(&p);
                }
            }
            if p.is(flag::LOST) {
                self.count.lost -= 1;
            }
            self.sample_delivery(n, a);
            self.scoreboard.pop();
            acked += 1;
            a.data_acked = true;
        }
        if let Some(h) = self.recovery.hint
            && h.wrapping_sub(self.scoreboard.first()) >= self.packets_out()
        {
            self.recovery.hint = None;
        }
        self.measure_rtt(a, first_acked, last_acked, acked);
        if acked > 0 {
            a.set_timer = true;
            self.end_probe();
            if !self.rules.sack {
                self.remove_dup_acks(acked);
                // It is unknown whether originals or retransmissions were delivered.
                a.orig_sacked &= !a.retrans_acked;
            } else if low < a.prior_sack_end {
                self.check_reordering(low);
            }
        } else if let (Some(first), Some(head)) = (a.first_sacked, self.scoreboard.front()) {
            // The SACK is for data sent after the first packet; the timer of that packet keeps running.
            a.set_timer |= a.rate.rtt.is_some() && first < head.at;
        }
        if acked > 0 || a.data_sacked {
            self.refresh();
            self.s.now = now;
            self.cc.pkts_acked(&self.s, &mut self.w, a.rate.rtt, acked);
        }
    }

    /// Eifel detection for one packet: the ACK echoes a timestamp before its retransmission.
    fn is_spurious(&self, p: &Brief, a: &AckInfo) -> bool {
        p.is(flag::EVER_RETRANS) && a.ts_ecr != 0 && a.ts_ecr < timestamp(p.at)
    }

    /// Measures the RTT: of the oldest newly acknowledged data for srtt, of the newest for the minimum
    /// (`tcp_ack_update_rtt`). Retransmitted data gives no sample (Karn's algorithm), except by timestamps.
    fn measure_rtt(&mut self, a: &mut AckInfo, first: Option<Time>, last: Option<Time>, acked: u32) {
        let now = self.s.now;
        let (mut seq_rtt, mut ca_rtt) = (None, None);
        if let (Some(first), Some(last)) = (first, last)
            && !a.retrans_acked
        {
            seq_rtt = Some(now.since(first));
            ca_rtt = Some(now.since(last));
            let advance = self.s.snd_una - a.prior_una;
            // Probably a single packet that is not full-sized, whose ACK was delayed.
            a.maybe_delayed = acked == 1
                && a.prior_sacked == 0
                && advance < self.s.mss as u64
                && a.rate.prior_delivered + 1 == self.s.delivered
                && !(a.data_sacked || a.ece || a.dsack);
        }
        if let (Some(first), Some(last)) = (a.first_sacked, a.last_sacked) {
            ca_rtt = Some(now.since(last));
            seq_rtt = seq_rtt.or(Some(now.since(first)));
        }
        if seq_rtt.is_none() && acked > 0 && a.ts_ecr != 0 {
            let ms = timestamp(now).wrapping_sub(a.ts_ecr);
            if ms < 600_000 {
                seq_rtt = Some(Span::from_millis(ms.max(1) as u64));
                ca_rtt = seq_rtt;
            }
        }
        a.rate.rtt = ca_rtt;
        let (Some(seq_rtt), Some(ca_rtt)) = (seq_rtt, ca_rtt) else { return };
        self.record_rtt(seq_rtt, ca_rtt, a.maybe_delayed);
        self.rtt_is_new = true;
        self.timers.backoff = 0;
    }

    /// Records the newest delivered packet for the rate sample (`tcp_rate_skb_delivered`).
    pub(super) fn sample_delivery(&mut self, n: u32, a: &mut AckInfo) {
        let p = self.scoreboard.get(n);
        if p.is(flag::SAMPLED) {
            return;
        }
        let r = &mut a.rate;
        let newer = p.at > self.first_sent || (p.at == self.first_sent && p.end() > r.end);
        if !r.valid || newer {
            r.valid = true;
            r.prior_delivered = p.delivered;
            r.prior_time = p.delivered_time;
            r.end = p.end();
            r.app_limited = p.is(flag::APP_LIMITED);
            r.retrans = p.is(flag::EVER_RETRANS);
            r.send_phase = p.at.since(p.first_sent);
            (r.tx_in_flight, r.lost) = (p.tx_in_flight, p.lost);
            self.first_sent = p.at;
        }
    }

    /// Generates the rate sample (`tcp_rate_gen`).
    fn rate_sample(
        &mut self,
        r: &Sample,
        is_ack_delayed: bool,
        ece: bool,
        acked_sacked: u32,
        losses: u32,
    ) -> RateSample {
        if self.s.app_limited != 0 && self.s.delivered > self.s.app_limited {
            self.s.app_limited = 0;
        }
        if acked_sacked > 0 {
            self.s.delivered_time = self.s.now;
        }
        let mut rs = RateSample {
            prior_delivered: r.prior_delivered,
            delivered: None,
            interval: Span::ZERO,
            rtt: r.rtt,
            losses,
            acked_sacked,
            prior_in_flight: r.prior_in_flight,
            is_app_limited: r.app_limited,
            is_retrans: r.retrans,
            is_ack_delayed,
            ece,
            tx_in_flight: r.tx_in_flight,
            lost: 0,
        };
        if r.valid {
            rs.lost = (self.s.lost as u32).wrapping_sub(r.lost);
            let interval = r.send_phase.max(self.s.now.since(r.prior_time));
            rs.delivered = Some((self.s.delivered - r.prior_delivered) as u32);
            // An interval shorter than the path allows, as after a spurious retransmission, gives no rate.
            if self.rtt.min().is_none_or(|min| interval >= min) {
                rs.interval = interval;
            }
        }
        rs
    }

    /// Runs the congestion control (`tcp_cong_control`).
    fn control(&mut self, a: &AckInfo, rs: &RateSample) {
        self.refresh();
        if self.rules.owns_window {
            self.cc.cong_control(&self.s, &mut self.w, rs);
            self.take_app_limited();
            return;
        }
        if self.in_reduction() && self.rules.linux {
            self.reduce(rs.acked_sacked, rs.losses, a.una_advanced);
        } else if self.may_raise(a) && !self.in_reduction() && rs.acked_sacked > 0 {
            self.raise_window(rs.acked_sacked);
        }
        self.update_pacing_rate();
    }

    /// Lets the controller grow the window, for `acked` packets newly delivered (`tcp_cong_avoid`).
    fn raise_window(&mut self, acked: u32) {
        let limited = self.s.is_cwnd_limited;
        self.s.is_cwnd_limited = self.is_cwnd_limited();
        self.cc.cong_avoid(&self.s, &mut self.w, acked);
        self.s.is_cwnd_limited = limited;
        self.usage.stamp = self.s.now;
        self.w.cwnd = self.w.cwnd.min(self.w.cwnd_clamp);
    }

    /// Whether the window may grow (`tcp_may_raise_cwnd`): on a reordering path SACKed data counts, too.
    fn may_raise(&self, a: &AckInfo) -> bool {
        if self.sacks.reordering > 3 {
            return a.data_acked || a.data_sacked;
        }
        a.data_acked
    }
}
