//! Options of `longfat reproduce`.

use super::ClockArg;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Repeats the experiments of a published study, prints each published number next to ours, and judges every claim: it
holds, holds in direction (same sign, smaller effect), or does not hold. Marks: * an unknown of the set-up was fitted
to this number, ? the kernel's measurement is not trustworthy, ± 95 % confidence interval of the mean.

  longfat reproduce policer-or-shaper
  longfat reproduce sdwan-limiter/table3 --json
  longfat reproduce --html reproduction.html
  sudo longfat reproduce hsr-bbr/train --on both
  longfat reproduce my-study.toml
  longfat reproduce --from one.json --from other.json --html both.html

Exit codes: 0 every judged claim holds, at least in direction; 1 a claim does not hold; 2 bad input; 130 interrupted
by Ctrl-C.")]
pub struct ReproduceArgs {
    /// Built-in study or study file, optionally with /TABLE for one table and its claims. Default: all
    /// built-in studies.
    pub study: Option<String>,
    /// List the built-in studies and their tables; run nothing.
    #[arg(long)]
    pub list: bool,
    /// Run in the simulator, on the kernel, or on both.
    #[arg(long, value_enum, default_value_t = ClockArg::Sim)]
    pub on: ClockArg,
    /// Show results saved with --json and run nothing; can be given several times, with one study each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "most_repeats", "jobs", "on"])]
    pub from: Vec<PathBuf>,
    /// Run each row at most N times, for a quick look. Default: the study's number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub most_repeats: Option<u32>,
    /// Write a page with tables, bars, time series and claims.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the tables and claims as Markdown.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Print one JSON object instead of text (docs/reproduction.schema.json).
    #[arg(long)]
    pub json: bool,
    /// Show no progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// Number of simultaneous simulated runs. Default: one per core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
