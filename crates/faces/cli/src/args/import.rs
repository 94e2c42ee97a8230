//! Options of `longfat import`.

use super::control;
use clap::Args;
use std::path::PathBuf;
use units::{Rate, Span};

#[derive(Debug, Args)]
#[command(after_help = "\
FILE is the concatenated output of `tc -s -d qdisc show`, `class show` and `filter show`, a script of `tc` commands, a
router configuration, or another format of --as. Comments at the top of the scenario say what each line became and
what was assumed; lines that were not understood are listed.

  tc -s -d qdisc show > shaping.txt; tc -s -d class show dev eth0 >> shaping.txt
  longfat import shaping.txt -o shaping.toml
  longfat import setup.sh --rtt 40ms --json

Exit codes: 0 the scenario is written; 1 it is written, but the configuration has mistakes or parts were left out; 2 it
is not written.")]
pub struct ImportArgs {
    /// Configuration file; `-` reads standard input.
    pub file: PathBuf,
    /// File for the scenario. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format of the file. Default: recognised from its lines.
    #[arg(long = "as", value_name = "FORMAT", value_parser = format)]
    pub format: Option<import::ImportFormat>,
    /// Round-trip time of the idle path. Default: 20ms, or the file's own delays.
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<Span>,
    /// Line rate of an interface if the file gives no rate and nothing else limits. Default: 1Gbit/s.
    #[arg(long, value_name = "RATE")]
    pub line: Option<Rate>,
    /// Duration of the scenario. Default: the duration that the file describes, or 10s.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Congestion control of the flows.
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = control)]
    pub cc: String,
    /// Set a variable of a script, e.g. `1=eth0` or `RATE=20`; can be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = definition)]
    pub define: Vec<(String, String)>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
}

/// Parses the name of a format.
fn format(text: &str) -> Result<import::ImportFormat, String> {
    let all = import::ImportFormat::ALL;
    let found = all.iter().find(|(name, _)| *name == text).map(|(_, format)| *format);
    let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| format!("no such format; there are {}", known.join(", ")))
}

/// Parses `NAME=VALUE`.
fn definition(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("write NAME=VALUE, for example RATE=20")?;
    Ok((name.trim_start_matches('$').into(), value.into()))
}
