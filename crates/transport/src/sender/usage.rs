//! How much of the window was used, and what follows: validation, decay when idle, the pacing rate,
//! and when the application was the limit (`tcp_cwnd_validate`, `tcp_cwnd_restart`,
//! `tcp_update_pacing_rate`, `tcp_rate_check_app_limited`).

use super::Sender;
use crate::config::Profile;
use congestion::{CaState, Event};

impl Sender {
    /// Remembers whether the window was the limit (`tcp_cwnd_validate`, RFC 7661 in spirit).
    pub(super) fn validate_cwnd(&mut self, limited: bool) {
        let out = self.packets_out();
        if self.s.snd_una >= self.usage_seq
            || limited
            || (!self.s.is_cwnd_limited && out > self.max_packets_out)
        {
            self.s.is_cwnd_limited = limited;
            self.max_packets_out = out;
            self.usage_seq = self.s.snd_nxt;
        }
        if self.is_cwnd_limited() {
            self.cwnd_used = 0;
            self.cwnd_stamp = self.s.now;
        } else {
            self.cwnd_used = self.cwnd_used.max(out);
            if self.linux && self.s.now.since(self.cwnd_stamp) >= self.rto() && !self.owns_window {
                self.application_limited();
            }
        }
    }

    /// `tcp_is_cwnd_limited`: in slow start the window may grow to twice what was used.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.s.is_cwnd_limited || (self.w.in_slow_start() && self.w.cwnd < 2 * self.max_packets_out)
    }

    /// RFC 2861: a window unused for an RTO decays towards what was used. Not while the application
    /// waits for room in the send buffer: then the receiver is the limit (`SOCK_NOSPACE`).
    fn application_limited(&mut self) {
        let full = self.write_seq - self.s.snd_una >= self.send_buffer;
        if self.s.state == CaState::Open && !full {
            let used = self.cwnd_used.max(self.initial_window);
            if used < self.w.cwnd {
                self.w.ssthresh = self.current_ssthresh();
                self.w.cwnd = (self.w.cwnd + used) / 2;
            }
            self.cwnd_used = 0;
        }
        self.cwnd_stamp = self.s.now;
    }

    /// RFC 5681 section 4.1: after an idle RTO the initial window; Linux halves it for each RTO that
    /// passed (RFC 2861), Windows keeps it.
    pub(super) fn restart_after_idle(&mut self) {
        let Some(last) = self.s.last_sent else { return };
        let rto = self.rto();
        let mut idle = self.s.now.since(last);
        if idle <= rto || self.owns_window || self.profile == Profile::Windows {
            return;
        }
        self.cc.cwnd_event(&self.s, &mut self.w, Event::CwndRestart);
        self.w.ssthresh = self.current_ssthresh();
        let floor = self.initial_window.min(self.w.cwnd);
        while idle > rto && self.w.cwnd > floor && self.linux {
            idle = idle - rto;
            self.w.cwnd >>= 1;
        }
        self.w.cwnd = if self.linux { self.w.cwnd.max(floor) } else { floor };
        self.cwnd_stamp = self.s.now;
        self.cwnd_used = 0;
    }

    /// The pacing rate of controllers that set none: 200 % of cwnd / srtt in slow start, else
    /// 120 % (`tcp_update_pacing_rate`).
    pub(super) fn update_pacing_rate(&mut self) {
        if self.owns_window {
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
        if self.write_seq - self.s.snd_nxt < self.s.mss as u64
            && self.in_flight() < self.w.cwnd
            && self.lost_out <= self.retrans_out
        {
            self.s.app_limited = (self.s.delivered + self.in_flight() as u64).max(1);
        }
    }
}
