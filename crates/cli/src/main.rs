//! `longfat`: finds out why a network path is slow, what would fix it, and proves the fix.

mod args;
mod cc;
mod diagnose;
mod draw;
mod examples;
mod expect;
mod inventory;
mod keep;
#[cfg(not(target_os = "linux"))]
#[path = "no_lab.rs"]
#[allow(dead_code)] // what only the lab reads
mod lab;
mod lab_check;
mod load;
mod manual;
mod new;
mod output;
mod preflight;
mod problem;
mod progress;
mod provenance;
mod report;
mod run;
mod settings;
mod shell;
mod tap;
mod work;

use args::{Cli, Command, Described};
use clap::Parser;
use problem::CliProblem;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Examples(args) => examples::examples(&args),
        Command::New(args) => new::new(&args),
        Command::Report(args) => report::report(&args),
        Command::Diagnose(args) => diagnose::diagnose(&args),
        Command::Shell(args) => shell::shell(&args),
        Command::Lab(args) => lab_check::lab(&args),
        Command::Cc(args) => cc::cc(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
        Command::Schema(args) => {
            let schema = match args.of {
                Described::Scenario => scenario::schema(),
                Described::Result => result::schema(),
                Described::Diagnosis => result::diagnosis_schema(),
            };
            print(&schema).map(|()| ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|problem| {
        let _ = io::stderr().write_all(problem.to_string().as_bytes());
        ExitCode::from(problem.exit_code())
    })
}

/// Writes to stdout. A reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<(), CliProblem> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(CliProblem::Io("standard output".into(), e)),
        _ => Ok(()),
    }
}
