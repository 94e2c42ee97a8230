//! How sure it is that a bucket which explains losses is a limiter's, not what chance or a congestion window makes of them.
//!
//! What speaks for it: how much better than chance it foretells losses, how close to the limit they lie, and how many packets are on
//! the wrong side of it. Logistic regression makes a probability of that; its weights are learned from drawn cases, of which it is
//! known whether something on the path drops at that rate (`tests/diagnose`, bin `calibrate`, prints `sure/weights.rs`).

mod weights;

use super::virtual_queue::{PacketArrival, TokenBucketFit, misclassified_beyond_a_packet};
use crate::confidence::probability;

/// Signs of a bucket.
pub const BUCKET_SIGNS: usize = 5;

/// A bucket that explains losses: a limiter's, the end of a queue, or chance.
#[derive(Clone, Copy, Debug)]
pub struct BucketSigns {
    /// Least and greatest rate that explain them, Mbit/s.
    pub rates_mbps: (f64, f64),
    /// The rate that explains them best, Mbit/s, and the bucket of it, bytes.
    pub best: (f64, f64),
    /// What speaks for it, each without unit: 1; the logarithms of its gain and of how far losses lie from the limit, as a share of
    /// it; packets on the wrong side of the limit, and more than a packet on the wrong side, as shares, lost and passed together.
    pub signs: [f64; BUCKET_SIGNS],
}

impl BucketSigns {
    pub(super) fn of(b: &TokenBucketFit, arrivals: &[PacketArrival]) -> BucketSigns {
        let (least, most) = b.rates();
        // To a thousandth of the limit, and of no more than both sides.
        let apart = (b.spread / b.burst).clamp(1e-3, 1.0);
        let beyond = misclassified_beyond_a_packet(arrivals, b);
        let signs =
            [1.0, libm::log(b.gain.max(1.0)), libm::log(apart), b.misclassified.min(2.0), beyond.min(2.0)];
        let (rates_mbps, best) = ((least * 8e-6, most * 8e-6), (b.rate * 8e-6, b.burst));
        BucketSigns { rates_mbps, best, signs }
    }
}

/// The probability that the bucket is a limiter's.
pub(super) fn sure(b: &TokenBucketFit, arrivals: &[PacketArrival]) -> f64 {
    probability(&BucketSigns::of(b, arrivals).signs, &weights::OF_BUCKET)
}
