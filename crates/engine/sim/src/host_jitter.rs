//! Scheduling jitter of hosts, as measured on real ones. With it, repeats differ as on a real machine.
//!
//! | event | delay |
//! |---|---|
//! | a packet arrives | the host wakes up after a delay drawn from [`REACTION`] and handles all packets received by then |
//! | a timer is due (retransmission, delayed ACK, pacing, application, datagram source) | the timer fires after a delay drawn from [`TIMER`] |
//! | a flow starts | it starts after a delay drawn from [`START`]; flows of one host start in sequence, as one program opens them |
//! | the run starts | the host's clock has a random phase, and with it Linux's ticks and timer buckets |
//!
//! Intermediate hosts, which only forward packets, have no jitter. Each host has its own random stream.
//!
//! Source of the distributions: `tests/twin` (`host-jitter learn`), measured in the lab on Linux 6.18 with
//! two CPUs; `docs/measured/fidelity.md` describes the method.

use crate::agenda::Owner;
use crate::end_id::EndId;
use crate::flows::{FlowKind, SimFlows};
use path::Packet;
use scenario::Scenario;
use std::collections::VecDeque;
use transport::Segment;
use units::{Span, Stream, Time};

/// Quantiles of a distribution, linear in between: (share of draws in parts of 10,000, upper bound in ns).
type Quantiles = [(u64, u64)];

/// Delay from a packet's arrival at a host to the host's reaction; measured from when an ACK was due at the
/// sender until the data that it released.
const REACTION: &Quantiles = &[
    (0, 7_000),
    (500, 23_000),
    (1_000, 29_000),
    (2_500, 38_000),
    (5_000, 50_000),
    (7_500, 63_000),
    (9_000, 84_000),
    (9_500, 107_000),
    (9_800, 133_000),
    (9_900, 154_000),
    (9_990, 491_000),
    (10_000, 871_000),
];
/// Delay from the host's wake-up until a packet leaves; measured from when an ACK was handed to the sender
/// until the data that it released. A timer interrupt takes the same path.
const TIMER: &Quantiles = &[
    (0, 4_500),
    (500, 8_300),
    (1_000, 9_800),
    (2_500, 13_500),
    (5_000, 19_200),
    (7_500, 24_600),
    (9_000, 30_100),
    (9_500, 35_400),
    (9_800, 54_800),
    (9_900, 64_900),
    (9_990, 172_000),
    (10_000, 660_000),
];
/// Delay from the scheduled start of a flow, or the start of the host's previous flow, to its SYN or first
/// datagram.
const START: &Quantiles = &[
    (0, 110_000),
    (1_000, 124_000),
    (2_500, 139_000),
    (5_000, 161_000),
    (7_500, 254_000),
    (9_000, 550_000),
    (10_000, 900_000),
];
/// Length of Linux's coarsest timer bucket that a connection uses, 512 ticks of 4 ms (`kernel/time/timer.c`):
/// the range of the clock's random phase.
const CLOCK_PHASE: Span = Span::from_millis(2048);

/// Draws a delay.
fn draw(stream: &mut Stream, quantiles: &Quantiles) -> Span {
    let at = stream.below(10_000 << 16);
    let above = quantiles.partition_point(|&(share, _)| share << 16 <= at).clamp(1, quantiles.len() - 1);
    let ((from, low), (to, high)) = (quantiles[above - 1], quantiles[above]);
    let (into, width) = (at - (from << 16), (to - from) << 16);
    Span::from_nanos(low + ((high - low) as u128 * into as u128 / width as u128) as u64)
}

/// Jitter of all hosts of a run; empty where it is off.
#[derive(Default)]
pub struct HostJitter {
    pub hosts: Vec<JitteryHost>,
    /// Connection ends with a timer that is due and deferred.
    deferred_ends: Vec<bool>,
    /// Flows with a timer that is due and deferred.
    deferred_flows: Vec<bool>,
}

impl HostJitter {
    /// Makes the jitter of the scenario's hosts, and sets the clocks of the connections' ends.
    pub fn new(scenario: &Scenario, seed: u64, flows: &mut SimFlows) -> HostJitter {
        let hosts: Vec<_> = scenario.hosts.iter().map(|h| JitteryHost::new(seed, &h.name)).collect();
        for (end, directed) in flows.ends.iter_mut().zip(&flows.directed) {
            end.set_clock(hosts[directed.from as usize].clock);
        }
        let deferred_ends = vec![false; flows.ends.len()];
        HostJitter { hosts, deferred_ends, deferred_flows: vec![false; flows.flows.len()] }
    }

    /// Start times of all flows.
    pub fn starts(&mut self, flows: &SimFlows) -> Vec<Time> {
        let mut starts: Vec<Time> = flows.flows.iter().map(|f| f.start).collect();
        if !self.hosts.is_empty() {
            let mut in_order: Vec<usize> = (0..starts.len()).collect();
            in_order.sort_by_key(|&flow| starts[flow]);
            for flow in in_order {
                starts[flow] = self.hosts[flows.flows[flow].from as usize].start_flow(starts[flow]);
            }
        }
        starts
    }

