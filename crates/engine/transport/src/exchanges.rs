//! A log of exchanges of request and answer, with their durations.

use units::{ExchangeKind, Span, Stream, Time};

/// Maximum number of logged exchanges per flow (32 MB); beyond it, an even sample.
const MAX_EXCHANGES: usize = 1 << 20;

/// A completed exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub what: ExchangeKind,
    /// Time of the request.
    pub began: Time,
    /// Duration up to the last byte.
    pub took: Span,
}

/// The exchanges of a flow in order of completion: all of them, or a random sample if there are more than a
/// million.
#[derive(Clone, Debug)]
pub struct ExchangeLog {
    list: Vec<Exchange>,
    weight: u64,
    capacity: usize,
    draw: Stream,
}

impl Default for ExchangeLog {
    fn default() -> ExchangeLog {
        ExchangeLog::with_capacity(MAX_EXCHANGES)
    }
}

impl ExchangeLog {
    /// A log of at most `capacity` exchanges.
    fn with_capacity(capacity: usize) -> ExchangeLog {
        ExchangeLog { list: Vec::new(), weight: 1, capacity, draw: Stream::new(0, "exchanges") }
    }

    /// Adds an exchange that was requested at `began` and completed `now`.
    pub fn push(&mut self, what: ExchangeKind, began: Time, now: Time) {
        if self.weight > 1 && self.draw.below(self.weight) > 0 {
            return;
        }
        if self.list.len() >= self.capacity {
            // A random half and not every second exchange, as the objects of pages follow a rhythm.
            let draw = &mut self.draw;
            self.list.retain(|_| draw.below(2) == 0);
            self.weight *= 2;
        }
        self.list.push(Exchange { what, began, took: now.since(began) });
    }

    /// The logged exchanges.
    pub fn list(&self) -> &[Exchange] {
        &self.list
    }

    /// Number of exchanges that each logged one represents.
    pub fn weight(&self) -> u64 {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_exchanges_are_all_logged_and_many_are_sampled_evenly() {
        let mut log = ExchangeLog::with_capacity(1000);
        let at = |n: u64| Time::from_nanos(n * 1000);
        for n in 0..1000 {
            log.push(ExchangeKind::Answer, at(n), at(n + 2));
        }
        assert_eq!((log.list().len(), log.weight()), (1000, 1));
        assert!(log.list().iter().all(|e| e.took == Span::from_micros(2)));
        for n in 1000..100_000 {
            log.push(ExchangeKind::Answer, at(n), at(n + 2));
        }
        let (kept, weight) = (log.list().len() as f64, log.weight() as f64);
        assert!(kept <= 1000.0 && (kept * weight / 100_000.0 - 1.0).abs() < 0.2, "{kept} {weight}");
        let mean = log.list().iter().map(|e| e.began.as_nanos() as f64).sum::<f64>() / kept;
        assert!((mean / 50e6 - 1.0).abs() < 0.1, "an even sample over time: {mean}");
    }
}
