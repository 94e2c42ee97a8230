//! Prints the fidelity table: every measured cell beside its simulation, worst first.

use twin::{cells, quantile};

fn main() {
    let mut rows = Vec::new();
    for cell in cells() {
        match cell.simulate(1..4) {
            Ok(s) => rows.push((s.goodput / cell.goodput - 1.0, cell, s)),
            Err(e) => {
                eprintln!("{e}");
                std::process::exit(2);
            }
        }
    }
    let errors: Vec<f64> = rows.iter().map(|r| r.0.abs()).collect();
    let within = |x: f64| errors.iter().filter(|e| **e <= x).count() as f64 * 100.0 / errors.len() as f64;
    println!(
        "{} cells: median error of goodput {:.1} %, within 5 %: {:.0} %, within 15 %: {:.0} %, worst {:.1} %.\n",
        errors.len(),
        quantile(&errors, 0.5) * 100.0,
        within(0.05),
        within(0.15),
        quantile(&errors, 1.0) * 100.0
    );
    rows.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    println!(
        "| cell | goodput kernel | simulator | error | spread | retransmissions kernel | simulator | RTT kernel | simulator |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (error, cell, s) in rows {
        println!(
            "| {} | {:.2} | {:.2} | {:+.1} % | {:.2} | {:.0} | {:.0} | {:.1} | {:.1} |",
            cell.name(),
            cell.goodput,
            s.goodput,
            error * 100.0,
            cell.spread,
            cell.retransmits,
            s.retransmits,
            cell.rtt_ms,
            s.rtt_ms
        );
    }
}
