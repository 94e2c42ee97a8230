//! `longfat sweep`.

use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `longfat sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs every combination of the values, in virtual time, on all cores, and writes a folder: cells.parquet (a row a
combination, variant and repeat), flows.parquet (a row a flow of each), sweep.json, report.html.

  longfat sweep policer-or-shaper --vary flows.tcp.cc=cubic,bbr,reno --vary duration=10s,20s
  longfat sweep path.toml --vary links.wan.forward.policer.burst=3kB..300kB:log:10
  longfat sweep path.toml --vary rtt:links.wan.forward.way.delay+links.wan.backward.way.delay=5ms..100ms:log:8

A sweep that was ended, by Ctrl-C or by a power cut, goes on when the same command is given again: cells that are there
are not run twice. Values that do not fit become rows that say why.

Exit codes: 0 ok; 1 some cells could not be run; 2 bad input, nothing was run; 130 ended by Ctrl-C (what was finished
is kept).")]
pub struct SweepArgs {
    /// Scenario file (TOML), or a built-in example; `-` reads standard input.
    pub scenario: PathBuf,
    /// What is varied: KEY=A,B,C or KEY=LO..HI:lin:N or KEY=LO..HI:log:N, where KEY is as in --set; KEY+KEY=… sets several
    /// keys to the same value, NAME:KEY=… names the column. May be given several times: every combination is run.
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    pub vary: Vec<String>,
    /// Overrides a key of the scenario in every cell.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Runs only this variant; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Runs each cell N times, with the seeds SEED, SEED+1 …: a row each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: u32,
    /// Seed of the first repeat; default: the scenario's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Folder for the dataset; default: longfat-results/SCENARIO-NAME-sweep.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replaces a finished sweep of something else in the folder.
    #[arg(long)]
    pub force: bool,
    /// Lets the scenario name files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// Prints what is in sweep.json instead of the table.
    #[arg(long)]
    pub json: bool,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// How many runs at a time; default: one for each core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
