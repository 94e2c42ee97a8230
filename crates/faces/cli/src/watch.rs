//! `longfat watch`, and `longfat diagnose -i`.

#[cfg(target_os = "linux")]
mod live;

use crate::args::{DiagnoseArgs, FilterArgs, WatchArgs};
#[cfg(not(target_os = "linux"))]
use crate::problem::CliProblem;
#[cfg(not(target_os = "linux"))]
use std::process::ExitCode;

#[cfg(target_os = "linux")]
pub use live::{interface, watch};

#[cfg(not(target_os = "linux"))]
const NEEDS_LINUX: &str =
    "this needs Linux: it reads the kernel's sockets and packets; a capture by tcpdump can be diagnosed here";

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn watch(args: &WatchArgs) -> Result<ExitCode, CliProblem> {
    let _ = as_diagnose(args);
    Err(CliProblem::usage(NEEDS_LINUX.into()))
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn interface(_: &DiagnoseArgs, _: &str) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage(NEEDS_LINUX.into()))
}

/// What is printed and written of what was watched, as `longfat diagnose` has it.
fn as_diagnose(args: &WatchArgs) -> DiagnoseArgs {
    DiagnoseArgs {
        capture: None,
        other: None,
        interface: args.interface.clone(),
        time: args.time,
        write: args.write.clone(),
        filter: FilterArgs { host: Vec::new(), port: Vec::new(), from: None, to: None },
        joined: false,
        both_ends: false,
        qlog: Vec::new(),
        json: args.json,
        report: args.report.clone(),
        out: args.out.clone(),
        flow: Vec::new(),
        top: args.top,
        lang: args.lang,
        no_progress: true,
    }
}
