//! A study as its file has it. Lists keep the order of the file; names join what belongs together.

use crate::reproduce::expression::{CellName, ClaimExpression};
use crate::reproduce::measure::StudyMeasure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A published study: where it is from, its tables and claims, what of it cannot be run here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The file's name without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Where it was published, and when.
    pub source: String,
    /// Its set-up in a few sentences.
    pub about: String,
    /// What it leaves open and was fitted here, each on one published number.
    #[serde(default)]
    pub fitted: Vec<StudyFit>,
    /// What it measured.
    #[serde(default)]
    pub tables: Vec<StudyTable>,
    /// What it concludes.
    #[serde(default)]
    pub claims: Vec<StudyClaim>,
}

/// An unknown of a set-up that was fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFit {
    /// What the study does not tell.
    pub unknown: String,
    /// What it was set to.
    pub value: String,
    /// The cell it was fitted on, `table.row.column`; or the name of a claim without a number, which is not judged then.
    pub on: String,
    /// Other cells that the study has of the same run.
    #[serde(default)]
    pub also: Vec<String>,
}

impl StudyFit {
    /// Whether the cell's number is what it was fitted on.
    pub fn is_of(&self, cell: &str) -> bool {
        self.on == cell || self.also.iter().any(|other| other == cell)
    }
}

/// A table: rows are runs, columns what is compared.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyTable {
    /// Unique in the study: letters, digits, `_`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where the study has it.
    pub place: String,
    /// The scenario of its rows, unless they name another.
    #[serde(default)]
    pub scenario: Option<String>,
    /// Overrides of all rows, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// How often each row runs in the simulator.
    #[serde(default = "once")]
    pub repeat: u32,
    /// How often each row runs on the kernel.
    #[serde(default = "once")]
    pub kernel_repeat: u32,
    /// What is compared.
    pub columns: Vec<StudyColumn>,
    /// What is run.
    pub rows: Vec<StudyRow>,
    /// What of it is drawn over time.
    #[serde(default)]
    pub plots: Vec<StudyPlot>,
    /// Columns drawn against each other, a point a row.
    #[serde(default)]
    pub curves: Vec<StudyCurve>,
    /// What is to be known of it.
    #[serde(default)]
    pub note: Option<String>,
}

/// A column against another, joined in the order of the rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyCurve {
    /// What it shows.
    pub title: String,
    /// The column of the horizontal axis.
    pub x: String,
    /// That of the vertical one.
    pub y: String,
    /// The row whose point is marked, and what it is.
    #[serde(default)]
    pub mark: Option<[String; 2]>,
}

fn once() -> u32 {
    1
}

/// What a table compares.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyColumn {
    /// Unique in the table: letters, digits, `_`.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// What of a result it is; rows may have another.
    pub measure: String,
    /// Another unit than the measure's; `scale` makes it of that.
    #[serde(default)]
    pub unit: Option<String>,
    /// What a measured number is multiplied by.
    #[serde(default = "unscaled")]
    pub scale: f64,
}

fn unscaled() -> f64 {
    1.0
}

/// A run and what is published of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyRow {
    /// Unique in the table: letters, digits, `_`.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Another scenario than the table's.
    #[serde(default)]
    pub scenario: Option<String>,
    /// The scenario's variant; default: its first.
    #[serde(default)]
    pub variant: Option<String>,
    /// Overrides after the table's.
    #[serde(default)]
    pub set: Vec<String>,
    /// Other measures than the columns', by column.
    #[serde(default)]
    pub measure: BTreeMap<String, String>,
    /// What is published, by column, in the column's unit.
    #[serde(default)]
    pub published: BTreeMap<String, f64>,
    /// The least and the largest that is published, by column.
    #[serde(default)]
    pub between: BTreeMap<String, [f64; 2]>,
    /// Why it cannot be run here; what is published stands alone then.
    #[serde(default)]
    pub cannot: Option<String>,
    /// Why it is not run on the kernel.
    #[serde(default)]
    pub not_on_kernel: Option<String>,
}

/// A plot over time of a row's first repeat.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyPlot {
    /// What it shows.
    pub title: String,
    /// The row.
    pub row: String,
    /// The flow; default: all.
    #[serde(default)]
    pub flow: Option<String>,
    /// What of it: `goodput`, `cwnd`, `inflight`, `rtt` or `btl_bw`.
    pub column: String,
}

/// Something that a study says, as an expression over its cells.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyClaim {
    /// Unique in the study.
    pub name: String,
    /// What it says, in our words.
    pub says: String,
    /// Where it says so.
    pub place: String,
    /// When it holds.
    #[serde(default)]
    pub holds: String,
    /// When it holds in direction.
    #[serde(default)]
    pub direction: Option<String>,
    /// Why it does not hold, where it does not.
    #[serde(default)]
    pub because: Option<String>,
    /// What shows that.
    #[serde(default)]
    pub trace: Option<ClaimTracePlace>,
    /// Why it cannot be judged here.
    #[serde(default)]
    pub cannot: Option<String>,
}

/// Which series shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimTracePlace {
    /// `table.row`.
    pub row: String,
    /// The flow.
    pub flow: String,
    /// As in [`StudyPlot::column`].
    pub column: String,
}

/// What of the studies is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this table, and the claims over it alone.
    pub table: Option<String>,
}

impl Selection {
    /// Whether this table is wanted.
    pub fn has(&self, table: &str) -> bool {
        self.table.as_deref().is_none_or(|wanted| wanted == table)
    }
}

impl Study {
    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&StudyTable> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// What is published of a cell.
    pub fn published(&self, cell: &CellName) -> Option<f64> {
        self.table(&cell.table)?.row(&cell.row)?.published.get(&cell.column).copied()
    }
}

impl StudyTable {
    /// The scenario that a row runs; `None` where neither names one.
    pub fn scenario_of<'a>(&'a self, row: &'a StudyRow) -> Option<&'a str> {
        row.scenario.as_deref().or(self.scenario.as_deref())
    }

    /// A row's overrides: the table's, then its own.
    pub fn overrides_of(&self, row: &StudyRow) -> Vec<String> {
        self.set.iter().chain(&row.set).cloned().collect()
    }

    /// The row of this name.
    pub fn row(&self, name: &str) -> Option<&StudyRow> {
        self.rows.iter().find(|r| r.name == name)
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&StudyColumn> {
        self.columns.iter().find(|c| c.name == name)
    }
}

impl StudyRow {
    /// What is measured of this row in this column.
    ///
    /// # Errors
    /// It is no measure; says what would be right.
    pub fn measured(&self, column: &StudyColumn) -> Result<StudyMeasure, String> {
        StudyMeasure::parse(self.measure.get(&column.name).unwrap_or(&column.measure))
    }
}

impl StudyClaim {
    /// When it holds, and when in direction. Both were read when the study was: an expression that cannot be is empty.
    pub fn expressions(&self) -> (Option<ClaimExpression>, Option<ClaimExpression>) {
        let read = |text: &str| ClaimExpression::parse(text).ok();
        (read(&self.holds), self.direction.as_deref().and_then(read))
    }
}
