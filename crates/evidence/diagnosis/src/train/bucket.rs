//! Finds the rate r and the size B of a buffer from which packets of a train passed it.
//!
//! A packet that passed demands B + r t >= P + s, one that was lost demands the opposite. For a given r both
//! are bounds of B, and the sum of what they are missed by is convex in r: a search in one dimension finds
//! the best pair, and the middle of what remains possible is the estimate. P counts what has passed, not what
//! a model predicts, so an error does not add up.

/// A datagram with what is needed of it.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time of sending, s since the first.
    pub at: f64,
    /// Bytes that had passed before it.
    pub before: f64,
    pub bytes: f64,
    /// Delay, s from an unknown origin; `None` if it was lost.
    pub delay: Option<f64>,
}

impl Sample {
    /// The content of the buffer after this packet if it is admitted, by rate `rate`, bytes.
    pub fn level(&self, rate: f64) -> f64 {
        self.before + self.bytes - rate * self.at
    }
}

/// A buffer that explains which packets passed.
#[derive(Clone, Copy, Debug)]
pub struct BucketFit {
    /// Rate, bytes per second.
    pub rate: f64,
    /// Size, bytes.
    pub bucket: f64,
}

/// Steps of the search for the rate: each leaves two thirds of the interval.
const STEPS: usize = 60;
/// Maximum share of packets that the buffer may fail to explain: other losses on the path.
const MAX_UNEXPLAINED: f64 = 0.05;
/// Distance from its bound, in packets, from which on a packet is not explained.
const TOLERANCE: f64 = 1.0;

/// Rounds in which the tokens that a full bucket wasted are found.
const ROUNDS: usize = 4;

/// Returns the best buffer; `None` where none explains the losses.
///
/// A bucket that is full takes no tokens, as when the sender is late while the bucket is still full. What it
/// did not take is as good as passed: it is computed from one estimate for the next.
pub fn fit(samples: &[Sample]) -> Option<BucketFit> {
    let mut best = fit_once(samples)?;
    for _ in 0..ROUNDS {
        let mut adjusted = samples.to_vec();
        let (mut level, mut at, mut wasted) = (best.bucket, 0.0, 0.0);
        for (sample, adjusted) in samples.iter().zip(&mut adjusted) {
            level += best.rate * (sample.at - at);
            at = sample.at;
            wasted += (level - best.bucket).max(0.0);
            level = level.min(best.bucket);
            adjusted.before += wasted;
            if sample.delay.is_some() {
                level = (level - sample.bytes).max(0.0);
            }
        }
        best = fit_once(&adjusted)?;
    }
    Some(best)
}

/// Quantile of the lateness that counts as its bound.
const LATENESS_QUANTILE: f64 = 0.95;
/// Minimum size of a bucket, in bytes that pass during that time.
const MIN_BUCKET: f64 = 4.0;

/// Returns the best buffer where packets reach it late, in batches or after other queues: one that passed may
/// have done so up to its excess of delay later than it was sent, and one that was lost no earlier than it
/// was sent. Such bounds are weak. A random walk of losses can stay within them only around a bucket of about
/// the rate times the lateness, so a smaller one proves nothing.
pub fn fit_late(samples: &[Sample]) -> Option<BucketFit> {
    let mut delays: Vec<f64> = samples.iter().filter_map(|s| s.delay).collect();
    delays.sort_by(f64::total_cmp);
    let least = *delays.first()?;
    let lateness = delays[(LATENESS_QUANTILE * (delays.len() - 1) as f64) as usize] - least;
    let late = |s: &Sample| Sample { at: s.at + s.delay.map_or(0.0, |d| (d - least).min(lateness)), ..*s };
    let fit = fit_once(&samples.iter().map(late).collect::<Vec<_>>())?;
    (fit.bucket > MIN_BUCKET * fit.rate * lateness).then_some(fit)
}

/// Returns the best buffer if none of its tokens were wasted.
fn fit_once(samples: &[Sample]) -> Option<BucketFit> {
    let last = samples.last()?;
    let passed = last.before;
    let packet = samples.iter().map(|s| s.bytes).sum::<f64>() / samples.len() as f64;
    let rate = minimum(0.0, 1.2 * passed / last.at, &mut |rate| missed(samples, rate).1);
    let bucket = missed(samples, rate).0;
    // What other causes lost is left out.
    let is_explained = |s: &&Sample| {
        let over = s.level(rate) - bucket;
        if s.delay.is_some() { over < TOLERANCE * packet } else { over > -TOLERANCE * packet }
    };
    let explained: Vec<Sample> = samples.iter().filter(is_explained).copied().collect();
    let unexplained = 1.0 - explained.len() as f64 / samples.len() as f64;
    let still_lost = explained.iter().filter(|s| s.delay.is_none()).count();
    let lost = samples.iter().filter(|s| s.delay.is_none()).count();
    if unexplained > MAX_UNEXPLAINED || 5 * still_lost < 4 * lost {
        return None;
    }
    // The rate in the middle of those that are possible has the widest gap between the bounds.
    let rate = minimum(0.97 * rate, 1.03 * rate, &mut |rate| {
        let [low, high] = bounds(&explained, rate);
        low - high
    });
    let [low, high] = bounds(&explained, rate);
    let bucket = (low + high) / 2.0;
    (rate > 0.0 && bucket > 0.0).then_some(BucketFit { rate, bucket })
}

/// The bounds of the buffer's size by those who passed and those who were lost.
fn bounds(samples: &[Sample], rate: f64) -> [f64; 2] {
    let level = |passed: bool| {
        samples.iter().filter(move |s| s.delay.is_some() == passed).map(move |s| s.level(rate))
    };
    [level(true).fold(0.0, f64::max), level(false).fold(f64::INFINITY, f64::min)]
}

/// Returns the size of the buffer that misses the bounds by least in sum, and that sum.
fn missed(samples: &[Sample], rate: f64) -> (f64, f64) {
    let mut levels: Vec<(f64, bool)> = samples.iter().map(|s| (s.level(rate), s.delay.is_some())).collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    // At size B the sum changes by the number of lost packets below B less that of passed packets above it.
    let mut slope = -(levels.iter().filter(|(_, passed)| *passed).count() as isize);
    let mut best = levels.last().map_or(0.0, |l| l.0);
    for (level, _) in &levels {
        slope += 1;
        if slope >= 0 {
            best = *level;
            break;
        }
    }
    let miss = |&(level, passed): &(f64, bool)| {
        let over = level - best;
        (if passed { over } else { -over }).max(0.0)
    };
    (best, levels.iter().map(miss).sum())
}

/// Returns where a convex function is least.
pub fn minimum(mut low: f64, mut high: f64, f: &mut dyn FnMut(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let [a, b] = [low + (high - low) / 3.0, high - (high - low) / 3.0];
        if f(a) <= f(b) {
            high = b;
        } else {
            low = a;
        }
    }
    (low + high) / 2.0
}
