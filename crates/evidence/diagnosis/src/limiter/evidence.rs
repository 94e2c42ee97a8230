//! The evidence for a candidate limiter, as physical statements.
//!
//! A statement is one number in a named unit: how far the losses keep to the bucket's rule, how much likelier the waits are than under
//! another kind, how steadily packets leave, how much of the rate is used. What a capture does not show is `None` and adds nothing.
//! Each statement has one factor, the same for all kinds that it is made for ([`LEARNED`]): the log odds, in nats, that a unit of it
//! adds. A factor also tempers for dependence: packets of one burst say much the same, and the statements look at the same packets.

mod factors;

use super::FoundLimiter;
pub use factors::LEARNED;
use result::diagnosis::LimiterKind;

/// A statement about a limiter. Logarithms are natural; a *queue* is a link's or a shaper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterStatement {
    /// There is one. 1; its factor is the prior log odds of any limiter against none.
    Limiter,
    /// Logarithm of the lost packets and one: losses have a cause.
    Losses,
    /// A policer's rule predicts the losses better than the wait at a queue does: nats, of which great ones say little more
    /// ([`compressed`]).
    LossesByRule,
    /// Losses come when packets wait long in the queue: nats, likewise compressed.
    LossesByDelay,
    /// Packets on the wrong side of a policer's limit: share of the lost ones and of those that passed nearly at the limit, added, and
    /// the share of the losses that the limit does not explain.
    Strays,
    /// Logarithm of the packets that passed far beyond the limit for each lost one, and one.
    PassedBeyond,
    /// Logarithm of the packets that wait where packets come near the limit, and one; negative for a policer, where none should.
    WaitAtLimit,
    /// Packets wait as this kind predicts rather than as any other: nats, mean of the bins of backlog.
    Waits,
    /// Packets leave the queue at one rate: share of them that leave while others wait, times the negative logarithm of the rate's
    /// relative spread.
    Steady,
    /// Share of the windows of half a round trip in which packets come at the queue's rate.
    Pinned,
    /// Packets leave a shaper at the ticks of its refill, and some are lost: ACKs of a receiver that reads at intervals come at ticks
    /// too, but lose nothing. 1.
    Ticks,
    /// Another search (delays, ticks, arrivals at one rate, losses) finds the queue's rate too, whatever kind it takes it for. 1.
    Agree,
    /// Packets wait for a line behind the capture that has the link's rate. 1.
    Line,
    /// Logarithm of the share of a queue's rate that is used, where it is not all: 0 or less. Of a rate that losses leave open the least
    /// counts.
    UnusedQueue,
    /// The same delays read as a link's and as a shaper's: a bucket shows, but either may be meant. 1.
    TwoReadings,
    /// Logarithm of a policer's bucket in packets, up to [`LARGE_BUCKET`]: chance makes small ones.
    BucketPackets,
}

/// How many statements there are.
pub const STATEMENTS: usize = LimiterStatement::BucketPackets as usize + 1;

/// A bucket of this many packets is no accident of a congestion window; a larger one is no more certain.
pub(super) const LARGE_BUCKET: f64 = 150.0;

/// The evidence for a candidate limiter: a value for each statement that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimiterEvidence([Option<f64>; STATEMENTS]);

impl LimiterEvidence {
    /// What holds of any limiter.
    pub(super) fn of_any() -> LimiterEvidence {
        let mut evidence = LimiterEvidence::default();
        evidence.set(LimiterStatement::Limiter, 1.0);
        evidence
    }

    /// Notes a statement, unless its value is unknown or not a finite number.
    pub fn set(&mut self, statement: LimiterStatement, value: impl Into<Option<f64>>) {
        self.0[statement as usize] = value.into().filter(|value| value.is_finite());
    }

    /// Notes a statement if it holds.
    pub(super) fn flag(&mut self, statement: LimiterStatement, holds: bool) {
        self.0[statement as usize] = holds.then_some(1.0);
    }

    /// The value of a statement; `None` if it is not known or not made for this kind.
    pub fn get(&self, statement: LimiterStatement) -> Option<f64> {
        self.0[statement as usize]
    }

    /// Of each statement the one that says more.
    pub(super) fn stronger(self, other: LimiterEvidence) -> LimiterEvidence {
        let more = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) if b.abs() > a.abs() => Some(b),
            (a, b) => a.or(b),
        };
        LimiterEvidence(std::array::from_fn(|i| more(self.0[i], other.0[i])))
    }

    /// The statements that are made, with their values.
    pub fn known(&self) -> impl Iterator<Item = (LimiterStatement, f64)> {
        LEARNED.into_iter().filter_map(|(statement, _)| Some((statement, self.get(statement)?)))
    }

    /// Log odds against no limiter, nats, by factors in the order of [`LEARNED`].
    pub fn score(&self, factors: &[f64; STATEMENTS]) -> f64 {
        self.0.iter().zip(factors).filter_map(|(value, factor)| Some((*value)? * factor)).sum()
    }
}

/// The factors of [`LEARNED`] by themselves.
pub fn learned() -> [f64; STATEMENTS] {
    LEARNED.map(|(_, factor)| factor)
}

/// What the delays say of the queue that was found.
pub(super) fn of_delays(found: &FoundLimiter, waits: Option<f64>) -> LimiterEvidence {
    use LimiterStatement::{LossesByDelay, Steady, Waits};
    let mut evidence = LimiterEvidence::of_any();
    let steady = found.drain.map(|d| d.busy * -d.spread.max(1e-3).ln());
    evidence.set(Steady, steady);
    evidence.set(LossesByDelay, compressed(found.loss_gain));
    evidence.set(Waits, waits);
    evidence
}

/// A log likelihood ratio, nats, of which great ones say little more: sign and logarithm of the size and one.
pub(super) fn compressed(x: f64) -> f64 {
    x.abs().ln_1p().copysign(x)
}

/// Whether the queue of a limiter holds at least a packet of `size` bytes; one that holds less delays nothing.
pub(super) fn holds_a_packet(found: &FoundLimiter, size: f64) -> bool {
    found.kind == LimiterKind::Policer || found.queue >= size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_places_of_their_factors() {
        assert!(LEARNED.iter().enumerate().all(|(i, (statement, _))| *statement as usize == i));
    }

    #[test]
    fn what_is_not_known_adds_nothing() {
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
    fn of_two_statements_the_one_that_says_more_counts() {
        let of = |waits: f64| {
            let mut evidence = LimiterEvidence::default();
            evidence.set(LimiterStatement::Waits, waits);
            evidence
        };
        let waits = |a: f64, b: f64| of(a).stronger(of(b)).get(LimiterStatement::Waits);
        assert_eq!(
            [waits(1.0, -2.0), waits(f64::NAN, 0.5), waits(0.5, f64::NAN)],
            [Some(-2.0), Some(0.5), Some(0.5)]
        );
    }
}
