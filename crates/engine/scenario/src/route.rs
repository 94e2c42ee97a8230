//! Routing: each host follows its own routes (longest match), otherwise the shortest path.
//!
//! A packet belongs to the customer of its source or destination host. It takes no link of another customer,
//! and passes no host that does not forward.

use crate::model::{DuplexLink, Scenario};
use crate::prefix::Prefix;
use crate::service::{HOLD, Service};
use path::{Overhead, Preset, Stage, Tunnel};
use std::net::{IpAddr, Ipv4Addr};
use units::Span;

/// The first of the addresses of links.
const FIRST_LINK_ADDRESS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);
/// Addresses of links and of tunnels between hosts: shared address space (RFC 6598).
pub(crate) const LINK_NETWORK: Prefix = Prefix { address: IpAddr::V4(FIRST_LINK_ADDRESS), bits: 10 };
/// MTU where no stage of a link sets one.
const DEFAULT_MTU: u32 = 1500;
/// The largest outer packet with an inner packet of at most 1400 bytes, whatever its padding. strongSwan in
/// user space reads no larger packets (`TUN_DEFAULT_MTU`, libstrongswan/networking/tun_device.c).
const MAX_OUTER_PACKET: u32 = 1460;

/// The address of a host without `addresses`, by its index. The simulator's captures use it for every host.
pub fn default_address(host: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + host as u32)
}

/// One link of a route, with its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    pub link: usize,
    /// Whether the hop goes from the link's first host to its second.
    pub forward: bool,
}

impl Scenario {
    /// The address that a host's flows use.
    pub fn address(&self, host: usize) -> IpAddr {
        let own = self.hosts.get(host).and_then(|h| h.addresses.first());
        own.map_or_else(|| default_address(host).into(), |own| own.address)
    }

    /// All addresses of a host; flows use the first.
    pub fn addresses(&self, host: usize) -> Vec<IpAddr> {
        let own = self.hosts[host].addresses.iter().map(|a| a.address);
        let all: Vec<IpAddr> = own.collect();
        if all.is_empty() { vec![default_address(host).into()] } else { all }
    }

    /// The address of a link at `side` (0 or 1). If a tunnel crosses the link, `inside` selects the address
    /// inside the tunnel. The kernel needs them because daemons reach their neighbours by these addresses.
    pub fn link_address(&self, link: usize, side: usize, inside: bool) -> Ipv4Addr {
        let half = if inside { 1 << 21 } else { 0 };
        Ipv4Addr::from_bits(FIRST_LINK_ADDRESS.to_bits() + half + 2 * link as u32 + side as u32)
    }

    /// Whether services or customers are configured: links have addresses of their own on the kernel then.
    pub fn needs_link_addresses(&self) -> bool {
        self.hosts.iter().any(|h| !h.services.is_empty() || h.customer.is_some())
            || self.links.iter().any(|l| l.customer.is_some())
    }

    /// The only customer whose packets a link carries: its own, otherwise that of a host at its ends.
    pub fn customer_of_link(&self, link: usize) -> Option<&str> {
        let link = &self.links[link];
        let ends = link.between.iter().filter_map(|&h| self.hosts[h].customer.as_deref());
        link.customer.as_deref().or_else(|| ends.into_iter().next())
    }

    /// Every customer, in the order of first mention.
    pub fn customers(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        let hosts = self.hosts.iter().filter_map(|h| h.customer.as_deref());
        for customer in hosts.chain(self.links.iter().filter_map(|l| l.customer.as_deref())) {
            if !all.contains(&customer) {
                all.push(customer);
            }
        }
        all
    }

    /// Whether a host terminates a tunnel over a link.
    pub fn ends_tunnel(&self, host: usize, link: usize) -> bool {
        let name = &self.links[link].name;
        let is = |s: &Service| matches!(s, Service::Ipsec { link, .. } if link == name);
        self.hosts[host].services.iter().any(is)
    }

    /// Whether a tunnel crosses the link; all packets over the link then go through the tunnel.
    pub fn is_tunnel(&self, link: usize) -> bool {
        self.links[link].between.iter().all(|&host| self.ends_tunnel(host, link))
    }

    /// Autonomous system number and hold time of a host that speaks BGP.
    pub fn speaker(&self, host: usize) -> Option<(u32, Span)> {
        self.hosts[host].services.iter().find_map(|s| match s {
            Service::Bgp { asn, hold, .. } => Some((*asn, hold.unwrap_or(HOLD))),
            _ => None,
        })
    }

    /// Whether the hosts at a link's ends have a BGP session over it.
    pub fn has_session(&self, link: usize) -> bool {
        self.links[link].between.iter().all(|&host| self.speaker(host).is_some())
    }

