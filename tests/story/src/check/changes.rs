//! Checks the changes stated for a variant against the two scenarios.

use super::Check;
use crate::checked_run::ComparedVariant;
use crate::numbers::numbers;
use report::story::{Better, Change, SettingOwner};
use result::topology::PathStage;
use scenario::{NamedStage, Scenario};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Stages of all link directions, with their full names.
fn stages(s: &Scenario) -> Vec<(String, &NamedStage)> {
    let key = |link: &str, direction: &str, n: &NamedStage| format!("{link}.{direction}.{}", n.name);
    let mut all = Vec::new();
    for link in &s.links {
        all.extend(link.forward.iter().map(|n| (key(&link.name, "forward", n), n)));
        all.extend(link.backward.iter().map(|n| (key(&link.name, "backward", n), n)));
    }
    all
}

/// Kind of the stage of this name; a suffix `@flow` is ignored.
pub fn kind(s: &Scenario, element: &str) -> Option<String> {
    let name = element.split('@').next()?;
    stages(s).into_iter().find(|x| x.0 == name).map(|x| x.1.stage.kind().to_string())
}

/// Returns whether the scenario has no such stage, and the link has none with a rate or a delay that could
/// stand for it.
pub fn is_bare(s: &Scenario, element: &str) -> bool {
    let timed =
        |n: &NamedStage| setting(n, "rate").is_some() || setting(n, "delay").is_some_and(|d| d != "0s");
    let link = element.split('.').next().unwrap_or_default();
    let own = s.links.iter().find(|l| l.name == link);
    let stages = |l: &scenario::DuplexLink| l.forward.iter().chain(&l.backward).any(timed);
    kind(s, element).is_none() && own.is_some_and(|l| !stages(l))
}

/// Propagation delay of the stage of this name, ms.
pub fn travel_ms(s: &Scenario, element: &str) -> f64 {
    let name = element.split('@').next().unwrap_or_default();
    let it = stages(s).into_iter().find(|x| x.0 == name);
    let delay = it.and_then(|x| setting(x.1, "delay")?.parse::<units::Span>().ok());
    delay.map_or(0.0, |d| d.as_nanos() as f64 / 1e6)
}

fn json(n: &NamedStage) -> Value {
    serde_json::to_value(&n.stage).expect("plain data")
}

/// A setting under a dotted key, in the form of the results.
fn setting(n: &NamedStage, key: &str) -> Option<String> {
    let mut at = json(n);
    for part in key.split('.') {
        at = at.get(part)?.clone();
    }
    Some(at.as_str().map_or_else(|| at.to_string(), str::to_string))
}

/// Returns whether the scenario has a stage of this kind with these settings.
fn has(s: &Scenario, stage: &PathStage) -> bool {
    let fits = |n: &NamedStage| {
        n.stage.kind() == stage.kind
            && stage.settings.iter().all(|(k, v)| setting(n, k).as_deref() == Some(v))
    };
    stages(s).iter().any(|x| fits(x.1))
}

/// Everything that is wrong with, or missing in, the changes stated for a variant.
pub fn wrong(was: &ComparedVariant, is: &ComparedVariant, stated: &[Change]) -> Vec<String> {
    let mut list: Vec<String> = stated
        .iter()
        .filter(|c| !holds(&was.scenario, &is.scenario, c))
        .map(|c| format!("not changed: {c:?}"))
        .collect();
    let (before, after) = (stages(&was.scenario), stages(&is.scenario));
    let differ =
        before.len() != after.len() || before.iter().zip(&after).any(|(a, b)| a.1.stage != b.1.stage);
    let of_path = stated.iter().any(|c| !matches!(c, Change::Control { .. } | Change::Setting { .. }));
    if differ != of_path {
        list.push(format!("stages differ: {differ}, stated: {stated:?}"));
    }
    let controls = was.flows.iter().zip(&is.flows).filter(|(a, b)| a.result.cc != b.result.cc).count();
    if (controls > 0) != stated.iter().any(|c| matches!(c, Change::Control { .. })) {
        list.push(format!("{controls} flows with another control, stated: {stated:?}"));
    }
    list.extend(settings(was, is, stated));
    list
}

