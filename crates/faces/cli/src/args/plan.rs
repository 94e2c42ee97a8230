//! Options of `longfat plan`.

use clap::Args;
use result::ChangePlace;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use units::{Goal, Span};

#[derive(Debug, Args)]
#[command(after_help = "\
Tries cures in the simulator, alone and combined, ranks them, and prints: one sentence of advice, the facts behind it,
a table, and the commands that make the change, with their requirements and how to undo them. Table rows marked = make
no difference, rows marked - make it worse, rows marked ! ruin a call, game, page or other flow of the scenario and are
never advised. Gains are measured with the same seeds with and without the cure.

  longfat plan sdwan-limiter
  longfat plan sdwan-limiter --only sender
  longfat plan home-line --objective 'p95 delay' --keep link
  longfat plan sdwan-limiter --commands shaper-front-fifo
  longfat plan trace.pcap --only sender-edge

Exit codes: 0 a cure is advised; 1 none is: none helps, none is needed, or a capture fits badly; 2 bad input; 130
interrupted by Ctrl-C.")]
pub struct PlanArgs {
    /// Scenario file (TOML) or name of a built-in example; `-` reads a scenario from standard input. A
    /// capture, or other input of `longfat fit`, is fitted first.
    pub scenario: PathBuf,
    /// Variant to make faster. Default: the baseline, or the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Change only these places, separated by commas: sender, receiver, sender-edge, limiter, path. Default:
    /// all.
    #[arg(long, value_name = "WHERE,…", value_delimiter = ',', value_parser = place)]
    pub only: Vec<ChangePlace>,
    /// Do not change this stage, given by kind (`policer`) or name (`link.direction.stage`); can be given
    /// several times.
    #[arg(long, value_name = "STAGE")]
    pub keep: Vec<String>,
    /// Reject cures with a 95th percentile of the RTT above this.
    #[arg(long, value_name = "TIME")]
    pub max_delay: Option<Span>,
    /// Reject cures that lose packets of this flow; `udp` is all UDP flows, `voice` is a call added to the
    /// scenario. Can be given several times.
    #[arg(long, value_name = "FLOW")]
    pub no_loss_for: Vec<String>,
    /// Rank cures by this goal. Default: the first of the scenario's `goal`; else delay if it has a call or
    /// a game, completion times if it has transfers that end, else goodput.
    #[arg(long, value_name = "GOAL", value_parser = super::goal)]
    pub objective: Option<Goal>,
    /// Number of cures that are run for the scenario's whole duration.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub finalists: u32,
    /// Number of seeds that each of these is run with.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub repeat: u32,
    /// Print the commands of this cure instead of the advised one's.
    #[arg(long, value_name = "CURE")]
    pub commands: Option<String>,
    /// Measure the first N cures on this machine's kernel, in real time, using the printed commands where
    /// the kernel supports them, and compare with the prediction; needs root.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub prove: Option<u32>,
    /// Override a key of the scenario, as in `longfat run`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Let the scenario refer to files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// Plot goodput against delay of the finalists, with the Pareto front.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the plan as a page: the advice, the plot, the table and the commands.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON object instead of text (docs/plan.schema.json).
    #[arg(long)]
    pub json: bool,
    /// Show no progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// Number of simultaneous runs. Default: one per core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// Parses one of [`ChangePlace::ACTORS`].
fn place(text: &str) -> Result<ChangePlace, String> {
    let known = || ChangePlace::ACTORS.map(|p| p.name()).join(", ");
    ChangePlace::actor(text.trim()).ok_or_else(|| format!("there are: {}", known()))
}
