//! The parser of quantities, which serde and the JSON Schema use too.
//!
//! Grammar: a decimal number, optional blanks, a unit. The conversion is exact; a value that is not a whole
//! number of nanoseconds, bytes or bits per second is rounded to the nearest one.
//!
//! | type | units |
//! |---|---|
//! | [`Span`] | `ns` `us` `µs` `ms` `s` `min` `h` |
//! | [`Bytes`] | `B` `kB` `MB` `GB` `KiB` `MiB` `GiB` |
//! | [`Rate`] | `bit/s` `kbit/s` `Mbit/s` `Gbit/s`, tc's `bit` `kbit` `mbit` `gbit`, `bps` `kbps` `Mbps` `Gbps` (bits) |
//! | [`Speed`] | `km/h` `m/s` `mm/s` `mm/h` |
//! | [`Length`] | `mm` `m` `km` |
//! | [`Frequency`] | `Hz` `kHz` `MHz` `GHz` |

use crate::{Bytes, Frequency, Length, Rate, Span, Speed};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::str::FromStr;

/// Why a text is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text does not begin with a number.
    #[error("`{text}` does not begin with a number (write for example \"{example}\")")]
    NoNumber {
        /// The text to parse.
        text: String,
        /// A valid quantity of this type.
        example: &'static str,
    },
    /// The number has no unit.
    #[error("`{text}` has no unit (write for example \"{example}\")")]
    NoUnit {
        /// The text to parse.
        text: String,
        /// A valid quantity of this type.
        example: &'static str,
    },
    /// The unit does not exist or belongs to another type.
    #[error("unknown unit `{unit}`, expected one of {known} (for example \"{example}\")")]
    UnknownUnit {
        /// The unknown unit.
        unit: String,
        /// The units of this type.
        known: &'static str,
        /// A valid quantity of this type.
        example: &'static str,
    },
    /// The value exceeds 64 bits.
    #[error("`{text}` is too large")]
    TooLarge {
        /// The text to parse.
        text: String,
    },
}

struct UnitKind {
    units: &'static [(&'static str, u64)],
    known: &'static str,
    example: &'static str,
}

const SPAN: UnitKind = UnitKind {
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    known: "ns, us, ms, s, min, h",
    example: "30ms",
};

const BYTES: UnitKind = UnitKind {
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    known: "B, kB, MB, GB, KiB, MiB, GiB",
    example: "625kB",
};

const RATE: UnitKind = UnitKind {
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
    ],
    known: "bit/s, kbit/s, Mbit/s, Gbit/s",
    example: "20Mbit/s",
};

const SPEED: UnitKind = UnitKind {
    units: &[("km/h", 1_000_000), ("m/s", 3_600_000), ("mm/s", 3_600), ("mm/h", 1)],
    known: "km/h, m/s",
    example: "300km/h",
};

const LENGTH: UnitKind =
    UnitKind { units: &[("mm", 1), ("m", 1_000), ("km", 1_000_000)], known: "mm, m, km", example: "800m" };

const FREQUENCY: UnitKind = UnitKind {
    units: &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)],
    known: "Hz, kHz, MHz, GHz",
    example: "2.1GHz",
};

/// Parses `text` as a number of `kind`'s smallest units.
fn parse(text: &str, kind: &UnitKind) -> Result<u64, UnitError> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim();
    let number: String = number.chars().filter(|&c| c != '_').collect();
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let numeric = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !numeric(whole) || !numeric(fraction) {
        return Err(UnitError::NoNumber { text: text.into(), example: kind.example });
    }
    if unit.is_empty() {
        return Err(UnitError::NoUnit { text: text.into(), example: kind.example });
    }
    let scale = kind.units.iter().find(|(name, _)| *name == unit).map(|&(_, s)| s).ok_or_else(|| {
        UnitError::UnknownUnit { unit: unit.into(), known: kind.known, example: kind.example }
    })?;
    let too_large = || UnitError::TooLarge { text: text.into() };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
    // Digits beyond 1e-18 do not change the nearest whole number of any unit in the tables.
    let fraction = &fraction[..fraction.len().min(18)];
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| too_large())? };
    let divisor = 10u128.pow(fraction.len() as u32);
    let rounded = (parts * scale as u128 + divisor / 2) / divisor;
    whole.checked_mul(scale).and_then(|n| n.checked_add(rounded as u64)).ok_or_else(too_large)
}

