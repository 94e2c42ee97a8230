//! The reported cause is the one whose removal gains most, according to the checker's own runs.
//!
//! By default a few scenarios; `LONGFAT_HELD=300 cargo test -p longfat-held-test --test held -- --nocapture`
//! checks many, `LONGFAT_HELD_FROM=1001` others, and `LONGFAT_HELD_SHOW=1` prints what was found in each.

use held_test::draw::{draw, draw_held};
use held_test::held::{Verdict, reported, verdict};
use result::{Clock, LimitationKind};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of scenarios by default.
const DEFAULT_SCENARIOS: u64 = 10;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Every third is one of those that are used for headlines.
fn text(seed: u64) -> String {
    if seed.is_multiple_of(3) { draw(seed).0.replace("one_at_a_time = true\n", "") } else { draw_held(seed) }
}

#[test]
fn the_named_cause_is_the_one_whose_removal_gains_most() {
    let (count, first) = (number("LONGFAT_HELD", DEFAULT_SCENARIOS), number("LONGFAT_HELD_FROM", 1));
    let next = AtomicU64::new(first);
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let work = || {
        let mut done: Vec<(u64, Option<LimitationKind>, Verdict)> = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return done;
            }
            let text = text(seed);
            let (limitations, search) = reported(&text);
            if std::env::var_os("LONGFAT_HELD_SHOW").is_some() {
                println!("reported: {limitations:#?}\n{search:#?}");
            }
            done.push((seed, limitations.first().map(|h| h.kind), verdict(&text, &limitations, Clock::Sim)));
        }
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    all.sort_by_key(|(seed, ..)| *seed);
    let is = |v: &Verdict| all.iter().filter(|(.., verdict)| verdict == v).count();
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, kind, _) in &all {
        *kinds.entry(kind.map_or("nothing", LimitationKind::name)).or_insert(0) += 1;
    }
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|(seed, _, verdict)| match verdict {
            Verdict::Wrong(what) => Some(format!("seed {seed}: {what}")),
            _ => None,
        })
        .collect();
    println!(
        "{count} scenarios from seed {first}: {} name the best cause, {} an equally good one, {} correctly none, {} wrong; {kinds:?}",
        is(&Verdict::Best),
        is(&Verdict::Tied),
        is(&Verdict::RightlyNone),
        wrong.len()
    );
    // Both sides use random runs: of 300 scenarios one or two differ by more than their intervals permit.
    assert!(wrong.len() as u64 * 50 <= count, "{}", wrong.join("\n"));
    assert!(kinds.len() > 2, "too few kinds to prove anything: {kinds:?}");
}
