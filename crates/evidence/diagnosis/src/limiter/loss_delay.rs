//! Whether losses come when the delay is long, as at a full queue: a rank test (Mann and Whitney 1947).

use super::virtual_queue::quantile;

/// Losses of a full queue come when nearly all other packets have less delay; those that know of no queue come with
/// more than this share of them below in no long run.
const ABOVE: f64 = 0.7;
/// And by so many standard deviations more than by chance.
const SURE: f64 = 1.6;

/// Whether losses come when delay is long: the median delay just before them if so. Both are reordered.
///
/// Mann and Whitney's test: the mean share of packets with less delay than a loss, which is half if losses know nothing
/// of it; however delays are distributed, outliers by delayed ACKs included.
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
    let sure = (share - 0.5) * (12.0 * count).sqrt() > SURE;
    (share > ABOVE && sure).then_some(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_a_full_queue_come_when_it_is_long() {
        // Short most of the time, and now and then an ACK that was held back.
        let passed =
            || (0..1000).map(|i| if i % 20 == 0 { 0.04 } else { i as f32 * 2e-6 }).collect::<Vec<f32>>();
        let full = delay_at_losses(&mut [1.9e-3, 1.95e-3, 1.8e-3], &mut passed());
        assert_eq!(full, Some(1.9e-3));
        let any: Vec<f32> = (0..50).map(|i| (i * 37 % 50) as f32 * 40e-6).collect();
        assert_eq!(delay_at_losses(&mut any.clone(), &mut passed()), None);
        // One loss proves little, and none nothing.
        assert_eq!(delay_at_losses(&mut [1.5e-3], &mut passed()), None);
        assert_eq!(delay_at_losses(&mut [], &mut passed()), None);
    }
}