    /// Overhead and MTU of the tunnel over a link: ESP in UDP, which strongSwan in user space always uses,
    /// without fragmentation of outer packets.
    pub fn tunnel_of(&self, link: usize) -> Option<Tunnel> {
        self.is_tunnel(link).then(|| Tunnel {
            overhead: Overhead::Preset(Preset::EspAesGcm),
            nat_traversal: true,
            mtu: Some(self.links[link].mtu().min(MAX_OUTER_PACKET)),
            icmp: None,
            fragment: false,
        })
    }

    /// The MTU of a link as the hosts at its ends know it, bytes; for a tunnel the largest inner packet.
    pub fn link_mtu(&self, link: usize) -> u32 {
        let mtu = self.links[link].mtu();
        self.tunnel_of(link).map_or(mtu, |tunnel| tunnel.largest_inner(tunnel.mtu.unwrap_or(mtu)))
    }

    /// The MTU that two hosts assume for packets to each other, bytes: the smallest MTU of the first and the
    /// last link of the route, at most 1500.
    pub fn mtu(&self, from: usize, to: usize) -> u32 {
        let Some(route) = self.route(from, to) else { return DEFAULT_MTU };
        let edges = [route.first(), route.last()];
        edges.into_iter().flatten().map(|hop| self.link_mtu(hop.link)).fold(DEFAULT_MTU, u32::min)
    }

    /// Whether a flow or a relay ends at this host. A host for which this is false only forwards.
    pub fn speaks(&self, host: usize) -> bool {
        self.flows.iter().any(|f| f.from == host || f.to == host)
            || self.relays.iter().any(|r| r.host == host)
    }

