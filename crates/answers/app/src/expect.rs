//! `--expect`: conditions on a run's result, for scripts that decide by the exit code. docs/run.md has the
//! grammar.
//!
//! `read` checks the text against the scenario before anything runs; `measure` checks the result.

mod measure;
mod read;

pub use read::{read, share};

use result::{Expectation, Measure, Run};

/// A condition on the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The condition as the user wrote it.
    text: String,
    /// The variants that the condition applies to.
    variants: Vec<String>,
    measure: Measure,
    relation: Relation,
    /// The bound, in the measure's unit.
    bound: f64,
}

/// Relation between the measured value and the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Relation {
    /// The longer signs come first, so that `>=` is not read as `>`.
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
}

/// Checks all conditions against the run. Returns one result for each condition and variant that it applies
/// to.
pub fn hold(expected: &[Expected], run: &Run) -> Vec<Expectation> {
    expected.iter().flat_map(|e| e.hold(run)).collect()
}

/// Returns one line for each checked condition: `pass  VARIANT  EXPECTED: MEASURED`.
pub fn lines(expectations: &[Expectation]) -> String {
    let widest = expectations.iter().map(|e| e.variant.chars().count()).max().unwrap_or(0);
    let both = expectations.iter().any(|e| e.clock != expectations[0].clock);
    let line = |e: &Expectation| {
        let word = if e.met { "pass" } else { "FAIL" };
        let clock = if both { format!("  {:6}", e.clock.name()) } else { String::new() };
        let unit = if e.unit.is_empty() { String::new() } else { format!(" {}", e.unit) };
        let measured = match e.measured {
            Some(m) if m.is_infinite() => "did not end in time".into(),
            Some(m) => format!("{}{unit}", number(m)),
            None => "nothing measured".into(),
        };
        format!("{word}  {:widest$}{clock}  {}: {measured}\n", e.variant, e.expected)
    };
    expectations.iter().map(line).collect()
}

/// Formats a number with four digits, so that a value close to its bound does not look equal to it.
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
