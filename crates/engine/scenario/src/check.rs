//! Checks a deserialised file and builds a [`Scenario`] from it: names become indexes.

use crate::evaluation;
use crate::file::{FlowTable, LinkTable, Named, RelayTable, ScenarioFile};
use crate::hosts::{Hosts, same_host};
use crate::model::{DuplexLink, Flow, Scenario};
use crate::network;
use crate::plausibility;
use crate::relay::Relay;
use crate::route::connected_components;
use crate::stage::{self, Files};
use crate::tool::{IPERF3_MAX_STREAMS, Tool};
use congestion::Control;
use document::{
    Entries, Fault, Node, RefusalCause, TomlTable, check_name, list, place_in, read_tagged, suggest,
};
use serde::Deserialize;
use transport::{App, Stack};
use units::{Goal, Rate, Span};

const MAX_DURATION: Span = Span::from_secs(24 * 3600);
const MAX_SAMPLES: u64 = 10_000_000;
const MAX_CONNECTIONS: u64 = 100_000;
const MAX_TABLE_ENTRIES: usize = 1000;
const MAX_PAGE_OBJECTS: u32 = 10_000;
const MAX_PAGE_CONNECTIONS: u32 = 256;

/// The checked content of one variant's tree.
#[derive(PartialEq)]
pub(crate) struct Checked {
    pub scenario: Scenario,
    /// The experiment's description.
    pub description: String,
    /// The experiment's goals as stated.
    pub goal: Vec<Goal>,
}

/// Deserialises and checks the tree of one variant.
pub(crate) fn scenario(root: &Node, default_name: &str, files: &mut Files<'_>) -> Result<Checked, Fault> {
    for table in ["hosts", "links", "relays", "flows", "faults", "attach"] {
        let Some(table) = root.get(table).and_then(Node::as_table) else { continue };
        table.check_names()?;
        if table.entries.len() > MAX_TABLE_ENTRIES {
            let found = format!("a table of {}", table.entries.len());
            let allowed = format!("at most {MAX_TABLE_ENTRIES} entries");
            let at = table.entries[MAX_TABLE_ENTRIES].0.at;
            return Err(Fault::new(RefusalCause::OutOfRange { found, allowed }, at));
        }
    }
    let file = ScenarioFile::deserialize(root).map_err(|f| f.or_at(root.at))?;
    plausibility::check(root)?;
    let name = file.name.clone().unwrap_or_else(|| default_name.into());
    check_name(&name, root.place(&["name"]))?;
    times(root, &file)?;
    let mut hosts = Hosts::from_links(root, &file.links)?;
    let links = links(root, &file.links, &hosts, files)?;
    let routes = network::routes(root, &file.hosts, &hosts, &links)?;
    for (name, table) in file.hosts.0 {
        stack(root, &name, &table.stack)?;
        let unknown = || {
            let message = format!("no link names the host `{name}`");
            let help = suggest(&name, "links name", &hosts.names());
            let cause = RefusalCause::Unreachable { message, help };
            Fault::new(cause, root.key_place(&["hosts", &name]))
        };
        let index = hosts.get(&name).ok_or_else(unknown)?;
        hosts.list[index] = network::host(root, &name, table)?;
    }
    let relays = relays(root, &file.relays, &hosts)?;
    let components = connected_components(hosts.list.len(), &links);
    let checks =
        Checks { root, hosts: &hosts, relays: &relays, components: &components, duration: file.duration };
    let mut flows = Vec::new();
    let mut connections = 0;
    for (name, table) in file.flows.0 {
        let enabled = table.enabled;
        let flow = checks.flow(name, table)?;
        if enabled {
            connections += u64::from(flow.count) * u64::from(flow.app.connections());
            if connections > MAX_CONNECTIONS {
                let allowed = format!("at most {MAX_CONNECTIONS} connections in all flows");
                return Err(root.out_of_range(&["flows", &flow.name, "count"], flow.count, allowed));
            }
            flows.push(flow);
        }
    }
    routes.into_iter().for_each(|(host, routes)| hosts.list[host].routes = routes);
    let faults = network::faults(root, &file.faults, &hosts, &links, file.duration)?;
    let attachments = network::attachments(root, file.attach, &hosts, &links)?;
    let scenario = Scenario {
        name,
        duration: file.duration,
        seed: file.seed,
        sample: file.sample,
        one_at_a_time: file.one_at_a_time,
        measure: evaluation::measure(root, file.duration, file.sample)?,
        host_jitter: file.host_jitter,
        hosts: hosts.list,
        links,
        relays,
        flows,
        faults,
        attachments,
    };
    network::check(root, &scenario)?;
    Ok(Checked { scenario, description: file.description, goal: evaluation::goals(root)? })
}

