//! Numbers with units in router configurations.
//!
//! | quantity | IOS, IOS-XE | IOS XR | NX-OS | EOS |
//! |---|---|---|---|---|
//! | `police`, `shape` rate | bit/s | bit/s | bit/s | `police` bit/s, `shape rate` kbit/s |
//! | `bandwidth`, `priority` | kbit/s | kbit/s | kbit/s | kbit/s |
//! | burst of `police` | bytes; ms where the rate is a percentage | bytes | bytes | bytes |
//! | burst of `shape` | bits; ms where the rate is a percentage | bytes | bytes | bytes |
//! | `queue-limit` | packets | packets of 256 bytes | packets | packets |
//!
//! Explicit units replace these. k = 1000, and `kbytes` = 1000 bytes.

/// The platform, which determines the units of bare numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[default]
    Ios,
    Xr,
    NxOs,
    Eos,
}

/// A rate, absolute or as a percentage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IosRate {
    /// Bits per second.
    Bits(u64),
    /// Per cent of the policy's rate.
    Percent(f64),
}

/// The size of a bucket or a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IosSize {
    Bytes(u64),
    Packets(u64),
    /// Seconds at the limiter's rate.
    Time(f64),
}

impl IosSize {
    /// In bytes, for a rate in bit/s and packets of `packet` bytes.
    pub fn bytes(self, bps: u64, packet: u64) -> u64 {
        match self {
            IosSize::Bytes(bytes) => bytes,
            IosSize::Packets(n) => n.saturating_mul(packet),
            IosSize::Time(s) => (bps as f64 / 8.0 * s).min(1e15) as u64,
        }
    }
}

/// A kind of unit with its size in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RouterUnit {
    BitsPerSecond(f64),
    Bits(f64),
    Bytes(f64),
    Seconds(f64),
    Percent,
    Packets,
    /// Known units that cannot be simulated: cells, packets or cells per second.
    Other(&'static str),
}

fn bare(word: &str) -> &str {
    word.trim_matches([',', ';', '(', ')', '/', ':'])
}

/// The unit that a word names.
pub(crate) fn unit(word: &str) -> Option<RouterUnit> {
    use RouterUnit::*;
    Some(match bare(word).to_ascii_lowercase().as_str() {
        "bps" | "bit/s" | "bits/s" | "bits/sec" => BitsPerSecond(1.0),
        "kbps" | "kb/s" | "kbit/s" | "kbits/sec" => BitsPerSecond(1e3),
        "mbps" | "mb/s" | "mbit/s" => BitsPerSecond(1e6),
        "gbps" | "gb/s" | "gbit/s" => BitsPerSecond(1e9),
        "tbps" => BitsPerSecond(1e12),
        "bits" | "bit" => Bits(1.0),
        "kbits" | "kbit" => Bits(1e3),
        "mbits" | "mbit" => Bits(1e6),
        "byte" | "bytes" => Bytes(1.0),
        "kbyte" | "kbytes" => Bytes(1e3),
        "mbyte" | "mbytes" => Bytes(1e6),
        "gbyte" | "gbytes" => Bytes(1e9),
        "ms" | "msec" | "milliseconds" => Seconds(1e-3),
        "us" | "usec" | "microseconds" => Seconds(1e-6),
        "percent" | "%" => Percent,
        "packet" | "packets" | "pkts" => Packets,
        "cell" | "cells" => Other("cells"),
        "pps" => Other("packets per second"),
        "cps" => Other("cells per second"),
        _ => return None,
    })
}

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RouterNumber {
    pub value: f64,
    pub unit: Option<RouterUnit>,
    /// Words used.
    pub used: usize,
}

/// Words that may follow a number and are not units.
fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 26] = [
        "bc",
        "be",
        "burst",
        "burst-size",
        "conform-burst",
        "pir",
        "cir",
        "rate",
        "peak-rate",
        "peak-burst",
        "percent",
        "account",
        "max",
        "min",
        "conform",
        "exceed",
        "violate",
        "action",
        "b/w",
        "level",
        "transmit",
        "drop",
        "limit",
        "user-defined",
        "dual-policer",
        "child-conform-aware",
    ];
    let word = bare(word).to_ascii_lowercase();
    KEYWORDS.contains(&word.as_str()) || word.ends_with("-action") || word.starts_with("set-")
}

