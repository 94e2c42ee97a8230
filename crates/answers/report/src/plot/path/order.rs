//! In which rows links are drawn: chains of links side by side as far as they fit.

use result::Topology;
use result::topology::PathLink;
use std::collections::BTreeSet;

/// A link as it is passed from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawnLink<'a> {
    pub link: &'a PathLink,
    /// From its second host to its first.
    pub flipped: bool,
}

impl<'a> DrawnLink<'a> {
    fn left(&self) -> &'a str {
        &self.link.between[usize::from(self.flipped)]
    }

    fn right(&self) -> &'a str {
        &self.link.between[usize::from(!self.flipped)]
    }
}

/// Links drawn side by side, one at least, each beginning where the one before ends.
#[derive(Clone, Debug)]
pub(super) struct DrawnRow<'a> {
    pub hops: Vec<DrawnLink<'a>>,
}

impl<'a> DrawnRow<'a> {
    /// From left to right.
    pub fn hosts(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.hops.first().map(DrawnLink::left).into_iter().chain(self.hops.iter().map(DrawnLink::right))
    }
}

/// The rows, none wider than `room` px as far as that can be: the longest trail of links first, so that a
/// chain is drawn as one, then the longest of what is left.
pub(super) fn rows<'a>(
    topology: &'a Topology,
    room: f64,
    hop_width: impl Fn(&DrawnLink) -> f64,
    host_width: impl Fn(&str) -> f64,
) -> Vec<DrawnRow<'a>> {
    let mut left: Vec<&PathLink> = topology.links.iter().collect();
    let mut rows: Vec<DrawnRow> = Vec::new();
    while !left.is_empty() {
        let trail = trail(&left, &topology.hosts);
        left.retain(|link| !trail.iter().any(|hop| std::ptr::eq(hop.link, *link)));
        let mut used = f64::INFINITY;
        for hop in trail {
            let wide = hop_width(&hop) + host_width(hop.right());
            match rows.last_mut() {
                Some(row) if used + wide <= room => {
                    row.hops.push(hop);
                    used += wide;
                }
                // The host that ends a row begins the next.
                _ => {
                    used = host_width(hop.left()) + wide;
                    rows.push(DrawnRow { hops: vec![hop] });
                }
            }
        }
    }
    rows
}

/// A longest shortest way through the first link's part of the network, beginning at the end that the
/// scenario names first. In a tree, as most networks are, it is the longest there is. At least one hop.
fn trail<'a>(links: &[&'a PathLink], hosts: &[String]) -> Vec<DrawnLink<'a>> {
    let first = links[0];
    let far = |from: &str| -> Vec<DrawnLink<'a>> {
        let ways = ways(links, from);
        let longest = ways.last().map_or(0, Vec::len);
        // Of equals the one that the scenario names first.
        ways.into_iter().find(|way| way.len() == longest).unwrap_or_default()
    };
    let start = match far(&first.between[0]).last() {
        Some(hop) => hop.right(),
        None => &first.between[0],
    };
    let mut trail = far(start);
    let (Some(head), Some(tail)) = (trail.first(), trail.last()) else {
        // A link from a host to itself.
        return vec![DrawnLink { link: first, flipped: false }];
    };
    let named = |host: &str| hosts.iter().position(|h| h == host);
    if named(tail.right()) < named(head.left()) {
        trail.reverse();
        trail.iter_mut().for_each(|hop| hop.flipped = !hop.flipped);
    }
    trail
}

/// A shortest way from a host to each other one, shortest first.
fn ways<'a>(links: &[&'a PathLink], from: &str) -> Vec<Vec<DrawnLink<'a>>> {
    let mut seen = BTreeSet::from([from]);
    let mut ways: Vec<Vec<DrawnLink<'a>>> = Vec::new();
    let mut next = 0;
    let mut at: Vec<DrawnLink<'a>> = Vec::new();
    loop {
        let host = at.last().map_or(from, DrawnLink::right);
        for &link in links {
            for flipped in [false, true] {
                let hop = DrawnLink { link, flipped };
                if hop.left() == host && seen.insert(hop.right()) {
                    ways.push(at.iter().copied().chain([hop]).collect());
                }
            }
        }
        let Some(way) = ways.get(next) else { return ways };
        at = way.clone();
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(links: &[(&str, &str)]) -> Topology {
        let link = |(i, (a, b)): (usize, &(&str, &str))| PathLink {
            name: format!("l{i}"),
            between: [a.to_string(), b.to_string()],
            ..PathLink::default()
        };
        let hosts = ["a", "b", "r", "c", "d"].map(String::from).to_vec();
        Topology { hosts, links: links.iter().enumerate().map(link).collect(), ..Topology::default() }
    }

    fn shape(links: &[(&str, &str)], room: f64) -> Vec<String> {
        let topology = topology(links);
        let rows = rows(&topology, room, |_| 50.0, |_| 10.0);
        rows.iter().map(|r| r.hosts().collect::<Vec<_>>().join("-")).collect()
    }

    #[test]
    fn a_chain_is_a_row_whatever_way_its_links_are_written() {
        assert_eq!(shape(&[("b", "c"), ("b", "a"), ("c", "d")], 500.0), ["a-b-c-d"]);
        assert_eq!(shape(&[("a", "b"), ("b", "c"), ("c", "d")], 140.0), ["a-b-c", "c-d"]);
        assert_eq!(shape(&[("a", "b"), ("b", "c")], 1.0), ["a-b", "b-c"]);
    }

    #[test]
    fn other_shapes_begin_with_their_longest_chain() {
        assert_eq!(shape(&[("a", "r"), ("b", "r"), ("r", "c"), ("c", "d")], 500.0), ["a-r-c-d", "b-r"]);
        assert_eq!(shape(&[("a", "b"), ("b", "c"), ("c", "a")], 500.0), ["a-b", "a-c-b"]);
        assert_eq!(shape(&[("a", "b"), ("a", "b")], 500.0), ["a-b", "a-b"]);
        assert_eq!(shape(&[("a", "b"), ("c", "d")], 500.0), ["a-b", "c-d"]);
        assert_eq!(shape(&[("a", "a")], 500.0), ["a-a"]);
    }
}
