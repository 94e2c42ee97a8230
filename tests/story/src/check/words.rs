//! Checks the words of a clause: every number in them was computed, and none is missing.

use super::Check;
use crate::numbers::{Printed, numbers, unquoted};
use crate::value::{Number, value};
use report::story::{Clause, Effect, Story};

/// Maximum number of gains in one fact.
const MAX_GAINS: usize = 3;
/// Maximum number of variants named in a list.
const MAX_NAMES: usize = 3;

/// Everything that is wrong with a clause in English and in Chinese.
pub fn wrong(check: &Check, clause: &Clause, en: &str, zh: &str) -> Vec<String> {
    // The limit of the flows is checked against runs elsewhere.
    if matches!(clause, Clause::Held { .. }) {
        return Vec::new();
    }
    let want = expected(check, clause);
    let mut list = Vec::new();
    for text in [en, zh] {
        let found = numbers(&unquoted(text));
        let Some(left) = without(&found, &want) else {
            list.push(format!("numbers {found:?} should be {want:?} in {text:?}"));
            continue;
        };
        // The variant's changes contain numbers too.
        let known = match clause {
            Clause::Better(b) | Clause::AsGood(b) => super::changes::numbers_of(check, b),
            _ => Vec::new(),
        };
        let strange = left.into_iter().find(|n| !known.iter().any(|&k| n.is(k)));
        list.extend(strange.map(|n| format!("{n:?} is not a number of this clause, in {text:?}")));
    }
    for name in names(clause) {
        if !en.contains(&name) || !zh.contains(&name) {
            list.push(format!("{name} is not named"));
        }
    }
    list
}

/// Numbers in the headline and the facts that belong to no clause.
pub fn strange(checks: &[Check], stated: &Story) -> Vec<String> {
    let mut known: Vec<f64> = Vec::new();
    for check in checks {
        for clause in &stated.clauses {
            if let Clause::Held { .. } = clause {
                return Vec::new();
            }
            known.extend(expected(check, clause));
            if let Clause::Better(b) | Clause::AsGood(b) = clause {
                known.extend(super::changes::numbers_of(check, b));
            }
        }
    }
    let mut list = Vec::new();
    for lang in [report::Lang::En, report::Lang::Zh] {
        for text in std::iter::once(stated.headline(lang)).chain(stated.facts(lang)) {
            let found = numbers(&unquoted(&text)).into_iter().find(|n| !known.iter().any(|&k| n.is(k)));
            list.extend(found.map(|n| format!("{n:?} belongs to no clause, in {text:?}")));
        }
    }
    list
}

/// The numbers found beyond those wanted; `None` if a wanted one is missing. The order is ignored, because
/// languages differ. Of several matches, the most precise one counts: 2 may be a setting where 2.24 is a
/// result.
fn without(found: &[Printed], want: &[f64]) -> Option<Vec<Printed>> {
    let mut left: Vec<Printed> = found.to_vec();
    for &x in want {
        let fits = (0..left.len()).filter(|&i| left[i].is(x));
        left.remove(fits.min_by(|&a, &b| left[a].within.total_cmp(&left[b].within))?);
    }
    Some(left)
}

fn names(clause: &Clause) -> Vec<String> {
    let names: Vec<&str> = match clause {
        Clause::Nothing { variant } | Clause::Carries { variant, .. } | Clause::Has { variant, .. } => {
            vec![variant]
        }
        Clause::CarriesByPath { variant, parts } => {
            parts.iter().take(MAX_NAMES).map(|p| &p.flow).chain([variant]).map(String::as_str).collect()
        }
        Clause::Better(b) | Clause::AsGood(b) | Clause::Leads(b) => {
            let pays = b.costs.iter().filter_map(|e| match Number::of(&e.measure) {
                Number::Flow(name) => Some(name),
                _ => None,
            });
            return std::iter::once(b.variant.clone()).chain(pays).collect();
        }
        Clause::Open { variants, .. } => {
            return variants.iter().take(MAX_NAMES).map(|v| v.0.clone()).collect();
        }
        Clause::Idle { variants } => return variants.iter().take(MAX_NAMES).cloned().collect(),
        Clause::Same { baseline, variants, .. } => {
            return variants.iter().take(MAX_NAMES).chain([baseline]).cloned().collect();
        }
        Clause::OtherFlows { variant, .. } => vec![variant],
        Clause::Unfair { most, least } => vec![&most.0, &least.0],
        Clause::Starved { flow, most, .. } => vec![flow, &most.0],
        // A stage that the scenario does not contain is not named.
        Clause::Dropped { kind, .. } | Clause::Queued { kind, .. } if kind == report::story::ASSUMED => {
            Vec::new()
        }
        // The stage's name, without the flow that was measured alone.
        Clause::Dropped { element, .. }
        | Clause::Queued { element, .. }
        | Clause::BlackHole { element, .. }
        | Clause::Fragmented { element, .. } => element.split('@').take(1).collect(),
        Clause::ClocksGoodput { variant, flow, .. } => vec![variant, flow],
        Clause::ClocksCount { variant, .. } => vec![variant],
        _ => Vec::new(),
    };
    names.into_iter().map(Into::into).collect()
}

