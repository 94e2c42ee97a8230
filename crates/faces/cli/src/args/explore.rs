//! `longfat explore`.

use clap::Args;
use std::path::PathBuf;

/// `longfat explore`.
#[derive(Debug, Args)]
#[command(after_help = "\
The page is one file with the simulator in it, as WebAssembly: it runs in the browser and asks nothing of
any network. Only programs of this machine can reach it here. Ctrl-C ends it.

  longfat explore
  longfat explore --port 8080
  longfat explore --write public/

What --write leaves works from any web server, and opened from the disk.

Exit codes: 0 it is written; 2 the port is taken, or the file cannot be written.")]
pub struct ExploreArgs {
    /// Port on 127.0.0.1; default: one that is free.
    #[arg(long, value_name = "PORT", conflicts_with = "write")]
    pub port: Option<u16>,
    /// Writes the page, index.html, into a folder instead of serving it.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Prints one JSON object, the address or the file written, instead of text.
    #[arg(long)]
    pub json: bool,
}
