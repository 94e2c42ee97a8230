//! Plans on this machine's kernel. `plans kernel SEED FROM COUNT [CURES]` draws random paths with a known
//! limit, plans each for more goodput, runs it unchanged and with the plan's first changes (including its
//! choice) in real time, as root, and prints a line for each; `plans capture …` knows each path only from a
//! capture of the kernel's run at the client, and plans that; `plans show SEED NUMBER` prints a path as a
//! scenario; `plans [FILE]…` reports how good the predictions were.

use advise::{FinishedPlan, PlanOptions};
use scenario::{Experiment, Scenario};
use std::collections::BTreeMap;
use std::time::Instant;
use twin::captured;
use twin::limited::LimitedPath;
use twin::quantile;

/// Recorded runs of paths that were known, and of paths known from a capture.
const RECORDED: [&str; 2] =
    [include_str!("../../plan-6.18.csv"), include_str!("../../plan-6.18-captured.csv")];
/// Duration of each run, on either clock, seconds.
const SECONDS: u64 = 8;
/// Number of changes measured for a path.
const CURES: usize = 4;
/// Number of runs of the unchanged path: gains are relative to their mean, as in the plan.
const UNCHANGED_RUNS: u64 = 3;
/// Runs disturbed by other work on this machine are repeated at most this often.
const MAX_ATTEMPTS: usize = 2;
/// Smaller gains, as shares of the original goodput, are not reported.
const MIN_GAIN: f64 = 0.1;
/// Aims: share of the best goodput, and accuracy of a predicted gain.
const MIN_SHARE_OF_BEST: f64 = 0.9;
const MAX_GAIN_ERROR: f64 = 0.15;
/// Columns after those of the path.
const COLUMNS: &str = "plan_s,rank,cure,chosen,predicted_mbps,kernel_mbps,doubts";

fn parsed(path: &LimitedPath) -> Result<Scenario, String> {
    let text = path.scenario(SECONDS);
    let experiment = Experiment::parse("limited.toml", &text, &[]).map_err(|e| format!("{e}\n{text}"))?;
    experiment.variants.into_iter().next().map(|v| v.scenario).ok_or_else(|| "no variant".into())
}

/// Plans the paths and measures the plans.
fn measure(from: Source, [seed, first, count]: [u64; 3], cures: usize) -> Result<(), String> {
    println!("{},{COLUMNS}", LimitedPath::COLUMNS);
    for number in first..first + count {
        let path = LimitedPath::draw(seed, number);
        if let Err(e) = measure_path(from, &path, cures) {
            eprintln!("{}: {e}", path.line());
        }
    }
    Ok(())
}

/// The source from which a plan knows a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The scenario.
    Kernel,
    /// A capture at the client.
    Capture,
}

fn measure_path(from: Source, path: &LimitedPath, cures: usize) -> Result<(), String> {
    let path = if from == Source::Capture { &path.with_one_control() } else { path };
    let scenario = parsed(path)?;
    let (scenarios, truth, fit_s) = match from {
        Source::Kernel => (vec![scenario.clone()], scenario, 0.0),
        Source::Capture => {
            let made = captured::fitted(&scenario)?;
            let truth = captured::as_fitted(&made.fit.scenario, &scenario)?;
            let scenarios = std::iter::once(made.fit.scenario).chain(made.fit.alternatives).collect();
            (scenarios, truth, made.seconds)
        }
    };
    let planned = Instant::now();
    let made = advise::plan("default", &scenarios, &PlanOptions::default(), None);
    let made = made.map_err(|e| e.to_string())?;
    let row = PathRow { line: path.line(), plan_s: fit_s + planned.elapsed().as_secs_f64() };
    for seed in 0..UNCHANGED_RUNS {
        let again = Scenario { seed: truth.seed + seed, ..truth.clone() };
        row.print(0, "as-it-is", false, made.plan.now.goodput_mbps.mean, &again);
    }
    row.measure_cures(&truth, &made, cures);
    Ok(())
}

/// Common fields of the lines of one path.
struct PathRow {
    line: String,
    plan_s: f64,
}

impl PathRow {
    fn measure_cures(&self, base: &Scenario, made: &FinishedPlan, count: usize) {
        let chosen = advise::advised(&made.plan).map(|c| c.name.as_str());
        let finalists: Vec<_> = made.plan.cures.iter().filter(|c| c.finalist).zip(&made.options).collect();
        let mut left = count;
        for (i, (cure, options)) in finalists.into_iter().enumerate() {
            let is_chosen = chosen == Some(cure.name.as_str());
            if left == 0 && !is_chosen {
                continue;
            }
            left = left.saturating_sub(1);
            self.print(
                i + 1,
                &cure.name,
                is_chosen,
                cure.figures.goodput_mbps.mean,
                &advise::cured(base, options),
            );
        }
    }

