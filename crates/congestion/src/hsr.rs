//! BBR-HSR, BBR for high-speed mobile networks: BBR v1 whose window is sized by an estimate of the
//! present RTT instead of the smallest one, and which takes its bandwidth back after a failed
//! handover. Where delay jitters, gain * BtlBw * RTprop is less than the path holds: the window
//! binds, delivery rates fall with it, and BtlBw follows them down.
//!
//! ```text
//! RTT_avg <- (1 - alpha) RTT_avg + alpha RTT_t        every RTT sample
//! RTT_est  = max(min(RTT_avg, T), RTprop)
//! cwnd     = cwnd_gain * BtlBw * RTT_est
//!
//! flag 0 -> 1   RTT_t > T1: a handover is on its way; BW_rec is chosen
//! flag 1 -> 2   three RTT samples in a row below T2: it is over
//! flag 2 -> 0   BtlBw = max(BtlBw, BW_rec)
//! ```
//!
//! Source: "Application and improvement of BBR algorithm in high-speed mobile networks" (2019).
//! All else is BBR v1 (`bbr/`), which asks this file for two things: an RTT for the window, and a
//! bandwidth to return to.
//!
//! | paper | here |
//! |---|---|
//! | how BW_rec is chosen is left open | `bw_rec`; by default the BtlBw in force just before the ACK that raises the flag. While a path is silent no round ends, so nothing decays, and a timeout counts no round either: this is what the sender believed when its packets stopped arriving |
//! | another RTT above T1 while the flag is up is left open | BW_rec stays: the bandwidth seen in between is that of the handover |
//! | the flag passes through 2 | within one ACK, so it is never seen there |
//! | BtlBw = BW_rec | enters the maximum filter as a sample of this round, and so leaves it after ten; a policer's rate found by Linux's detector (`bbr/longterm.rs`) stays in force |
//! | RTT_avg begins is left open | with the first sample; without one RTT_est is RTprop |
//! | RTT_est may fall below RTprop when T does | not below RTprop |
//! | only cwnd is said to change | so DRAIN's end and the phases of PROBE_BW still compare what is in flight with RTprop's BDP, and pacing stays gain * BtlBw; recovery, PROBE_RTT, bursts and aggregates as in BBR v1 |
//! | RTT_t | the kernel's sample per ACK (`rs->rtt_us`), also of ACKs that were likely delayed; packets sent twice give none (Karn), so a handover that loses everything in flight raises no flag |
//! | real numbers | alpha in 1/1024, RTT_avg in 1/1024 µs, rounded down |
//!
//! T2 must be above the path's RTT: otherwise the flag stays up, and BW_rec is never used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::{Rate, Span};

/// Alpha and the fraction of RTT_avg are in 1/1024.
const FRACTION: u32 = 10;
const ONE: u64 = 1 << FRACTION;

/// So many RTT samples in a row below T2 end a handover.
const CALM_SAMPLES: u8 = 3;

/// The largest rate `bw_rec` takes.
const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);

/// A time, or none: written `"50ms"` or `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Bound {
    /// At this time.
    At(Span),
    /// Nowhere.
    None,
}

impl Bound {
    /// Microseconds in 32 bits, as RTTs are kept; none is the largest, which no RTT exceeds.
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

/// What BtlBw returns to after a handover: written `"held"` or a rate of payload, `"5Mbit/s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Recovery {
    /// The BtlBw in force when the handover began.
    Held,
    /// This rate of payload.
    At(Rate),
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recovery::Held => f.write_str("held"),
            Recovery::At(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for Recovery {
    type Err = String;
    fn from_str(text: &str) -> Result<Recovery, String> {
        if text.trim() == "held" {
            return Ok(Recovery::Held);
        }
        text.parse().map(Recovery::At).map_err(|e: units::UnitError| format!("{e}, or \"held\""))
    }
}

/// Text in a file, by `FromStr` and `Display`.
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
        impl JsonSchema for $type {
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
written!(Recovery, "held", "RateOrHeld");

/// The parameters, named as in the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Weight of the newest RTT in RTT_avg, 1/1024 to 1. Default 0.125.
    pub alpha: f64,
    /// The most that RTT_est may be, or `"none"`. Default 50 ms.
    #[serde(rename = "T")]
    pub t: Bound,
    /// An RTT above this begins a handover; `"none"` looks for none. Default 1000 ms.
    #[serde(rename = "T1")]
    pub t1: Bound,
    /// Three RTTs in a row below this end it. Default 80 ms.
    #[serde(rename = "T2")]
    pub t2: Span,
    /// The bandwidth after a handover: `"held"`, that of before, or a rate of payload.
    /// Default `"held"`.
    pub bw_rec: Recovery,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            alpha: 0.125,
            t: Bound::At(Span::from_millis(50)),
            t1: Bound::At(Span::from_millis(1_000)),
            t2: Span::from_millis(80),
            bw_rec: Recovery::Held,
        }
    }
}

/// What is wrong with [`Parameters`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Problem {
    /// `alpha` is not from 1/1024 to 1.
    Alpha(f64),
    /// `T` is zero.
    NoRtt,
    /// `T2` is zero.
    NoCalm,
    /// `T2` is above `T1`: the RTT that began a handover would also end it.
    Crossed(Span, Span),
    /// `bw_rec` is zero or above 1 Tbit/s.
    Rate(Rate),
}

