//! Options of `longfat watch`.

use super::LangArg;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use units::Span;

#[derive(Debug, Args)]
#[command(after_help = "\
Combines two sources: the kernel's counters of each socket, which every user can read in this network namespace, and
packet headers, which need CAP_NET_RAW (or root). Without packets the diagnosis says what it cannot tell.
COMMAND keeps its standard input and output; the diagnosis is printed on standard error when it has ended.

  longfat watch -- curl -o /dev/null https://example.org/big.iso
  sudo longfat watch --for 30s -- rsync -a big/ backup:
  sudo longfat watch --pid 4711 --for 1min
  sudo longfat watch -i eth0 --filter 'host 192.0.2.1 port 443' --for 30s

Exit codes: the command's own, or 128 + the number of the signal that ended it; 127 it was not found; 126 it cannot be
executed; 2 bad input. Without a command: 0 success; 1 there was no flow; 2 bad input.")]
pub struct WatchArgs {
    /// Watch the connections of this process and its children.
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Capture packets of this network device only. Default: all devices.
    #[arg(short, long, value_name = "DEVICE")]
    pub interface: Option<String>,
    /// Watch only packets and sockets that match, e.g. `host 192.0.2.0/24 port 443`; several hosts, or
    /// ports, are alternatives.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Stop after this time, e.g. 30s. Default: when the command or process ends, or at Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
    /// Write the captured headers to this pcap file.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Print the diagnosis as one JSON object on standard output (docs/diagnosis-schema.md).
    #[arg(long)]
    pub json: bool,
    /// Write a page with plots of the flows with most bytes.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write diagnosis.json, flows.parquet and packets.parquet to a folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of flows in the table.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Language of the text, and the page's default language.
    #[arg(long, value_enum, default_value_t = LangArg::En)]
    pub lang: LangArg,
    /// Program to start and its arguments; its connections and those of its children are watched.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
