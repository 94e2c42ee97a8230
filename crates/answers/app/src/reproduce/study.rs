//! A study as its file describes it. Lists keep the file's order; tables, rows, columns and claims refer to
//! each other by name.

use crate::reproduce::expression::{CellName, ClaimExpression};
use crate::reproduce::measure::StudyMeasure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A published study: its source, its tables and its claims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The file's name without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// The study's title.
    pub title: String,
    /// Where and when the study was published.
    pub source: String,
    /// The study's set-up in a few sentences.
    pub about: String,
    /// Unknowns that the study leaves open and that were fitted here, each on one published number.
    #[serde(default)]
    pub fitted: Vec<StudyFit>,
    /// The study's tables of measurements.
    #[serde(default)]
    pub tables: Vec<StudyTable>,
    /// The study's conclusions.
    #[serde(default)]
    pub claims: Vec<StudyClaim>,
}

/// An unknown of the set-up that was fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFit {
    /// What the study does not state.
    pub unknown: String,
    /// The fitted value.
    pub value: String,
    /// The cell it was fitted on, `table.row.column`; or the name of a claim without a number, which is then
    /// not judged.
    pub on: String,
    /// Further cells in which the study reports the same run.
    #[serde(default)]
    pub also: Vec<String>,
}

impl StudyFit {
    /// Whether the unknown was fitted on this cell.
    pub fn is_of(&self, cell: &str) -> bool {
        self.on == cell || self.also.iter().any(|other| other == cell)
    }
}

/// A table: rows are runs, columns are the compared quantities.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyTable {
    /// Name, unique in the study: letters, digits, `_`.
    pub name: String,
    /// The table's title.
    pub title: String,
    /// Where the study has it, such as a table or figure.
    pub place: String,
    /// The scenario of the rows that do not name their own.
    #[serde(default)]
    pub scenario: Option<String>,
    /// Overrides of all rows, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Number of simulated runs of each row.
    #[serde(default = "default_repeats")]
    pub repeat: u32,
    /// Number of runs of each row on the kernel.
    #[serde(default = "default_repeats")]
    pub kernel_repeat: u32,
    /// The compared quantities.
    pub columns: Vec<StudyColumn>,
    /// The runs.
    pub rows: Vec<StudyRow>,
    /// Plots over time.
    #[serde(default)]
    pub plots: Vec<StudyPlot>,
    /// Plots of one column against another, a point for each row.
    #[serde(default)]
    pub curves: Vec<StudyCurve>,
    /// A remark on the table.
    #[serde(default)]
    pub note: Option<String>,
}

/// A plot of a column against another, joined in the order of the rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyCurve {
    /// The plot's title.
    pub title: String,
    /// The column of the horizontal axis.
    pub x: String,
    /// The column of the vertical axis.
    pub y: String,
    /// The row whose point is marked, and the mark's label.
    #[serde(default)]
    pub mark: Option<[String; 2]>,
}

fn default_repeats() -> u32 {
    1
}

/// A quantity that a table compares.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyColumn {
    /// Name, unique in the table: letters, digits, `_`.
    pub name: String,
    /// The column's title.
    pub title: String,
    /// The measure of the result; a row may use another one.
    pub measure: String,
    /// Unit of the column, if it is not the measure's; `scale` converts to it.
    #[serde(default)]
    pub unit: Option<String>,
    /// Factor that converts the measure to the column's unit.
    #[serde(default = "default_scale")]
    pub scale: f64,
}

fn default_scale() -> f64 {
    1.0
}

/// A run and the numbers published for it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyRow {
    /// Name, unique in the table: letters, digits, `_`.
    pub name: String,
    /// The row's title.
    pub title: String,
    /// The scenario, if it is not the table's.
    #[serde(default)]
    pub scenario: Option<String>,
    /// The scenario's variant; by default its first.
    #[serde(default)]
    pub variant: Option<String>,
    /// Overrides that are applied after the table's.
    #[serde(default)]
    pub set: Vec<String>,
    /// Measures that replace those of the columns, by column.
    #[serde(default)]
    pub measure: BTreeMap<String, String>,
    /// The published numbers in the columns' units, by column.
    #[serde(default)]
    pub published: BTreeMap<String, f64>,
    /// The smallest and the largest published number, by column.
    #[serde(default)]
    pub between: BTreeMap<String, [f64; 2]>,
    /// Why the row cannot be run here. Its published numbers are then shown alone.
    #[serde(default)]
    pub cannot: Option<String>,
    /// Why the row is not run on the kernel.
    #[serde(default)]
    pub not_on_kernel: Option<String>,
}

