//! Every pair of congestion controls on one bottleneck: `pairs` prints `docs/measured/fairness.md` (simulated
//! now, the kernel's results as recorded), `pairs kernel [K/N]` measures on this machine as root and prints a
//! line for each run, of all pairs or of every Nth from the Kth on, so that several processes can run in
//! parallel.

use twin::pair::{Pair, QUEUES, Share, pairs, recorded};

const HEAD: &str = include_str!("../../fairness-head.md");
/// The controls in this kernel, and those that longfat provides for it.
fn in_kernel() -> Vec<&'static str> {
    let kernel = kernel_cc::Kernel::now();
    let has = |name: &&&str| kernel.has(name) || kernel_cc::find(name).is_some();
    congestion::NAMES.iter().filter(has).copied().collect()
}

/// Simulated runs of each pair.
const RUNS: u64 = 3;

pub fn run(args: &[String]) -> Result<(), String> {
    match args.first().map(String::as_str) {
        None => document(),
        Some("kernel") => match shard(args.get(1)) {
            Some(shard) => measure(shard),
            None => Err("the part must be K/N, for example 1/4".into()),
        },
        Some(_) => Err("usage: pairs [kernel [K/N]]".into()),
    }
}

fn shard(text: Option<&String>) -> Option<(usize, usize)> {
    let Some(text) = text else { return Some((1, 1)) };
    let (k, n) = text.split_once('/')?;
    let (k, n) = (k.parse().ok()?, n.parse().ok()?);
    (1 <= k && k <= n).then_some((k, n))
}

fn measure((k, n): (usize, usize)) -> Result<(), String> {
    println!("a,b,queue,run,a_mbps,b_mbps,jain,wait_ms");
    for pair in pairs(&in_kernel()).iter().skip(k - 1).step_by(n) {
        let share = pair.measure(1).map_err(|e| format!("{}: {e}", pair.line()))?;
        let Share { a, b, wait_ms } = share;
        println!("{},1,{a:.3},{b:.3},{:.4},{wait_ms:.2}", pair.line(), share.jain());
    }
    Ok(())
}

fn cell(share: Option<Share>) -> String {
    let of = |s: Share| format!("{:.1} : {:.1} · {:.2} · {:.0}", s.a, s.b, s.jain(), s.wait_ms.max(0.0));
    share.map_or("–".into(), of)
}

fn simulate(pair: &Pair) -> Result<Share, String> {
    let runs: Result<Vec<Share>, String> = (1..=RUNS).map(|run| pair.simulate(run)).collect();
    Ok(Share::mean(&runs?))
}

fn document() -> Result<(), String> {
    let mut rows: Vec<(Pair, Share, Option<Share>)> = Vec::new();
    for pair in pairs(congestion::NAMES) {
        rows.push((pair, simulate(&pair)?, recorded(&pair)));
    }
    print!("{HEAD}");
    let differences: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|(_, s, k)| k.map(|k| (s.jain() - k.jain(), s.a / (s.a + s.b) - k.a / (k.a + k.b))))
        .collect();
    if !differences.is_empty() {
        let median = |get: fn(&(f64, f64)) -> f64| {
            twin::quantile(&differences.iter().map(|p| get(p).abs()).collect::<Vec<_>>(), 0.5)
        };
        println!(
            "\nThe kernel compared with the simulator, {} cells: Jain's index differs by {:.3} in the median, the first flow's \
             share of the goodput by {:.1} percentage points.",
            differences.len(),
            median(|p| p.0),
            median(|p| p.1) * 100.0
        );
    }
    for (queue, (name, _)) in QUEUES.iter().enumerate() {
        println!("\n## {name}\n");
        println!("| first : second | simulator | kernel |\n|---|---|---|");
        for (pair, simulated, kernel) in rows.iter().filter(|(p, ..)| p.queue == queue) {
            println!("| {} : {} | {} | {} |", pair.a, pair.b, cell(Some(*simulated)), cell(*kernel));
        }
    }
    Ok(())
}
