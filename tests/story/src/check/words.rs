//! The words of a clause: every number in them is one that was worked out, and none is missing.

use super::Check;
use crate::numbers::{Printed, numbers, unquoted};
use crate::value::value;
use report::story::{Better, Clause, Effect, Measure};

/// What is wrong with a clause in English and in Chinese.
pub fn wrong(check: &Check, clause: &Clause, en: &str, zh: &str) -> Vec<String> {
    let want = expected(check, clause);
    let mut list = Vec::new();
    for text in [en, zh] {
        let bare = unquoted(text);
        let (how, rest) = match clause {
            Clause::Better(_) | Clause::AsGood(_) => split(&bare),
            _ => ("", bare.as_str()),
        };
        let found = numbers(rest);
        if !same_numbers(&found, &want) {
            list.push(format!("numbers {found:?} should be {want:?} in {text:?}"));
        }
        if let Clause::Better(b) | Clause::AsGood(b) = clause {
            let known = super::changes::numbers_of(check, b);
            let strange = numbers(how).into_iter().find(|n| !known.iter().any(|&k| n.is(k)));
            list.extend(strange.map(|n| format!("{n:?} is no setting, in {text:?}")));
        }
    }
    for name in names(clause) {
        if !en.contains(name) || !zh.contains(name) {
            list.push(format!("{name} is not named"));
        }
    }
    list
}

/// What a variant changed, and what follows from it: its name, between brackets, has gone with the quotes.
fn split(bare: &str) -> (&str, &str) {
    let at = bare.find("()").map(|i| i + 2).or(bare.find("（）").map(|i| i + "（）".len())).unwrap_or(0);
    bare.split_at(at)
}

/// Each is found once, in any order: languages have their own.
fn same_numbers(found: &[Printed], want: &[f64]) -> bool {
    let mut left: Vec<Printed> = found.to_vec();
    for &x in want {
        let Some(at) = left.iter().position(|n| n.is(x)) else { return false };
        left.remove(at);
    }
    left.is_empty()
}

fn names(clause: &Clause) -> Vec<&str> {
    match clause {
        Clause::Nothing { variant } | Clause::Carries { variant, .. } | Clause::Has { variant, .. } => {
            vec![variant]
        }
        Clause::Better(b) | Clause::AsGood(b) => std::iter::once(b.variant.as_str())
            .chain(b.costs.iter().filter_map(|e| e.flow.as_deref()))
            .collect(),
        Clause::Unfair { most, least } => vec![&most.0, &least.0],
        Clause::Starved { flow, most, .. } => vec![flow, &most.0],
        // What nobody wrote is not named.
        Clause::Dropped { kind, .. } | Clause::Queued { kind, .. } if kind == report::story::ASSUMED => {
            Vec::new()
        }
        // Where it is, without the run that it is of.
        Clause::Dropped { element, .. }
        | Clause::Queued { element, .. }
        | Clause::BlackHole { element, .. }
        | Clause::Fragmented { element, .. } => element.split('@').take(1).collect(),
        Clause::ClocksGoodput { variant, flow, .. } => vec![variant, flow],
        Clause::ClocksCount { variant, .. } => vec![variant],
        _ => Vec::new(),
    }
}

/// The numbers, as they are printed: shares in percent.
fn expected(check: &Check, clause: &Clause) -> Vec<f64> {
    let b = check.baseline;
    match clause {
        Clause::Carries { .. } => {
            let (tcp, udp) = (value(Measure::TcpGoodput, b), value(Measure::UdpGoodput, b));
            let share = b.limit.map(|l| (tcp.unwrap_or(0.0) + udp.unwrap_or(0.0)) / l * 100.0);
            [tcp, udp, share].into_iter().flatten().collect()
        }
        Clause::Has { measure, .. } => printed(*measure, value(*measure, b).unwrap_or(f64::NAN)),
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
            it.map(|e| e.dropped as f64 / e.came as f64 * 100.0).into_iter().collect()
        }
        Clause::Lost { share } | Clause::Waited { share, .. } | Clause::Repaired { share, .. } => {
            vec![share * 100.0]
        }
        Clause::BlackHole { size_bytes, mtu_bytes, .. } => {
            vec![f64::from(*size_bytes), f64::from(*mtu_bytes)]
        }
        Clause::CutSegments { mtu_bytes, mss_bytes } => vec![f64::from(*mtu_bytes), f64::from(*mss_bytes)],
        Clause::Fragmented { cut, came, fragments, .. } => {
            vec![*cut as f64 / *came as f64 * 100.0, *fragments as f64 / *cut as f64]
        }
        Clause::Queued { least_ms, p95_ms, packets, .. } => vec![*least_ms, *p95_ms, *packets as f64],
        Clause::Unfair { most, least } => vec![most.1, least.1],
        Clause::Better(better) => {
            let mut list = goal(&better.effect);
            list.extend(rest(better));
            list
        }
        Clause::AsGood(better) => rest(better),
        // The one other variant is not counted.
        Clause::Best { others, all, .. } => {
            if *all && *others == 1 {
                vec![]
            } else {
                vec![*others as f64]
            }
        }
        Clause::ClocksGoodput { first, second, .. } => vec![*first, *second],
        Clause::ClocksCount { first, second, .. } => vec![*first as f64, *second as f64],
        Clause::Nothing { .. } | Clause::Clean => Vec::new(),
    }
}

fn goal(e: &Effect) -> Vec<f64> {
    if ![Measure::TcpGoodput, Measure::UdpGoodput].contains(&e.measure) {
        return [printed(e.measure, e.is), printed(e.measure, e.was)].concat();
    }
    let ratio = e.is / e.was;
    match e.was {
        0.0 => vec![e.is],
        _ if ratio < 1.95 => vec![e.is, (ratio - 1.0) * 100.0],
        _ => vec![e.is, ratio],
    }
}

fn rest(b: &Better) -> Vec<f64> {
    let each = |e: &Effect| [printed(e.measure, e.is), printed(e.measure, e.was)].concat();
    let mut list: Vec<f64> = b.gains.iter().flat_map(each).collect();
    list.extend(b.loses.map(|l| l * 100.0));
    list.extend(b.costs.iter().flat_map(each));
    list
}

/// A value that is infinite is said without a number.
fn printed(m: Measure, x: f64) -> Vec<f64> {
    match m {
        _ if x.is_infinite() => Vec::new(),
        Measure::TcpLoss | Measure::Resent | Measure::UdpLoss => vec![x * 100.0],
        _ => vec![x],
    }
}
