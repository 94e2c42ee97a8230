//! Converts a scenario into the tables of its file.

use super::prune::{prune, without_defaults};
use crate::attachment::Attachment;
use crate::evaluation::spell_measure;
use crate::model::{DuplexLink, Experiment, Flow, NamedStage, Scenario};
use crate::prefix::Prefix;
use crate::relay::{Relay, RelayTool};
use crate::service::{HostRoute, ScheduledFault};
use crate::stage;
use crate::tool::Tool;
use congestion::Control;
use document::written::{Table, Written};
use transport::{App, Stack};
use units::Bytes;

/// The tables of a file. Top-level keys are always present, so that variants can be compared.
pub(crate) struct Tree {
    /// The top-level keys, `name` to `host_jitter`.
    pub run: Table,
    /// By name, without hosts whose settings are all defaults.
    pub hosts: Table,
    /// Names of all hosts, in the order in which links first name them.
    pub linked: Vec<String>,
    pub links: Table,
    pub relays: Table,
    pub flows: Table,
    pub faults: Table,
    pub attachments: Table,
}

/// The tables of a scenario's file.
pub(crate) fn tables(s: &Scenario) -> Tree {
    let run = vec![
        entry("name", Written::text(&s.name)),
        entry("duration", Written::of(&s.duration)),
        entry("seed", Written::of(&s.seed)),
        entry("sample", Written::of(&s.sample)),
        entry("one_at_a_time", Written::Bool(s.one_at_a_time)),
        entry("measure", Written::text(&spell_measure(s.measure))),
        entry("host_jitter", Written::of(&s.host_jitter)),
    ];
    let hosts = s.hosts.iter().enumerate().map(|(i, h)| (h.name.clone(), host_table(s, i)));
    let hosts = hosts.filter(|(_, table)| !table.is_empty());
    let hosts = hosts.map(|(name, table)| (name, Written::Table(table)));
    Tree {
        run,
        hosts: hosts.collect(),
        linked: s.hosts.iter().map(|h| h.name.clone()).collect(),
        links: s.links.iter().map(|l| (l.name.clone(), Written::Table(link(s, l)))).collect(),
        relays: s.relays.iter().map(|r| (r.name.clone(), Written::Table(relay(s, r)))).collect(),
        flows: s.flows.iter().map(|f| (f.name.clone(), Written::Table(flow(s, f)))).collect(),
        faults: s.faults.iter().map(|f| (f.name.clone(), Written::Table(fault(s, f)))).collect(),
        attachments: s
            .attachments
            .iter()
            .map(|a| (a.name.clone(), Written::Table(attachment(s, a))))
            .collect(),
    }
}

/// The keys that apply to all variants of an experiment.
pub(crate) fn shared_keys(experiment: &Experiment) -> Table {
    let description = Some(&experiment.description).filter(|d| !d.is_empty());
    let goal = Some(&experiment.goal).filter(|g| !g.is_empty());
    let said = [
        ("description", description.map(|d| Written::text(d))),
        ("goal", goal.map(Written::of)),
        ("baseline", experiment.baseline.as_deref().map(Written::text)),
    ];
    said.into_iter().filter_map(|(key, value)| Some(entry(key, value?))).collect()
}

fn attachment(s: &Scenario, attachment: &Attachment) -> Table {
    let Attachment { name: _, link, target, at_second_end, direction, only } = attachment;
    let link = &s.links[*link];
    let mut table = vec![entry("link", Written::text(&link.name)), entry("target", Written::text(target))];
    if *at_second_end {
        table.push(entry("host", host(s, link.between[1])));
    }
    table.extend(direction.map(|direction| entry("direction", Written::text(direction.name()))));
    table.extend(only.as_deref().map(|only| entry("only", Written::text(only))));
    table
}

fn entry(key: &str, value: Written) -> (String, Written) {
    (key.into(), value)
}

fn host(s: &Scenario, i: usize) -> Written {
    Written::text(&s.hosts[i].name)
}

/// The settings of a host that differ from the defaults.
fn host_table(s: &Scenario, index: usize) -> Table {
    let host = &s.hosts[index];
    let mut table = Table::new();
    if host.stack != Stack::default() {
        table.push(entry("stack", Written::Table(without_defaults(&host.stack))));
    }
    let mut list = |key: &str, values: Vec<Written>| {
        if !values.is_empty() {
            table.push(entry(key, Written::List(values)));
        }
    };
    list("addresses", host.addresses.iter().map(Written::of).collect());
    list("routes", host.routes.iter().map(|r| Written::Table(route(s, index, r))).collect());
    if !host.forward {
        table.push(entry("forward", Written::Bool(false)));
    }
    table.extend(host.customer.as_deref().map(|c| entry("customer", Written::text(c))));
    if !host.services.is_empty() {
        table.push(entry("services", Written::List(host.services.iter().map(Written::of).collect())));
    }
    table
}

fn route(s: &Scenario, at: usize, route: &HostRoute) -> Table {
    let to = if route.to == Prefix::ALL { "default".into() } else { route.to.to_string() };
    let link = &s.links[route.link];
    let via = link.between[usize::from(link.between[0] == at)];
    let mut table = vec![entry("to", Written::Text(to)), entry("via", host(s, via))];
    let same = |l: &DuplexLink| l.between.contains(&at) && l.between.contains(&via);
    if s.links.iter().position(same) != Some(route.link) {
        table.push(entry("link", Written::text(&link.name)));
    }
    table
}

