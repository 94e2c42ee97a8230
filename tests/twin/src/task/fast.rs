//! Cells of 1 and 10 Gbit/s on this machine's kernel and in the simulator, with the lab's reliability
//! verdict. `fast kernel [RUNS] [TEXT]` measures the cells whose name contains TEXT and prints a line for
//! each run: in real time, as root, on a quiet machine, four seconds a run. `fast` prints
//! `docs/measured/fast-paths.md` from the recorded runs, `fast FILE` from another file of such lines.
//!
//! Three seconds at such rates consist of a slow start and the effects of two or three losses, so repeats
//! differ on either clock. Medians are compared with as many repeats in the simulator (with host jitter, as
//! in `run --repeat`). A machine's capacity is what it is: the point is that a disturbed run is reported as
//! such.

use std::collections::BTreeMap;
use twin::{COLUMNS, Cell, Outcome, grid, quantile};

const HEAD: &str = include_str!("../../fast-head.md");
const RECORDED: &str = include_str!("../../fast-6.18.csv");
/// Differences up to this count as none: the aim for the simulator.
const EQUAL_SHARE: f64 = 0.03;

/// A cell on both clocks.
struct FastRow {
    cell: Cell,
    /// Goodput of the simulator's repeats, Mbit/s.
    simulated: Vec<f64>,
    runs: Vec<FastRun>,
}

/// One run on the kernel.
struct FastRun {
    goodput: f64,
    /// Kinds of reasons to distrust it; none: it is reliable.
    doubts: Vec<String>,
}

impl FastRow {
    /// Collects the measurements of the cell; `None` if there are none.
    fn read(cell: Cell, measured: &str) -> Option<Result<FastRow, String>> {
        let begin = cell.line() + ",";
        let runs: Vec<FastRun> =
            measured.lines().filter_map(|l| FastRun::parse(l.strip_prefix(&begin)?)).collect();
        if runs.is_empty() {
            return None;
        }
        let repeats = cell.simulate_repeats(runs.len() as u64);
        Some(repeats.map(|simulated| {
            let simulated = simulated.iter().map(|o| o.goodput).collect();
            FastRow { cell, simulated, runs }
        }))
    }

    fn measured(&self) -> Vec<f64> {
        self.runs.iter().map(|r| r.goodput).collect()
    }

    fn reliable(&self) -> usize {
        self.runs.iter().filter(|r| r.doubts.is_empty()).count()
    }

    /// Relative difference between the medians of the kernel's runs and the simulator's.
    fn difference(&self) -> f64 {
        quantile(&self.measured(), 0.5) / quantile(&self.simulated, 0.5) - 1.0
    }

    /// Number of reliable runs within the range of the simulator's repeats.
    fn expected(&self) -> usize {
        let (least, most) = (quantile(&self.simulated, 0.0), quantile(&self.simulated, 1.0));
        let is = |g: f64| g >= least * (1.0 - EQUAL_SHARE) && g <= most * (1.0 + EQUAL_SHARE);
        self.runs.iter().filter(|r| r.doubts.is_empty() && is(r.goodput)).count()
    }

    fn print(&self) {
        let mut doubts: BTreeMap<&str, usize> = BTreeMap::new();
        self.runs.iter().flat_map(|r| &r.doubts).for_each(|d| *doubts.entry(d).or_default() += 1);
        let doubts: Vec<String> = doubts.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        println!(
            "| {} | {} | {} | {:+.1} % | {} of {} | {} |",
            self.cell.name(),
            range(&self.simulated),
            range(&self.measured()),
            self.difference() * 100.0,
            self.reliable(),
            self.runs.len(),
            doubts.join(", "),
        );
    }
}

impl FastRun {
    /// Parses the fields after the cell: the run's number, its goodput, the reasons not to trust it.
    fn parse(rest: &str) -> Option<FastRun> {
        let mut fields = rest.split(',').skip(1);
        let goodput = fields.next()?.parse().ok()?;
        let doubts = fields.next().unwrap_or_default().split_whitespace().map(String::from).collect();
        Some(FastRun { goodput, doubts })
    }
}

