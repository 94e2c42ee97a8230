//! A scenario as a containerlab topology, and what such a topology cannot say.
//!
//! | in the scenario | in the topology |
//! |---|---|
//! | host, `forward` | a `linux` node, `net.ipv4.ip_forward` |
//! | link | a link; a node's interfaces are `eth1`, `eth2` … in the order of the links |
//! | addresses, the way of every packet | `ip` commands: addresses on `lo`, a route to each address of each other host |
//! | customer | at hosts that serve all a routing table for each, chosen by the interface that a packet came in by |
//! | `link`, `delay`, `jitter`, `loss`, `duplicate` of a direction | one netem on the interface that sends: delays added, losses combined |
//! | `shaper` | a TBF; where there is a netem too, below it |
//! | `policer` | a police action where the packet comes in |
//! | all else | [`UnsaidKey`], and a comment at the head |

mod qdisc;

use qdisc::{SaidWay, say};
use scenario::{Scenario, Service};
use serde::Serialize;
use std::fmt::Write as _;
use std::net::IpAddr;

/// The first customer's table; the others follow.
const FIRST_TABLE: usize = 100;

/// Something of a scenario that is not in the topology, or only nearly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnsaidKey {
    /// The key, as `--set` takes it.
    pub key: String,
    /// What is missing, or different.
    pub why: String,
}

/// A topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The file.
    pub yaml: String,
    /// What it does not say, in the order of the scenario.
    pub unsaid: Vec<UnsaidKey>,
}

/// Makes a topology of a scenario; its nodes run `image`, which has to have `ip` and `tc`.
pub fn to_containerlab(scenario: &Scenario, image: &str) -> Exported {
    let mut unsaid = Vec::new();
    let ways: Vec<[SaidWay; 2]> = scenario
        .links
        .iter()
        .map(|link| {
            let mut way = |name: &str, stages: &[scenario::NamedStage]| {
                say(&format!("links.{}.{name}", link.name), stages, &mut unsaid)
            };
            [way("forward", &link.forward), way("backward", &link.backward)]
        })
        .collect();
    rest(scenario, &mut unsaid);
    let mut yaml = format!("# {}, by longfat export.\n", scenario.name);
    for one in &unsaid {
        let _ = writeln!(yaml, "# not said: {}: {}", one.key, one.why);
    }
    let _ = write!(yaml, "name: {}\ntopology:\n  nodes:\n", quoted(&scenario.name));
    for host in 0..scenario.hosts.len() {
        let _ = write!(
            yaml,
            "    {}:\n      kind: linux\n      image: {}\n      exec:\n",
            quoted(&scenario.hosts[host].name),
            quoted(image)
        );
        for command in commands(scenario, host, &ways) {
            let _ = writeln!(yaml, "        - {}", quoted(&command));
        }
    }
    yaml += "  links:\n";
    for (link, l) in scenario.links.iter().enumerate() {
        let end = |side: usize| {
            let host = l.between[side];
            quoted(&format!("{}:{}", scenario.hosts[host].name, interface(scenario, host, link)))
        };
        let _ = writeln!(yaml, "    - endpoints: [{}, {}]", end(0), end(1));
    }
    Exported { yaml, unsaid }
}

/// A double-quoted scalar: what has quotes or backslashes is escaped, names have no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// `eth0` is containerlab's own.
fn interface(scenario: &Scenario, host: usize, link: usize) -> String {
    let before = scenario.links[..link].iter().filter(|l| l.between.contains(&host)).count();
    format!("eth{}", before + 1)
}

/// What a node runs when it has started.
fn commands(scenario: &Scenario, host: usize, ways: &[[SaidWay; 2]]) -> Vec<String> {
    let mut all = vec![format!("sysctl -w net.ipv4.ip_forward={}", u8::from(scenario.hosts[host].forward))];
    for own in scenario.addresses(host).into_iter().filter(IpAddr::is_ipv4) {
        all.push(format!("ip address add {own}/32 dev lo"));
    }
    for (link, l) in scenario.links.iter().enumerate() {
        let Some(side) = l.between.iter().position(|&h| h == host) else { continue };
        let device = interface(scenario, host, link);
        let [own, peer] = [side, 1 - side].map(|side| scenario.link_address(link, side, false));
        all.push(format!("ip address add {own} peer {peer} dev {device}"));
        if l.mtu() != 1500 {
            all.push(format!("ip link set {device} mtu {}", l.mtu()));
        }
        if let Some(table) = table(scenario, host, scenario.customer_of_link(link)) {
            all.push(format!("ip rule add iif {device} lookup {table}"));
        }
        // What leaves here meets the way from here, what comes in the policers of the way to here.
        all.extend(ways[link][side].egress(&device));
        all.extend(ways[link][1 - side].ingress(&device));
    }
    all.extend(routes(scenario, host));
    all
}

/// The table for a customer's packets at a host that serves all.
fn table(scenario: &Scenario, host: usize, customer: Option<&str>) -> Option<usize> {
    let at = scenario.customers().iter().position(|c| Some(*c) == customer)?;
    scenario.hosts[host].customer.is_none().then_some(FIRST_TABLE + at)
}

/// The way to every address of every other host whose packets pass here.
fn routes(scenario: &Scenario, host: usize) -> Vec<String> {
    let mut all = Vec::new();
    for to in (0..scenario.hosts.len()).filter(|&to| to != host) {
        let Some(customer) = scenario.customer_between(host, to) else { continue };
        let Some(hop) = scenario.next_hop(host, to, customer, &[]) else { continue };
        let via = scenario.link_address(hop.link, usize::from(hop.forward), false);
        let (device, own) = (interface(scenario, host, hop.link), scenario.address(host));
        for address in scenario.addresses(to).into_iter().filter(IpAddr::is_ipv4) {
            let route = format!("ip route replace {address}/32 via {via} dev {device} src {own}");
            all.extend(table(scenario, host, customer).map(|t| format!("{route} table {t}")));
            let owners = (0..scenario.hosts.len()).filter(|&h| scenario.addresses(h).contains(&address));
            // Its own packets, where the address is nobody else's.
            if customer.is_none() || scenario.hosts[host].customer.is_some() || owners.count() == 1 {
                all.push(route);
            }
        }
    }
    all
}

/// What is neither hosts nor links.
fn rest(scenario: &Scenario, unsaid: &mut Vec<UnsaidKey>) {
    let mut add = |key: String, why: &str| unsaid.push(UnsaidKey { key, why: why.into() });
    for host in &scenario.hosts {
        let key = |key: &str| format!("hosts.{}.{key}", host.name);
        if host.addresses.iter().any(|a| a.address.is_ipv6()) {
            add(key("addresses"), "links have IPv4 addresses only: no way leads to IPv6 ones");
        }
        if host.stack != Default::default() {
            add(key("stack"), "a node has the sysctls of its image");
        }
        for (i, service) in host.services.iter().enumerate() {
            let why = match service {
                Service::Ipsec { .. } => "no tunnel is set up: packets cross the link as they are",
                Service::Bgp { .. } => "no BGP is set up: its routes are static ones",
                Service::Ftp {} => "no FTP server is set up",
            };
            add(key(&format!("services.{i}")), why);
        }
    }
    for relay in &scenario.relays {
        add(format!("relays.{}", relay.name), "no proxy is set up");
    }
    for flow in &scenario.flows {
        add(format!("flows.{}", flow.name), "a topology has no traffic");
    }
    for fault in &scenario.faults {
        add(format!("faults.{}", fault.name), "a topology has no time");
    }
}

#[cfg(test)]
mod tests;
