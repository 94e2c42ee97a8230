//! `longfat proxy`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `longfat proxy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Linux only. Ends each connection here and carries it on to the upstream: each side has its own congestion control, pacing and
buffers. It goes nowhere but where it is told to. docs/proxy.md describes the file.

  longfat proxy --listen :8443 --upstream dc.example.com:443 --upstream-cc bbr
  longfat proxy --config /etc/longfat/proxy.toml

Signals: SIGTERM and Ctrl-C let connections end (--drain-timeout), a second one ends at once; SIGHUP reads the file anew.
The log, a JSON object a line, goes to standard error.

Exit codes: 0 ended as asked; 2 bad input, or what this machine cannot do.")]
pub struct ProxyArgs {
    /// The configuration, TOML.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["listen", "pair_listen", "make_key"], conflicts_with_all = ["listen", "upstream", "upstream_cc", "client_cc", "pace", "status", "pair", "pair_listen", "key", "peer_key"])]
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
    /// The other half of this proxy: connections go to it by QUIC, and it carries them on. HOST:PORT.
    #[arg(long, value_name = "ADDR", requires_all = ["listen", "key", "peer_key"], conflicts_with_all = ["upstream", "client_cc", "status"])]
    pub pair: Option<proxy::HostPort>,
    /// Is that other half: takes QUIC of the peer here, and carries its connections on to the upstream.
    #[arg(long, value_name = "ADDR", requires_all = ["upstream", "key", "peer_key"], conflicts_with_all = ["listen", "pair", "client_cc", "status"])]
    pub pair_listen: Option<SocketAddr>,
    /// This half's private key.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The other half's public key.
    #[arg(long, value_name = "KEY")]
    pub peer_key: Option<proxy::PublicKey>,
    /// Congestion control of what is sent to the other half: contract, bbr3, bbr-hsr, bbr, cubic or reno.
    #[arg(long, value_name = "NAME", default_value = "contract")]
    pub pair_cc: String,
    /// Writes a new private key to the file, prints its public key, and does not run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "listen", "pair_listen"])]
    pub make_key: Option<PathBuf>,
    /// Checks the configuration, says what is wrong, and does not run.
    #[arg(long)]
    pub check: bool,
}
