//! Tracks how much of the congestion window is used, with the consequences: validation, decay when idle, the
//! pacing rate, and detection of application limits (`tcp_cwnd_validate`, `tcp_cwnd_restart`,
//! `tcp_update_pacing_rate`, `tcp_rate_check_app_limited`).

use super::Sender;
use crate::wheel::between;
use congestion::{CaState, Event};
use units::Time;

/// Usage of the congestion window.
#[derive(Default)]
pub(super) struct Usage {
    /// End of the measurement round (`cwnd_usage_seq`).
    round_end: u64,
    /// Maximum of outstanding packets in the round.
    max_packets_out: u32,
    /// Maximum of outstanding packets while the application was the limit (`snd_cwnd_used`).
    used: u32,
    /// Time at which the window was last full, or reduced because it was unused (`snd_cwnd_stamp`).
    pub(super) stamp: Time,
}

impl Sender {
    /// Records whether the window was the limit (`tcp_cwnd_validate`, in the spirit of RFC 7661).
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

    /// Whether the window is the limit; in slow start it may grow to twice what was used
    /// (`tcp_is_cwnd_limited`).
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.s.is_cwnd_limited || (self.w.in_slow_start() && self.w.cwnd < 2 * self.usage.max_packets_out)
    }

    /// Reduces a window that was unused for an RTO towards what was used (RFC 2861), unless the application
    /// waits for room in the send buffer: then the receiver is the limit (`SOCK_NOSPACE`).
    fn application_limited(&mut self) {
        let full = self.stream.end_with_fin() - self.s.snd_una >= self.rules.send_buffer;
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

    /// Reduces the window after an RTO of idle time: to the initial window (RFC 5681 section 4.1), or in
    /// Linux by half for each RTO that has passed (RFC 2861). Called when data is to be sent, or the peer's
    /// window opens (`tcp_slow_start_after_idle_check`).
    pub(super) fn restart_after_idle(&mut self) {
        let Some(last) = self.s.last_sent.filter(|_| self.scoreboard.is_empty()) else { return };
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

    /// Updates the pacing rate for controllers that set none: 200 % of cwnd / srtt in slow start, else 120 %
    /// (`tcp_update_pacing_rate`).
    pub(super) fn update_pacing_rate(&mut self) {
        if self.rules.owns_window {
            return;
        }
        let Some(srtt) = self.rtt.smoothed() else {
            self.w.pacing_rate = u64::MAX;
            return;
        };
        let percent: u64 = if self.w.cwnd < self.w.ssthresh / 2 { 200 } else { 120 };
        let window = self.w.cwnd.max(self.packets_out()) as u64 * self.s.mss as u64;
        let bytes = window.checked_mul(percent * 10_000_000);
        let rate = match bytes {
            Some(bytes) => bytes / srtt.as_nanos(),
            None => (window as u128 * (percent * 10_000_000) as u128 / srtt.as_nanos() as u128) as u64,
        };
        self.w.pacing_rate = rate.min(self.s.max_pacing_rate);
    }

    /// Notes that the application has no more data to send: samples up to now are application-limited
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn check_app_limited(&mut self) {
        if self.stream.end_with_fin() - self.s.snd_nxt < self.s.mss as u64
            && self.in_flight() < self.w.cwnd
            && self.count.lost <= self.count.retrans
        {
            self.s.app_limited = (self.s.delivered + self.in_flight() as u64).max(1);
        }
    }
}
