//! Options of `longfat fit`.

use super::FilterArgs;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Fits the path that carried most bytes: base RTT, kind, rate and bucket of the limiter, queue, random loss and jitter;
and its flows: congestion control, windows, and when their applications sent. The search starts from the diagnosis and
simulates until goodput, RTTs and retransmissions match the capture.

  longfat fit trace.pcap -o path.toml
  longfat fit trace.pcap.xz --port 443 --from 60 --to 90 -o path.toml
  longfat fit trace.pcap -o path.toml && longfat run path.toml --set flows.f1.cc=bbr
  while sleep 0.2; do date +%s.%N; ss -tinO -o dst 192.0.2.1; done > ss.log    # ended with Ctrl-C
  longfat fit ss.log -o path.toml

Exit codes: 0 there is a fit; 1 there is none (no limiter can be identified, or the capture shows no path); 2 bad
input; 130 interrupted by Ctrl-C.")]
pub struct FitArgs {
    /// Capture file; `-` reads standard input. Less precise: output of `iperf3 -J`, repeated output of `ss
    /// -tin`, or the result folder of a run. iperf's table or a single output of `ss` give a verdict but no
    /// scenario.
    pub capture: PathBuf,
    /// File for the scenario. Default: standard output, with the report on standard error.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Variant of a result folder. Default: the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object that contains the scenario, or the verdict if there is none
    /// (docs/fit.schema.json).
    #[arg(long)]
    pub json: bool,
    /// Show no progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// Number of simultaneous runs. Default: one per core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
