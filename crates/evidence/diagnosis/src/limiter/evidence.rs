//! The evidence for a candidate limiter, as physical statements.
//!
//! A statement is one number in a named unit: how well the losses keep to the bucket's rule, how much more
//! likely the waits are than under another kind, how steadily packets leave, how much of the rate is used. A
//! statement that the capture does not show is `None` and adds nothing. Each statement has one factor, the
//! same for all kinds to which it applies ([`LEARNED`]): the log odds, in nats, that a unit of
//! it adds. Factors also temper for dependence, because packets of one burst are alike, and all statements
//! use the same packets.

mod factors;

use super::FoundLimiter;
pub use factors::LEARNED;
use result::diagnosis::LimiterKind;

/// A statement about a limiter. Logarithms are natural; a *queue* is that of a link or a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterStatement {
    /// Always 1: its factor is the prior log odds of any limiter against none.
    Limiter,
    /// Logarithm of the number of lost packets plus one: losses have a cause.
    Losses,
    /// How much better a policer's rule predicts the losses than the wait at a queue does: nats,
    /// [`compressed`].
    LossesByRule,
    /// How well long waits in the queue predict the losses: nats, [`compressed`].
    LossesByDelay,
    /// Packets on the wrong side of a policer's limit: the share of lost packets, plus the share of packets
    /// that passed nearly at the limit, plus the share of losses that the limit does not explain.
    Strays,
    /// Logarithm of one plus the number of packets that passed far beyond the limit for each lost packet.
    PassedBeyond,
    /// Logarithm of one plus the number of queued packets near the limit; negative for a policer, where
    /// packets should not queue.
    WaitAtLimit,
    /// How much better this kind predicts the waits than any other: nats, mean over the bins of backlog.
    Waits,
    /// How steadily packets leave the queue: the share that leaves while others wait, times the negative
    /// logarithm of the rate's relative spread.
    Steady,
    /// Share of the windows of half a round trip in which packets arrive at the queue's rate.
    Pinned,
    /// 1 if packets leave at the ticks of a shaper's refill, and some are lost. (The ACKs of a receiver that
    /// reads at intervals come at ticks too, but none are lost.)
    Ticks,
    /// 1 if another search (delays, ticks, arrivals at one rate, losses) finds the queue's rate too, for any
    /// kind.
    Agree,
    /// 1 if packets wait for a line behind the capture that has the link's rate.
    Line,
    /// Logarithm of the used share of a queue's rate, at most 0. Where losses leave the rate open, the least
    /// rate counts.
    UnusedQueue,
    /// 1 if a bucket shows, so that the same delays may be a link's or a shaper's.
    TwoReadings,
    /// Logarithm of a policer's bucket in packets, up to [`LARGE_BUCKET`]. Small buckets come by chance.
    BucketPackets,
}

/// Number of statements.
pub const STATEMENTS: usize = LimiterStatement::BucketPackets as usize + 1;

/// A bucket of this many packets is not an accident of a congestion window; a larger one is not more certain.
pub(super) const LARGE_BUCKET: f64 = 150.0;

/// The evidence for a candidate limiter: a value for each statement that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimiterEvidence([Option<f64>; STATEMENTS]);

impl LimiterEvidence {
    /// Returns the evidence that holds for any limiter.
    pub(super) fn of_any() -> LimiterEvidence {
        let mut evidence = LimiterEvidence::default();
        evidence.set(LimiterStatement::Limiter, 1.0);
        evidence
    }

    /// Sets a statement, unless its value is unknown or not finite.
    pub fn set(&mut self, statement: LimiterStatement, value: impl Into<Option<f64>>) {
        self.0[statement as usize] = value.into().filter(|value| value.is_finite());
    }

    /// Sets a statement of value 1 if it holds.
    pub(super) fn flag(&mut self, statement: LimiterStatement, holds: bool) {
        self.0[statement as usize] = holds.then_some(1.0);
    }

    /// Returns the value of a statement; `None` if it is unknown or does not apply.
    pub fn get(&self, statement: LimiterStatement) -> Option<f64> {
        self.0[statement as usize]
    }

    /// Combines two lists of evidence: of each statement, the greater absolute value.
    pub(super) fn stronger(self, other: LimiterEvidence) -> LimiterEvidence {
        let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) if b.abs() > a.abs() => Some(b),
            (a, b) => a.or(b),
        };
        LimiterEvidence(std::array::from_fn(|i| larger(self.0[i], other.0[i])))
    }

    /// Returns the known statements with their values.
    pub fn known(&self) -> impl Iterator<Item = (LimiterStatement, f64)> {
        LEARNED.into_iter().filter_map(|(statement, _)| Some((statement, self.get(statement)?)))
    }

    /// Returns the log odds against no limiter, nats, by factors in the order of [`LEARNED`].
    pub fn score(&self, factors: &[f64; STATEMENTS]) -> f64 {
        self.0.iter().zip(factors).filter_map(|(value, factor)| Some((*value)? * factor)).sum()
    }
}

/// Returns the factors of [`LEARNED`].
pub fn learned() -> [f64; STATEMENTS] {
    LEARNED.map(|(_, factor)| factor)
}

/// Returns the evidence of delays for a queue.
pub(super) fn of_delays(found: &FoundLimiter, waits: Option<f64>) -> LimiterEvidence {
    use LimiterStatement::{LossesByDelay, Steady, Waits};
    let mut evidence = LimiterEvidence::of_any();
    let steady = found.drain.map(|d| d.busy * -d.spread.max(1e-3).ln());
    evidence.set(Steady, steady);
    evidence.set(LossesByDelay, compressed(found.loss_gain));
    evidence.set(Waits, waits);
    evidence
}

/// Compresses a log likelihood ratio, nats, to its sign and the logarithm of its size plus one, because great
/// ratios add little.
pub(super) fn compressed(x: f64) -> f64 {
    x.abs().ln_1p().copysign(x)
}

/// Whether a limiter's queue holds at least a packet of `size` bytes; a shorter queue delays nothing.
pub(super) fn holds_a_packet(found: &FoundLimiter, size: f64) -> bool {
    found.kind == LimiterKind::Policer || found.queue >= size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_in_the_order_of_the_statements() {
        assert!(LEARNED.iter().enumerate().all(|(i, (statement, _))| *statement as usize == i));
    }

    #[test]
    fn an_unknown_statement_adds_nothing() {
        use LimiterStatement::{Limiter, Strays, Waits};
        let mut evidence = LimiterEvidence::of_any();
        let prior = evidence.score(&learned());
        assert_eq!(prior, LEARNED[Limiter as usize].1);
        evidence.set(Waits, f64::NAN);
        assert_eq!((evidence.get(Waits), evidence.score(&learned())), (None, prior));
        evidence.set(Strays, 0.1);
        let strays = LEARNED[Strays as usize].1 * 0.1;
        assert!((evidence.score(&learned()) - prior - strays).abs() < 1e-9);
    }

    #[test]
    fn the_stronger_of_two_statements_counts() {
        let evidence = |waits: f64| {
            let mut evidence = LimiterEvidence::default();
            evidence.set(LimiterStatement::Waits, waits);
            evidence
        };
        let waits = |a: f64, b: f64| evidence(a).stronger(evidence(b)).get(LimiterStatement::Waits);
        assert_eq!(
            [waits(1.0, -2.0), waits(f64::NAN, 0.5), waits(0.5, f64::NAN)],
            [Some(-2.0), Some(0.5), Some(0.5)]
        );
    }
}
