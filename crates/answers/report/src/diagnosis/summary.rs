//! The summary: a headline and its facts for each group of flows.

use super::cause::cause_label;
use super::group::{Certainty, FlowGroup, groups};
use super::words::{listed, share};
use super::{cause, control, facts};
use crate::strings::{Lang, fill, text};
use crate::width::printable;
use result::Cause;
use result::diagnosis::Diagnosis;
use std::collections::HashSet;

/// Groups with a headline; the others are only counted, to keep the summary short.
const MAX_GROUPS: usize = 4;

/// The summary of a group of flows.
#[derive(Debug)]
pub(super) struct GroupSummary {
    pub cause: Cause,
    /// Flow numbers, the flow with most bytes first.
    pub flows: Vec<u32>,
    /// What limited the flows and what to do about it.
    pub headline: String,
    /// The evidence, a short line each.
    pub facts: Vec<String>,
}

/// The summaries of the first groups; and a sentence on the other groups and one on the control connections,
/// if any.
pub(super) fn summary(d: &Diagnosis, lang: Lang) -> (Vec<GroupSummary>, Vec<String>) {
    let (flows, control) = control::split(d);
    let groups = groups(d, &flows);
    let mut summaries: Vec<GroupSummary> =
        groups.iter().take(MAX_GROUPS).map(|g| summarize(g, lang)).collect();
    // The shares of a link stand in the first group that it limits, and only there.
    let mut links = HashSet::new();
    for (g, summary) in groups.iter().zip(&mut summaries) {
        let new = g.limiter.filter(|l| links.insert(std::ptr::from_ref(*l)));
        summary.facts.extend(new.and_then(|l| facts::shares_by_cc(l, lang)));
    }
    let left = groups.get(MAX_GROUPS..).unwrap_or_default();
    let n: usize = left.iter().map(|g| g.flows.len()).sum();
    let list: Vec<String> =
        left.iter().map(|g| format!("{} {}", cause_label(g.cause, lang), g.flows.len())).collect();
    let rest = fill("diag.rest", lang, &[("n", &n.to_string()), ("list", &listed(&list, lang))]);
    (summaries, (n > 0).then_some(rest).into_iter().chain(control::sentence(&control, lang)).collect())
}

fn summarize(group: &FlowGroup, lang: Lang) -> GroupSummary {
    GroupSummary {
        cause: group.cause,
        flows: group.flows.iter().map(|f| f.id).collect(),
        headline: headline(group, lang),
        facts: reasons(group, lang).into_iter().chain(facts::facts(group, lang)).collect(),
    }
}

/// What limited the flows and what to do about it; if the verdict is uncertain, the first word says so.
fn headline(group: &FlowGroup, lang: Lang) -> String {
    let mut parts = vec![head(group, lang)];
    match group.certainty {
        Certainty::Few => {}
        Certainty::Undecided => {
            let list = listed(&cause::possible(group, lang), lang);
            parts.extend((!list.is_empty()).then(|| fill("diag.head.possible", lang, &[("list", &list)])));
        }
        Certainty::Probable | Certainty::Sure => parts.push(cause::advice(group, lang)),
    }
    let needs = group.lead().needs.filter(|_| group.certainty != Certainty::Sure);
    parts.extend(needs.map(|needs| text(&format!("diag.needs.{}", needs.name()), lang).to_string()));
    match lang {
        Lang::En => parts.join(". ") + ".",
        Lang::Zh => parts.join("。") + "。",
    }
}

/// Why the flows are attributed to that cause, and how certain that is.
fn reasons(group: &FlowGroup, lang: Lang) -> Vec<String> {
    let possible = cause::possible(group, lang);
    let mut reasons = Vec::new();
    // Candidates stand in the headline, and none of them is proven.
    if group.certainty != Certainty::Undecided || possible.is_empty() {
        reasons.push(cause::why(group, lang));
    }
    if group.certainty == Certainty::Probable {
        let key = if possible.is_empty() { "diag.doubt.alone" } else { "diag.doubt" };
        let values = [("share", &*share(group.lead().confidence)), ("list", &*listed(&possible, lang))];
        reasons.push(fill(key, lang, &values));
    }
    reasons
}

/// The statement about the cause: "… was policed for 91 % of the time".
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
