//! Quantiles of a few values.

/// The `q`-quantile (0 to 1) of ascending values, interpolated linearly (Hyndman and Fan 1996, type 7: the
/// default of R and NumPy). `None` for an empty slice.
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let part = place - below as f64;
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    // Without interpolation the value itself, so that infinite values stay infinite.
    Some(if part > 0.0 { low + (high - low) * part } else { low })
}

/// The finite values in ascending order.
pub fn ascending(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.into_iter().filter(|x| x.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Minimum, lower quartile, median, upper quartile and maximum.
pub fn five_numbers(values: impl IntoIterator<Item = f64>) -> Option<[f64; 5]> {
    let all = ascending(values);
    let at = |q| quantile(&all, q).unwrap_or_default();
    (!all.is_empty()).then(|| [0.0, 0.25, 0.5, 0.75, 1.0].map(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_r() {
        // R: quantile(c(1, 2, 3, 4, 10), c(.05, .5, .95), type = 7) is 1.2 3.0 8.8.
        let all = [1.0, 2.0, 3.0, 4.0, 10.0];
        let near = |q, want: f64| (quantile(&all, q).unwrap() - want).abs() < 1e-12;
        assert!(near(0.05, 1.2) && near(0.5, 3.0) && near(0.95, 8.8));
        assert_eq!(five_numbers([3.0, f64::NAN, 1.0, 2.0]), Some([1.0, 1.5, 2.0, 2.5, 3.0]));
        assert_eq!((quantile(&[], 0.5), five_numbers([]), quantile(&[7.0], 0.95)), (None, None, Some(7.0)));
    }
}
