//! How fast captures are read: `cargo run --release -p longfat-capture --example read_speed -- FILE…`
//!
//! Each file is read once to bring it into the system's cache, then five times; the fastest pass counts.

#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use capture::{Batch, OpenError, Reader};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), OpenError> {
    for file in std::env::args_os().skip(1) {
        let path = Path::new(&file);
        pass(path)?;
        let mut best: Option<(Duration, Reader)> = None;
        for _ in 0..5 {
            let now = pass(path)?;
            if best.as_ref().is_none_or(|b| now.0 < b.0) {
                best = Some(now);
            }
        }
        let Some((took, reader)) = best else { continue };
        let info = reader.info();
        let ns = took.as_nanos() as f64 / info.packets.max(1) as f64;
        println!(
            "{}: {}, {} packets ({} TCP), {:.1} MB in {:.3} s: {ns:.1} ns each, {:.1} million packets/s",
            info.file,
            info.format,
            info.packets,
            info.tcp_packets,
            reader.progress().0 as f64 / 1e6,
            took.as_secs_f64(),
            1e3 / ns,
        );
        if let Some(damage) = info.damage {
            println!("  damage at {}: {}", damage.offset, damage.what);
        }
        for c in info.tunnels.iter().chain(&info.other) {
            println!("  {}: {}", c.name, c.count);
        }
    }
    Ok(())
}

/// One pass over a file and its time.
fn pass(path: &Path) -> Result<(Duration, Reader), OpenError> {
    let begin = Instant::now();
    let mut reader = Reader::open(path)?;
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {
        std::hint::black_box(&batch.packets);
        batch.clear();
    }
    Ok((begin.elapsed(), reader))
}
