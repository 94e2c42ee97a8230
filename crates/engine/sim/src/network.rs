//! The topology: one chain of elements per direction of each link, and routing by destination along the
//! fewest links.

use chains::{LinkDirection, NumberSet};
use path::{Ecn, Outbox, Packet};
use scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transport::Segment;
use units::Time;

/// Maximum number of incomplete packets to remember. Fragments of older packets are no longer in flight.
const MAX_INCOMPLETE: usize = 1024;

/// A packet that reached a host.
pub struct HostArrival {
    pub host: u32,
    pub packet: Box<Packet<Segment>>,
}

/// A packet that exceeded an MTU of the path; an ICMP error goes to its sender.
pub struct BouncedPacket {
    pub packet: Box<Packet<Segment>>,
    /// Largest IP packet that would have fit, bytes.
    pub mtu: u32,
    /// The host that forwarded the packet onto the link it does not fit.
    pub router: u32,
}

/// The chains of all links of a run, and the routes between hosts.
pub struct SimNetwork {
    pub directions: Vec<LinkDirection<Segment>>,
    /// Destinations of directed flows: the host, and the customer that the packets belong to.
    targets: Vec<(usize, Option<String>)>,
    /// Index into `targets` of each directed flow.
    target: Vec<u32>,
    /// Next hop for each host and target: a direction of a link, or `None` without a route.
    next: Vec<Option<u32>>,
    hosts: usize,
    // The boxes travel on through the elements' queues.
    /// Packets that leave a host.
    #[expect(clippy::vec_box)]
    pub leaving: Vec<Box<Packet<Segment>>>,
    outbox: Outbox<Segment>,
    /// Packets that arrived at hosts and are to be handled now, in order.
    pub arrivals: VecDeque<HostArrival>,
    /// Packets that were too big for the path.
    pub bounced: Vec<BouncedPacket>,
    /// Fragments seen, one bit each, of packets that are not yet reassembled.
    fragments_seen: BTreeMap<u64, u64>,
    /// Number of data packets that the path dropped, per directed flow.
    pub lost: Vec<u64>,
    /// Numbers of the datagrams that the path dropped, per directed datagram flow; those flows start at
    /// number `datagrams`.
    pub dropped: Vec<NumberSet>,
    pub datagrams: u32,
    /// Fragmented packets whose loss has been counted already.
    lost_fragmented: BTreeSet<u64>,
    /// Packets forwarded by intermediate hosts.
    pub forwarded: u64,
    /// Packets without a route.
    pub unroutable: u64,
    /// Directions whose deadline may have changed.
    pub touched: Vec<u32>,
    /// The deadline of each direction as the agenda has it.
    pub armed: Vec<Option<Time>>,
    /// Boxes of packets that have been handled, for new ones; the longest unused first, so that memory is
    /// read and written in its order, which caches foresee.
    spare: VecDeque<Box<Packet<Segment>>>,
}

#[cold]
fn blank() -> Box<Packet<Segment>> {
    let body = Segment::BLANK;
    Box::new(Packet { id: 0, size: 0, overhead: 0, flow: 0, dscp: 0, ecn: Ecn::NotEct, fragment: None, body })
}

impl SimNetwork {
    pub fn new(scenario: &Scenario, seed: u64) -> SimNetwork {
        let directions = chains::ways(scenario, seed);
        SimNetwork {
            armed: vec![None; directions.len()],
            directions,
            targets: Vec::new(),
            target: Vec::new(),
            next: Vec::new(),
            hosts: scenario.hosts.len(),
            leaving: Vec::new(),
            outbox: Outbox::default(),
            arrivals: VecDeque::new(),
            bounced: Vec::new(),
            fragments_seen: BTreeMap::new(),
            lost: Vec::new(),
            dropped: Vec::new(),
            datagrams: 0,
            lost_fragmented: BTreeSet::new(),
            forwarded: 0,
            unroutable: 0,
            touched: Vec::new(),
            spare: VecDeque::new(),
        }
    }

