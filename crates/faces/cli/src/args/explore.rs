//! Options of `longfat explore`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
This program simulates and diagnoses; the page shows the results. It listens on 127.0.0.1 only. Ctrl-C ends it.

  longfat explore
  longfat explore --port 8080
  longfat explore --write public/

--write makes a page that contains the simulator as WebAssembly: it works from any web server and from the disk,
without longfat. It is compiled from longfat's sources, so run it in a clone of them, after
`rustup target add wasm32-unknown-unknown`.

Exit codes: 0 the page is written; 2 the port is in use, or the page cannot be built or written.")]
pub struct ExploreArgs {
    /// Port on 127.0.0.1. Default: any free port.
    #[arg(long, value_name = "PORT", conflicts_with = "write")]
    pub port: Option<u16>,
    /// Write a page that needs no server to DIR/index.html, and serve nothing.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Print the address, or the written file, as one JSON object.
    #[arg(long)]
    pub json: bool,
}
