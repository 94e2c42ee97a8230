//! Compares the simulator with the live kernel, cell by cell: the same scenario in both.
//!
//! [`recorded`] contains measurements on Linux 6.18 (elsewhere, and in the lab); `cargo run --release -p
//! longfat-twin -- cells kernel` measures on this machine; `-- fidelity` prints `docs/measured/fidelity.md`;
//! [`pair`] and `-- pairs` do the same for two flows on one bottleneck. [`repeats`], [`reaction`] and `--
//! host-jitter` measure how much repeats differ, and how late hosts are. [`limited`] and `-- plans` run plans
//! for random paths on the kernel, [`captured`] those based on captures.

pub mod captured;
mod cell;
pub mod grid;
pub mod limited;
mod outcome;
pub mod pair;
pub mod reaction;
pub mod recorded;
pub mod repeats;
pub mod sample;

pub use cell::{COLUMNS, Cell};
pub use outcome::{Outcome, error, quantile, share_within};

/// Converts the result of a task to an exit code; prints an error to stderr and returns 2.
pub fn exit(done: Result<(), String>) -> std::process::ExitCode {
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            std::process::ExitCode::from(2)
        }
    }
}
