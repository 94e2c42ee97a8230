//! Hosts and what joins them: one chain of elements for each direction of each link, and who sends
//! where. Routing is by destination, along the fewest links.

use chains::{LinkWay, NumberSet};
use path::{Outbox, Packet};
use scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transport::Segment;
use units::Time;

/// Incomplete packets remembered; older ones have no fragment still under way.
const REMEMBERED: usize = 1024;

/// A packet that reached a host.
pub struct HostArrival {
    pub host: u32,
    pub packet: Packet<Segment>,
}

/// A packet that was too big for the path, of which its sender is to be told.
pub struct BouncedPacket {
    pub packet: Packet<Segment>,
    /// What would have fit, bytes of IP.
    pub mtu: u32,
    /// The host that had sent it on to where it did not fit.
    pub router: u32,
}

/// The topology.
pub struct SimNetwork {
    pub ways: Vec<LinkWay<Segment>>,
    /// Where directed flows go: the host, and whose packets they are.
    targets: Vec<(usize, Option<String>)>,
    /// The target of each directed flow.
    target: Vec<u32>,
    /// For each host and target the way to take, if there is one.
    next: Vec<Option<u32>>,
    hosts: usize,
    /// Destination host of each directed flow.
    pub destination: Vec<u32>,
    outbox: Outbox<Segment>,
    /// Packets at hosts, to be handled now, in order.
    pub arrivals: VecDeque<HostArrival>,
    /// Packets too big for the path.
    pub bounced: Vec<BouncedPacket>,
    /// Fragments seen (one bit each) of packets that no tunnel end has joined.
    partial: BTreeMap<u64, u64>,
    /// Data packets the path dropped, of each directed flow.
    pub lost: Vec<u64>,
    /// Of each directed flow of datagrams which ones the path dropped; those flows begin with this number.
    pub dropped: Vec<NumberSet>,
    pub datagrams: u32,
    /// Packets whose loss was counted by one of their fragments.
    torn: BTreeSet<u64>,
    /// Packets handed on by hosts in the middle.
    pub forwarded: u64,
    /// Packets with nowhere to go.
    pub stranded: u64,
    /// Ways whose deadline may have moved.
    pub touched: Vec<u32>,
}

impl SimNetwork {
    pub fn new(scenario: &Scenario, seed: u64) -> SimNetwork {
        SimNetwork {
            ways: chains::ways(scenario, seed),
            targets: Vec::new(),
            target: Vec::new(),
            next: Vec::new(),
            hosts: scenario.hosts.len(),
            destination: Vec::new(),
            outbox: Outbox::default(),
            arrivals: VecDeque::new(),
            bounced: Vec::new(),
            partial: BTreeMap::new(),
            lost: Vec::new(),
            dropped: Vec::new(),
            datagrams: 0,
            torn: BTreeSet::new(),
            forwarded: 0,
            stranded: 0,
            touched: Vec::new(),
        }
    }

    /// Directed flows go from and to these hosts.
    pub fn set_flows(&mut self, scenario: &Scenario, ends: impl Iterator<Item = (usize, usize)>) {
        let mut known: BTreeMap<(usize, Option<&str>), u32> = BTreeMap::new();
        for (from, to) in ends {
            let customer = scenario.customer_between(from, to).flatten();
            let fresh = known.len() as u32;
            self.target.push(*known.entry((to, customer)).or_insert(fresh));
        }
        let mut targets: Vec<_> =
            known.into_iter().map(|((to, of), at)| (at, (to, of.map(str::to_string)))).collect();
        targets.sort_unstable();
        self.targets = targets.into_iter().map(|(_, target)| target).collect();
        self.learn(scenario, &[]);
    }

    /// Learns the way to every target from every host, while the links `down` are not there.
    pub fn learn(&mut self, scenario: &Scenario, down: &[usize]) {
        self.next = vec![None; self.hosts * self.targets.len()];
        for (i, (to, customer)) in self.targets.iter().enumerate() {
            for host in (0..self.hosts).filter(|host| host != to) {
                let hop = scenario.next_hop(host, *to, customer.as_deref(), down);
                self.next[host * self.targets.len() + i] =
                    hop.map(|hop| (2 * hop.link + !hop.forward as usize) as u32);
            }
        }
    }

