//! The command line of `longfat-pair`.

use clap::Parser;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Carry connections and datagrams between two proxies over QUIC, where the kernel at the far end cannot be
/// changed.
#[derive(Debug, Parser)]
#[command(name = "longfat-pair", version = env!("LONGFAT_VERSION"), after_help = "\
Linux only. Runs one end of a pair. If the configuration file has `listeners`, the TCP proxy runs too. See docs/pair.md and
docs/proxy.md for the file format.

Examples:
  longfat-pair --make-key near.key        # prints the public key; make far.key at the other end the same way
  longfat-pair --pair-listen 0.0.0.0:4433 --upstream 10.9.0.1:443 --key far.key --peer-key NEAR    # near the servers
  longfat-pair --listen :8443 --pair far.example.com:4433 --key near.key --peer-key FAR            # near the users

Signals: SIGTERM or Ctrl-C waits for open connections to end (at most drain_timeout); a second one stops at once. SIGHUP
reloads the file. The log goes to standard error, one JSON object per line.

Exit codes: 0 stopped by a signal; 1 stopped by an error while running; 2 bad input, or not possible on this machine.")]
pub struct PairArgs {
    /// Read the configuration from this TOML file.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["pair", "pair_listen", "make_key", "man", "completions"], conflicts_with_all = ["listen", "upstream", "pace", "pair", "pair_listen", "key", "peer_key"])]
    pub config: Option<PathBuf>,
    /// Send connections over QUIC to the other half at this HOST:PORT.
    #[arg(long, value_name = "ADDR", requires_all = ["listen", "key", "peer_key"], conflicts_with = "upstream")]
    pub pair: Option<proxy::HostPort>,
    /// Accept clients at this ADDRESS:PORT, or at :PORT on every address.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<proxy::ListenAt>,
    /// Be the other half: accept QUIC from the peer at this address and forward its connections to
    /// --upstream.
    #[arg(long, value_name = "ADDR", requires_all = ["upstream", "key", "peer_key"], conflicts_with_all = ["listen", "pair"])]
    pub pair_listen: Option<SocketAddr>,
    /// Forward connections to this server, HOST:PORT; may be repeated, then the servers are attempts in
    /// order.
    #[arg(long, value_name = "ADDR")]
    pub upstream: Vec<proxy::HostPort>,
    /// The file with the private key of this half.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The public key of the other half.
    #[arg(long, value_name = "KEY")]
    pub peer_key: Option<proxy::PublicKey>,
    /// The congestion control towards the other half: contract, bbr3, bbr-hsr, bbr, cubic or reno.
    #[arg(long, value_name = "NAME", default_value = "contract")]
    pub pair_cc: String,
    /// Send at most this rate to the other half, for example 20Mbit/s.
    #[arg(long, value_name = "RATE")]
    pub pace: Option<units::Rate>,
    /// Write a new private key to this file, print its public key and exit.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "listen", "pair_listen"])]
    pub make_key: Option<PathBuf>,
    /// Check the configuration, print any errors and exit.
    #[arg(long)]
    pub check: bool,
    /// Print the completion script for a shell and exit.
    #[arg(long, value_name = "SHELL", exclusive = true)]
    pub completions: Option<clap_complete::Shell>,
    /// Print the manual page and exit.
    #[arg(long, exclusive = true)]
    pub man: bool,
}
