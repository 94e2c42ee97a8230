//! What sets one variant apart from another, as far as a result tells: stages of the path, relays, congestion
//! controls.

use super::cc_name;
use crate::figures::Row;
use crate::story::called;
use crate::strings::{Lang, fill};
use crate::table::{clip, printable};
use result::VariantResult;
use result::topology::PathStage;
use std::collections::BTreeMap;

/// The difference of two variants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// A stage of another kind in a stage's place.
    Replaced { was: String, is: String, same_rate: bool },
    /// One setting of a stage of the same kind.
    Set { kind: String, key: String, was: String, is: String },
    /// A stage of this kind more.
    Added(String),
    /// A stage of this kind less.
    Removed(String),
    /// Relays where there were none, on this host.
    Relay(String),
    /// Another congestion control for all flows that changed it.
    Control { was: String, is: String },
    /// More than one of these, or something that the result does not tell; and whether the path took part.
    Several,
}

impl Change {
    pub(crate) fn is_of_path(&self) -> bool {
        !matches!(self, Change::Control { .. } | Change::Several)
    }

    pub(crate) fn is_of_control(&self) -> bool {
        matches!(self, Change::Control { .. })
    }

    pub(crate) fn is_several(&self) -> bool {
        matches!(self, Change::Several)
    }

    /// The change and the variant's name.
    pub(crate) fn say(&self, name: &str, lang: Lang) -> String {
        let kind = |k: &str| called("one", k, lang);
        let say = |key, places: &[(&str, &str)]| {
            let mut all = vec![("name", name)];
            all.extend(places);
            fill(key, lang, &all)
        };
        match self {
            Change::Replaced { was, is, same_rate } => {
                let key = if *same_rate { "story.change.same-rate" } else { "story.change.replaced" };
                say(key, &[("was", &kind(was)), ("is", &kind(is))])
            }
            Change::Set { kind: k, key, was, is } => {
                let of_queue = key == "queue.kind";
                let value =
                    |v: &str| if of_queue { called("queue", v, lang) } else { clip(&printable(v), 40) };
                let places =
                    [("kind", kind(k)), ("key", printable(key)), ("was", value(was)), ("is", value(is))];
                let text = if of_queue { "story.change.queue" } else { "story.change.set" };
                say(text, &places.each_ref().map(|(n, v)| (*n, v.as_str())))
            }
            Change::Added(k) => say("story.change.added", &[("kind", &kind(k))]),
            Change::Removed(k) => say("story.change.removed", &[("kind", &kind(k))]),
            Change::Relay(host) => say("story.change.relay", &[("host", &clip(&printable(host), 40))]),
            Change::Control { was, is } => {
                say("story.change.cc", &[("was", &cc_name(was, lang)), ("is", &cc_name(is, lang))])
            }
            Change::Several => say("story.change.several", &[]),
        }
    }
}

/// What `b` changes of `a`.
pub(crate) fn change(a: &Row, b: &Row) -> Change {
    let mut found = path_changes(a.variant, b.variant);
    let mut controls: Vec<(&str, &str)> = a
        .flows()
        .into_iter()
        .zip(b.flows())
        .filter(|(x, y)| x.cc != y.cc)
        .map(|(x, y)| (&*x.cc, &*y.cc))
        .collect();
    controls.dedup();
    found.extend(controls.into_iter().map(|(was, is)| Change::Control { was: was.into(), is: is.into() }));
    if found.len() == 1 { found.remove(0) } else { Change::Several }
}

/// Stages by the direction of the link they are in.
fn stages(v: &VariantResult) -> BTreeMap<String, &[PathStage]> {
    let links = v.path.iter().flat_map(|p| &p.links);
    let ways = links.flat_map(|l| {
        [(format!("{}.forward", l.name), &l.forward[..]), (format!("{}.backward", l.name), &l.backward[..])]
    });
    ways.collect()
}

/// The same change in several places (both directions of a link, say) counts once.
fn path_changes(a: &VariantResult, b: &VariantResult) -> Vec<Change> {
    let (before, after) = (stages(a), stages(b));
    let mut found: Vec<Change> = Vec::new();
    let mut add = |c: Change| {
        if !found.contains(&c) {
            found.push(c);
        }
    };
    for (way, was) in &before {
        let is = after.get(way).copied().unwrap_or_default();
        way_changes(was, is).into_iter().for_each(&mut add);
    }
    let relays = |v: &VariantResult| v.path.as_ref().map_or_else(Vec::new, |p| p.relays.clone());
    let new = relays(b).into_iter().filter(|r| !relays(a).contains(r));
    new.for_each(|r| add(Change::Relay(r.host)));
    found
}

/// Stages are matched by name, then by place when as many are left over on both sides.
fn way_changes(was: &[PathStage], is: &[PathStage]) -> Vec<Change> {
    let missing = |from: &[PathStage], of: &PathStage| !from.iter().any(|s| s.name == of.name);
    let gone: Vec<&PathStage> = was.iter().filter(|s| missing(is, s)).collect();
    let new: Vec<&PathStage> = is.iter().filter(|s| missing(was, s)).collect();
    let mut list = Vec::new();
    for old in was {
        list.extend(is.iter().find(|s| s.name == old.name).and_then(|s| stage_change(old, s)));
    }
    if gone.len() == new.len() {
        list.extend(gone.iter().zip(&new).filter_map(|(a, b)| stage_change(a, b)));
    } else {
        list.extend(gone.iter().map(|s| Change::Removed(s.kind.clone())));
        list.extend(new.iter().map(|s| Change::Added(s.kind.clone())));
    }
    list
}

fn stage_change(was: &PathStage, is: &PathStage) -> Option<Change> {
    if was.kind != is.kind {
        let same_rate = was.settings.get("rate").is_some_and(|r| is.settings.get("rate") == Some(r));
        return Some(Change::Replaced { was: was.kind.clone(), is: is.kind.clone(), same_rate });
    }
    let keys: std::collections::BTreeSet<&String> = was.settings.keys().chain(is.settings.keys()).collect();
    let mut differ: Vec<&String> =
        keys.into_iter().filter(|k| was.settings.get(*k) != is.settings.get(*k)).collect();
    // Another kind of queue has keys of its own.
    if let Some(kind) = differ.iter().copied().find(|k| k.ends_with(".kind")) {
        let table = kind.trim_end_matches("kind");
        differ.retain(|k| *k == kind || !k.starts_with(table));
    }
    match differ[..] {
        [] => None,
        [key] => {
            let of = |s: &PathStage| s.settings.get(key).cloned().unwrap_or_else(|| "–".into());
            Some(Change::Set { kind: was.kind.clone(), key: key.clone(), was: of(was), is: of(is) })
        }
        _ => Some(Change::Several),
    }
}
