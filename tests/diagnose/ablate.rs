//! What each constant of the diagnosis gives: `tests/diagnose/constants.py --ablate` makes numbers of them that can be
//! changed while the program runs (`diagnosis::knob`), in a copy of the tree, and puts this file there.
//!
//! The captures of all sets are tracked once. Then for each constant, halved and doubled, a child is forked, which diagnoses all
//! of them and prints of each set how many flows are right: `<constant> <by> <set> <right> <of> <worse than wrong>`.
//!
//! Constants from number FROM to TO are those that tell congestion controls: they alone are held against traces labelled with these, and
//! against nothing else.
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

/// Knows what is right.
enum Right {
    Played(Box<Truth>),
    Labelled(Vec<real::Label>),
    Control(String),
}

struct Seen {
    set: &'static str,
    tracks: Vec<Track>,
    info: CaptureInfo,
    right: Right,
}

/// Flows of a set: right, all that can be judged, and those that are worse than wrong: a policer that is not there, a congestion
/// control that it is sure of.
type Score = [usize; 3];

fn score(seen: Seen, scores: &mut BTreeMap<&'static str, Score>) {
    let diagnosis: Diagnosis = diagnosis::diagnose_tracks(seen.tracks, seen.info);
    let s = scores.entry(seen.set).or_default();
    let mut add = |right: bool, bad: bool| {
        s[0] += usize::from(right);
        s[1] += 1;
        s[2] += usize::from(bad && !right);
    };
    match seen.right {
        Right::Played(truth) => {
            for line in judge::lines(&truth, &diagnosis) {
                line.is_right().into_iter().for_each(|right| add(right, line.names_policer()));
            }
        }
        Right::Labelled(labels) => {
            for row in labels.iter().map(|l| real::row(l, &diagnosis)) {
                add(row.is_right(), row.named.contains(&"policed"));
            }
        }
        Right::Control(name) => {
            let row = nebby::row(&name, &diagnosis).expect("a flow");
            let outcome = row.outcome();
            add(outcome == Outcome::Right, outcome == Outcome::Wrong && row.guess.confidence >= SURE);
        }
    }
}

fn drawn(set: &'static str, count: u64, case: impl Fn(u64) -> Case + Sync) -> Result<Vec<Seen>, String> {
    diagnose_test::each(0..count, |n| {
        let (truth, tracks, info) = judge::played(&case(n))?;
        Ok(Seen { set, tracks, info, right: Right::Played(Box::new(truth)) })
    })
}

fn sets(args: &[String]) -> Result<Vec<Seen>, String> {
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
        let mut labels = real::labels("real.csv", include_str!("../../real.csv"))?;
        labels.retain(|l| l.half == "build");
        let (captures, absent) = real::captures(Path::new(folder), &labels)?;
        eprintln!("{absent} captures of the build half are not below {folder}");
        for (file, labels) in captures {
            let reader = CaptureReader::open(&file).map_err(|e| e.to_string())?;
            let (tracks, info) = judge::read_tracks(reader);
            let right = Right::Labelled(labels.into_iter().cloned().collect());
            out.push(Seen { set: "real", tracks, info, right });
        }
    }
    if let Some([folder, ..]) = after("--nebby") {
        for (name, file) in nebby::traces(Path::new(folder), "build")? {
            let (tracks, info) = judge::read_tracks(nebby::open(&name, &file)?);
            out.push(Seen { set: "nebby", tracks, info, right: Right::Control(name) });
        }
    }
    Ok(out)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let count: usize = args[0].parse().expect("how many constants there are");
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
        // This program has one thread by now; the child only computes, prints and ends.
        if let Ok(Forked::Child) = process::fork() {
            knob::set(constant.unwrap_or(usize::MAX), by);
            let name = constant.map_or("none".to_string(), |i| i.to_string());
            let mut scores = BTreeMap::new();
            let told = |seen: &Seen| constant.is_none_or(|i| controls.contains(&i) == (seen.set == "nebby"));
            std::mem::take(&mut sets).into_iter().filter(told).for_each(|seen| score(seen, &mut scores));
            let mut text = String::new();
            for (set, [right, of, bad]) in scores {
                let _ = writeln!(text, "{name} {by} {set} {right} {of} {bad}");
            }
            let _ = std::io::stdout().write_all(text.as_bytes());
            let _ = std::io::stdout().flush();
            // Nothing is given back piece by piece.
            process::exit_now(0);
        }
        running += 1;
    }
    while running > 0 {
        wait(&mut running);
    }
}
