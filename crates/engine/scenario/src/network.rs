//! Reads and checks the network settings of hosts: addresses, routes, customers, services, faults and attachments.
//!
//! | check | reason |
//! |---|---|
//! | two hosts with the same address belong to two customers | otherwise the destination is ambiguous |
//! | a route's next hop is a neighbour, over a link between the two | each route is one hop |
//! | a tunnel is configured at both ends, a BGP speaker has a neighbour that speaks BGP | otherwise it never comes up |
//! | a flow uses one IP version, which its path carries | see [`crate::ip_version`] |
//! | every flow's route exists and has no loop | [`crate::Scenario::route`] follows the same routes as the kernel |

use crate::attachment::Attachment;
use crate::file::{AttachTable, FaultTable, HostTable, Named};
use crate::hosts::Hosts;
use crate::ip_version;
use crate::model::{DuplexLink, Host, Scenario};
use crate::prefix::Prefix;
use crate::route::{LINK_NETWORK, default_address};
use crate::service::{FaultKind, HostRoute, ScheduledFault, Service};
use document::{Fault, Node, RefusalCause, check_name, read_tagged};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::Span;

/// Maximum number of addresses, routes or services of a host.
const MAX_ENTRIES: usize = 64;
/// Range of BGP hold times. RFC 4271 section 4.2 allows 0 (never expires) or at least 3 s; 0 would not detect
/// a fault.
const HOLD_RANGE: [Span; 2] = [Span::from_secs(3), Span::from_secs(65_535)];

/// Reads a host's table, except its routes.
pub(crate) fn host(root: &Node, name: &str, table: HostTable) -> Result<Host, Fault> {
    let path = |key| ["hosts", name, key];
    for (i, address) in table.addresses.iter().enumerate() {
        let at = i.to_string();
        let wrong =
            |allowed: &str| Err(root.out_of_range(&["hosts", name, "addresses", &at], address, allowed));
        let ip = address.address;
        let reserved = match ip {
            IpAddr::V4(ip) => ip.octets()[0] >= 240,
            IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.to_ipv4_mapped().is_some(),
        };
        if ip.is_multicast() || ip.is_loopback() || ip.is_unspecified() || reserved {
            return wrong("a unicast address");
        }
        if LINK_NETWORK.contains(ip) {
            return wrong("outside 100.64.0.0/10, which longfat uses for links");
        }
    }
    if let Some(customer) = &table.customer {
        check_name(customer, root.place(&path("customer")))?;
    }
    let list = root.node_at(&path("services")).and_then(Node::as_array).unwrap_or_default();
    for (key, len) in
        [("addresses", table.addresses.len()), ("routes", table.routes.len()), ("services", list.len())]
    {
        if len > MAX_ENTRIES {
            return Err(root.out_of_range(
                &path(key),
                format!("a list of {len}"),
                format!("at most {MAX_ENTRIES}"),
            ));
        }
    }
    let services = list.iter().map(|node| read_tagged::<Service>(node).map_err(|f| f.or_at(node.at)));
    Ok(Host {
        stack: table.stack,
        addresses: table.addresses,
        forward: table.forward,
        customer: table.customer,
        services: services.collect::<Result<_, _>>()?,
        ..Host::plain(name)
    })
}

/// The links between two hosts, in file order.
fn between(links: &[DuplexLink], a: usize, b: usize) -> impl Iterator<Item = usize> {
    let joins = move |l: &DuplexLink| l.between == [a, b] || l.between == [b, a];
    links.iter().enumerate().filter(move |(_, l)| joins(l)).map(|(i, _)| i)
}

fn link_of(root: &Node, path: &[&str], name: &str, links: &[DuplexLink]) -> Result<usize, Fault> {
    links.iter().position(|l| l.name == name).ok_or_else(|| {
        let known = links.iter().map(|l| l.name.clone()).collect();
        root.fault(path, RefusalCause::UnknownName { what: "link", name: name.into(), known })
    })
}

