//! Measures the effect of each constant of the diagnosis. `tests/diagnose/constants.py --ablate` makes the
//! constants adjustable at run time (`diagnosis::knob`) in a copy of the tree, and builds this file there.
//!
//! The captures of all sets are tracked once. Then a child process is forked for each constant, halved and
//! doubled. It diagnoses all captures and prints the number of right flows for each set as
//! `<constant> <factor> <set> <right> <total> <bad>`.
//!
//! Constants with numbers from FROM to TO identify congestion controls. They are scored only on traces with
//! labelled controls, and the other constants only on the other sets.
//!
//! `ablate CONSTANTS [--drawn SET COUNT] [--world SET COUNT] [--real DIR] [--nebby DIR] [--controls FROM TO]`

use capture::CaptureReader;
use diagnose_test::controls::{Outcome, SURE};
use diagnose_test::{Case, Truth, draw, judge, nebby, real, world};
use diagnosis::knob;
use linux::process::{self, Forked};
use result::Diagnosis;
use result::diagnosis::CaptureInfo;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use track::Track;

/// The truth of a capture.
enum CaptureTruth {
    Played(Box<Truth>),
    Labelled(Vec<real::Label>),
    Control(String),
}

struct TrackedCapture {
    set: &'static str,
    tracks: Vec<Track>,
    info: CaptureInfo,
    truth: CaptureTruth,
}

/// Flows of a set: right ones, all scored ones, and bad ones. Bad is a false policer, or a wrong congestion
/// control with high confidence.
type Score = [usize; 3];

fn score(capture: TrackedCapture, scores: &mut BTreeMap<&'static str, Score>) {
    let diagnosis: Diagnosis = diagnosis::diagnose_tracks(capture.tracks, capture.info);
    let s = scores.entry(capture.set).or_default();
    let mut add = |right: bool, bad: bool| {
        s[0] += usize::from(right);
        s[1] += 1;
        s[2] += usize::from(bad && !right);
    };
    match capture.truth {
        CaptureTruth::Played(truth) => {
            for line in judge::lines(&truth, &diagnosis) {
                line.is_right().into_iter().for_each(|right| add(right, line.names_policer()));
            }
        }
        CaptureTruth::Labelled(labels) => {
            for row in labels.iter().map(|l| real::row(l, &diagnosis)) {
                add(row.is_right(), row.named.contains(&"policed"));
            }
        }
        CaptureTruth::Control(name) => {
            let row = nebby::row(&name, &diagnosis).expect("a flow");
            let outcome = row.outcome();
            add(outcome == Outcome::Right, outcome == Outcome::Wrong && row.guess.confidence >= SURE);
        }
    }
}

fn drawn(
    set: &'static str,
    count: u64,
    case: impl Fn(u64) -> Case + Sync,
) -> Result<Vec<TrackedCapture>, String> {
    diagnose_test::each(0..count, |n| {
        let (truth, tracks, info) = judge::played(&case(n))?;
        Ok(TrackedCapture { set, tracks, info, truth: CaptureTruth::Played(Box::new(truth)) })
    })
}

fn sets(args: &[String]) -> Result<Vec<TrackedCapture>, String> {
    let after = |name: &str| args.iter().position(|a| a == name).map(|i| &args[i + 1..]);
    let number = |text: &String| text.parse::<u64>().map_err(|e| format!("{text}: {e}"));
    let mut out = Vec::new();
    if let Some([set, count, ..]) = after("--drawn") {
        let set = number(set)?;
        out.extend(drawn("drawn", number(count)?, |n| draw::case(set, n))?);
    }
    if let Some([set, count, ..]) = after("--world") {
        let set = number(set)?;
        out.extend(drawn("world", number(count)?, |n| world::case(set, n))?);
    }
    if let Some([folder, ..]) = after("--real") {
        let mut labels = real::labels("real.csv", include_str!("../real.csv"))?;
        labels.retain(|l| l.half == "build");
        let (captures, missing) = real::captures(Path::new(folder), &labels)?;
        eprintln!("{folder}: {missing} captures of the build half are missing");
        for (file, labels) in captures {
            let reader = CaptureReader::open(&file).map_err(|e| e.to_string())?;
            let (tracks, info) = judge::read_tracks(reader);
            let truth = CaptureTruth::Labelled(labels.into_iter().cloned().collect());
            out.push(TrackedCapture { set: "real", tracks, info, truth });
        }
    }
    if let Some([folder, ..]) = after("--nebby") {
        for (name, file) in nebby::traces(Path::new(folder), "build")? {
            let (tracks, info) = judge::read_tracks(nebby::open(&name, &file)?);
            out.push(TrackedCapture { set: "nebby", tracks, info, truth: CaptureTruth::Control(name) });
        }
    }
    Ok(out)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let count: usize = args[0].parse().expect("the number of constants");
    let number = |i: usize| args[i].parse::<usize>().expect("a number");
    let controls = args.iter().position(|a| a == "--controls").map_or(0..0, |i| number(i + 1)..number(i + 2));
    let mut sets = sets(&args).expect("captures");
    eprintln!("{} captures", sets.len());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut running = 0;
    let wait = |running: &mut usize| {
        process::wait_for_any();
        *running -= 1;
    };
    let trials = (0..count).flat_map(|i| [(Some(i), 0.5), (Some(i), 2.0)]);
    for (constant, by) in std::iter::once((None, 1.0)).chain(trials) {
        if running == cores {
            wait(&mut running);
        }
        // The program has only one thread here, so forking is safe. The child computes, prints and exits.
        if let Ok(Forked::Child) = process::fork() {
            knob::set(constant.unwrap_or(usize::MAX), by);
            let name = constant.map_or("none".to_string(), |i| i.to_string());
            let mut scores = BTreeMap::new();
            let is_scored = |capture: &TrackedCapture| {
                constant.is_none_or(|i| controls.contains(&i) == (capture.set == "nebby"))
            };
            std::mem::take(&mut sets).into_iter().filter(is_scored).for_each(|c| score(c, &mut scores));
            let mut text = String::new();
            for (set, [right, total, bad]) in scores {
                let _ = writeln!(text, "{name} {by} {set} {right} {total} {bad}");
            }
            let _ = std::io::stdout().write_all(text.as_bytes());
            let _ = std::io::stdout().flush();
            // Exit without freeing memory.
            process::exit_now(0);
        }
        running += 1;
    }
    while running > 0 {
        wait(&mut running);
    }
}