    /// Runs the scenario on the kernel and prints the line; goodput is empty if this kernel cannot run it.
    fn print(&self, rank: usize, cure: &str, chosen: bool, predicted: f64, scenario: &Scenario) {
        let options = || lab::LabOptions { seed: scenario.seed, ..lab::LabOptions::default() };
        let (mbps, doubts) = match lab::trusted(MAX_ATTEMPTS, || lab::run("kernel", scenario, options())) {
            Ok(outcome) => {
                let reasons = outcome.variant.trust.iter().flat_map(|t| &t.reasons);
                let doubts: Vec<String> = reasons.map(|r| kind(r.kind)).collect();
                let flows = outcome.variant.compared_flows();
                (format!("{:.3}", flows.map(|f| f.goodput_mbps).sum::<f64>()), doubts.join(" "))
            }
            Err(e) => {
                eprintln!("{}: {cure}: {e}", self.line);
                (String::new(), "cannot".into())
            }
        };
        let PathRow { line, plan_s } = self;
        println!("{line},{plan_s:.1},{rank},{cure},{},{predicted:.3},{mbps},{doubts}", u8::from(chosen));
    }
}

fn kind(kind: result::TrustKind) -> String {
    serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}

/// A printed line.
#[derive(Clone)]
struct PlanRow {
    path: String,
    limit: String,
    plan_s: f64,
    rank: usize,
    cure: String,
    chosen: bool,
    predicted: f64,
    measured: f64,
    reliable: bool,
}

impl PlanRow {
    /// `None` for the heading; a run that was not possible has no number and is unreliable.
    fn parse(line: &str) -> Option<PlanRow> {
        let fields: Vec<&str> = line.split(',').collect();
        let [number, limit, .., plan_s, rank, cure, chosen, predicted, measured, doubts] = fields[..] else {
            return None;
        };
        Some(PlanRow {
            path: number.into(),
            limit: limit.into(),
            plan_s: plan_s.parse().ok()?,
            rank: rank.parse().ok()?,
            cure: cure.into(),
            chosen: chosen == "1",
            predicted: predicted.parse().ok()?,
            measured: measured.parse().unwrap_or(f64::NAN),
            reliable: doubts.is_empty(),
        })
    }
}

/// The rows of a path: unchanged (the mean of its runs), and with each change.
struct JudgedPath<'a> {
    now: PlanRow,
    cures: Vec<&'a PlanRow>,
}

impl JudgedPath<'_> {
    /// Goodput of the chosen change (or of the unchanged path, if none was chosen) divided by the best
    /// measured one.
    fn of_best(&self) -> f64 {
        let chosen = self.cures.iter().copied().find(|c| c.chosen).unwrap_or(&self.now);
        let best = self.cures.iter().map(|c| c.measured).fold(self.now.measured, f64::max);
        chosen.measured / best
    }

    /// Relative error of each predicted gain, for changes with a predicted or measured gain.
    fn gains(&self) -> Vec<(f64, &PlanRow)> {
        let worth = |gain: f64| gain.abs() >= MIN_GAIN * self.now.measured;
        let off = |c: &&PlanRow| {
            let [said, was] = [c.predicted - self.now.predicted, c.measured - self.now.measured];
            (worth(said) || worth(was)).then(|| (said / was - 1.0).abs())
        };
        self.cures.iter().filter_map(|c| Some((off(c)?, *c))).collect()
    }

    /// Relative error of each predicted goodput.
    fn goodputs(&self) -> impl Iterator<Item = (f64, &PlanRow)> {
        let off = |c: &PlanRow| (c.predicted / c.measured - 1.0).abs();
        self.cures.iter().map(move |c| (off(c), *c))
    }
}

fn judged(rows: &[PlanRow]) -> Vec<JudgedPath<'_>> {
    let mut paths: BTreeMap<u64, Vec<&PlanRow>> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.reliable) {
        paths.entry(row.path.parse().unwrap_or(u64::MAX)).or_default().push(row);
    }
    // If the chosen run itself was disturbed, the path cannot be judged.
    let lost: Vec<&str> = rows.iter().filter(|r| r.chosen && !r.reliable).map(|r| r.path.as_str()).collect();
    let all =
        paths.into_values().filter(|rows| !lost.contains(&rows[0].path.as_str())).filter_map(|mut rows| {
            let as_it_is: Vec<&PlanRow> = rows.extract_if(.., |r| r.rank == 0).collect();
            let first = *as_it_is.first()?;
            let mean = as_it_is.iter().map(|r| r.measured).sum::<f64>() / as_it_is.len() as f64;
            Some(JudgedPath { now: PlanRow { measured: mean, ..first.clone() }, cures: rows })
        });
    all.filter(|p| !p.cures.is_empty()).collect()
}

