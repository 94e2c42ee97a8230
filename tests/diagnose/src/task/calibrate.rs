//! `calibrate limiters CASES SEED [--wrong] [DIR ...]` learns the factors that choose among proposed
//! limiters, from CASES drawn cases of the build set, a third as many of the set of receivers that do not
//! read, and two thirds of the kernel runs that `lab SET COUNT --out DIR` kept. It prints
//! `crates/evidence/diagnosis/src/limiter/evidence/factors.rs`, the cost of removing each factor, and scores:
//! there, on a sixth as many cases of SEED's sets, and on the runs kept back. `--wrong` lists the wrong
//! verdicts of those. With 0 cases it learns nothing and scores the committed factors on 400 cases.
//!
//! `calibrate CASES DIR` learns the confidence of verdicts from CASES drawn cases of the build set, as many
//! of the set of receivers that do not read, their captures whole and cut, and the build half of `real.csv`'s
//! captures below DIR. It prints `crates/evidence/diagnosis/src/confidence/weights.rs`.
//!
//! The method is logistic regression by Newton's method. Drawn and real flows have the same total weight.
//! Each weight except the first has a normal prior around 0 with a deviation of 1, so that rare signs weigh
//! little.

use diagnose_test::cut::{Cut, CutSink, EachSink};
use diagnose_test::judge::{Direct, Judge, lines};
use diagnose_test::limiters::LabelledLimiters;
use diagnose_test::logit::solved;
use diagnose_test::{draw, each, limiters, play, real, world};
use diagnosis::confidence::{GENERAL, GeneralSign, SIGNS, probability, signs};
use diagnosis::posterior;
use result::{Cause, Diagnosis};
use std::path::Path;

/// The set to study while building.
const BUILD: u64 = 1;
/// Steps of Newton's method, more than it needs to converge.
const STEPS: usize = 25;

/// Cases on which the committed factors are scored.
const SCORED_CASES: u64 = 400;

/// The signs of a verdict, and whether it was right.
struct Verdict {
    signs: [f64; SIGNS],
    right: bool,
    weight: f64,
}

/// Cuts of drawn captures: none, those for which confidence has a sign, and a short capture.
const CUTS: [Cut; 6] =
    [Cut::Whole, Cut::OnlyFirst, Cut::OnlySecond, Cut::Options, Cut::Begun(10), Cut::Prefix(2)];
/// Weight of a cut capture, so that all cuts together weigh as much as the whole capture.
const CUT_WEIGHT: f64 = 1.0 / (CUTS.len() - 1) as f64;

/// Returns verdicts on drawn cases, whole and cut.
fn drawn(cases: u64) -> Result<Vec<Verdict>, String> {
    let all = each(0..2 * cases, |n| {
        let case = if n < cases { draw::case(BUILD, n) } else { world::case(BUILD, n - cases) };
        let mut cut = EachSink(CUTS.map(|cut| CutSink::new(cut, Direct::default())).into());
        let truth = play(&case, &mut cut)?;
        let mut verdicts = Vec::new();
        for (cut, sink) in CUTS.into_iter().zip(cut.0) {
            let weight = if cut == Cut::Whole { 1.0 } else { CUT_WEIGHT };
            let diagnosis = Judge::diagnose_tracker(sink.into_inner().0);
            verdicts.extend(lines(&truth, &diagnosis).iter().filter_map(|line| {
                let (right, verdict) = line.is_right().zip(verdict_on(&diagnosis, &line.from, None))?;
                Some(Verdict { right, weight, ..verdict })
            }));
        }
        Ok(verdicts)
    })?;
    Ok(all.into_iter().flatten().collect())
}

/// Returns the verdict on the flow between these ends; `None` where the flow or a cause is missing.
fn verdict_on(diagnosis: &Diagnosis, from: &str, to: Option<&str>) -> Option<Verdict> {
    let same = |f: &&result::diagnosis::FlowDiagnosis| f.from == from && to.is_none_or(|to| f.to == to);
    let flow = diagnosis.flows.iter().find(same).filter(|f| f.cause != Cause::Unknown)?;
    Some(Verdict { signs: signs(flow, &diagnosis.limiters), right: false, weight: 1.0 })
}

fn learn(verdicts: &[Verdict]) -> [f64; SIGNS] {
    let mut weights = [0.0; SIGNS];
    for _ in 0..STEPS {
        // Gradient and Hessian of the log likelihood with the prior.
        let mut slope: Vec<f64> = (0..SIGNS).map(|i| if i == 0 { 0.0 } else { -weights[i] }).collect();
        let mut curve = vec![vec![0.0; SIGNS]; SIGNS];
        (1..SIGNS).for_each(|i| curve[i][i] = 1.0);
        for v in verdicts {
            let p = probability(&v.signs, &weights);
            for (i, sign) in v.signs.iter().enumerate() {
                slope[i] += v.weight * (f64::from(v.right) - p) * sign;
                let part = v.weight * p * (1.0 - p) * sign;
                curve[i].iter_mut().zip(&v.signs).for_each(|(c, other)| *c += part * other);
            }
        }
        let step = solved(curve, slope);
        weights.iter_mut().zip(step).for_each(|(w, s)| *w += s);
    }
    weights
}