/// The number at `words[at]` with its unit; `Ok(None)` if the word is not a number.
///
/// # Errors
/// Returns the words that are not understood: `10furlongs`, `10 furlongs`.
pub(crate) fn number(words: &[&str], at: usize) -> Result<Option<RouterNumber>, String> {
    let Some(raw) = words.get(at) else { return Ok(None) };
    let word = bare(raw);
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let not_read = |text: &str| Err(text.to_string());
    let Ok(value) = word[..end].parse::<f64>() else { return not_read(word) };
    let scaled = |by: f64, unit: Option<RouterUnit>, used: usize| {
        let value = value * by;
        if value < 1e15 { Ok(Some(RouterNumber { value, unit, used })) } else { not_read(word) }
    };
    let suffix = match word[end..].to_ascii_lowercase().as_str() {
        "" => None,
        "k" => Some(1e3),
        "m" => Some(1e6),
        "g" => Some(1e9),
        attached => {
            return match unit(attached) {
                Some(unit) => scaled(1.0, Some(unit), 1),
                None => not_read(word),
            };
        }
    };
    // A comma ends a quantity.
    let next = words.get(at + 1).filter(|_| !raw.ends_with([',', ';', ')']));
    let next = next.filter(|w| bare(w).starts_with(|c: char| c.is_ascii_alphabetic() || c == '%'));
    match next {
        // `20 percent` is 20 %.
        Some(next) if unit(next).is_some() => {
            // A suffix k, m or g together with a unit, as in `8m kbps`, is probably a mistake, so it is not
            // read.
            match (suffix, unit(next)) {
                (Some(_), Some(RouterUnit::BitsPerSecond(by))) if by > 1.0 => {
                    not_read(&format!("{word} {next}"))
                }
                (by, unit) => scaled(by.unwrap_or(1.0), unit, 2),
            }
        }
        Some(next) if !is_keyword(next) => not_read(&format!("{word} {}", bare(next))),
        _ => match suffix {
            Some(by) => scaled(by, Some(RouterUnit::BitsPerSecond(1.0)), 1),
            None => scaled(1.0, None, 1),
        },
    }
}

/// The rate at `words[at]` and the number of words used; a bare number counts `default` bit/s. `Ok(None)` if
/// there is no rate.
///
/// # Errors
/// Returns the words that are not understood, with the reason.
pub(crate) fn rate(words: &[&str], at: usize, default: f64) -> Result<Option<(IosRate, usize)>, String> {
    let Some(word) = words.get(at) else { return Ok(None) };
    let share = |per: f64| -> Result<Option<(IosRate, usize)>, String> {
        let n = number(words, at + 1)?.ok_or(format!("`{word}` without a number"))?;
        percent(n.value * per)
            .map(|p| Some((p, 1 + n.used.min(if n.unit == Some(RouterUnit::Percent) { 2 } else { 1 }))))
    };
    match bare(word).to_ascii_lowercase().as_str() {
        "percent" | "percentage" => return share(1.0),
        "per-thousand" => return share(0.1),
        "per-million" => return share(1e-4),
        _ => {}
    }
    // `shape kbps 1000`
    if let Some(RouterUnit::BitsPerSecond(by)) = unit(word) {
        return Ok(match number(words, at + 1)? {
            Some(RouterNumber { value, unit: None, used }) => Some((bits(value * by)?, 1 + used)),
            _ => None,
        });
    }
    let Some(n) = number(words, at)? else { return Ok(None) };
    let rate = match n.unit {
        None => bits(n.value * default)?,
        Some(RouterUnit::BitsPerSecond(by)) => bits(n.value * by)?,
        // `kbit` behind a rate is a rate.
        Some(RouterUnit::Bits(by)) if by > 1.0 => bits(n.value * by)?,
        Some(RouterUnit::Percent) => percent(n.value)?,
        Some(RouterUnit::Packets) => {
            return Err(format!("`{}`: a rate in packets", joined(words, at, n.used)));
        }
        Some(RouterUnit::Other(what)) => {
            return Err(format!("`{}`: {what} cannot be simulated", joined(words, at, n.used)));
        }
        Some(_) => return Err(format!("`{}` is not a rate", joined(words, at, n.used))),
    };
    Ok(Some((rate, n.used)))
}

fn bits(value: f64) -> Result<IosRate, String> {
    let whole = (1.0..1e15).contains(&value).then_some(IosRate::Bits(value as u64));
    whole.ok_or(format!("{value} bit/s is not a rate"))
}

fn percent(value: f64) -> Result<IosRate, String> {
    let share = (value > 0.0 && value <= 100.0).then_some(IosRate::Percent(value));
    share.ok_or(format!("{value} percent is not a share"))
}

