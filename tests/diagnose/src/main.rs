//! Scores the diagnosis and learns its weights: `cargo run --release -p longfat-diagnose-test -- TASK ...`.
//! Each file of `task/` documents its task's arguments and output.

mod task {
    pub mod calibrate;
    pub mod captures;
    pub mod controls;
    pub mod corpus;
    pub mod cuts;
    pub mod doc;
    pub mod fit;
    pub mod lab;
    pub mod nebby;
    pub mod real;
    pub mod usc;
}

use std::process::ExitCode;

type Task = fn(&[String]) -> Result<(), String>;

const TASKS: [(&str, Task); 11] = [
    ("calibrate", task::calibrate::run),
    ("captures", task::captures::run),
    ("controls", task::controls::run),
    ("corpus", task::corpus::run),
    ("cuts", task::cuts::run),
    ("doc", task::doc::run),
    ("fit", task::fit::run),
    ("lab", task::lab::run),
    ("nebby", task::nebby::run),
    ("real", task::real::run),
    ("usc", task::usc::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let task = args.first().and_then(|name| TASKS.iter().find(|(task, _)| task == name));
    diagnose_test::exit(match task {
        Some((_, run)) => run(&args[1..]),
        None => {
            Err(format!("usage: TASK ..., where TASK is one of {}", TASKS.map(|(name, _)| name).join(", ")))
        }
    })
}
