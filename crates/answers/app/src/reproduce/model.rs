//! A reproduction, as `--json` prints it.

use result::{Clock, TrustKind};
use serde::{Deserialize, Serialize};

/// The schema's name and version, the first key of the object.
pub const REPRODUCTION_SCHEMA: &str = "longfat-reproduction/1";

/// Published numbers and ours, and the verdict on each claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// Name and version of this format.
    #[cfg_attr(test, schemars(extend("const" = REPRODUCTION_SCHEMA)))]
    pub schema: String,
    /// The clocks, in order. Cells have a number, and claims a verdict, for each.
    pub clocks: Vec<Clock>,
    /// Number of claims per verdict, for each clock.
    pub counts: Vec<VerdictCounts>,
    /// The studies.
    pub studies: Vec<ReproducedStudy>,
}

/// Number of claims per verdict on one clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerdictCounts {
    /// The clock.
    pub clock: Clock,
    /// Claims that hold.
    pub holds: usize,
    /// Claims that hold in direction only.
    pub holds_in_direction: usize,
    /// Claims that do not hold.
    pub does_not_hold: usize,
    /// Claims that could not be judged.
    pub not_judged: usize,
}

/// A published study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedStudy {
    /// The study's name in longfat.
    pub name: String,
    /// The study's title.
    pub title: String,
    /// Where and when it was published.
    pub source: String,
    /// The study's set-up.
    pub about: String,
    /// The clocks that the study ran on, out of the reproduction's.
    #[serde(default)]
    pub clocks: Vec<Clock>,
    /// Unknowns that were fitted, each on one published number.
    pub fitted: Vec<ReproducedFit>,
    /// Tables with the published numbers and ours.
    pub tables: Vec<ReproducedTable>,
    /// The study's claims and their verdicts.
    pub claims: Vec<JudgedClaim>,
    /// Parts that could not be run, and why.
    pub unrun: Vec<UnrunPart>,
}

/// An unknown that was fitted on one published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedFit {
    /// What the study does not state.
    pub unknown: String,
    /// The fitted value.
    pub value: String,
    /// The cell it was fitted on, `table.row.column`, or the name of a claim, which is then not judged.
    pub on: String,
}

/// A part that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnrunPart {
    /// `table.row`, followed by the clock if the reason applies to one clock only.
    pub what: String,
    /// Why it was not run.
    pub why: String,
}

/// A table of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedTable {
    /// The table's name.
    pub name: String,
    /// The table's title.
    pub title: String,
    /// Where the study has it, such as a table or figure.
    pub place: String,
    /// A remark on the table.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// The compared quantities.
    pub columns: Vec<ReproducedColumn>,
    /// The runs.
    pub rows: Vec<ReproducedRow>,
    /// Plots over time.
    pub plots: Vec<ReproducedPlot>,
    /// Plots of one column against another.
    pub curves: Vec<ReproducedCurve>,
}

/// A plot of a column against another, joined in the order of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedCurve {
    /// The plot's title.
    pub title: String,
    /// The column of the horizontal axis.
    pub x: String,
    /// The column of the vertical axis.
    pub y: String,
    /// The row whose point is marked, and the mark's label.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<[String; 2]>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedColumn {
    /// The column's name.
    pub name: String,
    /// The column's title.
    pub title: String,
    /// Unit of the column's numbers; empty for counts and indexes.
    pub unit: String,
}

/// A row of a table: one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedRow {
    /// The row's name.
    pub name: String,
    /// The row's title.
    pub title: String,
    /// The scenario that was run.
    pub scenario: String,
    /// The scenario's variant; absent for its first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variant: Option<String>,
    /// Overrides of the scenario, as `--set` takes them.
    pub set: Vec<String>,
    /// One cell for each column.
    pub cells: Vec<ReproducedCell>,
}

/// A published number and ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedCell {
    /// The published number; absent where the study prints none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<f64>,
    /// The smallest and the largest published number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub between: Option<[f64; 2]>,
    /// The unknown that was fitted on this cell, which therefore tests nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fitted: Option<String>,
    /// The measurement on each clock; null where there is none.
    pub ours: Vec<Option<CellValue>>,
}

/// A measurement of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CellValue {
    /// Mean of the repeats.
    pub mean: f64,
    /// Half the 95 % interval of the mean; 0 for a single run.
    pub ci95: f64,
    /// The measured number of each repeat.
    pub values: Vec<f64>,
    /// Reasons why a measurement on the kernel is not to be trusted.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub doubts: Vec<TrustKind>,
}

/// A claim of a study and its verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JudgedClaim {
    /// The claim's name.
    pub name: String,
    /// The claim in our words.
    pub says: String,
    /// Where the study makes the claim.
    pub place: String,
    /// The expression under which it holds; empty where it cannot be judged.
    pub holds_if: String,
    /// The expression under which it holds in direction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub in_direction_if: Option<String>,
    /// Why it cannot be judged here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cannot: Option<String>,
    /// The verdict on each clock; empty where it cannot be judged.
    pub judged: Vec<ClockVerdict>,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ClaimVerdict {
    /// The claim holds as stated, within its tolerance.
    #[serde(rename = "holds")]
    Holds,
    /// The effect has the same sign but is smaller.
    #[serde(rename = "holds in direction")]
    HoldsInDirection,
    /// The claim does not hold.
    #[serde(rename = "does not hold")]
    DoesNotHold,
}

impl ReproducedColumn {
    /// Returns the title with its unit.
    pub(crate) fn with_unit(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{}, {}", self.title, self.unit) }
    }
}

impl ClaimVerdict {
    /// Returns the name as JSON spells it.
    pub fn name(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::HoldsInDirection => "holds in direction",
            ClaimVerdict::DoesNotHold => "does not hold",
        }
    }
}

/// The verdict on one clock, judged on the means of the repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockVerdict {
    /// The clock.
    pub clock: Clock,
    /// The verdict; null where a number is missing, which `reason` names.
    pub verdict: Option<ClaimVerdict>,
    /// The claim's comparisons with our numbers.
    pub numbers: Vec<String>,
    /// Number of repeats that, judged alone, lead to the same verdict.
    pub in_repeats: usize,
    /// Number of repeats that can be judged alone.
    pub repeats: usize,
    /// The comparisons that do not hold and the explanation; absent where the claim holds as stated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// A series that shows why the claim does not hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<ClaimTrace>,
}

impl ClockVerdict {
    /// Returns the verdict for people.
    pub(crate) fn name(&self) -> &'static str {
        self.verdict.map_or("not judged", |v| v.name())
    }

    /// Returns the reason, or the comparisons with our numbers where there is none.
    pub(crate) fn explanation(&self) -> String {
        self.reason.clone().unwrap_or_else(|| self.numbers.join(", "))
    }
}

/// A time series of the first repeat, thinned to a few hundred points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimTrace {
    /// `table.row`.
    pub row: String,
    /// The clock.
    pub clock: Clock,
    /// The flow.
    pub flow: String,
    /// The series: `goodput`, `cwnd`, `inflight`, `rtt` or `btl_bw`.
    pub column: String,
    /// Unit of the values.
    pub unit: String,
    /// Seconds since the run began.
    pub time_s: Vec<f64>,
    /// The values; null where there is none.
    pub values: Vec<Option<f64>>,
}

/// A plot over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedPlot {
    /// The plot's title.
    pub title: String,
    /// One series for each flow and clock.
    pub series: Vec<ClaimTrace>,
}
