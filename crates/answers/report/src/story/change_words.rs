//! Puts a variant's changes into words.

use super::change::{Change, QueueSetting, queue};
use super::phrases::{called, cc_name, joined, quantity, quoted};
use super::setting;
use crate::strings::{Lang, fill, text};
use crate::width::{clip, printable};
use result::topology::PathStage;

/// If a variant has more changes than this, only its name is printed.
const MAX_CHANGES: usize = 3;

/// A variant's changes and its name; the name alone if the changes are unknown or too many.
pub(super) fn how(changes: &[Change], name: &str, lang: Lang) -> String {
    match changed(changes, lang) {
        Some(changes) => fill("story.how", lang, &[("change", &changes), ("name", &quoted(name))]),
        None => quoted(name),
    }
}

/// A variant's changes; `None` if they are unknown or too many for a sentence.
pub(super) fn changed(changes: &[Change], lang: Lang) -> Option<String> {
    // If a kind is removed in one place and added in another, the sentence would not show which.
    let moved = changes.iter().any(|c| match c {
        Change::Added { stage, .. } => {
            changes.iter().any(|c| matches!(c, Change::Removed(old) if old.kind == stage.kind))
        }
        _ => false,
    });
    if changes.is_empty() || changes.len() > MAX_CHANGES || moved {
        return None;
    }
    Some(joined(changes.iter().map(|c| change(c, lang)).collect(), lang))
}

fn change(change: &Change, lang: Lang) -> String {
    let instead = |is: String, was: String| fill("story.change.instead", lang, &[("is", &is), ("was", &was)]);
    match change {
        Change::Replaced { was, is } => {
            let rate = |s: &PathStage| s.settings.get("rate").cloned();
            let is_same_rate = rate(was).is_some() && rate(was) == rate(is);
            instead(
                stage(is, is_same_rate, lang),
                if is_same_rate { kind(was, lang) } else { stage(was, false, lang) },
            )
        }
        Change::Queue { was, is } => {
            let list = joined(was.iter().map(|q| queue_words(q, lang)).collect(), lang);
            instead(queue_words(is, lang), list)
        }
        Change::Set { kind, key, was, is } => set(kind, &printable(key), was.as_deref(), is.as_deref(), lang),
        Change::Added { stage: new, before, after } => {
            let kind = |k: &String| the(&called("one", k, lang), lang);
            let stage = stage(new, false, lang);
            match (before, after) {
                (Some(k), _) => fill("story.change.before", lang, &[("stage", &stage), ("kind", &kind(k))]),
                (_, Some(k)) => fill("story.change.behind", lang, &[("stage", &stage), ("kind", &kind(k))]),
                _ => fill("story.change.added", lang, &[("stage", &stage)]),
            }
        }
        Change::Removed(old) => {
            fill("story.change.removed", lang, &[("stage", &the(&kind(old, lang), lang))])
        }
        Change::Relay(host) => fill("story.change.relay", lang, &[("host", &clip(&printable(host), 40))]),
        Change::NoRelay(host) => {
            fill("story.change.no-relay", lang, &[("host", &clip(&printable(host), 40))])
        }
        Change::Setting { owner, names, key, was, is } => {
            setting::words(*owner, names, key, (was.as_deref(), is.as_deref()), lang)
        }
        Change::Control { was, is, flows } => {
            let change = instead(cc_name(is, lang), cc_name(was, lang));
            match &flows[..] {
                [] => change,
                [one] => fill("story.change.of", lang, &[("change", &change), ("flow", &quoted(one))]),
                many => {
                    fill("story.change.of-many", lang, &[("change", &change), ("n", &many.len().to_string())])
                }
            }
        }
    }
}

/// Whether a value is a JSON list or object, which is too long for a sentence and meaningless when cut.
pub(super) fn is_list(value: &str) -> bool {
    value.starts_with(['[', '{'])
}

/// A changed setting of a stage. A missing key means the default, so stating a switch inverts its default.
fn set(kind: &str, key: &str, was: Option<&str>, is: Option<&str>, lang: Lang) -> String {
    let stage = the(&called("one", kind, lang), lang);
    let name = called("element", kind, lang);
    let spelt = |v: Option<&str>| v.map(quantity).unwrap_or_default();
    let lists = [was, is].into_iter().flatten().any(is_list);
    let template = match (was, is) {
        _ if lists => "story.change.other",
        (None | Some("false"), Some("true")) | (Some("false"), None) => "story.change.with",
        (None | Some("true"), Some("false")) | (Some("true"), None) => "story.change.without",
        (None, Some(_)) => "story.change.given",
        (Some(_), None) => "story.change.left-out",
        _ => "story.change.set",
    };
    let places = [
        ("stage", &stage),
        ("kind", &name),
        ("key", &key.to_string()),
        ("was", &spelt(was)),
        ("is", &spelt(is)),
    ];
    fill(template, lang, &places.map(|(k, v)| (k, v.as_str())))
}

fn kind(stage: &PathStage, lang: Lang) -> String {
    called("one", &stage.kind, lang)
}

/// Replaces "a" by "the".
fn the(one: &str, lang: Lang) -> String {
    let bare = one.strip_prefix("a ").or(one.strip_prefix("an ")).filter(|_| lang == Lang::En);
    bare.map_or_else(|| one.into(), |bare| format!("the {bare}"))
}

/// A stage with its rate and its queue, or with its first settings if it has no rate.
fn stage(stage: &PathStage, same_rate: bool, lang: Lang) -> String {
    let kind = kind(stage, lang);
    let rate = match stage.settings.get("rate") {
        Some(_) if same_rate => text("story.same-rate", lang).into(),
        Some(rate) => quantity(rate),
        None => {
            let plain = |(k, v): &(&String, &String)| !k.starts_with("queue.") && !is_list(v);
            let each = stage.settings.iter().filter(plain).take(2);
            let list: Vec<String> =
                each.map(|(k, v)| format!("{}\u{a0}{}", printable(k), quantity(v))).collect();
            if list.is_empty() {
                return kind;
            }
            return fill("story.stage.settings", lang, &[("kind", &kind), ("settings", &joined(list, lang))]);
        }
    };
    let whole = fill("story.stage.rate", lang, &[("kind", &kind), ("rate", &rate)]);
    let inside = match (queue(stage), stage.settings.get("burst")) {
        (Some(q), _) if q.kind == "fifo" => limit(&q, lang),
        (Some(q), _) => queue_words(&q, lang),
        (None, Some(burst)) => fill("story.burst", lang, &[("burst", &quantity(burst))]),
        (None, None) => String::new(),
    };
    if inside.is_empty() {
        whole
    } else {
        fill("story.stage.with", lang, &[("stage", &whole), ("with", &inside)])
    }
}

/// The limit of a queue; empty if none is stated.
fn limit(queue: &QueueSetting, lang: Lang) -> String {
    let packets = queue.packets.as_ref().map(|n| fill("story.packets", lang, &[("n", &printable(n))]));
    joined(packets.into_iter().chain(queue.bytes.as_ref().map(|b| quantity(b))).collect(), lang)
}

fn queue_words(queue: &QueueSetting, lang: Lang) -> String {
    let kind = called("queue", &queue.kind, lang);
    let limit = limit(queue, lang);
    let key = match (queue.kind.as_str(), limit.is_empty()) {
        (_, true) => return kind,
        ("fifo", _) => "story.queue.fifo",
        _ => "story.queue.other",
    };
    fill(key, lang, &[("kind", &kind), ("limit", &limit)])
}