    /// Sets source and destination host of each directed flow, and finds the routes.
    pub fn set_flows(&mut self, scenario: &Scenario, ends: impl Iterator<Item = (usize, usize)>) {
        let mut known: BTreeMap<(usize, Option<&str>), u32> = BTreeMap::new();
        for (from, to) in ends {
            let customer = scenario.customer_between(from, to).flatten();
            let fresh = known.len() as u32;
            self.target.push(*known.entry((to, customer)).or_insert(fresh));
        }
        let mut targets: Vec<_> =
            known.into_iter().map(|((to, customer), at)| (at, (to, customer.map(str::to_string)))).collect();
        targets.sort_unstable();
        self.targets = targets.into_iter().map(|(_, target)| target).collect();
        self.find_routes(scenario, &[]);
    }

    /// Finds the next hop from every host to every target, without the links `down`.
    pub fn find_routes(&mut self, scenario: &Scenario, down: &[usize]) {
        self.next = vec![None; self.hosts * self.targets.len()];
        for (i, (to, customer)) in self.targets.iter().enumerate() {
            for host in (0..self.hosts).filter(|host| host != to) {
                let hop = scenario.next_hop(host, *to, customer.as_deref(), down);
                self.next[host * self.targets.len() + i] =
                    hop.map(|hop| (2 * hop.link + !hop.forward as usize) as u32);
            }
        }
    }

    /// The direction of a link on which `host` sends packets of a directed flow; `None` without a route.
    #[inline]
    pub fn next_hop(&self, host: u32, flow: u32) -> Option<u32> {
        let target = self.target[flow as usize];
        self.next[host as usize * self.targets.len() + target as usize]
    }

    /// Forwards a packet from `host`.
    pub fn forward(&mut self, now: Time, host: u32, packet: Box<Packet<Segment>>) {
        self.forwarded += 1;
        match self.next_hop(host, packet.flow) {
            Some(direction) => {
                self.leaving.push(packet);
                self.enter(now, direction);
                self.collect(direction);
            }
            None => self.discard(packet),
        }
    }

    /// The packets in `leaving` enter a direction of a link. [`SimNetwork::collect`] must be called after
    /// this.
    #[inline]
    pub fn enter(&mut self, now: Time, direction: u32) {
        let chain = &mut self.directions[direction as usize].chain;
        chain.handle_packets(now, &mut self.leaving, &mut self.outbox);
    }

    /// Counts the packets in `leaving`, which have no route.
    #[cold]
    pub fn discard_leaving(&mut self) {
        while let Some(packet) = self.leaving.pop() {
            self.discard(packet);
        }
    }

    /// Counts a packet without a route.
    #[cold]
    fn discard(&mut self, packet: Box<Packet<Segment>>) {
        self.unroutable += 1;
        self.reuse(packet);
    }

    /// Wakes a direction of a link at its deadline. If one packet reaches its end, as in nearly all cases, it
    /// is returned; if several do, they are in `arrivals`. The caller sets the direction's next deadline.
    #[inline]
    pub fn wake(&mut self, now: Time, direction: u32) -> Option<HostArrival> {
        self.armed[direction as usize] = None;
        let link = &mut self.directions[direction as usize];
        let host = link.hosts[1] as u32;
        link.chain.handle_wake(now, &mut self.outbox);
        let only = if self.outbox.sent.len() == 1 { self.outbox.sent.pop() } else { None };
        if !self.outbox.is_empty() {
            self.empty_outbox(direction);
        }
        only.map(|(_, packet)| HostArrival { host, packet })
    }

    /// A packet to be overwritten.
    #[inline]
    pub fn spare(&mut self) -> Box<Packet<Segment>> {
        self.spare.pop_front().unwrap_or_else(blank)
    }

    /// Keeps the box of a packet that has been handled.
    #[inline]
    pub fn reuse(&mut self, packet: Box<Packet<Segment>>) {
        self.spare.push_back(packet);
    }

    /// Advances all elements to `now`, for sampling.
    pub fn catch_up(&mut self, now: Time) {
        for direction in 0..self.directions.len() {
            self.directions[direction].chain.catch_up(now, &mut self.outbox);
            self.collect(direction as u32);
        }
    }

