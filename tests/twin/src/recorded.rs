//! Cells measured on Linux 6.18, recorded in this folder.
//!
//! `kernel-6.18.csv` is the mean of two runs through an emulator in wall-clock time. An emulator that wakes
//! up late loses the tokens above the bucket's capacity, so its shapers are 1 to 16 % slower than their rate.
//! `kernel-6.18-exact.csv` is one run of the same cells, and some more, through an emulator that works in
//! exact virtual time, like this simulator. Traffic: iperf3, 10 s.
//!
//! The senders of the first file, and of the second where it says `paced`, paced every connection, including
//! Reno and CUBIC. The kernel's default congestion control was BBR, which turns pacing on in `init`, and a
//! control selected afterwards keeps it.
//!
//! `grid-6.18.csv` contains the runs of [`crate::grid`] in the lab, one line each; `grid-ns3.csv` the same
//! cells in ns-3.

use crate::{Cell, Outcome, grid};
use std::collections::BTreeMap;

const WALL_CLOCK: &str = include_str!("../kernel-6.18.csv");
const EXACT: &str = include_str!("../kernel-6.18-exact.csv");

const GRID: &str = include_str!("../grid-6.18.csv");
const NS3: &str = include_str!("../grid-ns3.csv");

/// A cell with the kernel's result.
pub type Row = (Cell, Outcome);

fn parse(line: &str, exact: bool) -> Option<Row> {
    let f: Vec<&str> = line.split(',').collect();
    let number = |i: usize| f.get(i)?.parse::<f64>().ok();
    let mut cell = Cell::parse(&f)?;
    cell.paced = !exact || *f.get(8)? == "true";
    let (goodput, spread) = if exact { (9, None) } else { (8, number(9)) };
    let outcome = Outcome {
        goodput: number(goodput)?,
        spread: spread.unwrap_or(1.0),
        retransmits: number(10)?,
        rtt_ms: number(11)?,
        p95_ms: f64::NAN,
    };
    Some((cell, outcome))
}

/// Cells of the emulator in wall-clock time.
pub fn wall_clock() -> Vec<Row> {
    WALL_CLOCK.lines().filter_map(|line| parse(line, false)).collect()
}

/// Cells of the emulator in exact time.
pub fn exact() -> Vec<Row> {
    EXACT.lines().filter_map(|line| parse(line, true)).collect()
}

/// The grid's 72 cells in the lab, in the order of the file: mean and spread of each cell's runs, and the
/// number of runs. Run r had seed r, so random losses are the same as in the simulator's run of that seed.
pub fn grid() -> Vec<(Row, u64)> {
    lab(&grid::cells())
}

/// The cells of varying paths, in the same form.
pub fn moving() -> Vec<(Row, u64)> {
    lab(&grid::moving())
}

/// The cells of one of longfat's own programs for the kernel, in the same form.
pub fn ebpf(cc: &str) -> Vec<(Row, u64)> {
    lab(&grid::ebpf().into_iter().filter(|c| c.cc == cc).collect::<Vec<_>>())
}

/// The cells of the registry's other controls that were measured.
pub fn others() -> Vec<(Row, u64)> {
    lab(&grid::others())
}

/// The cells of each queue that were measured.
pub fn queues() -> Vec<(Row, u64)> {
    lab(&grid::queues())
}

/// The recorded results of these cells.
fn lab(wanted: &[Cell]) -> Vec<(Row, u64)> {
    let mut cells: Vec<(Cell, Vec<Outcome>)> = Vec::new();
    for line in GRID.lines() {
        let f: Vec<&str> = line.split(',').collect();
        let Some((cell, run)) = Cell::parse(&f).zip(summary(&f, 10)) else { continue };
        if !wanted.contains(&cell) {
            continue;
        }
        match cells.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, runs)) => runs.push(run),
            None => cells.push((cell, vec![run])),
        }
    }
    cells.into_iter().map(|(cell, runs)| ((cell, Outcome::mean(&runs)), runs.len() as u64)).collect()
}

/// The grid in ns-3, by [`Cell::line`]; without cells that it cannot run.
pub fn ns3() -> BTreeMap<String, Outcome> {
    let row = |line: &str| {
        let f: Vec<&str> = line.split(',').collect();
        Some((Cell::parse(&f)?.line(), summary(&f, 8)?))
    };
    NS3.lines().filter_map(row).collect()
}

/// Reads goodput, retransmissions, mean and 95th percentile of the RTT from field `at` on.
fn summary(f: &[&str], at: usize) -> Option<Outcome> {
    let number = |i: usize| f.get(at + i)?.parse::<f64>().ok();
    Some(Outcome {
        goodput: number(0)?,
        spread: 1.0,
        retransmits: number(1)?,
        rtt_ms: number(2)?,
        p95_ms: number(3)?,
    })
}
