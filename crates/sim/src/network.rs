//! Hosts and what joins them: one chain of elements for each direction of each link, and who sends
//! where. Routing is by destination, along the fewest links.

use path::{Chain, Outbox, Packet};
use scenario::Scenario;
use std::collections::{BTreeMap, VecDeque};
use transport::Segment;
use units::Time;

/// A packet that reached a host.
pub struct Arrival {
    pub host: u32,
    pub packet: Packet<Segment>,
}

/// One direction of a link.
pub struct Way {
    pub name: String,
    pub kinds: Vec<&'static str>,
    pub chain: Chain<Segment>,
    pub to: u32,
}

/// The topology.
pub struct Network {
    pub ways: Vec<Way>,
    /// For each host and destination the way to take; `u32::MAX` where there is none.
    next: Vec<u32>,
    hosts: usize,
    /// Destination host of each directed flow.
    pub destination: Vec<u32>,
    outbox: Outbox<Segment>,
    /// Packets at hosts, to be handled now, in order.
    pub arrivals: VecDeque<Arrival>,
    /// Packets too big for the path: (packet, mtu).
    pub bounced: Vec<(Packet<Segment>, u32)>,
    /// Fragments seen of packets that no tunnel end has joined.
    partial: BTreeMap<u64, u8>,
    /// Ways whose deadline may have moved.
    pub touched: Vec<u32>,
}

impl Network {
    pub fn new(scenario: &Scenario, seed: u64) -> Network {
        let mut ways = Vec::new();
        for link in &scenario.links {
            let [a, b] = link.between;
            for (direction, stages, to) in [("forward", &link.forward, b), ("backward", &link.backward, a)] {
                let name = format!("{}.{direction}", link.name);
                let mut chain = Chain::default();
                for s in stages {
                    let full = format!("{name}.{}", s.name);
                    chain.push(s.name.clone(), s.stage.build(seed, &full));
                }
                let kinds = stages.iter().map(|s| s.stage.kind()).collect();
                ways.push(Way { name, kinds, chain, to: to as u32 });
            }
        }
        Network {
            ways,
            next: vec![u32::MAX; scenario.hosts.len() * scenario.hosts.len()],
            hosts: scenario.hosts.len(),
            destination: Vec::new(),
            outbox: Outbox::default(),
            arrivals: VecDeque::new(),
            bounced: Vec::new(),
            partial: BTreeMap::new(),
            touched: Vec::new(),
        }
    }

    /// Learns the way to `to` from every host.
    pub fn learn(&mut self, scenario: &Scenario, to: usize) {
        for host in 0..self.hosts {
            if let Some(hop) = scenario.route(host, to).and_then(|r| r.first().copied()) {
                self.next[host * self.hosts + to] = (2 * hop.link + !hop.forward as usize) as u32;
            }
        }
    }

    /// `host` sends or forwards a packet.
    #[inline]
    pub fn send(&mut self, now: Time, host: u32, packet: Packet<Segment>) {
        let to = self.destination[packet.flow as usize];
        let way = self.next[host as usize * self.hosts + to as usize];
        if way == u32::MAX {
            return;
        }
        self.ways[way as usize].chain.handle_packet(now, packet, &mut self.outbox);
        self.collect(way);
    }

    /// The way's deadline has come: what reaches its end is swapped into `batch`, which must be
    /// empty. The host it reaches.
    #[inline]
    pub fn wake(&mut self, now: Time, way: u32, batch: &mut Vec<(Time, Packet<Segment>)>) -> u32 {
        self.ways[way as usize].chain.handle_wake(now, &mut self.outbox);
        std::mem::swap(batch, &mut self.outbox.sent);
        self.collect(way);
        self.ways[way as usize].to
    }

    /// Brings all elements up to `now`, for their gauges.
    pub fn catch_up(&mut self, now: Time) {
        for way in 0..self.ways.len() {
            self.ways[way].chain.catch_up(now, &mut self.outbox);
            self.collect(way as u32);
        }
    }

    #[inline]
    fn collect(&mut self, way: u32) {
        let host = self.ways[way as usize].to;
        if !self.outbox.is_empty() {
            for (_, packet) in self.outbox.sent.drain(..) {
                self.arrivals.push_back(Arrival { host, packet });
            }
            self.outbox.dropped.clear();
            for (_, packet, mtu) in self.outbox.bounced.drain(..) {
                self.bounced.push((packet, mtu));
            }
        }
        self.touched.push(way);
    }

    /// Whether a packet is whole: true at once, or with its last fragment.
    pub fn is_whole(&mut self, packet: &Packet<Segment>) -> bool {
        let Some(f) = packet.fragment else { return true };
        let seen = self.partial.entry(packet.id).or_insert(0);
        *seen += 1;
        if *seen < f.count {
            return false;
        }
        self.partial.remove(&packet.id);
        true
    }
}
