//! Repeats in the simulator spread as the kernel's do (`src/repeats.rs`); what was measured is recorded.

use twin::{quantile, repeats};

#[test]
fn repeats_spread_as_the_kernels_do() {
    let all = repeats::beside(repeats::RECORDED).expect("parses");
    assert_eq!(all.len(), repeats::CELLS);
    let runs = (all[0].kernel.runs, all[0].sim.runs);
    let near = all.iter().filter(|b| b.is_near()).count();
    let far: Vec<String> = all
        .iter()
        .filter(|b| !b.is_near())
        .map(|b| {
            format!("{}: {:.2} ({:.4} for {:.4})", b.cell.name(), b.ratio(), b.sim.share(), b.kernel.share())
        })
        .collect();
    // What is reached; equal distributions would come to 19 (`docs/fidelity.md` tells what is missing).
    let chance = repeats::by_chance(runs.0, runs.1);
    println!("{near} of {} near, {chance:.3} by chance; far: {far:#?}", all.len());
    assert!(near >= 16, "{near}: {far:#?}");
    let ratios: Vec<f64> = all.iter().filter(|b| !b.is_still()).map(|b| b.ratio()).collect();
    let median = quantile(&ratios, 0.5);
    assert!((0.67..=1.5).contains(&median), "neither calmer nor wilder as a rule: {median:.2} of {ratios:?}");
}
