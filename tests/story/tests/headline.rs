//! 300 random scenarios: nothing that their headlines say is wrong.

use report::story::{Clause, story};
use result::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use story_test::check::{complaints, wrong};
use story_test::draw::draw;
use story_test::seen::{SeenRun, play};

const SCENARIOS: u64 = 300;

fn played(seed: u64) -> SeenRun {
    let (text, repeats) = draw(seed);
    play(&text, repeats, Clock::Sim)
}

/// What `of` finds in each seed, on all cores.
fn each<T: Send>(of: impl Fn(u64) -> T + Sync) -> Vec<(u64, T)> {
    let next = AtomicU64::new(1);
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let work = || {
        let mut done = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > SCENARIOS {
                return done;
            }
            done.push((seed, of(seed)));
        }
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        all.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// Which clause it is.
fn kind(clause: &Clause) -> String {
    let text = format!("{clause:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

#[test]
fn nothing_that_is_said_of_random_scenarios_is_wrong() {
    let found = each(|seed| {
        let seen = played(seed);
        let kinds: Vec<String> = story(&[("", &seen.run)]).clauses.iter().map(kind).collect();
        (complaints(&seen), kinds)
    });
    let mut counts = std::collections::BTreeMap::new();
    for kind in found.iter().flat_map(|f| &f.1.1) {
        *counts.entry(kind.clone()).or_insert(0) += 1;
    }
    println!("{counts:?}");
    let wrong: Vec<String> = found
        .iter()
        .flat_map(|(seed, (list, _))| list.iter().map(move |w| format!("seed {seed}: {w}")))
        .collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    // Scenarios in which a clause never comes would prove nothing of it.
    for kind in ["Carries", "Has", "Dropped", "Waited", "Queued", "Unfair", "Better", "AsGood", "Best"] {
        assert!(counts.get(kind).is_some_and(|&n| n >= 5), "{kind} is hardly ever said: {counts:?}");
    }
}

/// The checker finds each number that is changed, each cost that is hidden, each variant that is another.
#[test]
fn what_is_made_wrong_is_found() {
    let mut made = 0;
    for seed in 1..=40 {
        let seen = played(seed);
        let told = story(&[("", &seen.run)]);
        for i in 0..told.clauses.len() {
            for clause in spoilt(&told.clauses[i]) {
                let mut other = told.clone();
                other.clauses[i] = clause.clone();
                assert!(!wrong(&seen, &other).is_empty(), "seed {seed}: {clause:?} was not found");
                made += 1;
            }
        }
    }
    assert!(made > 100, "{made}");
}

/// The clause made wrong, in several ways.
fn spoilt(clause: &Clause) -> Vec<Clause> {
    let mut list = Vec::new();
    let mut with = |change: &dyn Fn(&mut Clause)| {
        let mut other = clause.clone();
        change(&mut other);
        if other != *clause {
            list.push(other);
        }
    };
    with(&|c| match c {
        Clause::Carries { tcp, udp, .. } => {
            for x in [tcp, udp].into_iter().flatten() {
                *x *= 1.01;
            }
        }
        Clause::Has { value, .. } => *value *= 1.01,
        Clause::Dropped { dropped, .. } => *dropped += 1,
        Clause::Waited { share, .. } | Clause::Repaired { share, .. } | Clause::Lost { share } => {
            *share += 0.01
        }
        Clause::Queued { p95_ms, .. } => *p95_ms *= 0.5,
        Clause::Unfair { most, least } => std::mem::swap(most, least),
        Clause::Better(b) | Clause::AsGood(b) => b.effect.is *= 1.01,
        Clause::Best { others, .. } => *others += 1,
        _ => {}
    });
    with(&|c| match c {
        Clause::Better(b) => b.costs.clear(),
        Clause::Carries { variant, .. } | Clause::Has { variant, .. } => variant.push('!'),
        Clause::Dropped { element, .. } | Clause::Queued { element, .. } => element.push('!'),
        _ => {}
    });
    with(&|c| match c {
        Clause::Better(b) | Clause::AsGood(b) => b.changes.clear(),
        _ => {}
    });
    with(&|c| match c {
        Clause::Better(b) | Clause::AsGood(b) => b.loses = b.loses.map(|l| l * 2.0),
        _ => {}
    });
    list
}

/// The one default that the story knows: what a FIFO holds that says nothing of its length.
#[test]
fn a_fifo_of_no_stated_length_is_told_with_the_length_it_has() {
    let text = r#"
duration = "2s"
goal = "p95 delay"
[links.l]
between = ["a", "b"]
forward = [{ kind = "link", rate = "1Mbit/s" }]
[flows.f]
from = "a"
to = "b"
app = { kind = "udp", rate = "20Mbit/s" }
[variants.fifo]
[variants.codel]
"links.l.forward.link.queue" = { kind = "codel" }
"flows.f.app.rate" = "900kbit/s"
"#;
    let seen = play(text, 1, Clock::Sim);
    assert_eq!(seen.run.variants[0].elements[0].max_queue_packets, 1000);
    let headline = seen.run.headline.unwrap();
    assert!(headline.contains("instead of a FIFO of 1000 packets (“codel”)"), "{headline}");
}
