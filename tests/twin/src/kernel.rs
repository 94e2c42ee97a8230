//! Measures cells on this machine's kernel and prints a line for each run:
//! `kernel [grid|shared|exact] [RUNS] [TEXT]`, only cells whose line contains TEXT. As root, on a
//! quiet machine. `kernel cells` prints the grid's cells.

use std::process::ExitCode;
use twin::{COLUMNS, Cell, grid, recorded};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |i: usize| args.get(i).map(String::as_str);
    let cells: Vec<Cell> = match arg(0).unwrap_or("grid") {
        "cells" => {
            println!("{COLUMNS}");
            grid::cells().iter().for_each(|c| println!("{}", c.line()));
            return ExitCode::SUCCESS;
        }
        "grid" => grid::cells(),
        "shared" => recorded::wall_clock().into_iter().map(|(cell, _)| cell).collect(),
        "exact" => recorded::exact().into_iter().map(|(cell, _)| cell).collect(),
        other => {
            eprintln!("unknown set {other}: grid, shared, exact or cells");
            return ExitCode::from(2);
        }
    };
    let runs = arg(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let wanted = |c: &&Cell| arg(2).is_none_or(|text| c.line().contains(text));
    println!("{COLUMNS},paced,run,goodput_mbps,retransmits,mean_rtt_ms,p95_rtt_ms");
    // Run by run through all cells, so that a machine's moods meet all of them.
    for run in 1..=runs {
        for cell in cells.iter().filter(wanted) {
            let line = cell.line();
            match cell.measure(run, &mut |text| eprintln!("{line}: {text}")) {
                Ok(o) => println!(
                    "{line},{},{run},{:.4},{},{:.3},{:.3}",
                    cell.paced, o.goodput, o.retransmits, o.rtt_ms, o.p95_ms
                ),
                Err(e) => {
                    eprintln!("{line}: {e}");
                    return ExitCode::from(2);
                }
            }
        }
    }
    ExitCode::SUCCESS
}
