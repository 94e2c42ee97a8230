//! RACK (RFC 8985): a packet is lost when one sent later was delivered and the time since it was sent
//! exceeds that one's RTT plus a reordering window. The window is zero once three packets were
//! SACKed or recovery runs, as long as no reordering was seen (section 6.2 step 4).

use super::timers::TIMEOUT_MIN;
use super::timers::Timer;
use super::{Outgoing, Sender};
use crate::scoreboard::{Brief, flag};
use congestion::CaState;
use units::{Span, Time};

/// Recoveries a widened reordering window lasts (section 6.2 step 4).
const PERSIST: u32 = 16;

/// Memory of the newest delivered transmission (RFC 8985 section 6.2), and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    sent: Time,
    order: u16,
    rtt: Span,
    /// Something was delivered since losses were last looked for.
    advanced: bool,
    pub(super) reordering_seen: bool,
    /// Reordering window in quarters of the minimum RTT.
    steps: u32,
    /// Recoveries for which a widened window still lasts.
    pub(super) persist: u32,
    /// `delivered` when a D-SACK last widened it.
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

/// Whether transmission 1 left after transmission 2. Of those that left at one moment their order tells.
/// Linux compares where they end (`tcp_skb_sent_after`), which is the same: what one ACK lets out leaves
/// in the order of sequence numbers. But here ACKs that arrive at one moment share it.
fn sent_after(t1: Time, order1: u16, t2: Time, order2: u16) -> bool {
    t1 > t2 || (t1 == t2 && order1.wrapping_sub(order2) as i16 > 0)
}

impl Sender {
    /// Section 6.2 step 2: remembers the newest transmission delivered.
    pub(super) fn rack_advance(&mut self, p: &Brief) {
        let rtt = self.s.now.since(p.at);
        // A retransmission "delivered" faster than the path can: the original was.
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

    /// The reordering window now.
    fn reorder_window(&self) -> Span {
        let proven = self.s.state >= CaState::Recovery || self.count.sacked >= self.sacks.reordering;
        if proven && !self.rack.reordering_seen {
            return Span::ZERO;
        }
        let quarter = self.rtt.min().unwrap_or(Span::ZERO) / 4;
        let bound = self.rtt.smoothed().unwrap_or(Span::ZERO);
        (quarter * self.rack.steps as u64).min(bound)
    }

    /// Whether `n` has waited long enough; else how much longer it may (section 6.2 step 5).
    fn rack_wait(&self, n: u32, window: Span) -> Option<Span> {
        let due = self.board.get(n).at + self.rack.rtt + window;
        (due > self.s.now).then(|| due.since(self.s.now))
    }

    /// Whether the packet is older than the newest RTT plus `window`.
    pub(super) fn rack_expired(&self, n: u32, window: Span) -> bool {
        self.rack_wait(n, window).is_none()
    }

    /// Marks what is lost; the longest wait of what is not yet.
    fn detect_losses(&mut self) -> Option<Span> {
        let window = self.reorder_window();
        let mut longest = None;
        let mut at = self.board.oldest_sent();
        while let Some(n) = at {
            at = self.board.sent_after(n);
            let p = self.board.get(n);
            if p.is(flag::LOST) && !p.is(flag::RETRANS) {
                continue;
            }
            if !sent_after(self.rack.sent, self.rack.order, p.at, p.order) {
                break;
            }
            match self.rack_wait(n, window) {
                None => {
                    self.mark_lost(n);
                    self.board.unlink(n);
                }
                Some(wait) => longest = longest.max(Some(wait)),
            }
        }
        longest
    }

    /// Loss detection on an ACK. True when the reordering timer was armed.
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

    /// The reordering timer fired (section 6.3).
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

    /// Forces the next ACK to look at all packets again (after an undo).
    pub(super) fn rack_reexamine(&mut self) {
        self.rack.advanced = true;
    }

    /// Section 6.2 step 4: the window widens by a quarter RTT for each round with a D-SACK, and
    /// falls back [`PERSIST`] recoveries after the last. `prior_delivered` is what was delivered
    /// when the newest packet of this ACK was sent.
    pub(super) fn update_reorder_window(&mut self, prior_delivered: u64) {
        let r = &mut self.rack;
        // The same round still: not again.
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
