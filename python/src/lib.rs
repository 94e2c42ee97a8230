//! `longfat._native`: the compiled part of the Python package [`longfat`](../longfat).
//!
//! Nothing is computed here: scenarios are loaded and summarised by `app` and run by `experiment`. This crate
//! converts arguments and errors, releases Python's lock during the work, and exposes time series as Arrow.
//!
//! * `load.rs`: loads and checks scenarios;
//! * `run.rs`: runs them, with progress and Ctrl-C;
//! * `captures.rs`: diagnoses, fits and plans;
//! * `sweep.rs`: sweeps, with cells run here or on a cluster; `many.rs`: diagnoses many captures in the same
//!   way;
//! * `control.rs`, `view.rs`: congestion controls written in Python; `tcp.rs`: a TCP endpoint, driven step by
//!   step;
//! * `world.rs`: the learning environment; `live.rs`: a sender in real time that an agent controls in the
//!   same way;
//! * `columns.rs`: time series as Arrow columns without copying; `table.rs`: tables of them as capsules;
//! * `locked.rs`: folders that are locked while a sweep or dataset is written;
//! * `errors.rs`: exceptions of the package.

mod captures;
mod columns;
mod control;
mod errors;
#[cfg(target_os = "linux")]
mod live;
mod load;
mod locked;
mod many;
mod run;
mod sweep;
mod table;
mod tcp;
mod view;
mod world;

use pyo3::prelude::*;

/// The module that the package imports.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::captures::{FitOutput, diagnose, fit_path, plan};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::live::{LiveSender, live_receive};
    #[pymodule_export]
    use super::load::{LoadedScenario, examples, load};
    #[pymodule_export]
    use super::many::{CaptureWork, diagnose_stored, program_name};
    #[pymodule_export]
    use super::run::{RunOutput, run};
    #[pymodule_export]
    use super::sweep::{SweepWork, run_sweep_batch};
    #[pymodule_export]
    use super::table::SeriesTable;
    #[pymodule_export]
    use super::tcp::{TcpEnd, TcpSegment};
    #[pymodule_export]
    use super::view::{AckView, SocketView, WindowView};
    #[pymodule_export]
    use super::world::{NativeWorld, schemes, step_all};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