/// The scenario's settings apart from stages, by owner, name and key, including defaults.
type SettingsMap = BTreeMap<(SettingOwner, String, String), String>;

fn settings_of(s: &Scenario) -> SettingsMap {
    let mut all = SettingsMap::new();
    let mut add = |owner: SettingOwner, name: &str, key: &str, value: String| {
        all.insert((owner, name.to_string(), key.to_string()), value);
    };
    let host = |i: usize| s.hosts[i].name.clone();
    add(SettingOwner::Run, "", "duration", s.duration.to_string());
    add(SettingOwner::Run, "", "seed", s.seed.to_string());
    for link in &s.links {
        add(SettingOwner::Link, &link.name, "between", link.between.map(host).join(", "));
    }
    for relay in &s.relays {
        add(SettingOwner::Relay, &relay.name, "buffer", relay.buffer.to_string());
        add(SettingOwner::Relay, &relay.name, "tool", relay.tool.name().to_string());
    }
    for h in &s.hosts {
        for (key, value) in flat("stack", &serde_json::to_value(&h.stack).expect("plain data")) {
            add(SettingOwner::Host, &h.name, &key, value);
        }
    }
    for f in &s.flows {
        let mut own = |key: &str, value: String| add(SettingOwner::Flow, &f.name, key, value);
        own("from", host(f.from));
        own("to", host(f.to));
        own("start", f.start.to_string());
        own("stagger", f.stagger.to_string());
        own("dscp", f.dscp.to_string());
        own("via", f.via.iter().map(|&r| s.relays[r].name.clone()).collect::<Vec<_>>().join(", "));
        own("max_pacing_rate", f.max_pacing_rate.map_or_else(String::new, |r| r.to_string()));
        for (key, value) in flat("app", &serde_json::to_value(&f.app).expect("plain data")) {
            own(&key, value);
        }
        for (key, value) in flat("cc", &serde_json::to_value(f.cc).expect("plain data")) {
            // Parameters of another congestion control are not changes of this one's.
            if key != "cc.name" {
                own(&format!("{key} of {}", f.cc.name()), value);
            }
        }
    }
    all
}

/// Dotted keys, as in the scenario; absent values are left out.
fn flat(key: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Null => Vec::new(),
        Value::Object(table) => table.iter().flat_map(|(k, v)| flat(&format!("{key}.{k}"), v)).collect(),
        Value::String(text) => vec![(key.into(), text.clone())],
        other => vec![(key.into(), other.to_string())],
    }
}

/// Checks that each setting that differs is stated with its value, and that no other setting is.
fn settings(was: &ComparedVariant, is: &ComparedVariant, stated: &[Change]) -> Vec<String> {
    let (before, after) = (settings_of(&was.scenario), settings_of(&is.scenario));
    let plain = |key: &str| key.split(" of ").next().unwrap_or_default().to_string();
    let mine = |(owner, name, _): &(SettingOwner, String, String)| {
        *owner != SettingOwner::Flow || !is.alone || is.flows.iter().any(|f| is_of(&f.result.name, name))
    };
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).filter(|k| mine(k)).collect();
    let differ: BTreeSet<_> = keys.into_iter().filter(|k| before.get(*k) != after.get(*k)).cloned().collect();
    let mut list = Vec::new();
    let mut found = BTreeSet::new();
    for change in stated {
        let Change::Setting { owner, names, key, was: old, is: new } = change else { continue };
        let fits = |k: &&(SettingOwner, String, String)| {
            k.0 == *owner && plain(&k.2) == *key && (names.is_empty() || names.contains(&k.1))
        };
        let all: Vec<_> = differ.iter().filter(fits).collect();
        let holds = |values: &SettingsMap, value: &Option<String>| {
            value.is_none() || all.iter().any(|k| values.get(*k) == value.as_ref())
        };
        if all.is_empty()
            || !holds(&before, old)
            || !holds(&after, new)
            || (!names.is_empty() && names.len() != all.len())
        {
            list.push(format!("not changed: {change:?}"));
        }
        found.extend(all.into_iter().cloned());
    }
    let hidden = differ.iter().filter(|k| !found.contains(*k) && !k.2.contains(" of "));
    list.extend(hidden.map(|k| format!("does not state {k:?}")));
    list
}

