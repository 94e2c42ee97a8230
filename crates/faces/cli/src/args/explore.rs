//! `longfat explore`.

use clap::Args;
use std::path::PathBuf;

/// `longfat explore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs, diagnoses and searches are made here, by this program; the page shows them. Only programs of this
machine can reach it. Ctrl-C ends it.

  longfat explore
  longfat explore --port 8080
  longfat explore --write public/

What --write leaves needs no longfat: the page has the simulator in it, as WebAssembly, and works from any
web server and opened from the disk. It is compiled from longfat's sources: start it in a clone of them, with
`rustup target add wasm32-unknown-unknown`.

Exit codes: 0 it is written; 2 the port is taken, or the page cannot be built or written.")]
pub struct ExploreArgs {
    /// Port on 127.0.0.1; default: one that is free.
    #[arg(long, value_name = "PORT", conflicts_with = "write")]
    pub port: Option<u16>,
    /// Writes a page that needs no server, index.html, into a folder instead.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Prints one JSON object, the address or the file written, instead of text.
    #[arg(long)]
    pub json: bool,
}
