//! Losses that a control is not told of, as the path has them whatever is sent.

use super::{BELOW_CONTRACT, INITIAL_WINDOW, Steering, make};
use congestion::{CaState, Window};
use units::{Span, Time};

/// Losses are excused up to so many times the path's own share: what is lost in a round trip varies about it.
const MORE: f64 = 1.5;
/// So many may be saved up. With half as much again earned as is spent on average, a random walk overdraws this once in
/// e^16 losses or so.
const MOST: f64 = 16.0;

/// A control begins anew no more often than this: its startup fills the queue.
const BEGIN_AGAIN: Span = Span::from_secs(10);

/// What is excused.
#[derive(Debug, Default)]
pub struct LossExcuses {
    share: Option<f64>,
    saved: f64,
    /// Losses since the control was asked last, and how many of them were not excused.
    lost: u32,
    told: u32,
}

impl LossExcuses {
    /// A packet arrived on a path that loses this share of them at any speed. True when that is new.
    pub fn earn(&mut self, share: Option<f64>) -> bool {
        let is_new = self.share.is_none() && share.is_some();
        // What varies about the share is had at once.
        let saved = if is_new { MOST } else { self.saved };
        self.share = share;
        self.saved = share.map_or(0.0, |share| (saved + MORE * share).min(MOST));
        is_new
    }

    /// Whether a loss is one that the path has anyway.
    pub fn excuse(&mut self) -> bool {
        self.lost += 1;
        let is_excused = self.saved >= 1.0;
        if is_excused {
            self.saved -= 1.0
        } else {
            self.told += 1
        }
        is_excused
    }

    /// Whether all losses since this was asked last were excused.
    pub fn are_all(&mut self) -> bool {
        let (lost, told) = (std::mem::take(&mut self.lost), std::mem::take(&mut self.told));
        lost > 0 && told == 0
    }
}

impl Steering {
    /// What the control below knows of the path, it knows from losses that are the path's own: it looks for more once again.
    pub(super) fn begin_anew(&mut self, now: Time) {
        if now < self.next_beginning {
            return;
        }
        self.next_beginning = now + BEGIN_AGAIN;
        self.cc = make(BELOW_CONTRACT, self.seed);
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
    fn the_paths_own_losses_are_excused_and_more_is_told() {
        for (share, told_least, told_most) in
            [(0.01, 0.0, 0.0), (0.05, 0.0, 0.0), (0.02, 0.0, 0.001), (0.2, 0.1, 0.19)]
        {
            let (mut excuses, mut random, mut told) =
                (LossExcuses::default(), Stream::new(7, "losses"), 0u32);
            // What is believed: 1 %, 5 %, 1.5 % where 2 % are lost, 5 % where a fifth is.
            let believed = [(0.01, 0.01), (0.05, 0.05), (0.02, 0.015), (0.2, 0.05)];
            let (_, believed) = believed.into_iter().find(|b| b.0 == share).expect("is there");
            for _ in 0..100_000 {
                if random.chance(share) {
                    told += u32::from(!excuses.excuse());
                } else {
                    excuses.earn(Some(believed));
                }
            }
            let told = f64::from(told) / 100_000.0;
            assert!((told_least..=told_most).contains(&told), "{share}: {told}");
        }
    }

    #[test]
    fn nothing_is_excused_on_other_paths() {
        let mut excuses = LossExcuses::default();
        assert!(!excuses.earn(None));
        assert!(!excuses.excuse() && !excuses.are_all());
        assert!(excuses.earn(Some(0.01)) && !excuses.earn(Some(0.02)));
        assert!(excuses.excuse() && excuses.are_all());
        excuses.earn(None);
        assert!(!excuses.excuse());
    }
}
