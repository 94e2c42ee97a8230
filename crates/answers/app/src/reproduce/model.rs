//! What was reproduced, as `--json` prints it.

use result::{Clock, TrustKind};
use serde::{Deserialize, Serialize};

/// The schema's name and version, first key of the object.
pub const REPRODUCTION_SCHEMA: &str = "longfat-reproduction/1";

/// Published numbers beside ours, and what became of each claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// What this is, and its version.
    #[cfg_attr(test, schemars(extend("const" = REPRODUCTION_SCHEMA)))]
    pub schema: String,
    /// The clocks, in order: a row has a number for each, a claim a verdict.
    pub clocks: Vec<Clock>,
    /// How many claims came to what, a clock each.
    pub counts: Vec<VerdictCounts>,
    /// The studies.
    pub studies: Vec<ReproducedStudy>,
}

/// How many claims came to what on one clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerdictCounts {
    /// The clock.
    pub clock: Clock,
    /// Claims that hold.
    pub holds: usize,
    /// Claims that hold in direction.
    pub holds_in_direction: usize,
    /// Claims that do not.
    pub does_not_hold: usize,
    /// Claims that could not be judged.
    pub not_judged: usize,
}

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedStudy {
    /// Its name here.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Where it was published, and when.
    pub source: String,
    /// Its set-up.
    pub about: String,
    /// The clocks that it was run on, of those of the whole.
    #[serde(default)]
    pub clocks: Vec<Clock>,
    /// What was fitted, each on one number.
    pub fitted: Vec<ReproducedFit>,
    /// What it measured, and what we did.
    pub tables: Vec<ReproducedTable>,
    /// What it says.
    pub claims: Vec<JudgedClaim>,
    /// What could not be run, and why.
    pub unrun: Vec<UnrunPart>,
}

/// An unknown that was fitted on one number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedFit {
    /// What the study does not tell.
    pub unknown: String,
    /// What it was set to.
    pub value: String,
    /// The cell it was fitted on, `table.row.column`; or the name of a claim, which is not judged then.
    pub on: String,
}

/// What was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnrunPart {
    /// `table.row`, and the clock where it is about one.
    pub what: String,
    /// Why.
    pub why: String,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedTable {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where the study has it.
    pub place: String,
    /// What is to be known of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// What is compared.
    pub columns: Vec<ReproducedColumn>,
    /// What was run.
    pub rows: Vec<ReproducedRow>,
    /// What is drawn over time.
    pub plots: Vec<ReproducedPlot>,
    /// Columns that are drawn against each other.
    pub curves: Vec<ReproducedCurve>,
}

/// A column against another, joined in the order of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedCurve {
    /// What it shows.
    pub title: String,
    /// The column of the horizontal axis.
    pub x: String,
    /// That of the vertical one.
    pub y: String,
    /// The row whose point is marked, and what it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<[String; 2]>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedColumn {
    /// Its name.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// What its numbers are in; empty for counts and indexes.
    pub unit: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedRow {
    /// Its name.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// The scenario that was run.
    pub scenario: String,
    /// Its variant; absent: the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variant: Option<String>,
    /// What was overridden, as `--set` takes it.
    pub set: Vec<String>,
    /// A cell for each column.
    pub cells: Vec<ReproducedCell>,
}

/// A number of a study, and ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedCell {
    /// What is published; absent where the study prints none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<f64>,
    /// The least and the largest that is published.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub between: Option<[f64; 2]>,
    /// The unknown that was fitted on it; then it predicts nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fitted: Option<String>,
    /// What was measured, a clock each; null where nothing was.
    pub ours: Vec<Option<CellValue>>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CellValue {
    /// The mean of the repeats.
    pub mean: f64,
    /// Half the 95 % interval of the mean; 0 of a single run.
    pub ci95: f64,
    /// What each repeat yielded.
    pub values: Vec<f64>,
    /// Why a measurement on the kernel is not to be trusted.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub doubts: Vec<TrustKind>,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JudgedClaim {
    /// Its name.
    pub name: String,
    /// What it says, in our words.
    pub says: String,
    /// Where the study says so.
    pub place: String,
    /// When it holds; empty where it cannot be judged.
    pub holds_if: String,
    /// When it holds in direction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub in_direction_if: Option<String>,
    /// Why it cannot be judged here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cannot: Option<String>,
    /// What came of it, a clock each; empty where it cannot be judged.
    pub judged: Vec<ClockVerdict>,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ClaimVerdict {
    /// As it says, within its tolerance.
    #[serde(rename = "holds")]
    Holds,
    /// The same way, not as far.
    #[serde(rename = "holds in direction")]
    HoldsInDirection,
    /// Neither.
    #[serde(rename = "does not hold")]
    DoesNotHold,
}

impl ReproducedColumn {
    /// Its title and its unit.
    pub(crate) fn with_unit(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{}, {}", self.title, self.unit) }
    }
}

impl ClaimVerdict {
    /// As JSON spells it.
    pub fn name(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::HoldsInDirection => "holds in direction",
            ClaimVerdict::DoesNotHold => "does not hold",
        }
    }
}

/// A verdict on one clock, on the means over the repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockVerdict {
    /// The clock.
    pub clock: Clock,
    /// What came of it; null where a number is missing, and `reason` says which.
    pub verdict: Option<ClaimVerdict>,
    /// The claim's comparisons with our numbers.
    pub numbers: Vec<String>,
    /// In how many of the repeats, each taken alone, the verdict is the same.
    pub in_repeats: usize,
    /// How many repeats that is of.
    pub repeats: usize,
    /// Which comparisons do not hold, and why, where it does not hold as it says.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// What shows it, where it does not hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<ClaimTrace>,
}

impl ClockVerdict {
    /// The verdict for people.
    pub(crate) fn name(&self) -> &'static str {
        self.verdict.map_or("not judged", |v| v.name())
    }

    /// What says so: the reason, or the comparisons with our numbers.
    pub(crate) fn told(&self) -> String {
        self.reason.clone().unwrap_or_else(|| self.numbers.join(", "))
    }
}

/// A series over time of the first repeat, thinned to a few hundred points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimTrace {
    /// `table.row`.
    pub row: String,
    /// The clock.
    pub clock: Clock,
    /// The flow.
    pub flow: String,
    /// `goodput`, `cwnd`, `inflight`, `rtt` or `btl_bw`.
    pub column: String,
    /// What its numbers are in.
    pub unit: String,
    /// Seconds since the run began.
    pub time_s: Vec<f64>,
    /// The numbers; null where there is none.
    pub values: Vec<Option<f64>>,
}

/// A plot over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReproducedPlot {
    /// What it shows.
    pub title: String,
    /// A series each flow and clock.
    pub series: Vec<ClaimTrace>,
}
