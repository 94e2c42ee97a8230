//! The summary: each group of flows is told of together.

use super::group::{FlowGroup, groups};
use super::words::{cause as cause_name, in_language, listed, share};
use super::{cause, control, facts};
use crate::strings::{Lang, fill};
use crate::width::printable;
use result::Cause;
use result::diagnosis::Diagnosis;
use std::collections::HashSet;

/// Groups told of in sentences; the rest is counted. More than these nobody reads before the table.
const MOST_GROUPS: usize = 4;

/// What is said of a group of flows.
#[derive(Debug)]
pub(super) struct Told {
    /// Their main cause.
    pub cause: Cause,
    /// Their numbers, the one with most bytes first.
    pub flows: Vec<u32>,
    /// What held them, why that is so, what to do.
    pub text: String,
    /// The evidence, a short line each.
    pub facts: Vec<String>,
}

/// The summary, and a sentence on each of what it leaves out and what it folds.
pub(super) fn told(d: &Diagnosis, lang: Lang) -> (Vec<Told>, Vec<String>) {
    let (flows, control) = control::apart(d);
    let groups = groups(d, &flows);
    let mut told: Vec<Told> = groups.iter().take(MOST_GROUPS).map(|g| say(g, lang)).collect();
    // Who takes a link is told once, where it is first told of.
    let mut links = HashSet::new();
    for (g, told) in groups.iter().zip(&mut told) {
        let new = g.limiter.filter(|l| links.insert(std::ptr::from_ref(*l)));
        told.facts.extend(new.and_then(|l| facts::takers(l, lang)));
    }
    let left = groups.get(MOST_GROUPS..).unwrap_or_default();
    let n: usize = left.iter().map(|g| g.flows.len()).sum();
    let list: Vec<String> =
        left.iter().map(|g| format!("{} {}", cause_name(g.cause, lang), g.flows.len())).collect();
    let rest = fill("diag.rest", lang, &[("n", &n.to_string()), ("list", &listed(&list, lang))]);
    (told, (n > 0).then_some(rest).into_iter().chain(control::told(&control, lang)).collect())
}

fn say(group: &FlowGroup, lang: Lang) -> Told {
    let lead = group.lead();
    let who = format!("{} -> {}", printable(&lead.from), printable(&lead.to));
    let how = in_language(group.cause.entry().how, lang);
    let n = group.flows.len();
    let key = match (group.cause, n) {
        (Cause::Unknown, 1) => "diag.head.unknown.one",
        (Cause::Unknown, _) => "diag.head.unknown.many",
        (_, 1) => "diag.head.one",
        _ => "diag.head.many",
    };
    let values = [
        ("who", who.as_str()),
        ("n", &n.to_string()),
        ("how", how),
        ("share", &share(group.share(group.cause))),
    ];
    let head = fill(key, lang, &values);
    let (why, advice) = (cause::why(group, lang), cause::advice(group, lang));
    let text = match lang {
        Lang::En => format!("{head}: {why}. {advice}."),
        Lang::Zh => format!("{head}：{why}。{advice}。"),
    };
    Told {
        cause: group.cause,
        flows: group.flows.iter().map(|f| f.id).collect(),
        text,
        facts: facts::facts(group, lang),
    }
}
