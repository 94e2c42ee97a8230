//! Speed of reading captures: `cargo run --release -p longfat-capture --example read_speed -- FILE…`
//!
//! Each file is read once to bring it into the system's cache, then five times; the fastest pass counts. The
//! CPU time is that of the reading thread including system calls, without decompression.

#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use capture::{Batch, CaptureReader, OpenError};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), OpenError> {
    for file in std::env::args_os().skip(1) {
        let path = Path::new(&file);
        pass(path)?;
        let (mut took, mut cpu, mut reader) = pass(path)?;
        for _ in 0..4 {
            let again = pass(path)?;
            (took, cpu, reader) = (took.min(again.0), cpu.min(again.1), again.2);
        }
        let info = reader.info();
        let each = |t: Duration| t.as_nanos() as f64 / info.records.max(1) as f64;
        println!(
            "{}: {}, {} packets ({} TCP), {:.1} MB in {:.3} s: {:.1} ns each, {:.1} ns CPU, {:.1} million packets/s",
            info.name,
            info.format,
            info.records,
            info.tcp_packets,
            reader.progress().0 as f64 / 1e6,
            took.as_secs_f64(),
            each(took),
            each(cpu),
            1e3 / each(took),
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

/// Reads a file once: elapsed time and CPU time.
fn pass(path: &Path) -> Result<(Duration, Duration, CaptureReader), OpenError> {
    let (begin, cpu) = (Instant::now(), cpu_time());
    let mut reader = CaptureReader::open(path)?;
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {
        std::hint::black_box(&batch.packets);
        batch.clear();
    }
    Ok((begin.elapsed(), cpu_time().saturating_sub(cpu), reader))
}

/// CPU time of this thread (first number in Linux's schedstat, ns); zero on other systems.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}
