//! `longfat run --operating-point`: measures the path's operating points.

use crate::args::RunArgs;
use crate::escape::eprint_escaped;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::problem::CliProblem;
use crate::progress::RunsBar;
use app::names::{default_folder, file_name};
use app::output::write_file;
use experiment::{BatchRunner, Progress, Unfinished};
use scenario::Experiment;
use std::process::ExitCode;

/// Measures, prints the curves, and writes a plot of each variant.
pub fn operating(
    args: &RunArgs,
    experiment: &Experiment,
    flow: Option<&str>,
) -> Result<ExitCode, CliProblem> {
    lab::catch_interrupts();
    let mut bar = RunsBar::new(!args.no_progress);
    let mut watch = |p: &Progress| bar.watch(p);
    let mut runner = BatchRunner::new(args.jobs, Some(&mut watch));
    let made = app::sweep::operating_curves(experiment, flow, &mut runner);
    bar.clear();
    let curves = match made {
        Ok(curves) => curves,
        Err(Unfinished::Failed(why)) => return Err(CliProblem::usage(why)),
        Err(Unfinished::Stopped) => return Ok(ExitCode::from(128 + lab::interrupted().unwrap_or(2) as u8)),
    };
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&experiment.name));
    let mut kept = String::new();
    for (variant, svg) in app::sweep::operating_plots(&curves) {
        let file = folder.join(format!("operating-point-{}.svg", file_name(&variant)));
        kept += &format!("{}\n", write_file(&file, svg.as_bytes())?.display());
    }
    if args.json {
        crate::print_json(&result::to_json(&curves))?;
        eprint_escaped!("{kept}");
    } else {
        crate::print(&format!("{}{kept}", app::sweep::operating_text(&curves)))?;
    }
    Ok(ExitCode::SUCCESS)
}
