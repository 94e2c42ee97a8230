//! Which links a packet takes: at each host what its routes say (the longest match), else the next of the shortest chain.
//!
//! A packet belongs to the customer of the host that it comes from or goes to. It takes no link of another customer, and
//! a host that does not forward it does not pass.

use crate::model::{DuplexLink, Scenario};
use crate::prefix::Prefix;
use crate::service::{HOLD, Service};
use path::{Overhead, Preset, Stage, Tunnel};
use std::net::{IpAddr, Ipv4Addr};
use units::Span;

/// The first address of links.
const LINKS_FROM: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);
/// What links and tunnels between hosts have: shared address space (RFC 6598).
pub(crate) const LINKS: Prefix = Prefix { address: IpAddr::V4(LINKS_FROM), bits: 10 };
/// IP packets are at most this big where no link says otherwise.
const MTU: u32 = 1500;
/// strongSwan in user space reads no packet of more than 1400 bytes (`TUN_DEFAULT_MTU`, libstrongswan/networking/tun_device.c):
/// this is the largest outer packet whose inner one is not above that, whatever its padding.
const LARGEST_OUTER: u32 = 1460;

/// A host's address where it has none of its own, by its index; in captures of the simulator that of every host.
pub fn default_address(host: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + host as u32)
}

/// One link of a route, and which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Index of the link.
    pub link: usize,
    /// From the link's first host to its second.
    pub forward: bool,
}

impl Scenario {
    /// The address that a host's flows use.
    pub fn address(&self, host: usize) -> IpAddr {
        let own = self.hosts.get(host).and_then(|h| h.addresses.first());
        own.map_or_else(|| default_address(host).into(), |own| own.address)
    }

    /// All addresses of a host, the one that its flows use first.
    pub fn addresses(&self, host: usize) -> Vec<IpAddr> {
        let own = self.hosts[host].addresses.iter().map(|a| a.address);
        let all: Vec<IpAddr> = own.collect();
        if all.is_empty() { vec![default_address(host).into()] } else { all }
    }

    /// Addresses of a link's two ends; where a tunnel crosses it, `inside` or outside of it. For the kernel, where
    /// daemons talk to their neighbours by them.
    pub fn link_address(&self, link: usize, side: usize, inside: bool) -> Ipv4Addr {
        let half = if inside { 1 << 21 } else { 0 };
        Ipv4Addr::from_bits(LINKS_FROM.to_bits() + half + 2 * link as u32 + side as u32)
    }

    /// Whether something in it goes beyond hosts, links and flows: then links have addresses of their own on the kernel.
    pub fn is_whole_network(&self) -> bool {
        self.hosts.iter().any(|h| !h.services.is_empty() || h.customer.is_some())
            || self.links.iter().any(|l| l.customer.is_some())
    }

    /// The customer whose packets alone a link carries: its own, else that of a host at its ends.
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

    /// Whether a host has its end of a tunnel over a link.
    pub fn ends_tunnel(&self, host: usize, link: usize) -> bool {
        let name = &self.links[link].name;
        let is = |s: &Service| matches!(s, Service::Ipsec { link, .. } if link == name);
        self.hosts[host].services.iter().any(is)
    }

    /// Whether a tunnel crosses the link: what is sent over it goes through the tunnel.
    pub fn is_tunnel(&self, link: usize) -> bool {
        self.links[link].between.iter().all(|&host| self.ends_tunnel(host, link))
    }

    /// A host's autonomous system and hold time, if it speaks BGP.
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

    /// What a tunnel over a link adds and how much room it leaves: ESP in UDP (strongSwan in user space always uses the
    /// latter), cut by nobody.
    pub fn tunnel_of(&self, link: usize) -> Option<Tunnel> {
        self.is_tunnel(link).then(|| Tunnel {
            overhead: Overhead::Preset(Preset::EspAesGcm),
            nat_traversal: true,
            mtu: Some(self.links[link].mtu().min(LARGEST_OUTER)),
            icmp: None,
            fragment: false,
        })
    }

    /// The largest IP packet that hosts at a link's ends know to fit, bytes; in a tunnel what it leaves.
    pub fn link_mtu(&self, link: usize) -> u32 {
        let mtu = self.links[link].mtu();
        self.tunnel_of(link).map_or(mtu, |tunnel| tunnel.largest_inner(tunnel.mtu.unwrap_or(mtu)))
    }

    /// The largest IP packet that two hosts know to fit, bytes: of the links next to either end of the route the
    /// smallest MTU, 1500 at most.
    pub fn mtu(&self, from: usize, to: usize) -> u32 {
        let Some(route) = self.route(from, to) else { return MTU };
        let edges = [route.first(), route.last()];
        edges.into_iter().flatten().map(|hop| self.link_mtu(hop.link)).fold(MTU, u32::min)
    }

    /// Whether a flow or a relay begins or ends at this host: else it only hands on.
    pub fn speaks(&self, host: usize) -> bool {
        self.flows.iter().any(|f| f.from == host || f.to == host)
            || self.relays.iter().any(|r| r.host == host)
    }

