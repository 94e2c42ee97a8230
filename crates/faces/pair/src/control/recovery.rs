//! How losses and marks change the window, and for how long (RFC 9002 section 7.3.2): from a loss or a CE
//! mark until a packet sent after it is acknowledged. As in Linux, losses lead to Recovery and marks to CWR.

use super::Steering;
use congestion::{CaState, Event};
use std::time::Instant;

impl Steering {
    /// RFC 9002 section 7.3.2: one reduction for all losses of packets sent before it.
    pub(super) fn on_congestion(&mut self, now: Instant, largest_lost: u64, is_persistent: bool) {
        self.socket.now = self.time(now);
        if self.exempt.were_all_exempt() && !is_persistent {
            return;
        }
        if self.recovery_high.is_none_or(|high| largest_lost > high) {
            self.reduce(CaState::Recovery);
        }
        if is_persistent && self.socket.state != CaState::Loss {
            self.cc.cwnd_event(&self.socket, &mut self.window, Event::Loss);
            self.window.cwnd = self.socket.inflight + 1;
            self.cc.set_state(&self.socket, &mut self.window, CaState::Loss);
            self.socket.state = CaState::Loss;
        }
        if !self.cc.owns_window() {
            self.pace_by_window();
        }
    }

    /// RFC 9002 section 7.1: packets up to this number came with CE marks. The window is reduced as for a
    /// loss, once for what was sent before. Controls that keep their own window see the mark in the next rate
    /// sample.
    pub(super) fn on_marked(&mut self, now: Instant, largest: u64) {
        self.socket.now = self.time(now);
        self.ack.is_marked = true;
        if self.recovery_high.is_some_and(|high| largest <= high) {
            return;
        }
        self.reduce(CaState::Cwr);
        if !self.cc.owns_window() {
            self.pace_by_window();
        }
    }

    fn reduce(&mut self, state: CaState) {
        self.window.cwnd_cnt = 0;
        self.window.prior_cwnd = self.window.cwnd;
        self.prior_ssthresh = self.window.ssthresh;
        self.window.ssthresh = self.cc.ssthresh(&self.socket, &mut self.window);
        self.cc.set_state(&self.socket, &mut self.window, state);
        self.socket.state = state;
        self.recovery_high = Some(self.largest_sent);
        if !self.cc.owns_window() {
            self.window.cwnd = self.window.ssthresh.max(2);
        }
    }

    pub(super) fn leave_recovery(&mut self) {
        if self.recovery_high.is_none_or(|high| self.largest_acked <= high) {
            return;
        }
        self.recovery_high = None;
        self.cc.set_state(&self.socket, &mut self.window, CaState::Open);
        self.socket.state = CaState::Open;
        if !self.cc.owns_window() {
            self.cc.cwnd_event(&self.socket, &mut self.window, Event::CompleteCwr);
        }
    }

    pub(super) fn undo(&mut self) {
        // A CE mark is never spurious, so its reduction is not undone.
        if self.socket.state == CaState::Cwr || self.recovery_high.take().is_none() {
            return;
        }
        self.window.cwnd = self.cc.undo_cwnd(&self.socket, &mut self.window);
        self.window.ssthresh = self.window.ssthresh.max(self.prior_ssthresh);
        self.cc.set_state(&self.socket, &mut self.window, CaState::Open);
        self.socket.state = CaState::Open;
    }
}

#[cfg(test)]
mod tests;
