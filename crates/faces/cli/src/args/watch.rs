//! Options of `longfat watch`.

use super::LangArg;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use units::Span;

/// What `longfat watch` shows while it watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LiveArg {
    /// Nothing: only the diagnosis at the end.
    Off,
    /// One line a second on standard error: the total, and the busiest connection.
    Lines,
    /// One JSON object a second on standard output (`longfat schema watch`).
    Json,
    /// A view of all connections on the terminal, like `top`.
    View,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Combines two sources: the kernel's counters of each socket, which every user can read in this network namespace, and
packet headers, which need CAP_NET_RAW (or root). Without packets the diagnosis says what it cannot tell.
COMMAND keeps its standard input and output; the diagnosis is printed on standard error when it has ended.

  longfat watch -- curl -o /dev/null https://example.org/big.iso
  sudo longfat watch --for 30s -- rsync -a big/ backup:
  sudo longfat watch --pid 4711 --for 1min
  sudo longfat watch -i eth0 --filter 'host 192.0.2.1 port 443' --for 30s
  sudo longfat watch --container web
  sudo longfat watch --prometheus 127.0.0.1:9417
  sudo longfat watch --live json | jq -c '.connections[0]'

Exit codes: the command's own, or 128 + the number of the signal that ended it; 127 it was not found; 126 it cannot be
executed; 2 bad input. Without a command: 0 success; 1 there was no flow; 2 bad input.")]
pub struct WatchArgs {
    /// Watch the connections of this process and its children.
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Watch the network namespace of this container, named as `longfat check` does, or by its id.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["command", "pid"])]
    pub container: Option<String>,
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
    /// What to show each second. Default: off with a command, a view on a terminal, lines elsewhere.
    #[arg(long, value_enum, value_name = "MODE")]
    pub live: Option<LiveArg>,
    /// Serve metrics for Prometheus at http://ADDR:PORT/metrics instead, without packets and without a
    /// diagnosis at the end, e.g. 127.0.0.1:9417.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        conflicts_with_all = ["command", "interface", "live", "write", "json", "report", "out"]
    )]
    pub prometheus: Option<SocketAddr>,
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
    /// Number of flows in the table, and of connections in an object of `--live json`.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Language of the text, and the page's default language.
    #[arg(long, value_enum, default_value_t = LangArg::En)]
    pub lang: LangArg,
    /// Program to start and its arguments; its connections and those of its children are watched.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
