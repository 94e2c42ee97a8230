//! Commands that help a beginner begin: examples, a scenario from a few answers, completions, manual pages.

use app::expect::share;
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use congestion::Control;
use std::path::PathBuf;
use units::{Bytes, Goal, Rate, Span};

/// `longfat examples`.
#[derive(Debug, Args)]
#[command(after_help = "\
`longfat run NAME` and `longfat shell NAME` take a built-in example where there is no file of that name.

  longfat examples
  longfat run home-line
  longfat examples copy home-line my-line.toml")]
pub struct ExamplesArgs {
    /// What to do; without it: list them.
    #[command(subcommand)]
    pub command: Option<ExamplesCommand>,
    /// Prints the list as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with examples.
#[derive(Debug, Subcommand)]
pub enum ExamplesCommand {
    /// Prints an example's text.
    Show {
        /// Which.
        name: String,
    },
    /// Writes an example to a file of your own.
    Copy {
        /// Which.
        name: String,
        /// The file, or a folder for it; default: NAME.toml here.
        path: Option<PathBuf>,
        /// Replaces a file that is there.
        #[arg(long)]
        force: bool,
    },
}

/// `longfat new`.
#[derive(Debug, Args)]
#[command(after_help = "\
Writes a scenario of a client that sends to a server past one limit, with variants to compare: each
congestion control, behind the limiter that is there and behind what may replace it (a shaper for a
policer, short queues for long ones). Asks on a terminal for what no option says; elsewhere, or with
--yes, takes the defaults.

  longfat new
  longfat new --limiter policer --rate 20Mbit/s --burst 9kB --rtt 30ms --cc cubic,bbr -o mine.toml

Exit code: 0 it is written, 2 it is not.")]
pub struct NewArgs {
    /// Name of the scenario [default: my-path].
    #[arg(long)]
    pub name: Option<String>,
    /// What limits the path [default: policer].
    #[arg(long, value_enum)]
    pub limiter: Option<LimiterArg>,
    /// Its rate, of IP packets [default: 20Mbit/s].
    #[arg(long)]
    pub rate: Option<Rate>,
    /// Bucket of a policer or shaper; default: what routers choose for the rate.
    #[arg(long, value_name = "BYTES")]
    pub burst: Option<Bytes>,
    /// Packets that may wait in front of the limit; a policer has no queue, the shaper in its place has
    /// [default: 100].
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub queue: Option<u64>,
    /// Round-trip time of the empty path [default: 30ms].
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<Span>,
    /// Share of packets lost at random, as 0.1% or 0.001 [default: 0%].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub loss: Option<f64>,
    /// TCP connections at a time [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub flows: Option<u32>,
    /// Congestion controls to compare [default: cubic,bbr].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = control)]
    pub cc: Vec<String>,
    /// How long each run takes [default: 20s].
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// What variants are judged by, the most important first [default: goodput].
    #[arg(long, value_name = "GOAL,…", value_delimiter = ',', value_parser = goal)]
    pub goal: Vec<Goal>,
    /// The file; `-` is standard output; default: NAME.toml.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Asks nothing: what no option says takes its default.
    #[arg(long)]
    pub yes: bool,
    /// Replaces a file that is there.
    #[arg(long)]
    pub force: bool,
}

/// What limits a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LimiterArg {
    /// Drops what comes faster than its rate allows.
    Policer,
    /// Makes it wait, up to its bucket at once.
    Shaper,
    /// Makes it wait, packet after packet: a line.
    Link,
}

/// The name of a congestion control.
pub fn control(text: &str) -> Result<String, String> {
    let known = || format!("no such congestion control; there are {}", congestion::NAMES.join(", "));
    Control::named(text).map(|_| text.to_string()).ok_or_else(known)
}

/// A goal by its name.
pub fn goal(text: &str) -> Result<Goal, String> {
    let names: Vec<&str> = Goal::ALL.iter().map(|g| g.name()).collect();
    Goal::named(text).ok_or_else(|| format!("no such goal; there are {}", names.join(", ")))
}

/// `longfat completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
  bash: longfat completions bash > ~/.local/share/bash-completion/completions/longfat
  zsh:  longfat completions zsh > a folder of $fpath, as _longfat
  fish: longfat completions fish > ~/.config/fish/completions/longfat.fish")]
pub struct CompletionsArgs {
    /// Of which shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `longfat man`.
#[derive(Debug, Args)]
#[command(after_help = "\
  longfat man run | man -l -
  longfat man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Prints the page of this command; default: that of longfat itself.
    #[arg(conflicts_with = "out")]
    pub command: Option<String>,
    /// Writes the pages of all commands into a folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