fn times(root: &Node, file: &ScenarioFile) -> Result<(), Fault> {
    if file.duration.is_zero() || file.duration > MAX_DURATION {
        return Err(root.out_of_range(&["duration"], file.duration, "above 0s, up to 24h"));
    }
    if !file.sample.is_zero() && file.duration.as_nanos() / file.sample.as_nanos() > MAX_SAMPLES {
        let least = Span::from_nanos(file.duration.as_nanos().div_ceil(MAX_SAMPLES));
        let allowed = format!("\"0s\" for no time series, or from {least} for this duration");
        return Err(root.out_of_range(&["sample"], file.sample, allowed));
    }
    Ok(())
}

fn links(
    root: &Node,
    tables: &Named<LinkTable>,
    hosts: &Hosts,
    files: &mut Files<'_>,
) -> Result<Vec<DuplexLink>, Fault> {
    if tables.0.is_empty() {
        let at = root.key_place(&["links"]);
        return Err(Fault::new(RefusalCause::MissingKey { key: "links".into() }, at));
    }
    let mut links = Vec::new();
    for (name, table) in &tables.0 {
        let mut stages = |direction: &str| {
            let list = root.node_at(&["links", name, direction]).and_then(Node::as_array);
            stage::read(list.unwrap_or_default(), files)
        };
        let end = |i: usize| hosts.find(root, &["links", name, "between"], &table.between[i]);
        links.push(DuplexLink {
            name: name.clone(),
            between: [end(0)?, end(1)?],
            customer: table.customer.clone(),
            forward: stages("forward")?,
            backward: stages("backward")?,
        });
    }
    Ok(links)
}

/// Refuses stack parameters with which no connection can work.
fn stack(root: &Node, host: &str, stack: &Stack) -> Result<(), Fault> {
    let wrong = |key: &str, found: &dyn ToString, allowed: &str| {
        Err(root.out_of_range(&["hosts", host, "stack", key], found.to_string(), allowed))
    };
    if let Some(n) = stack.initial_window.filter(|n| !(1..=1000).contains(n)) {
        return wrong("initial_window", &n, "1 to 1000 segments");
    }
    // RFC 879 and RFC 6691: every IPv4 host accepts 576 bytes; Linux allows down to 48 (tcp_min_snd_mss).
    if let Some(n) = stack.mss.filter(|n| !(48..=65_495).contains(n)) {
        return wrong("mss", &n, "48 to 65495 bytes");
    }
    for (key, size) in [
        ("receive_window", stack.receive_window),
        ("initial_receive_buffer", stack.initial_receive_buffer),
        ("receive_buffer", stack.receive_buffer),
        ("send_buffer", stack.send_buffer),
    ] {
        // RFC 7323 section 2.3: a receive window is below 2^30 bytes.
        if let Some(size) = size.filter(|s| !(1..1 << 30).contains(&s.get())) {
            return wrong(key, &size, "1B up to below 1GiB (RFC 7323)");
        }
    }
    if let Some(span) = stack.delayed_ack.filter(|s| s.as_nanos() > 500_000_000) {
        return wrong("delayed_ack", &span, "up to 500ms (RFC 1122)");
    }
    if let Some(span) = stack.rto_min.filter(|s| s.is_zero() || s.as_nanos() > 120_000_000_000) {
        return wrong("rto_min", &span, "above 0s, up to 120s");
    }
    Ok(())
}

