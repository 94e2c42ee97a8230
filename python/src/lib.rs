//! `longfat._native`: what the Python package [`longfat`](../longfat) calls.
//!
//! Nothing is worked out here: scenarios are loaded and summed up by `commands`, run by `experiment`. This crate turns
//! arguments and errors over, releases Python's lock while work goes on, and hands time series out as Arrow.
//!
//! * `load.rs`: a scenario, checked;
//! * `run.rs`: its runs, how far they are, Ctrl-C;
//! * `captures.rs`: captures diagnosed and fitted, plans;
//! * `sweep.rs`: sweeps, their cells run here or anywhere; `many.rs`: many captures, diagnosed in the same way;
//! * `control.rs`, `view.rs`: congestion controls written in Python; `tcp.rs`: an end of a connection, step by step;
//! * `world.rs`: the environment for learning; `live.rs`: a sender in real time that an actor steers as there;
//! * `columns.rs`: time series as Arrow columns, without copying; `table.rs`: tables of them as capsules;
//! * `errors.rs`: what went wrong as the package's exceptions.

mod captures;
mod columns;
mod control;
mod errors;
mod held;
#[cfg(target_os = "linux")]
mod live;
mod load;
mod many;
mod run;
mod sweep;
mod table;
mod tcp;
mod view;
mod world;

use pyo3::prelude::*;

/// What the package imports.
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
