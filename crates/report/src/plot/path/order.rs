//! In which rows links are drawn: a chain of links in one, as far as it fits, others each in its own.

use result::Topology;
use result::topology::Link;

/// A link as it is passed from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop<'a> {
    pub link: &'a Link,
    /// From its second host to its first.
    pub flipped: bool,
}

impl<'a> Hop<'a> {
    fn left(&self) -> &'a str {
        &self.link.between[usize::from(self.flipped)]
    }

    fn right(&self) -> &'a str {
        &self.link.between[usize::from(!self.flipped)]
    }
}

/// Links drawn side by side, one at least, each beginning where the one before ends.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub hops: Vec<Hop<'a>>,
}

impl<'a> Row<'a> {
    /// From left to right.
    pub fn hosts(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.hops.first().map(Hop::left).into_iter().chain(self.hops.iter().map(Hop::right))
    }
}

/// The rows, none wider than `room` px as far as that can be.
pub(super) fn rows<'a>(
    topology: &'a Topology,
    room: f64,
    hop_width: impl Fn(&Hop) -> f64,
    host_width: impl Fn(&str) -> f64,
) -> Vec<Row<'a>> {
    let Some(chain) = chain(topology) else {
        let alone = |link| Row { hops: vec![Hop { link, flipped: false }] };
        return topology.links.iter().map(alone).collect();
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut used = 0.0;
    for hop in chain {
        let wide = hop_width(&hop) + host_width(hop.right());
        match rows.last_mut() {
            Some(row) if used + wide <= room => {
                row.hops.push(hop);
                used += wide;
            }
            // The host that ends a row begins the next.
            _ => {
                used = host_width(hop.left()) + wide;
                rows.push(Row { hops: vec![hop] });
            }
        }
    }
    rows
}

/// The links as one chain from end to end, beginning at the end that the scenario names first; `None` for
/// any other shape.
fn chain(topology: &Topology) -> Option<Vec<Hop<'_>>> {
    let links = &topology.links;
    let degree = |host: &str| links.iter().flat_map(|l| &l.between).filter(|h| *h == host).count();
    let ends = links.iter().flat_map(|l| &l.between);
    let start = ends.clone().find(|h| degree(h) == 1)?;
    let named = topology.hosts.iter().find(|h| degree(h) == 1).filter(|h| ends.clone().any(|e| e == *h));
    let mut at: &str = named.unwrap_or(start);
    let mut left: Vec<&Link> = links.iter().collect();
    let mut hops = Vec::new();
    while !left.is_empty() {
        if degree(at) > 2 {
            return None;
        }
        let next = left.iter().position(|l| l.between.iter().any(|h| h == at))?;
        let link = left.remove(next);
        let hop = Hop { link, flipped: link.between[0] != at };
        at = hop.right();
        hops.push(hop);
    }
    Some(hops)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(links: &[(&str, &str)]) -> Topology {
        let link = |(i, (a, b)): (usize, &(&str, &str))| Link {
            name: format!("l{i}"),
            between: [a.to_string(), b.to_string()],
            ..Link::default()
        };
        Topology { links: links.iter().enumerate().map(link).collect(), ..Topology::default() }
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
    fn other_shapes_are_drawn_link_by_link() {
        assert_eq!(shape(&[("a", "r"), ("b", "r"), ("r", "c")], 500.0), ["a-r", "b-r", "r-c"]);
        assert_eq!(shape(&[("a", "b"), ("b", "c"), ("c", "a")], 500.0), ["a-b", "b-c", "c-a"]);
        assert_eq!(shape(&[("a", "b"), ("a", "b")], 500.0), ["a-b", "a-b"]);
        assert_eq!(shape(&[("a", "b"), ("c", "d")], 500.0), ["a-b", "c-d"]);
    }
}