/// Median, minimum and maximum.
fn range(goodputs: &[f64]) -> String {
    let at = |q| quantile(goodputs, q);
    format!("{:.0} ({:.0} to {:.0})", at(0.5), at(0.0), at(1.0))
}

/// Largest divided by smallest, minus one.
fn spread(goodputs: &[f64]) -> f64 {
    quantile(goodputs, 1.0) / quantile(goodputs, 0.0) - 1.0
}

/// Runs all cells once before repeating any, so that temporary disturbances of the machine affect all of
/// them.
fn measure(runs: u64, text: &str) -> Result<(), String> {
    let cells: Vec<Cell> = grid::fast().into_iter().filter(|c| c.name().contains(text)).collect();
    println!("{COLUMNS},run,goodput_mbps,doubts");
    for run in 1..=runs {
        for cell in &cells {
            let name = cell.name();
            let notice = &mut |text: &str| eprintln!("{name}: {text}");
            let outcome = cell.measure_once(run, notice).map_err(|e| format!("{name}: {e}"))?;
            let reasons = outcome.variant.trust.iter().flat_map(|t| &t.reasons);
            let doubts: Vec<String> = reasons.map(|r| kind(r.kind)).collect();
            println!("{},{run},{:.2},{}", cell.line(), Outcome::of(&outcome).goodput, doubts.join(" "));
        }
    }
    Ok(())
}

fn kind(kind: result::TrustKind) -> String {
    serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}

/// Summary of the cells at one rate.
fn summary(rows: &[FastRow], gbps: u64) {
    let of: Vec<&FastRow> = rows.iter().filter(|r| r.cell.rate.as_bps() == gbps * 1_000_000_000).collect();
    let sum = |count: &dyn Fn(&FastRow) -> usize| of.iter().map(|r| count(r)).sum::<usize>();
    let off: Vec<f64> = of.iter().map(|r| r.difference().abs()).collect();
    let near = |goodputs: &dyn Fn(&FastRow) -> Vec<f64>| {
        of.iter().filter(|r| spread(&goodputs(r)) <= EQUAL_SHARE).count()
    };
    if of.is_empty() {
        return;
    }
    let repeated = of.iter().all(|r| r.runs.len() > 1);
    let steady = [near(&|r| r.simulated.clone()), near(&FastRow::measured)];
    let steady = if repeated { format!("{} and {}", steady[0], steady[1]) } else { "–".into() };
    println!(
        "| {gbps} Gbit/s | {} | {:.1} %, {:.1} % | {steady} | {} of {} | {} of {} |",
        of.len(),
        quantile(&off, 0.5) * 100.0,
        quantile(&off, 0.9) * 100.0,
        sum(&FastRow::reliable),
        sum(&|r| r.runs.len()),
        sum(&FastRow::expected),
        sum(&FastRow::reliable),
    );
}

fn compare(measured: &str) -> Result<(), String> {
    let rows: Vec<FastRow> = grid::fast()
        .into_iter()
        .filter_map(|cell| FastRow::read(cell, measured))
        .collect::<Result<_, _>>()?;
    print!("{HEAD}");
    println!(
        "\n| rate | cells | difference of medians: median, 90th percentile | cells with repeats within 3 %: simulator and kernel | reliable runs | reliable runs within the simulator's range |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    [1, 10].into_iter().for_each(|gbps| summary(&rows, gbps));
    println!(
        "\n| cell | simulator, Mbit/s | kernel, Mbit/s | difference | reliable runs | doubts (number of runs) |"
    );
    println!("|---|---:|---:|---:|---:|---|");
    rows.iter().for_each(FastRow::print);
    Ok(())
}

pub fn run(args: &[String]) -> Result<(), String> {
    let arg = |i: usize| args.get(i).map(String::as_str);
    match arg(0) {
        None => compare(RECORDED),
        Some("kernel") => match arg(1).map_or(Ok(5), str::parse) {
            Ok(runs) => measure(runs, arg(2).unwrap_or_default()),
            Err(e) => Err(format!("RUNS: {e}")),
        },
        Some(file) => {
            std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}")).and_then(|t| compare(&t))
        }
    }
}
