//! `longfat watch` and `longfat diagnose -i`: diagnose live connections.

#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod recording;
#[cfg(target_os = "linux")]
mod view;

use crate::args::{DiagnoseArgs, FilterArgs, WatchArgs};
#[cfg(not(target_os = "linux"))]
use crate::problem::CliProblem;
#[cfg(not(target_os = "linux"))]
use std::process::ExitCode;

#[cfg(target_os = "linux")]
pub use live::{SharedChild, code_of, ended, interface, started, watch};

#[cfg(not(target_os = "linux"))]
const NEEDS_LINUX: &str = "this needs Linux, whose sockets and packets it reads; a capture made by tcpdump can be diagnosed on this system";

/// Fails: watching needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn watch(args: &WatchArgs) -> Result<ExitCode, CliProblem> {
    let _ = as_diagnose(args);
    Err(CliProblem::usage(NEEDS_LINUX.into()))
}

/// Fails: a live capture needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn interface(_: &DiagnoseArgs, _: &str) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage(NEEDS_LINUX.into()))
}

/// Converts the options of `longfat watch` to those of `longfat diagnose`, for the output.
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
