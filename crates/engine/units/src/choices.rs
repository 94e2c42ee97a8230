//! Interprets arbitrary bytes as choices, from which property tests and fuzzers build configurations.

use crate::{Bytes, Rate, Span};

/// A source of choices. When the bytes run out, every choice is the first one.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u64 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first as u64
            }
            None => 0,
        }
    }

    /// A number below `n`, which must be at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        if n <= 256 {
            return self.byte() % n;
        }
        (0..4).fold(0, |sum, _| sum << 8 | self.byte()) % n
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One of a list, which must not be empty.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// The result of `make`, or `None`.
    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.coin() { Some(make(self)) } else { None }
    }

    /// A common, slow, fast or odd rate.
    pub fn rate(&mut self) -> Rate {
        let bps = self.one(&[20_000_000, 64_000, 1_000_000, 7_777_777, 1_000_000_000, 3]);
        Rate::from_bps(bps + self.below(3))
    }

    /// A time from 0 to 2 s.
    pub fn span(&mut self) -> Span {
        let ns = self.one(&[0, 1, 1000, 1_000_000, 10_000_000, 333_333, 500_000_000]);
        Span::from_nanos(ns * self.below(5))
    }

    /// A size from below one packet to 625 kB.
    pub fn bytes(&mut self) -> Bytes {
        Bytes::new(self.one(&[1500, 3028, 10_000, 625_000, 40]) + self.below(100))
    }

    /// A probability, including 0 and 1.
    pub fn probability(&mut self) -> f64 {
        self.one(&[0.5, 0.0, 1.0, 0.01, 0.9])
    }

    /// The length of a queue that is small enough to fill up: 1 to 20 packets.
    pub fn packets(&mut self) -> u64 {
        1 + self.below(20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_bytes_every_choice_is_the_first() {
        let mut none = Choices(&[]);
        assert_eq!((none.below(7), none.coin(), none.one(&[3, 4])), (0, false, 3));
        assert_eq!(none.maybe(Choices::packets), None);
        let mut some = Choices(&[8, 1, 0, 0, 1, 44]);
        assert_eq!((some.below(7), some.coin(), some.below(1000)), (1, true, 300));
    }
}
