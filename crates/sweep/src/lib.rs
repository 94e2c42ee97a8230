//! A scenario over a grid of values: as many runs as there are combinations, on all cores or on many machines, into one
//! dataset; what is interrupted goes on. And the one grid that every path has: [`operating_curves`].
//!
//! 1. [`SweepGrid`] says what is varied; [`SweepGrid::check`] finds mistakes before anything runs.
//! 2. [`run_missing`] runs what [`PartStore`] does not hold yet, on this machine; where others do the work,
//!    [`missing`] names the points, [`run_batch`] runs some anywhere, and [`unpack`] and [`PartStore::keep`] take what it gives back.
//! 3. [`in_order`] and [`write_dataset`] make the dataset: the same bytes whoever ran which cell, and when.

mod axis;
mod batch;
mod cell;
mod dataset;
mod drive;
mod grid;
mod operating;
mod page;
mod shown;
mod store;
mod text;

pub use axis::Axis;
pub use batch::{BatchStopped, pack, run_batch, run_points, unpack};
pub use cell::{CellFigures, CellRow, SweptFlow};
pub use dataset::{AxisSummary, COLUMNS, SWEEP_SCHEMA, SweepColumn, SweepSummary, to_json, write_dataset};
pub use drive::{KnownRows, SweepError, SweepProgress, in_order, missing, run_missing};
pub use grid::{GridError, MOST_CELLS, SweepGrid};
pub use operating::{
    OPERATING_SCHEMA, OperatingCurve, OperatingCurves, OperatingPoint, operating_curves, operating_plots,
    operating_text,
};
pub use page::page;
pub use store::{PARTS, PartStore};
pub use text::text;