/// The routes of every host that has a table, by host index.
pub(crate) fn routes(
    root: &Node,
    tables: &Named<HostTable>,
    hosts: &Hosts,
    links: &[DuplexLink],
) -> Result<Vec<(usize, Vec<HostRoute>)>, Fault> {
    let mut routes = Vec::new();
    for (name, table) in &tables.0 {
        let Some(host) = hosts.get(name) else { continue };
        let mut list = Vec::new();
        for (i, route) in table.routes.iter().enumerate() {
            let at = i.to_string();
            let path = |key| ["hosts", name.as_str(), "routes", at.as_str(), key];
            let via = hosts.find(root, &path("via"), &route.via)?;
            let mut candidates = between(links, host, via);
            let link = match &route.link {
                None => candidates.next(),
                Some(link) => {
                    let link = link_of(root, &path("link"), link, links)?;
                    candidates.find(|&candidate| candidate == link)
                }
            };
            let Some(link) = link else {
                let which = route.link.as_ref().map_or("no link".into(), |l| format!("`{l}` does not"));
                let verb = if route.link.is_some() { "join" } else { "joins" };
                let message = format!("{which} {verb} `{name}` and `{}`", route.via);
                return Err(root.fault(&path("via"), RefusalCause::Conflict { message }));
            };
            let to = target(tables, hosts, &route.to);
            let to = to.map_err(|message| root.fault(&path("to"), RefusalCause::BadValue { message }))?;
            list.push(HostRoute { to, link });
        }
        routes.push((host, list));
    }
    Ok(routes)
}

/// Resolves the destination of a route: a network, the name of a host, or "default".
fn target(tables: &Named<HostTable>, hosts: &Hosts, text: &str) -> Result<Prefix, String> {
    if text == "default" {
        return Ok(Prefix::ALL);
    }
    if let Some(index) = hosts.get(text) {
        let table = tables.0.iter().find(|(name, _)| name == text);
        let own = table.and_then(|(_, t)| t.addresses.first()).map(|a| a.address);
        return Ok(Prefix::host(own.unwrap_or_else(|| default_address(index).into())));
    }
    let parsed: Result<Prefix, String> = text.parse();
    parsed
        .map(Prefix::network)
        .map_err(|_| format!("`{text}` is not a network (\"192.168.30.0/24\"), a host or \"default\""))
}

/// Reads the faults and checks their times and targets.
pub(crate) fn faults(
    root: &Node,
    tables: &Named<FaultTable>,
    hosts: &Hosts,
    links: &[DuplexLink],
    duration: Span,
) -> Result<Vec<ScheduledFault>, Fault> {
    let mut faults = Vec::new();
    for (name, table) in &tables.0 {
        let path = |key| ["faults", name.as_str(), key];
        let (links, host) = affected(root, name, table, hosts, links)?;
        if table.at >= duration {
            let allowed = format!("before the end of the run at {duration}");
            return Err(root.out_of_range(&path("at"), table.at, allowed));
        }
        if table.lasts.is_zero() {
            return Err(root.out_of_range(&path("lasts"), table.lasts, "above 0s"));
        }
        let (kind, at, lasts) = (table.kind, table.at, table.lasts);
        faults.push(ScheduledFault { name: name.clone(), kind, links, host, at, lasts });
    }
    Ok(faults)
}

/// The links that a fault affects, and the host that fails.
fn affected(
    root: &Node,
    name: &str,
    table: &FaultTable,
    hosts: &Hosts,
    links: &[DuplexLink],
) -> Result<(Vec<usize>, Option<usize>), Fault> {
    let path = |key| ["faults", name, key];
    let refused = |key, message: String| Err(root.fault(&path(key), RefusalCause::Conflict { message }));
    match (table.kind, &table.link, &table.host) {
        (FaultKind::Host, None, Some(host)) => {
            let lost = hosts.find(root, &path("host"), host)?;
            let own = (0..links.len()).filter(|&l| links[l].between.contains(&lost));
            Ok((own.collect(), Some(lost)))
        }
        (FaultKind::Host, ..) => {
            refused("kind", "a fault of kind \"host\" needs `host` and no `link`".into())
        }
        (_, Some(link), None) => Ok((vec![link_of(root, &path("link"), link, links)?], None)),
        (kind, ..) => {
            refused("kind", format!("a fault of kind \"{}\" needs `link` and no `host`", kind.name()))
        }
    }
}

