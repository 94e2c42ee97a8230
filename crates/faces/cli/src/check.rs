//! `longfat check`: what this host and its network namespaces do to TCP.

use crate::args::CheckArgs;
use crate::problem::CliProblem;
use crate::progress::{Bar, RunsBar, terminal};
use audit::{CheckReport, CheckedPath, HostFacts};
use capture::CaptureReader;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use track::TrackerOptions;

/// Collects the host's settings, checks and simulates them, and prints the report. Exit code 1 if something
/// is wrong.
pub fn check(args: &CheckArgs) -> Result<ExitCode, CliProblem> {
    let path = path(args)?;
    let report = audited(&facts()?, path, !args.no_progress);
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(|e| CliProblem::usage(e.to_string()))?;
        crate::print_json(&(text + "\n"))?;
    } else {
        crate::print(&audit::text(&report, terminal().width))?;
    }
    Ok(ExitCode::from(u8::from(report.has_problems())))
}

/// Checks the host's settings. With a path, also simulates what each finding costs there.
fn audited(facts: &HostFacts, path: Option<CheckedPath>, shows_progress: bool) -> CheckReport {
    let mut findings = audit::judge(facts, path.as_ref());
    if let Some(path) = &path {
        let mut bar = RunsBar::new(shows_progress);
        let mut show = |progress: &experiment::Progress| {
            bar.show(progress);
            ControlFlow::Continue(())
        };
        findings = audit::price(facts, findings, path, Some(&mut show));
        bar.clear();
    }
    audit::report(facts, path, findings)
}

#[cfg(target_os = "linux")]
fn facts() -> Result<HostFacts, CliProblem> {
    Ok(audit::collect())
}

#[cfg(not(target_os = "linux"))]
fn facts() -> Result<HostFacts, CliProblem> {
    Err(CliProblem::usage("longfat check needs Linux: it reads the kernel's network settings".into()))
}

/// Returns the path given by options, or the path of the capture; `None` without either.
fn path(args: &CheckArgs) -> Result<Option<CheckedPath>, CliProblem> {
    let usage = |e: audit::PathProblem| CliProblem::usage(e.to_string());
    if let Some(file) = &args.capture {
        return path_of_capture(file, !args.no_progress).map(Some);
    }
    let (Some(rate), Some(rtt)) = (args.rate, args.rtt) else { return Ok(None) };
    CheckedPath::new(rate, rtt, args.burst, args.queue, args.loss.unwrap_or(0.0)).map(Some).map_err(usage)
}

fn path_of_capture(file: &Path, shows_progress: bool) -> Result<CheckedPath, CliProblem> {
    let reader = CaptureReader::open(file).map_err(|e| CliProblem::usage(e.to_string()))?;
    let mut bar = Bar::new(shows_progress);
    let progress = &mut |done, all| bar.bytes(done, all);
    let all = track::track_datagrams_too(reader, TrackerOptions::default(), None, progress);
    bar.clear();
    let info = diagnosis::capture_info(all.file, &all.totals);
    let d = diagnosis::diagnose_tracks(all.tracks, info);
    CheckedPath::of_diagnosis(&d).map_err(|e| CliProblem::usage(format!("{}: {e}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn args(more: &[&str]) -> Result<CheckArgs, clap::Error> {
        let line = ["longfat", "check"].iter().chain(more);
        match Cli::try_parse_from(line)?.command {
            Command::Check(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_path_needs_both_rate_and_rtt() {
        assert_eq!(path(&args(&[]).unwrap()).unwrap(), None);
        for half in [
            &["--rate", "20Mbit/s"][..],
            &["--rtt", "20ms"],
            &["--burst", "9kB"],
            &["--capture", "a", "--rtt", "1ms"],
        ] {
            assert!(args(half).is_err(), "{half:?}");
        }
        let given =
            args(&["--rate", "33.2Mbit/s", "--rtt", "137ms", "--burst", "9600B", "--loss", "0.1%"]).unwrap();
        let given = path(&given).unwrap().unwrap();
        assert_eq!(
            (given.rate_mbps, given.rtt_ms, given.burst_bytes, given.loss),
            (33.2, 137.0, Some(9600), 0.001)
        );
        let both = args(&["--rate", "1Mbit/s", "--rtt", "1ms", "--burst", "9kB", "--queue", "9kB"]).unwrap();
        assert_eq!(path(&both).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_file_that_is_not_a_capture_is_bad_input() {
        let file = std::env::temp_dir().join(format!("longfat-check-{}", std::process::id()));
        std::fs::write(&file, b"no capture").unwrap();
        let problem = path_of_capture(&file, false).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(problem.exit_code(), 2);
    }
}
