//! `longfat sweep`: runs every combination of values into one dataset.

use crate::args::SweepArgs;
use crate::escape::eprint_escaped;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::load;
use crate::problem::CliProblem;
use crate::progress::{Bar, terminal};
use app::CommandError;
use app::names::{default_folder, program};
use app::sweep::{Axis, CellRow, ShownSweep, SweepError, SweepFolder, SweepGrid};
use scenario::Experiment;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

/// Runs the grid, prints the table and writes the dataset.
pub fn sweep(args: &SweepArgs) -> Result<ExitCode, CliProblem> {
    let (grid, experiment) = grid(args)?;
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&format!("{}-sweep", experiment.name)));
    let at = |e| CliProblem::io(folder.display().to_string(), e);
    let mut held = SweepFolder::open(grid, experiment, &folder, args.force)?;
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    lab::catch_interrupts();
    let mut bar = Bar::new(!args.no_progress);
    let mut progress = |p: &app::sweep::SweepProgress| {
        bar.cells(p);
        if lab::interrupted().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let run = held.run(args.jobs.unwrap_or_else(cores), &mut progress);
    bar.clear();
    match run {
        Ok(()) => {}
        Err(SweepError::Io(e)) => return Err(at(e)),
        Err(SweepError::Stopped) => {
            let (kept, folder) = (held.kept(), folder.display());
            eprint_escaped!(
                "longfat: {kept} finished cells are in {folder}; run the same command to continue\n"
            );
            return Ok(ExitCode::from(128 + lab::interrupted().unwrap_or(2) as u8));
        }
    }
    let (json, rows) = held.finish().map_err(at)?;
    show(args, &held, &json, &rows, &folder)?;
    let failed = rows.iter().any(|r| r.error.is_some());
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Returns the grid of cells that the arguments describe, and the scenario.
fn grid(args: &SweepArgs) -> Result<(SweepGrid, Experiment), CliProblem> {
    let axes = args.vary.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<Axis>, String>>();
    let axes = axes.map_err(|why| CliProblem::usage(format!("--vary {why}")))?;
    let source = load::source(&args.scenario)?;
    let mut grid = SweepGrid {
        program: program(option_env!("LONGFAT_COMMIT")),
        file: source.name.clone(),
        text: source.text.clone(),
        files: BTreeMap::new(),
        sets: args.set.clone(),
        axes,
        variants: args.variant.clone(),
        seed: args.seed,
        repeats: args.repeat,
    };
    let mut read = |file: &str| source.stage_file(file, args.allow_files);
    let experiment = grid.check(&mut read).map_err(CommandError::from)?;
    Ok((grid, experiment))
}

fn show(
    args: &SweepArgs,
    held: &SweepFolder,
    json: &str,
    rows: &[CellRow],
    folder: &Path,
) -> Result<(), CliProblem> {
    let kept = format!("dataset in {} (cells.parquet, flows.parquet; open report.html)\n", folder.display());
    if args.json {
        crate::print_json(json)?;
        eprint_escaped!("{kept}");
        return Ok(());
    }
    let shown = ShownSweep::of(held.grid(), held.scenario(), rows);
    crate::print(&format!("{}\n{kept}", app::sweep::text(&shown, terminal().width)))
}
