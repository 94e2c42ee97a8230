//! Candidate rates of a limiter, with which the search begins.

use super::virtual_queue::{PacketArrival, quantile, span};
use std::iter::successors;

/// Ratio of neighbouring rates of the grid.
pub(super) const RATE_STEP: f64 = 1.03;
/// Greatest ratio of the highest rate to the lowest.
const MAX_RATE_RATIO: f64 = 100.0;

/// Returns the rates to try, bytes a second, in order: a grid over the possible rates, and the rates of what
/// passed between losses. These are the limiter's rate where the bucket did not fill up in between, and lower
/// where it did.
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
    let duration = (end - begin).max(1e-3);
    let mut rates = Vec::new();
    // Lags from half of the capture down to the mean distance of losses.
    let lags = successors(Some(duration / 2.0), |lag| Some(lag / 2.0));
    for lag in lags.take_while(|lag| *lag > duration / losses.len() as f64) {
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
    // All bytes before the first loss may have come from the bucket. Where other places lose too, use the
    // loss in the middle.
    let low = ((sum - first.1) / duration).min((sum - last.1) / (end - last.0));
    let low = (low / 2.0).max(sum / duration / MAX_RATE_RATIO);
    // The highest rate is that of a burst, which may exceed the limiter's.
    let high = fastest(arrivals, 1e-3).min(MAX_RATE_RATIO * low);
    let steps = ((high / low).ln() / RATE_STEP.ln()).ceil() as i32;
    rates.extend((0..=steps).map(|i| low * RATE_STEP.powi(i)));
    rates.retain(|r| r.is_finite() && *r >= low);
    rates.sort_by(f64::total_cmp);
    // Rates are distinct if they differ by a packet over the whole capture.
    let step = arrivals[0].size as f64 / sum;
    rates.dedup_by(|a, b| *a / *b < 1.0 + step);
    rates
}

/// Returns the middle of the narrowest interval that holds a quarter of the values (the shorth), and reorders
/// them.
fn shorth(values: &mut [f32]) -> f64 {
    values.sort_unstable_by(f32::total_cmp);
    let share = values.len().div_ceil(4);
    let narrowest = values.windows(share.max(1)).min_by(|a, b| {
        let width = |w: &[f32]| w[w.len() - 1] - w[0];
        width(a).total_cmp(&width(b))
    });
    narrowest.map_or(f64::NAN, |w| w[w.len() / 2] as f64)
}

/// Returns the greatest rate over `width` seconds, bytes a second, of packets that passed.
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
