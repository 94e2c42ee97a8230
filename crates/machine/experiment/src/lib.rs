//! Runs an experiment: every variant of a scenario, on each clock, as often as asked, on all cores. What comes of it
//! stays in memory; nothing is printed, and no file is written but by who is given as [`CaptureSink`].
//!
//! What to call, in this order:
//!
//! 1. [`choose`], where not all variants of the [`scenario::Experiment`] are wanted;
//! 2. [`Order`]: the clocks, how many repeats, their seeds, how many threads;
//! 3. [`run`], with [`Hooks`]: who is told how far it is and may end it, who takes captures, who keeps each run's outcome
//!    as it ends, and which runs are there already;
//! 4. of the [`Outcomes`]: [`Outcomes::is_complete`] or what failed, then [`Outcomes::run`] for the summary that
//!    tables, reports and JSON are made of, and [`Outcomes::variants`] for the time series of each repeat.
//!
//! What was finished is kept when another run fails or the caller ends it. A run is known by its [`RunJob`];
//! [`simulate`] is one run alone, in virtual time, [`BatchRunner`] many of which only the results are wanted. On the
//! kernel runs follow each other, since two in real time would disturb each other; in virtual time as many run at once
//! as there are threads, and the results are the same however many those are.
//!
//! Builds for wasm32: there the runs follow each other on the caller's thread, and there is no kernel.

mod batch;
mod failure;
pub mod holders;
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
