//! Observable values of a subject, and the values that a vector expects.

use std::fmt;
use units::Span;

/// Observable values after a step. `None` if the subject has no such value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets; `u32::MAX` is "infinite".
    pub ssthresh: u32,
    /// Pacing rate, bytes per second; `None` if the algorithm leaves it to the transport.
    pub pacing_rate: Option<u64>,
    /// State of loss recovery: `open`, `disorder`, `cwr`, `recovery`, `loss`.
    pub ca_state: &'static str,
    /// The algorithm's own state.
    pub state: Option<String>,
    /// Bottleneck bandwidth, bytes per second.
    pub btl_bw: Option<u64>,
    /// Round-trip propagation time.
    pub rt_prop: Option<Span>,
    /// Pacing gain.
    pub pacing_gain: Option<f64>,
    /// cwnd gain.
    pub cwnd_gain: Option<f64>,
    /// Number of rounds.
    pub round: Option<u64>,
    /// The `delivered` mark up to which the flow counts as application-limited; 0 = not.
    pub app_limited: u64,
}

/// Type of the value of a key of `expect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer; `"infinite"` for `u32::MAX`.
    Count,
    /// A number, compared to within 1/1000, because some implementations store gains in 1/256 or 1/1024.
    Gain,
    /// A time, as text with a unit.
    Span,
    /// A text.
    Word,
}

/// The keys of `expect`.
pub const KEYS: &[(&str, Kind)] = &[
    ("cwnd", Kind::Count),
    ("ssthresh", Kind::Count),
    ("pacing_rate", Kind::Count),
    ("ca_state", Kind::Word),
    ("state", Kind::Word),
    ("btl_bw", Kind::Count),
    ("rt_prop", Kind::Span),
    ("pacing_gain", Kind::Gain),
    ("cwnd_gain", Kind::Gain),
    ("round", Kind::Count),
    ("app_limited", Kind::Count),
];

/// An observed or expected value.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// See [`Kind::Count`].
    Count(u64),
    /// See [`Kind::Gain`].
    Gain(f64),
    /// See [`Kind::Span`].
    Span(Span),
    /// See [`Kind::Word`].
    Word(String),
}

impl Observed {
    /// Returns the value of a key of [`KEYS`]; `None` if the subject has none.
    pub fn get(&self, key: &str) -> Option<Seen> {
        match key {
            "cwnd" => Some(Seen::Count(self.cwnd as u64)),
            "ssthresh" => Some(Seen::Count(self.ssthresh as u64)),
            "pacing_rate" => self.pacing_rate.map(Seen::Count),
            "ca_state" => Some(Seen::Word(self.ca_state.into())),
            "state" => self.state.clone().map(Seen::Word),
            "btl_bw" => self.btl_bw.map(Seen::Count),
            "rt_prop" => self.rt_prop.map(Seen::Span),
            "pacing_gain" => self.pacing_gain.map(Seen::Gain),
            "cwnd_gain" => self.cwnd_gain.map(Seen::Gain),
            "round" => self.round.map(Seen::Count),
            "app_limited" => Some(Seen::Count(self.app_limited)),
            _ => None,
        }
    }
}

impl Seen {
    fn is(&self, other: &Seen) -> bool {
        match (self, other) {
            (Seen::Gain(a), Seen::Gain(b)) => (a - b).abs() <= 0.001,
            _ => self == other,
        }
    }

    /// Position on a numeric scale; texts have none.
    fn position(&self) -> Option<f64> {
        match self {
            Seen::Count(n) => Some(*n as f64),
            Seen::Gain(g) => Some(*g),
            Seen::Span(s) => Some(s.as_nanos() as f64),
            Seen::Word(_) => None,
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Count(n) if *n == u32::MAX as u64 => write!(f, "infinite"),
            Seen::Count(n) => write!(f, "{n}"),
            Seen::Gain(g) => write!(f, "{g}"),
            Seen::Span(s) => write!(f, "{s}"),
            Seen::Word(w) => write!(f, "{w}"),
        }
    }
}

/// An expectation.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// Any of these values (usually one).
    AnyOf(Vec<Seen>),
    /// A value between the two, both included.
    Between(Seen, Seen),
    /// No value.
    Nothing,
}

impl Want {
    /// Returns whether `seen` meets the expectation.
    pub fn is_met(&self, seen: Option<&Seen>) -> bool {
        match (self, seen) {
            (Want::Nothing, seen) => seen.is_none(),
            (_, None) => false,
            (Want::AnyOf(values), Some(seen)) => values.iter().any(|v| v.is(seen)),
            (Want::Between(low, high), Some(seen)) => {
                match (low.position(), seen.position(), high.position()) {
                    (Some(low), Some(seen), Some(high)) => low <= seen && seen <= high,
                    _ => false,
                }
            }
        }
    }
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Want::Nothing => write!(f, "none"),
            Want::Between(low, high) => write!(f, "{low} to {high}"),
            Want::AnyOf(values) => {
                let texts: Vec<String> = values.iter().map(Seen::to_string).collect();
                write!(f, "{}", texts.join(" or "))
            }
        }
    }
}
