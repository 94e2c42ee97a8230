//! Options of `longfat export`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A containerlab topology.
    Containerlab,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Hosts become nodes and links become links; delay, loss and limiters become `tc` commands of the sending node. What the
file only approximates (with the number) and what it leaves out is listed by key on standard error and at the top of
the file.

  longfat export sdwan-limiter -o wan.clab.yml
  longfat export home-line -o home.clab.yml --attach home.attach.toml

Exit codes: 0 the file has the whole scenario; 1 it is written but lacks parts; 2 it is not written, e.g. because
nothing that the scenario does to packets can be expressed.")]
pub struct ExportArgs {
    /// Scenario file (TOML) or name of a built-in example; `-` reads standard input.
    pub scenario: PathBuf,
    /// File to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Output format.
    #[arg(long = "as", value_name = "FORMAT", value_enum, default_value_t = ExportFormat::Containerlab)]
    pub format: ExportFormat,
    /// Variant of the scenario. Default: the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Override a key of the scenario, as in `longfat run`; can be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the scenario to this file with an `[attach]` table for each link, and no `tc` commands into the
    /// topology: `longfat attach FILE` then puts exactly these paths into the running lab.
    #[arg(long, value_name = "FILE")]
    pub attach: Option<PathBuf>,
    /// Container image of all nodes; it must have `ip` and `tc`.
    #[arg(long, value_name = "NAME", default_value = "nicolaka/netshoot")]
    pub image: String,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
}
