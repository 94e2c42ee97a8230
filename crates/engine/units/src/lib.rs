//! Exact integer quantities: [`Time`] and [`Span`] in nanoseconds, [`Bytes`], [`Rate`] in bits per second,
//! and [`Speed`], [`Length`] and [`Frequency`] for mobility. In addition, types that all crates share: named
//! random [`Stream`]s, [`Choices`] for tests, [`Label`]s, the [`Goal`] of a comparison, the kinds of
//! exchanges ([`ExchangeKind`]), and [`Histogram`]s of spans.
//!
//! There is one rounding rule: a transmission time is rounded *up* to the next nanosecond
//! ([`Rate::time_for`]), so that nothing is ever faster than its rate. A 1514 B frame at 200 Mbit/s takes
//! exactly 60,560 ns.
//!
//! There is one parser: `20Mbit/s`, `30ms`, `625kB`; k = 1000, `KiB` = 1024.

mod choices;
mod exchange_kind;
mod goal;
mod histogram;
mod label;
mod parse;
mod quantity;
mod random;

pub use choices::Choices;
pub use exchange_kind::ExchangeKind;
pub use goal::Goal;
pub use histogram::Histogram;
pub use label::Label;
pub use parse::UnitError;
pub use quantity::{Bytes, Frequency, Length, Rate, Span, Speed, Time};
pub use random::{Stream, fnv1a};

/// The earlier of two deadlines, where `None` means "no deadline".
///
/// `Option::min` would let a missing deadline override a real one, because `None < Some`.
#[inline]
pub fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, None) => a,
        (None, b) => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_deadline_does_not_erase_a_real_one() {
        let t = Some(Time::from_nanos(5));
        assert_eq!(earliest(t, None), t);
        assert_eq!(earliest(None, t), t);
        assert_eq!(earliest(None, None), None);
        assert_eq!(earliest(t, Some(Time::ZERO)), Some(Time::ZERO));
    }
}
