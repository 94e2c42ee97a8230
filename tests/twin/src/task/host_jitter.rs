//! Measures host jitter. `host-jitter learn kernel|sim [ROUNDS]` prints quantiles of how late hosts are (on
//! the kernel as root); `host-jitter kernel [RUNS]` measures the repeats' cells on this machine and prints a
//! line for each run; `host-jitter` compares the recorded runs with the simulator, `host-jitter FILE` those
//! in another file.

use twin::{quantile, reaction, repeats};

/// Quantiles, in parts of 10,000.
const QUANTILES: [u64; 12] = [0, 500, 1000, 2500, 5000, 7500, 9000, 9500, 9800, 9900, 9990, 10_000];

pub fn run(args: &[String]) -> Result<(), String> {
    let arg = |i: usize| args.get(i).map(String::as_str);
    let number = |i: usize, usual: u64| arg(i).map_or(Ok(usual), str::parse).map_err(|e| e.to_string());
    match (arg(0), arg(1)) {
        (None, _) => compare(repeats::RECORDED),
        (Some("learn"), Some(on @ ("kernel" | "sim"))) => number(2, 3).and_then(|n| learn(on == "kernel", n)),
        (Some("kernel"), _) => number(1, 5).and_then(measure),
        (Some("learn"), _) => {
            Err("usage: host-jitter [learn kernel|sim [ROUNDS] | kernel [RUNS] | FILE]".into())
        }
        (Some(file), _) => {
            std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}")).and_then(|t| compare(&t))
        }
    }
}

fn learn(on_kernel: bool, rounds: u64) -> Result<(), String> {
    let late = reaction::learn(on_kernel, rounds)?;
    println!("share of 10,000: microseconds");
    let of = [&late.receiver, &late.sender, &late.turn, &late.start];
    for (what, values) in ["receiver", "sender", "turn", "start"].into_iter().zip(of) {
        let at = |share: u64| format!("{share}: {:.1}", quantile(values, share as f64 / 10_000.0) / 1e3);
        let row: Vec<String> = QUANTILES.into_iter().map(at).collect();
        println!("{what} ({}): {}", values.len(), row.join(", "));
    }
    Ok(())
}

/// Runs all cells once before repeating any, so that temporary disturbances of the machine affect all of
/// them.
fn measure(runs: u64) -> Result<(), String> {
    println!("{}", repeats::heading());
    for run in 1..=runs {
        for cell in repeats::cells() {
            let line = cell.line();
            let (goodput, late) = repeats::measure(&cell, run).map_err(|e| format!("{line}: {e}"))?;
            println!("{line},{run},{goodput:.5},{late:.3}");
        }
    }
    Ok(())
}

fn compare(measured: &str) -> Result<(), String> {
    let all = repeats::compare(measured)?;
    println!("| cell | kernel Mbit/s | deviation | simulator Mbit/s | deviation | ratio |");
    println!("|---|---:|---:|---:|---:|---:|");
    for b in &all {
        println!(
            "| {} | {:.2} | {:.2} % | {:.2} | {:.2} % | {:.2} |",
            b.cell.name(),
            b.kernel.mean,
            b.kernel.share() * 100.0,
            b.sim.mean,
            b.sim.share() * 100.0,
            b.ratio()
        );
    }
    let near = all.iter().filter(|b| b.is_near()).count();
    let still = all.iter().filter(|b| b.is_still()).count();
    let runs = all.first().map_or((0, 0), |b| (b.kernel.runs, b.sim.runs));
    println!(
        "\nDeviations within a factor of two in {near} of {} cells, {still} of them with none on either side; equal \
         normal distributions would be so in {:.0} % of cells by {} and {} repeats.",
        all.len(),
        repeats::by_chance(runs.0, runs.1) * 100.0,
        runs.0,
        runs.1
    );
    Ok(())
}
