//! IPv4 and IPv6 in one network: what a flow's packets are, and what can carry them.
//!
//! A flow is of the version of its hosts' first addresses; both have the same, relays between them too. What IPv6 crosses
//! carries packets of 1280 bytes, tunnels' headers beside (RFC 8200 section 5), whichever links faults take down. `ipsec` and
//! `bgp` are IPv4 only: an IPv6 flow may not cross them, and who runs them has no IPv6 address.

use crate::model::{Flow, Scenario};
use crate::route::Hop;
use crate::service::Service;
use document::{Fault, Node, RefusalCause};
use path::Stage;
use std::net::IpAddr;
use transport::{App, UDP_HEADER};

/// The smallest MTU of a link that carries IPv6 (RFC 8200 section 5), bytes.
const LEAST_MTU_OF_6: u32 = 1280;
/// What an IPv6 header has more than one of IPv4 without options, bytes (RFC 8200 section 3, RFC 791 section 3.1).
const LONGER: u32 = 20;

impl Scenario {
    /// How much longer the IP header of packets to a host is than IPv4's: 20 bytes of IPv6, else nothing.
    pub fn longer_header(&self, to: usize) -> u32 {
        if self.address(to).is_ipv6() { LONGER } else { 0 }
    }

    /// Bytes of IP and UDP header of datagrams to a host.
    pub fn udp_header(&self, to: usize) -> u32 {
        UDP_HEADER + self.longer_header(to)
    }

    /// Whether some host has an IPv6 address.
    pub fn speaks_ipv6(&self) -> bool {
        self.hosts.iter().any(|h| h.addresses.iter().any(|a| a.address.is_ipv6()))
    }

    /// Whether hosts at a link's ends may send IPv6 over it: it has the MTU, and no daemon decides what it carries.
    pub fn takes_ipv6(&self, link: usize) -> bool {
        !self.is_tunnel(link) && !self.has_session(link) && self.links[link].mtu() >= LEAST_MTU_OF_6
    }

    /// The first link of a way that IPv6 packets of 1280 bytes do not all pass.
    fn narrow(&self, way: &[Hop]) -> Option<usize> {
        // Around the packet, tunnel by tunnel.
        let mut sizes = vec![LEAST_MTU_OF_6];
        let mut fits = |hop: &Hop| {
            let link = &self.links[hop.link];
            for s in if hop.forward { &link.forward } else { &link.backward } {
                let size = sizes.last().copied().unwrap_or(LEAST_MTU_OF_6);
                match &s.stage {
                    Stage::Tunnel(tunnel) => {
                        let (outer, mtu) = (tunnel.outer(size), tunnel.mtu.unwrap_or(u32::MAX));
                        if outer > mtu && !tunnel.fragment {
                            return false;
                        }
                        sizes.push(outer.min(mtu));
                    }
                    Stage::TunnelEnd(_) if sizes.len() > 1 => drop(sizes.pop()),
                    other if crate::route::stage_mtu(other).is_some_and(|mtu| size > mtu) => return false,
                    _ => {}
                }
            }
            link.mtu() >= LEAST_MTU_OF_6
        };
        way.iter().find(|hop| !fits(hop)).map(|hop| hop.link)
    }

    /// All ways that a leg's packets take, whichever fault's links are down.
    fn ways_of(&self, leg: [usize; 2]) -> Vec<Vec<Hop>> {
        let down = [&[][..]].into_iter().chain(self.faults.iter().map(|f| &f.links[..]));
        let both = |down| [[leg[0], leg[1]], [leg[1], leg[0]]].map(|[a, b]| self.route_without(a, b, down));
        down.flat_map(both).flatten().collect()
    }
}

/// What is asked of flows, and of hosts that run daemons.
pub(crate) fn check(root: &Node, scenario: &Scenario) -> Result<(), Fault> {
    for host in &scenario.hosts {
        let daemon = host.services.iter().any(|s| !matches!(s, Service::Ftp {}));
        if daemon && host.addresses.iter().any(|a| a.address.is_ipv6()) {
            let message = "`ipsec` and `bgp` are IPv4 only".into();
            return Err(root.fault(&["hosts", &host.name, "addresses"], RefusalCause::Conflict { message }));
        }
    }
    scenario.flows.iter().try_for_each(|flow| {
        let relays = flow.via.iter().map(|&r| scenario.relays[r].host);
        let stops: Vec<usize> = [flow.from].into_iter().chain(relays).chain([flow.to]).collect();
        let refused = |message| root.fault(&["flows", &flow.name, "to"], RefusalCause::Conflict { message });
        stops.windows(2).try_for_each(|leg| leg_of(scenario, [leg[0], leg[1]]).map_err(refused))?;
        datagrams(root, scenario, flow)
    })
}

/// Why a leg's packets cannot go between its hosts.
fn leg_of(scenario: &Scenario, leg: [usize; 2]) -> Result<(), String> {
    let [a, b]: [IpAddr; 2] = leg.map(|h| scenario.address(h));
    if a.is_ipv4() != b.is_ipv4() {
        let [from, to] = leg.map(|h| &scenario.hosts[h].name);
        return Err(format!(
            "`{from}` is {a} and `{to}` is {b}: IPv4 and IPv6 do not meet (a host's flows use its first address)"
        ));
    }
    if a.is_ipv4() {
        return Ok(());
    }
    for way in scenario.ways_of(leg) {
        let crossed = |link: usize| format!("its IPv6 packets would cross `{}`", scenario.links[link].name);
        let daemons = |hop: &&Hop| scenario.is_tunnel(hop.link) || scenario.has_session(hop.link);
        if let Some(hop) = way.iter().find(daemons) {
            return Err(format!("{}: `ipsec` and `bgp` are IPv4 only", crossed(hop.link)));
        }
        if let Some(link) = scenario.narrow(&way) {
            let crossed = crossed(link);
            return Err(format!(
                "{crossed}, which does not carry all packets of {LEAST_MTU_OF_6} bytes (RFC 8200 section 5)"
            ));
        }
    }
    Ok(())
}

/// The headers of datagrams of a given size leave room: a byte, of a probe a number and a time.
fn datagrams(root: &Node, scenario: &Scenario, flow: &Flow) -> Result<(), Fault> {
    let (size, least) = match flow.app {
        App::Udp { size, .. } => (size, 1),
        App::Probe { size, .. } => (size, 16),
        _ => return Ok(()),
    };
    let least = scenario.udp_header(flow.to) + least;
    match size.filter(|&size| size < least) {
        Some(size) => {
            let allowed = format!("{least} to 65535 bytes of IPv6 packet");
            Err(root.out_of_range(&["flows", &flow.name, "app", "size"], size, allowed))
        }
        None => Ok(()),
    }
}
