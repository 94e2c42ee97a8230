//! `longfat export`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What a scenario can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A containerlab topology.
    Containerlab,
}

/// `longfat export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Hosts become nodes, links links, and what delays, loses or limits packets there `tc` commands of the node that sends. Before the
file is written, standard error has what it only approximates, with the number, and what it leaves out, by key; the file's head
has it as well.

  longfat export sdwan-limiter -o wan.clab.yml

Exit codes: 0 it has all of the scenario, 1 it is written and does not have all, 2 it is not written: also where nothing of what
the scenario does to packets can be written.")]
pub struct ExportArgs {
    /// The scenario file, `-` for standard input, or the name of an example.
    pub scenario: PathBuf,
    /// The file; default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What it is written as.
    #[arg(long = "as", value_name = "FORMAT", value_enum, default_value_t = ExportFormat::Containerlab)]
    pub format: ExportFormat,
    /// The variant; default: the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Overrides a key, as `longfat run` has it; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The image of all nodes; it has to have `ip` and `tc`.
    #[arg(long, value_name = "NAME", default_value = "nicolaka/netshoot")]
    pub image: String,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// Replaces a file that is there.
    #[arg(long)]
    pub force: bool,
}
