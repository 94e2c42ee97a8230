//! The options of `longfat watch`.

use super::LangArg;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use units::Span;

/// `longfat watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Two sources are joined: what the kernel counts of each socket, which every user may see of this network namespace, and the
headers of packets, for which CAP_NET_RAW is needed (root has it). Without the second it says what it cannot tell.
COMMAND keeps its input and output; the diagnosis goes to standard error when it has ended.

  longfat watch -- curl -o /dev/null https://example.org/big.iso
  sudo longfat watch --for 30s -- rsync -a big/ backup:
  sudo longfat watch --pid 4711 --for 1min
  sudo longfat watch -i eth0 --filter 'host 192.0.2.1 port 443' --for 30s

Exit code: the command's own, or 128 and the number of the signal that ended it; 127 when it was not found, 126 when it
cannot be run; 2 bad input. Without a command: 0 ok, 1 there was no flow, 2 bad input.")]
pub struct WatchArgs {
    /// Watches the connections of this process and those it starts.
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Captures packets of this network device only; default: of all.
    #[arg(short, long, value_name = "DEVICE")]
    pub interface: Option<String>,
    /// Only packets and sockets that match: `host ADDR[/BITS]` and `port N`; of several hosts, or ports, any.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// For how long, for example 30s; default: until the command, or the process, has ended, or Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
    /// Writes the headers that were captured to this file (pcap).
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Prints the diagnosis as one JSON object on standard output instead of text (docs/diagnosis-schema.md).
    #[arg(long)]
    pub json: bool,
    /// Writes a page to look at: plots of the flows with most bytes.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Writes diagnosis.json, flows.parquet and packets.parquet into a folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Language of the text, and of the page when it is opened.
    #[arg(long, value_enum, default_value_t = LangArg::En)]
    pub lang: LangArg,
    /// A program and its arguments: it is started, and its connections and those of its children are watched.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
