//! A host's routes and rules in its namespace: [`Scenario::next_hop`] as kernel routing tables.
//!
//! | host | tables |
//! |---|---|
//! | of a customer, or in a scenario without customers | `main` |
//! | shared by customers | one per customer, selected by the incoming device (policy routing instead of a VRF); `main` for the host's own packets |
//!
//! A BGP speaker gets no route over a link with a session: it learns them. Routes into a tunnel are installed
//! when the tunnel exists.

use crate::daemon::tunnel_device;
use crate::netlink::{DeviceRoute, MAIN_TABLE, Netlink};
use crate::network::device;
use scenario::{Hop, Prefix, Scenario};
use std::io;
use std::net::{IpAddr, Ipv6Addr};

/// Table of the first customer; the others follow.
const FIRST_TABLE: u32 = 100;

/// Returns the table that a host uses for a customer's packets.
pub fn table(scenario: &Scenario, host: usize, customer: Option<&str>) -> u32 {
    if scenario.hosts[host].customer.is_some() {
        return MAIN_TABLE;
    }
    let at = customer.and_then(|name| scenario.customers().iter().position(|c| *c == name));
    at.map_or(MAIN_TABLE, |at| FIRST_TABLE + at as u32)
}

/// Returns the device by which a host sends over a link: the link's own, or the device of the tunnel over it.
pub fn outgoing(scenario: &Scenario, host: usize, link: usize) -> String {
    if scenario.is_tunnel(link) { tunnel_device(scenario, host, link) } else { device(link) }
}

/// Installs rules that route packets from a customer's link with the customer's table. A rule may name a
/// device that does not exist yet.
pub fn rules(scenario: &Scenario, host: usize, netlink: &Netlink) -> io::Result<()> {
    for (link, l) in scenario.links.iter().enumerate().filter(|(_, l)| l.between.contains(&host)) {
        debug_assert!(l.between.contains(&host));
        let table = table(scenario, host, scenario.customer_of_link(link));
        if table != MAIN_TABLE {
            netlink.rule(&outgoing(scenario, host, link), table, scenario.speaks_ipv6())?;
        }
    }
    Ok(())
}

/// Installs the routes into tunnels, or all others.
pub fn install(scenario: &Scenario, host: usize, netlink: &Netlink, tunnels: bool) -> io::Result<()> {
    for (to, hop, table) in routes(scenario, host) {
        if scenario.is_tunnel(hop.link) == tunnels {
            let index = netlink.index(&outgoing(scenario, host, hop.link))?;
            let (from, window) =
                (source_address(scenario, host, to), scenario.hosts[host].stack.initial_window);
            netlink.route(&DeviceRoute { to, index, from, table, window, cc: None })?;
        }
    }
    Ok(())
}

/// Returns the source address of a host's packets to a destination: its first address of the same IP version.
pub fn source_address(scenario: &Scenario, host: usize, to: Prefix) -> Option<IpAddr> {
    scenario.addresses(host).into_iter().find(|own| own.is_ipv4() == to.address.is_ipv4())
}

/// Returns a host's static routes: destination, next hop, and table. Omits IPv6 over links with an MTU too
/// small for it: the device refuses IPv6, and no flow uses it.
pub fn routes(scenario: &Scenario, host: usize) -> Vec<(Prefix, Hop, u32)> {
    let mut all = all_routes(scenario, host);
    all.retain(|(to, hop, _)| to.address.is_ipv4() || scenario.takes_ipv6(hop.link));
    all
}

