//! Counts of spans in log-linear buckets: exact minimum, mean and maximum, quantiles within 1.6 %.
//!
//! The histogram of results has four times as many buckets and begins at nothing: 10 kB each. A capture has
//! thousands of flows with three of them; here only the octaves between least and greatest take memory,
//! 128 bytes each.

use units::Span;

/// Sub-buckets per power of two.
const SUB: u64 = 32;
/// Buckets come in groups of so many.
const GROUP: usize = 8;

/// A log-linear histogram of spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpanHistogram {
    /// Of buckets `first` and up.
    counts: Vec<u32>,
    first: usize,
    samples: u64,
    sum: Span,
    /// Meaningful with samples.
    min: Span,
    max: Span,
}

/// The bucket of `ns`: below `SUB` exact, above it the top six bits.
#[inline]
fn bucket(ns: u64) -> usize {
    if ns < SUB {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() as u64 - 5;
    (SUB * (shift + 1) + ((ns >> shift) - SUB)) as usize
}

/// The middle of a bucket, nanoseconds.
fn middle(index: usize) -> f64 {
    let i = index as u64;
    if i < SUB {
        return i as f64;
    }
    let (shift, top) = (i / SUB - 1, i % SUB + SUB);
    top as f64 * (1u64 << shift) as f64 + ((1u64 << shift) as f64 - 1.0) / 2.0
}

impl SpanHistogram {
    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, sample: Span) {
        let b = bucket(sample.as_nanos());
        if b < self.first || b >= self.first + self.counts.len() {
            self.make_room(b);
        }
        let count = &mut self.counts[b - self.first];
        *count = count.saturating_add(1);
        self.min = if self.samples == 0 { sample } else { self.min.min(sample) };
        self.max = self.max.max(sample);
        self.samples += 1;
        self.sum += sample;
    }

    /// Reads a count in the middle: the next sample's is near it.
    #[inline]
    pub(super) fn fetch(&self) -> u64 {
        self.counts.get(self.counts.len() / 2).map_or(0, |n| *n as u64)
    }

    #[cold]
    fn make_room(&mut self, b: usize) {
        let start = b / GROUP * GROUP;
        if self.counts.is_empty() {
            self.first = start;
        } else if start < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - start));
            self.first = start;
        }
        let end = start + GROUP - self.first;
        if end > self.counts.len() {
            self.counts.resize(end, 0);
        }
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

    /// All samples added up.
    pub fn sum(&self) -> Span {
        self.sum
    }

    /// The mean; `None` without samples.
    pub fn mean(&self) -> Option<Span> {
        (self.samples > 0).then(|| self.sum / self.samples)
    }

    /// The `q`-quantile (0 to 1); `None` without samples.
    pub fn quantile(&self, q: f64) -> Option<Span> {
        let rank = ((q * self.samples as f64).ceil() as u64).clamp(1, self.samples.max(1));
        let mut seen = 0;
        for (i, &n) in self.counts.iter().enumerate() {
            seen += n as u64;
            if seen >= rank {
                let middle = Span::from_nanos(middle(self.first + i) as u64);
                return Some(middle.clamp(self.min, self.max));
            }
        }
        self.max()
    }

    fn known(&self, span: Span) -> Option<Span> {
        (self.samples > 0).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_half_a_bucket() {
        let mut h = SpanHistogram::default();
        for us in (1..=100_000u64).rev() {
            h.record(Span::from_micros(us));
        }
        assert_eq!((h.min(), h.max()), (Some(Span::from_micros(1)), Some(Span::from_millis(100))));
        assert_eq!(h.mean(), Some(Span::from_nanos(50_000_500)));
        for (q, want) in [(0.50, 50.0), (0.95, 95.0), (0.99, 99.0)] {
            let got = h.quantile(q).unwrap().as_millis_f64();
            assert!((got / want - 1.0).abs() < 0.016, "{got} {want}");
        }
    }

    #[test]
    fn it_is_small_where_samples_are_alike() {
        let mut h = SpanHistogram::default();
        for us in 20_000..40_000 {
            h.record(Span::from_micros(us));
        }
        assert!(h.counts.len() <= 64, "{}", h.counts.len());
    }

    #[test]
    fn without_samples_nothing_is_known() {
        let h = SpanHistogram::default();
        assert_eq!((h.min(), h.max(), h.mean(), h.quantile(0.5)), (None, None, None, None));
    }

    #[test]
    fn extremes_are_held() {
        let mut h = SpanHistogram::default();
        for ns in [u64::MAX, 0, 31, 32, 33, u64::MAX / 2] {
            h.record(Span::from_nanos(ns));
        }
        assert_eq!((h.min(), h.max()), (Some(Span::ZERO), Some(Span::MAX)));
        assert_eq!(h.quantile(0.5), Some(Span::from_nanos(32)));
    }
}