fn share(part: usize, of: usize) -> String {
    if of == 0 { "none".into() } else { format!("{part} of {of}") }
}

fn near(off: &[(f64, &PlanRow)]) -> String {
    share(off.iter().filter(|(o, _)| *o <= MAX_GAIN_ERROR).count(), off.len())
}

/// A row for each limit, and one for all.
fn table(paths: &[JudgedPath<'_>]) -> String {
    let mut table = String::from(
        "| limited by | paths | the choice reaches 90 % of the best | gains within 15 % | goodputs within 15 % |\n\
         |---|---:|---:|---:|---:|\n",
    );
    for limit in twin::limited::LIMITS.into_iter().chain(["all"]) {
        let of: Vec<&JudgedPath<'_>> =
            paths.iter().filter(|p| limit == "all" || p.now.limit == limit).collect();
        let reached = of.iter().filter(|p| p.of_best() >= MIN_SHARE_OF_BEST).count();
        let gains: Vec<_> = of.iter().flat_map(|p| p.gains()).collect();
        let goodputs: Vec<_> = of.iter().flat_map(|p| p.goodputs()).collect();
        let cells = [share(reached, of.len()), near(&gains), near(&goodputs)].join(" | ");
        table += &format!("| {limit} | {} | {cells} |\n", of.len());
    }
    table
}

/// Reports how long plans took, and how many runs could not be measured.
fn costs(rows: &[PlanRow]) -> String {
    let times: Vec<f64> = rows.iter().filter(|r| r.rank == 0).map(|r| r.plan_s).collect();
    format!(
        "A plan took {:.1} s in the median, at most {:.1} s; {} of {} runs were disturbed or not possible on this kernel.",
        quantile(&times, 0.5),
        times.iter().copied().fold(0.0, f64::max),
        rows.iter().filter(|r| !r.reliable).count(),
        rows.len()
    )
}

fn compare(measured: &str) {
    let rows: Vec<PlanRow> = measured.lines().filter_map(PlanRow::parse).collect();
    let paths = judged(&rows);
    println!("{}\n{}", table(&paths), costs(&rows));
    for path in paths.iter().filter(|p| p.of_best() < MIN_SHARE_OF_BEST) {
        println!("path {}: the choice reaches {:.0} % of the best", path.now.path, 100.0 * path.of_best());
    }
    for path in &paths {
        for (_, row) in path.gains().into_iter().filter(|(off, _)| *off > MAX_GAIN_ERROR) {
            let PlanRow { path: number, limit, predicted, measured, .. } = &path.now;
            println!(
                "path {number} ({limit}): {}: predicted {predicted:.2} -> {:.2}, kernel {measured:.2} -> {:.2}",
                row.cure, row.predicted, row.measured
            );
        }
    }
}

pub fn run(args: &[String]) -> Result<(), String> {
    const USAGE: &str = "plans [kernel|capture SEED FROM COUNT [CURES] | show SEED NUMBER | FILE…]";
    let number = |i: usize| -> Result<u64, String> {
        let text = args.get(i).ok_or(USAGE)?;
        text.parse().map_err(|e| format!("{text}: {e}"))
    };
    match args.first().map(String::as_str) {
        Some(from @ ("kernel" | "capture")) => number(1).and_then(|seed| {
            let cures = if args.len() > 4 { number(4)? as usize } else { CURES };
            let from = if from == "kernel" { Source::Kernel } else { Source::Capture };
            measure(from, [seed, number(2)?, number(3)?], cures)
        }),
        Some("show") => number(1).and_then(|seed| {
            print!("{}", LimitedPath::draw(seed, number(2)?).scenario(SECONDS));
            Ok(())
        }),
        None => {
            RECORDED.into_iter().for_each(compare);
            Ok(())
        }
        Some(_) => args.iter().try_for_each(|file| {
            std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}")).map(|text| compare(&text))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recorded paths are still drawn in the same way.
    const SEED: u64 = 20_261_127;

    #[test]
    fn the_page_contains_the_recorded_results_of_the_current_paths() {
        // The page wraps lines.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let page = words(include_str!("../../../../docs/plan.md"));
        for (recorded, captured) in RECORDED.into_iter().zip([false, true]) {
            let rows: Vec<PlanRow> = recorded.lines().filter_map(PlanRow::parse).collect();
            let report = table(&judged(&rows)) + "\n" + &costs(&rows);
            assert!(page.contains(&words(&report)), "docs/plan.md lacks\n{report}");
            for line in recorded.lines().skip(1) {
                let number = line.split(',').next().and_then(|n| n.parse().ok()).expect("a number");
                let path = LimitedPath::draw(SEED, number);
                let path = if captured { path.with_one_control() } else { path };
                assert!(line.starts_with(&path.line()), "{line}");
            }
        }
    }
}