/// Prints the weights as Rust.
fn print(weights: &[f64; SIGNS], cases: u64) {
    println!("//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate {cases} DIR`.\n");
    println!("use super::GeneralSign;\nuse result::Cause;\n");
    println!("/// Weights of the general signs, nats per unit.");
    println!("pub(super) const GENERAL: &[(GeneralSign, f64)] = &[");
    for (sign, weight) in GeneralSign::ALL.into_iter().zip(weights) {
        println!("    (GeneralSign::{sign:?}, {weight:.2}),");
    }
    println!("];\n\n/// Weights of the causes, nats; without those that were not met.");
    println!("pub(super) const CAUSES: &[(Cause, f64)] = &[");
    for (cause, weight) in Cause::ALL.into_iter().zip(&weights[GENERAL..]).filter(|(_, w)| **w != 0.0) {
        println!("    (Cause::{cause:?}, {weight:.2}),");
    }
    println!("];");
}

/// Learns the factors of limiters' statements and prints them, with each factor's contribution and the scores
/// on standard error.
fn print_limiters(cases: u64, seed: u64, list_wrong: bool, folders: &[&String]) -> Result<(), String> {
    let own = limiters::labelled(BUILD, cases)?;
    let mut kernel = Vec::new();
    for folder in folders {
        kernel.extend(limiters::kept_labelled(Path::new(folder))?);
    }
    let other = limiters::labelled(seed, if cases > 0 { cases / 6 } else { SCORED_CASES })?;
    let (mut kernel, back) = limiters::halves(kernel);
    kernel.iter_mut().for_each(|l| l.weight *= limiters::KERNEL_WEIGHT);
    let [own, kernel, other, back] = [&own, &kernel, &other, &back].map(|all| all.iter().collect::<Vec<_>>());
    let learned: Vec<&LabelledLimiters> = own.iter().chain(&kernel).copied().collect();
    let kept_back: Vec<&LabelledLimiters> = other.iter().chain(&back).copied().collect();
    let factors = if cases > 0 { limiters::learn(&learned) } else { posterior::learned() };
    if list_wrong {
        eprint!("{}", limiters::wrong(&kept_back, &factors));
    }
    let rows = [("drawn", own), ("kernel", kernel), ("drawn, kept back", other), ("kernel, kept back", back)];
    rows.iter()
        .filter(|r| !r.1.is_empty())
        .for_each(|(name, all)| eprintln!("{}", limiters::figures(name, all, &factors)));
    if cases > 0 {
        eprint!("{}", limiters::removals(&learned, &kept_back));
        print!("{}", limiters::as_rust(&factors));
    }
    Ok(())
}

pub fn run(args: &[String]) -> Result<(), String> {
    let usage = "calibrate CASES DIR | calibrate limiters CASES SEED [--wrong] [DIR ...]";
    let number = |text: &String| text.parse::<u64>().map_err(|_| usage);
    if let [what, cases, seed, rest @ ..] = args
        && what == "limiters"
    {
        let (flags, folders): (Vec<&String>, Vec<&String>) = rest.iter().partition(|r| *r == "--wrong");
        return print_limiters(number(cases)?, number(seed)?, !flags.is_empty(), &folders);
    }
    let [cases, folder] = args else { return Err(usage.into()) };
    let cases = number(cases)?;
    let judge = Judge::new(None)?;
    let mut drawn = drawn(cases)?;
    let labels = real::labels("tests/diagnose/real.csv", include_str!("../../real.csv"))?;
    let labels: Vec<real::Label> = labels.into_iter().filter(|l| l.half == "build").collect();
    let mut captured = Vec::new();
    let absent = real::each(Path::new(folder), &labels, &judge, |label, diagnosis| {
        if let Some(verdict) = verdict_on(diagnosis, &label.ends.0, Some(&label.ends.1)) {
            let right = real::row(label, diagnosis).is_right();
            captured.push(Verdict { right, ..verdict });
        }
    })?;
    if absent > 0 {
        return Err(format!(
            "{folder}: {absent} captures are missing; fetch them with `tests/diagnose/real.py {folder}`"
        ));
    }
    let share = drawn.len() as f64 / captured.len() as f64;
    captured.iter_mut().for_each(|v| v.weight = share);
    eprintln!("{} drawn flows, {} flows of real captures", drawn.len(), captured.len());
    drawn.append(&mut captured);
    print(&learn(&drawn), cases);
    Ok(())
}
