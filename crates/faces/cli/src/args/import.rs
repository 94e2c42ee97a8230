//! `longfat import`.

use super::control;
use clap::Args;
use std::path::PathBuf;
use units::{Rate, Span};

/// `longfat import`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE is what `tc -s -d qdisc show`, `class show` and `filter show` print, one after the other, a script of
`tc` commands, a router's configuration, or one of the other formats of --as. The scenario says at its head which line
became what, and what was assumed; what was not understood is named by line.

  tc -s -d qdisc show > shaping.txt; tc -s -d class show dev eth0 >> shaping.txt
  longfat import shaping.txt -o shaping.toml
  longfat import setup.sh --rtt 40ms --json

Exit codes: 0 it is written, 1 it is written and something is wrong with the configuration or was left out, 2 it is not
written.")]
pub struct ImportArgs {
    /// The configuration; `-` reads standard input.
    pub file: PathBuf,
    /// The scenario; default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What the file is; default: what its lines look like.
    #[arg(long = "as", value_name = "FORMAT", value_parser = format)]
    pub format: Option<import::ImportFormat>,
    /// Round-trip time of the empty path; default: 20ms, and nothing where the file itself has delays.
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<Span>,
    /// Rate of an interface's line, where the file has no rate and nothing else limits; default: 1Gbit/s.
    #[arg(long, value_name = "RATE")]
    pub line: Option<Rate>,
    /// How long the scenario runs; default: as long as what the file describes, or 10s.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Congestion control of its flows.
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = control)]
    pub cc: String,
    /// Gives a script's variable a value, for example `1=eth0` or `RATE=20`; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = definition)]
    pub define: Vec<(String, String)>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// Replaces a file that is there.
    #[arg(long)]
    pub force: bool,
}

/// A format by its name.
fn format(text: &str) -> Result<import::ImportFormat, String> {
    let all = import::ImportFormat::ALL;
    let found = all.iter().find(|(name, _)| *name == text).map(|(_, format)| *format);
    let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| format!("no such format; there are {}", known.join(", ")))
}

/// `NAME=VALUE`.
fn definition(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("write NAME=VALUE, for example RATE=20")?;
    Ok((name.trim_start_matches('$').into(), value.into()))
}
