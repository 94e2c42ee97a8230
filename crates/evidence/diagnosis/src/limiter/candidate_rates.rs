//! The rates that a limiter may have: where the search for it begins.

use super::virtual_queue::{PacketArrival, quantile, span};
use std::iter::successors;

/// Rates tried between the least and the greatest that are possible are this far apart.
pub(super) const STEP: f64 = 1.03;
/// The greatest is at most so many times the least.
const RANGE: f64 = 100.0;

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
    let (Some(first), Some(last)) = (losses.first(), losses.get(losses.len() / 2)) else { return Vec::new() };
    let (begin, end) = span(arrivals);
    let whole = (end - begin).max(1e-3);
    let mut rates = Vec::new();
    // Halves of the whole, down to how far apart losses are.
    let lags = successors(Some(whole / 2.0), |lag| Some(lag / 2.0));
    for lag in lags.take_while(|lag| *lag > whole / losses.len() as f64) {
        let mut slopes = Vec::new();
        let mut to = 0;
        for (at, passed) in &losses {
            while to < losses.len() && losses[to].0 - at < lag {
                to += 1;
            }
            let Some(next) = losses.get(to) else { break };
            slopes.push(((next.1 - passed) / (next.0 - at)) as f32);
        }
        rates.push(shorth(&mut slopes));
        rates.extend([0.5, 1.0].map(|q| quantile(&mut slopes, q) as f64));
    }
    // All that passed before the first loss may have been the bucket's, or, where others lose too, before a later one.
    let low = ((sum - first.1) / whole).min((sum - last.1) / (end - last.0));
    let low = (low / 2.0).max(sum / whole / RANGE);
    // In bursts the bucket lets more pass than its rate.
    let high = fastest(arrivals, 1e-3).min(RANGE * low);
    let steps = ((high / low).ln() / STEP.ln()).ceil() as i32;
    rates.extend((0..=steps).map(|i| low * STEP.powi(i)));
    rates.retain(|r| r.is_finite() && *r >= low);
    rates.sort_by(f64::total_cmp);
    // Over long times a small error adds up to a bucket.
    let step = arrivals[0].size as f64 / sum;
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