impl Problem {
    /// The key it concerns.
    pub fn key(&self) -> &'static str {
        match self {
            Problem::Alpha(_) => "alpha",
            Problem::NoRtt => "T",
            Problem::NoCalm | Problem::Crossed(..) => "T2",
            Problem::Rate(_) => "bw_rec",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Alpha(alpha) => {
                write!(f, "is {alpha}, but a weight is from 1/1024 to 1, for example 0.125")
            }
            Problem::NoRtt => write!(f, "must be above zero, or \"none\" for no bound"),
            Problem::NoCalm => write!(f, "must be above zero: no RTT is below it"),
            Problem::Crossed(t2, t1) => {
                write!(f, "is {t2}, but must not be above T1 ({t1}), which begins a handover")
            }
            Problem::Rate(rate) => {
                write!(f, "is {rate}, but must be \"held\", or above zero and up to {MAX_RATE}")
            }
        }
    }
}

impl std::error::Error for Problem {}

impl Parameters {
    /// Finds what serde cannot: values out of range.
    pub fn check(&self) -> Result<(), Problem> {
        if !(1.0 / ONE as f64..=1.0).contains(&self.alpha) {
            return Err(Problem::Alpha(self.alpha));
        }
        if self.t == Bound::At(Span::ZERO) {
            return Err(Problem::NoRtt);
        }
        if self.t2.is_zero() {
            return Err(Problem::NoCalm);
        }
        if let Bound::At(t1) = self.t1
            && self.t2 > t1
        {
            return Err(Problem::Crossed(self.t2, t1));
        }
        match self.bw_rec {
            Recovery::At(rate) if rate.as_bps() == 0 || rate > MAX_RATE => Err(Problem::Rate(rate)),
            _ => Ok(()),
        }
    }

    /// The globals of `bbr_hsr.bpf.c` and their values: alpha in 1/1024, times in microseconds
    /// (2^32 - 1 is none), BW_rec in bytes per second (0 is held).
    pub fn kernel_parameters(&self) -> Vec<(&'static str, u64)> {
        let fixed = Fixed::of(self);
        vec![
            ("hsr_alpha", fixed.alpha),
            ("hsr_T_us", fixed.t_us.into()),
            ("hsr_T1_us", fixed.t1_us.into()),
            ("hsr_T2_us", fixed.t2_us.into()),
            ("hsr_bw_rec", fixed.bw_rec.unwrap_or(0)),
        ]
    }
}

/// The parameters in the units of the model.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    /// 1/1024.
    alpha: u64,
    t_us: u32,
    t1_us: u32,
    t2_us: u32,
    /// Bytes per second; `None` is held.
    bw_rec: Option<u64>,
}

impl Fixed {
    fn of(p: &Parameters) -> Fixed {
        Fixed {
            alpha: (p.alpha * ONE as f64 + 0.5) as u64,
            t_us: p.t.micros(),
            t1_us: p.t1.micros(),
            t2_us: crate::jiffies::micros(p.t2),
            bw_rec: match p.bw_rec {
                Recovery::Held => None,
                Recovery::At(rate) => Some((rate.as_bps() / 8).max(1)),
            },
        }
    }
}

/// What BBR-HSR remembers beside BBR. Bandwidths are in the unit of its caller.
#[derive(Clone, Debug)]
pub(crate) struct Hsr {
    fixed: Fixed,
    /// RTT_avg, 1/1024 µs.
    average: Option<u64>,
    handover: Option<Handover>,
}

/// The flag is 1.
#[derive(Clone, Copy, Debug)]
struct Handover {
    /// BtlBw in force when it began.
    held: u32,
    /// RTT samples in a row below T2.
    calm: u8,
}

/// A bandwidth to return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    /// What the caller gave when the handover began.
    Held(u32),
    /// Payload, bytes per second.
    Rate(u64),
}

impl Hsr {
    pub(crate) fn new(parameters: &Parameters) -> Hsr {
        Hsr { fixed: Fixed::of(parameters), average: None, handover: None }
    }

    /// Forgets the connection.
    pub(crate) fn reset(&mut self) {
        *self = Hsr { average: None, handover: None, ..*self };
    }

    /// Takes in an RTT; `btl_bw` was in force before its ACK came. A bandwidth is returned when a
    /// handover is over: BtlBw is not to be below it.
    pub(crate) fn update(&mut self, rtt_us: u32, btl_bw: u32) -> Option<Return> {
        let newest = (rtt_us as u64) << FRACTION;
        let alpha = self.fixed.alpha;
        self.average = Some(match self.average {
            None => newest,
            Some(average) => ((ONE - alpha) * average + alpha * newest) >> FRACTION,
        });
        if rtt_us > self.fixed.t1_us {
            self.handover.get_or_insert(Handover { held: btl_bw, calm: 0 }).calm = 0;
            return None;
        }
        let handover = self.handover.as_mut()?;
        handover.calm = if rtt_us < self.fixed.t2_us { handover.calm + 1 } else { 0 };
        if handover.calm < CALM_SAMPLES {
            return None;
        }
        let held = handover.held;
        self.handover = None;
        Some(self.fixed.bw_rec.map_or(Return::Held(held), Return::Rate))
    }

    /// RTT_est, microseconds.
    pub(crate) fn rtt_us(&self, rt_prop_us: u32) -> u32 {
        let average = self.average.map_or(0, |average| average >> FRACTION);
        (average.min(self.fixed.t_us as u64) as u32).max(rt_prop_us)
    }
}
