//! Options of `longfat measure`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Linux only; `longfat serve` must run at HOST. Takes about a minute and moves as much data as the path carries in that
time. With CAP_NET_RAW (or root) it captures the headers of its own connections and diagnoses them; without, it says
what it cannot tell.

  longfat measure dc.example.com
  sudo longfat measure 192.0.2.1:4717 --token-file token --out office-line
  longfat measure dc.example.com --quick --expect 'up.goodput >= 18Mbit/s'

Exit codes: 0 it measured; 1 it measured, and an --expect was not met; 2 bad input, or the server cannot be used.")]
pub struct MeasureArgs {
    /// Name or address of the host that runs `longfat serve`, with an optional port (4717).
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// The server's token.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Shorter tests, and no cures: about 15 seconds.
    #[arg(long)]
    pub quick: bool,
    /// Try no cures.
    #[arg(long)]
    pub no_cures: bool,
    /// Require a result, e.g. `up.goodput >= 90%` of the path's rate, `down.goodput >= 18Mbit/s`,
    /// `idle.rtt <= 40ms` (docs/measure.md); can be given several times. The exit code is 1 if one is not
    /// met.
    #[arg(long, value_name = "EXPR")]
    pub expect: Vec<String>,
    /// Print the measurement as one JSON object (docs/measure.md).
    #[arg(long)]
    pub json: bool,
    /// Write measure.json, and with CAP_NET_RAW the headers of the upload (upload.pcap), to a folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show no progress.
    #[arg(long)]
    pub no_progress: bool,
}
