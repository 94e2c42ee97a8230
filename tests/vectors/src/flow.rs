//! One connection around one congestion control: calls it as the transport does (the order is in the
//! documentation of [`Controller`]), without packets or queues. The test sets the times.

use crate::{Ack, Change, Observed, Start, Subject};
use congestion::{AckEvent, CaState, Controller, Event, LostPacket, RateSample, Socket, Window, make};
use units::{Span, Time};

/// A congestion control with its inputs and outputs.
pub struct Flow {
    /// The congestion control.
    pub c: Box<dyn Controller>,
    /// The algorithm's input.
    pub s: Socket,
    /// The values that it changes.
    pub w: Window,
    /// ssthresh before the last reduction, for undo.
    prior_ssthresh: u32,
}

impl Flow {
    /// An established connection with an initial window of ten packets and the algorithm `name`, which draws
    /// from the stream of `seed`.
    ///
    /// # Panics
    /// If there is no such algorithm.
    pub fn new(name: &str, seed: u64) -> Flow {
        let mut flow = Flow::with(make(name, seed, "flow").expect("a name of the registry"));
        flow.start(&Start::default());
        flow
    }

    /// A connection around `c`, not yet established.
    pub fn with(c: Box<dyn Controller>) -> Flow {
        let s = Socket { is_cwnd_limited: true, ..Socket::default() };
        Flow { c, s, w: Window::new(10), prior_ssthresh: 0 }
    }

    /// Advances the time by `span`.
    pub fn wait(&mut self, span: Span) {
        self.s.now += span;
    }

    /// Sets the time to this many milliseconds after the start.
    pub fn at_millis(&mut self, ms: u64) {
        self.s.now = Time::from_nanos(ms * 1_000_000);
    }

    /// `acked` packets are acknowledged, the newest with `rtt`; the rate sample spans one `rtt`.
    pub fn ack(&mut self, acked: u32, rtt: Span) {
        let rs = RateSample {
            prior_delivered: self.s.delivered.saturating_sub(self.s.inflight as u64),
            delivered: Some(acked),
            interval: rtt,
            rtt: Some(rtt),
            acked_sacked: acked,
            prior_in_flight: self.s.inflight,
            ..RateSample::default()
        };
        self.ack_with(rs);
    }

    /// An ACK with the rate sample `rs`; its losses are not listed individually.
    pub fn ack_with(&mut self, rs: RateSample) {
        self.ack_losing(rs, &[]);
    }