    /// Defers a timer of an end or a flow whose deadline has come: returns when the timer fires. `None` if it
    /// fires now, or if none is due.
    #[inline]
    pub fn defer(&mut self, owner: Owner, now: Time, flows: &SimFlows) -> Option<Time> {
        let deferred = match owner {
            Owner::End(end) => self.deferred_ends.get_mut(end.index())?,
            Owner::Flow(flow) => self.deferred_flows.get_mut(flow as usize)?,
            Owner::Direction(_) | Owner::Sampler | Owner::Host(_) => return None,
        };
        if std::mem::take(deferred) {
            return None;
        }
        let (host, due) = timer(owner, flows)?;
        *deferred = due <= now;
        deferred.then(|| now + self.hosts[host as usize].timer_delay())
    }

    /// Whether a due timer of this end is deferred. Its deadline must then not change.
    #[inline]
    pub fn is_deferred(&self, end: EndId) -> bool {
        self.deferred_ends.get(end.index()) == Some(&true)
    }
}

/// The host of an end or a flow, and its next timer; `None` where no timer is set.
fn timer(owner: Owner, flows: &SimFlows) -> Option<(u32, Time)> {
    let index = match owner {
        Owner::End(end) => {
            return Some((flows.directed[end.index()].from, flows.ends[end.index()].next_wake()?));
        }
        Owner::Flow(flow) => flow as usize,
        Owner::Direction(_) | Owner::Sampler | Owner::Host(_) => return None,
    };
    let flow = &flows.flows[index];
    let wake = match &flow.kind {
        // The delay of the start has been drawn already.
        FlowKind::Udp(u) => u.source.next_wake().filter(|_| u.source.sent > 0),
        FlowKind::Tcp(t) => t.app.next_wake().filter(|_| flow.started),
    };
    Some((flow.from, wake?))
}

/// A host with scheduling jitter.
pub struct JitteryHost {
    draws: Stream,
    /// The host's clock at the start of the run.
    pub clock: Span,
    /// Packets that have arrived but are not yet handled, in order.
    waiting: VecDeque<Box<Packet<Segment>>>,
    /// Time at which the host wakes up to handle them.
    wake: Time,
    /// Start of the last flow.
    last_start: Time,
}

impl JitteryHost {
    /// Makes the host called `name`.
    pub fn new(seed: u64, name: &str) -> JitteryHost {
        let mut draws = Stream::new(seed, &format!("unrest.host.{name}"));
        let clock = Span::from_nanos(draws.below(CLOCK_PHASE.as_nanos()));
        JitteryHost { draws, clock, waiting: VecDeque::new(), wake: Time::ZERO, last_start: Time::ZERO }
    }

    /// Queues a packet that arrives until the host wakes up and handles all queued packets.
    pub fn queue_packet(&mut self, now: Time, packet: Box<Packet<Segment>>) {
        if self.waiting.is_empty() {
            self.wake = now + draw(&mut self.draws, REACTION);
        }
        self.waiting.push_back(packet);
    }

    /// The first queued packet, if the host is awake.
    pub fn next_packet(&mut self, now: Time) -> Option<Box<Packet<Segment>>> {
        if self.next_wake()? > now {
            return None;
        }
        self.waiting.pop_front()
    }

    /// Time at which the host handles the queued packets; `None` without packets.
    pub fn next_wake(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.wake)
    }

    /// Draws the delay of a timer.
    pub fn timer_delay(&mut self) -> Span {
        draw(&mut self.draws, TIMER)
    }

    /// The start of a flow that is scheduled for `start`; to be called in the order of scheduled starts.
    pub fn start_flow(&mut self, start: Time) -> Time {
        self.last_start = self.last_start.max(start) + draw(&mut self.draws, START);
        self.last_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_given_quantiles() {
        let quantiles = &[(0, 100), (5_000, 200), (9_000, 1_000), (10_000, 50_000)];
        let mut stream = Stream::new(3, "quantiles");
        let mut drawn: Vec<u64> = (0..100_000).map(|_| draw(&mut stream, quantiles).as_nanos()).collect();
        drawn.sort_unstable();
        for &(share, want) in quantiles {
            let got = drawn[(share as usize * 10).min(drawn.len() - 1)];
            assert!(got.abs_diff(want) * 50 <= want, "{share}: {got} for {want}");
        }
    }

    #[test]
    fn quantiles_are_increasing() {
        for table in [REACTION, TIMER, START] {
            assert!(table.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
            assert_eq!((table[0].0, table[table.len() - 1].0), (0, 10_000));
        }
    }

    #[test]
    fn flows_of_one_host_start_in_sequence() {
        let mut host = JitteryHost::new(1, "a");
        let starts: Vec<Time> = (0..5).map(|_| host.start_flow(Time::ZERO)).collect();
        assert!(starts.is_sorted() && starts[0] > Time::ZERO && starts[4] > starts[0], "{starts:?}");
    }
}
