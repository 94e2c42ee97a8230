//! Which links a packet takes: those of the shortest chain.

use crate::{DuplexLink, Scenario};
use path::Stage;
use std::net::Ipv4Addr;

/// IP packets are at most this big where no link says otherwise.
const MTU: u32 = 1500;

/// A host's address, by its index: on the kernel, and in captures of either clock.
pub fn address(host: usize) -> Ipv4Addr {
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
    /// The largest IP packet that two hosts know to fit, bytes: of the links next to either end of the route the
    /// smallest MTU, 1500 at most.
    pub fn mtu(&self, from: usize, to: usize) -> u32 {
        let Some(route) = self.route(from, to) else { return MTU };
        let edges = [route.first(), route.last()];
        edges.into_iter().flatten().map(|hop| self.links[hop.link].mtu()).fold(MTU, u32::min)
    }

    /// Whether a flow or a relay begins or ends at this host: else it only hands on.
    pub fn speaks(&self, host: usize) -> bool {
        self.flows.iter().any(|f| f.from == host || f.to == host)
            || self.relays.iter().any(|r| r.host == host)
    }

    /// The route between two hosts: the fewest links, and among equals those named first.
    /// Empty from a host to itself; `None` where no chain of links leads.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<Hop>> {
        let ways = ways(self.hosts.len(), &self.links);
        let mut came: Vec<Option<(usize, Hop)>> = vec![None; self.hosts.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(host) = queue.pop_front().filter(|&h| h != to) {
            for &(next, hop) in ways.get(host)? {
                if next != from && came[next].is_none() {
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
}

impl DuplexLink {
    /// The largest IP packet that hosts at its ends know to fit, bytes: the smallest MTU of its own stages, 1500 at most.
    /// What a tunnel over it takes off they do not know.
    pub fn mtu(&self) -> u32 {
        let stages = self.forward.iter().chain(&self.backward);
        let mtus = stages.filter_map(|s| match &s.stage {
            Stage::Link(link) => link.mtu,
            Stage::RateTrace(link) => link.mtu,
            Stage::Handover(link) => link.mtu,
            Stage::Train(link) => link.mtu,
            _ => None,
        });
        mtus.fold(MTU, u32::min)
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