/// Reads the attachments and checks their links and hosts. Targets are looked up when they are attached.
pub(crate) fn attachments(
    root: &Node,
    tables: Named<AttachTable>,
    hosts: &Hosts,
    links: &[DuplexLink],
) -> Result<Vec<Attachment>, Fault> {
    let one = |(name, table): (String, AttachTable)| {
        let AttachTable { link, target, host, direction, only } = table;
        let path = |key| ["attach", name.as_str(), key];
        let link = link_of(root, &path("link"), &link, links)?;
        let ends = links[link].between;
        let end = match &host {
            None => ends[0],
            Some(host) => hosts.find(root, &path("host"), host)?,
        };
        if !ends.contains(&end) {
            let message = format!("the link `{}` does not end at `{}`", links[link].name, hosts.names()[end]);
            return Err(root.fault(&path("host"), RefusalCause::Conflict { message }));
        }
        Ok(Attachment { link, target, at_second_end: end != ends[0], direction, only, name })
    };
    tables.0.into_iter().map(one).collect()
}

/// Checks that need the complete scenario.
pub(crate) fn check(root: &Node, scenario: &Scenario) -> Result<(), Fault> {
    addresses(root, scenario)?;
    customers(root, scenario)?;
    for host in 0..scenario.hosts.len() {
        services(root, scenario, host)?;
    }
    for f in &scenario.faults {
        if let Some((key, message)) = impossible(scenario, f) {
            return Err(root.fault(&["faults", &f.name, key], RefusalCause::Conflict { message }));
        }
    }
    reachability(root, scenario)?;
    ip_version::check(root, scenario)
}

/// Why a fault cannot occur, with the key that is wrong; `None` for a valid fault.
fn impossible(scenario: &Scenario, f: &ScheduledFault) -> Option<(&'static str, String)> {
    let lacks = |what: &str, there: &dyn Fn(usize) -> bool| {
        let link = f.links.iter().find(|&&l| !there(l))?;
        Some(("kind", format!("there is no {what} over `{}`", scenario.links[*link].name)))
    };
    match f.kind {
        FaultKind::Link => None,
        FaultKind::Tunnel => lacks("`ipsec` tunnel", &|l| scenario.is_tunnel(l)),
        FaultKind::Bgp => lacks("`bgp` session", &|l| scenario.has_session(l)),
        // Sockets on the host would survive in the simulator and on the kernel, but a rebooted host has none.
        FaultKind::Host => f.host.filter(|&host| scenario.speaks(host)).map(|host| {
            let name = &scenario.hosts[host].name;
            ("host", format!("a flow or a relay ends at `{name}`: only hosts that just forward can fail"))
        }),
    }
}

/// Checks that a link and the hosts at its ends belong to at most one customer.
fn customers(root: &Node, scenario: &Scenario) -> Result<(), Fault> {
    for link in &scenario.links {
        let ends = link.between.iter().filter_map(|&h| scenario.hosts[h].customer.as_ref());
        let all: Vec<&String> = link.customer.iter().chain(ends).collect();
        if let Some(other) = all.iter().find(|of| **of != all[0]) {
            let message = format!("the link would connect the customers `{}` and `{other}`", all[0]);
            let key = if link.customer.is_some() { "customer" } else { "between" };
            return Err(root.fault(&["links", &link.name, key], RefusalCause::Conflict { message }));
        }
    }
    Ok(())
}

fn addresses(root: &Node, scenario: &Scenario) -> Result<(), Fault> {
    let mut known: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    for (b, host) in scenario.hosts.iter().enumerate() {
        for address in scenario.addresses(b) {
            let owners = known.entry(address).or_default();
            let may_share = |a: &usize| match (&scenario.hosts[*a].customer, &host.customer) {
                (Some(x), Some(y)) => x != y,
                _ => false,
            };
            if let Some(&a) = owners.iter().find(|a| !may_share(a)) {
                let other = &scenario.hosts[a];
                let message = format!(
                    "`{}` and `{}` both have {address}; only hosts of different customers may",
                    other.name, host.name
                );
                let own = if host.addresses.is_empty() { &other.name } else { &host.name };
                return Err(root.fault(&["hosts", own, "addresses"], RefusalCause::Conflict { message }));
            }
            owners.push(b);
        }
    }
    Ok(())
}

