//! Counts of spans in log-linear buckets: exact minimum, mean and maximum, quantiles within half a bucket, in memory
//! that does not grow with the number of samples.
//!
//! Spans of an octave fall into 2^`BITS` buckets, so a quantile is within 2^−(`BITS`+1) of itself: 0.4 % with 7 bits,
//! 1.6 % with 5. Only buckets between least and greatest take memory, in groups of a quarter of an octave: a flow's
//! round trips lie within an octave or two, far from zero.

use crate::Span;

/// A log-linear histogram of spans, an octave in 2^`BITS` buckets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram<const BITS: u32> {
    /// Of buckets `first` and up.
    counts: Vec<u32>,
    first: usize,
    samples: u64,
    sum: u128,
    /// Meaningful with samples, as `max`.
    min: Span,
    max: Span,
}

impl<const BITS: u32> Histogram<BITS> {
    const OCTAVE: u64 = 1 << BITS;
    const GROUP: usize = 1 << (BITS - 2);

    /// The bucket of `ns`: below an octave's number of buckets exact, above it the top `BITS` + 1 bits.
    #[inline]
    fn bucket(ns: u64) -> usize {
        if ns < Self::OCTAVE {
            return ns as usize;
        }
        let shift = 63 - ns.leading_zeros() - BITS;
        (Self::OCTAVE * (u64::from(shift) + 1) + ((ns >> shift) - Self::OCTAVE)) as usize
    }

    /// The middle of a bucket, nanoseconds.
    fn middle(index: usize) -> f64 {
        let i = index as u64;
        if i < Self::OCTAVE {
            return i as f64;
        }
        let (shift, top) = (i / Self::OCTAVE - 1, i % Self::OCTAVE + Self::OCTAVE);
        ((top << shift) as f64) + ((1u64 << shift) as f64 - 1.0) / 2.0
    }

    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, sample: Span) {
        self.record_many(sample, 1);
    }

    /// Adds the same sample so many times.
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

    /// The count of a bucket, made where there was none.
    #[inline]
    fn count(&mut self, bucket: usize) -> &mut u32 {
        let place = bucket.wrapping_sub(self.first);
        if place >= self.counts.len() {
            return self.make_room(bucket);
        }
        &mut self.counts[place]
    }

    /// Widens what is counted to the whole group around a bucket.
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

    /// Reads a count in the middle: the next sample's is near it, and then in the cache.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.counts.get(self.counts.len() / 2).map_or(0, |&n| u64::from(n))
    }

    /// How many samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The least; `None` without samples.
    pub fn min(&self) -> Option<Span> {
        self.known(self.min)
    }

    /// The greatest; `None` without samples.
    pub fn max(&self) -> Option<Span> {
        self.known(self.max)
    }

    /// All samples added up, nanoseconds.
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
        // Nothing is counted below the least.
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
    fn it_is_small_where_samples_are_alike() {
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
    fn a_sample_many_times_is_as_many_samples() {
        let (mut one, mut many) = (Fine::default(), Fine::default());
        (0..5).for_each(|_| one.record(Span::from_millis(3)));
        many.record_many(Span::from_millis(3), 5);
        many.record_many(Span::from_millis(9), 0);
        assert_eq!(one, many);
    }

    #[test]
    fn without_samples_nothing_is_known() {
        let h = Coarse::default();
        assert_eq!((h.min(), h.max(), h.mean(), h.quantile(0.5)), (None, None, None, None));
    }

    #[test]
    fn extremes_are_held() {
        let mut h = Coarse::default();
        for ns in [u64::MAX, 0, 31, 32, 33, u64::MAX / 2] {
            h.record(Span::from_nanos(ns));
        }
        assert_eq!((h.min(), h.max()), (Some(Span::ZERO), Some(Span::MAX)));
        assert_eq!(h.quantile(0.5), Some(Span::from_nanos(32)));
    }
}
