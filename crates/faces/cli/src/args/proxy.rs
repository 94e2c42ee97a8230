//! Options of `longfat proxy`.

use clap::Args;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Linux only. Terminates each connection and opens a second one to the upstream; each side has its own congestion
control, pacing and buffers. It connects to the configured upstreams only. docs/proxy.md describes the file.

  longfat proxy --listen :8443 --upstream dc.example.com:443 --upstream-cc bbr
  longfat proxy --config /etc/longfat/proxy.toml

For a pair of proxies connected by QUIC there is another program, longfat-pair (docs/pair.md).

Signals: SIGTERM and Ctrl-C wait for connections to end, up to the file's drain timeout; a second one ends at once.
SIGHUP reloads the file. The log, one JSON object per line, goes to standard error.

Exit codes: 0 ended by a signal; 2 bad input, or something this machine does not support.")]
pub struct ProxyArgs {
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE", required_unless_present_any = ["listen", "pair", "pair_listen", "make_key"], conflicts_with_all = ["listen", "upstream", "upstream_cc", "client_cc", "pace", "status"])]
    pub config: Option<PathBuf>,
    /// Listen here: ADDRESS:PORT, :PORT for every address, or systemd:NAME for a socket passed by systemd.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<proxy::ListenAt>,
    /// Connect to this HOST:PORT; if given several times, they are tried in turn.
    #[arg(long, value_name = "ADDR")]
    pub upstream: Vec<proxy::HostPort>,
    /// Congestion control towards the upstream, one of `longfat cc list`.
    #[arg(long, value_name = "NAME")]
    pub upstream_cc: Option<String>,
    /// Congestion control towards the client.
    #[arg(long, value_name = "NAME")]
    pub client_cc: Option<String>,
    /// Pace each connection to at most this rate in either direction, e.g. 20Mbit/s.
    #[arg(long, value_name = "RATE")]
    pub pace: Option<units::Rate>,
    /// Serve metrics and a status page on this loopback address, e.g. 127.0.0.1:9180.
    #[arg(long, value_name = "ADDR")]
    pub status: Option<SocketAddr>,
    /// Check the configuration and exit.
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub pair: PairOptions,
}

/// Options of `longfat-pair`. `longfat proxy` accepts them only to refer the user to that program.
#[derive(Debug, Args)]
pub struct PairOptions {
    #[arg(long, hide = true)]
    pair: Option<OsString>,
    #[arg(long, hide = true)]
    pair_listen: Option<OsString>,
    #[arg(long, hide = true)]
    key: Option<OsString>,
    #[arg(long, hide = true)]
    peer_key: Option<OsString>,
    #[arg(long, hide = true)]
    pair_cc: Option<OsString>,
    #[arg(long, hide = true)]
    make_key: Option<OsString>,
}

impl PairOptions {
    /// Whether any option of `longfat-pair` was given.
    pub fn is_any(&self) -> bool {
        let all = [&self.pair, &self.pair_listen, &self.key, &self.peer_key, &self.pair_cc, &self.make_key];
        all.iter().any(|option| option.is_some())
    }
}
