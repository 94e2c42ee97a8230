//! A rank test (Mann and Whitney 1947) for losses that come when the delay is long, as at a full queue.

use super::virtual_queue::quantile;

/// Least mean rank of losses at a full queue: nearly all other packets have less delay. Random losses do not
/// reach it in a long run.
const MIN_MEAN_RANK: f64 = 0.7;
/// Standard deviations by which the mean rank must exceed that of random losses.
const MIN_DEVIATIONS: f64 = 1.6;

/// Returns the median delay just before losses if losses come when the delay is long. Reorders both slices of
/// delays (seconds).
///
/// Mann and Whitney's statistic is the mean share of packets with less delay than a loss. It is a half for
/// random losses with any distribution of delays, even with outliers from delayed ACKs.
pub(crate) fn delay_at_losses(losses: &mut [f32], passed: &mut [f32]) -> Option<f32> {
    if losses.is_empty() || passed.is_empty() {
        return None;
    }
    passed.sort_unstable_by(f32::total_cmp);
    let below = |d: f32| {
        let (less, equal) = (passed.partition_point(|p| *p < d), passed.partition_point(|p| *p <= d));
        (less + equal) as f64 / 2.0 / passed.len() as f64
    };
    let count = losses.len() as f64;
    let share = losses.iter().map(|d| below(*d)).sum::<f64>() / count;
    let usual = quantile(losses, 0.5);
    let sure = (share - 0.5) * (12.0 * count).sqrt() > MIN_DEVIATIONS;
    (share > MIN_MEAN_RANK && sure).then_some(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_a_full_queue_come_at_a_long_delay() {
        // A short queue most of the time, and occasional delayed ACKs.
        let passed =
            || (0..1000).map(|i| if i % 20 == 0 { 0.04 } else { i as f32 * 2e-6 }).collect::<Vec<f32>>();
        let full = delay_at_losses(&mut [1.9e-3, 1.95e-3, 1.8e-3], &mut passed());
        assert_eq!(full, Some(1.9e-3));
        let any: Vec<f32> = (0..50).map(|i| (i * 37 % 50) as f32 * 40e-6).collect();
        assert_eq!(delay_at_losses(&mut any.clone(), &mut passed()), None);
        // One loss is not enough.
        assert_eq!(delay_at_losses(&mut [1.5e-3], &mut passed()), None);
        assert_eq!(delay_at_losses(&mut [], &mut passed()), None);
    }
}