/// The numbers as printed: shares in percent.
fn expected(check: &Check, clause: &Clause) -> Vec<f64> {
    let b = check.baseline;
    match clause {
        Clause::Carries { .. } => {
            let (tcp, udp) = (value(&Number::Tcp, b), value(&Number::Datagrams, b));
            let share = b.limit.map(|l| (tcp.unwrap_or(0.0) + udp.unwrap_or(0.0)) / l * 100.0);
            [tcp, udp, share].into_iter().flatten().collect()
        }
        Clause::CarriesByPath { parts, .. } => {
            let each = |p: &report::story::Part| {
                let more = (p.more > 0).then_some(p.more as f64);
                let share = p.limit.map(|l| p.mbps / l * 100.0);
                [Some(p.mbps), more, share].into_iter().flatten().collect::<Vec<f64>>()
            };
            let rest = parts.len().saturating_sub(MAX_NAMES);
            let more = (rest > 0).then_some(rest as f64);
            parts.iter().take(MAX_NAMES).flat_map(each).chain(more).collect()
        }
        Clause::Has { measure, .. } => printed(value(&Number::of(measure), b).unwrap_or(f64::NAN)),
        Clause::Starved { more, mbps, seconds, most, .. } => {
            let what = seconds.unwrap_or(mbps * 1e3);
            (*more > 0).then_some(*more as f64).into_iter().chain([what, most.1]).collect()
        }
        Clause::Extremes { flows, .. } => vec![*flows as f64],
        Clause::Unfinished { .. } => {
            let t = b.result.completion_s.unwrap_or_default();
            vec![t.unfinished as f64, (t.count + t.unfinished) as f64]
        }
        Clause::Dropped { element, .. } => {
            let it = b.elements.iter().find(|e| e.name == *element);
            it.map(|e| e.dropped as f64 / e.arrived as f64 * 100.0).into_iter().collect()
        }
        Clause::Lost { share } => vec![*share],
        Clause::Waited { share, .. } | Clause::Repaired { share, .. } => vec![share * 100.0],
        Clause::BlackHole { size_bytes, mtu_bytes, .. } => {
            vec![f64::from(*size_bytes), f64::from(*mtu_bytes)]
        }
        Clause::CutSegments { mtu_bytes, mss_bytes } => vec![f64::from(*mtu_bytes), f64::from(*mss_bytes)],
        Clause::Fragmented { cut, came, fragments, .. } => {
            vec![*cut as f64 / *came as f64 * 100.0, *fragments as f64 / *cut as f64]
        }
        Clause::Queued { min_delay_ms, p95_ms, packets, .. } => vec![*min_delay_ms, *p95_ms, *packets as f64],
        Clause::Unfair { most, least } => vec![most.1, least.1],
        Clause::Better(b) => {
            [goal(&b.effect), both(&b.gains, MAX_GAINS), both(&b.costs, usize::MAX)].concat()
        }
        // The headline states the first gain, a fact the others.
        Clause::AsGood(b) => both(&b.gains, 1 + MAX_GAINS),
        Clause::Leads(b) => [both(&b.gains, usize::MAX), both(&b.costs, usize::MAX)].concat(),
        Clause::Open { was, variants, repeats, .. } => {
            let rest = variants.len().saturating_sub(MAX_NAMES);
            let more = (rest > 0).then_some(rest as f64);
            let each = variants.iter().take(MAX_NAMES).flat_map(|v| printed(v.1));
            each.chain(more).chain(was.iter().flat_map(|w| printed(*w))).chain([*repeats as f64]).collect()
        }
        Clause::Same { variants, .. } | Clause::Idle { variants } => {
            let rest = variants.len().saturating_sub(MAX_NAMES);
            (rest > 0).then_some(rest as f64).into_iter().collect()
        }
        Clause::OtherFlows { effect, .. } => both(std::slice::from_ref(effect), 1),
        Clause::NoSuspectHelps { tried } => vec![*tried as f64],
        // A single other variant is not counted.
        Clause::Best { others, .. } => {
            if *others == 1 {
                vec![]
            } else {
                vec![*others as f64]
            }
        }
        Clause::ClocksGoodput { first, second, .. } => vec![*first, *second],
        Clause::ClocksCount { first, second, .. } => vec![*first as f64, *second as f64],
        Clause::Perhaps { suspect } => suspect.gain.into_iter().collect(),
        Clause::Nothing { .. } | Clause::Clean | Clause::Unexplained { .. } | Clause::Held { .. } => {
            Vec::new()
        }
    }
}

fn goal(e: &Effect) -> Vec<f64> {
    if ![Number::Tcp, Number::Datagrams].contains(&Number::of(&e.measure)) {
        return printed(e.is);
    }
    let ratio = e.is / e.was;
    match e.was {
        0.0 => vec![e.is],
        _ if ratio < 1.95 => vec![e.is, (ratio - 1.0) * 100.0],
        _ => vec![e.is, ratio],
    }
}

/// The values of up to `most` effects, in both variants.
fn both(effects: &[Effect], most: usize) -> Vec<f64> {
    effects.iter().take(most).flat_map(|e| [printed(e.is), printed(e.was)].concat()).collect()
}

/// An infinite value is stated without a number.
fn printed(x: f64) -> Vec<f64> {
    if x.is_infinite() { Vec::new() } else { vec![x] }
}