fn services(root: &Node, scenario: &Scenario, index: usize) -> Result<(), Fault> {
    let host = &scenario.hosts[index];
    for (i, service) in host.services.iter().enumerate() {
        let at = i.to_string();
        let path = |key| ["hosts", host.name.as_str(), "services", at.as_str(), key];
        let refused = |key, message: String| Err(root.fault(&path(key), RefusalCause::Conflict { message }));
        let same = |other: &Service| match (service, other) {
            (Service::Ipsec { link: a, .. }, Service::Ipsec { link: b, .. }) => a == b,
            (a, b) => a.kind() == b.kind(),
        };
        if host.services[..i].iter().any(same) {
            return refused("kind", format!("a second `{}` service of `{}`", service.kind(), host.name));
        }
        match service {
            Service::Ipsec { link, rekey } => {
                let link = link_of(root, &path("link"), link, &scenario.links)?;
                let ends = scenario.links[link].between;
                if !ends.contains(&index) {
                    return refused("link", format!("the link does not end at `{}`", host.name));
                }
                if let Some(other) = ends.into_iter().find(|&end| !scenario.ends_tunnel(end, link)) {
                    let other = &scenario.hosts[other].name;
                    return refused(
                        "link",
                        format!("`{other}`, at the other end, has no `ipsec` service for it"),
                    );
                }
                if let Some(rekey) = rekey.filter(|r| *r < Span::from_secs(5)) {
                    return Err(root.out_of_range(&path("rekey"), rekey, "from 5s"));
                }
            }
            Service::Bgp { asn, hold, .. } => {
                if *asn == 0 || *asn == u32::MAX {
                    return Err(root.out_of_range(&path("as"), asn, "1 to 4294967294 (RFC 6793, RFC 7607)"));
                }
                if let Some(hold) = hold.filter(|h| *h < HOLD_RANGE[0] || *h > HOLD_RANGE[1]) {
                    return Err(root.out_of_range(&path("hold"), hold, "3s to 65535s (RFC 4271)"));
                }
                let mut own =
                    (0..scenario.links.len()).filter(|&l| scenario.links[l].between.contains(&index));
                if !own.any(|l| scenario.has_session(l)) {
                    return refused("kind", format!("no neighbour of `{}` speaks BGP", host.name));
                }
            }
            Service::Ftp {} => {}
        }
    }
    Ok(())
}

/// Checks that every connection of every flow has a route in both directions.
fn reachability(root: &Node, scenario: &Scenario) -> Result<(), Fault> {
    let plain = |h: &Host| h.routes.is_empty() && h.forward && h.customer.is_none();
    if scenario.hosts.iter().all(plain) && scenario.links.iter().all(|l| l.customer.is_none()) {
        // `Checks::leg` has already verified that links connect the hosts.
        return Ok(());
    }
    for flow in &scenario.flows {
        let relays = flow.via.iter().map(|&r| scenario.relays[r].host);
        let stops: Vec<usize> = [flow.from].into_iter().chain(relays).chain([flow.to]).collect();
        for leg in stops.windows(2) {
            for [from, to] in [[leg[0], leg[1]], [leg[1], leg[0]]] {
                if scenario.route(from, to).is_some() {
                    continue;
                }
                let name = |i: usize| &scenario.hosts[i].name;
                let why = match (&scenario.hosts[from].customer, &scenario.hosts[to].customer) {
                    (Some(a), Some(b)) if a != b => format!("they belong to the customers `{a}` and `{b}`"),
                    _ => "`forward`, `customer` or `routes` block it or form a loop".into(),
                };
                let message = format!("no route from `{}` to `{}`: {why}", name(from), name(to));
                return Err(root.fault(&["flows", &flow.name, "to"], RefusalCause::Conflict { message }));
            }
        }
    }
    Ok(())
}
