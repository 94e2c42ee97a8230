//! A log-linear histogram of spans: exact minimum, mean and maximum, quantiles within half a bucket, in
//! memory that does not grow with the number of samples.
//!
//! An octave has 2^`BITS` buckets, so the relative error of a quantile is at most 2^−(`BITS`+1): 0.4 % with 7
//! bits, 1.6 % with 5. Memory is allocated only between the smallest and the largest sample, in groups of a
//! quarter octave: a flow's round-trip times span an octave or two, far from zero.

use crate::Span;

/// A log-linear histogram of spans with 2^`BITS` buckets per octave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram<const BITS: u32> {
    /// Counts of the buckets, starting with `first`.
    counts: Vec<u32>,
    first: usize,
    samples: u64,
    sum: u128,
    /// `min` and `max` are valid only if there are samples.
    min: Span,
    max: Span,
}

impl<const BITS: u32> Histogram<BITS> {
    const OCTAVE: u64 = 1 << BITS;
    const GROUP: usize = 1 << (BITS - 2);

    /// The bucket of `ns`: exact below 2^`BITS`, above that the top `BITS` + 1 bits.
    #[inline]
    fn bucket(ns: u64) -> usize {
        if ns < Self::OCTAVE {
            return ns as usize;
        }
        let shift = 63 - ns.leading_zeros() - BITS;
        (Self::OCTAVE * (u64::from(shift) + 1) + ((ns >> shift) - Self::OCTAVE)) as usize
    }

    /// The centre of a bucket, nanoseconds.
    fn middle(index: usize) -> f64 {
        let i = index as u64;
        if i < Self::OCTAVE {
            return i as f64;
        }
        let (shift, top) = (i / Self::OCTAVE - 1, i % Self::OCTAVE + Self::OCTAVE);
        ((top << shift) as f64) + ((1u64 << shift) as f64 - 1.0) / 2.0
    }

    #[inline]
    pub fn record(&mut self, sample: Span) {
        self.record_many(sample, 1);
    }

    /// Adds a sample `times` times.
    #[inline]
    pub fn record_many(&mut self, sample: Span, times: u32) {
        if times == 0 {
            return;
        }
        let ns = sample.as_nanos();
        let count = self.count(Self::bucket(ns));
        *count = count.saturating_add(times);
        self.min = if self.samples == 0 { sample } else { self.min.min(sample) };
        self.max = self.max.max(sample);
        self.samples += u64::from(times);
        self.sum += u128::from(ns) * u128::from(times);
    }

    /// The count of a bucket, which is allocated if necessary.
    #[inline]
    fn count(&mut self, bucket: usize) -> &mut u32 {
        let place = bucket.wrapping_sub(self.first);
        if place >= self.counts.len() {
            return self.make_room(bucket);
        }
        &mut self.counts[place]
    }

    /// Allocates the whole group around a bucket.
    #[cold]
    fn make_room(&mut self, bucket: usize) -> &mut u32 {
        let start = bucket - bucket % Self::GROUP;
        if self.counts.is_empty() {
            self.first = start;
        } else if start < self.first {
            self.counts.splice(..0, std::iter::repeat_n(0, self.first - start));
            self.first = start;
        }
        let end = start + Self::GROUP - self.first;
        if end > self.counts.len() {
            self.counts.reserve_exact(end - self.counts.len());
            self.counts.resize(end, 0);
        }
        &mut self.counts[bucket - self.first]
    }

    /// Reads a count in the middle, to prefetch it into the cache: the next sample is likely to fall close to
    /// it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.counts.get(self.counts.len() / 2).map_or(0, |&n| u64::from(n))
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The smallest sample; `None` without samples.
    pub fn min(&self) -> Option<Span> {
        self.known(self.min)
    }

    /// The largest sample; `None` without samples.
    pub fn max(&self) -> Option<Span> {
        self.known(self.max)
    }

    /// Sum of all samples, nanoseconds.
    pub fn sum_nanos(&self) -> u128 {
        self.sum
    }

