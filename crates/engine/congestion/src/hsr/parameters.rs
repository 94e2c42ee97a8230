//! BBR-HSR's parameters: in a scenario, in the model, and in the kernel's BPF program.

use super::ONE;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::{Choices, Rate, Span};

/// Maximum of `bw_rec`.
const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);

/// A time or no bound: written `"50ms"` or `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Bound {
    /// At this time.
    At(Span),
    /// No bound.
    None,
}

impl Bound {
    /// Microseconds in 32 bits, as RTTs are stored; no bound is the maximum, which no RTT exceeds.
    fn micros(self) -> u32 {
        match self {
            Bound::At(span) => crate::jiffies::micros(span),
            Bound::None => u32::MAX,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::At(span) => span.fmt(f),
            Bound::None => f.write_str("none"),
        }
    }
}

impl FromStr for Bound {
    type Err = String;
    fn from_str(text: &str) -> Result<Bound, String> {
        if text.trim() == "none" {
            return Ok(Bound::None);
        }
        text.parse().map(Bound::At).map_err(|e: units::UnitError| format!("{e}, or \"none\""))
    }
}

/// The BtlBw to restore after a handover: written `"held"` or a payload rate, `"5Mbit/s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RecoveryBandwidth {
    /// The BtlBw at the start of the handover.
    Held,
    /// This payload rate.
    At(Rate),
}

impl fmt::Display for RecoveryBandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecoveryBandwidth::Held => f.write_str("held"),
            RecoveryBandwidth::At(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for RecoveryBandwidth {
    type Err = String;
    fn from_str(text: &str) -> Result<RecoveryBandwidth, String> {
        if text.trim() == "held" {
            return Ok(RecoveryBandwidth::Held);
        }
        text.parse().map(RecoveryBandwidth::At).map_err(|e: units::UnitError| format!("{e}, or \"held\""))
    }
}

/// Serialises a type as text, by `FromStr` and `Display`.
macro_rules! written {
    ($type:ty, $word:literal, $title:literal) => {
        impl TryFrom<String> for $type {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $title.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": concat!(r"^\s*(", $word, r"|[0-9][0-9_]*(\.[0-9]+)?\s*[A-Za-zµ/]+)\s*$"),
                })
            }
        }
    };
}
written!(Bound, "none", "SpanOrNone");
written!(RecoveryBandwidth, "held", "RateOrHeld");

/// The parameters, named as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct HsrParameters {
    /// Weight of the newest RTT in the moving average that the window is based on, 1/1024 to 1. Default
    /// 0.125.
    pub alpha: f64,
    /// Upper bound of the average RTT (`alpha`), or `"none"`. Default 50 ms.
    #[serde(rename = "T")]
    pub t: Bound,
    /// An RTT above this indicates a handover; `"none"` disables the detection. Default 1000 ms.
    #[serde(rename = "T1")]
    pub t1: Bound,
    /// Three consecutive RTTs below this end the handover; it must be above the RTT of the path with its
    /// queue. Default 80 ms.
    #[serde(rename = "T2")]
    pub t2: Span,
    /// Bandwidth estimate to restore after a handover: `"held"` (the one before the handover), or a
    /// payload rate. Default `"held"`.
    pub bw_rec: RecoveryBandwidth,
}

impl Default for HsrParameters {
    fn default() -> HsrParameters {
        HsrParameters {
            alpha: 0.125,
            t: Bound::At(Span::from_millis(50)),
            t1: Bound::At(Span::from_millis(1_000)),
            t2: Span::from_millis(80),
            bw_rec: RecoveryBandwidth::Held,
        }
    }
}

/// An invalid value in [`HsrParameters`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum HsrProblem {
    /// `alpha` is not from 1/1024 to 1.
    #[error("is {0}, but a weight is from 1/1024 to 1, for example 0.125")]
    Alpha(f64),
    /// `T` is zero.
    #[error("must be above zero, or \"none\" for no bound")]
    ZeroT,
    /// `T2` is zero.
    #[error("must be above zero: no RTT is below it")]
    ZeroT2,
    /// `T2` is above `T1`: the RTT that began a handover would also end it.
    #[error("is {0}, but must not be above T1 ({1}), which begins a handover")]
    T2AboveT1(Span, Span),
    /// `bw_rec` is zero or above 1 Tbit/s.
    #[error("is {0}, but must be \"held\", or above zero and up to {MAX_RATE}")]
    Rate(Rate),
}

impl HsrProblem {
    /// The key with the invalid value.
    pub fn key(&self) -> &'static str {
        match self {
            HsrProblem::Alpha(_) => "alpha",
            HsrProblem::ZeroT => "T",
            HsrProblem::ZeroT2 | HsrProblem::T2AboveT1(..) => "T2",
            HsrProblem::Rate(_) => "bw_rec",
        }
    }
}

impl HsrParameters {
    /// Checks for values out of range, which serde cannot.
    pub fn check(&self) -> Result<(), HsrProblem> {
        if !(1.0 / ONE as f64..=1.0).contains(&self.alpha) {
            return Err(HsrProblem::Alpha(self.alpha));
        }
        if self.t == Bound::At(Span::ZERO) {
            return Err(HsrProblem::ZeroT);
        }
        if self.t2.is_zero() {
            return Err(HsrProblem::ZeroT2);
        }
        if let Bound::At(t1) = self.t1
            && self.t2 > t1
        {
            return Err(HsrProblem::T2AboveT1(self.t2, t1));
        }
        match self.bw_rec {
            RecoveryBandwidth::At(rate) if rate.as_bps() == 0 || rate > MAX_RATE => {
                Err(HsrProblem::Rate(rate))
            }
            _ => Ok(()),
        }
    }
}

