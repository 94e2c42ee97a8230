//! `longfat sweep`.

use crate::args::SweepArgs;
use crate::escape::tell;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::load;
use crate::output::default_folder;
use crate::problem::CliProblem;
use crate::progress::Bar;
use ::sweep::{Axis, CellRow, GridError, KnownRows, PartStore, SweepError, SweepGrid, SweepSummary};
use commands::regular;
use scenario::Experiment;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

/// What a folder's `sweep.json` is compared by.
#[derive(Deserialize)]
struct FinishedSweep {
    /// The names of all cells, hashed.
    grid: String,
}

/// Runs the grid, prints and keeps what it yields.
pub fn sweep(args: &SweepArgs) -> Result<ExitCode, CliProblem> {
    let (grid, experiment) = asked(args)?;
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&format!("{}-sweep", experiment.name)));
    let at = |path: &Path, e| CliProblem::Io(path.display().to_string(), e);
    fs::create_dir_all(&folder).map_err(|e| at(&folder, e))?;
    let lock = folder.join(".longfat-lock");
    let Some(_held) = regular::lock(&lock).map_err(|e| at(&lock, e))? else {
        let text =
            format!("another sweep is writing to {}: wait for it, or take --out DIR", folder.display());
        return Err(CliProblem::Usage(text));
    };
    let done = unlocked(args, &grid, &experiment, &folder);
    drop(fs::remove_file(&lock));
    done
}

/// The same, when nobody else writes to the folder.
fn unlocked(
    args: &SweepArgs,
    grid: &SweepGrid,
    experiment: &Experiment,
    folder: &Path,
) -> Result<ExitCode, CliProblem> {
    let at = |e| CliProblem::Io(folder.display().to_string(), e);
    check_folder(args, grid, folder)?;
    let store = PartStore::new(folder);
    let mut known: KnownRows = store.load().into_iter().map(|row| (row.cell.clone(), row)).collect();
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    lab::catch_interrupts();
    let mut bar = Bar::new(!args.no_progress);
    let mut progress = |p: &::sweep::SweepProgress| {
        bar.cells(p);
        if lab::interrupted().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let threads = args.jobs.unwrap_or_else(cores);
    let run = ::sweep::run_missing(grid, experiment, &mut known, &store, threads, &mut progress);
    bar.clear();
    match run {
        Ok(()) => {}
        Err(SweepError::Io(e)) => return Err(at(e)),
        Err(SweepError::Stopped) => {
            tell!(
                "longfat: {} cells are kept in {}; the same command goes on\n",
                known.len(),
                folder.display()
            );
            return Ok(ExitCode::from(128 + lab::interrupted().unwrap_or(2) as u8));
        }
    }
    let rows = ::sweep::in_order(grid, experiment, &known);
    let summary = SweepSummary::of(grid, experiment, &rows);
    ::sweep::write_dataset(folder, grid, &summary, &rows).map_err(at)?;
    store.clear();
    show(args, grid, &summary, &rows, folder)?;
    Ok(if summary.failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What is to be run.
fn asked(args: &SweepArgs) -> Result<(SweepGrid, Experiment), CliProblem> {
    let axes = args.vary.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<Axis>, String>>();
    let axes = axes.map_err(|why| CliProblem::Usage(format!("--vary {why}")))?;
    let source = load::source(&args.scenario)?;
    let commit = option_env!("LONGFAT_COMMIT").unwrap_or_default();
    let mut grid = SweepGrid {
        program: format!("longfat {} {commit}", env!("CARGO_PKG_VERSION")).trim_end().to_string(),
        file: source.name.clone(),
        text: source.text.clone(),
        files: BTreeMap::new(),
        sets: args.set.clone(),
        axes,
        variants: args.variant.clone(),
        seed: args.seed,
        repeats: args.repeat,
    };
    let mut read = |file: &str| source.beside(file, args.allow_files);
    let experiment = grid.check(&mut read).map_err(|e| match e {
        GridError::Scenario(e) => CliProblem::Scenario(e),
        GridError::Asked(why) => CliProblem::Usage(why),
    })?;
    Ok((grid, experiment))
}

/// Refuses a folder that holds a finished sweep of something else.
fn check_folder(args: &SweepArgs, grid: &SweepGrid, folder: &Path) -> Result<(), CliProblem> {
    let Ok(text) = regular::read_text(&folder.join("sweep.json")) else { return Ok(()) };
    let there = serde_json::from_str::<FinishedSweep>(&text).ok();
    if args.force || there.is_some_and(|there| there.grid == grid.digest()) {
        return Ok(());
    }
    Err(CliProblem::Usage(format!(
        "{} holds a sweep of something else: --force replaces it, --out DIR writes elsewhere",
        folder.display()
    )))
}

fn show(
    args: &SweepArgs,
    grid: &SweepGrid,
    summary: &SweepSummary<'_>,
    rows: &[CellRow],
    folder: &Path,
) -> Result<(), CliProblem> {
    let kept = format!("dataset in {} (cells.parquet, flows.parquet; open report.html)\n", folder.display());
    if args.json {
        crate::print_json(&::sweep::to_json(summary))?;
        tell!("{kept}");
        return Ok(());
    }
    crate::print(&format!("{}\n{kept}", ::sweep::text(grid, summary.scenario, rows)))
}
