//! `longfat fit`.

use super::FilterArgs;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `longfat fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Of a capture the path that carried most is fitted: base RTT, the limiter's kind, rate and bucket, queue, random loss and
jitter; and its flows: congestion control, windows, what their applications did. What the diagnosis knows is where it
begins; the rest is searched by simulation until goodput, round trips and retransmissions are those of the capture.

  longfat fit trace.pcap -o path.toml
  longfat fit trace.pcap.xz --port 443 --from 60 --to 90 -o path.toml
  longfat fit trace.pcap -o path.toml && longfat run path.toml --set flows.f1.cc=bbr
  while sleep 0.2; do date +%s.%N; ss -tinO -o dst 192.0.2.1; done > ss.log    # ended with Ctrl-C
  longfat fit ss.log -o path.toml

Exit codes: 0 there is a fit; 1 there is none, as no limiter can be told or the capture shows no path; 2 bad input; 130 ended by Ctrl-C.")]
pub struct FitArgs {
    /// The capture; `-` reads standard input. Or what `iperf3 -J` printed, outputs of `ss -tin` one after the other, or the result
    /// folder of a run, which show less; iperf's table or one output of `ss` give a verdict without a scenario.
    pub capture: PathBuf,
    /// The scenario; default: standard output, and the fit on standard error.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Of a result folder: the variant; default: the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Replaces a file that is there.
    #[arg(long)]
    pub force: bool,
    /// Prints one JSON object instead of text, the scenario in it, or the verdict where there is none (docs/fit.schema.json).
    #[arg(long)]
    pub json: bool,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// How many runs at a time; default: one for each core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