impl crate::Parameters for HsrParameters {
    fn check(&self) -> Result<(), crate::ParameterProblem> {
        HsrParameters::check(self)
            .map_err(|e| crate::ParameterProblem { key: e.key(), message: e.to_string() })
    }

    /// The global variables of `bbr_hsr.bpf.c` and their values: alpha in 1/1024, times in microseconds
    /// (2^32 - 1 for none), BW_rec in bytes per second (0 for held).
    fn kernel(&self) -> Vec<(&'static str, u64)> {
        let fixed = Fixed::new(self);
        vec![
            ("hsr_alpha", fixed.alpha),
            ("hsr_T_us", fixed.t_us.into()),
            ("hsr_T1_us", fixed.t1_us.into()),
            ("hsr_T2_us", fixed.t2_us.into()),
            ("hsr_bw_rec", fixed.bw_rec.unwrap_or(0)),
        ]
    }

    fn draw(choices: &mut Choices) -> HsrParameters {
        let bound = |c: &mut Choices, ms: u64| c.maybe(|c| Span::from_millis(ms + c.below(100)));
        HsrParameters {
            alpha: choices.one(&[0.125, 1.0, 0.01]),
            t: bound(choices, 1).map_or(Bound::None, Bound::At),
            t1: bound(choices, 100).map_or(Bound::None, Bound::At),
            t2: Span::from_millis(1 + choices.below(100)),
            bw_rec: choices.maybe(Choices::rate).map_or(RecoveryBandwidth::Held, RecoveryBandwidth::At),
        }
    }
}

/// The parameters in the units of the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    /// In units of 1/1024.
    pub alpha: u64,
    pub t_us: u32,
    pub t1_us: u32,
    pub t2_us: u32,
    /// Bytes per second; `None` for held.
    pub bw_rec: Option<u64>,
}

impl Fixed {
    pub(super) fn new(p: &HsrParameters) -> Fixed {
        Fixed {
            alpha: (p.alpha * ONE as f64 + 0.5) as u64,
            t_us: p.t.micros(),
            t1_us: p.t1.micros(),
            t2_us: crate::jiffies::micros(p.t2),
            bw_rec: match p.bw_rec {
                RecoveryBandwidth::Held => None,
                RecoveryBandwidth::At(rate) => Some((rate.as_bps() / 8).max(1)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;

    fn read(text: &str) -> Result<HsrParameters, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn omitted_parameters_are_as_published() {
        assert_eq!(read("{}"), Ok(HsrParameters::default()));
        assert_eq!(
            HsrParameters::default().kernel(),
            [
                ("hsr_alpha", 128),
                ("hsr_T_us", 50_000),
                ("hsr_T1_us", 1_000_000),
                ("hsr_T2_us", 80_000),
                ("hsr_bw_rec", 0)
            ]
        );
    }

    #[test]
    fn every_key_survives_serialisation() {
        let text = r#"{"alpha":0.5,"T":"none","T1":"2s","T2":"120ms","bw_rec":"8Mbit/s"}"#;
        let p = read(text).unwrap();
        assert_eq!(serde_json::to_string(&p).unwrap(), text);
        let none = u64::from(u32::MAX);
        let values = [512, none, 2_000_000, 120_000, 1_000_000];
        assert!(p.check().is_ok() && p.kernel().iter().map(|(_, v)| *v).eq(values));
    }

    #[test]
    fn invalid_values_are_reported() {
        let error = |text| read(text).unwrap_err();
        assert!(error(r#"{"T":"never"}"#).contains("\"none\""), "{}", error(r#"{"T":"never"}"#));
        assert!(error(r#"{"bw_rec":"all"}"#).contains("\"held\""));
        assert!(error(r#"{"t":"1s"}"#).contains("unknown field"));
        let checked = |text| read(text).unwrap().check().map_err(|p| format!("{} {p}", p.key()));
        for (text, says) in [
            (r#"{"alpha":0}"#, "alpha is 0, but a weight is from 1/1024 to 1, for example 0.125"),
            (r#"{"alpha":1.5}"#, "alpha is 1.5, but a weight is from 1/1024 to 1, for example 0.125"),
            (r#"{"T":"0s"}"#, "T must be above zero, or \"none\" for no bound"),
            (r#"{"T2":"0s"}"#, "T2 must be above zero: no RTT is below it"),
            (r#"{"T1":"70ms"}"#, "T2 is 80ms, but must not be above T1 (70ms), which begins a handover"),
            (
                r#"{"bw_rec":"0bit/s"}"#,
                "bw_rec is 0bit/s, but must be \"held\", or above zero and up to 1000Gbit/s",
            ),
        ] {
            assert_eq!(checked(text), Err(says.to_string()));
        }
        assert!(HsrParameters { alpha: f64::NAN, ..HsrParameters::default() }.check().is_err());
    }
}
