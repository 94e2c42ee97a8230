//! Runs a scenario over a grid of values, a run for each combination, on all cores or on many machines, into
//! one dataset; an interrupted sweep is resumed. Also measures a path's operating points
//! ([`operating_curves`]) and diagnoses many captures into one dataset ([`CaptureSet`]).
//!
//! 1. [`SweepGrid`] describes what is varied; [`SweepGrid::check`] finds mistakes before anything runs.
//! 2. [`SweepFolder`] holds the finished rows. [`SweepFolder::run`] runs the rest on this machine. To run it
//!    elsewhere, [`SweepFolder::missing`] returns the points, [`run_batch`] runs some of them anywhere, and
//!    [`unpack`] and [`SweepFolder::keep`] take its bytes back.
//! 3. [`SweepFolder::finish`] writes the dataset: its bytes do not depend on where and in which order the
//!    cells ran.

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
pub use grid::{GridError, MAX_CELLS, SweepGrid};
pub use operating::{
    OPERATING_SCHEMA, OperatingCurve, OperatingCurves, OperatingPoint, operating_curves, operating_plots,
    operating_text,
};
pub use page::page;
pub use shown::{ShownCell, ShownSweep};
pub use store::{PARTS, PartStore};
pub use text::text;
