//! Options of `longfat attach`.

use super::PathArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use units::Span;

#[derive(Debug, Args)]
#[command(after_help = "\
TARGET is docker:NAME, podman:NAME, k8s:NAMESPACE/POD, clab:LAB/NODE, netns:NAME, pid:N, each with an optional :DEVICE
at its end, or dev:DEVICE of this host. Without :DEVICE it is the one with the default route.

PATH is a link of a scenario file or built-in example, FILE#LINK; FILE#LINK.forward is what the target sends,
FILE#LINK.backward what it receives. Without PATH the options --limiter to --loss describe it. A scenario with [attach]
tables in place of TARGET names targets and links (docs/attach.md).

  sudo longfat attach docker:web --limiter policer --rate 20Mbit/s --burst 9kB --rtt 60ms --for 10min
  sudo longfat attach netns:client home-line#line
  sudo longfat attach clab:mylab/r1:eth1 path.toml#wan.forward --only 'host 10.1.0.0/16 port 5432'
  sudo longfat attach docker:db --rate 5Mbit/s --down-rate 50Mbit/s -- ./integration-test.sh
  sudo longfat attach shop.toml --for 10min

Before anything is led through the path, a self-test shows its limit and delay. No address, route or queueing
discipline changes, and packets pass as before when longfat ends, however it ends. Kernels before 6.6 lack tcx; there
clsact and its filters are used, and removed at the end (docs/attach.md).

Exit codes: COMMAND's own, or 128 + the number of the signal that ended it; 127 it was not found; 126 it cannot be
executed. Without a command: 0 success; 1 the target has gone, or the self-test failed; 2 bad input.")]
// Only Linux can attach.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub struct AttachArgs {
    /// What to put a path in front of, or a scenario whose `[attach]` tables name several targets.
    pub target: String,
    /// Scenario and link, FILE#LINK or FILE#LINK.DIRECTION; #LINK may be left out if there is only one.
    #[arg(value_name = "PATH")]
    pub file: Option<String>,
    #[command(flatten)]
    pub path: PathArgs,
    /// Lead only packets through the path that match, e.g. `host 10.1.0.0/16 port 5432`; several hosts, or
    /// ports, are alternatives. Everything else passes untouched.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// End after this time, e.g. 10min. Default: when COMMAND ends, or at Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
    /// Print a line a second: packets passed, dropped and queued, and how late the engine is.
    #[arg(long)]
    pub status: bool,
    /// Print the outcome as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
    /// Write the packets to DIR/target.pcap and DIR/network.pcap (headers only): outgoing ones before and
    /// after the path, incoming ones after and before it. With `[attach]` tables, to DIR/NAME.
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// The target is at the link's second end: it sends what the link carries backward.
    #[arg(long)]
    pub swap: bool,
    /// Variant of the scenario. Default: the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Override a key of the scenario, e.g. `links.wan.forward.policer.rate=20Mbit/s`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of random losses and delays. Default: the scenario's seed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Attach also to the device that carries this login session.
    #[arg(long)]
    pub with_login: bool,
    /// Attach also if the self-test does not show the path.
    #[arg(long)]
    pub unproven: bool,
    /// Attach with classic filters (clsact) even where tcx is there.
    #[arg(long)]
    pub classic: bool,
    /// Program to run, and its arguments; the path is attached as long as it runs.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub struct AttachWatcherArgs {
    /// Number of the device.
    pub device: u32,
    /// Name of the filters' owner.
    pub owner: String,
}
