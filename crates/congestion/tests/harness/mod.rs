//! One connection around one controller: calls it as the transport does (the order is in the doc
//! of `Controller`), without packets or queues. Times are set by the test.
#![allow(dead_code)] // each test binary uses its part

use congestion::{CaState, Controller, Event, RateSample, Socket, Window, make};
use units::{Span, Time};

/// A controller, what it reads and what it changes.
pub struct Flow {
    pub c: Box<dyn Controller>,
    pub s: Socket,
    pub w: Window,
    /// ssthresh before the last reduction, for undo.
    prior_ssthresh: u32,
}

impl Flow {
    /// An established connection with an initial window of ten packets.
    pub fn new(name: &str, seed: u64) -> Flow {
        Flow::with(make(name, seed, "flow").unwrap())
    }

    /// The same around a controller of the test's own making.
    pub fn with(c: Box<dyn Controller>) -> Flow {
        let s = Socket { is_cwnd_limited: true, ..Socket::default() };
        let mut flow = Flow { c, s, w: Window::new(10), prior_ssthresh: 0 };
        flow.c.init(&flow.s, &mut flow.w);
        flow.s.app_limited = flow.w.app_limited.take().unwrap_or(0);
        flow
    }

    pub fn wait(&mut self, span: Span) {
        self.s.now += span;
    }

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

    /// The ACK whose rate sample is `rs`.
    pub fn ack_with(&mut self, rs: RateSample) {
        let Flow { c, s, w, .. } = self;
        s.delivered += rs.acked_sacked as u64;
        s.snd_una += rs.acked_sacked as u64 * s.mss as u64;
        s.snd_nxt = s.snd_nxt.max(s.snd_una);
        s.inflight = s.inflight.saturating_sub(rs.acked_sacked);
        s.lost += rs.losses as u64;
        s.delivered_time = s.now;
        if s.delivered > s.app_limited {
            s.app_limited = 0; // what was sent while the application was the limit is through
        }
        if let Some(rtt) = rs.rtt {
            s.srtt = Some(s.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
            s.min_rtt = Some(s.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        c.pkts_acked(s, w, rs.rtt, rs.acked_sacked);
        if c.owns_window() {
            c.cong_control(s, w, &rs);
        } else {
            if s.state < CaState::Cwr {
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

    /// Fast recovery begins, or the reduction after an ECN echo.
    pub fn enter(&mut self, state: CaState) {
        if self.s.state < CaState::Cwr {
            self.reduce();
        }
        self.set_state(state);
    }

    /// The reduction is complete.
    pub fn leave(&mut self) {
        if self.s.state >= CaState::Cwr && !self.c.owns_window() {
            self.w.cwnd = self.w.ssthresh.min(self.w.cwnd_clamp);
            self.c.cwnd_event(&self.s, &mut self.w, Event::CompleteCwr);
        }
        self.set_state(CaState::Open);
    }

    /// A loss repaired at once: the window falls to ssthresh.
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

    /// The reduction was spurious.
    pub fn undo(&mut self) {
        self.w.cwnd = self.c.undo_cwnd(&self.s, &mut self.w).min(self.w.cwnd_clamp);
        self.w.ssthresh = self.w.ssthresh.max(self.prior_ssthresh);
        self.set_state(CaState::Open);
    }

    /// `packets` leave.
    pub fn send(&mut self, packets: u32) {
        if self.s.inflight == 0 {
            self.c.cwnd_event(&self.s, &mut self.w, Event::TxStart);
        }
        self.s.last_sent = Some(self.s.now);
        self.s.inflight = self.s.inflight.saturating_add(packets);
        self.s.snd_nxt += packets as u64 * self.s.mss as u64;
    }
}