/// Reads the congestion control at `path`: a name, or a table of name and parameters.
fn control(root: &Node, path: &[&str]) -> Result<Option<Control>, Fault> {
    let Some(node) = root.node_at(path) else { return Ok(None) };
    let name = node.as_table().map_or(Some(node), |t| t.get("name"));
    let name = name.ok_or_else(|| Fault::new(RefusalCause::MissingKey { key: "name".into() }, node.at))?;
    let word = String::deserialize(name).map_err(|f| f.or_at(name.at))?;
    let known = || congestion::NAMES.iter().map(|n| n.to_string()).collect();
    let control = Control::named(&word).ok_or_else(|| {
        let cause = RefusalCause::UnknownWord { what: "congestion control", word, known: known() };
        Fault::new(cause, name.at)
    })?;
    let Some(table) = node.as_table() else { return Ok(Some(control)) };
    let control = control.with(Entries::without(table, &["name"])).map_err(|mut fault| {
        if let RefusalCause::UnknownKey { known, .. } = &mut fault.cause {
            known.push("name".into());
        }
        let at = place_in(node, &fault.cause);
        fault.or_at(at)
    })?;
    control.check().map_err(|p| {
        // The error's position already names a key that is present; only an absent key has to be named.
        let there = table.get(p.key).is_some();
        let message = if there { p.message } else { format!("`{}` {}", p.key, p.message) };
        Fault::new(RefusalCause::BadValue { message }, node.place(&[p.key]))
    })?;
    Ok(Some(control))
}

fn relays(root: &Node, tables: &Named<RelayTable>, hosts: &Hosts) -> Result<Vec<Relay>, Fault> {
    let mut relays = Vec::new();
    for (name, table) in &tables.0 {
        let path = |key| ["relays", name.as_str(), key];
        let host = hosts.find(root, &path("host"), &table.host)?;
        if !(1..=1 << 34).contains(&table.buffer.get()) {
            return Err(root.out_of_range(&path("buffer"), table.buffer, "1B to 16GiB"));
        }
        let cc = control(root, &path("cc"))?;
        relays.push(Relay { name: name.clone(), host, buffer: table.buffer, cc, tool: table.tool });
    }
    Ok(relays)
}

/// The context that flows are checked in.
struct Checks<'a> {
    root: &'a Node,
    hosts: &'a Hosts,
    relays: &'a [Relay],
    components: &'a [usize],
    duration: Span,
}

