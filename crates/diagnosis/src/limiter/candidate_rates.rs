//! The rates that a limiter may have: where the search for it begins.

use super::virtual_queue::{PacketArrival, quantile};

/// Rates tried between the least and the greatest that are possible are this far apart.
const STEP: f64 = 1.03;
/// Seconds between two losses whose slope is tried.
const LAGS: [f64; 8] = [0.05, 0.15, 0.4, 1.0, 2.0, 4.0, 8.0, 16.0];

/// Rates to try: a grid over the possible ones, and the slopes between losses, which are the rate itself
/// where the bucket never filled up in between, and less where it did.
pub(super) fn candidates(arrivals: &[PacketArrival]) -> Vec<f64> {
    let (mut losses, mut sum) = (Vec::new(), 0.0);
    for a in arrivals {
        if a.lost {
            losses.push((a.at, sum));
        } else {
            sum += a.bytes as f64;
        }
    }
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else { return Vec::new() };
    let whole = (last.at - first.at).max(1e-3);
    let mut rates = Vec::new();
    let long = [0.1, 0.25, 0.5, 0.75].map(|share| share * whole);
    for lag in LAGS.iter().chain(&long).filter(|lag| **lag < whole) {
        let mut slopes = Vec::new();
        let mut to = 0;
        for (at, passed) in &losses {
            while to < losses.len() && losses[to].0 - at < *lag {
                to += 1;
            }
            let Some(next) = losses.get(to) else { break };
            slopes.push(((next.1 - passed) / (next.0 - at)) as f32);
        }
        for q in [0.5, 0.9, 0.98, 1.0] {
            rates.push(quantile(&mut slopes, q) as f64);
        }
        rates.push(shorth(&mut slopes));
    }
    // All that passed before the first loss may have been the bucket's, or, where others lose too, before a later one.
    let late =
        |q: usize| losses.get(losses.len() * q / 4).map_or(f64::INFINITY, |l| (sum - l.1) / (last.at - l.0));
    let first = losses.first().map_or(0.0, |l| l.1);
    let low = [late(1), late(2), (sum - first) / whole].into_iter().fold(f64::INFINITY, f64::min);
    let low = (0.8 * low).max(0.02 * sum / whole);
    // In bursts the bucket lets more pass than its rate.
    let high = [0.1, 0.005, 0.0005].map(|width| fastest(arrivals, width)).into_iter().fold(0.0, f64::max);
    let high = high.clamp(low * 3.0, low * 200.0) * 1.2;
    let steps = ((high / low).ln() / STEP.ln()).ceil() as i32;
    rates.extend((0..=steps).map(|i| low * STEP.powi(i)));
    rates.retain(|r| r.is_finite() && *r > 0.0 && *r >= low * 0.9);
    rates.sort_by(f64::total_cmp);
    // Over long times a small error adds up to a bucket.
    let step = (0.25 * arrivals[0].size as f64 / sum).clamp(1e-6, 1e-4);
    rates.dedup_by(|a, b| *a / *b < 1.0 + step);
    rates
}

/// The middle of the narrowest interval that holds a quarter of the values, which are reordered.
fn shorth(values: &mut [f32]) -> f64 {
    values.sort_unstable_by(f32::total_cmp);
    let share = values.len().div_ceil(4);
    let narrowest = values.windows(share.max(1)).min_by(|a, b| {
        let width = |w: &[f32]| w[w.len() - 1] - w[0];
        width(a).total_cmp(&width(b))
    });
    narrowest.map_or(f64::NAN, |w| w[w.len() / 2] as f64)
}

/// The greatest rate, bytes a second, at which anything passed over `width` seconds.
fn fastest(arrivals: &[PacketArrival], width: f64) -> f64 {
    let (mut from, mut sum, mut most) = (0, 0.0, 0.0f64);
    for a in arrivals {
        sum += if a.lost { 0.0 } else { a.bytes as f64 };
        while a.at - arrivals[from].at > width {
            sum -= if arrivals[from].lost { 0.0 } else { arrivals[from].bytes as f64 };
            from += 1;
        }
        most = most.max(sum / width);
    }
    most
}
