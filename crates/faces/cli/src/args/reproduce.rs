//! `longfat reproduce`.

use super::ClockArg;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `longfat reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs what the tables of a published study name, prints each published number beside ours, and judges every claim:
it holds, holds in direction (the same way, not as far), or does not hold, with the numbers that say so. Marks: *
an unknown of the set-up was fitted on this number, ? the kernel's measurement is not to be trusted, ± the 95 %
interval of the mean.

  longfat reproduce policer-or-shaper
  longfat reproduce sdwan-limiter/table3 --json
  longfat reproduce --html reproduction.html
  sudo longfat reproduce hsr-bbr/train --on both
  longfat reproduce my-study.toml
  longfat reproduce --from one.json --from other.json --html both.html

Exit codes: 0 every claim that was judged holds, at least in direction; 1 one does not; 2 bad input; 130 ended by
Ctrl-C.")]
pub struct ReproduceArgs {
    /// A study that is built in, or the file of one, perhaps with /TABLE for one table and the claims over it alone; default: all
    /// that are built in.
    pub study: Option<String>,
    /// Lists the studies that are built in, with their tables, and runs nothing.
    #[arg(long)]
    pub list: bool,
    /// What drives it.
    #[arg(long, value_enum, default_value_t = ClockArg::Sim)]
    pub on: ClockArg,
    /// Runs nothing and shows what --json wrote of earlier runs; may be given several times, a study each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "most_repeats", "jobs", "on"])]
    pub from: Vec<PathBuf>,
    /// At most N repeats of each row, for a look in a hurry; default: as the studies have it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub most_repeats: Option<u32>,
    /// Writes a page: tables, bars, series over time, claims.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Writes the same as Markdown.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Prints one JSON object instead of text (docs/reproduction.schema.json).
    #[arg(long)]
    pub json: bool,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// How many simulated runs at a time; default: one for each core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
