//! The command line of `longfat-pair`.

use clap::Parser;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Carries connections and datagrams to a second proxy by QUIC, over a stretch whose far kernel cannot be changed.
#[derive(Debug, Parser)]
#[command(name = "longfat-pair", version = env!("LONGFAT_VERSION"), after_help = "\
Linux only. Runs one end of a pair, and the TCP proxy of the same file where it has `listeners`. docs/pair.md and docs/proxy.md
describe the file.

  longfat-pair --make-key near.key        # prints the public key; likewise far.key at the other end
  longfat-pair --pair-listen 0.0.0.0:4433 --upstream 10.9.0.1:443 --key far.key --peer-key NEAR    # near the servers
  longfat-pair --listen :8443 --pair far.example.com:4433 --key near.key --peer-key FAR            # near the users

Signals: SIGTERM and Ctrl-C let connections end (drain_timeout), a second one ends at once; SIGHUP reads the file again.
The log, a JSON object a line, goes to standard error.

Exit codes: 0 a signal ended it; 1 it ended by itself; 2 bad input, or what this machine cannot do.")]
pub struct PairArgs {
    /// The configuration, TOML.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["pair", "pair_listen", "make_key", "man", "completions"], conflicts_with_all = ["listen", "upstream", "pace", "pair", "pair_listen", "key", "peer_key"])]
    pub config: Option<PathBuf>,
    /// The other half: connections go to it by QUIC, and it carries them on. HOST:PORT.
    #[arg(long, value_name = "ADDR", requires_all = ["listen", "key", "peer_key"], conflicts_with = "upstream")]
    pub pair: Option<proxy::HostPort>,
    /// Where clients connect to: ADDRESS:PORT, or :PORT for every address.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<proxy::ListenAt>,
    /// Is that other half: takes QUIC of the peer here, and carries its connections on to the upstream.
    #[arg(long, value_name = "ADDR", requires_all = ["upstream", "key", "peer_key"], conflicts_with_all = ["listen", "pair"])]
    pub pair_listen: Option<SocketAddr>,
    /// Where to go: HOST:PORT; several are tried in turn.
    #[arg(long, value_name = "ADDR")]
    pub upstream: Vec<proxy::HostPort>,
    /// This half's private key.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The other half's public key.
    #[arg(long, value_name = "KEY")]
    pub peer_key: Option<proxy::PublicKey>,
    /// Congestion control of what is sent to the other half: contract, bbr3, bbr-hsr, bbr, cubic or reno.
    #[arg(long, value_name = "NAME", default_value = "contract")]
    pub pair_cc: String,
    /// The most that is sent to the other half, for example 20Mbit/s.
    #[arg(long, value_name = "RATE")]
    pub pace: Option<units::Rate>,
    /// Writes a new private key to the file, prints its public key, and does not run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "listen", "pair_listen"])]
    pub make_key: Option<PathBuf>,
    /// Checks the configuration, says what is wrong, and does not run.
    #[arg(long)]
    pub check: bool,
    /// Prints completions for a shell, and does not run.
    #[arg(long, value_name = "SHELL", exclusive = true)]
    pub completions: Option<clap_complete::Shell>,
    /// Prints the manual page, and does not run.
    #[arg(long, exclusive = true)]
    pub man: bool,
}
