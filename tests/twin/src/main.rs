//! Prints `docs/fidelity.md`: every measured cell beside its simulation, worst first.

use twin::{Cell, Outcome, error, quantile, recorded, share_within};

const HEAD: &str = include_str!("../fidelity-head.md");

type Row = (Cell, Outcome, Outcome);

fn simulate(cells: Vec<(Cell, Outcome)>) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (cell, kernel) in cells {
        let simulated = cell.simulate()?;
        rows.push((cell, kernel, simulated));
    }
    rows.sort_by(|a, b| error(&b.2, &b.1).abs().total_cmp(&error(&a.2, &a.1).abs()));
    Ok(rows)
}

/// Retransmissions within a factor of 1.5, among cells with more than 50.
fn retransmissions_near(rows: &[Row]) -> (usize, usize) {
    let many = rows.iter().filter(|r| r.1.retransmits > 50.0);
    let ratio = |r: &Row| (r.2.retransmits / r.1.retransmits).max(r.1.retransmits / r.2.retransmits);
    (many.clone().filter(|r| ratio(r) <= 1.5).count(), many.count())
}

fn table(title: &str, rows: &[Row]) {
    let errors: Vec<f64> = rows.iter().map(|r| error(&r.2, &r.1).abs()).collect();
    let rtts: Vec<f64> = rows.iter().map(|r| (r.2.rtt_ms / r.1.rtt_ms - 1.0).abs()).collect();
    let (near, many) = retransmissions_near(rows);
    println!("\n## {title}\n");
    println!(
        "{} cells. Error of goodput: median {:.1} %, within 5 %: {:.0} %, within 15 %: {:.0} %, worst {:.1} %. \
         Error of mean RTT: median {:.1} %. Retransmissions within a factor of 1.5 in {near} of the {many} cells \
         with more than 50.\n",
        rows.len(),
        quantile(&errors, 0.5) * 100.0,
        share_within(&errors, 0.05) * 100.0,
        share_within(&errors, 0.15) * 100.0,
        quantile(&errors, 1.0) * 100.0,
        quantile(&rtts, 0.5) * 100.0,
    );
    println!(
        "| cell | goodput Mbit/s: kernel | simulator | error | spread: kernel | simulator | retransmissions: kernel | simulator | RTT ms: kernel | simulator |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (cell, kernel, sim) in rows {
        println!(
            "| {} | {:.2} | {:.2} | {:+.1} % | {:.2} | {:.2} | {:.0} | {:.0} | {:.1} | {:.1} |",
            cell.name(),
            kernel.goodput,
            sim.goodput,
            error(sim, kernel) * 100.0,
            kernel.spread,
            sim.spread,
            kernel.retransmits,
            sim.retransmits,
            kernel.rtt_ms,
            sim.rtt_ms
        );
    }
}

fn main() {
    match (simulate(recorded::wall_clock()), simulate(recorded::exact())) {
        (Ok(clock), Ok(exact)) => {
            print!("{HEAD}");
            table("Through an emulator in wall-clock time", &clock);
            table("Through an emulator in exact time, one run each", &exact);
        }
        (Err(e), _) | (_, Err(e)) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    }
}