fn all_routes(scenario: &Scenario, host: usize) -> Vec<(Prefix, Hop, u32)> {
    let mut all = Vec::new();
    let speaks = scenario.speaker(host).is_some();
    let learned = |hop: &Hop| speaks && scenario.has_session(hop.link);
    for route in &scenario.hosts[host].routes {
        let hop = Hop { link: route.link, forward: scenario.links[route.link].between[0] == host };
        let table = table(scenario, host, scenario.customer_of_link(route.link));
        all.push((route.to, hop, table));
        if route.to == Prefix::ALL && scenario.speaks_ipv6() {
            all.push((Prefix { address: Ipv6Addr::UNSPECIFIED.into(), bits: 0 }, hop, table));
        }
    }
    for to in (0..scenario.hosts.len()).filter(|&to| to != host) {
        let Some(own) = scenario.customer_between(host, to) else { continue };
        let shared = scenario.hosts[host].customer.is_none() && scenario.hosts[to].customer.is_none();
        let customers: Vec<Option<&str>> = match shared {
            true => [None].into_iter().chain(scenario.customers().into_iter().map(Some)).collect(),
            false => vec![own],
        };
        for customer in customers {
            let Some(hop) = scenario.next_hop(host, to, customer, &[]).filter(|hop| !learned(hop)) else {
                continue;
            };
            let table = table(scenario, host, customer);
            for address in scenario.addresses(to) {
                all.push((Prefix::host(address), hop, table));
                // The host's own packets also use this route if no other host has the address.
                let is_unique = || {
                    (0..scenario.hosts.len()).filter(|&h| scenario.addresses(h).contains(&address)).count()
                        == 1
                };
                if table != MAIN_TABLE && !shared && is_unique() {
                    all.push((Prefix::host(address), hop, MAIN_TABLE));
                }
            }
        }
    }
    all
}

/// Returns the routes that a BGP speaker learns: address and table. Each path consists of sessions up to a
/// speaker that announces the address.
fn learned(scenario: &Scenario, host: usize) -> Vec<(IpAddr, u32)> {
    let mut all = Vec::new();
    for to in (0..scenario.hosts.len()).filter(|&to| to != host) {
        let address = scenario.address(to);
        let is_static = scenario.hosts[host].routes.iter().any(|r| r.to.contains(address));
        let (Some(customer), Some(path)) = (scenario.customer_between(host, to), scenario.route(host, to))
        else {
            continue;
        };
        let sessions = path.iter().take_while(|hop| scenario.has_session(hop.link));
        let Some(last) = sessions.last().filter(|_| address.is_ipv4() && !is_static) else { continue };
        let speaker = scenario.links[last.link].between[usize::from(last.forward)];
        if scenario.announced(speaker, customer).iter().any(|prefix| prefix.contains(address)) {
            all.push((address, table(scenario, host, customer)));
        }
    }
    all
}

/// Returns a command that fails, and says which route is missing, until a BGP speaker has learned the routes
/// to all hosts and those of the flows that pass it.
pub fn check_learned_routes(scenario: &Scenario, host: usize) -> Option<String> {
    scenario.speaker(host)?;
    let mut checks = Vec::new();
    for (address, table) in learned(scenario, host) {
        checks.push(format!(
            "{{ ip -4 route show table {table} match {address} | grep -q 'proto bird'; }} || \
             {{ echo no route to {address} in table {table}; false; }}"
        ));
    }
    for flow in &scenario.flows {
        for [from, to] in [[flow.from, flow.to], [flow.to, flow.from]] {
            let Some(path) = scenario.route(from, to) else { continue };
            let at = |hop: &Hop| scenario.links[hop.link].between[usize::from(!hop.forward)];
            let Some(hop) = path.iter().find(|hop| at(hop) == host) else { continue };
            let customer = scenario.customer_between(from, to).flatten();
            let (table, address) = (table(scenario, host, customer), scenario.address(to));
            if scenario.has_session(hop.link) {
                let device = outgoing(scenario, host, hop.link);
                checks.push(format!(
                    "{{ ip -4 route show table {table} match {address} | grep -q 'dev {device} '; }} || \
                     {{ echo no route to {address} by {device} in table {table}; ip -4 route show table {table}; false; }}"
                ));
            }
        }
    }
    checks.sort();
    checks.dedup();
    (!checks.is_empty()).then(|| checks.join(" && "))
}
