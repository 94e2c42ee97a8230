//! Measures the kernel and compares the simulator with it: `cargo run --release -p longfat-twin -- TASK ...`.
//! The files in `task/` describe the arguments and output of each task.

mod task {
    pub mod cells;
    pub mod fast;
    pub mod fidelity;
    pub mod host_jitter;
    pub mod pairs;
    pub mod plans;
    pub mod samples;
}

use std::process::ExitCode;

type Task = fn(&[String]) -> Result<(), String>;

const TASKS: [(&str, Task); 7] = [
    ("cells", task::cells::run),
    ("fast", task::fast::run),
    ("fidelity", task::fidelity::run),
    ("pairs", task::pairs::run),
    ("plans", task::plans::run),
    ("samples", task::samples::run),
    ("host-jitter", task::host_jitter::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wanted = args.first().and_then(|name| TASKS.iter().find(|(task, _)| task == name));
    twin::exit(match wanted {
        Some((_, run)) => run(&args[1..]),
        None => Err(format!("usage: TASK ...; the tasks are {}", TASKS.map(|(name, _)| name).join(", "))),
    })
}
