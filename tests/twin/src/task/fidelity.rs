//! Prints `docs/measured/fidelity.md`: every measured cell with its simulation, the worst first.

use std::collections::BTreeMap;
use twin::{Cell, Outcome, error, quantile, recorded, share_within};

const HEAD: &str = include_str!("../../fidelity-head.md");

type Row = (Cell, Outcome, Outcome);

/// Number of seeds for the older tables' cells with random loss.
const SEEDS: u64 = 20;

fn simulate(cells: Vec<((Cell, Outcome), u64)>) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for ((cell, kernel), seeds) in cells {
        let simulated = cell.simulate_runs(seeds)?;
        rows.push((cell, kernel, simulated));
    }
    rows.sort_by(|a, b| error(&b.2, &b.1).abs().total_cmp(&error(&a.2, &a.1).abs()));
    Ok(rows)
}

/// Cells with retransmissions within a factor of 1.5, and cells with more than 50 retransmissions.
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

/// Prints a line of errors: the results that `of` gives for the rows, compared with the kernel.
fn line(name: &str, rows: &[Row], of: &dyn Fn(&Row) -> Option<Outcome>) {
    let pairs: Vec<(&Outcome, Outcome)> = rows.iter().filter_map(|r| Some((&r.1, of(r)?))).collect();
    let shares = |share: &dyn Fn(&(&Outcome, Outcome)) -> f64| {
        let e: Vec<f64> = pairs.iter().map(|p| share(p).abs()).collect();
        let q = |at| quantile(&e, at) * 100.0;
        format!("{:.1} % / {:.1} % / {:.1} %", q(0.5), q(0.9), q(1.0))
    };
    let many: Vec<f64> = pairs
        .iter()
        .filter(|(k, _)| k.retransmits > 50.0)
        .map(|(k, s)| (s.retransmits / k.retransmits).max(k.retransmits / s.retransmits))
        .collect();
    println!(
        "| {name} | {} | {} | {} | {} | {} of {} |",
        pairs.len(),
        shares(&|(k, s)| error(s, k)),
        shares(&|(k, s)| s.rtt_ms / k.rtt_ms - 1.0),
        shares(&|(k, s)| s.p95_ms / k.p95_ms - 1.0),
        many.iter().filter(|&&r| r <= 1.5).count(),
        many.len()
    );
}

/// Prints the lab's cells: kernel, simulator, and ns-3 where available.
fn grid(sets: &[(&str, Vec<Row>)]) {
    let ns3 = recorded::ns3();
    println!("\n## The grid\n");
    println!(
        "{} cells. Random loss and jitter are the same on the kernel and in the simulator (the same seeds); ns-3 \
         has 20 seeds of its own. Errors: median / 90th percentile / worst.\n",
        sets.iter().map(|(_, rows)| rows.len()).sum::<usize>()
    );
    println!("| | cells | goodput | mean RTT | p95 RTT | retransmissions within a factor of 1.5 |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (i, (name, rows)) in sets.iter().enumerate() {
        line(name, rows, &|r| Some(r.2));
        if i == 0 {
            line("the same in ns-3", rows, &|r| ns3.get(&r.0.line()).copied());
        }
    }
    for (name, rows) in sets {
        println!("\n### {name}");
        cells(rows, &ns3);
    }
}

/// Prints each cell.
fn cells(rows: &[Row], ns3: &BTreeMap<String, Outcome>) {
    println!(
        "\nWorst first. Spread: largest goodput of the kernel's runs / smallest; 1.00 where there is one run.\n\n\
         | cell | goodput Mbit/s: kernel | spread | simulator | error | ns-3 error | retransmissions: kernel | simulator | RTT mean ms: kernel | simulator | p95: kernel | simulator |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (cell, kernel, sim) in rows {
        let ns3 = ns3.get(&cell.line());
        let ns3 = ns3.map_or("–".into(), |o| format!("{:+.1} %", error(o, kernel) * 100.0));
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {:+.1} % | {ns3} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} |",
            cell.name(),
            kernel.goodput,
            kernel.spread,
            sim.goodput,
            error(sim, kernel) * 100.0,
            kernel.retransmits,
            sim.retransmits,
            kernel.rtt_ms,
            sim.rtt_ms,
            kernel.p95_ms,
            sim.p95_ms
        );
    }
}

pub fn run(_: &[String]) -> Result<(), String> {
    let mut sets = vec![
        ("Static paths: Reno, CUBIC, BBR", simulate(recorded::grid())?),
        ("Jitter and handovers: Reno, CUBIC, BBR", simulate(recorded::moving())?),
    ];
    for cc in twin::grid::EBPF {
        sets.push((cc, simulate(recorded::ebpf(cc))?));
    }
    for (name, rows) in [("Other controls", recorded::others()), ("Queues", recorded::queues())] {
        if !rows.is_empty() {
            sets.push((name, simulate(rows)?));
        }
    }
    let seeded = |cells: Vec<(Cell, Outcome)>| cells.into_iter().map(|c| (c, SEEDS)).collect();
    let (clock, exact) = (simulate(seeded(recorded::wall_clock()))?, simulate(seeded(recorded::exact()))?);
    print!("{HEAD}");
    grid(&sets);
    table("Paced, through an emulator in wall-clock time", &clock);
    table("Through an emulator in exact time, one run each", &exact);
    Ok(())
}
