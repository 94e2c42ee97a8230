//! Hosts as restless as real ones, so that repeats differ as those of a machine do.
//!
//! | what | how |
//! |---|---|
//! | a packet has arrived | the host wakes up after a delay drawn from [`REACTION`] and takes all that came meanwhile |
//! | a timer is due (retransmission, delayed ACK, pacing, an application's, a source's) | it fires after a delay drawn from [`TIMER`] |
//! | flows begin | after a delay drawn from [`START`], those of one host one after the other, as one program opens them |
//! | the host's clock | began at any time before the run: Linux' ticks and buckets of timers lie anywhere |
//!
//! Hosts in the midst of a path, which only hand packets on, do not wait. Each host has a stream of its own.
//!
//! Source of the figures: `tests/twin` (`unrest learn`), the lab on Linux 6.18 on two CPUs; how they were taken stands in
//! `docs/fidelity.md`.

use crate::agenda::Owner;
use crate::end_id::EndId;
use crate::flows::{FlowKind, SimFlows};
use path::Packet;
use scenario::Scenario;
use std::collections::VecDeque;
use transport::Segment;
use units::{Span, Stream, Time};

/// A distribution: (share of draws in parts of 10,000, at most so many nanoseconds), straight in between.
type Quantiles = [(u64, u64)];

/// From the moment a packet reaches a host to what the host does about it: here from when it was due at the sender's to
/// the data that an ACK let go.
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
/// From the moment the host notices to what leaves it: here from when its ACK was handed to the sender to the data that it
/// let go. A timer's interrupt has the same way before it.
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
/// From the moment a flow is to begin, or the host's flow before it has, to its SYN or first datagram.
const START: &Quantiles = &[
    (0, 110_000),
    (1_000, 124_000),
    (2_500, 139_000),
    (5_000, 161_000),
    (7_500, 254_000),
    (9_000, 550_000),
    (10_000, 900_000),
];
/// Linux' coarsest bucket of timers that a connection meets, 512 ticks of 4 ms (`kernel/time/timer.c`): where in it a run
/// begins is anybody's guess.
const CLOCK: Span = Span::from_millis(2048);

/// One delay.
fn draw(stream: &mut Stream, of: &Quantiles) -> Span {
    let at = stream.below(10_000 << 16);
    let above = of.partition_point(|&(share, _)| share << 16 <= at).clamp(1, of.len() - 1);
    let ((from, low), (to, high)) = (of[above - 1], of[above]);
    let (into, width) = (at - (from << 16), (to - from) << 16);
    Span::from_nanos(low + ((high - low) as u128 * into as u128 / width as u128) as u64)
}

/// All hosts of a run; none where they are at rest.
#[derive(Default)]
pub struct RestlessHosts {
    pub hosts: Vec<RestlessHost>,
    /// Which ends have a timer that is due and fires late.
    late_ends: Vec<bool>,
    /// Which flows have.
    late_flows: Vec<bool>,
}

impl RestlessHosts {
    /// The scenario's hosts; the connections' ends learn what their hosts' clocks say.
    pub fn new(scenario: &Scenario, seed: u64, flows: &mut SimFlows) -> RestlessHosts {
        let hosts: Vec<_> = scenario.hosts.iter().map(|h| RestlessHost::new(seed, &h.name)).collect();
        for (end, &host) in flows.ends.iter_mut().zip(&flows.host) {
            end.begin_clock_at(hosts[host as usize].clock);
        }
        let late_ends = vec![false; flows.ends.len()];
        RestlessHosts { hosts, late_ends, late_flows: vec![false; flows.flows.len()] }
    }

    /// When each flow begins.
    pub fn starts(&mut self, flows: &SimFlows) -> Vec<Time> {
        let mut starts: Vec<Time> = flows.flows.iter().map(|f| f.start).collect();
        if !self.hosts.is_empty() {
            let mut in_order: Vec<usize> = (0..starts.len()).collect();
            in_order.sort_by_key(|&flow| starts[flow]);
            for flow in in_order {
                starts[flow] = self.hosts[flows.flows[flow].from as usize].begin(starts[flow]);
            }
        }
        starts
    }

