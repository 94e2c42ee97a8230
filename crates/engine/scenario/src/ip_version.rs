//! IPv4 and IPv6 in one network: which version a flow uses, and whether its path carries it.
//!
//! A flow uses the version of its hosts' first addresses; both ends and all relays between them must have the
//! same version. A path of IPv6 must carry packets of 1280 bytes in addition to tunnel headers (RFC 8200
//! section 5), whichever links faults take down. `ipsec` and `bgp` are IPv4 only: an IPv6 flow must not cross
//! them, and a host that runs them must not have an IPv6 address.

use crate::model::{Flow, Scenario};
use crate::route::Hop;
use crate::service::Service;
use document::{Fault, Node, RefusalCause};
use path::Stage;
use std::net::IpAddr;
use transport::{App, UDP_HEADER};

/// The minimum MTU of a link that carries IPv6 (RFC 8200 section 5), bytes.
const IPV6_MIN_MTU: u32 = 1280;
/// Difference between the IPv6 header and the IPv4 header without options, bytes (RFC 8200 section 3, RFC 791
/// section 3.1).
const IPV6_EXTRA_HEADER: u32 = 20;

impl Scenario {
    /// Excess length of the IP header of packets to a host over that of IPv4, bytes: 20 for IPv6, 0 for IPv4.
    pub fn extra_ip_header(&self, to: usize) -> u32 {
        if self.address(to).is_ipv6() { IPV6_EXTRA_HEADER } else { 0 }
    }

    /// Length of the IP and UDP headers of datagrams to a host, bytes.
    pub fn udp_header(&self, to: usize) -> u32 {
        UDP_HEADER + self.extra_ip_header(to)
    }

    /// Whether any host has an IPv6 address.
    pub fn has_ipv6(&self) -> bool {
        self.hosts.iter().any(|h| h.addresses.iter().any(|a| a.address.is_ipv6()))
    }

    /// Whether a link may carry IPv6: its MTU is large enough, and neither a tunnel nor BGP decides what it
    /// carries.
    pub fn can_carry_ipv6(&self, link: usize) -> bool {
        !self.is_tunnel(link) && !self.has_session(link) && self.links[link].mtu() >= IPV6_MIN_MTU
    }

    /// The first link of a route that does not carry IPv6 packets of 1280 bytes.
    fn too_small_for_ipv6(&self, route: &[Hop]) -> Option<usize> {
        // Size of the packet with the headers of each tunnel it is in, the outermost last.
        let mut sizes = vec![IPV6_MIN_MTU];
        let mut fits = |hop: &Hop| {
            let link = &self.links[hop.link];
            for s in if hop.forward { &link.forward } else { &link.backward } {
                let size = sizes.last().copied().unwrap_or(IPV6_MIN_MTU);
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
            link.mtu() >= IPV6_MIN_MTU
        };
        route.iter().find(|hop| !fits(hop)).map(|hop| hop.link)
    }

    /// All routes of a leg in both directions: without faults, and during each fault.
    fn possible_routes(&self, leg: [usize; 2]) -> Vec<Vec<Hop>> {
        let down = [&[][..]].into_iter().chain(self.faults.iter().map(|f| &f.links[..]));
        let both = |down| [[leg[0], leg[1]], [leg[1], leg[0]]].map(|[a, b]| self.route_without(a, b, down));
        down.flat_map(both).flatten().collect()
    }
}

/// Checks the flows' addresses and paths, and the addresses of hosts that run daemons.
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
        stops.windows(2).try_for_each(|leg| check_leg(scenario, [leg[0], leg[1]]).map_err(refused))?;
        check_datagram_size(root, scenario, flow)
    })
}

/// Checks that the packets of a leg have one IP version and that all their routes carry it.
fn check_leg(scenario: &Scenario, leg: [usize; 2]) -> Result<(), String> {
    let [a, b]: [IpAddr; 2] = leg.map(|h| scenario.address(h));
    if a.is_ipv4() != b.is_ipv4() {
        let [from, to] = leg.map(|h| &scenario.hosts[h].name);
        return Err(format!(
            "`{from}` is {a} and `{to}` is {b}: both must have the same IP version (flows use a host's first address)"
        ));
    }
    if a.is_ipv4() {
        return Ok(());
    }
    for route in scenario.possible_routes(leg) {
        let crossed = |link: usize| format!("its IPv6 packets would cross `{}`", scenario.links[link].name);
        let daemons = |hop: &&Hop| scenario.is_tunnel(hop.link) || scenario.has_session(hop.link);
        if let Some(hop) = route.iter().find(daemons) {
            return Err(format!("{}: `ipsec` and `bgp` are IPv4 only", crossed(hop.link)));
        }
        if let Some(link) = scenario.too_small_for_ipv6(&route) {
            let crossed = crossed(link);
            return Err(format!(
                "{crossed}, which does not carry packets of {IPV6_MIN_MTU} bytes (RFC 8200 section 5)"
            ));
        }
    }
    Ok(())
}

/// Checks that a given datagram size has room for headers and payload: one byte, or a probe's number and
/// timestamp.
fn check_datagram_size(root: &Node, scenario: &Scenario, flow: &Flow) -> Result<(), Fault> {
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
