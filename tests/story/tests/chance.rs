//! Statements of a headline that are based on repeats are not due to chance: with twenty fresh seeds they are
//! not reversed.
//!
//! `LONGFAT_CHANCE=100 cargo test -p longfat-story-test --test chance -- --nocapture` checks more scenarios,
//! `LONGFAT_CHANCE_FROM=1001` others.

use report::story::{Clause, story};
use result::Clock;
use story_test::checked_run::{CheckedRun, ComparedVariant, play};
use story_test::draw::draw;
use story_test::value::{Number, is_clearly_better, is_within_chance, paired, value};

/// Number of scenarios by default.
const DEFAULT_SCENARIOS: u64 = 24;
/// Repeats that the headline is based on.
const REPEATS: u32 = 5;
/// Fresh seeds that it is checked against.
const FRESH_SEEDS: u32 = 20;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// The scenario of a seed, with random losses: without them only the hosts' jitter would differ.
fn text(seed: u64) -> String {
    draw(seed).0.replace("one_at_a_time = true\n", "").replace("probability = 0 }", "probability = 0.01 }")
}

/// Plays the same variants with seeds that nothing else used.
fn fresh(text: &str, seed: u64) -> CheckedRun {
    let text = text.replacen(&format!("seed = {seed}\n"), &format!("seed = {}\n", 500_000 + 100 * seed), 1);
    play(&text, FRESH_SEEDS, Clock::Sim)
}

fn named<'a>(run: &'a CheckedRun, name: &str) -> &'a ComparedVariant {
    run.compared.iter().find(|s| s.name == name).expect("the same variants")
}

#[test]
fn statements_based_on_repeats_are_not_reversed_by_fresh_seeds() {
    let (count, first) = (number("LONGFAT_CHANCE", DEFAULT_SCENARIOS), number("LONGFAT_CHANCE_FROM", 1));
    let (mut better, mut none, mut wrong) = (0, 0, Vec::new());
    for seed in first..first + count {
        let text = text(seed);
        let few = play(&text, REPEATS, Clock::Sim);
        let stated = story(&[("", &few.run)]);
        let says = |c: &Clause| matches!(c, Clause::Better(_) | Clause::AsGood(_) | Clause::Best { .. });
        if !stated.clauses.iter().any(says) {
            continue;
        }
        let many = fresh(&text, seed);
        let Some(baseline) = stated.about.first().map(|at| &many.compared[at[1]]) else { continue };
        for judged in &stated.goals {
            let n = Number::of(&judged.measure);
            let clauses = || stated.clauses.iter().filter(|c| c.goal() == Some(judged.goal));
            for clause in clauses() {
                let Clause::Better(b) = clause else { continue };
                let other = named(&many, &b.variant);
                better += 1;
                let (Some(was), Some(is)) = (value(&n, baseline), value(&n, other)) else { continue };
                let reversed = if n.is_higher_better() { is < was } else { is > was };
                if reversed {
                    wrong.push(format!("seed {seed}: {} of {:?}: {was} to {is}", n.name(), b.variant));
                }
            }
            let open: Vec<&String> = clauses()
                .filter_map(|c| if let Clause::Open { variants, .. } = c { Some(variants) } else { None })
                .flatten()
                .map(|v| &v.0)
                .collect();
            if clauses().any(|c| matches!(c, Clause::Best { .. } | Clause::AsGood(_))) {
                let compared =
                    few.compared.iter().filter(|s| s.name != baseline.name && !open.contains(&&s.name));
                for other in compared.map(|s| named(&many, &s.name)) {
                    // Variants with higher limits are not compared.
                    if other.limit.unwrap_or(f64::MAX) > 1.05 * baseline.limit.unwrap_or(f64::MAX) {
                        continue;
                    }
                    let (Some(was), Some(is)) = (value(&n, baseline), value(&n, other)) else { continue };
                    none += 1;
                    // Twice what counts as better: twenty seeds may exceed slightly what five seeds just
                    // missed.
                    let twice = if n.is_higher_better() { 0.9 * is > was } else { is < 0.9 * was };
                    if is_clearly_better(&n, was, is) && twice && !is_within_chance(&n, baseline, other) {
                        let by = paired(&n, baseline, other);
                        wrong.push(format!(
                            "seed {seed}: {} does better: {} {was} to {is} {by:?}",
                            other.name,
                            n.name()
                        ));
                    }
                }
            }
        }
    }
    println!(
        "{count} scenarios from seed {first}: {better} stated to be better, {none} not; {} wrong: {wrong:#?}",
        wrong.len()
    );
    assert!(better > 0 && none > 0, "{better} better, {none} not: this proves nothing");
    // One interval in twenty does not contain the mean.
    assert!(wrong.len() * 20 <= better + none + 19, "{wrong:#?}");
}