fn joined(words: &[&str], at: usize, used: usize) -> String {
    words.iter().skip(at).take(used).map(|w| bare(w)).collect::<Vec<_>>().join(" ")
}

/// A bucket's or a queue's size at `words[at]` and how many words it takes; a bare number counts `default`.
///
/// # Errors
/// The words that are not understood, with the reason.
pub(crate) fn size(
    words: &[&str],
    at: usize,
    default: RouterUnit,
) -> Result<Option<(IosSize, usize)>, String> {
    let Some(n) = number(words, at)? else { return Ok(None) };
    let unit = match n.unit {
        // `64k` bytes: the suffix has no unit of its own.
        Some(RouterUnit::BitsPerSecond(1.0)) if n.used == 1 => default,
        Some(unit) => unit,
        None => default,
    };
    let size = match unit {
        RouterUnit::Bytes(by) => IosSize::Bytes((n.value * by) as u64),
        RouterUnit::Bits(by) => IosSize::Bytes((n.value * by / 8.0) as u64),
        RouterUnit::Seconds(by) => IosSize::Time(n.value * by),
        RouterUnit::Packets => IosSize::Packets(n.value as u64),
        RouterUnit::Other(what) => {
            return Err(format!("`{}`: {what} cannot be simulated", joined(words, at, n.used)));
        }
        RouterUnit::Percent | RouterUnit::BitsPerSecond(_) => {
            return Err(format!("`{}` is not a size", joined(words, at, n.used)));
        }
    };
    Ok(Some((size, n.used)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_of(text: &str, default: f64) -> Result<Option<IosRate>, String> {
        let words: Vec<&str> = text.split(' ').collect();
        Ok(rate(&words, 0, default)?.map(|(rate, _)| rate))
    }

    fn size_of(text: &str, default: RouterUnit) -> Result<Option<IosSize>, String> {
        let words: Vec<&str> = text.split(' ').collect();
        Ok(size(&words, 0, default)?.map(|(size, _)| size))
    }

    #[test]
    fn every_unit_of_a_rate_is_read() {
        use IosRate::*;
        for (text, rate) in [
            ("100 mbps", Bits(100_000_000)),
            ("100mbps", Bits(100_000_000)),
            ("20m", Bits(20_000_000)),
            ("1.5g", Bits(1_500_000_000)),
            ("64 kbps", Bits(64_000)),
            ("gbps 1", Bits(1_000_000_000)),
            ("8000 bps", Bits(8000)),
            ("8000, bc", Bits(8000)),
            ("(4000 kbps)", Bits(4_000_000)),
            ("percent 20", Percent(20.0)),
            ("20%", Percent(20.0)),
            ("20 percent", Percent(20.0)),
            ("20 (%)", Percent(20.0)),
            ("per-thousand 5", Percent(0.5)),
            ("per-million 5000", Percent(0.5)),
        ] {
            assert_eq!(rate_of(text, 1.0), Ok(Some(rate)), "{text}");
        }
        assert_eq!(rate_of("5000", 1000.0), Ok(Some(Bits(5_000_000))));
        assert_eq!(rate_of("exceed-action", 1.0), Ok(None));
        for text in
            ["10 furlongs", "10furlongs", "1000 pps", "100 cps", "percent 120", "10 ms", "0", "5m mbps"]
        {
            assert!(rate_of(text, 1.0).is_err(), "{text}");
        }
    }

    #[test]
    fn every_unit_of_a_size_is_read() {
        use IosSize::*;
        let (bytes, bits) = (RouterUnit::Bytes(1.0), RouterUnit::Bits(1.0));
        assert_eq!(size_of("125 kbytes", bytes), Ok(Some(Bytes(125_000))));
        assert_eq!(size_of("1 mbytes", bytes), Ok(Some(Bytes(1_000_000))));
        assert_eq!(size_of("1500000", bytes), Ok(Some(Bytes(1_500_000))));
        assert_eq!(size_of("64k", bytes), Ok(Some(Bytes(64_000))));
        assert_eq!(size_of("80000", bits), Ok(Some(Bytes(10_000))));
        assert_eq!(size_of("300 ms", bytes), Ok(Some(Time(0.3))));
        assert_eq!(size_of("50 us", bytes), Ok(Some(Time(50.0 * 1e-6))));
        assert_eq!(size_of("64 packets", bytes), Ok(Some(Packets(64))));
        for text in ["10 cells", "10 barrels", "10 percent", "10 mbps"] {
            assert!(size_of(text, bytes).is_err(), "{text}");
        }
        assert_eq!(Time(0.1).bytes(100_000_000, 1500), 1_250_000);
    }
}