    /// Takes what left a direction of a link, and notes that its deadline may have changed.
    #[inline]
    pub fn collect(&mut self, direction: u32) {
        if !self.outbox.is_empty() {
            self.empty_outbox(direction);
        }
        let chain = &self.directions[direction as usize].chain;
        if chain.next_wake() != self.armed[direction as usize] || chain.is_watched() {
            self.touched.push(direction);
        }
    }

    #[inline(never)]
    fn empty_outbox(&mut self, direction: u32) {
        let [router, host] = self.directions[direction as usize].hosts.map(|host| host as u32);
        for (_, packet) in self.outbox.sent.drain(..) {
            self.arrivals.push_back(HostArrival { host, packet });
        }
        if !self.outbox.dropped.is_empty() {
            self.count_lost();
        }
        if !self.outbox.bounced.is_empty() {
            let bounced = self.outbox.bounced.drain(..);
            self.bounced.extend(bounced.map(|(_, packet, mtu)| BouncedPacket { packet, mtu, router }));
        }
    }

    /// Counts dropped data packets, a fragmented one once.
    #[inline(never)]
    fn count_lost(&mut self) {
        for (_, packet, _) in &self.outbox.dropped {
            if packet.body.len == 0 {
                continue;
            }
            if packet.fragment.is_some() {
                if !self.lost_fragmented.insert(packet.id) {
                    continue;
                }
                if self.lost_fragmented.len() > MAX_INCOMPLETE {
                    self.lost_fragmented.pop_first();
                }
            }
            self.lost[packet.flow as usize] += 1;
            let datagrams = packet.flow.checked_sub(self.datagrams);
            if let Some(dropped) = datagrams.and_then(|i| self.dropped.get_mut(i as usize)) {
                dropped.insert(packet.body.seq);
            }
        }
        self.spare.extend(self.outbox.dropped.drain(..).map(|(_, packet, _)| packet));
    }

    /// The hosts on the route from host `from` to host `to`, both included.
    pub fn hosts_on_route(&self, from: usize, to: usize) -> Vec<usize> {
        let mut hosts = vec![from];
        let mut at = from;
        let target = self.targets.iter().position(|(host, _)| *host == to);
        while at != to {
            // Routes to a host that only sends datagrams may be missing, as nothing else is sent there.
            let direction = target.and_then(|t| self.next[at * self.targets.len() + t]);
            at = match direction {
                Some(direction) if hosts.len() <= self.hosts => self.directions[direction as usize].hosts[1],
                _ => to,
            };
            hosts.push(at);
        }
        hosts
    }

    /// Checks conservation: packets that entered an element left it, were dropped or are held, and packets
    /// that left an element entered the next. `sent` packets entered the network.
    pub fn check(&self, sent: u64) {
        let mut entered = self.unroutable;
        for direction in &self.directions {
            for i in 0..direction.chain.len() {
                let a = direction.chain.account(i);
                assert!(a.balances(), "{} element {i}: {a:?}", direction.name);
                if i > 0 {
                    let passed = direction.chain.account(i - 1).passed;
                    assert_eq!(passed, a.packets_in, "{} into element {i}", direction.name);
                }
            }
            if direction.chain.is_empty() {
                return; // an empty chain has no accounts
            }
            entered += direction.chain.account(0).packets_in;
        }
        assert_eq!(entered, sent + self.forwarded, "packets into the network");
    }

    /// Whether a packet is complete: at once if it is not fragmented, else with its last fragment.
    pub fn is_complete(&mut self, packet: &Packet<Segment>) -> bool {
        let Some(f) = packet.fragment else { return true };
        // A duplicate of a fragment completes nothing. No element makes more than 64 fragments.
        let seen = self.fragments_seen.entry(packet.id).or_insert(0);
        *seen |= 1 << (f.index & 63);
        let whole = seen.count_ones() >= f.count.min(64) as u32;
        if whole {
            self.fragments_seen.remove(&packet.id);
        } else if self.fragments_seen.len() > MAX_INCOMPLETE {
            self.fragments_seen.pop_first(); // reassembly timeout of RFC 791
        }
        whole
    }
}
