//! A scenario as the tables of its file.

use super::lean::{lean, prune};
use super::value::{Table, Value};
use crate::{Flow, Link, NamedStage, Relay, Scenario, Tool, stage};
use congestion::Control;
use transport::{App, Stack};
use units::Bytes;

/// The file's tables. Keys of the run are always there, so that variants may differ in them.
pub(crate) struct Tree {
    /// `name` to `one_at_a_time`.
    pub run: Table,
    /// By name, those whose stack is not the default.
    pub hosts: Table,
    /// All hosts that links name.
    pub linked: Vec<String>,
    /// By name, in order.
    pub links: Table,
    /// By name, in order.
    pub relays: Table,
    /// By name, in order.
    pub flows: Table,
}

/// Of a scenario.
pub(crate) fn of(s: &Scenario) -> Tree {
    let run = vec![
        entry("name", Value::text(&s.name)),
        entry("duration", Value::of(&s.duration)),
        entry("seed", Value::of(&s.seed)),
        entry("sample", Value::of(&s.sample)),
        entry("one_at_a_time", Value::Bool(s.one_at_a_time)),
    ];
    let own = s.hosts.iter().filter(|h| h.stack != Stack::default());
    let hosts =
        own.map(|h| (h.name.clone(), Value::Table(vec![entry("stack", Value::Table(lean(&h.stack)))])));
    Tree {
        run,
        hosts: hosts.collect(),
        linked: s.hosts.iter().map(|h| h.name.clone()).collect(),
        links: s.links.iter().map(|l| (l.name.clone(), Value::Table(link(s, l)))).collect(),
        relays: s.relays.iter().map(|r| (r.name.clone(), Value::Table(relay(s, r)))).collect(),
        flows: s.flows.iter().map(|f| (f.name.clone(), Value::Table(flow(s, f)))).collect(),
    }
}

fn entry(key: &str, value: Value) -> (String, Value) {
    (key.into(), value)
}

fn host(s: &Scenario, i: usize) -> Value {
    Value::text(&s.hosts[i].name)
}

fn link(s: &Scenario, link: &Link) -> Table {
    let mut table = vec![entry("between", Value::List(link.between.map(|h| host(s, h)).into()))];
    for (way, stages) in [("forward", &link.forward), ("backward", &link.backward)] {
        if !stages.is_empty() {
            table.push(entry(way, Value::List(stages_of(stages))));
        }
    }
    table
}

/// The stages of one direction, with a name where the parser would make up another.
fn stages_of(stages: &[NamedStage]) -> Vec<Value> {
    let mut named = vec![false; stages.len()];
    loop {
        let own = stages.iter().zip(&named).map(|(s, named)| (named.then_some(&s.name[..]), s.stage.kind()));
        let read = stage::made_up(&own.collect::<Vec<_>>());
        let wrong: Vec<usize> =
            (0..stages.len()).filter(|&i| read[i] != stages[i].name && !named[i]).collect();
        if wrong.is_empty() {
            break;
        }
        wrong.into_iter().for_each(|i| named[i] = true);
    }
    stages.iter().zip(named).map(|(s, named)| Value::Table(stage_of(s, named))).collect()
}

fn stage_of(named: &NamedStage, with_name: bool) -> Table {
    let mut table = lean(&named.stage);
    if let Some(file) = &named.file {
        // What the file holds came in as lists.
        table.retain(|(_, value)| !matches!(value, Value::List(_)));
        table.insert(1, entry("file", Value::text(file)));
    }
    if with_name {
        table.insert(1, entry("name", Value::text(&named.name)));
    }
    table
}

fn relay(s: &Scenario, relay: &Relay) -> Table {
    let mut table = vec![entry("host", host(s, relay.host))];
    if relay.buffer != Bytes::new(4_000_000) {
        table.push(entry("buffer", Value::of(&relay.buffer)));
    }
    table.extend(relay.cc.map(|cc| entry("cc", control(cc))));
    table
}

/// A name, or a table where it has parameters that are not as published.
fn control(cc: Control) -> Value {
    let same = |value: &Value| {
        let Some(mut rest) = value.as_table().cloned() else { return false };
        let Some(i) = rest.iter().position(|(key, _)| key == "name") else { return false };
        rest.remove(i);
        let table = serde_json::to_value(Value::Table(rest)).unwrap_or_default();
        Control::named(cc.name()).and_then(|plain| plain.with(table).ok()) == Some(cc)
    };
    let table = prune(Value::of(&cc), &same);
    if table.len() > 1 { Value::Table(table) } else { Value::text(cc.name()) }
}

fn flow(s: &Scenario, flow: &Flow) -> Table {
    let mut table = vec![entry("from", host(s, flow.from)), entry("to", host(s, flow.to))];
    let mut unless = |default: bool, key: &str, value: Value| {
        if !default {
            table.push(entry(key, value));
        }
    };
    // Datagrams have none; elsewhere variants mostly differ in it.
    let datagrams = matches!(flow.app, App::Udp { .. });
    unless(datagrams && flow.cc == Control::default(), "cc", control(flow.cc));
    unless(flow.count == 1, "count", Value::of(&flow.count));
    unless(flow.start.is_zero(), "start", Value::of(&flow.start));
    unless(flow.stagger.is_zero(), "stagger", Value::of(&flow.stagger));
    let plain = flow.app == App::Bulk { duration: None, bytes: None };
    unless(plain, "app", Value::Table(lean(&flow.app)));
    match &flow.tool {
        None => {}
        Some(Tool::Iperf3) => unless(false, "tool", Value::text("iperf3")),
        Some(Tool::Command { run, server }) => {
            unless(false, "tool", Value::Text(command(run)));
            unless(
                server.is_none(),
                "server",
                Value::Text(server.as_deref().map(command).unwrap_or_default()),
            );
        }
    }
    let via = flow.via.iter().map(|&r| Value::text(&s.relays[r].name));
    unless(flow.via.is_empty(), "via", Value::List(via.collect()));
    unless(flow.dscp == 0, "dscp", Value::of(&flow.dscp));
    unless(flow.max_pacing_rate.is_none(), "max_pacing_rate", Value::of(&flow.max_pacing_rate));
    table
}

/// The words as one line that a POSIX shell splits into them.
fn command(words: &[String]) -> String {
    match words {
        // Without quotes it means the tool that longfat knows.
        [word] if word == "iperf3" => "'iperf3'".into(),
        // The parser refuses what no shell could quote: a NUL.
        words => shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default(),
    }
}
