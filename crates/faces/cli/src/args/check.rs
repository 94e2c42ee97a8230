//! The options of `longfat check`.

use app::expect::share;
use clap::Args;
use std::path::PathBuf;
use units::{Bytes, Rate, Span};

/// `longfat check`.
#[derive(Debug, Args)]
#[command(after_help = "\
It looks and changes nothing. Without root it sees its own network namespace and those of this user's processes, and says what it
did not see.

Exit codes: 0 nothing is wrong; 1 something is; 2 bad input.")]
pub struct CheckArgs {
    /// Rate of the path, of IP packets: what depends on the path is looked at too, and each cost simulated.
    #[arg(long, requires = "rtt")]
    pub rate: Option<Rate>,
    /// Round-trip time of the empty path.
    #[arg(long, value_name = "TIME", requires = "rate")]
    pub rtt: Option<Span>,
    /// The rate is enforced by a policer with a bucket of this size.
    #[arg(long, value_name = "BYTES", requires = "rate")]
    pub burst: Option<Bytes>,
    /// What may wait in front of the rate; default: one bandwidth-delay product.
    #[arg(long, value_name = "BYTES", requires = "rate")]
    pub queue: Option<Bytes>,
    /// Share of packets lost at random, as 0.1% or 0.001 [default: 0%].
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "rate")]
    pub loss: Option<f64>,
    /// Takes rate, round trip, bucket and queue from a packet capture: of its flow with most bytes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "rtt", "burst", "queue", "loss"])]
    pub capture: Option<PathBuf>,
    /// Prints JSON (docs/check.schema.json).
    #[arg(long)]
    pub json: bool,
    /// Shows no progress bar.
    #[arg(long)]
    pub no_progress: bool,
}
