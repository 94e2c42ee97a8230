//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- buckets 1200`.

use super::BUCKET_SIGNS;

/// Of each sign of a bucket.
pub(super) const OF_BUCKET: [f64; BUCKET_SIGNS] = [-0.50, 0.54, -0.08, -3.80, -0.58];