/// A plot over time of a row's first repeat.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyPlot {
    /// The plot's title.
    pub title: String,
    /// The row's name.
    pub row: String,
    /// The flow; by default all flows.
    #[serde(default)]
    pub flow: Option<String>,
    /// The series: `goodput`, `cwnd`, `inflight`, `rtt` or `btl_bw`.
    pub column: String,
}

/// A claim of the study, as an expression over its cells.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyClaim {
    /// Name, unique in the study.
    pub name: String,
    /// The claim in our words.
    pub says: String,
    /// Where the study makes the claim.
    pub place: String,
    /// The expression under which the claim holds.
    #[serde(default)]
    pub holds: String,
    /// The expression under which the claim holds in direction.
    #[serde(default)]
    pub direction: Option<String>,
    /// Why the claim does not hold, where it does not.
    #[serde(default)]
    pub because: Option<String>,
    /// The series that shows why the claim does not hold.
    #[serde(default)]
    pub trace: Option<ClaimTracePlace>,
    /// Why the claim cannot be judged here.
    #[serde(default)]
    pub cannot: Option<String>,
}

/// Names a series of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimTracePlace {
    /// `table.row`.
    pub row: String,
    /// The flow's name.
    pub flow: String,
    /// The series, as in [`StudyPlot::column`].
    pub column: String,
}

/// Selects a part of the studies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this table, and the claims over it alone; `None` for everything.
    pub table: Option<String>,
}

impl Selection {
    /// Whether the selection includes this table.
    pub fn has(&self, table: &str) -> bool {
        self.table.as_deref().is_none_or(|wanted| wanted == table)
    }
}

impl Study {
    /// Returns the table of this name.
    pub fn table(&self, name: &str) -> Option<&StudyTable> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// Returns the number published for a cell.
    pub fn published(&self, cell: &CellName) -> Option<f64> {
        self.table(&cell.table)?.row(&cell.row)?.published.get(&cell.column).copied()
    }
}

impl StudyTable {
    /// Returns the scenario that a row runs; `None` where neither row nor table names one.
    pub fn scenario_of<'a>(&'a self, row: &'a StudyRow) -> Option<&'a str> {
        row.scenario.as_deref().or(self.scenario.as_deref())
    }

    /// Returns a row's overrides: the table's, then its own.
    pub fn overrides_of(&self, row: &StudyRow) -> Vec<String> {
        self.set.iter().chain(&row.set).cloned().collect()
    }

    /// Returns the row of this name.
    pub fn row(&self, name: &str) -> Option<&StudyRow> {
        self.rows.iter().find(|r| r.name == name)
    }

    /// Returns the column of this name.
    pub fn column(&self, name: &str) -> Option<&StudyColumn> {
        self.columns.iter().find(|c| c.name == name)
    }
}

impl StudyRow {
    /// Returns the measure of this row in this column.
    ///
    /// # Errors
    /// Fails when the text is not a measure. The error says what would be right.
    pub fn measured(&self, column: &StudyColumn) -> Result<StudyMeasure, String> {
        StudyMeasure::parse(self.measure.get(&column.name).unwrap_or(&column.measure))
    }
}

impl StudyClaim {
    /// Returns the expressions for "holds" and "holds in direction". They were checked when the study was
    /// parsed; `None` stands for one that is missing or cannot be parsed.
    pub fn expressions(&self) -> (Option<ClaimExpression>, Option<ClaimExpression>) {
        let read = |text: &str| ClaimExpression::parse(text).ok();
        (read(&self.holds), self.direction.as_deref().and_then(read))
    }
}
