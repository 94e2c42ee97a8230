//! `--expect`: what a run must come to, for machines that decide by the exit code. The grammar: docs/run.md.
//!
//! `read` holds the text against the scenario before anything is run; `measure` holds it against the result.

mod measure;
mod read;

pub use read::{read, share};

use result::{Expectation, Run};

/// Something expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// As it was written.
    text: String,
    /// The variants it is about.
    variants: Vec<String>,
    subject: Subject,
    what: Quantity,
    statistic: Statistic,
    relation: Relation,
    /// In the quantity's unit.
    bound: f64,
    /// The bound is a share of the limit, in %.
    of_limit: bool,
}

/// Of what.
#[derive(Clone, Debug, PartialEq)]
enum Subject {
    /// All of a variant.
    Whole,
    /// A flow: all its connections.
    Flow(String),
    /// A stage: `link.direction.stage`.
    Element(String),
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Goodput,
    Rtt,
    Delay,
    Jitter,
    Lost,
    Resent,
    Timeouts,
    Completion,
    Response,
    Page,
    Mos,
    Jain,
    Drops,
    Marks,
    Queue,
}

/// What a quantity is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Mbit/s, or % of the limit.
    Rate,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
    /// Percent.
    Share,
    /// A number.
    Plain,
}

impl Quantity {
    const ALL: [(&'static str, Quantity); 15] = [
        ("goodput", Quantity::Goodput),
        ("rtt", Quantity::Rtt),
        ("delay", Quantity::Delay),
        ("jitter", Quantity::Jitter),
        ("lost", Quantity::Lost),
        ("resent", Quantity::Resent),
        ("timeouts", Quantity::Timeouts),
        ("completion", Quantity::Completion),
        ("response", Quantity::Response),
        ("page", Quantity::Page),
        ("mos", Quantity::Mos),
        ("jain", Quantity::Jain),
        ("drops", Quantity::Drops),
        ("marks", Quantity::Marks),
        ("queue", Quantity::Queue),
    ];

    fn kind(self) -> Kind {
        match self {
            Quantity::Goodput => Kind::Rate,
            Quantity::Rtt | Quantity::Delay | Quantity::Jitter => Kind::Millis,
            Quantity::Completion | Quantity::Response | Quantity::Page => Kind::Seconds,
            Quantity::Lost => Kind::Share,
            _ => Kind::Plain,
        }
    }

    /// Whether it has a median and percentiles.
    fn has_statistics(self) -> bool {
        use Quantity::{Completion, Delay, Page, Response, Rtt};
        matches!(self, Rtt | Delay | Completion | Response | Page)
    }

    /// Whether it is measured of a stage.
    fn of_elements(self) -> bool {
        matches!(self, Quantity::Drops | Quantity::Marks | Quantity::Queue)
    }

    /// Whether it is measured of a flow.
    fn of_flows(self) -> bool {
        !self.of_elements() && self != Quantity::Jain
    }
}

/// Which number of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Statistic {
    Min,
    Mean,
    #[default]
    P50,
    P95,
    P99,
    Max,
}

impl Statistic {
    const ALL: [(&'static str, Statistic); 6] = [
        ("min", Statistic::Min),
        ("mean", Statistic::Mean),
        ("p50", Statistic::P50),
        ("p95", Statistic::P95),
        ("p99", Statistic::P99),
        ("max", Statistic::Max),
    ];
}

/// How the two are to stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Relation {
    /// The longer first, so that `>=` is not read as `>`.
    const ALL: [(&'static str, Relation); 5] = [
        (">=", Relation::AtLeast),
        ("<=", Relation::AtMost),
        ("==", Relation::Equal),
        (">", Relation::Above),
        ("<", Relation::Below),
    ];

    fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Relation::Above => measured > bound,
            Relation::AtLeast => measured >= bound,
            Relation::Below => measured < bound,
            Relation::AtMost => measured <= bound,
            Relation::Equal => measured == bound,
        }
    }

    /// Of several that must all hold, the one that is furthest from it.
    fn worst(self, all: &[f64], bound: f64) -> Option<f64> {
        let order = |a: &&f64, b: &&f64| a.total_cmp(b);
        match self {
            Relation::Above | Relation::AtLeast => all.iter().min_by(order),
            Relation::Below | Relation::AtMost => all.iter().max_by(order),
            Relation::Equal => all.iter().max_by(|a, b| (*a - bound).abs().total_cmp(&(*b - bound).abs())),
        }
        .copied()
    }
}

/// Holds all that is expected against the run: one for each variant that it is about.
pub fn hold(expected: &[Expected], run: &Run) -> Vec<Expectation> {
    expected.iter().flat_map(|e| e.hold(run)).collect()
}

/// What came of it, a line each: `pass  VARIANT  EXPECTED: MEASURED`.
pub fn lines(expectations: &[Expectation]) -> String {
    let widest = expectations.iter().map(|e| e.variant.chars().count()).max().unwrap_or(0);
    let both = expectations.iter().any(|e| e.clock != expectations[0].clock);
    let line = |e: &Expectation| {
        let word = if e.met { "pass" } else { "FAIL" };
        let clock = if both { format!("  {:6}", e.clock.name()) } else { String::new() };
        let unit = if e.unit.is_empty() { String::new() } else { format!(" {}", e.unit) };
        let measured = e.measured.map_or("nothing measured".into(), |m| format!("{}{unit}", number(m)));
        format!("{word}  {:widest$}{clock}  {}: {measured}\n", e.variant, e.expected)
    };
    expectations.iter().map(line).collect()
}

/// A number of four digits, so that one beside its bound is not taken for it.
fn number(x: f64) -> String {
    match x.abs() {
        _ if x.fract() == 0.0 => format!("{x}"),
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 10.0 => format!("{x:.2}"),
        a if a >= 1.0 => format!("{x:.3}"),
        _ => format!("{x:.4}"),
    }
}
