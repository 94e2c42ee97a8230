//! An exact token bucket: tokens are counted in bits * 10^-9, so that a rate in bit/s times a time in
//! nanoseconds needs no division and is exact. The bucket starts full and is refilled when packets arrive.

use units::{Bytes, Rate, Time};

/// Token units of one byte.
pub(crate) const BYTE: u128 = 8_000_000_000;

/// Tokens that accumulate at a rate up to a capacity.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u64,
    capacity: u128,
    tokens: u128,
    at: Time,
}

impl Bucket {
    pub fn new(rate: Rate, burst: Bytes) -> Bucket {
        let capacity = burst.get() as u128 * BYTE;
        Bucket { rate: rate.as_bps(), capacity, tokens: capacity, at: Time::ZERO }
    }

    /// Adds the tokens accumulated since the last call; returns those that did not fit.
    pub fn refill(&mut self, now: Time) -> u128 {
        let grown = self.rate as u128 * now.since(self.at).as_nanos() as u128;
        self.at = self.at.max(now);
        self.add(grown)
    }

    /// Adds tokens; returns those that did not fit.
    pub fn add(&mut self, tokens: u128) -> u128 {
        let sum = self.tokens.saturating_add(tokens);
        self.tokens = sum.min(self.capacity);
        sum - self.tokens
    }

    /// Whether the bucket holds tokens for `bytes` now.
    pub fn holds(&self, bytes: u32) -> bool {
        self.tokens >= bytes as u128 * BYTE
    }

    /// Whether the capacity suffices for `bytes`.
    pub fn fits(&self, bytes: u32) -> bool {
        self.capacity >= bytes as u128 * BYTE
    }

    /// Removes tokens for `bytes`, which the bucket must hold.
    pub fn take(&mut self, bytes: u32) {
        debug_assert!(self.holds(bytes));
        self.tokens = self.tokens.saturating_sub(bytes as u128 * BYTE);
    }

    /// The earliest nanosecond, not before `from`, at which the bucket holds tokens for `bytes` if none are
    /// removed.
    pub fn ready(&self, from: Time, bytes: u32) -> Time {
        let missing = (bytes as u128 * BYTE).saturating_sub(self.tokens);
        if missing == 0 {
            return from.max(self.at);
        }
        let wait = match u64::try_from(missing) {
            Ok(small) => small.div_ceil(self.rate),
            Err(_) => u64::try_from(missing.div_ceil(self.rate as u128)).unwrap_or(u64::MAX),
        };
        (self.at + units::Span::from_nanos(wait)).max(from)
    }

    /// Tokens at `now` in whole bytes.
    pub fn level(&self, now: Time) -> u64 {
        let grown = self.rate as u128 * now.since(self.at).as_nanos() as u128;
        (self.tokens.saturating_add(grown).min(self.capacity) / BYTE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_exact_to_the_nanosecond() {
        // 3 bit/s: one byte takes 2.666… s; three bytes take exactly 8 s.
        let mut b = Bucket::new(Rate::from_bps(3), Bytes::new(3));
        b.take(3);
        assert_eq!(b.ready(Time::ZERO, 1), Time::from_nanos(2_666_666_667));
        assert_eq!(b.ready(Time::ZERO, 3), Time::from_nanos(8_000_000_000));
        b.refill(Time::from_nanos(2_666_666_666));
        assert!(!b.holds(1));
        b.refill(Time::from_nanos(2_666_666_667));
        assert!(b.holds(1));
        b.refill(Time::from_nanos(8_000_000_000));
        assert!(b.holds(3));
    }

    #[test]
    fn the_largest_rate_and_burst_do_not_overflow() {
        let mut b = Bucket::new(Rate::from_bps(u64::MAX), Bytes::new(u64::MAX));
        b.take(u32::MAX);
        assert!(b.refill(Time::from_nanos(u64::MAX)) > 0);
        assert_eq!(b.level(Time::from_nanos(u64::MAX)), u64::MAX);
    }
}
