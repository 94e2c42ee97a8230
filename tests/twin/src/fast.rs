//! Cells of 1 and 10 Gbit/s on this machine's kernel beside the simulator, with what the verdict on the measurement says:
//! `fast [RUNS] [TEXT]` prints `docs/fast-paths.md`, of cells whose name contains TEXT. In real time, as root, on a quiet
//! machine: four seconds a run and cell.
//!
//! A machine carries as much as it carries: what counts is that a run that was disturbed says so, and that the others are
//! right.

use std::collections::BTreeMap;
use std::process::ExitCode;
use twin::{Cell, Outcome, grid, quantile};

const HEAD: &str = include_str!("../fast-head.md");

/// A cell, what the simulator says, and the runs on the kernel.
struct FastRow {
    cell: Cell,
    simulated: f64,
    runs: Vec<FastRun>,
}

/// One run on the kernel.
struct FastRun {
    goodput: f64,
    /// Kinds of reasons not to trust it; none: it is reliable.
    doubts: Vec<String>,
}

impl FastRow {
    fn goodputs(&self, reliable: bool) -> Vec<f64> {
        self.runs.iter().filter(|r| !reliable || r.doubts.is_empty()).map(|r| r.goodput).collect()
    }

    /// Largest goodput over the smallest, less one.
    fn spread(&self) -> f64 {
        let all = self.goodputs(false);
        quantile(&all, 1.0) / quantile(&all, 0.0) - 1.0
    }

    fn print(&self) {
        let all = self.goodputs(false);
        let median = quantile(&all, 0.5);
        let mut doubts: BTreeMap<&str, usize> = BTreeMap::new();
        self.runs.iter().flat_map(|r| &r.doubts).for_each(|d| *doubts.entry(d).or_default() += 1);
        let doubts: Vec<String> = doubts.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        println!(
            "| {} | {:.0} | {:.0} | {:.0} to {:.0} | {:+.1} % | {:.1} % | {} of {} | {} |",
            self.cell.name(),
            self.simulated,
            median,
            quantile(&all, 0.0),
            quantile(&all, 1.0),
            (median / self.simulated - 1.0) * 100.0,
            self.spread() * 100.0,
            self.goodputs(true).len(),
            self.runs.len(),
            doubts.join(", "),
        );
    }
}

fn measure(cell: &Cell, seed: u64) -> Result<FastRun, String> {
    let name = cell.name();
    let run = cell.measure_once(seed, &mut |text| eprintln!("{name}: {text}")).map_err(|e| e.to_string())?;
    let doubts = run.variant.trust.iter().flat_map(|t| &t.reasons).map(|r| kind(r.kind)).collect();
    Ok(FastRun { goodput: Outcome::of(&run).goodput, doubts })
}

fn kind(kind: result::TrustKind) -> String {
    serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}

fn rows(cells: Vec<Cell>, runs: u64) -> Result<Vec<FastRow>, String> {
    let mut rows = Vec::new();
    for cell in cells {
        let simulated = cell.simulate_runs(1)?.goodput;
        rows.push(FastRow { cell, simulated, runs: Vec::new() });
    }
    // Run by run through all cells, so that a machine's moods meet all of them.
    for seed in 1..=runs {
        for row in &mut rows {
            row.runs.push(measure(&row.cell, seed)?);
        }
    }
    Ok(rows)
}

/// What holds of the cells at one rate.
fn summary(rows: &[FastRow], gbps: u64) {
    let of: Vec<&FastRow> = rows.iter().filter(|r| r.cell.rate.as_bps() == gbps * 1_000_000_000).collect();
    let errors = |reliable: bool| -> Vec<f64> {
        let runs =
            of.iter().flat_map(|r| r.goodputs(reliable).into_iter().map(|g| (g / r.simulated - 1.0).abs()));
        runs.collect()
    };
    let (all, good) = (errors(false), errors(true));
    let spreads: Vec<f64> =
        of.iter().filter(|r| r.goodputs(true).len() == r.runs.len()).map(|r| r.spread()).collect();
    println!(
        "| {gbps} Gbit/s | {} | {} of {} | {} | {} | {} of {} |",
        of.len(),
        good.len(),
        all.len(),
        percent(&all),
        percent(&good),
        spreads.iter().filter(|spread| **spread <= 0.03).count(),
        spreads.len(),
    );
}

/// Median and 90th percentile; a dash where there is nothing.
fn percent(errors: &[f64]) -> String {
    if errors.is_empty() {
        return "-".into();
    }
    format!("{:.1} %, {:.1} %", quantile(errors, 0.5) * 100.0, quantile(errors, 0.9) * 100.0)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runs = args.first().and_then(|n| n.parse().ok()).unwrap_or(5);
    let text = args.get(1).cloned().unwrap_or_default();
    let rows = match rows(grid::fast().into_iter().filter(|c| c.name().contains(&text)).collect(), runs) {
        Ok(rows) => rows,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    print!("{HEAD}");
    println!(
        "\n| rate | cells | reliable runs | all runs: error, median and 90th percentile | reliable runs | cells reliable throughout whose runs differ by at most 3 % |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    [1, 10].into_iter().for_each(|gbps| summary(&rows, gbps));
    println!(
        "\n| cell | simulated, Mbit/s | on the kernel, median | least to most | difference | spread | reliable | doubts, in how many runs |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    rows.iter().for_each(FastRow::print);
    ExitCode::SUCCESS
}
