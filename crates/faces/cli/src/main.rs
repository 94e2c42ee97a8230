//! The program `longfat`: finds out why a network path is slow, what would fix it, and proves the fix.

mod apply;
mod args;
mod attach;
mod cc;
mod check;
mod consent;
mod diagnose;
mod draw;
mod escape;
mod examples;
mod explore;
mod export;
mod fit;
mod import;
#[cfg(not(target_os = "linux"))]
#[path = "no_lab.rs"]
#[allow(dead_code)] // fields that only the lab reads
mod lab;
mod lab_check;
mod load;
mod manual;
mod measure;
mod new;
mod operating;
mod other_input;
mod plan;
mod preflight;
mod problem;
mod progress;
#[cfg(target_os = "linux")]
mod prove;
mod proxy;
mod report;
mod reproduce;
mod router;
mod run;
mod serve;
mod shell;
mod sweep;
#[cfg(target_os = "linux")]
mod target;
mod watch;
mod work;

use app::{budget, identity, regular, settings, warn};
use args::{Cli, Command, Described};
use clap::Parser;
use escape::eprint_escaped;
use problem::CliProblem;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        // Help and version need no escaping; an error quotes what was typed.
        Err(e) if !e.use_stderr() => e.exit(),
        Err(e) => {
            eprint_escaped!("{}", e.render());
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Run(args) => run::run(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Examples(args) => examples::examples(&args),
        Command::New(args) => new::new(&args),
        Command::Import(args) => import::import(&args),
        Command::Export(args) => export::export(&args),
        Command::Report(args) => report::report(&args),
        Command::Diagnose(args) => diagnose::diagnose(&args),
        Command::Watch(args) => watch::watch(&args),
        Command::Measure(args) => measure::measure(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Fit(args) => fit::fit(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Explore(args) => explore::explore(&args),
        Command::Shell(args) => shell::shell(&args),
        Command::Attach(args) => attach::attach(&args),
        Command::AttachWatcher(args) => attach::watcher(&args),
        Command::Apply(args) => apply::apply(&args),
        Command::Check(args) => check::check(&args),
        Command::Proxy(args) => proxy::proxy(&args),
        Command::Lab(args) => lab_check::lab(&args),
        Command::Cc(args) => cc::cc(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
        Command::Schema(args) => {
            let schema = match args.of {
                Described::Scenario => scenario::schema(),
                Described::Result => result::schema(),
                Described::Diagnosis => result::diagnosis_schema(),
                Described::Watch => result::watch::schema(),
                Described::Fit => ::fit::schema(),
                Described::Plan => advise::schema(),
                Described::Check => audit::schema(),
                Described::Reproduction => app::reproduce::schema(),
                Described::Measure => app::measure::schema(),
            };
            print_own(schema).map(|()| ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|problem| {
        eprint_escaped!("{problem}");
        ExitCode::from(problem.exit_code())
    })
}

/// Writes a text or a table to stdout, with every control sequence escaped except colours.
fn print(text: &str) -> Result<(), CliProblem> {
    print_own(&escape::colored(text))
}

/// Writes JSON to stdout, with control characters escaped.
fn print_json(text: &str) -> Result<(), CliProblem> {
    print_own(&escape::json(text))
}

/// Converts an option's time for the clock. What waits by the clock needs Linux.
#[cfg(target_os = "linux")]
fn duration(span: units::Span) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_nanos())
}

/// Writes a text of longfat's own to stdout, unescaped. A closed pipe (`| head`) is not an error.
fn print_own(text: &str) -> Result<(), CliProblem> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(CliProblem::io("standard output".into(), e)),
        _ => Ok(()),
    }
}
