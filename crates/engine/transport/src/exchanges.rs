//! Exchanges of request and answer, and how long each took.

use units::{Awaited, Span, Stream, Time};

/// Exchanges of one flow that are kept: 32 MB. Beyond, an even share of all.
const MOST: usize = 1 << 20;

/// Something that was asked for and came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What it was.
    pub what: Awaited,
    /// When it was asked for.
    pub began: Time,
    /// How long it took, to the last byte.
    pub took: Span,
}

/// The exchanges of a flow, in the order in which they ended: all, or of very many a random sample.
#[derive(Clone, Debug)]
pub struct ExchangeLog {
    list: Vec<Exchange>,
    weight: u64,
    most: usize,
    draw: Stream,
}

impl Default for ExchangeLog {
    fn default() -> ExchangeLog {
        ExchangeLog::holding(MOST)
    }
}

impl ExchangeLog {
    /// Holds at most so many.
    fn holding(most: usize) -> ExchangeLog {
        ExchangeLog { list: Vec::new(), weight: 1, most, draw: Stream::new(0, "exchanges") }
    }

    /// Adds what was asked for at `began` and is there `now`.
    pub fn push(&mut self, what: Awaited, began: Time, now: Time) {
        if self.weight > 1 && self.draw.below(self.weight) > 0 {
            return;
        }
        if self.list.len() >= self.most {
            // Drawn, not every second: pages have a rhythm.
            let draw = &mut self.draw;
            self.list.retain(|_| draw.below(2) == 0);
            self.weight *= 2;
        }
        self.list.push(Exchange { what, began, took: now.since(began) });
    }

    /// Those that are kept.
    pub fn list(&self) -> &[Exchange] {
        &self.list
    }

    /// How many exchanges each of them stands for.
    pub fn weight(&self) -> u64 {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_all_kept_and_many_are_an_even_sample() {
        let mut log = ExchangeLog::holding(1000);
        let at = |n: u64| Time::from_nanos(n * 1000);
        for n in 0..1000 {
            log.push(Awaited::Answer, at(n), at(n + 2));
        }
        assert_eq!((log.list().len(), log.weight()), (1000, 1));
        assert!(log.list().iter().all(|e| e.took == Span::from_micros(2)));
        for n in 1000..100_000 {
            log.push(Awaited::Answer, at(n), at(n + 2));
        }
        let (kept, weight) = (log.list().len() as f64, log.weight() as f64);
        assert!(kept <= 1000.0 && (kept * weight / 100_000.0 - 1.0).abs() < 0.2, "{kept} {weight}");
        let mean = log.list().iter().map(|e| e.began.as_nanos() as f64).sum::<f64>() / kept;
        assert!((mean / 50e6 - 1.0).abs() < 0.1, "of all times alike: {mean}");
    }
}
