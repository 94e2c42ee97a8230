//! Hides the losses that the path has at any speed from the congestion control.

use super::{BASE_CONTROL, INITIAL_WINDOW, Steering, make};
use congestion::{CaState, Window};
use units::{Span, Time};

/// Losses are exempt up to this many times the path's own share, because the losses of a round trip vary
/// around it.
const ALLOWANCE_RATE: f64 = 1.5;
/// The largest allowance. As half more is gained than is spent on average, a random walk overdraws it once in
/// about e^16 losses.
const MAX_ALLOWANCE: f64 = 16.0;

/// The shortest time between restarts of a control: its startup fills the queue.
const MIN_RESTART_INTERVAL: Span = Span::from_secs(10);

/// How many losses are exempt.
#[derive(Debug, Default)]
pub struct ExemptLosses {
    share: Option<f64>,
    allowance: f64,
    /// Losses since the last call of `were_all_exempt`, and how many of them were not exempt.
    lost: u32,
    counted: u32,
}

impl ExemptLosses {
    /// A packet arrived on a path that loses this share of packets at any speed. Returns whether such a share
    /// is new.
    pub fn on_acked(&mut self, share: Option<f64>) -> bool {
        let is_new = self.share.is_none() && share.is_some();
        // A new share starts with the full allowance.
        let allowance = if is_new { MAX_ALLOWANCE } else { self.allowance };
        self.share = share;
        self.allowance = share.map_or(0.0, |share| (allowance + ALLOWANCE_RATE * share).min(MAX_ALLOWANCE));
        is_new
    }

    /// Counts a loss. Returns whether it is one of the path's own.
    pub fn is_exempt(&mut self) -> bool {
        self.lost += 1;
        let is_own = self.allowance >= 1.0;
        if is_own {
            self.allowance -= 1.0
        } else {
            self.counted += 1
        }
        is_own
    }

    /// Whether all losses since the last call were exempt.
    pub fn were_all_exempt(&mut self) -> bool {
        let (lost, counted) = (std::mem::take(&mut self.lost), std::mem::take(&mut self.counted));
        lost > 0 && counted == 0
    }
}

impl Steering {
    /// Restarts the control: what it learnt about the path came from losses that are the path's own.
    pub(super) fn restart_control(&mut self, now: Time) {
        if now < self.next_restart {
            return;
        }
        self.next_restart = now + MIN_RESTART_INTERVAL;
        self.cc = make(BASE_CONTROL, self.seed);
        self.window = Window::new(self.window.cwnd.max(INITIAL_WINDOW));
        (self.recovery_high, self.socket.state) = (None, CaState::Open);
        self.cc.init(&self.socket, &mut self.window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    #[test]
    fn only_losses_beyond_the_paths_own_are_counted() {
        for (share, at_least, at_most) in
            [(0.01, 0.0, 0.0), (0.05, 0.0, 0.0), (0.02, 0.0, 0.001), (0.2, 0.1, 0.19)]
        {
            let (mut exempt, mut random, mut counted) =
                (ExemptLosses::default(), Stream::new(7, "losses"), 0u32);
            // The believed shares: 1 % and 5 % are right, 1.5 % when 2 % are lost, and 5 % when 20 % are.
            let believed = [(0.01, 0.01), (0.05, 0.05), (0.02, 0.015), (0.2, 0.05)];
            let (_, believed) = believed.into_iter().find(|b| b.0 == share).expect("is there");
            for _ in 0..100_000 {
                if random.chance(share) {
                    counted += u32::from(!exempt.is_exempt());
                } else {
                    exempt.on_acked(Some(believed));
                }
            }
            let counted = f64::from(counted) / 100_000.0;
            assert!((at_least..=at_most).contains(&counted), "{share}: {counted}");
        }
    }

    #[test]
    fn nothing_is_exempt_on_other_paths() {
        let mut exempt = ExemptLosses::default();
        assert!(!exempt.on_acked(None));
        assert!(!exempt.is_exempt() && !exempt.were_all_exempt());
        assert!(exempt.on_acked(Some(0.01)) && !exempt.on_acked(Some(0.02)));
        assert!(exempt.is_exempt() && exempt.were_all_exempt());
        exempt.on_acked(None);
        assert!(!exempt.is_exempt());
    }
}