    /// The route between two hosts: each host follows its own routes, otherwise the path with the fewest
    /// links; ties go to the links that the file names first. Empty from a host to itself; `None` if there is
    /// no route or the routes form a loop.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<Hop>> {
        self.route_without(from, to, &[])
    }

    /// [`Scenario::route`] while the links `down` are unavailable, including for the hosts' own routes.
    pub fn route_without(&self, from: usize, to: usize, down: &[usize]) -> Option<Vec<Hop>> {
        let has_routes = self.hosts.iter().any(|h| !h.routes.is_empty());
        let customer = self.customer_between(from, to)?;
        if !has_routes {
            return self.shortest(from, to, customer, down);
        }
        let (mut hops, mut at) = (Vec::new(), from);
        while at != to {
            let next = self.next_hop(at, to, customer, down)?;
            let link = &self.links[next.link];
            at = link.between[usize::from(next.forward)];
            hops.push(next);
            if hops.len() > self.hosts.len() || at != to && !self.hosts[at].forward {
                return None;
            }
        }
        Some(hops)
    }

    /// The next hop from `at` for a packet of `customer` (`None`: of no customer) that is addressed to `to`.
    pub fn next_hop(&self, at: usize, to: usize, customer: Option<&str>, down: &[usize]) -> Option<Hop> {
        let own_route = self.own_route(at, to, customer, down);
        own_route.or_else(|| self.shortest(at, to, customer, down)?.first().copied())
    }

    /// The customer of the packets between two hosts, `Some(None)` if there is none; `None` if the hosts
    /// belong to two customers.
    pub fn customer_between(&self, from: usize, to: usize) -> Option<Option<&str>> {
        match (&self.hosts.get(from)?.customer, &self.hosts.get(to)?.customer) {
            (Some(a), Some(b)) if a != b => None,
            (a, b) => Some(a.as_deref().or(b.as_deref())),
        }
    }

    /// Whether packets of a customer, or of none, may use a link.
    fn carries(&self, link: usize, customer: Option<&str>) -> bool {
        self.customer_of_link(link).is_none_or(|of| Some(of) == customer)
    }

    /// The next hop by the host's own routes: the longest match, the first one of equally long ones.
    fn own_route(&self, at: usize, to: usize, customer: Option<&str>, down: &[usize]) -> Option<Hop> {
        let address = self.address(to);
        let routes = self.hosts[at].routes.iter().rev();
        let fits = routes
            .filter(|r| r.to.contains(address) && self.carries(r.link, customer) && !down.contains(&r.link));
        let best = fits.max_by_key(|r| r.to.bits)?;
        // A directly connected destination takes precedence over a route to a network.
        let ends = |l: &DuplexLink| l.between == [at, to] || l.between == [to, at];
        let mut near = (0..self.links.len()).filter(|&l| ends(&self.links[l]) && !down.contains(&l));
        if !best.to.is_host() && near.any(|l| self.carries(l, customer)) {
            return None;
        }
        Some(Hop { link: best.link, forward: self.links[best.link].between[0] == at })
    }

    /// Breadth-first search: the fewest links, ties in file order.
    fn shortest(&self, from: usize, to: usize, customer: Option<&str>, down: &[usize]) -> Option<Vec<Hop>> {
        let neighbours = neighbours(self.hosts.len(), &self.links);
        let mut reached_by: Vec<Option<(usize, Hop)>> = vec![None; self.hosts.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(host) = queue.pop_front().filter(|&h| h != to) {
            if host != from && !self.hosts[host].forward {
                continue;
            }
            for &(next, hop) in neighbours.get(host)? {
                let free = !down.contains(&hop.link) && self.carries(hop.link, customer);
                if next != from && reached_by[next].is_none() && free {
                    reached_by[next] = Some((host, hop));
                    queue.push_back(next);
                }
            }
        }
        let mut hops = Vec::new();
        let mut at = to;
        while at != from {
            let (before, hop) = (*reached_by.get(at)?)?;
            hops.push(hop);
            at = before;
        }
        hops.reverse();
        Some(hops)
    }

    /// The networks that a BGP speaker announces to a customer, or to neighbours of no customer: those of its
    /// own addresses, those of neighbours that do not speak BGP, and the configured ones.
    pub fn announced(&self, host: usize, customer: Option<&str>) -> Vec<Prefix> {
        let networks_of = |h: usize| {
            let own = &self.hosts[h].addresses;
            let all: Vec<Prefix> = own.iter().map(|p| p.network()).collect();
            if all.is_empty() { vec![Prefix::host(default_address(h))] } else { all }
        };
        let stubs = self.links.iter().filter(|l| l.between.contains(&host)).flat_map(|l| l.between);
        let stubs = stubs.filter(|&h| h != host && self.speaker(h).is_none());
        let stubs =
            stubs.filter(|&h| self.hosts[h].customer.as_deref().is_none_or(|of| Some(of) == customer));
        let mut all: Vec<Prefix> = [host].into_iter().chain(stubs).flat_map(networks_of).collect();
        for service in &self.hosts[host].services {
            if let Service::Bgp { announce, .. } = service {
                all.extend(announce.iter().map(|p| p.network()));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl DuplexLink {
    /// The MTU of the link as the hosts at its ends know it, bytes: the smallest MTU of its stages, at most
    /// 1500 bytes. The overhead of a tunnel over the link is unknown to them.
    pub fn mtu(&self) -> u32 {
        let stages = self.forward.iter().chain(&self.backward);
        stages.filter_map(|s| stage_mtu(&s.stage)).fold(DEFAULT_MTU, u32::min)
    }
}

/// The MTU that a stage sets; tunnels are excluded.
pub(crate) fn stage_mtu(stage: &Stage) -> Option<u32> {
    match stage {
        Stage::Link(link) => link.mtu,
        Stage::RateTrace(link) => link.mtu,
        Stage::Handover(link) => link.mtu,
        Stage::Train(link) => link.mtu,
        _ => None,
    }
}

/// The neighbours of each host, in the order of the links.
fn neighbours(hosts: usize, links: &[DuplexLink]) -> Vec<Vec<(usize, Hop)>> {
    let mut neighbours = vec![Vec::new(); hosts];
    for (link, l) in links.iter().enumerate() {
        let [a, b] = l.between;
        neighbours[a].push((b, Hop { link, forward: true }));
        neighbours[b].push((a, Hop { link, forward: false }));
    }
    neighbours
}

/// For each host the lowest host index of its connected component.
pub(crate) fn connected_components(hosts: usize, links: &[DuplexLink]) -> Vec<usize> {
    let neighbours = neighbours(hosts, links);
    let mut component = vec![usize::MAX; hosts];
    for first in 0..hosts {
        let mut open = if component[first] == usize::MAX { vec![first] } else { Vec::new() };
        while let Some(host) = open.pop() {
            if component[host] == usize::MAX {
                component[host] = first;
                open.extend(neighbours[host].iter().map(|&(next, _)| next));
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    #[test]
    fn a_route_has_the_fewest_links_and_ties_go_to_the_first_in_the_file() {
        let text = r#"
            [links]
            ab = { between = ["a", "b"] }
            cb = { between = ["c", "b"] }
            ac = { between = ["a", "c"] }
            ac2 = { between = ["a", "c"] }
            cd = { between = ["c", "d"] }
            xy = { between = ["x", "y"] }
        "#;
        let s = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
        let at = |n: &str| s.hosts.iter().position(|h| h.name == n).unwrap();
        let route = |a, b| {
            let hops = s.route(at(a), at(b))?;
            let show = |h: &Hop| format!("{}{}", s.links[h.link].name, if h.forward { ">" } else { "<" });
            Some(hops.iter().map(show).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(route("a", "d").unwrap(), "ac> cd>");
        assert_eq!(route("d", "b").unwrap(), "cd< cb>");
        assert_eq!(route("a", "a").unwrap(), "");
        assert_eq!(route("a", "y"), None);
        assert_eq!(s.route(99, 0), None);
    }
}
