//! Options of `longfat sweep`.

use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Simulates every combination of the values on all cores and writes a folder: cells.parquet (one row per combination,
variant and repeat), flows.parquet (one row per flow of each cell), sweep.json and report.html.

  longfat sweep policer-or-shaper --vary flows.tcp.cc=cubic,bbr,reno --vary duration=10s,20s
  longfat sweep path.toml --vary links.wan.forward.policer.burst=3kB..300kB:log:10
  longfat sweep path.toml --vary rtt:links.wan.forward.way.delay+links.wan.backward.way.delay=5ms..100ms:log:8

An interrupted sweep continues when the same command is given again; finished cells are kept. A combination that
cannot be run becomes a row with the reason.

Exit codes: 0 success; 1 some cells could not be run; 2 bad input, nothing was run; 130 interrupted by Ctrl-C
(finished cells are kept).")]
pub struct SweepArgs {
    /// Scenario file (TOML) or name of a built-in example; `-` reads standard input.
    pub scenario: PathBuf,
    /// Vary a key: KEY=A,B,C or KEY=LO..HI:lin:N or KEY=LO..HI:log:N, with KEY as in --set. KEY+KEY=… gives
    /// several keys the same value, NAME:KEY=… names the column. Given several times, every combination is
    /// run.
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    pub vary: Vec<String>,
    /// Override a key of the scenario in every cell.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run only this variant; can be given several times.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Run each cell N times, with seeds SEED, SEED+1, …; one row each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: u32,
    /// Seed of the first repeat. Default: the scenario's seed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Folder for the dataset. Default: longfat-results/SCENARIO-NAME-sweep.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a finished sweep of something else in the folder.
    #[arg(long)]
    pub force: bool,
    /// Let the scenario refer to files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// Print the content of sweep.json instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Show no progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// Number of simultaneous runs. Default: one per core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
