//! Runs an experiment: every variant of a scenario, on each clock, with the requested number of repeats, on
//! all cores. The results stay in memory. Nothing is printed, and only the caller's [`CaptureSink`] writes
//! files.
//!
//! How to use this crate:
//!
//! 1. [`choose`] selects variants of the [`scenario::Experiment`], if not all are wanted.
//! 2. [`Order`] sets the clocks, the number of repeats, their seeds and the number of threads.
//! 3. [`run`] runs everything. [`Hooks`] can observe or stop the progress, take captures, keep the outcome of
//!    each run as it ends, and supply runs that are already finished.
//! 4. [`Outcomes::is_complete`] tells whether anything failed. [`Outcomes::run`] builds the summary for
//!    tables, reports and JSON; [`Outcomes::variants`] has the time series of each repeat.
//!
//! Finished runs are kept if another run fails or the caller stops the experiment. A run is identified by its
//! [`RunJob`]. [`simulate`] runs a single simulation in virtual time; [`BatchRunner`] runs many of which only
//! the results are wanted. Runs on the kernel follow each other, since two in real time would disturb each
//! other. In virtual time as many runs execute in parallel as there are threads; the results do not depend on
//! that number.
//!
//! Builds for wasm32: there the runs follow each other on the caller's thread, and there is no kernel.

mod batch;
mod failure;
pub mod limitations;
mod one;
mod order;
mod outcomes;
mod parallel;
mod progress;
mod run;
mod warned;

pub use batch::{BatchRunner, Unfinished};
pub use failure::{FailedRun, Failure};
pub use one::{CaptureSink, CaptureTap, Captured, ControlMaker, Shown, simulate};
pub use order::{Order, RunJob, UnknownVariant, choose, known_variants};
pub use outcomes::{Notice, Outcomes, VariantOutcomes};
pub use parallel::cores;
pub use progress::Progress;
pub use run::{FinishedRun, Hooks, Watcher, run};
pub use warned::warned;
