//! Options of `longfat measure`.

use super::LangArg;
use clap::Args;
use std::path::PathBuf;
use units::Span;

#[derive(Debug, Args)]
#[command(after_help = "\
Linux only; `longfat serve` must run at HOST (or, with --iperf3, `iperf3 -s`). Takes about a minute and moves as much data as the path carries in that
time. With CAP_NET_RAW (or root) it captures the headers of its own connections and diagnoses them; without, it says
what it cannot tell. `longfat report BEFORE AFTER` compares two measurements; those with --repeat 5 show what is chance.

  longfat measure dc.example.com
  sudo longfat measure 192.0.2.1:4717 --token-file token --out office-line
  longfat measure dc.example.com --quick --expect 'up.goodput >= 18Mbit/s'
  longfat measure dc.example.com --quick --every 10min --for 24h --out day
  sudo longfat measure dc.example.com --repeat 5 --ticket carrier.md
  sudo longfat measure --via branch-gw,hub,dc.example.com

Exit codes: 0 it measured; 1 it measured, and an --expect was not met; 2 bad input, or the server cannot be used.")]
pub struct MeasureArgs {
    /// Name or address of the host that runs `longfat serve`, with an optional port (4717).
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "via")]
    pub host: Option<String>,
    /// Measure the path to the last of these hosts, and each segment on the way: from here to the first, and
    /// from each to the next, by the server there, which must permit it (`longfat serve --onward`). Names
    /// the segment that limits the path.
    #[arg(long, value_name = "HOST[:PORT],...", value_delimiter = ',', num_args = 1,
          conflicts_with_all = ["host", "iperf3", "repeat", "every", "report", "ticket"])]
    pub via: Vec<String>,
    /// The server's token.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The far end runs `iperf3 -s` (port 5201), and this host has iperf3. Measures TCP in both directions
    /// and the cures; there are no trains of datagrams, no delay under load, no path MTU, ECN and DSCP.
    #[arg(long, conflicts_with = "token_file")]
    pub iperf3: bool,
    /// Shorter tests, and no cures: about 15 seconds.
    #[arg(long)]
    pub quick: bool,
    /// Try no cures.
    #[arg(long)]
    pub no_cures: bool,
    /// Measure this many times, and show medians with their spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: Option<u32>,
    /// Measure at this interval, print a line each time and a table at the end. It ends by --for, --repeat
    /// or Ctrl-C, and goes on if a measurement fails.
    #[arg(long, value_name = "TIME")]
    pub every: Option<Span>,
    /// Begin no measurement after this time. Default: until Ctrl-C.
    #[arg(long = "for", value_name = "TIME", requires = "every")]
    pub time: Option<Span>,
    /// Require a result, e.g. `up.goodput >= 90%` of the path's rate, `down.goodput >= 18Mbit/s`,
    /// `idle.rtt <= 40ms` (docs/measure.md); can be given several times. Of several measurements the median
    /// counts. The exit code is 1 if one is not met.
    #[arg(long, value_name = "EXPR")]
    pub expect: Vec<String>,
    /// Print the measurement as one JSON object (docs/measure.md).
    #[arg(long)]
    pub json: bool,
    /// Write measurement.json to a folder; of a single measurement, with CAP_NET_RAW, the headers of the
    /// upload too (upload.pcap); of several, series.parquet.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write an HTML page.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write a page for the carrier (Markdown): what was observed, what is asked, how sure it is, how it was
    /// measured, and how to repeat it.
    #[arg(long, value_name = "FILE.md")]
    pub ticket: Option<PathBuf>,
    /// Show private addresses in the page for the carrier.
    #[arg(long, requires = "ticket")]
    pub addresses: bool,
    /// Language of the sentences, en or zh: in the text, the pages and the JSON object.
    #[arg(long, value_enum, default_value_t = LangArg::En, hide_possible_values = true)]
    pub lang: LangArg,
    /// Show no progress.
    #[arg(long)]
    pub no_progress: bool,
}
