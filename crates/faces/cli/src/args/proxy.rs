//! `longfat proxy`.

use clap::Args;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `longfat proxy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Linux only. Ends each connection here and carries it on to the upstream: each side has its own congestion control, pacing and
buffers. It goes nowhere but where it is told to. docs/proxy.md describes the file.

  longfat proxy --listen :8443 --upstream dc.example.com:443 --upstream-cc bbr
  longfat proxy --config /etc/longfat/proxy.toml

Two proxies that QUIC joins are a program of its own, longfat-pair: docs/pair.md.

Signals: SIGTERM and Ctrl-C let connections end (--drain-timeout), a second one ends at once; SIGHUP reads the file anew.
The log, a JSON object a line, goes to standard error.

Exit codes: 0 ended as asked; 2 bad input, or what this machine cannot do.")]
pub struct ProxyArgs {
    /// The configuration, TOML.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["listen", "pair", "pair_listen", "make_key"], conflicts_with_all = ["listen", "upstream", "upstream_cc", "client_cc", "pace", "status"])]
    pub config: Option<PathBuf>,
    /// Where to listen: ADDRESS:PORT, :PORT for every address, systemd:NAME for a socket that systemd hands over.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<proxy::ListenAt>,
    /// Where to go: HOST:PORT; several are tried in turn.
    #[arg(long, value_name = "ADDR")]
    pub upstream: Vec<proxy::HostPort>,
    /// Congestion control towards the upstream: the kernel's, or one of `longfat cc list`.
    #[arg(long, value_name = "NAME")]
    pub upstream_cc: Option<String>,
    /// Congestion control towards the client.
    #[arg(long, value_name = "NAME")]
    pub client_cc: Option<String>,
    /// The most that each connection sends, to either side, for example 20Mbit/s.
    #[arg(long, value_name = "RATE")]
    pub pace: Option<units::Rate>,
    /// Metrics and status page on this loopback address, for example 127.0.0.1:9180.
    #[arg(long, value_name = "ADDR")]
    pub status: Option<SocketAddr>,
    /// Checks the configuration, says what is wrong, and does not run.
    #[arg(long)]
    pub check: bool,
    /// What `longfat-pair` takes.
    #[command(flatten)]
    pub pair: PairOptions,
}

/// Options of `longfat-pair`, which `longfat proxy` knows only to name that program.
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
    /// Whether one of them was given.
    pub fn is_any(&self) -> bool {
        let all = [&self.pair, &self.pair_listen, &self.key, &self.peer_key, &self.pair_cc, &self.make_key];
        all.iter().any(|option| option.is_some())
    }
}
