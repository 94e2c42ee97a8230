//! `--expect`: conditions on a run's result, for scripts that decide by the exit code. docs/run.md has the
//! grammar.
//!
//! `comparison` has the grammar, `read` checks the text against the scenario before anything runs, `measure`
//! checks the result.

pub(crate) mod comparison;
mod measure;
mod read;

pub use comparison::share;
pub use read::read;

use comparison::Relation;
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

/// Checks all conditions against the run. Returns one result for each condition and variant that it applies
/// to.
pub fn hold(expected: &[Expected], run: &Run) -> Vec<Expectation> {
    expected.iter().flat_map(|e| e.hold(run)).collect()
}

/// Returns one line for each checked condition: `pass  VARIANT  EXPECTED: MEASURED`, without the variant
/// where there are none.
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
        let variant = if widest > 0 { format!("  {:widest$}", e.variant) } else { String::new() };
        format!("{word}{variant}{clock}  {}: {measured}\n", e.expected)
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