    /// The route between two hosts: at each host what its own routes say, else the fewest links, and among equals those
    /// named first. Empty from a host to itself; `None` where no way leads, or routes lead in a circle.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<Hop>> {
        self.route_without(from, to, &[])
    }

    /// The same while some links are not there, be they named by routes or not.
    pub fn route_without(&self, from: usize, to: usize, down: &[usize]) -> Option<Vec<Hop>> {
        let told = self.hosts.iter().any(|h| !h.routes.is_empty());
        let customer = self.customer_between(from, to)?;
        if !told {
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

    /// Where a host sends a customer's packets, or nobody's, that are for another.
    pub fn next_hop(&self, at: usize, to: usize, customer: Option<&str>, down: &[usize]) -> Option<Hop> {
        let told = self.told(at, to, customer, down);
        told.or_else(|| self.shortest(at, to, customer, down)?.first().copied())
    }

    /// Whose packets pass between two hosts, if anybody's; `None` where they are of two customers.
    pub fn customer_between(&self, from: usize, to: usize) -> Option<Option<&str>> {
        match (&self.hosts.get(from)?.customer, &self.hosts.get(to)?.customer) {
            (Some(a), Some(b)) if a != b => None,
            (a, b) => Some(a.as_deref().or(b.as_deref())),
        }
    }

    /// Whether packets of a customer, or of none, may take a link.
    fn carries(&self, link: usize, customer: Option<&str>) -> bool {
        self.customer_of_link(link).is_none_or(|of| Some(of) == customer)
    }

    /// What a host's own routes say: the longest match, among equals the first.
    fn told(&self, at: usize, to: usize, customer: Option<&str>, down: &[usize]) -> Option<Hop> {
        let address = self.address(to);
        let routes = self.hosts[at].routes.iter().rev();
        let fits = routes
            .filter(|r| r.to.contains(address) && self.carries(r.link, customer) && !down.contains(&r.link));
        let best = fits.max_by_key(|r| r.to.bits)?;
        // A neighbour is nearer than any network that it is in.
        let ends = |l: &DuplexLink| l.between == [at, to] || l.between == [to, at];
        let mut near = (0..self.links.len()).filter(|&l| ends(&self.links[l]) && !down.contains(&l));
        if !best.to.is_host() && near.any(|l| self.carries(l, customer)) {
            return None;
        }
        Some(Hop { link: best.link, forward: self.links[best.link].between[0] == at })
    }

    /// The fewest links, and among equals those named first.
    fn shortest(&self, from: usize, to: usize, customer: Option<&str>, down: &[usize]) -> Option<Vec<Hop>> {
        let ways = ways(self.hosts.len(), &self.links);
        let mut came: Vec<Option<(usize, Hop)>> = vec![None; self.hosts.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(host) = queue.pop_front().filter(|&h| h != to) {
            if host != from && !self.hosts[host].forward {
                continue;
            }
            for &(next, hop) in ways.get(host)? {
                let free = !down.contains(&hop.link) && self.carries(hop.link, customer);
                if next != from && came[next].is_none() && free {
                    came[next] = Some((host, hop));
                    queue.push_back(next);
                }
            }
        }
        let mut hops = Vec::new();
        let mut at = to;
        while at != from {
            let (before, hop) = (*came.get(at)?)?;
            hops.push(hop);
            at = before;
        }
        hops.reverse();
        Some(hops)
    }

    /// The networks that a BGP speaker announces to a customer, or to neighbours of none: those of its own addresses and of
    /// neighbours that speak none, and what it is told to.
    pub fn announced(&self, host: usize, customer: Option<&str>) -> Vec<Prefix> {
        let of = |h: usize| {
            let own = &self.hosts[h].addresses;
            let all: Vec<Prefix> = own.iter().map(|p| p.network()).collect();
            if all.is_empty() { vec![Prefix::host(default_address(h))] } else { all }
        };
        let stubs = self.links.iter().filter(|l| l.between.contains(&host)).flat_map(|l| l.between);
        let stubs = stubs.filter(|&h| h != host && self.speaker(h).is_none());
        let stubs =
            stubs.filter(|&h| self.hosts[h].customer.as_deref().is_none_or(|of| Some(of) == customer));
        let mut all: Vec<Prefix> = [host].into_iter().chain(stubs).flat_map(of).collect();
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
    /// The largest IP packet that hosts at its ends know to fit, bytes: the smallest MTU of its own stages, 1500 at most.
    /// What a tunnel over it takes off they do not know.
    pub fn mtu(&self) -> u32 {
        let stages = self.forward.iter().chain(&self.backward);
        stages.filter_map(|s| stage_mtu(&s.stage)).fold(MTU, u32::min)
    }
}

/// The MTU that a stage says it has, but a tunnel's.
pub(crate) fn stage_mtu(stage: &Stage) -> Option<u32> {
    match stage {
        Stage::Link(link) => link.mtu,
        Stage::RateTrace(link) => link.mtu,
        Stage::Handover(link) => link.mtu,
        Stage::Train(link) => link.mtu,
        _ => None,
    }
}

/// For each host its neighbours, in the order of the links.
fn ways(hosts: usize, links: &[DuplexLink]) -> Vec<Vec<(usize, Hop)>> {
    let mut ways = vec![Vec::new(); hosts];
    for (link, l) in links.iter().enumerate() {
        let [a, b] = l.between;
        ways[a].push((b, Hop { link, forward: true }));
        ways[b].push((a, Hop { link, forward: false }));
    }
    ways
}

/// For each host the first host of its island: two hosts of one island are joined by links.
pub(crate) fn islands(hosts: usize, links: &[DuplexLink]) -> Vec<usize> {
    let ways = ways(hosts, links);
    let mut island = vec![usize::MAX; hosts];
    for first in 0..hosts {
        let mut open = if island[first] == usize::MAX { vec![first] } else { Vec::new() };
        while let Some(host) = open.pop() {
            if island[host] == usize::MAX {
                island[host] = first;
                open.extend(ways[host].iter().map(|&(next, _)| next));
            }
        }
    }
    island
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    #[test]
    fn the_shortest_route_and_the_first_of_equals() {
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