fn is_of(result: &str, flow: &str) -> bool {
    result == flow || result.strip_prefix(flow).is_some_and(|rest| rest.starts_with('-'))
}

fn holds(was: &Scenario, is: &Scenario, change: &Change) -> bool {
    let kinds = |s: &Scenario, kind: &str| stages(s).iter().filter(|x| x.1.stage.kind() == kind).count();
    // In some link direction one scenario has a stage of this name and the other has none.
    let only = |a: &Scenario, b: &Scenario, stage: &PathStage| {
        let (here, there) = (stages(a), stages(b));
        here.iter().any(|x| x.1.name == stage.name && there.iter().all(|y| y.0 != x.0))
    };
    match change {
        Change::Replaced { was: old, is: new } => has(was, old) && has(is, new) && old.kind != new.kind,
        Change::Added { stage, before, after } => {
            // The stage next to it may itself be a replacement.
            let is_present = |k: &Option<String>| k.as_ref().is_none_or(|k| kinds(is, k) > 0);
            has(is, stage) && only(is, was, stage) && is_present(before) && is_present(after)
        }
        Change::Removed(stage) => has(was, stage) && only(was, is, stage),
        Change::Queue { was: old, is: new } => {
            let with = |s: &Scenario, q: &report::story::QueueSetting| {
                let fits = |n: &NamedStage| {
                    let kind = setting(n, "queue.kind").unwrap_or_else(|| "fifo".into());
                    let length = setting(n, "queue.packets").or(Some("1000".into()));
                    kind == q.kind && (q.packets.is_none() || length == q.packets)
                };
                stages(s).iter().any(|x| fits(x.1))
            };
            with(is, new) && old.iter().all(|q| with(was, q))
        }
        Change::Set { kind, key, was: old, is: new } => {
            // A default may be left out on either side.
            let some = |s: &Scenario, v: &Option<String>| {
                stages(s).iter().any(|x| x.1.stage.kind() == kind && (v.is_none() || setting(x.1, key) == *v))
            };
            some(was, old) && some(is, new) && old != new
        }
        Change::Control { was: old, is: new, .. } => {
            was.flows.iter().zip(&is.flows).any(|(a, b)| a.cc.name() == old && b.cc.name() == new)
        }
        // Checked with all settings together.
        Change::Setting { .. } => true,
        Change::Relay(_) | Change::NoRelay(_) => false,
    }
}

/// All numbers in both scenarios' stages, and the possible numbers of changed flows.
pub fn numbers_of(check: &Check, b: &Better) -> Vec<f64> {
    let mut list: Vec<f64> = (1..=check.baseline.flows.len()).map(|n| n as f64).collect();
    let candidates = check.others.iter().filter(|s| s.name == b.variant).copied().chain([check.baseline]);
    for checked in candidates {
        for (_, stage) in stages(&checked.scenario) {
            list.extend(numbers(&json(stage).to_string()).iter().map(|n| n.value));
        }
    }
    for change in &b.changes {
        let Change::Setting { was, is, .. } = change else { continue };
        let values = [was, is].into_iter().flatten();
        list.extend(values.flat_map(|v| numbers(v)).map(|n| n.value));
        // The default of times and codepoints.
        list.push(0.0);
    }
    // The length of a FIFO that states none.
    list.push(1000.0);
    list
}