impl Checks<'_> {
    fn flow(&self, name: String, table: FlowTable) -> Result<Flow, Fault> {
        let root = self.root;
        let path = |key| ["flows", name.as_str(), key];
        let from = self.hosts.find(root, &path("from"), &table.from)?;
        let to = self.hosts.find(root, &path("to"), &table.to)?;
        if from == to {
            return Err(root.fault(&path("to"), same_host(&table.to)));
        }
        let cc = control(root, &path("cc"))?.unwrap_or_default();
        let app = match root.node_at(&path("app")) {
            Some(node) => read_tagged::<App>(node).map_err(|f| f.or_at(node.at))?,
            None => App::Bulk { duration: None, bytes: None },
        };
        self.app(&name, &app)?;
        self.starts(&name, &table)?;
        let via = self.via(&name, &table.via, [from, to], &app)?;
        let tool = self.tool(&name, &table, &app)?;
        if table.dscp > 63 {
            return Err(root.out_of_range(&path("dscp"), table.dscp, "0 to 63"));
        }
        if table.max_pacing_rate.is_some_and(|r| r.as_bps() == 0) {
            return Err(root.out_of_range(&path("max_pacing_rate"), "0bit/s", "above 0bit/s"));
        }
        Ok(Flow {
            from,
            to,
            cc,
            count: table.count,
            start: table.start,
            stagger: table.stagger,
            app,
            tool,
            via,
            dscp: table.dscp,
            max_pacing_rate: table.max_pacing_rate,
            name,
        })
    }

    fn starts(&self, name: &str, table: &FlowTable) -> Result<(), Fault> {
        let path = |key| ["flows", name, key];
        if table.count == 0 {
            let allowed = "1 to 100000 (`enabled = false` leaves the flow out)";
            return Err(self.root.out_of_range(&path("count"), 0, allowed));
        }
        if u64::from(table.count) > MAX_CONNECTIONS {
            return Err(self.root.out_of_range(&path("count"), table.count, "1 to 100000"));
        }
        let end = format!("before the end of the run at {}", self.duration);
        if table.start >= self.duration {
            return Err(self.root.out_of_range(&path("start"), table.start, end));
        }
        let last = u128::from(table.start.as_nanos())
            + u128::from(table.stagger.as_nanos()) * u128::from(table.count - 1);
        if last >= u128::from(self.duration.as_nanos()) {
            let allowed = format!("the last of {} connections must start {end}", table.count);
            return Err(self.root.out_of_range(&path("stagger"), table.stagger, allowed));
        }
        Ok(())
    }

    /// Reads a flow's `tool` and `server`, and refuses keys that cannot be combined with them.
    fn tool(&self, name: &str, table: &FlowTable, app: &App) -> Result<Option<Tool>, Fault> {
        let conflict = |path: &[&str], message: &str| {
            Err(self.root.fault(path, RefusalCause::Conflict { message: message.into() }))
        };
        let path = |key| ["flows", name, key];
        let Some(tool) = &table.tool else {
            return match table.server {
                Some(_) => conflict(&path("server"), "`server` needs a `tool` that connects to it"),
                None => Ok(None),
            };
        };
        let tool = Tool::read(tool, table.server.as_deref())
            .map_err(|(key, cause)| self.root.fault(&path(key), cause))?;
        if !table.via.is_empty() {
            return conflict(
                &path("via"),
                "a program's connections cannot pass relays; leave out `via` or `tool`",
            );
        }
        if !table.stagger.is_zero() {
            return conflict(
                &path("stagger"),
                "a program opens its connections itself; leave out `stagger` or `tool`",
            );
        }
        if tool == Tool::Iperf3 && table.count > IPERF3_MAX_STREAMS {
            let allowed = format!("1 to {IPERF3_MAX_STREAMS} with iperf3");
            return Err(self.root.out_of_range(&path("count"), table.count, allowed));
        }
        if let Err((key, message)) = tool.check(app) {
            return conflict(&["flows", name, "app", key], &message);
        }
        Ok(Some(tool))
    }

    /// Resolves a flow's relays and checks that each of its connections has two different, connected ends.
    fn via(&self, name: &str, via: &[String], ends: [usize; 2], app: &App) -> Result<Vec<usize>, Fault> {
        let [from, to] = ends;
        if !via.is_empty() && app.is_datagrams() {
            let message =
                "a relay ends TCP connections; an app of kind `udp`, `voice` or `probe` cannot pass one"
                    .into();
            return Err(self.root.fault(&["flows", name, "via"], RefusalCause::Conflict { message }));
        }
        let mut at = from;
        let mut relays = Vec::new();
        for (i, relay) in via.iter().enumerate() {
            let index = i.to_string();
            let path = ["flows", name, "via", index.as_str()];
            let found = self.relays.iter().position(|r| r.name == *relay).ok_or_else(|| {
                let known = self.relays.iter().map(|r| r.name.clone()).collect();
                let cause = RefusalCause::UnknownName { what: "relay", name: relay.clone(), known };
                self.root.fault(&path, cause)
            })?;
            self.leg(&path, at, self.relays[found].host)?;
            at = self.relays[found].host;
            relays.push(found);
        }
        let key: &[&str] = if via.is_empty() { &["flows", name, "to"] } else { &["flows", name, "via"] };
        self.leg(key, at, to)?;
        Ok(relays)
    }

    /// Checks that the two ends of a connection differ and are connected by links.
    fn leg(&self, path: &[&str], from: usize, to: usize) -> Result<(), Fault> {
        let name = |i: usize| self.hosts.list[i].name.clone();
        if from == to {
            return Err(self.root.fault(path, same_host(&name(to))));
        }
        if self.components[from] != self.components[to] {
            let same = |&i: &usize| i != from && self.components[i] == self.components[from];
            let reached: Vec<String> = (0..self.components.len()).filter(same).map(name).collect();
            let (from, to) = (name(from), name(to));
            let help = match reached.is_empty() {
                true => format!("no link ends at `{from}`"),
                false => format!("links from `{from}` reach {}", list(&reached)),
            };
            let message = format!("no links connect `{from}` and `{to}`");
            return Err(self.root.fault(path, RefusalCause::Unreachable { message, help }));
        }
        Ok(())
    }

    /// Refuses application parameters with which nothing could be sent.
    fn app(&self, name: &str, app: &App) -> Result<(), Fault> {
        let wrong = |key: &str, found: &dyn ToString, allowed: &str| {
            Err(self.root.out_of_range(&["flows", name, "app", key], found.to_string(), allowed))
        };
        let span = |key: &str, span: Option<Span>| match span {
            Some(s) if s.is_zero() => wrong(key, &s, "above 0s"),
            _ => Ok(()),
        };
        let rate = |r: Option<Rate>| match r {
            Some(r) if r.as_bps() == 0 => wrong("rate", &r, "above 0bit/s"),
            _ => Ok(()),
        };
        let bytes = |key: &str, n: Option<units::Bytes>| match n {
            Some(n) if n.get() == 0 => wrong(key, &n, "above 0B"),
            _ => Ok(()),
        };
        match app {
            App::Bulk { duration, bytes: size } => {
                span("duration", *duration)?;
                bytes("bytes", *size)
            }
            App::Request { request, response, count, .. } => {
                bytes("request", Some(*request))?;
                bytes("response", Some(*response))?;
                if *count == Some(0) { wrong("count", &0, "from 1") } else { Ok(()) }
            }
            App::Page { objects, size, connections, request, count, html, .. } => {
                if !(1..=MAX_PAGE_OBJECTS).contains(objects) {
                    return wrong("objects", objects, &format!("1 to {MAX_PAGE_OBJECTS}"));
                }
                bytes("size", Some(*size))?;
                bytes("request", *request)?;
                bytes("html", *html)?;
                if let Some(n) = connections.filter(|n| !(1..=MAX_PAGE_CONNECTIONS).contains(n)) {
                    return wrong("connections", &n, &format!("1 to {MAX_PAGE_CONNECTIONS}"));
                }
                if *count == Some(0) { wrong("count", &0, "from 1") } else { Ok(()) }
            }
            App::Onoff { on, rate: r, .. } => {
                span("on", Some(*on))?;
                rate(*r)
            }
            App::Udp { rate: r, size, duration, .. } => {
                rate(Some(*r))?;
                span("duration", *duration)?;
                // RFC 791 and RFC 768: 28 bytes of headers plus a byte of payload; an IP packet is at most
                // 65535 bytes.
                match size.filter(|s| !(29..=65_535).contains(s)) {
                    Some(s) => wrong("size", &s, "29 to 65535 bytes of IP packet"),
                    None => Ok(()),
                }
            }
            App::Voice { jitter_buffer, duration, .. } => {
                span("duration", *duration)?;
                // ITU-T G.114 limits a conversation's one-way delay to 400 ms; 60 s is beyond any use.
                match jitter_buffer.filter(|b| *b > Span::from_secs(60)) {
                    Some(b) => wrong("jitter_buffer", &b, "0s to 60s"),
                    None => Ok(()),
                }
            }
            App::Probe { interval, size, duration } => {
                span("duration", *duration)?;
                // `ping` treats shorter intervals as a flood.
                if let Some(i) = interval.filter(|i| *i < Span::from_millis(1)) {
                    return wrong("interval", &i, "from 1ms");
                }
                // 28 bytes of headers and 16 bytes for sequence number and timestamp.
                match size.filter(|s| !(44..=65_535).contains(s)) {
                    Some(s) => wrong("size", &s, "44 to 65535 bytes of IP packet"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Checks the size of the whole tree, which the limits of names and lists do not bound, before overrides are
/// applied. Fails with the number of values and the maximum.
pub(crate) fn check_size(root: &TomlTable, variants: usize) -> Result<(), (usize, usize)> {
    let values: usize = root.entries.iter().map(|(_, n)| n.count()).sum();
    const MAX_VALUES: usize = 2_000_000;
    let total = values.saturating_mul(variants.max(1));
    if total > MAX_VALUES { Err((total, MAX_VALUES)) } else { Ok(()) }
}
