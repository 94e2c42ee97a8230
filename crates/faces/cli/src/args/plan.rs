//! `longfat plan`.

use clap::Args;
use result::ChangePlace;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use units::{Goal, Span};

/// `longfat plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Tries cures in the simulator, alone and together, ranks them and prints one sentence, what to do, the facts that it
rests on, a table, and the commands that make the change, with what they need and how to undo them. Rows marked =
make no difference, rows marked - make it worse, rows marked ! ruin a call, game, page or other flow of the
scenario and are never advised. Gains are measured with the same seeds with and without the cure.

  longfat plan sdwan-limiter
  longfat plan sdwan-limiter --only sender
  longfat plan home-line --objective 'p95 delay' --keep link
  longfat plan sdwan-limiter --commands shaper-front-fifo
  longfat plan trace.pcap --only sender-edge

Exit codes: 0 a cure is advised; 1 none of those tried helps; 2 bad input; 130 ended by Ctrl-C.")]
pub struct PlanArgs {
    /// Scenario file (TOML), a built-in example, or what `longfat fit` reads, which is fitted first; `-` reads a scenario from standard input.
    pub scenario: PathBuf,
    /// The variant that is to be made faster; default: the baseline, or the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Where something can be changed, with commas between: sender, receiver, sender-edge, limiter, path; default: everywhere.
    #[arg(long, value_name = "WHERE,…", value_delimiter = ',', value_parser = place)]
    pub only: Vec<ChangePlace>,
    /// A stage that stays as it is, by kind (`policer`) or name (`link.direction.stage`); may be given several times.
    #[arg(long, value_name = "STAGE")]
    pub keep: Vec<String>,
    /// The largest 95th percentile of round trips that is accepted.
    #[arg(long, value_name = "TIME")]
    pub max_delay: Option<Span>,
    /// A flow that must lose nothing, by name; `udp`: all datagrams, `voice`: a call added to the data; may be given
    /// several times.
    #[arg(long, value_name = "FLOW")]
    pub no_loss_for: Vec<String>,
    /// What cures are ranked by; default: the first of the scenario's `goal`, else what its flows are for: delay where there is a
    /// call or a game, times where something is waited for, else goodput.
    #[arg(long, value_name = "GOAL", value_parser = super::goal)]
    pub objective: Option<Goal>,
    /// How many cures run for the whole duration of the scenario.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub finalists: u32,
    /// Seeds of each of them.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub repeat: u32,
    /// Prints the commands of this cure instead of the best one's.
    #[arg(long, value_name = "CURE")]
    pub commands: Option<String>,
    /// Runs the first N cures on this machine's kernel, in real time, with the printed commands as far as the kernel has
    /// what they need, beside what was predicted; needs root.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub prove: Option<u32>,
    /// Overrides a key of the scenario, as in `longfat run`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Lets the scenario name files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// Writes goodput against delay of the finalists, and which of them no other beats in both.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Writes the plan as a page: the sentence, that plot, the table, what to type.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Prints one JSON object instead of text (docs/plan.schema.json).
    #[arg(long)]
    pub json: bool,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// How many runs at a time; default: one for each core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// One of [`ChangePlace::ACTORS`].
fn place(text: &str) -> Result<ChangePlace, String> {
    let known = || ChangePlace::ACTORS.map(|p| p.name()).join(", ");
    ChangePlace::actor(text.trim()).ok_or_else(|| format!("there are: {}", known()))
}
