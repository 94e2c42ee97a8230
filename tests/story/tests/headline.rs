//! Nothing that the headlines of 300 random scenarios state is wrong.

use report::story::{Clause, story};
use result::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use story_test::check::{complaints, statements, wrong};
use story_test::checked_run::{CheckedRun, play, play_with_stand_in};
use story_test::draw::draw;

const SCENARIOS: u64 = 300;

/// Seed of the first scenario; `LONGFAT_STORY_FROM=1001` draws others.
fn first_seed() -> u64 {
    std::env::var("LONGFAT_STORY_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn played(seed: u64) -> CheckedRun {
    let (text, few) = draw(seed);
    // Some have enough repeats for an interval.
    let repeats = if seed.is_multiple_of(7) { 4 } else { few };
    // Every fifth has a second run that stands for the kernel's.
    if seed.is_multiple_of(5) { play_with_stand_in(&text) } else { play(&text, repeats, Clock::Sim) }
}

/// Applies `check` to each seed, on all cores.
fn each<T: Send>(check: impl Fn(u64) -> T + Sync) -> Vec<(u64, T)> {
    let first = first_seed();
    let next = AtomicU64::new(first);
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let work = || {
        let mut done = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + SCENARIOS {
                return done;
            }
            done.push((seed, check(seed)));
        }
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        all.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// Kinds of the changes that a clause states.
fn changed(clause: &Clause) -> Vec<String> {
    let (Clause::Better(b) | Clause::AsGood(b) | Clause::Leads(b)) = clause else { return Vec::new() };
    b.changes.iter().map(|c| format!("{c:?}").chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
}

/// Kind of a clause.
fn kind(clause: &Clause) -> String {
    let text = format!("{clause:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

#[test]
fn no_statement_about_random_scenarios_is_wrong() {
    let found = each(|seed| {
        let checked = played(seed);
        let stated = story(&[("", &checked.run)]);
        let mut kinds: Vec<String> = stated.clauses.iter().map(kind).collect();
        kinds.extend(stated.clauses.iter().flat_map(changed));
        (complaints(&checked), kinds, statements(&stated))
    });
    let mut counts = std::collections::BTreeMap::new();
    for kind in found.iter().flat_map(|f| &f.1.1) {
        *counts.entry(kind.clone()).or_insert(0) += 1;
    }
    let said: usize = found.iter().map(|f| f.1.2).sum();
    println!(
        "{SCENARIOS} scenarios from seed {}: {said} statements in {} clauses: {counts:?}",
        first_seed(),
        counts.values().sum::<i32>()
    );
    let wrong: Vec<String> = found
        .iter()
        .flat_map(|(seed, (list, ..))| list.iter().map(move |w| format!("seed {seed}: {w}")))
        .collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    // A clause that never occurs would not be tested at all.
    for kind in [
        "Carries",
        "Has",
        "Dropped",
        "Waited",
        "Queued",
        "Unfair",
        "Starved",
        "Extremes",
        "Better",
        "AsGood",
        "Leads",
        "Open",
        "Same",
        "Best",
        "BlackHole",
        "CutSegments",
        "Fragmented",
        "ClocksGoodput",
        "ClocksCount",
        "Setting",
        "Control",
        "Queue",
    ] {
        assert!(counts.get(kind).is_some_and(|&n| n >= 3), "{kind} hardly ever occurs: {counts:?}");
    }
}

/// The checker finds each changed number, each hidden cost, and each variant that is replaced.
#[test]
fn falsified_clauses_are_found() {
    let mut made = 0;
    for seed in 1..=40 {
        let checked = played(seed);
        let stated = story(&[("", &checked.run)]);
        for i in 0..stated.clauses.len() {
            for clause in falsified(&stated.clauses[i]) {
                let mut other = stated.clone();
                other.clauses[i] = clause.clone();
                assert!(!wrong(&checked, &other).is_empty(), "seed {seed}: {clause:?} was not found");
                made += 1;
            }
        }
    }
    assert!(made > 100, "{made}");
}

/// Falsifies the clause, in several ways.
fn falsified(clause: &Clause) -> Vec<Clause> {
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
        Clause::CarriesByPath { parts, .. } => parts[0].mbps *= 1.01,
        Clause::Unexplained { too_large } => *too_large = !*too_large,
        Clause::Has { value, .. } => *value *= 1.01,
        Clause::Dropped { dropped, .. } => *dropped += 1,
        Clause::Waited { share, .. } | Clause::Repaired { share, .. } | Clause::Lost { share } => {
            *share += 0.01
        }
        Clause::Queued { p95_ms, .. } => *p95_ms *= 0.5,
        Clause::Starved { more, .. } => *more += 1,
        Clause::Extremes { flows, .. } => *flows += 1,
        Clause::ClocksGoodput { first, .. } => *first += 0.01,
        Clause::Unfair { most, least } => std::mem::swap(most, least),
        Clause::Better(b) | Clause::AsGood(b) => b.effect.is *= 1.01,
        Clause::Best { others, .. } => *others += 1,
        Clause::Leads(b) => b.gains[0].is *= 1.01,
        Clause::Open { variants, .. } => {
            variants.pop();
        }
        Clause::Same { variants, .. } => variants.push("!".into()),
        _ => {}
    });
    with(&|c| match c {
        Clause::Better(b) | Clause::Leads(b) => b.costs.clear(),
        Clause::Carries { variant, .. } | Clause::Has { variant, .. } => variant.push('!'),
        Clause::Dropped { element, .. } | Clause::Queued { element, .. } => element.push('!'),
        _ => {}
    });
    with(&|c| match c {
        Clause::Better(b) | Clause::AsGood(b) => b.changes.clear(),
        _ => {}
    });
    with(&|c| match c {
        Clause::Better(b) | Clause::AsGood(b) => b.gains.clear(),
        _ => {}
    });
    list
}

/// The one default that the story knows: the length of a FIFO that states none.
#[test]
fn a_fifo_without_a_stated_length_is_described_with_its_default() {
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
    let checked = play(text, 1, Clock::Sim);
    assert_eq!(checked.run.variants[0].elements[0].max_queue_packets, 1000);
    let facts = checked.run.facts.join(" ");
    let expected =
        "instead of a FIFO of 1000 packets and the application's rate 900 kbit/s instead of 20 Mbit/s.";
    assert!(facts.contains(expected), "{facts}");
}

/// A variant that lacks a flow is described by a flow that both have.
#[test]
fn a_variant_with_other_flows_is_described_by_a_common_flow() {
    let text = r#"
duration = "3s"
[links.l]
between = ["a", "b"]
forward = [{ kind = "link", rate = "4Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 30 } }]
[flows.up]
from = "a"
to = "b"
[flows.more]
from = "a"
to = "b"
count = 3
[variants.all]
[variants.alone]
"flows.more.enabled" = false
"#;
    let checked = play(text, 1, Clock::Sim);
    assert_eq!(complaints(&checked), [""; 0]);
    let stated = story(&[("", &checked.run)]);
    let of = |c: &&Clause| matches!(c, Clause::OtherFlows { variant, effect } if variant == "alone" && effect.is > effect.was);
    let clause = stated.clauses.iter().find(of).unwrap_or_else(|| panic!("{stated:?}"));
    assert!(!wrong(&checked, &other_effect(&stated, clause)).is_empty());
}

/// The story with another value for the flow.
fn other_effect(stated: &report::story::Story, of: &Clause) -> report::story::Story {
    let mut other = stated.clone();
    for clause in other.clauses.iter_mut().filter(|c| *c == of) {
        if let Clause::OtherFlows { effect, .. } = clause {
            effect.was *= 1.01;
        }
    }
    other
}

/// A stage that the scenario does not contain is described, never named, and its absence is not a change.
#[test]
fn the_simulators_own_stage_is_never_named() {
    let text = r#"
duration = "200ms"
[links.l]
between = ["a", "b"]
forward = [{ kind = "link", rate = "50Mbit/s", enabled = false }]
[flows.f]
from = "a"
to = "b"
count = 3
[variants.bare]
[variants.link]
"links.l.forward.link.enabled" = true
"#;
    let mut checked = play(text, 1, Clock::Sim);
    assert_eq!(complaints(&checked), [""; 0]);
    let path = checked.run.variants[0].path.clone().unwrap();
    assert!(
        path.links[0].forward.last().unwrap().assumed
            && checked.run.variants[1].path.as_ref().unwrap().links[0].forward.iter().all(|s| !s.assumed)
    );
    // Whatever was dropped or queued there, it was in the network card.
    checked.run.variants[0].elements[0].dropped_packets = 900;
    let stated = story(&[("", &checked.run)]);
    for lang in [report::Lang::En, report::Lang::Zh] {
        let text = stated.text(lang);
        assert!(text.contains("network card") || text.contains("发送端网卡"), "{text}");
        assert!(!text.contains("cable"), "{text}");
    }
    // In the other direction the card replaces the link, which is not a change of the scenario.
    checked.run.baseline = Some("link".into());
    let text = story(&[("", &checked.run)]).text(report::Lang::En);
    assert!(!text.contains("cable") && !text.contains("network card"), "{text}");
}

/// Every key, apart from stages, that a variant can change has a name in both languages.
#[test]
fn every_key_of_a_scenario_has_a_name() {
    let schema: serde_json::Value = serde_json::from_str(scenario::schema()).unwrap();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let of = |definition: &str| keys(&schema["definitions"][definition]);
    let mut all: Vec<(&str, String)> = Vec::new();
    // Described otherwise: controls and relays by their names, disabled flows and stages by what is missing.
    let own = ["cc", "app", "via", "enabled", "host", "name"];
    all.extend(of("Flow").into_iter().filter(|k| !own.contains(&k.as_str())).map(|k| ("flow", k)));
    all.extend(of("Relay").into_iter().filter(|k| k != "host").map(|k| ("relay", k)));
    all.extend(of("Stack").into_iter().map(|k| ("host", format!("stack.{k}"))));
    for app in schema["definitions"]["App"]["oneOf"].as_array().unwrap() {
        all.extend(keys(app).into_iter().map(|k| ("flow", format!("app.{k}"))));
    }
    let run = ["duration", "seed", "sample", "one_at_a_time", "measure", "host_jitter"];
    all.extend(run.map(|k| ("run", k.to_string())));
    all.push(("link", "between".into()));
    assert!(all.len() > 50, "{all:?}");
    let missing: Vec<_> = all.iter().filter(|(of, key)| !report::story::is_named(of, key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
