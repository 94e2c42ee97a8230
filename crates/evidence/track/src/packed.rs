//! Optional quantities in four bytes: logs and bins hold millions of them.

use std::fmt;
use units::Span;

/// Histogram of spans. A capture has thousands of flows with three of these, so there are only 32 buckets an
/// octave.
pub type SpanHistogram = units::Histogram<5>;

/// The value that means "unknown" in both types.
const UNKNOWN: u32 = u32::MAX;

/// A span in whole microseconds, or unknown. Spans above 71 minutes are stored as 71 minutes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PackedSpan(u32);

impl PackedSpan {
    /// Unknown.
    pub const UNKNOWN: PackedSpan = PackedSpan(UNKNOWN);

    /// Stores `span`, rounded down to microseconds.
    #[inline]
    pub const fn known(span: Span) -> PackedSpan {
        let us = span.as_micros();
        PackedSpan(if us < UNKNOWN as u64 { us as u32 } else { UNKNOWN - 1 })
    }

    /// Returns the span if it is known.
    #[inline]
    pub const fn get(self) -> Option<Span> {
        if self.0 == UNKNOWN { None } else { Some(Span::from_micros(self.0 as u64)) }
    }

    /// Returns the span; zero if it is unknown.
    #[inline]
    pub const fn or_zero(self) -> Span {
        if self.0 == UNKNOWN { Span::ZERO } else { Span::from_micros(self.0 as u64) }
    }

    /// Returns whether the span is known.
    #[inline]
    pub const fn is_known(self) -> bool {
        self.0 != UNKNOWN
    }

    /// Returns the smaller of two; an unknown one is ignored.
    #[inline]
    pub fn least(self, other: PackedSpan) -> PackedSpan {
        // Unknown is the largest integer.
        PackedSpan(self.0.min(other.0))
    }

    /// Returns the larger of two; an unknown one is ignored.
    #[inline]
    pub fn greatest(self, other: PackedSpan) -> PackedSpan {
        // Incremented by one, unknown wraps to zero.
        PackedSpan(self.0.wrapping_add(1).max(other.0.wrapping_add(1)).wrapping_sub(1))
    }
}

impl From<Option<Span>> for PackedSpan {
    #[inline]
    fn from(span: Option<Span>) -> PackedSpan {
        span.map_or(PackedSpan::UNKNOWN, PackedSpan::known)
    }
}

impl Default for PackedSpan {
    fn default() -> PackedSpan {
        PackedSpan::UNKNOWN
    }
}

impl fmt::Debug for PackedSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A number of bytes below 4 GiB, or unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PackedBytes(u32);

impl PackedBytes {
    pub const UNKNOWN: PackedBytes = PackedBytes(UNKNOWN);

    /// Returns the number if it is known.
    #[inline]
    pub const fn get(self) -> Option<u32> {
        if self.0 == UNKNOWN { None } else { Some(self.0) }
    }

    /// Returns the smaller of two; an unknown one is ignored.
    #[inline]
    pub fn least(self, other: PackedBytes) -> PackedBytes {
        PackedBytes(self.0.min(other.0))
    }
}

impl From<Option<u32>> for PackedBytes {
    #[inline]
    fn from(bytes: Option<u32>) -> PackedBytes {
        PackedBytes(bytes.map_or(UNKNOWN, |n| n.min(UNKNOWN - 1)))
    }
}

impl Default for PackedBytes {
    fn default() -> PackedBytes {
        PackedBytes::UNKNOWN
    }
}

impl fmt::Debug for PackedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_ignored_in_comparisons() {
        let (none, one, two) = (
            PackedSpan::UNKNOWN,
            PackedSpan::known(Span::from_nanos(1_999)),
            PackedSpan::known(Span::from_micros(2)),
        );
        assert_eq!((one.get(), none.get()), (Some(Span::from_micros(1)), None));
        assert_eq!((one.least(two), one.least(none), none.least(none)), (one, one, none));
        assert_eq!((one.greatest(two), none.greatest(one), none.greatest(none)), (two, one, none));
        assert_eq!(PackedSpan::known(Span::ZERO).greatest(none).get(), Some(Span::ZERO));
        let bytes = |n| PackedBytes::from(n);
        assert_eq!(bytes(None).least(bytes(Some(7))).get(), Some(7));
    }

    #[test]
    fn the_largest_value_is_not_unknown() {
        assert!(PackedSpan::known(Span::MAX).is_known());
        assert_eq!(PackedBytes::from(Some(u32::MAX)).get(), Some(u32::MAX - 1));
    }
}