fn fault(s: &Scenario, fault: &ScheduledFault) -> Table {
    let target = match fault.host {
        Some(at) => entry("host", host(s, at)),
        None => entry("link", Written::text(&s.links[fault.links[0]].name)),
    };
    vec![
        entry("kind", Written::text(fault.kind.name())),
        target,
        entry("at", Written::of(&fault.at)),
        entry("lasts", Written::of(&fault.lasts)),
    ]
}

fn link(s: &Scenario, link: &DuplexLink) -> Table {
    let mut table = vec![entry("between", Written::List(link.between.map(|h| host(s, h)).into()))];
    table.extend(link.customer.as_deref().map(|c| entry("customer", Written::text(c))));
    for (way, stages) in [("forward", &link.forward), ("backward", &link.backward)] {
        if !stages.is_empty() {
            table.push(entry(way, Written::List(stages_of(stages))));
        }
    }
    table
}

/// The stages of one direction. A stage gets a `name` only if the parser would derive another one.
fn stages_of(stages: &[NamedStage]) -> Vec<Written> {
    let mut named = vec![false; stages.len()];
    loop {
        let own = stages.iter().zip(&named).map(|(s, named)| (named.then_some(&s.name[..]), s.stage.kind()));
        let read = stage::unique_names(&own.collect::<Vec<_>>());
        let wrong: Vec<usize> =
            (0..stages.len()).filter(|&i| read[i] != stages[i].name && !named[i]).collect();
        if wrong.is_empty() {
            break;
        }
        wrong.into_iter().for_each(|i| named[i] = true);
    }
    stages.iter().zip(named).map(|(s, named)| Written::Table(stage_of(s, named))).collect()
}

fn stage_of(named: &NamedStage, with_name: bool) -> Table {
    let mut table = without_defaults(&named.stage);
    if let Some(file) = &named.file {
        // The lists hold the file's data.
        table.retain(|(_, value)| !matches!(value, Written::List(_)));
        table.insert(1, entry("file", Written::text(file)));
    }
    if with_name {
        table.insert(1, entry("name", Written::text(&named.name)));
    }
    table
}

fn relay(s: &Scenario, relay: &Relay) -> Table {
    let mut table = vec![entry("host", host(s, relay.host))];
    if relay.buffer != Bytes::new(4_000_000) {
        table.push(entry("buffer", Written::of(&relay.buffer)));
    }
    table.extend(relay.cc.map(|cc| entry("cc", control(cc))));
    if relay.tool != RelayTool::default() {
        table.push(entry("tool", Written::text(relay.tool.name())));
    }
    table
}

/// A congestion control: its name, or a table if it has parameters that differ from the published ones.
fn control(cc: Control) -> Written {
    let same = |value: &Written| {
        let Some(mut rest) = value.as_table().cloned() else { return false };
        let Some(i) = rest.iter().position(|(key, _)| key == "name") else { return false };
        rest.remove(i);
        let table = serde_json::to_value(Written::Table(rest)).unwrap_or_default();
        Control::named(cc.name()).and_then(|plain| plain.with(table).ok()) == Some(cc)
    };
    let table = prune(Written::of(&cc), &same);
    if table.len() > 1 { Written::Table(table) } else { Written::text(cc.name()) }
}

fn flow(s: &Scenario, flow: &Flow) -> Table {
    let mut table = vec![entry("from", host(s, flow.from)), entry("to", host(s, flow.to))];
    let mut unless = |default: bool, key: &str, value: Written| {
        if !default {
            table.push(entry(key, value));
        }
    };
    // Datagrams have no congestion control; other flows always state it, because variants often differ in it.
    let datagrams = flow.app.is_datagrams();
    unless(datagrams && flow.cc == Control::default(), "cc", control(flow.cc));
    unless(flow.count == 1, "count", Written::of(&flow.count));
    unless(flow.start.is_zero(), "start", Written::of(&flow.start));
    unless(flow.stagger.is_zero(), "stagger", Written::of(&flow.stagger));
    let plain = flow.app == App::Bulk { duration: None, bytes: None };
    unless(plain, "app", Written::Table(without_defaults(&flow.app)));
    match &flow.tool {
        None => {}
        Some(Tool::Iperf3) => unless(false, "tool", Written::text("iperf3")),
        Some(Tool::Command { run, server }) => {
            unless(false, "tool", Written::Text(command(run)));
            unless(
                server.is_none(),
                "server",
                Written::Text(server.as_deref().map(command).unwrap_or_default()),
            );
        }
    }
    let via = flow.via.iter().map(|&r| Written::text(&s.relays[r].name));
    unless(flow.via.is_empty(), "via", Written::List(via.collect()));
    unless(flow.dscp == 0, "dscp", Written::of(&flow.dscp));
    unless(flow.max_pacing_rate.is_none(), "max_pacing_rate", Written::of(&flow.max_pacing_rate));
    table
}

/// The words as one line that a POSIX shell splits into the same words.
fn command(words: &[String]) -> String {
    match words {
        // Unquoted, `iperf3` selects the built-in tool.
        [word] if word == "iperf3" => "'iperf3'".into(),
        // `try_join` fails only for NUL, which the parser refuses.
        words => shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default(),
    }
}
