//! Arranges links in rows: chains of links side by side as far as they fit.

use result::Topology;
use result::topology::PathLink;
use std::collections::BTreeSet;

/// A link drawn from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawnLink<'a> {
    pub link: &'a PathLink,
    /// The link is drawn from its second host to its first.
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

/// Links drawn side by side, at least one; each begins at the host where the previous one ends.
#[derive(Clone, Debug)]
pub(super) struct DrawnRow<'a> {
    pub hops: Vec<DrawnLink<'a>>,
}

impl<'a> DrawnRow<'a> {
    /// The hosts from left to right.
    pub fn hosts(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.hops.first().map(DrawnLink::left).into_iter().chain(self.hops.iter().map(DrawnLink::right))
    }
}

/// The rows, at most `room` px wide if possible. The longest trail of links is first, so that a chain is
/// drawn as one, then the longest trail of the remaining links.
pub(super) fn rows<'a>(
    topology: &'a Topology,
    room: f64,
    hop_width: impl Fn(&DrawnLink) -> f64,
    host_width: impl Fn(&str) -> f64,
) -> Vec<DrawnRow<'a>> {
    let mut remaining: Vec<&PathLink> = topology.links.iter().collect();
    let mut rows: Vec<DrawnRow> = Vec::new();
    while !remaining.is_empty() {
        let trail = trail(&remaining, &topology.hosts);
        remaining.retain(|link| !trail.iter().any(|hop| std::ptr::eq(hop.link, *link)));
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

/// The longest of the shortest paths in the first link's part of the network, starting at the end that the
/// scenario names first. In a tree, as most networks are, this is the longest path. It has at least one hop.
fn trail<'a>(links: &[&'a PathLink], hosts: &[String]) -> Vec<DrawnLink<'a>> {
    let first = links[0];
    let far = |from: &str| -> Vec<DrawnLink<'a>> {
        let paths = shortest_paths(links, from);
        let longest = paths.last().map_or(0, Vec::len);
        // Among equals, the one that the scenario names first.
        paths.into_iter().find(|path| path.len() == longest).unwrap_or_default()
    };
    let start = match far(&first.between[0]).last() {
        Some(hop) => hop.right(),
        None => &first.between[0],
    };
    let mut trail = far(start);
    let (Some(head), Some(tail)) = (trail.first(), trail.last()) else {
        // The link connects a host to itself.
        return vec![DrawnLink { link: first, flipped: false }];
    };
    let named = |host: &str| hosts.iter().position(|h| h == host);
    if named(tail.right()) < named(head.left()) {
        trail.reverse();
        trail.iter_mut().for_each(|hop| hop.flipped = !hop.flipped);
    }
    trail
}

/// A shortest path from a host to each other host, in ascending order of length.
fn shortest_paths<'a>(links: &[&'a PathLink], from: &str) -> Vec<Vec<DrawnLink<'a>>> {
    let mut seen = BTreeSet::from([from]);
    let mut paths: Vec<Vec<DrawnLink<'a>>> = Vec::new();
    let mut next = 0;
    let mut at: Vec<DrawnLink<'a>> = Vec::new();
    loop {
        let host = at.last().map_or(from, DrawnLink::right);
        for &link in links {
            for flipped in [false, true] {
                let hop = DrawnLink { link, flipped };
                if hop.left() == host && seen.insert(hop.right()) {
                    paths.push(at.iter().copied().chain([hop]).collect());
                }
            }
        }
        let Some(path) = paths.get(next) else { return paths };
        at = path.clone();
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
    fn a_chain_is_a_row_whatever_the_direction_of_its_links() {
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
