//! `corpus SET COUNT --out DIR [--from N]`: writes cases as `DIR/<number>/{scenario.toml,truth.json,capture.pcap}`.
//! SET is a name or number that seeds the set.

use diagnose_test::{Case, PcapSink, draw, play};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// The seed of a set: `build` is for looking at; the judge's is a number given when it is judged.
fn seed(set: &str) -> Result<u64, String> {
    if set == "build" {
        Ok(1)
    } else {
        set.parse().map_err(|_| format!("{set}: neither `build` nor a number"))
    }
}

fn write(case: &Case, folder: &Path) -> Result<String, String> {
    let folder = folder.join(case.number.to_string());
    let text = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::create_dir_all(&folder).map_err(text)?;
    fs::write(folder.join("scenario.toml"), &case.text).map_err(text)?;
    let file = File::create(folder.join("capture.pcap")).map_err(text)?;
    let mut sink = PcapSink::new(BufWriter::new(file)).map_err(text)?;
    let truth = play(case, &mut sink)?;
    sink.finish().map_err(text)?;
    let json = serde_json::to_string_pretty(&truth).map_err(|e| e.to_string())?;
    fs::write(folder.join("truth.json"), json).map_err(text)?;
    let flows: Vec<String> =
        truth.flows.iter().map(|f| format!("{}={:?}", f.right.join("|"), f.shares)).collect();
    Ok(format!("{} meant {} at {}: {}", case.number, truth.meant, truth.vantage, flows.join("; ")))
}

fn run() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let usage = "corpus SET COUNT --out DIR [--from N]";
    let [set, count, ..] = &args[..] else { return Err(usage.into()) };
    let (set, count) = (seed(set)?, count.parse::<u64>().map_err(|_| usage)?);
    let from = value("--from").map_or(Ok(0), |n| n.parse::<u64>()).map_err(|_| usage)?;
    let folder = Path::new(value("--out").ok_or(usage)?);
    let next = AtomicU64::new(from);
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= from + count {
                    return Ok::<(), String>(());
                }
                println!("{}", write(&draw::case(set, n), folder)?);
            }
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|t| t.join().map_err(|_| "a case panicked".to_string())?)
    })
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}
