//! Divides a parent's rate among the classes of one level.

use path::Class;
use units::Rate;

/// A class's claim, in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share {
    /// The guaranteed rate.
    pub fixed: u64,
    /// The weight for the rate that guarantees leave; 0 for no share.
    pub weight: f64,
    /// The maximum rate that the class can use.
    pub usable: u64,
    /// Whether the class has strict priority without a limit.
    pub is_unlimited: bool,
}

/// The minimum rate of a class, bit/s.
pub(crate) const MIN_RATE: u64 = 8000;

/// A class with only a rate, which is at least 1 bit/s.
pub(crate) fn plain(name: &str, bps: u64) -> Class {
    Class::new(name, Rate::from_bps(bps.max(1)))
}

/// The rate of each class out of `rate`, bit/s: guarantees first, then the rest by weight up to what each
/// class can use; what a ceiling leaves goes to the others. With `strict`, a class without a limit takes all
/// but a hundredth of the rate of other classes without a guarantee.
pub(crate) fn allocate(shares: &[Share], rate: u64, strict: bool) -> Vec<u64> {
    let sum = shares.iter().fold(0u64, |sum, s| sum.saturating_add(s.fixed));
    let scale = if sum > rate { rate as f64 / sum as f64 } else { 1.0 };
    let mut given: Vec<f64> = shares.iter().map(|s| s.fixed as f64 * scale).collect();
    let mut left = (rate as f64 - given.iter().sum::<f64>()).max(0.0);
    let mut open: Vec<usize> = (0..shares.len()).filter(|i| shares[*i].weight > 0.0).collect();
    while left > 1.0 && !open.is_empty() {
        let weights: f64 = open.iter().map(|i| shares[*i].weight).sum();
        let room = |i: usize, given: &[f64]| (shares[i].usable as f64 - given[i]).max(0.0);
        let part = |i: usize| left * shares[i].weight / weights;
        let full: Vec<usize> = open.iter().copied().filter(|i| room(*i, &given) <= part(*i)).collect();
        if full.is_empty() {
            open.iter().for_each(|i| given[*i] += part(*i));
            break;
        }
        for i in full {
            left -= room(i, &given);
            given[i] += room(i, &given);
            open.retain(|o| *o != i);
        }
    }
    if strict && shares.iter().any(|s| s.is_unlimited) {
        for (s, g) in shares.iter().zip(&mut given).filter(|(s, _)| s.fixed == 0 && !s.is_unlimited) {
            *g = (*g / 100.0).max(MIN_RATE as f64).min(s.usable as f64);
        }
        let others: f64 = shares.iter().zip(&given).filter(|(s, _)| !s.is_unlimited).map(|(_, g)| g).sum();
        let unlimited = shares.iter().filter(|s| s.is_unlimited).count().max(1) as f64;
        let each = (rate as f64 - others).max(MIN_RATE as f64) / unlimited;
        let first = shares.iter().zip(&mut given).filter(|(s, _)| s.is_unlimited);
        first.for_each(|(s, g)| *g = each.min(s.usable as f64));
    }
    given.into_iter().map(|g| g as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(fixed: u64, weight: f64, usable: u64) -> Share {
        Share { fixed, weight, usable, is_unlimited: false }
    }

    #[test]
    fn what_a_ceiling_leaves_goes_to_the_others() {
        // Of 100: 10 guaranteed, at most 20, and the rest in equal parts.
        let shares = [share(10, 0.0, 10), share(0, 1.0, 20), share(0, 1.0, 100), share(0, 1.0, 100)];
        assert_eq!(allocate(&shares, 100, false), [10, 20, 35, 35]);
        // The guarantees exceed the rate.
        assert_eq!(allocate(&[share(100, 0.0, 100), share(300, 0.0, 300)], 100, false), [25, 75]);
        // By weight.
        assert_eq!(allocate(&[share(0, 40.0, 90), share(0, 60.0, 90)], 90, false), [36, 54]);
    }

    #[test]
    fn strict_priority_without_a_limit_takes_what_is_not_guaranteed() {
        let rate = 100_000_000;
        let first = Share { usable: rate, is_unlimited: true, ..Share::default() };
        let shares = [first, share(20_000_000, 0.0, rate), share(0, 1.0, rate)];
        assert_eq!(allocate(&shares, rate, true), [79_200_000, 20_000_000, 800_000]);
        assert_eq!(allocate(&shares, rate, false), [0, 20_000_000, 80_000_000]);
    }
}
