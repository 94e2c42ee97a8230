//! Claims as expressions: `shaper.fifo.sum >= 1.07 * shaper.policer.sum and shaper.fifo.lost <= 0`.
//!
//! | | |
//! |---|---|
//! | claim | comparisons joined by `and` |
//! | comparison | sums joined by `<`, `<=`, `>`, `>=`, several in a row (`a < b < c`); or `a within 15 % of b` |
//! | sum | `+ - * /`, `( )`, numbers (`15 %` is 0.15), cells `table.row.column` |
//! | functions | `min(…)`, `max(…)`, `mean(…)`, `abs(…)`, `published(cell)` |
//!
//! A cell without a number leaves the claim undecided, and so does a division by zero.

mod parse;

use std::fmt;

/// Names a cell of a study by table, row and column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellName {
    pub table: String,
    pub row: String,
    pub column: String,
}

impl CellName {
    /// Parses `table.row.column`; `None` where the text is not of that form.
    pub fn parse(text: &str) -> Option<CellName> {
        let mut parts = text.split('.').map(str::to_string);
        let (table, row, column) = (parts.next()?, parts.next()?, parts.next()?);
        let whole = parts.next().is_none() && ![&table, &row, &column].into_iter().any(|p| p.is_empty());
        whole.then_some(CellName { table, row, column })
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.table, self.row, self.column)
    }
}

/// Looks up the numbers of cells.
pub trait CellNumbers {
    /// Returns the measured number.
    fn ours(&self, cell: &CellName) -> Option<f64>;
    /// Returns the published number.
    fn published(&self, cell: &CellName) -> Option<f64>;
}

/// A parsed claim: comparisons that must all hold.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimExpression {
    comparisons: Vec<ClaimComparison>,
}

/// Sums in a row, each with its relation to the one before.
#[derive(Clone, Debug, PartialEq)]
struct ClaimComparison {
    first: ClaimTerm,
    rest: Vec<(ClaimRelation, ClaimTerm)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ClaimRelation {
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// The distance is at most this share of the right side.
    Within(f64),
}

#[derive(Clone, Debug, PartialEq)]
enum ClaimTerm {
    Number(f64),
    Ours(CellName),
    Published(CellName),
    Both(ClaimSign, Box<[ClaimTerm; 2]>),
    Call(ClaimFunction, Vec<ClaimTerm>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimSign {
    Plus,
    Minus,
    Times,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimFunction {
    Min,
    Max,
    Mean,
    Abs,
}

/// Why a text is not a claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {}: {message}", .at + 1)]
pub struct ExpressionError {
    /// Index of the byte at which parsing failed.
    pub at: usize,
    /// What would be right.
    pub message: String,
}

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Proved {
    /// Whether all comparisons hold.
    pub holds: bool,
    /// Each comparison with its numbers, such as `19.3 >= 20.7`, and whether it holds.
    pub steps: Vec<(String, bool)>,
}

impl ClaimExpression {
    /// Parses a claim.
    ///
    /// # Errors
    /// Fails when the text is not a claim. The error gives the place and what would be right.
    pub fn parse(text: &str) -> Result<ClaimExpression, ExpressionError> {
        parse::claim(text)
    }

    /// Evaluates the claim. `Err` names the first cell without a number, or says that a division has no
    /// result.
    pub fn prove(&self, numbers: &dyn CellNumbers) -> Result<Proved, String> {
        let mut steps = Vec::new();
        for comparison in &self.comparisons {
            let mut left = comparison.first.value(numbers)?;
            for (relation, term) in &comparison.rest {
                let right = term.value(numbers)?;
                steps.push((relation.text(left, right), relation.holds(left, right)));
                left = right;
            }
        }
        Ok(Proved { holds: steps.iter().all(|(_, holds)| *holds), steps })
    }

    /// Returns the cells whose measured number is needed, then those whose published number is needed, each
    /// as often as it occurs.
    pub fn cells(&self) -> (Vec<&CellName>, Vec<&CellName>) {
        let mut found = (Vec::new(), Vec::new());
        for comparison in &self.comparisons {
            comparison.first.collect(&mut found);
            comparison.rest.iter().for_each(|(_, term)| term.collect(&mut found));
        }
        found
    }
}

impl ClaimRelation {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            ClaimRelation::Less => left < right,
            ClaimRelation::AtMost => left <= right,
            ClaimRelation::Greater => left > right,
            ClaimRelation::AtLeast => left >= right,
            ClaimRelation::Within(share) => (left - right).abs() <= share * right.abs(),
        }
    }

    fn text(self, left: f64, right: f64) -> String {
        let (left, right) = (print::three_digits(left), print::three_digits(right));
        match self {
            ClaimRelation::Less => format!("{left} < {right}"),
            ClaimRelation::AtMost => format!("{left} <= {right}"),
            ClaimRelation::Greater => format!("{left} > {right}"),
            ClaimRelation::AtLeast => format!("{left} >= {right}"),
            ClaimRelation::Within(share) => {
                format!("{left} within {} % of {right}", (1000.0 * share).round() / 10.0)
            }
        }
    }
}

impl ClaimTerm {
    fn value(&self, numbers: &dyn CellNumbers) -> Result<f64, String> {
        let value = match self {
            ClaimTerm::Number(x) => *x,
            ClaimTerm::Ours(cell) => {
                numbers.ours(cell).ok_or_else(|| format!("nothing was measured for {cell}"))?
            }
            ClaimTerm::Published(cell) => {
                numbers.published(cell).ok_or_else(|| format!("nothing is published for {cell}"))?
            }
            ClaimTerm::Both(sign, sides) => {
                let [left, right] = [sides[0].value(numbers)?, sides[1].value(numbers)?];
                match sign {
                    ClaimSign::Plus => left + right,
                    ClaimSign::Minus => left - right,
                    ClaimSign::Times => left * right,
                    ClaimSign::Over => left / right,
                }
            }
            ClaimTerm::Call(function, terms) => {
                let all: Vec<f64> = terms.iter().map(|t| t.value(numbers)).collect::<Result<_, _>>()?;
                match function {
                    ClaimFunction::Min => all.iter().copied().fold(f64::INFINITY, f64::min),
                    ClaimFunction::Max => all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    ClaimFunction::Mean => all.iter().sum::<f64>() / all.len() as f64,
                    ClaimFunction::Abs => all[0].abs(),
                }
            }
        };
        if value.is_finite() { Ok(value) } else { Err("a division has no result".into()) }
    }

    fn collect<'a>(&'a self, found: &mut (Vec<&'a CellName>, Vec<&'a CellName>)) {
        match self {
            ClaimTerm::Number(_) => {}
            ClaimTerm::Ours(cell) => found.0.push(cell),
            ClaimTerm::Published(cell) => found.1.push(cell),
            ClaimTerm::Both(_, sides) => sides.iter().for_each(|side| side.collect(found)),
            ClaimTerm::Call(_, terms) => terms.iter().for_each(|term| term.collect(found)),
        }
    }
}
