//! Scores the diagnosis on scenarios with known truth: a corpus is drawn from a seed, played by the simulator
//! or the kernel, labelled by what these know, and compared with the verdicts.

pub mod controls;
pub mod crossed;
pub mod cut;
pub mod draw;
pub mod fit;
pub mod fit_kernel;
pub mod judge;
pub mod kernel;
pub mod lab;
pub mod limiters;
pub mod line;
pub mod logit;
pub mod nebby;
pub mod observations;
pub mod play;
pub mod real;
pub mod score;
pub mod truth;
pub mod usc;
pub mod watch;
pub mod wire;
pub mod world;

pub use draw::{Case, Vantage};
pub use play::{PcapSink, play};
pub use truth::{FlowTruth, LimiterTruth, Truth};

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs `work` for each number on all cores and returns the results in the order of the numbers.
///
/// # Errors
/// Returns the first error of `work`.
pub fn each<T: Send>(
    numbers: std::ops::Range<u64>,
    work: impl Fn(u64) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let next = AtomicU64::new(numbers.start);
    let run = || {
        let mut results = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= numbers.end {
                return Ok::<_, String>(results);
            }
            results.push((n, work(n)?));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(run)).collect();
        threads.into_iter().try_for_each(|t| {
            all.extend(t.join().map_err(|_| "a case panicked".to_string())??);
            Ok::<(), String>(())
        })
    })?;
    all.sort_by_key(|result| result.0);
    Ok(all.into_iter().map(|result| result.1).collect())
}

/// Returns a program's exit code: 2 after an error, which is printed.
pub fn exit(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}
