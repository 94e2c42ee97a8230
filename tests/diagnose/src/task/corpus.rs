//! The corpus of the diagnosis.
//!
//! `corpus write SET COUNT --out DIR` writes cases as `DIR/<number>/{scenario.toml,truth.json,capture.pcap}`.
//! `corpus score SET COUNT [--rows FILE]` diagnoses them and prints the scores; `--rows` keeps the rows as
//! CSV. Both take `--from N`, the first number; scoring takes `--program FILE`, another `longfat` to score.
//! SET is `build`, which may be studied while building, or a number that seeds another set; the prefix
//! `world-` selects the set of receivers that do not read and of small messages.

use diagnose_test::judge::Judge;
use diagnose_test::line::Line;
use diagnose_test::{Case, PcapSink, Truth, draw, each, play, score, world};
use result::Diagnosis;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

const USAGE: &str = "corpus write SET COUNT --out DIR [--from N]\n\
                     corpus score SET COUNT [--from N] [--program FILE] [--rows FILE]";

/// A function that draws a case by set and number.
pub type Drawer = fn(u64, u64) -> Case;

pub fn drawer(set: &str) -> (Drawer, &str) {
    match set.strip_prefix("world-") {
        Some(rest) => (world::case, rest),
        None => (draw::case, set),
    }
}

pub fn seed(set: &str) -> Result<u64, String> {
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
    let file = File::create(folder.join("capture.pcap")).map_err(text)?;
    let mut sink = PcapSink::new(BufWriter::new(file)).map_err(text)?;
    let truth = play(case, &mut sink)?;
    sink.finish().map_err(text)?;
    truth.keep(case, &folder)?;
    Ok(truth_line(&truth))
}

/// Formats a case's truth as a line.
fn truth_line(truth: &Truth) -> String {
    let flow_line = |f: &diagnose_test::FlowTruth| {
        let shares = f.shares.iter().map(|s| format!("{} {:.2}", s.0, s.1)).collect::<Vec<_>>();
        format!("{} ({})", f.right.join("|"), shares.join(", "))
    };
    let flows: Vec<String> = truth.flows.iter().map(flow_line).collect();
    format!("{} intended {} at {}: {}", truth.number, truth.intended, truth.vantage, flows.join("; "))
}

/// Lists the wrong verdicts of a case, one a line.
fn wrong(truth: &Truth, diagnosis: &Diagnosis, lines: &[Line]) -> String {
    let mut out = String::new();
    for (flow, line) in truth.flows.iter().zip(lines) {
        let diagnosed = diagnosis.flows.iter().find(|f| f.from == flow.from && f.to == flow.to);
        let policed = line.policed.is_some_and(|policed| policed != line.names_policer());
        if line.is_right() != Some(false) && !policed {
            continue;
        }
        let shares = |list: &mut dyn Iterator<Item = (&str, f64)>| {
            list.take(3).map(|(name, share)| format!("{name} {share:.2}")).collect::<Vec<_>>().join(", ")
        };
        let causes = diagnosed.map(|f| shares(&mut f.causes.iter().map(|c| (c.cause.name(), c.share))));
        out += &format!(
            "wrong: {} (seed {}) {} {}, {:.2} Mbit/s, intended {}: truth {}; verdict {} ({:.2}; {}); limiter {:?} {:?}, found {:?} {:?} {:?}\n",
            truth.number,
            truth.seed,
            truth.vantage,
            flow.from,
            truth.rate_mbps,
            truth.intended,
            shares(&mut flow.shares.iter().map(|s| (&*s.0, s.1))),
            line.verdict,
            line.confidence,
            causes.unwrap_or_default(),
            line.limiter.kind,
            line.limiter.rate,
            line.found.kind,
            line.found.rate,
            line.found.burst,
        );
    }
    out
}

pub fn run(args: &[String]) -> Result<(), String> {
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let [what, set, count, ..] = args else { return Err(USAGE.into()) };
    let (case, set) = drawer(set);
    let (set, count) = (seed(set)?, count.parse::<u64>().map_err(|_| USAGE)?);
    let from = value("--from").map_or(Ok(0), str::parse::<u64>).map_err(|_| USAGE)?;
    match what.as_str() {
        "write" => {
            let folder = Path::new(value("--out").ok_or(USAGE)?);
            each(from..from + count, |n| {
                println!("{}", write(&case(set, n), folder)?);
                Ok(())
            })
            .map(drop)
        }
        "score" => {
            let judge = Judge::new(value("--program"))?;
            let all = each(from..from + count, |n| {
                let (truth, diagnosis, lines) = judge.score(&case(set, n))?;
                Ok((wrong(&truth, &diagnosis, &lines), lines))
            })?;
            let lines: Vec<&Line> = all.iter().flat_map(|case| &case.1).collect();
            if let Some(file) = value("--rows") {
                fs::write(file, Line::table(&lines)).map_err(|e| format!("{file}: {e}"))?;
            }
            all.iter().for_each(|case| print!("{}", case.0));
            println!("\n{} cases. {}\n{}", all.len(), score::tables(&lines), score::calibration(&lines));
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}