    /// The deadline of an end or a flow has come. If a timer is due with it, when that fires; `None` where it does now,
    /// or none is due.
    #[inline]
    pub fn put_off(&mut self, owner: Owner, now: Time, flows: &SimFlows) -> Option<Time> {
        let late = match owner {
            Owner::End(end) => self.late_ends.get_mut(end.index())?,
            Owner::Flow(flow) => self.late_flows.get_mut(flow as usize)?,
            Owner::Way(_) | Owner::Sampler | Owner::Host(_) => return None,
        };
        if std::mem::take(late) {
            return None;
        }
        let (host, due) = timer(owner, flows)?;
        *late = due <= now;
        late.then(|| now + self.hosts[host as usize].lateness())
    }

    /// Whether a timer of this end is due and fires late, so that its deadline stands.
    #[inline]
    pub fn is_put_off(&self, end: EndId) -> bool {
        self.late_ends.get(end.index()) == Some(&true)
    }
}

/// The host of an end or a flow, and the next timer of it; `None` where none is set.
fn timer(owner: Owner, flows: &SimFlows) -> Option<(u32, Time)> {
    let index = match owner {
        Owner::End(end) => return Some((flows.host[end.index()], flows.ends[end.index()].next_wake()?)),
        Owner::Flow(flow) => flow as usize,
        Owner::Way(_) | Owner::Sampler | Owner::Host(_) => return None,
    };
    let flow = &flows.flows[index];
    let wake = match &flow.kind {
        // How late it begins has been drawn.
        FlowKind::Udp(u) => u.source.next_wake().filter(|_| u.source.sent > 0),
        FlowKind::Tcp(t) => t.app.next_wake().filter(|_| flow.started),
    };
    Some((flow.from, wake?))
}

/// A restless host.
pub struct RestlessHost {
    draws: Stream,
    /// What its clock says when the run begins.
    pub clock: Span,
    /// Packets that have arrived, in order.
    waiting: VecDeque<Packet<Segment>>,
    /// When the host wakes up to take them all.
    turn: Time,
    /// When the last flow that it began does begin.
    began: Time,
}

impl RestlessHost {
    /// The host called `name`.
    pub fn new(seed: u64, name: &str) -> RestlessHost {
        let mut draws = Stream::new(seed, &format!("unrest.host.{name}"));
        let clock = Span::from_nanos(draws.below(CLOCK.as_nanos()));
        RestlessHost { draws, clock, waiting: VecDeque::new(), turn: Time::ZERO, began: Time::ZERO }
    }

    /// A packet arrives and waits for the host to wake up, which then takes all that has come.
    pub fn take_in(&mut self, now: Time, packet: Packet<Segment>) {
        if self.waiting.is_empty() {
            self.turn = now + draw(&mut self.draws, REACTION);
        }
        self.waiting.push_back(packet);
    }

    /// The first packet whose turn it is.
    pub fn let_in(&mut self, now: Time) -> Option<Packet<Segment>> {
        if self.next_turn()? > now {
            return None;
        }
        self.waiting.pop_front()
    }

    /// When the next packet has its turn.
    pub fn next_turn(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.turn)
    }

    /// How late a timer fires.
    pub fn lateness(&mut self) -> Span {
        draw(&mut self.draws, TIMER)
    }

    /// When a flow begins that is to begin at `start`. To be asked in the order of starts.
    pub fn begin(&mut self, start: Time) -> Time {
        self.began = self.began.max(start) + draw(&mut self.draws, START);
        self.began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_quantiles_they_are_made_of() {
        let of = &[(0, 100), (5_000, 200), (9_000, 1_000), (10_000, 50_000)];
        let mut stream = Stream::new(3, "quantiles");
        let mut drawn: Vec<u64> = (0..100_000).map(|_| draw(&mut stream, of).as_nanos()).collect();
        drawn.sort_unstable();
        for &(share, want) in of {
            let got = drawn[(share as usize * 10).min(drawn.len() - 1)];
            assert!(got.abs_diff(want) * 50 <= want, "{share}: {got} for {want}");
        }
    }

    #[test]
    fn tables_rise() {
        for table in [REACTION, TIMER, START] {
            assert!(table.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
            assert_eq!((table[0].0, table[table.len() - 1].0), (0, 10_000));
        }
    }

    #[test]
    fn flows_of_one_host_begin_one_after_the_other() {
        let mut host = RestlessHost::new(1, "a");
        let starts: Vec<Time> = (0..5).map(|_| host.begin(Time::ZERO)).collect();
        assert!(starts.is_sorted() && starts[0] > Time::ZERO && starts[4] > starts[0], "{starts:?}");
    }
}