    /// An ACK with the rate sample `rs` that reveals the losses `lost`, which are included in its number of
    /// losses.
    pub fn ack_losing(&mut self, rs: RateSample, lost: &[LostPacket]) {
        let Flow { c, s, w, .. } = self;
        s.delivered += rs.acked_sacked as u64;
        s.snd_una += rs.acked_sacked as u64 * s.mss as u64;
        s.snd_nxt = s.snd_nxt.max(s.snd_una);
        s.inflight = s.inflight.saturating_sub(rs.acked_sacked);
        s.lost += (rs.losses as u64).saturating_sub(lost.len() as u64);
        s.delivered_time = s.now;
        if s.delivered > s.app_limited {
            s.app_limited = 0; // what was sent while the application was the limit is through
        }
        if let Some(rtt) = rs.rtt {
            s.srtt = Some(s.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
            s.min_rtt = Some(s.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        c.pkts_acked(s, w, rs.rtt, rs.acked_sacked);
        // Header prediction handles an ACK that advances; one that does not is a duplicate.
        let moved = rs.acked_sacked > 0;
        c.in_ack_event(s, w, AckEvent { slow_path: !moved || rs.ece, win_update: moved, ece: rs.ece });
        for packet in lost {
            s.lost += 1;
            c.packet_lost(s, w, packet);
        }
        if c.owns_window() {
            c.cong_control(s, w, &rs);
        } else {
            if !matches!(s.state, CaState::Cwr | CaState::Recovery) {
                c.cong_avoid(s, w, rs.acked_sacked);
            }
            self.default_pacing();
        }
        if let Some(mark) = self.w.app_limited.take() {
            self.s.app_limited = mark;
        }
    }

    /// `tcp_update_pacing_rate`: 200 % of cwnd / srtt in slow start, then 120 %.
    fn default_pacing(&mut self) {
        let percent = if self.w.cwnd < self.w.ssthresh / 2 { 200 } else { 120 };
        let bytes = self.w.cwnd as u64 * self.s.mss as u64;
        let per_second = bytes.saturating_mul(10_000 * percent);
        let srtt = self.s.srtt.map_or(0, |srtt| srtt.as_micros());
        self.w.pacing_rate = per_second.checked_div(srtt).unwrap_or(self.w.pacing_rate);
    }

    fn set_state(&mut self, new: CaState) {
        self.c.set_state(&self.s, &mut self.w, new);
        self.s.state = new;
    }

    fn reduce(&mut self) {
        self.w.cwnd_cnt = 0;
        self.w.prior_cwnd = self.w.cwnd;
        self.prior_ssthresh = self.w.ssthresh;
        self.w.ssthresh = self.c.ssthresh(&self.s, &mut self.w);
    }

    /// Begins fast recovery, or the reduction after an ECN echo.
    pub fn enter(&mut self, state: CaState) {
        if self.s.state < CaState::Cwr {
            self.reduce();
        }
        if state == CaState::Recovery && !self.c.fast_recovery() {
            self.s.inflight = 0; // all counts as lost
            self.w.cwnd = 1;
            return self.set_state(CaState::Loss);
        }
        self.set_state(state);
    }

    /// Ends the reduction.
    pub fn leave(&mut self) {
        let reduced = matches!(self.s.state, CaState::Cwr | CaState::Recovery);
        if reduced && !self.c.owns_window() {
            self.w.cwnd = self.w.ssthresh.min(self.w.cwnd_clamp);
            self.c.cwnd_event(&self.s, &mut self.w, Event::CompleteCwr);
        }
        self.set_state(CaState::Open);
    }

    /// A loss that is repaired immediately: the window falls to ssthresh.
    pub fn lose(&mut self) {
        self.enter(CaState::Recovery);
        self.leave();
    }

    /// A retransmission timeout.
    pub fn time_out(&mut self) {
        if self.s.state != CaState::Loss {
            self.reduce();
            self.c.cwnd_event(&self.s, &mut self.w, Event::Loss);
        }
        self.w.cwnd = self.s.inflight.saturating_add(1).min(self.w.cwnd_clamp);
        self.w.cwnd_cnt = 0;
        self.set_state(CaState::Loss);
    }

    /// Undoes the reduction, which was spurious.
    pub fn undo(&mut self) {
        self.w.cwnd = self.c.undo_cwnd(&self.s, &mut self.w).min(self.w.cwnd_clamp);
        self.w.ssthresh = self.w.ssthresh.max(self.prior_ssthresh);
        self.set_state(CaState::Open);
    }

    /// The application pauses: everything is delivered, `span` passes, one packet is sent.
    pub fn idle(&mut self, span: Span) {
        self.s.inflight = 0;
        self.s.app_limited = self.s.delivered.max(1);
        self.wait(span);
        self.send(1);
    }

    /// The transport restarts the window at `cwnd` after idle time; ssthresh keeps three quarters of the old
    /// window (RFC 2861, as `tcp_cwnd_restart`).
    pub fn restart(&mut self, cwnd: u32) {
        self.c.cwnd_event(&self.s, &mut self.w, Event::CwndRestart);
        self.w.ssthresh = self.w.ssthresh.max((self.w.cwnd >> 1) + (self.w.cwnd >> 2));
        self.w.cwnd = cwnd.min(self.w.cwnd);
    }

    /// Sends `packets`.
    pub fn send(&mut self, packets: u32) {
        if self.s.inflight == 0 {
            self.c.cwnd_event(&self.s, &mut self.w, Event::TxStart);
        }
        self.s.last_sent = Some(self.s.now);
        self.s.inflight = self.s.inflight.saturating_add(packets);
        self.s.snd_nxt += packets as u64 * self.s.mss as u64;
    }
}

impl Flow {
    /// The packets that an ACK reveals as lost, from the first unacknowledged byte up: `ranges` runs, a
    /// packet apart.
    fn lost_packets(&self, ack: &Ack, tx_in_flight: u32) -> Vec<LostPacket> {
        let (mss, ranges) = (self.s.mss as u64, ack.ranges.max(1));
        let packet = |i: u32| {
            let gaps = (i as u64 * ranges as u64 / ack.losses as u64) + i as u64;
            let seq = self.s.snd_una + gaps * mss;
            LostPacket {
                seq,
                end: seq + mss,
                packets: 1,
                tx_in_flight,
                lost: ack.lost.saturating_sub(ack.losses) + i + 1,
                is_app_limited: ack.app_limited,
            }
        };
        (0..ack.losses).map(packet).collect()
    }
}

impl Subject for Flow {
    fn start(&mut self, start: &Start) {
        let (s, w) = (&mut self.s, &mut self.w);
        s.mss = start.mss;
        (s.srtt, s.min_rtt) = (start.rtt, start.rtt);
        w.cwnd = start.cwnd;
        w.cwnd_clamp = start.clamp;
        self.c.init(s, w);
        s.app_limited = w.app_limited.take().unwrap_or(0);
    }

    fn wait(&mut self, span: Span) {
        Flow::wait(self, span);
    }

    fn elapsed(&self) -> Span {
        self.s.now.since(Time::ZERO)
    }

    fn set(&mut self, change: &Change) {
        let (s, w) = (&mut self.s, &mut self.w);
        w.cwnd = change.cwnd.unwrap_or(w.cwnd);
        w.ssthresh = change.ssthresh.unwrap_or(w.ssthresh);
        s.inflight = change.inflight.unwrap_or(s.inflight);
        s.is_cwnd_limited = change.cwnd_limited.unwrap_or(s.is_cwnd_limited);
        s.max_pacing_rate = change.max_pacing_rate.unwrap_or(s.max_pacing_rate);
        s.next_departure = change.departure.map_or(s.next_departure, |d| s.now + d);
        if let Some(limited) = change.app_limited {
            s.app_limited = if limited { (s.delivered + s.inflight as u64).max(1) } else { 0 };
        }
    }

    fn send(&mut self, packets: u32) {
        Flow::send(self, packets);
    }

    fn ack(&mut self, ack: &Ack) {
        if let Some(left) = ack.inflight {
            self.s.inflight = left.saturating_add(ack.acked);
        } else {
            self.s.inflight = self.s.inflight.saturating_sub(ack.losses);
        }
        let since_sent = self.s.delivered.saturating_sub(self.s.inflight as u64);
        let prior = if ack.round { self.s.delivered } else { since_sent };
        let prior_in_flight = self.s.inflight.saturating_add(ack.losses);
        let tx_in_flight = ack.tx_in_flight.unwrap_or(prior_in_flight);
        let lost = self.lost_packets(ack, tx_in_flight);
        let rs = RateSample {
            prior_delivered: ack.prior_delivered.unwrap_or(prior),
            delivered: ack.delivered,
            interval: ack.interval,
            rtt: ack.rtt,
            losses: ack.losses,
            acked_sacked: ack.acked,
            prior_in_flight,
            is_app_limited: ack.app_limited,
            is_retrans: ack.retrans,
            is_ack_delayed: ack.delayed,
            ece: ack.ece,
            tx_in_flight,
            lost: ack.lost,
        };
        self.ack_losing(rs, &lost);
    }

    fn enter(&mut self, state: CaState) {
        Flow::enter(self, state);
    }

    fn leave(&mut self) {
        Flow::leave(self);
    }

    fn time_out(&mut self) {
        Flow::time_out(self);
    }

    fn undo(&mut self) {
        Flow::undo(self);
    }

    fn idle(&mut self, span: Span) {
        Flow::idle(self, span);
    }

    fn restart(&mut self, cwnd: u32) {
        Flow::restart(self, cwnd);
    }

    fn observe(&self) -> Observed {
        let probe = self.c.probe();
        Observed {
            cwnd: self.w.cwnd,
            ssthresh: self.w.ssthresh,
            pacing_rate: self.c.owns_window().then_some(self.w.pacing_rate),
            ca_state: match self.s.state {
                CaState::Open => "open",
                CaState::Disorder => "disorder",
                CaState::Cwr => "cwr",
                CaState::Recovery => "recovery",
                CaState::Loss => "loss",
            },
            state: (!probe.state.is_empty()).then(|| probe.state.to_string()),
            btl_bw: probe.btl_bw,
            rt_prop: probe.rt_prop,
            pacing_gain: probe.pacing_gain,
            cwnd_gain: probe.cwnd_gain,
            round: probe.round,
            app_limited: self.s.app_limited,
        }
    }
}
