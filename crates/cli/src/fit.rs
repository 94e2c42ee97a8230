//! `longfat fit`: a scenario that behaves as a captured path did.

use crate::args::FitArgs;
use crate::escape::tell;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::output::write_new;
use crate::problem::CliProblem;
use crate::progress::{Bar, RunsBar, terminal};
use crate::regular;
use capture::{CaptureReader, PacketFilter};
use fit::{FitError, FitWish, MadeFit, ObservedPath};
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use track::TrackerOptions;

/// The largest JSON that is read, bytes.
const MOST_JSON: u64 = 64 << 20;

/// Fits a capture, tells how well, and writes the scenario.
pub fn fit(args: &FitArgs) -> Result<ExitCode, CliProblem> {
    let made = match summary(args)? {
        Some(seen) => seen.and_then(|seen| searched(&seen, args.jobs, !args.no_progress)),
        None => {
            let reader = CaptureReader::open(&args.capture).map_err(|e| CliProblem::Usage(e.to_string()))?;
            made(reader, args.filter.asked(), args.jobs, !args.no_progress)
        }
    };
    let made = match made {
        Ok(made) => made,
        Err(e) => return no_fit(&args.capture, &e),
    };
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let written = file.map(|path| write_new(path, &made.fit.scenario, args.force)).transpose()?;
    if args.json {
        crate::print_json(&fit::to_json(&made.fit))?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = fit::text(&made.fit, terminal().width);
    match written {
        Some(path) => crate::print(&format!("{text}\nwrote {0}\nnext: longfat run {0}\n", path.display()))?,
        None => {
            tell!("{text}");
            crate::print(&made.fit.scenario)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The fit of an opened capture.
pub fn made(
    mut reader: CaptureReader,
    keep: PacketFilter,
    threads: Option<NonZeroUsize>,
    bars: bool,
) -> Result<MadeFit, FitError> {
    reader.keep(keep);
    let mut bar = Bar::new(bars);
    let progress = &mut |done, all| bar.bytes(done, all);
    let all = track::track_datagrams_too(reader, TrackerOptions::default(), None, progress);
    bar.clear();
    let facts = fit::facts(&all.tracks);
    let info = diagnosis::capture_info(all.file, &all.totals);
    let diagnosis = diagnosis::diagnose_tracks(all.tracks, info);
    searched(&ObservedPath::of(&diagnosis, &facts)?, threads, bars)
}

/// What of a file says that it is a log of ss, bytes.
const HEAD: u64 = 64 << 10;

/// Whether a file's first lines are those of `ss -tin`.
fn begins_as_ss_log(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file());
    let read = file.and_then(|f| f.take(HEAD).read_to_end(&mut head).ok());
    read.is_some() && !head.contains(&0) && fit::is_ss_log(&String::from_utf8_lossy(&head))
}

/// What an iperf3 JSON, a log of ss or a result folder tells; `None`: the argument is none of these.
fn summary(args: &FitArgs) -> Result<Option<Result<ObservedPath, FitError>>, CliProblem> {
    let path = &args.capture;
    let name = || path.display().to_string();
    let text = |file: &Path| {
        let bytes =
            regular::read_most(file, MOST_JSON).map_err(|e| CliProblem::Io(file.display().to_string(), e))?;
        String::from_utf8(bytes)
            .map_err(|_| CliProblem::Result(file.display().to_string(), "it is no text".into()))
    };
    if path.is_dir() {
        let file = path.join("result.json");
        let run = result::read_json(&text(&file)?);
        let run = run.map_err(|e| CliProblem::Result(file.display().to_string(), e.to_string()))?;
        let variant = match &args.variant {
            Some(wanted) => run.variants.iter().find(|v| v.name == *wanted),
            None => run.variants.first(),
        };
        let Some(variant) = variant else {
            let known: Vec<&str> = run.variants.iter().map(|v| v.name.as_str()).collect();
            let what = format!("{}: no such variant; there are: {}", name(), known.join(", "));
            return Err(CliProblem::Usage(what));
        };
        return Ok(Some(fit::of_result(variant)));
    }
    if path.extension().is_some_and(|e| e == "json") {
        return Ok(Some(fit::of_iperf3(&text(path)?)));
    }
    if begins_as_ss_log(path) {
        return Ok(Some(fit::of_ss_log(&text(path)?)));
    }
    Ok(None)
}

/// The search, with its bar; Ctrl-C ends it.
fn searched(seen: &ObservedPath, threads: Option<NonZeroUsize>, bars: bool) -> Result<MadeFit, FitError> {
    lab::catch_interrupts();
    let mut bar = RunsBar::new(bars);
    let made = fit::fit(seen, &FitWish { threads, ..FitWish::default() }, Some(&mut |p| bar.watch(p)));
    bar.clear();
    made
}

/// Says why there is no fit.
pub fn no_fit(capture: &Path, e: &FitError) -> Result<ExitCode, CliProblem> {
    if *e == FitError::Stopped {
        let signal = lab::interrupted().unwrap_or(2);
        return Ok(ExitCode::from(128 + signal as u8));
    }
    tell!("{}: no fit: {e}\n", capture.display());
    Ok(ExitCode::from(1))
}
