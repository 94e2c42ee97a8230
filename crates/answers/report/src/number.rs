//! Numbers formatted with few digits.

use print::three_digits;

/// Three significant digits: `0.123`, `4.10`, `19.1`, `941`, `12.3k`, `1.20M`.
pub(crate) fn short(x: f64) -> String {
    if !x.is_finite() {
        return "–".into();
    }
    let a = x.abs();
    match a {
        _ if a < 0.0005 => "0".into(),
        _ if a < 9_999.5 => three_digits(x),
        _ if a < 99_950.0 => format!("{:.1}k", x / 1e3),
        _ if a < 999_500.0 => format!("{:.0}k", x / 1e3),
        _ if a < 9_995_000.0 => format!("{:.2}M", x / 1e6),
        _ if a < 99_950_000.0 => format!("{:.1}M", x / 1e6),
        _ if a < 999_500_000.0 => format!("{:.0}M", x / 1e6),
        _ => format!("{:.1e}", x),
    }
}

/// `847 B`, `64.0 kB`, `1.25 MB` (k = 1000).
pub(crate) fn bytes(n: f64) -> String {
    match n {
        n if !n.is_finite() => "–".into(),
        n if n < 999.5 => format!("{n:.0} B"),
        n if n < 999_500.0 => format!("{} kB", short(n / 1e3)),
        n if n < 999_500_000.0 => format!("{} MB", short(n / 1e6)),
        n => format!("{} GB", short(n / 1e9)),
    }
}

/// A mean and half the width of its interval, rounded to the same digit: the mean to at most three
/// significant digits, and to none that the interval does not support. The interval has two digits if its
/// first ones are 10 to 35, else one (the rule of the Particle Data Group, by which rounding changes it by
/// less than a seventh): `33.2`, `3.2`; `270`, `70`; `6900`, `500`; `12.3k`, `0.6k`.
pub(crate) fn with_interval(mean: f64, half: f64) -> [String; 2] {
    if !mean.is_finite() || !half.is_finite() {
        return [short(mean), short(half)];
    }
    let of_interval = place(half).map(|(top, first)| if first < 3.545 { top - 1 } else { top });
    let of_mean = place(mean).map(|(top, _)| top - 2);
    // A mean of zero has the digits of its interval.
    let last = of_mean.into_iter().chain(of_interval).max().unwrap_or(0);
    let step = 10f64.powi(last);
    [mean, half].map(|x| {
        let rounded = if last > 0 { (x / step).round() * step } else { x };
        let (scale, unit) = match mean.abs() {
            m if m < 9_999.5 => (0, ""),
            m if m < 999_500.0 => (3, "k"),
            _ => (6, "M"),
        };
        let decimals = usize::try_from(scale - last).unwrap_or(0);
        format!("{:.decimals$}{unit}", rounded / 10f64.powi(scale))
    })
}

/// A number's exponent and mantissa: 70.7 gives 1 and 7.07. `None` for zero.
fn place(x: f64) -> Option<(i32, f64)> {
    let text = format!("{:e}", x.abs());
    let (digits, power) = text.split_once('e')?;
    Some((power.parse().ok()?, digits.parse().ok()?)).filter(|_| x != 0.0)
}

/// A count, exact up to 9999.
pub(crate) fn count(n: u64) -> String {
    if n < 10_000 { n.to_string() } else { short(n as f64) }
}

/// Milliseconds: rounded to whole ones from 10 up, else with one decimal.
pub(crate) fn millis(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}") } else { count(x.round() as u64) }
}

/// A range of two values; a single value if both print alike.
pub(crate) fn range(low: f64, high: f64) -> String {
    let (low, high) = (short(low), short(high));
    if low == high { low } else { format!("{low}–{high}") }
}

/// A percentage: `0`, `0.04`, `1.25`, `12.5`, `100`.
pub(crate) fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        _ if !p.is_finite() => "–".into(),
        _ if p == 0.0 => "0".into(),
        _ if p < 0.01 => "<.01".into(),
        _ if p < 9.995 => format!("{p:.2}"),
        _ if p < 99.95 => format!("{p:.1}"),
        _ => format!("{p:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0.0, 847.0, 64_000.0, 999_700.0, 625_000.0, 3.2e9, f64::NAN].map(bytes);
        assert_eq!(sizes, ["0 B", "847 B", "64.0 kB", "1.00 MB", "625 kB", "3.20 GB", "–"]);
    }

    #[test]
    fn numbers_are_short_and_do_not_carry() {
        let got = [0.0, 0.0004, 0.1234, 0.9999, 4.104, 9.996, 19.14, 99.96, 941.4, 12_345.0, 1_200_000.0]
            .map(short);
        assert_eq!(got, ["0", "0", "0.123", "1.00", "4.10", "10.0", "19.1", "100", "941", "12.3k", "1.20M"]);
        assert_eq!((short(f64::NAN), short(1e12)), ("–".into(), "1.0e12".into()));
        assert_eq!((count(9_999), count(10_000)), ("9999".into(), "10.0k".into()));
        assert_eq!([4.06, 9.96, 31.4].map(millis), ["4.1", "10", "31"]);
        assert_eq!((range(4.7, 4.8), range(4.701, 4.702)), ("4.70–4.80".into(), "4.70".into()));
        assert_eq!([0.0, 0.00004, 0.0125, 0.125, 1.0].map(percent), ["0", "<.01", "1.25", "12.5", "100"]);
    }
    #[test]
    fn a_mean_has_no_more_digits_than_its_interval_supports() {
        let print = |mean: f64, half: f64| with_interval(mean, half).join(" ±");
        let got = [
            print(33.24, 3.16),
            print(273.8, 70.7),
            print(6882.0, 518.0),
            print(152.3, 102.0),
            print(19.14, 0.317),
        ];
        assert_eq!(got, ["33.2 ±3.2", "270 ±70", "6900 ±500", "150 ±100", "19.1 ±0.3"]);
        // An interval smaller than the mean's third digit prints as zero.
        assert_eq!(
            [print(19.14, 0.0004), print(19.29, 0.0), print(4.17, 0.168)],
            ["19.1 ±0.0", "19.3 ±0.0", "4.17 ±0.17"]
        );
        assert_eq!([print(12_345.0, 600.0), print(1_234_567.0, 9_000.0)], ["12.3k ±0.6k", "1.23M ±0.01M"]);
        assert_eq!([print(12_345.0, 4_321.0), print(941.4, 4.4)], ["12k ±4k", "941 ±4"]);
        assert_eq!([print(0.0, 0.0), print(0.0, 2.4), print(0.5, 70.7)], ["0 ±0", "0.0 ±2.4", "0 ±70"]);
        assert_eq!(print(f64::NAN, 1.0), "– ±1.00");
    }
}
