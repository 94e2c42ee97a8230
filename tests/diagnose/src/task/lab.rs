//! `lab SET COUNT [--from N] [--rows FILE] [--out DIR]` runs corpus cases of up to 100 Mbit/s on this
//! machine's kernel, ten seconds each, as root on a quiet machine, and scores their diagnoses. SET is as for
//! `corpus`; `--out` keeps `DIR/<number>/{scenario.toml,truth.json,<host>.pcap}`.
//!
//! `lab kept DIR [--rows FILE]` diagnoses and scores kept runs again.

use diagnose_test::lab::{self, Kept, case, kept_cases};
use diagnose_test::line::Line;
use diagnose_test::{Case, FlowTruth, Truth, score};
use std::fs;
use std::path::Path;

const USAGE: &str = "lab SET COUNT [--from N] [--rows FILE] [--out DIR] | lab kept DIR [--rows FILE]";

/// Runs a case in its own folder and returns its scored flows.
fn play(case: &Case, folder: &Path) -> Result<Vec<Line>, String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (truth, lines) = lab::run(case, folder).map_err(|e| e.to_string())?;
    truth.keep(case, folder)?;
    print(&truth, &lines);
    Ok(lines)
}

/// Scores the flows of a kept case.
fn read(folder: &Path) -> Result<Vec<Line>, String> {
    let kept = Kept::read(folder)?;
    let lines = kept.lines()?;
    print(&kept.truth, &lines);
    Ok(lines)
}

fn print(truth: &Truth, lines: &[Line]) {
    let shares = |f: &FlowTruth| {
        let first: Vec<String> = f.shares.iter().take(3).map(|s| format!("{} {:.2}", s.0, s.1)).collect();
        first.join(", ")
    };
    for (l, flow) in lines.iter().zip(&truth.flows) {
        let right = if l.is_right() == Some(false) { "WRONG " } else { "" };
        println!("{right}{} {} {}: {}; verdict {}", l.case, l.vantage, l.from, shares(flow), l.verdict);
    }
}

/// Runs cases of a set and keeps them in `out`.
fn play_all(set: &str, (from, count): (u64, usize), out: Option<&str>) -> Result<Vec<Line>, String> {
    let set = if set == "build" { 1 } else { set.parse().map_err(|_| USAGE)? };
    let scratch = || std::env::temp_dir().join(format!("longfat-lab-{}", std::process::id()));
    let folder = out.map_or_else(scratch, Into::into);
    let mut lines = Vec::new();
    for case in (from..).filter_map(|n| case(set, n)).take(count) {
        let own = folder.join(case.number.to_string());
        match play(&case, &own) {
            Ok(case_lines) => lines.extend(case_lines),
            Err(e) => println!("{}: {e}", case.number),
        }
        if out.is_none() {
            let _ = fs::remove_dir_all(own);
        }
    }
    if out.is_none() {
        fs::remove_dir_all(&folder).map_err(|e| e.to_string())?;
    }
    Ok(lines)
}

pub fn run(args: &[String]) -> Result<(), String> {
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let [set, count, ..] = args else { return Err(USAGE.into()) };
    let lines = if set == "kept" {
        let cases = kept_cases(Path::new(count))?;
        cases.iter().map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?.concat()
    } else {
        let from = value("--from").map_or(Ok(0), str::parse).map_err(|_| USAGE)?;
        play_all(set, (from, count.parse().map_err(|_| USAGE)?), value("--out"))?
    };
    let lines: Vec<&Line> = lines.iter().collect();
    if let Some(file) = value("--rows") {
        fs::write(file, Line::table(&lines)).map_err(|e| format!("{file}: {e}"))?;
    }
    println!("\n{}", score::tables(&lines));
    Ok(())
}
