//! A scenario over a grid of values: as many runs as there are combinations, on all cores or on many machines, into one
//! dataset; what is interrupted goes on. And the one grid that every path has: [`operating_curves`]; and many captures,
//! diagnosed in the same way ([`CaptureSet`]).
//!
//! 1. [`SweepGrid`] says what is varied; [`SweepGrid::check`] finds mistakes before anything runs.
//! 2. [`SweepFolder`] holds what is there already. [`SweepFolder::run`] runs the rest on this machine; where others do the
//!    work, [`SweepFolder::missing`] names the points, [`run_batch`] runs some anywhere, and [`unpack`] and
//!    [`SweepFolder::keep`] take what it gives back.
//! 3. [`SweepFolder::finish`] makes the dataset: the same bytes whoever ran which cell, and when.

mod axis;
mod batch;
mod captures;
mod cell;
mod columns;
mod dataset;
mod drive;
mod folder;
mod grid;
mod guard;
mod operating;
mod page;
mod shown;
mod store;
mod text;

pub use axis::Axis;
pub use batch::{BatchStopped, PartRow, lost, pack, run_batch, run_points, unpack};
pub use captures::{
    CaptureFigures, CaptureFolder, CaptureRow, CaptureSet, DIAGNOSES_SCHEMA, StoredCapture, diagnose_capture,
};
pub use cell::{CellFigures, CellRow, SweptFlow};
pub use columns::{COLUMNS, SweepColumn};
pub use dataset::{AxisSummary, SWEEP_SCHEMA, SweepSummary, to_json};
pub use drive::{KnownRows, SweepError, SweepProgress, in_order, missing, run_missing};
pub use folder::SweepFolder;
pub use grid::{GridError, MOST_CELLS, SweepGrid};
pub use operating::{
    OPERATING_SCHEMA, OperatingCurve, OperatingCurves, OperatingPoint, operating_curves, operating_plots,
    operating_text,
};
pub use page::page;
pub use shown::{ShownCell, ShownSweep};
pub use store::{PARTS, PartStore};
pub use text::text;
