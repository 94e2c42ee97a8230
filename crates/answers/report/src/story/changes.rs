//! The differences between two variants as far as a result records them: stages of the path, their queues and
//! settings, relays, congestion controls.

use super::change::{Change, queue};
use super::setting::settings;
use crate::figures::Row;
use result::VariantResult;
use result::topology::PathStage;
use std::collections::{BTreeMap, BTreeSet};

/// The changes from `a` to `b`.
pub(super) fn changes(a: &Row, b: &Row) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    let (before, after) = (stages(a.variant), stages(b.variant));
    // A link that only one of them has is all new, or all gone.
    let directions: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for direction in directions {
        let stages = |all: &BTreeMap<_, Vec<PathStage>>| all.get(direction).cloned().unwrap_or_default();
        direction_changes(&stages(&before), &stages(&after)).into_iter().for_each(|c| add(&mut found, c));
    }
    let relays = |v: &VariantResult| -> Vec<_> { v.path.iter().flat_map(|p| p.relays.clone()).collect() };
    let (before, after) = (relays(a.variant), relays(b.variant));
    found.extend(after.iter().filter(|r| !before.contains(r)).map(|r| Change::Relay(r.host.clone())));
    found.extend(before.iter().filter(|r| !after.contains(r)).map(|r| Change::NoRelay(r.host.clone())));
    found.extend(controls(a, b));
    found.extend(settings(a, b));
    found
}

/// Adds a change. The same change in several places (both directions of a link, for example) counts once.
fn add(found: &mut Vec<Change>, new: Change) {
    if let Change::Queue { was: more, is } = &new {
        let same = found.iter_mut().find_map(|c| match c {
            Change::Queue { was, is: other } if other == is => Some(was),
            _ => None,
        });
        if let Some(was) = same {
            was.extend(more.iter().filter(|q| !was.contains(q)).cloned().collect::<Vec<_>>());
            return;
        }
    }
    if !found.contains(&new) {
        found.push(new);
    }
}

fn controls(a: &Row, b: &Row) -> Vec<Change> {
    let tcp = |r: &Row| r.flows().into_iter().filter(|f| !f.is_udp()).count();
    let mut ccs: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (x, y) in a.flows().into_iter().zip(b.flows()).filter(|(x, y)| x.cc != y.cc) {
        ccs.entry((x.cc.clone(), y.cc.clone())).or_default().push(x.name.clone());
    }
    let control = |((was, is), flows): ((String, String), Vec<String>)| {
        let flows = if flows.len() == tcp(b) { Vec::new() } else { flows };
        Change::Control { was, is, flows }
    };
    ccs.into_iter().map(control).collect()
}

/// The stages of each link and direction, without those that the scenario does not have.
fn stages(v: &VariantResult) -> BTreeMap<(&str, bool), Vec<PathStage>> {
    let links = v.path.iter().flat_map(|p| &p.links);
    let stated = |list: &[PathStage]| list.iter().filter(|s| !s.assumed).cloned().collect();
    links
        .flat_map(|l| {
            [((l.name.as_str(), false), stated(&l.forward)), ((l.name.as_str(), true), stated(&l.backward))]
        })
        .collect()
}

/// The changes in one direction of a link. Stages are matched by name, then by place: a new stage after the
/// same common stage replaces the removed one.
fn direction_changes(was: &[PathStage], is: &[PathStage]) -> Vec<Change> {
    let missing = |from: &[PathStage], stage: &PathStage| !from.iter().any(|s| s.name == stage.name);
    let gone: Vec<&PathStage> = was.iter().filter(|s| missing(is, s)).collect();
    let new: Vec<&PathStage> = is.iter().filter(|s| missing(was, s)).collect();
    let mut list = Vec::new();
    for old in was {
        list.extend(is.iter().find(|s| s.name == old.name).map_or_else(Vec::new, |s| stage_changes(old, s)));
    }
    // The last stage before `s` that both variants have.
    let predecessor = |list: &[PathStage], other: &[PathStage], s: &PathStage| -> Option<String> {
        let at = list.iter().position(|x| x.name == s.name)?;
        list[..at].iter().rev().find(|x| !missing(other, x)).map(|x| x.name.clone())
    };
    let same_place = |(a, b): (&&PathStage, &&PathStage)| predecessor(was, is, a) == predecessor(is, was, b);
    if gone.len() == new.len() && gone.iter().zip(&new).all(same_place) {
        list.extend(gone.iter().zip(&new).flat_map(|(a, b)| stage_changes(a, b)));
        return list;
    }
    list.extend(gone.into_iter().map(|s| Change::Removed(s.clone())));
    list.extend(new.into_iter().map(|s| {
        let at = is.iter().position(|x| x.name == s.name).unwrap_or(0);
        let old = |s: &&PathStage| !missing(was, s);
        let before = is[at..].iter().find(old).map(|s| s.kind.clone());
        let after = is[..at].iter().rev().find(old).map(|s| s.kind.clone()).filter(|_| before.is_none());
        Change::Added { stage: s.clone(), before, after }
    }));
    list
}

fn stage_changes(was: &PathStage, is: &PathStage) -> Vec<Change> {
    if was.kind != is.kind {
        return vec![Change::Replaced { was: was.clone(), is: is.clone() }];
    }
    let keys: BTreeSet<&String> = was.settings.keys().chain(is.settings.keys()).collect();
    let mut differ: Vec<&String> =
        keys.into_iter().filter(|k| was.settings.get(*k) != is.settings.get(*k)).collect();
    let mut list = Vec::new();
    if let (Some(old), Some(new)) = (queue(was), queue(is))
        && old != new
    {
        // Another kind of queue has other keys.
        let of_limits = ["queue.kind", "queue.packets", "queue.bytes"];
        differ.retain(|k| {
            !(k.starts_with("queue.") && (old.kind != new.kind || of_limits.contains(&k.as_str())))
        });
        list.push(Change::Queue { was: vec![old], is: new });
    }
    list.extend(differ.into_iter().map(|key| Change::Set {
        kind: was.kind.clone(),
        key: key.clone(),
        was: was.settings.get(key).cloned(),
        is: is.settings.get(key).cloned(),
    }));
    list
}
