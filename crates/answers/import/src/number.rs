//! Numbers with units: those of `tc` below, those of other platforms by a table ([`quantity`]).
//!
//! | quantity | without a unit | units |
//! |---|---|---|
//! | tc rate | bit/s | `kbit` `mbit` … are bits, `bps` `kbps` `mbps` … *bytes* a second; k = 1000, `kibit` = 1024 |
//! | tc size | bytes | `k` `kb` = 1024, `kbit` = 128 |
//! | tc time | microseconds | `s` `ms` `us` |
//!
//! Source: iproute2 `lib/utils.c`, `tc/tc_util.c` (`get_rate64`, `get_size`), `lib/utils_math.c`.

use units::{Bytes, Rate, Span};

/// A full packet, bytes of IP.
pub(crate) const PACKET: u64 = 1500;

/// A full packet with its Ethernet header, bytes.
pub(crate) const FRAME: u64 = 1514;

/// Splits a text into a number, finite and not negative, and its suffix in lower case.
pub(crate) fn split(text: &str) -> Option<(f64, String)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].to_ascii_lowercase()))
}

/// A platform's units and their size in base units. `""` is a number without a unit.
pub(crate) type Units = [(&'static str, f64)];

/// The reason why a quantity could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    NotANumber,
    /// A unit that the platform does not accept here.
    Unit(String),
}

impl Unread {
    /// The reason for users, about the value `text`; `units` are the accepted ones.
    pub fn why(&self, text: &str, units: &Units) -> String {
        match self {
            Unread::NotANumber => format!("`{text}` is not a number"),
            Unread::Unit(unit) => {
                let known: Vec<&str> =
                    units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
                let known = if known.is_empty() {
                    "none is".into()
                } else {
                    format!("known here: {}", known.join(", "))
                };
                format!("the unit `{unit}` of `{text}` is not known ({known})")
            }
        }
    }
}

/// A quantity in base units, from a word (`20m`, `125`) and the next word, which may be its unit; and the
/// number of words used. Units that the table has in lower case match in any case; units with capitals match
/// exactly.
pub(crate) fn quantity(word: &str, next: Option<&str>, units: &Units) -> Result<(f64, usize), Unread> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let number: f64 = word[..end].parse().map_err(|_| Unread::NotANumber)?;
    let scale = |unit: &str| {
        let exact = units.iter().find(|(name, _)| *name == unit);
        let lower = unit.to_ascii_lowercase();
        exact.or_else(|| units.iter().find(|(name, _)| *name == lower)).map(|(_, scale)| *scale)
    };
    let (scale, used) = match &word[end..] {
        "" => match next.and_then(scale) {
            Some(scale) => (scale, 2),
            None => (scale("").ok_or_else(|| Unread::Unit(next.unwrap_or_default().into()))?, 1),
        },
        unit => (scale(unit).ok_or_else(|| Unread::Unit(unit.into()))?, 1),
    };
    let value = number * scale;
    if value.is_finite() && value < 1e18 { Ok((value, used)) } else { Err(Unread::NotANumber) }
}

/// Rounds a float within range to a whole number.
fn whole(value: f64) -> Option<u64> {
    (value.is_finite() && (0.0..1e18).contains(&value)).then(|| value.round() as u64)
}

/// The factor of a unit's prefix: a power of 1000 or 1024.
fn prefix(letters: &str) -> Option<f64> {
    Some(match letters {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1024f64.powi(2),
        "gi" => 1024f64.powi(3),
        "ti" => 1024f64.powi(4),
        _ => return None,
    })
}

/// Parses a rate like tc.
pub(crate) fn tc_rate(text: &str) -> Option<Rate> {
    let (number, unit) = split(text)?;
    let bits = match unit.as_str() {
        "" => 1.0,
        unit => match unit.strip_suffix("bit") {
            Some(letters) => prefix(letters)?,
            None => 8.0 * prefix(unit.strip_suffix("bps")?)?,
        },
    };
    whole(number * bits).map(Rate::from_bps)
}

/// Whether a rate is in bytes per second, which is rarely intended.
pub(crate) fn is_bytes_per_second(text: &str) -> bool {
    text.to_ascii_lowercase().ends_with("bps")
}