    /// `host` sends or forwards a packet.
    #[inline]
    pub fn send(&mut self, now: Time, host: u32, packet: Packet<Segment>) {
        let target = self.target[packet.flow as usize];
        let Some(way) = self.next[host as usize * self.targets.len() + target as usize] else {
            self.stranded += 1;
            return;
        };
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
        self.ways[way as usize].hosts[1] as u32
    }

    /// Brings all elements up to `now`, for their gauges.
    pub fn catch_up(&mut self, now: Time) {
        for way in 0..self.ways.len() {
            self.ways[way].chain.catch_up(now, &mut self.outbox);
            self.collect(way as u32);
        }
    }

    #[inline(always)]
    fn collect(&mut self, way: u32) {
        if !self.outbox.is_empty() {
            self.empty_outbox(way);
        }
        // Of a burst once.
        if self.touched.last() != Some(&way) {
            self.touched.push(way);
        }
    }

    #[inline(never)]
    fn empty_outbox(&mut self, way: u32) {
        let [router, host] = self.ways[way as usize].hosts.map(|host| host as u32);
        for (_, packet) in self.outbox.sent.drain(..) {
            self.arrivals.push_back(HostArrival { host, packet });
        }
        if !self.outbox.dropped.is_empty() {
            self.count_lost();
        }
        for (_, packet, mtu) in self.outbox.bounced.drain(..) {
            self.bounced.push(BouncedPacket { packet, mtu, router });
        }
    }

    /// Data packets that were dropped, each once however many fragments of it.
    fn count_lost(&mut self) {
        for (_, packet, _) in self.outbox.dropped.drain(..) {
            if packet.body.len == 0 {
                continue;
            }
            if packet.fragment.is_some() {
                if !self.torn.insert(packet.id) {
                    continue;
                }
                if self.torn.len() > REMEMBERED {
                    self.torn.pop_first();
                }
            }
            self.lost[packet.flow as usize] += 1;
            let datagrams = packet.flow.checked_sub(self.datagrams);
            if let Some(dropped) = datagrams.and_then(|i| self.dropped.get_mut(i as usize)) {
                dropped.insert(packet.body.seq);
            }
        }
    }

    /// The hosts that a message from host `from` to host `to` passes, both among them.
    pub fn passed(&self, from: usize, to: usize) -> Vec<usize> {
        let mut hosts = vec![from];
        let mut at = from;
        let target = self.targets.iter().position(|(host, _)| *host == to);
        while at != to {
            // Nothing else goes to a host that sends datagrams only: then the ways there are not known.
            let way = target.and_then(|t| self.next[at * self.targets.len() + t]);
            at = match way {
                Some(way) if hosts.len() <= self.hosts => self.ways[way as usize].hosts[1],
                _ => to,
            };
            hosts.push(at);
        }
        hosts
    }

    /// Conservation: what entered an element left it, was dropped or is held, and what an element
    /// handed on entered the next. `sent` packets entered the network.
    pub fn check(&self, sent: u64) {
        let mut entered = self.stranded;
        for way in &self.ways {
            for i in 0..way.chain.len() {
                let a = way.chain.account(i);
                assert!(a.balances(), "{} element {i}: {a:?}", way.name);
                if i > 0 {
                    let passed = way.chain.account(i - 1).passed;
                    assert_eq!(passed, a.packets_in, "{} into element {i}", way.name);
                }
            }
            if way.chain.is_empty() {
                return; // keeps no books
            }
            entered += way.chain.account(0).packets_in;
        }
        assert_eq!(entered, sent + self.forwarded, "packets into the network");
    }

    /// Whether a packet is whole: true at once, or with its last fragment.
    pub fn is_whole(&mut self, packet: &Packet<Segment>) -> bool {
        let Some(f) = packet.fragment else { return true };
        // A copy of a fragment completes nothing. More than 64 fragments nothing here makes.
        let seen = self.partial.entry(packet.id).or_insert(0);
        *seen |= 1 << (f.index & 63);
        let whole = seen.count_ones() >= f.count.min(64) as u32;
        if whole {
            self.partial.remove(&packet.id);
        } else if self.partial.len() > REMEMBERED {
            self.partial.pop_first(); // RFC 791's timeout
        }
        whole
    }
}
