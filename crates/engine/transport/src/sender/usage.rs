//! How much of the window was used, and what follows: validation, decay when idle, the pacing rate,
//! and when the application was the limit (`tcp_cwnd_validate`, `tcp_cwnd_restart`,
//! `tcp_update_pacing_rate`, `tcp_rate_check_app_limited`).

use super::Sender;
use crate::wheel::between;
use congestion::{CaState, Event};
use units::Time;

/// How much of the window was used.
#[derive(Default)]
pub(super) struct Usage {
    /// The round of judgement ends here (`cwnd_usage_seq`).
    round_end: u64,
    /// Most packets outstanding in it.
    max_packets_out: u32,
    /// Most packets outstanding while the application was the limit (`snd_cwnd_used`).
    used: u32,
    /// When the window was last full, or changed for want of use (`snd_cwnd_stamp`).
    pub(super) stamp: Time,
}

impl Sender {
    /// Remembers whether the window was the limit (`tcp_cwnd_validate`, RFC 7661 in spirit).
    pub(super) fn validate_cwnd(&mut self, limited: bool) {
        let out = self.packets_out();
        if self.s.snd_una >= self.usage.round_end
            || limited
            || (!self.s.is_cwnd_limited && out > self.usage.max_packets_out)
        {
            self.s.is_cwnd_limited = limited;
            self.usage.max_packets_out = out;
            self.usage.round_end = self.s.snd_nxt;
        }
        if self.is_cwnd_limited() {
            self.usage.used = 0;
            self.usage.stamp = self.s.now;
        } else {
            self.usage.used = self.usage.used.max(out);
            let shrinks = self.rules.linux && self.rules.idle_restart && !self.rules.owns_window;
            if shrinks && between(self.usage.stamp, self.s.now) >= self.rto() {
                self.application_limited();
            }
        }
    }

    /// `tcp_is_cwnd_limited`: in slow start the window may grow to twice what was used.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.s.is_cwnd_limited || (self.w.in_slow_start() && self.w.cwnd < 2 * self.usage.max_packets_out)
    }

    /// RFC 2861: a window unused for an RTO decays towards what was used. Not while the application
    /// waits for room in the send buffer: then the receiver is the limit (`SOCK_NOSPACE`).
    fn application_limited(&mut self) {
        let full = self.stream.all() - self.s.snd_una >= self.rules.send_buffer;
        if self.s.state == CaState::Open && !full {
            let used = self.usage.used.max(self.rules.initial_window);
            if used < self.w.cwnd {
                self.w.ssthresh = self.current_ssthresh();
                self.w.cwnd = (self.w.cwnd + used) / 2;
            }
            self.usage.used = 0;
        }
        self.usage.stamp = self.s.now;
    }

    /// RFC 5681 section 4.1: after an idle RTO the initial window; Linux halves it for each RTO that
    /// passed (RFC 2861). Asked when data comes to be sent, or the peer's window opens
    /// (`tcp_slow_start_after_idle_check`).
    pub(super) fn restart_after_idle(&mut self) {
        let Some(last) = self.s.last_sent.filter(|_| self.board.is_empty()) else { return };
        let rto = self.rto();
        let now = self.s.now;
        let mut idle = if self.rules.linux { between(last, now) } else { now.since(last) };
        if idle <= rto || self.rules.owns_window || !self.rules.idle_restart {
            return;
        }
        self.cc.cwnd_event(&self.s, &mut self.w, Event::CwndRestart);
        self.w.ssthresh = self.current_ssthresh();
        let floor = self.rules.initial_window.min(self.w.cwnd);
        while idle > rto && self.w.cwnd > floor && self.rules.linux {
            idle = idle - rto;
            self.w.cwnd >>= 1;
        }
        self.w.cwnd = if self.rules.linux { self.w.cwnd.max(floor) } else { floor };
        self.usage.stamp = self.s.now;
        self.usage.used = 0;
    }

    /// The pacing rate of controllers that set none: 200 % of cwnd / srtt in slow start, else
    /// 120 % (`tcp_update_pacing_rate`).
    pub(super) fn update_pacing_rate(&mut self) {
        if self.rules.owns_window {
            return;
        }
        let Some(srtt) = self.rtt.smoothed() else {
            self.w.pacing_rate = u64::MAX;
            return;
        };
        let percent: u64 = if self.w.cwnd < self.w.ssthresh / 2 { 200 } else { 120 };
        let window = self.w.cwnd.max(self.packets_out()) as u128 * self.s.mss as u128;
        let rate = window * percent as u128 * 10_000_000 / srtt.as_nanos() as u128;
        self.w.pacing_rate = (rate as u64).min(self.s.max_pacing_rate);
    }

    /// The application has nothing more to send now: samples until then are limited by it
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn check_app_limited(&mut self) {
        if self.stream.all() - self.s.snd_nxt < self.s.mss as u64
            && self.in_flight() < self.w.cwnd
            && self.count.lost <= self.count.retrans
        {
            self.s.app_limited = (self.s.delivered + self.in_flight() as u64).max(1);
        }
    }
}
