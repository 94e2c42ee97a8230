//! `longfat fit`: finds a scenario that behaves like a captured path.

use crate::args::FitArgs;
use crate::escape::eprint_escaped;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::other_input::OtherInput;
use crate::problem::CliProblem;
use crate::progress::{Bar, RunsBar, terminal};
use app::fit::observed;
use app::output::write_new;
use capture::PacketFilter;
use fit::{FitError, FitOptions, MadeFit, ObservedPath};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

/// Fits a capture, prints how well the fit matches, and writes the scenario.
pub fn fit(args: &FitArgs) -> Result<ExitCode, CliProblem> {
    let source = (args.capture.as_path(), args.variant.as_deref());
    let made = match made(source, args.filter.packet_filter(), args.jobs, !args.no_progress)? {
        Ok(made) => made,
        Err(FitError::CannotTell(verdict)) if args.json => {
            crate::print_json(&fit::verdict_json(&verdict))?;
            return Ok(ExitCode::from(1));
        }
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
            eprint_escaped!("{text}");
            crate::print(&made.fit.scenario)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Fits a capture or summary file, or a variant of a result folder.
pub fn made(
    (path, variant): (&Path, Option<&str>),
    keep: PacketFilter,
    threads: Option<NonZeroUsize>,
    bars: bool,
) -> Result<Result<MadeFit, FitError>, CliProblem> {
    let mut bar = Bar::new(bars);
    let seen = observed(path, variant, keep, &mut |done, all| bar.bytes(done, all));
    bar.clear();
    let seen = seen.map_err(|e| match OtherInput::of(path) {
        // For a damaged summary or result the error itself says what is wrong.
        Some(other) if !matches!(other, OtherInput::Summary(_) | OtherInput::Results) => {
            CliProblem::usage(other.instead(path, "fit"))
        }
        _ => e.into(),
    });
    Ok(seen?.and_then(|seen| searched(&seen, threads, bars)))
}

/// Runs the search with a progress bar; Ctrl-C ends it.
fn searched(seen: &ObservedPath, threads: Option<NonZeroUsize>, bars: bool) -> Result<MadeFit, FitError> {
    lab::catch_interrupts();
    let mut bar = RunsBar::new(bars);
    let made = fit::fit(seen, &FitOptions { threads, ..FitOptions::default() }, Some(&mut |p| bar.watch(p)));
    bar.clear();
    made
}

/// Prints why there is no fit, and returns the exit code.
pub fn no_fit(capture: &Path, e: &FitError) -> Result<ExitCode, CliProblem> {
    if *e == FitError::Stopped {
        let signal = lab::interrupted().unwrap_or(2);
        return Ok(ExitCode::from(128 + signal as u8));
    }
    if let FitError::CannotTell(verdict) = e {
        crate::print(&format!("{}\nNo scenario was written.\n", verdict.text(terminal().width)))?;
        return Ok(ExitCode::from(1));
    }
    eprint_escaped!("{}: no fit: {e}\n", capture.display());
    Ok(ExitCode::from(1))
}
