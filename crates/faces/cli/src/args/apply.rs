//! Options of `longfat apply`.

use clap::Args;
use std::ffi::OsString;
use units::{Rate, Span};

#[derive(Debug, Args)]
#[command(after_help = "\
TARGET is docker:NAME, podman:NAME, k8s:NAMESPACE/POD/CONTAINER, clab:LAB/NODE, pid:N (the process and its descendants),
netns:NAME or cgroup:PATH, with PATH as in /proc/PID/cgroup after `0::`, or the folder.

  sudo longfat apply docker:web --cc bbr --dry-run
  sudo longfat apply docker:web --cc bbr --for 10min
  sudo longfat apply cgroup:/system.slice/postgresql.service --pacing 19Mbit/s --only 'host 10.1.0.0/16 port 5432'
  sudo longfat apply pid:4711 --cc bbr -- ./compare.sh

Connections keep running: nothing is restarted, and listening sockets and settings of the system stay as they are. At
the end, however it ends, each connection gets back what it had (docs/apply.md).

Exit codes: COMMAND's own, or 128 + the number of the signal that ended it; 127 it was not found; 126 it cannot be
executed. Without a command: 0 success; 1 the target has gone, or no connection was changed; 2 bad input.")]
// Only Linux can change connections of others.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub struct ApplyArgs {
    /// Whose connections to change.
    pub target: String,
    /// Congestion control to choose, as `longfat cc list` shows it.
    #[arg(long, value_name = "NAME", required_unless_present = "pacing")]
    pub cc: Option<String>,
    /// Upper limit of each connection's sending rate, e.g. 19.3Mbit/s; its packets are spread over time.
    #[arg(long, value_name = "RATE")]
    pub pacing: Option<Rate>,
    /// Change only connections that match, e.g. `host 10.1.0.0/16 port 5432`; several hosts, or ports, are
    /// alternatives.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// End after this time, e.g. 10min. Default: when COMMAND ends, or at Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
    /// How long to measure before and after the change; with 0s nothing is measured.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub measure: Span,
    /// Only list the connections and what would change.
    #[arg(long, conflicts_with_all = ["time", "command"])]
    pub dry_run: bool,
    /// Print the outcome as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
    /// Program to run, and its arguments; the change lasts as long as it runs.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
