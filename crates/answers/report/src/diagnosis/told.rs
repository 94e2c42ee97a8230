//! The summary: each group of flows is told of together.

use super::cause::cause_label;
use super::group::{Certainty, FlowGroup, groups};
use super::words::{listed, share};
use super::{cause, control, facts};
use crate::strings::{Lang, fill, text};
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
        left.iter().map(|g| format!("{} {}", cause_label(g.cause, lang), g.flows.len())).collect();
    let rest = fill("diag.rest", lang, &[("n", &n.to_string()), ("list", &listed(&list, lang))]);
    (told, (n > 0).then_some(rest).into_iter().chain(control::told(&control, lang)).collect())
}

fn say(group: &FlowGroup, lang: Lang) -> Told {
    Told {
        cause: group.cause,
        flows: group.flows.iter().map(|f| f.id).collect(),
        text: sentences(group, lang),
        facts: facts::facts(group, lang),
    }
}

/// What held them, why that is so, what to do; doubt comes first.
fn sentences(group: &FlowGroup, lang: Lang) -> String {
    let head = head(group, lang);
    let possible = listed(&cause::possible(group, lang), lang);
    let mut parts = match group.certainty {
        Certainty::Few => vec![because(&head, &cause::why(group, lang), lang)],
        Certainty::Undecided if possible.is_empty() => vec![because(&head, &cause::why(group, lang), lang)],
        Certainty::Undecided => {
            let possible = fill("diag.head.possible", lang, &[("list", &possible)]);
            vec![because(&head, &possible, lang)]
        }
        Certainty::Probable | Certainty::Sure => {
            vec![because(&head, &cause::why(group, lang), lang), cause::advice(group, lang)]
        }
    };
    if group.certainty == Certainty::Probable {
        let key = if possible.is_empty() { "diag.doubt.alone" } else { "diag.doubt" };
        let sure = share(group.lead().confidence);
        parts.push(fill(key, lang, &[("share", &sure), ("list", &possible)]));
    }
    let needs = group.lead().needs.filter(|_| group.certainty != Certainty::Sure);
    parts.extend(needs.map(|needs| text(&format!("diag.needs.{}", needs.name()), lang).to_string()));
    match lang {
        Lang::En => parts.join(". ") + ".",
        Lang::Zh => parts.join("。") + "。",
    }
}

fn because(head: &str, why: &str, lang: Lang) -> String {
    let colon = if lang == Lang::Zh { "：" } else { ": " };
    format!("{head}{colon}{why}")
}

fn head(group: &FlowGroup, lang: Lang) -> String {
    let lead = group.lead();
    let who = format!("{} -> {}", printable(&lead.from), printable(&lead.to));
    let n = group.flows.len();
    let which = match group.certainty {
        Certainty::Few => ".few",
        Certainty::Undecided => ".unknown",
        Certainty::Probable => ".probably",
        Certainty::Sure => "",
    };
    let many = if n == 1 { "one" } else { "many" };
    let values = [
        ("who", who.as_str()),
        ("n", &n.to_string()),
        ("how", cause::how(group.cause, lang)),
        ("share", &share(lead.share(group.cause))),
    ];
    fill(&format!("diag.head{which}.{many}"), lang, &values)
}
