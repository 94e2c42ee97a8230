//! Counts of spans in log-linear buckets: exact minimum, mean and maximum, quantiles within 0.4 %,
//! in memory that does not grow with the number of samples.

use crate::RttSummary;
use units::Span;

/// Sub-buckets per power of two.
const SUB: u64 = 128;

/// A log-linear histogram of spans.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// From bucket `first` on: a flow's round trips lie within an octave or two, far from zero.
    counts: Vec<u32>,
    first: usize,
    samples: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// The bucket of `ns`: below `SUB` exact, above it the top eight bits.
#[inline]
fn bucket(ns: u64) -> usize {
    if ns < SUB {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() as u64 - 7;
    (SUB * (shift + 1) + ((ns >> shift) - SUB)) as usize
}

/// The middle of a bucket.
fn middle(index: usize) -> f64 {
    let i = index as u64;
    if i < SUB {
        return i as f64;
    }
    let (shift, top) = (i / SUB - 1, i % SUB + SUB);
    ((top << shift) as f64) + ((1u64 << shift) as f64 - 1.0) / 2.0
}

impl Histogram {
    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, sample: Span) {
        let ns = sample.as_nanos();
        *self.count(bucket(ns)) += 1;
        self.min = if self.samples == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.samples += 1;
        self.sum += ns as u128;
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

    /// Widens what is counted to the whole power of two around a bucket.
    #[cold]
    fn make_room(&mut self, bucket: usize) -> &mut u32 {
        let octave = bucket - bucket % SUB as usize;
        if self.counts.is_empty() {
            self.first = octave;
        }
        if octave < self.first {
            let more = self.first - octave;
            self.counts.splice(..0, std::iter::repeat_n(0, more));
            self.first = octave;
        }
        let place = bucket - self.first;
        if place >= self.counts.len() {
            self.counts.reserve_exact(octave + SUB as usize - self.first - self.counts.len());
            self.counts.resize(octave + SUB as usize - self.first, 0);
        }
        &mut self.counts[place]
    }

    /// Adds the same sample so many times.
    pub fn record_many(&mut self, sample: Span, times: u32) {
        if times == 0 {
            return;
        }
        self.record(sample);
        let more = times - 1;
        *self.count(bucket(sample.as_nanos())) += more;
        self.samples += u64::from(more);
        self.sum += u128::from(sample.as_nanos()) * u128::from(more);
    }

    /// How many samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The smallest sample; zero without samples.
    pub fn least(&self) -> Span {
        Span::from_nanos(self.min)
    }

    /// How many were above this, by half a bucket.
    pub fn beyond(&self, least: Span) -> u64 {
        let above = (bucket(least.as_nanos()) + 1).saturating_sub(self.first);
        self.counts.iter().skip(above).map(|&n| n as u64).sum()
    }

    /// The `q`-quantile (0 to 1), nanoseconds; zero without samples.
    pub fn quantile(&self, q: f64) -> f64 {
        if self.samples == 0 {
            return 0.0;
        }
        let rank = ((q * self.samples as f64).ceil() as u64).clamp(1, self.samples);
        let mut seen = 0;
        // Nothing is counted below the least.
        let least = bucket(self.min);
        for (&n, i) in self.counts[least - self.first..].iter().zip(least..) {
            seen += n as u64;
            if seen >= rank {
                return middle(i).clamp(self.min as f64, self.max as f64);
            }
        }
        self.max as f64
    }

    /// Minimum, mean, quantiles and maximum in milliseconds.
    pub fn summary(&self) -> RttSummary {
        if self.samples == 0 {
            return RttSummary::default();
        }
        RttSummary {
            min: self.min as f64 / 1e6,
            mean: self.sum as f64 / self.samples as f64 / 1e6,
            p50: self.quantile(0.50) / 1e6,
            p95: self.quantile(0.95) / 1e6,
            p99: self.quantile(0.99) / 1e6,
            max: self.max as f64 / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_half_a_bucket() {
        let mut h = Histogram::default();
        for us in 1..=100_000u64 {
            h.record(Span::from_micros(us));
        }
        let s = h.summary();
        assert_eq!((s.min, s.max), (0.001, 100.0));
        assert!((s.mean - 50.0005).abs() < 1e-9);
        for (got, want) in [(s.p50, 50.0), (s.p95, 95.0), (s.p99, 99.0)] {
            assert!((got / want - 1.0).abs() < 0.005, "{got} {want}");
        }
    }

    #[test]
    fn counts_what_is_beyond() {
        let mut h = Histogram::default();
        (1..=1000u64).for_each(|us| h.record(Span::from_micros(us)));
        assert!(h.beyond(Span::from_micros(900)).abs_diff(100) <= 4);
        assert_eq!((h.beyond(Span::from_millis(2)), Histogram::default().beyond(Span::ZERO)), (0, 0));
    }

    #[test]
    fn smaller_samples_after_larger_ones_keep_their_counts() {
        let (mut up, mut down) = (Histogram::default(), Histogram::default());
        let samples = || (0..30).map(|power| Span::from_nanos((1 << power) + 1));
        samples().for_each(|s| up.record(s));
        samples().rev().for_each(|s| down.record(s));
        assert_eq!(up.summary(), down.summary());
        for power in 0..30 {
            let least = Span::from_nanos((1 << power) + 2);
            assert_eq!((up.beyond(least), up.samples()), (down.beyond(least), down.samples()));
            assert_eq!(up.quantile(power as f64 / 30.0), down.quantile(power as f64 / 30.0));
        }
    }

    #[test]
    fn nothing_recorded_is_all_zero() {
        assert_eq!(Histogram::default().summary(), RttSummary::default());
    }
}
