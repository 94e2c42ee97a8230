//! Options of `longfat serve`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use units::{Bytes, Rate, Span};

#[derive(Debug, Args)]
#[command(after_help = "\
Linux only; any user may run it. It tests with whoever connects, so use --token-file where strangers can reach it. It
sends datagrams only to the address of a client that has completed a TCP handshake. Let TCP and UDP of its port pass.

  longfat serve
  longfat serve --listen 192.0.2.1:4717 --token-file token --max-rate 500Mbit/s --for 1h

The log goes to standard error. Ctrl-C and SIGTERM end it, and every test that runs.

Exit codes: 0 ended by a signal or --for; 2 bad input, or it cannot listen.")]
pub struct ServeArgs {
    /// Listen at this address and port, TCP and UDP. Default: [::]:4717, every address.
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Test only with clients that know the token in this file (at least 16 bytes). It is never sent.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Number of clients that may test at the same time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub max_clients: u32,
    /// Number of tests at the same time from one address.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub max_per_address: u32,
    /// Greatest rate of each client's tests; downloads are paced then. Default: no limit.
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<Rate>,
    /// Bytes that a client may transfer, in both directions together.
    #[arg(long, value_name = "BYTES", default_value = "16GB")]
    pub max_bytes: Bytes,
    /// Time that a client may take.
    #[arg(long, value_name = "TIME", default_value = "5min")]
    pub max_time: Span,
    /// Also measure the path from here to this host, whose server has the same token, for a client of
    /// `longfat measure --via`; can be given several times. Default: to none.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub onward: Vec<String>,
    /// End after this time. Default: at Ctrl-C or SIGTERM.
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
}
