//! Options of `longfat check`.

use app::expect::share;
use clap::Args;
use std::path::PathBuf;
use units::{Bytes, Rate, Span};

#[derive(Debug, Args)]
#[command(after_help = "\
Only reads; changes nothing. Without root it sees its own network namespace and those of this user's processes, and
lists what it could not see.

  longfat check
  longfat check --rate 100Mbit/s --rtt 80ms
  longfat check --capture trace.pcap

Exit codes: 0 nothing is wrong; 1 something is wrong; 2 bad input.")]
pub struct CheckArgs {
    /// Rate of the path, counted in IP packets. With a path, its own checks run too and each cost is
    /// simulated.
    #[arg(long, requires = "rtt")]
    pub rate: Option<Rate>,
    /// Round-trip time of the idle path.
    #[arg(long, value_name = "TIME", requires = "rate")]
    pub rtt: Option<Span>,
    /// Token bucket of the policer that enforces the rate.
    #[arg(long, value_name = "BYTES", requires = "rate")]
    pub burst: Option<Bytes>,
    /// Size of the bottleneck's queue. Default: one bandwidth-delay product.
    #[arg(long, value_name = "BYTES", requires = "rate")]
    pub queue: Option<Bytes>,
    /// Share of packets lost at random, e.g. 0.1% or 0.001 [default: 0%].
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "rate")]
    pub loss: Option<f64>,
    /// Take rate, RTT, bucket and queue from a capture's flow with most bytes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "rtt", "burst", "queue", "loss"])]
    pub capture: Option<PathBuf>,
    /// Print JSON (docs/check.schema.json).
    #[arg(long)]
    pub json: bool,
    /// Show no progress bar.
    #[arg(long)]
    pub no_progress: bool,
}
