//! Prints cells, or runs them and prints a line for each run: `cells list|sim|kernel
//! [grid|moving|ebpf|others|queues|fast|shared|exact] [RUNS] [TEXT]`, only cells whose line contains TEXT.
//! `kernel` measures on this machine, in real time: as root, on a quiet machine. `sim` prints the mean of
//! RUNS seeds if there is random loss.

use twin::{COLUMNS, Cell, grid, recorded};

pub fn run(args: &[String]) -> Result<(), String> {
    let arg = |i: usize| args.get(i).map(String::as_str);
    let cells: Vec<Cell> = match arg(1).unwrap_or("grid") {
        "grid" => grid::cells(),
        "moving" => grid::moving(),
        "ebpf" => grid::ebpf(),
        "others" => grid::others(),
        "queues" => grid::queues(),
        "fast" => grid::fast(),
        "shared" => recorded::wall_clock().into_iter().map(|(cell, _)| cell).collect(),
        "exact" => recorded::exact().into_iter().map(|(cell, _)| cell).collect(),
        other => return Err(usage(&format!("there is no set of cells `{other}`"))),
    };
    let runs = arg(2).and_then(|n| n.parse().ok()).unwrap_or(1);
    let wanted: Vec<Cell> =
        cells.into_iter().filter(|c| arg(3).is_none_or(|text| c.line().contains(text))).collect();
    match arg(0) {
        Some("list") => {
            println!("{COLUMNS}");
            wanted.iter().for_each(|c| println!("{}", c.line()));
            Ok(())
        }
        Some("sim") => print(&wanted, 1, &mut |cell, _| cell.simulate_runs(runs)),
        Some("kernel") => print(&wanted, runs, &mut |cell, run| {
            let line = cell.line();
            cell.measure(run, &mut |text| eprintln!("{line}: {text}")).map_err(|e| e.to_string())
        }),
        _ => Err(usage("the first argument is missing or unknown")),
    }
}

fn usage(problem: &str) -> String {
    format!(
        "{problem}; usage: cells list|sim|kernel [grid|moving|ebpf|others|queues|fast|shared|exact] [RUNS] [TEXT]"
    )
}

/// Runs all cells once before repeating any, so that temporary disturbances of the machine affect all of
/// them.
fn print(
    cells: &[Cell],
    runs: u64,
    play: &mut dyn FnMut(&Cell, u64) -> Result<twin::Outcome, String>,
) -> Result<(), String> {
    println!("{COLUMNS},paced,run,goodput_mbps,retransmits,mean_rtt_ms,p95_rtt_ms");
    for run in 1..=runs {
        for cell in cells {
            let line = cell.line();
            let o = play(cell, run).map_err(|e| format!("{line}: {e}"))?;
            println!(
                "{line},{},{run},{:.4},{},{:.3},{:.3}",
                cell.paced, o.goodput, o.retransmits, o.rtt_ms, o.p95_ms
            );
        }
    }
    Ok(())
}
