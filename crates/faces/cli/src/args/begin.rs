//! Options of the commands for beginners: `examples`, `new`, `completions`, `man`.

use app::expect::share;
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use congestion::Control;
use std::path::PathBuf;
use units::{Bytes, Goal, Rate, Span};

#[derive(Debug, Args)]
#[command(after_help = "\
Without a command it lists the examples. `longfat run NAME` and `longfat shell NAME` use a built-in example if there is
no file of that name.

  longfat examples
  longfat run home-line
  longfat examples copy home-line my-line.toml")]
pub struct ExamplesArgs {
    #[command(subcommand)]
    pub command: Option<ExamplesCommand>,
    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ExamplesCommand {
    /// Print an example.
    Show {
        /// Name of the example.
        name: String,
    },
    /// Copy an example to a file of your own.
    Copy {
        /// Name of the example.
        name: String,
        /// File or folder to write to. Default: NAME.toml in the current folder.
        path: Option<PathBuf>,
        /// Overwrite an existing file.
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Default, Args)]
#[command(after_help = "\
Writes a scenario of a client and a server with one limiter between them, with variants to compare: each
congestion control with the present limiter and with what could help. For a policer that is a carrier that
shapes instead of policing (shaper-CC), and a shaper of one's own in front of the policer (edge-shaper-CC); for
long queues, short ones. Without any option that describes the path it asks, on a terminal; otherwise it takes
the defaults for options that are not given.

  longfat new
  longfat new --limiter policer --rate 20Mbit/s --burst 9kB --rtt 30ms --cc cubic,bbr -o mine.toml
  longfat new --limiter link --rate 10Mbit/s --direction both -o line.toml

Exit codes: 0 the scenario is written; 2 it is not.")]
pub struct NewArgs {
    /// Name of the scenario. Default: that of the file, or my-path.
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub path: PathArgs,
    /// Number of simultaneous TCP connections [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub flows: Option<u32>,
    /// Congestion controls to compare [default: cubic,bbr].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = control)]
    pub cc: Vec<String>,
    /// Duration of each run [default: 20s].
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Goals that variants are judged by, the most important first [default: goodput].
    #[arg(long, value_name = "GOAL,…", value_delimiter = ',', value_parser = goal)]
    pub goal: Vec<Goal>,
    /// File to write; `-` is standard output. Default: NAME.toml.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Ask nothing, also without other options; use the defaults.
    #[arg(long)]
    pub yes: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
}

/// Options that describe a path by its limiter, delay and loss.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct PathArgs {
    /// Limiter of the path [default: policer].
    #[arg(long, value_enum)]
    pub limiter: Option<LimiterArg>,
    /// Rate of the limiter, counted in IP packets [default: 20Mbit/s].
    #[arg(long)]
    pub rate: Option<Rate>,
    /// Token bucket of a policer or shaper. Default: for a policer 250 ms of the rate, as Cisco IOS chooses;
    /// a smaller bucket drops more.
    #[arg(long, value_name = "BYTES")]
    pub burst: Option<Bytes>,
    /// Rate of the limiter for downloads, if it differs from that for uploads; implies --direction both.
    #[arg(long, value_name = "RATE")]
    pub down_rate: Option<Rate>,
    /// Token bucket for downloads. Default: as large as --burst, or as routers choose for --down-rate.
    #[arg(long, value_name = "BYTES", requires = "down_rate")]
    pub down_burst: Option<Bytes>,
    /// Length of the queue before the limiter, in packets; for a policer, of the shaper that replaces it
    /// [default: 100].
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub queue: Option<u64>,
    /// Direction of the transfer, which the limiter and the loss apply to [default: up].
    #[arg(long, value_enum)]
    pub direction: Option<DirectionArg>,
    /// Round-trip time of the idle path [default: 30ms].
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<Span>,
    /// Share of packets lost at random, e.g. 0.1% or 0.001 [default: 0%].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub loss: Option<f64>,
}

/// The kind of element that limits a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LimiterArg {
    /// Drops packets that exceed the rate and the burst.
    Policer,
    /// Delays packets to its rate after a burst.
    Shaper,
    /// Sends one packet after another at its rate, like a line.
    Link,
}

/// The direction of the data on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DirectionArg {
    /// From client to server, as in an upload.
    Up,
    /// From server to client, as in a download.
    Down,
    /// Both at the same time, each with its own limiter.
    Both,
}

/// Checks the name of a congestion control.
pub fn control(text: &str) -> Result<String, String> {
    let known = || format!("no such congestion control; there are {}", congestion::NAMES.join(", "));
    Control::named(text).map(|_| text.to_string()).ok_or_else(known)
}

/// Parses the name of a goal.
pub fn goal(text: &str) -> Result<Goal, String> {
    let names: Vec<&str> = Goal::ALL.iter().map(|g| g.name()).collect();
    Goal::named(text).ok_or_else(|| format!("no such goal; there are {}", names.join(", ")))
}

#[derive(Debug, Args)]
#[command(after_help = "\
  bash: longfat completions bash > ~/.local/share/bash-completion/completions/longfat
  zsh:  longfat completions zsh > DIR/_longfat    (DIR is a folder of $fpath)
  fish: longfat completions fish > ~/.config/fish/completions/longfat.fish")]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
  longfat man run | man -l -
  longfat man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Print the page of this command. Default: the page of longfat itself.
    #[arg(conflicts_with = "out")]
    pub command: Option<String>,
    /// Write the pages of all commands to a folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
