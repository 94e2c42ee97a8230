//! What a variant is said to have changed, held against the two scenarios.

use super::Check;
use crate::numbers::numbers;
use crate::seen::Seen;
use report::story::{Better, Change};
use result::topology::PathStage;
use scenario::{NamedStage, Scenario};
use serde_json::Value;

/// Every direction's stages.
fn stages(s: &Scenario) -> Vec<(String, &NamedStage)> {
    let of = |link: &str, way: &str, n: &NamedStage| format!("{link}.{way}.{}", n.name);
    let mut all = Vec::new();
    for link in &s.links {
        all.extend(link.forward.iter().map(|n| (of(&link.name, "forward", n), n)));
        all.extend(link.backward.iter().map(|n| (of(&link.name, "backward", n), n)));
    }
    all
}

/// The kind of the stage of this name; `@flow` behind it does not matter.
pub fn kind(s: &Scenario, element: &str) -> Option<String> {
    let name = element.split('@').next()?;
    stages(s).into_iter().find(|x| x.0 == name).map(|x| x.1.stage.kind().to_string())
}

/// The propagation delay of the stage of this name, ms.
pub fn travel_ms(s: &Scenario, element: &str) -> f64 {
    let name = element.split('@').next().unwrap_or_default();
    let it = stages(s).into_iter().find(|x| x.0 == name);
    let delay = it.and_then(|x| setting(x.1, "delay")?.parse::<units::Span>().ok());
    delay.map_or(0.0, |d| d.as_nanos() as f64 / 1e6)
}

fn json(n: &NamedStage) -> Value {
    serde_json::to_value(&n.stage).expect("plain data")
}

/// A setting under a key with dots, as results spell it.
fn setting(n: &NamedStage, key: &str) -> Option<String> {
    let mut at = json(n);
    for part in key.split('.') {
        at = at.get(part)?.clone();
    }
    Some(at.as_str().map_or_else(|| at.to_string(), str::to_string))
}

/// Whether the scenario has a stage of this kind with these settings.
fn has(s: &Scenario, stage: &PathStage) -> bool {
    let fits = |n: &NamedStage| {
        n.stage.kind() == stage.kind
            && stage.settings.iter().all(|(k, v)| setting(n, k).as_deref() == Some(v))
    };
    stages(s).iter().any(|x| fits(x.1))
}

/// What is wrong with the changes that are told of a variant, or missing among them.
pub fn wrong(was: &Seen, is: &Seen, told: &[Change]) -> Vec<String> {
    let mut list: Vec<String> = told
        .iter()
        .filter(|c| !holds(&was.scenario, &is.scenario, c))
        .map(|c| format!("not changed: {c:?}"))
        .collect();
    let (before, after) = (stages(&was.scenario), stages(&is.scenario));
    let differ =
        before.len() != after.len() || before.iter().zip(&after).any(|(a, b)| a.1.stage != b.1.stage);
    let beside = |c: &Change| matches!(c, Change::Setting { .. } | Change::More { .. } | Change::Less { .. });
    let of_path = told.iter().any(|c| !matches!(c, Change::Control { .. }) && !beside(c));
    if differ != of_path {
        list.push(format!("stages differ: {differ}, told: {told:?}"));
    }
    let settings = beside_stages(&was.scenario) != beside_stages(&is.scenario);
    if settings != told.iter().any(beside) {
        list.push(format!("settings differ: {settings}, told: {told:?}"));
    }
    let controls = was.flows.iter().zip(&is.flows).filter(|(a, b)| a.result.cc != b.result.cc).count();
    if (controls > 0) != told.iter().any(|c| matches!(c, Change::Control { .. })) {
        list.push(format!("{controls} flows with another control, told: {told:?}"));
    }
    list
}

/// What a scenario says beside stages, controls and relays.
fn beside_stages(s: &Scenario) -> String {
    let flows: Vec<_> = s
        .flows
        .iter()
        .map(|f| {
            (
                &f.name,
                f.from,
                f.to,
                f.count,
                f.start,
                f.stagger,
                &f.app,
                &f.tool,
                &f.via,
                f.dscp,
                f.max_pacing_rate,
            )
        })
        .collect();
    let stacks: Vec<_> = s.hosts.iter().map(|h| (&h.name, &h.stack)).collect();
    format!("{flows:?} {stacks:?} {} {} {:?} {}", s.duration, s.seed, s.measure, s.one_at_a_time)
}

/// Whether a key of a flow, a host … has this value; of the keys that are not drawn nothing is known.
fn is_set(s: &Scenario, section: &str, name: &str, key: &str, value: Option<&str>) -> bool {
    let flow = s.flows.iter().find(|f| f.name == name);
    let host = s.hosts.iter().find(|h| h.name == name);
    match (section, key) {
        ("flows", "start") => {
            flow.is_some_and(|f| f.start == value.map_or(units::Span::ZERO, |v| v.parse().unwrap()))
        }
        ("flows", "stagger") => {
            flow.is_some_and(|f| f.stagger == value.map_or(units::Span::ZERO, |v| v.parse().unwrap()))
        }
        ("flows", "count") => flow.is_some_and(|f| f.count == value.map_or(1, |v| v.parse().unwrap())),
        ("hosts", "stack.initial_window") => host.is_some_and(|h| {
            value.is_none_or(|v| h.stack.initial_window.is_some_and(|w| w.to_string() == v))
        }),
        _ => true,
    }
}

fn holds(was: &Scenario, is: &Scenario, change: &Change) -> bool {
    let kinds = |s: &Scenario, kind: &str| stages(s).iter().filter(|x| x.1.stage.kind() == kind).count();
    // In some direction of a link one has a stage of this name and the other has none.
    let only = |a: &Scenario, b: &Scenario, of: &PathStage| {
        let (here, there) = (stages(a), stages(b));
        here.iter().any(|x| x.1.name == of.name && there.iter().all(|y| y.0 != x.0))
    };
    match change {
        Change::Replaced { was: old, is: new } => has(was, old) && has(is, new) && old.kind != new.kind,
        Change::Added { stage, before, after } => {
            // What it stands beside may itself have taken another's place.
            let beside = |k: &Option<String>| k.as_ref().is_none_or(|k| kinds(is, k) > 0);
            has(is, stage) && only(is, was, stage) && beside(before) && beside(after)
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
        Change::Setting { section, names, key, was: old, is: new } => {
            old != new
                && names.iter().all(|name| {
                    is_set(was, section, name, key, old.as_deref())
                        && is_set(is, section, name, key, new.as_deref())
                })
        }
        // No variant that is drawn has another set of them.
        Change::Relay(_) | Change::NoRelay(_) | Change::More { .. } | Change::Less { .. } => false,
    }
}

/// All numbers of both scenarios' stages, and how many flows may have changed.
pub fn numbers_of(check: &Check, b: &Better) -> Vec<f64> {
    let mut list: Vec<f64> = (1..=check.baseline.flows.len()).map(|n| n as f64).collect();
    let of = check.others.iter().filter(|s| s.name == b.variant).copied().chain([check.baseline]);
    for seen in of {
        for (_, stage) in stages(&seen.scenario) {
            list.extend(numbers(&json(stage).to_string()).iter().map(|n| n.value));
        }
    }
    // Settings were held against the scenarios.
    for change in &b.changes {
        if let Change::Setting { was, is, names, .. } = change {
            list.push(names.len() as f64);
            list.extend([was, is].into_iter().flatten().flat_map(|v| numbers(v)).map(|n| n.value));
        }
    }
    // What a FIFO holds that says nothing of its length.
    list.push(1000.0);
    list
}
