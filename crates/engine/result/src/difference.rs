//! Whether two groups of independent samples differ: Welch's t test, and Holm's correction where many
//! quantities are tested together.

use crate::Estimate;
use crate::combine::estimate;

/// The difference of two groups' means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Means of the first and the second group, each with its 95 % confidence interval.
    pub means: [Estimate; 2],
    /// Probability of a difference at least as large if the groups did not differ, 0 to 1, two-sided.
    pub p: f64,
}

/// Compares two groups whose variances may differ (Welch 1947, with the degrees of freedom of Satterthwaite).
/// `None` if a group has fewer than two samples: its spread is unknown.
pub fn difference(a: &[f64], b: &[f64]) -> Option<Difference> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let means = [estimate(a), estimate(b)];
    let change = means[1].mean - means[0].mean;
    let error = |samples: &[f64], mean: f64| {
        let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
        squares / (samples.len() - 1) as f64 / samples.len() as f64
    };
    let errors = [error(a, means[0].mean), error(b, means[1].mean)];
    let both = errors[0] + errors[1];
    if both == 0.0 {
        return Some(Difference { means, p: if change == 0.0 { 1.0 } else { 0.0 } });
    }
    let part = |error: f64, n: usize| error * error / (n - 1) as f64;
    let degrees = both * both / (part(errors[0], a.len()) + part(errors[1], b.len()));
    // DLMF 8.17(i) and the t distribution's tails: 2 P(T > |t|) = I_x(v/2, 1/2) with x = v / (v + t²).
    let t2 = change * change / both;
    Some(Difference { means, p: incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t2)) })
}

/// Says which of some probabilities are significant together: the chance that any of them is named although
/// nothing differs is at most `level` (Holm 1979).
pub fn significant(p: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut named = vec![false; p.len()];
    for (i, at) in order.into_iter().enumerate() {
        if p[at] > level / (p.len() - i) as f64 {
            break;
        }
        named[at] = true;
    }
    named
}

/// The regularised incomplete beta function I_x(a, b) for 0 ≤ x ≤ 1, by its continued fraction (DLMF
/// 8.17.22) with Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below the mean (DLMF 8.17(v)); beyond, I_x(a, b) = 1 - I_{1-x}(b, a).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    let nonzero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..=300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            step = d * c;
            fraction *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(log_front) * fraction / a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_tables() {
        // The tables of Student's t: 12.706 for 1, 2.0423 for 30 degrees of freedom.
        assert!((incomplete_beta(0.5, 0.5, 1.0 / (1.0 + 12.706_f64.powi(2))) - 0.05).abs() < 1e-5);
        assert!((incomplete_beta(15.0, 0.5, 30.0 / (30.0 + 2.0423_f64.powi(2))) - 0.05).abs() < 1e-4);
        // Its density, integrated numerically beyond t = 2.4495 with 2.56 degrees of freedom.
        let near = difference(&[1.0, 2.0, 3.0], &[4.0, 5.0, 9.0]).expect("a spread");
        assert!((near.p - 0.106_367).abs() < 1e-5, "{near:?}");
        let far = difference(&[5.1, 4.9, 5.0, 5.2, 4.8], &[18.7, 18.6, 18.8, 18.7, 18.7]).expect("a spread");
        assert!(far.p < 1e-9, "{far:?}");
        let same = difference(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).expect("a spread");
        assert_eq!(same.p, 1.0);
        assert_eq!(difference(&[1.0], &[1.0, 2.0]), None, "one sample has no spread");
        assert_eq!(difference(&[0.0, 0.0], &[3.0, 3.0]).map(|d| d.p), Some(0.0));
    }

    #[test]
    fn one_of_many_must_be_clearer_than_one_alone() {
        assert_eq!(significant(&[0.03], 0.05), [true]);
        assert_eq!(significant(&[0.03, 0.6, 0.9], 0.05), [false; 3]);
        assert_eq!(significant(&[0.03, 0.001, 0.9], 0.05), [false, true, false]);
        assert_eq!(significant(&[0.02, 0.001, 0.9], 0.05), [true, true, false]);
        assert!(significant(&[], 0.05).is_empty());
    }
}