macro_rules! quantity {
    ($type:ident, $kind:ident, $make:expr, $title:literal) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, &$kind).map($make)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "a text with a unit, for example \"{}\"", $kind.example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                d.deserialize_str(Visitor).map_err(D::Error::custom)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "title": $title,
                    "description": concat!("A number and a unit: one of ", $title),
                    "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*[A-Za-zµ/]+\s*$",
                    "examples": [$kind.example],
                })
            }
        }
    };
}

quantity!(Span, SPAN, Span::from_nanos, "ns, us, ms, s, min, h");
quantity!(Bytes, BYTES, Bytes::new, "B, kB, MB, GB, KiB, MiB, GiB");
quantity!(Rate, RATE, Rate::from_bps, "bit/s, kbit/s, Mbit/s, Gbit/s");
quantity!(Speed, SPEED, Speed::from_mm_per_hour, "km/h, m/s");
quantity!(Length, LENGTH, Length::from_mm, "mm, m, km");
quantity!(Frequency, FREQUENCY, Frequency::from_hz, "Hz, kHz, MHz, GHz");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_notations_are_parsed() {
        assert_eq!("20Mbit/s".parse(), Ok(Rate::from_bps(20_000_000)));
        assert_eq!("1.5 Gbit/s".parse(), Ok(Rate::from_bps(1_500_000_000)));
        assert_eq!("30ms".parse(), Ok(Span::from_millis(30)));
        assert_eq!("2.5ms".parse(), Ok(Span::from_micros(2_500)));
        assert_eq!("625kB".parse(), Ok(Bytes::new(625_000)));
        assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("625_000B".parse(), Ok(Bytes::new(625_000)));
        assert_eq!(".5s".parse(), Ok(Span::from_millis(500)));
        assert_eq!("300 km/h".parse(), Ok(Speed::from_kmh(300)));
        assert_eq!("10m/s".parse(), Ok(Speed::from_kmh(36)));
        assert_eq!("1.2km".parse(), Ok(Length::from_m(1200)));
        assert_eq!("2.1GHz".parse(), Ok(Frequency::from_hz(2_100_000_000)));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let e = |t: &str| t.parse::<Rate>().unwrap_err().to_string();
        assert!(e("20").contains("no unit") && e("20").contains("20Mbit/s"));
        assert!(e("fast").contains("does not begin with a number"));
        assert!(e("20ms").contains("unknown unit `ms`, expected one of bit/s"));
        assert!(e("99999999999999999999bit/s").contains("too large"));
        assert!(e("1.2.3Mbit/s").contains("number"));
        assert!("18446744073709551615.9B".parse::<Bytes>().is_err());
    }

    #[test]
    fn displayed_quantities_parse_back() {
        for n in [0, 1, 999, 1_000, 62_500, 20_000_000, 3_000_000_000, u64::MAX] {
            assert_eq!(Rate::from_bps(n).to_string().parse(), Ok(Rate::from_bps(n)));
            assert_eq!(Span::from_nanos(n).to_string().parse(), Ok(Span::from_nanos(n)));
            assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
            assert_eq!(Speed::from_mm_per_hour(n).to_string().parse(), Ok(Speed::from_mm_per_hour(n)));
            assert_eq!(Length::from_mm(n).to_string().parse(), Ok(Length::from_mm(n)));
            assert_eq!(Frequency::from_hz(n).to_string().parse(), Ok(Frequency::from_hz(n)));
        }
    }
}