/// Parses a size like tc. Of `15Kb/8`, as tc prints buckets, the size is in front of the slash.
pub(crate) fn tc_size(text: &str) -> Option<Bytes> {
    let (number, unit) = split(text.split('/').next()?)?;
    let bytes = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024f64.powi(2),
        "g" | "gb" => 1024f64.powi(3),
        "kbit" => 128.0,
        "mbit" => 1024f64.powi(2) / 8.0,
        "gbit" => 1024f64.powi(3) / 8.0,
        _ => return None,
    };
    whole(number * bytes).map(Bytes::new)
}

/// Parses a time like tc.
pub(crate) fn tc_time(text: &str) -> Option<Span> {
    let (number, unit) = split(text)?;
    let nanos = match unit.as_str() {
        "s" | "sec" | "secs" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "" | "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        _ => return None,
    };
    whole(number * nanos).map(Span::from_nanos)
}

/// Parses a share in percent, with or without `%`, as 0 to 1.
pub(crate) fn percent(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let share = number / 100.0;
    (matches!(unit.as_str(), "" | "%") && (0.0..=1.0).contains(&share)).then_some(share)
}

/// Formats bytes for users; exact below 10 kB.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..100_000 => format!("{} kB", (bytes as f64 / 1e2).round() / 10.0),
        100_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Formats a rate for users.
pub(crate) fn rate(bps: u64) -> String {
    let scaled = |by: f64, unit: &str| {
        let text = format!("{:.2}", bps as f64 / by);
        format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match bps {
        0..1_000_000 => scaled(1e3, "kbit/s"),
        1_000_000..1_000_000_000 => scaled(1e6, "Mbit/s"),
        _ => scaled(1e9, "Gbit/s"),
    }
}

/// Formats seconds for users.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

/// Bytes on the wire of a full packet of 1500 bytes with `overhead`; ATM cells carry 48 bytes in 53 (Linux
/// `qdisc_get_stab`, `cake_overhead`).
pub(crate) fn on_wire(overhead: i64, in_cells: bool) -> u64 {
    let frame = 1500_u64.saturating_add_signed(overhead);
    if in_cells { frame.div_ceil(48).saturating_mul(53) } else { frame }
}

/// Seconds that `bytes` take at `rate`; infinite at rate 0.
pub(crate) fn seconds(bytes: u64, rate: Rate) -> f64 {
    bytes as f64 * 8.0 / rate.as_bps() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_read_or_refused() {
        const BYTES: &Units = &[("", 1.0), ("bytes", 1.0), ("kbytes", 1e3), ("ms", 1e-3), ("KB", 1024.0)];
        assert_eq!(quantity("125", Some("kbytes"), BYTES), Ok((125e3, 2)));
        assert_eq!(quantity("125kbytes", None, BYTES), Ok((125e3, 1)));
        assert_eq!(quantity("125", Some("conform-action"), BYTES), Ok((125.0, 1)));
        assert_eq!(quantity("2", Some("KB"), BYTES), Ok((2048.0, 2)));
        let unread = quantity("125furlongs", None, BYTES).unwrap_err();
        assert_eq!(unread, Unread::Unit("furlongs".into()));
        assert!(unread.why("125furlongs", BYTES).contains("kbytes"));
        assert_eq!(quantity("$RATE", None, BYTES), Err(Unread::NotANumber));
        // Without an entry for bare numbers a unit has to be there.
        assert_eq!(quantity("5", Some("x"), &[("ms", 1.0)]), Err(Unread::Unit("x".into())));
    }

    #[test]
    fn units_match_tc() {
        let rate = |t| tc_rate(t).map(Rate::as_bps);
        assert_eq!(rate("20mbit"), Some(20_000_000));
        assert_eq!(rate("1.5Mbit"), Some(1_500_000));
        assert_eq!(rate("20mbps"), Some(160_000_000));
        assert_eq!(rate("1000"), Some(1000));
        assert_eq!(rate("64kibit"), Some(65_536));
        assert_eq!(rate("10furlong"), None);
        assert_eq!(rate("-1mbit"), None);
        let size = |t| tc_size(t).map(Bytes::get);
        assert_eq!(
            (size("15k"), size("15Kb/8"), size("1600b"), size("1540")),
            (Some(15_360), Some(15_360), Some(1600), Some(1540))
        );
        assert_eq!((size("32kbit"), size("x")), (Some(4096), None));
        let time = |t| tc_time(t).map(Span::as_nanos);
        assert_eq!(
            (time("50ms"), time("100"), time("1.5s")),
            (Some(50_000_000), Some(100_000), Some(1_500_000_000))
        );
        assert_eq!((percent("0.5%"), percent("3"), percent("101%")), (Some(0.005), Some(0.03), None));
    }
}
