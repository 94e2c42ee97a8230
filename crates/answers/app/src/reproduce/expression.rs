//! Claims as expressions: `shaper.fifo.sum >= 1.07 * shaper.policer.sum and shaper.fifo.lost <= 0`.
//!
//! | | |
//! |---|---|
//! | claim | comparisons joined by `and` |
//! | comparison | sums joined by `<`, `<=`, `>`, `>=`, several in a row (`a < b < c`); or `a within 15 % of b` |
//! | sum | `+ - * /`, `( )`, numbers (`15 %` is 0.15), cells `table.row.column` |
//! | functions | `min(…)`, `max(…)`, `mean(…)`, `abs(…)`, `published(cell)` |
//!
//! A cell without a number leaves the claim undecided. Division by zero is such a number.

mod parse;

use std::fmt;

/// A cell of a study: table, row, column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellName {
    /// The table.
    pub table: String,
    /// The row.
    pub row: String,
    /// The column.
    pub column: String,
}

impl CellName {
    /// Reads `table.row.column`.
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

/// Who knows the numbers of cells.
pub trait CellNumbers {
    /// What was measured.
    fn ours(&self, cell: &CellName) -> Option<f64>;
    /// What is published.
    fn published(&self, cell: &CellName) -> Option<f64>;
}

/// A claim, read.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimExpression {
    all: Vec<ClaimComparison>,
}

/// Sums in a row, each of which stands to the next as told.
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
    /// Not farther than this share of the right side.
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

/// Why a text is no claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {}: {message}", .at + 1)]
pub struct ExpressionError {
    /// The byte of the text where it goes wrong.
    pub at: usize,
    /// What would be right.
    pub message: String,
}

/// What came of a claim: each comparison with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Proved {
    /// Whether all hold.
    pub holds: bool,
    /// Each with its numbers: `19.3 >= 20.7`, and whether it holds.
    pub steps: Vec<(String, bool)>,
}

impl ClaimExpression {
    /// Reads a claim.
    ///
    /// # Errors
    /// It is none: where, and what would be right.
    pub fn parse(text: &str) -> Result<ClaimExpression, ExpressionError> {
        parse::claim(text)
    }

    /// Holds it against numbers; `Err` names the first cell that has none, or says that a division has no result.
    pub fn prove(&self, numbers: &dyn CellNumbers) -> Result<Proved, String> {
        let mut steps = Vec::new();
        for comparison in &self.all {
            let mut left = comparison.first.value(numbers)?;
            for (relation, term) in &comparison.rest {
                let right = term.value(numbers)?;
                steps.push((relation.told(left, right), relation.holds(left, right)));
                left = right;
            }
        }
        Ok(Proved { holds: steps.iter().all(|(_, holds)| *holds), steps })
    }

    /// Every cell whose number it wants: measured, then published, each as often as it stands there.
    pub fn cells(&self) -> (Vec<&CellName>, Vec<&CellName>) {
        let mut found = (Vec::new(), Vec::new());
        for comparison in &self.all {
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

    fn told(self, left: f64, right: f64) -> String {
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