    /// The mean; `None` without samples.
    pub fn mean(&self) -> Option<Span> {
        (self.samples > 0).then(|| Span::from_nanos((self.sum / u128::from(self.samples)) as u64))
    }

    /// The `q`-quantile (0 to 1), nanoseconds; `None` without samples.
    pub fn quantile_nanos(&self, q: f64) -> Option<f64> {
        let (min, max) = (self.min()?.as_nanos(), self.max.as_nanos());
        let rank = ((q * self.samples as f64).ceil() as u64).clamp(1, self.samples);
        let mut seen = 0;
        // Buckets below the smallest sample's are empty.
        let least = Self::bucket(min);
        for (&n, i) in self.counts[least - self.first..].iter().zip(least..) {
            seen += u64::from(n);
            if seen >= rank {
                return Some(Self::middle(i).clamp(min as f64, max as f64));
            }
        }
        Some(max as f64)
    }

    /// The `q`-quantile (0 to 1); `None` without samples.
    pub fn quantile(&self, q: f64) -> Option<Span> {
        self.quantile_nanos(q).map(|ns| Span::from_nanos(ns as u64))
    }

    fn known(&self, span: Span) -> Option<Span> {
        (self.samples > 0).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fine = Histogram<7>;
    type Coarse = Histogram<5>;

    fn quantiles<const BITS: u32>(us: impl Iterator<Item = u64>, within: f64) {
        let mut h = Histogram::<BITS>::default();
        us.for_each(|us| h.record(Span::from_micros(us)));
        assert_eq!((h.min(), h.max()), (Some(Span::from_micros(1)), Some(Span::from_millis(100))));
        assert_eq!(h.mean(), Some(Span::from_nanos(50_000_500)));
        for (q, want) in [(0.50, 50.0), (0.95, 95.0), (0.99, 99.0)] {
            let got = h.quantile(q).unwrap().as_millis_f64();
            assert!((got / want - 1.0).abs() < within, "{got} {want}");
        }
    }

    #[test]
    fn quantiles_are_within_half_a_bucket() {
        quantiles::<7>(1..=100_000, 0.004);
        quantiles::<7>((1..=100_000).rev(), 0.004);
        quantiles::<5>((1..=100_000).rev(), 0.016);
    }

    #[test]
    fn similar_samples_need_little_memory() {
        let mut h = Coarse::default();
        (20_000..40_000).for_each(|us| h.record(Span::from_micros(us)));
        assert!(h.counts.len() <= 64, "{}", h.counts.len());
    }

    #[test]
    fn smaller_samples_after_larger_ones_keep_their_counts() {
        let (mut up, mut down) = (Fine::default(), Fine::default());
        let samples = || (0..30).map(|power| Span::from_nanos((1 << power) + 1));
        samples().for_each(|s| up.record(s));
        samples().rev().for_each(|s| down.record(s));
        assert_eq!((up.samples(), up.mean()), (down.samples(), down.mean()));
        for power in 0..30 {
            assert_eq!(up.quantile_nanos(power as f64 / 30.0), down.quantile_nanos(power as f64 / 30.0));
        }
    }

    #[test]
    fn record_many_equals_repeated_records() {
        let (mut one, mut many) = (Fine::default(), Fine::default());
        (0..5).for_each(|_| one.record(Span::from_millis(3)));
        many.record_many(Span::from_millis(3), 5);
        many.record_many(Span::from_millis(9), 0);
        assert_eq!(one, many);
    }

    #[test]
    fn statistics_are_none_without_samples() {
        let h = Coarse::default();
        assert_eq!((h.min(), h.max(), h.mean(), h.quantile(0.5)), (None, None, None, None));
    }

    #[test]
    fn extreme_samples_are_counted() {
        let mut h = Coarse::default();
        for ns in [u64::MAX, 0, 31, 32, 33, u64::MAX / 2] {
            h.record(Span::from_nanos(ns));
        }
        assert_eq!((h.min(), h.max()), (Some(Span::ZERO), Some(Span::MAX)));
        assert_eq!(h.quantile(0.5), Some(Span::from_nanos(32)));
    }
}
