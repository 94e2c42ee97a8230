//! RACK (RFC 8985): a packet is lost if one sent later was delivered and the time since it was sent exceeds
//! that one's RTT plus a reordering window. As long as no reordering was seen, the window is zero once three
//! packets were SACKed or recovery is active (section 6.2 step 4).

use super::timers::TIMEOUT_MIN;
use super::timers::Timer;
use super::{Outgoing, Sender};
use crate::scoreboard::{Brief, flag};
use congestion::CaState;
use units::{Span, Time};

/// Number of recoveries for which a widened reordering window lasts (section 6.2 step 4).
const PERSIST: u32 = 16;

/// The newest delivered transmission (RFC 8985 section 6.2), and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    sent: Time,
    order: u16,
    rtt: Span,
    /// Whether something was delivered since the last loss detection.
    advanced: bool,
    pub(super) reordering_seen: bool,
    /// Reordering window in quarters of the minimum RTT.
    steps: u32,
    /// Number of recoveries for which the widened window still lasts.
    pub(super) persist: u32,
    /// Value of `delivered` when a D-SACK last widened the window.
    dsack_round: u64,
    pub(super) dsack_seen: bool,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: Time::ZERO,
            order: 0,
            rtt: Span::ZERO,
            advanced: false,
            reordering_seen: false,
            steps: 1,
            persist: 0,
            dsack_round: 0,
            dsack_seen: false,
        }
    }
}

/// Whether transmission 1 was sent after transmission 2, by their order if they were sent at the same time.
/// Linux compares their end sequence (`tcp_skb_sent_after`), which is equivalent for packets released by one
/// ACK, as they are sent in sequence order; but here several ACKs can arrive at the same time.
fn sent_after(t1: Time, order1: u16, t2: Time, order2: u16) -> bool {
    t1 > t2 || (t1 == t2 && order1.wrapping_sub(order2) as i16 > 0)
}

impl Sender {
    /// Records the newest delivered transmission (section 6.2 step 2).
    pub(super) fn rack_advance(&mut self, p: &Brief) {
        let rtt = self.s.now.since(p.at);
        // A retransmission "delivered" faster than the path allows: the original was delivered.
        if p.is(flag::EVER_RETRANS) && self.rtt.min().is_some_and(|min| rtt < min) {
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt = rtt;
        if sent_after(p.at, p.order, self.rack.sent, self.rack.order) {
            self.rack.sent = p.at;
            self.rack.order = p.order;
        }
    }

    /// The present reordering window.
    fn reorder_window(&self) -> Span {
        let proven = self.s.state >= CaState::Recovery || self.count.sacked >= self.sacks.reordering;
        if proven && !self.rack.reordering_seen {
            return Span::ZERO;
        }
        let quarter = self.rtt.min().unwrap_or(Span::ZERO) / 4;
        let bound = self.rtt.smoothed().unwrap_or(Span::ZERO);
        (quarter * self.rack.steps as u64).min(bound)
    }

    /// How much longer packet `n` may wait; `None` if it has waited long enough (section 6.2 step 5).
    fn rack_wait(&self, n: u32, window: Span) -> Option<Span> {
        let due = self.scoreboard.get(n).at + self.rack.rtt + window;
        (due > self.s.now).then(|| due.since(self.s.now))
    }

    /// Whether packet `n` is older than the newest RTT plus `window`.
    pub(super) fn rack_expired(&self, n: u32, window: Span) -> bool {
        self.rack_wait(n, window).is_none()
    }

    /// Marks lost packets; returns the longest wait of those not yet lost.
    fn detect_losses(&mut self) -> Option<Span> {
        let window = self.reorder_window();
        let mut longest = None;
        let mut at = self.scoreboard.oldest_sent();
        while let Some(n) = at {
            at = self.scoreboard.sent_after(n);
            let p = self.scoreboard.get(n);
            if p.is(flag::LOST) && !p.is(flag::RETRANS) {
                continue;
            }
            if !sent_after(self.rack.sent, self.rack.order, p.at, p.order) {
                break;
            }
            match self.rack_wait(n, window) {
                None => {
                    self.mark_lost(n);
                    self.scoreboard.unlink(n);
                }
                Some(wait) => longest = longest.max(Some(wait)),
            }
        }
        longest
    }

    /// Detects losses on an ACK; returns whether the reordering timer was armed.
    pub(super) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        match self.detect_losses() {
            Some(wait) => {
                self.arm(Timer::Reorder, wait + TIMEOUT_MIN);
                true
            }
            None => false,
        }
    }

    /// Handles the reordering timer (section 6.3).
    pub(super) fn handle_reorder_timeout(&mut self, out: &mut Vec<Outgoing>) {
        let (prior, lost) = (self.in_flight(), self.s.lost);
        self.detect_losses();
        if self.in_flight() != prior {
            if self.s.state != CaState::Recovery {
                self.enter_recovery(false);
                if self.rules.linux && !self.rules.owns_window && self.in_reduction() {
                    let newly = (self.s.lost - lost) as u32;
                    self.reduce(1, newly, false);
                }
            }
            self.write_lost(out);
        }
        if !matches!(self.timers.armed, Some((Timer::Retransmit, _))) {
            self.rearm_rto();
        }
    }

    /// Makes the next ACK examine all packets again, after an undo.
    pub(super) fn rack_reexamine(&mut self) {
        self.rack.advanced = true;
    }

    /// Widens the window by a quarter RTT for each round with a D-SACK, and resets it [`PERSIST`] recoveries
    /// after the last one (section 6.2 step 4). `prior_delivered` is the value of `delivered` when the newest
    /// packet of this ACK was sent.
    pub(super) fn update_reorder_window(&mut self, prior_delivered: u64) {
        let r = &mut self.rack;
        // At most once per round.
        r.dsack_seen &= prior_delivered >= r.dsack_round;
        if r.dsack_seen {
            r.dsack_seen = false;
            r.steps = (r.steps + 1).min(255);
            r.dsack_round = self.s.delivered;
            r.persist = PERSIST;
        } else if r.persist == 0 {
            r.steps = 1;
        }
    }
}
