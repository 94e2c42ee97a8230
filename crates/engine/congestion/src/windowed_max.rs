//! The maximum over a window of rounds, from three samples: constant memory, nearly exact.
//!
//! Source: Kathleen Nichols' algorithm, as in Linux `lib/win_minmax.c`.

/// A windowed maximum: the best sample and two more recent ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMax {
    best: [WindowSample; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct WindowSample {
    at: u32,
    value: u32,
}

impl WindowedMax {
    pub(crate) fn get(&self) -> u32 {
        self.best[0].value
    }

    /// Records `value` at time `at`; samples older than `window` are discarded.
    pub(crate) fn update(&mut self, window: u32, at: u32, value: u32) {
        let new = WindowSample { at, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || at.wrapping_sub(third.at) > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.age(window, new);
    }

    /// Keeps the three samples spread over the window, and discards samples outside the window.
    fn age(&mut self, window: u32, new: WindowSample) {
        let b = &mut self.best;
        let age = new.at.wrapping_sub(b[0].at);
        if age > window {
            *b = [b[1], b[2], new];
            if new.at.wrapping_sub(b[0].at) > window {
                *b = [b[1], b[2], new];
            }
        } else if b[1].at == b[0].at && age > window / 4 {
            (b[1], b[2]) = (new, new);
        } else if b[2].at == b[1].at && age > window / 2 {
            b[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_expires_after_the_window() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        for round in 1..=10 {
            max.update(10, round, 50 - round);
            assert_eq!(max.get(), 100, "round {round}");
        }
        // Round 11: 100 is 11 rounds old. The second sample was taken when a quarter of the
        // window had passed (age > 10 / 4 in integers: round 3, value 47).
        max.update(10, 11, 39);
        assert_eq!(max.get(), 47);
    }

    #[test]
    fn a_new_maximum_or_an_expired_window_restarts_the_filter() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        max.update(10, 5, 120);
        assert_eq!(max.get(), 120);
        max.update(10, 16, 3);
        assert_eq!(max.get(), 3);
    }
}
