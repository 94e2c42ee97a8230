//! Numbers as short as they can be without lying.

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

/// `x` with as many decimals as `model`, a number that [`short`] printed.
pub(crate) fn alike(x: f64, model: &str) -> String {
    match model.split_once('.') {
        Some((_, decimals)) if decimals.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{x:.*}", decimals.len())
        }
        _ => short(x),
    }
}

/// A count: exact up to 9999.
pub(crate) fn count(n: u64) -> String {
    if n < 10_000 { n.to_string() } else { short(n as f64) }
}

/// Milliseconds: whole from 10 up, else one decimal.
pub(crate) fn millis(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}") } else { count(x.round() as u64) }
}

/// Two of a kind as a range, or once when they print alike.
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
    fn numbers_are_short_and_do_not_carry() {
        let got = [0.0, 0.0004, 0.1234, 0.9999, 4.104, 9.996, 19.14, 99.96, 941.4, 12_345.0, 1_200_000.0]
            .map(short);
        assert_eq!(got, ["0", "0", "0.123", "1.00", "4.10", "10.0", "19.1", "100", "941", "12.3k", "1.20M"]);
        assert_eq!((short(f64::NAN), short(1e12)), ("–".into(), "1.0e12".into()));
        assert_eq!((count(9_999), count(10_000)), ("9999".into(), "10.0k".into()));
        assert_eq!(
            (alike(0.317, "19.1"), alike(12.4, "941"), alike(900.0, "12.3k")),
            ("0.3".into(), "12.4".into(), "900".into())
        );
        assert_eq!([4.06, 9.96, 31.4].map(millis), ["4.1", "10", "31"]);
        assert_eq!((range(4.7, 4.8), range(4.701, 4.702)), ("4.70–4.80".into(), "4.70".into()));
        assert_eq!([0.0, 0.00004, 0.0125, 0.125, 1.0].map(percent), ["0", "<.01", "1.25", "12.5", "100"]);
    }
}
