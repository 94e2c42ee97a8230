//! Scheduling jitter of hosts: repeats differ, results follow from the seed, and nothing is lost or
//! reordered.

use crate::common::parse;
use path::Packet;
use result::Outcome;
use sim::{SimOptions, Tap};
use std::collections::BTreeSet;
use transport::{Flags, Segment};
use units::Time;

const SCENARIO: &str = r#"
duration = "4s"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "policer", rate = "20Mbit/s", burst = "30kB" }, { kind = "delay", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.bulk]
from = "a"
to = "b"
count = 3
[flows.call]
from = "b"
to = "a"
app = { kind = "udp", rate = "64kbit/s", size = 200 }
[flows.web]
from = "a"
to = "b"
app = { kind = "request", request = "300B", response = "20kB", think = "50ms" }
"#;

fn run(seed: u64, host_jitter: bool) -> Outcome {
    sim::run("v", &parse(SCENARIO), SimOptions { seed, host_jitter, ..SimOptions::default() })
}

fn numbers(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

#[test]
fn results_follow_from_the_seed_and_differ_between_seeds() {
    assert!(numbers(&run(3, true)) == numbers(&run(3, true)));
    let totals: BTreeSet<u64> =
        (0..6).map(|seed| run(seed, true).variant.total_goodput_mbps.to_bits()).collect();
    assert_eq!(totals.len(), 6, "repeats differ");
    assert!(numbers(&run(1, false)) == numbers(&run(2, false)), "without jitter nothing here is random");
}

#[test]
fn jitter_hardly_changes_goodput_and_delay() {
    let (plain, jittery) = (run(1, false).variant, run(1, true).variant);
    for (a, b) in plain.flows.iter().zip(&jittery.flows).filter(|(a, _)| !a.name.starts_with("bulk")) {
        assert!(b.goodput_mbps > 0.8 * a.goodput_mbps, "{}: {} {}", a.name, a.goodput_mbps, b.goodput_mbps);
    }
    let call = |v: &result::VariantResult| {
        v.flows.iter().find(|f| f.name == "call").and_then(|f| f.real_time).map(|r| r.delay_ms)
    };
    let (without, with) = (call(&plain).unwrap(), call(&jittery).unwrap());
    // Jitter adds the sender's timer and the receiver's reaction to a datagram's delay: some tens of
    // microseconds.
    assert!(with.mean > without.mean && with.mean < without.mean + 0.5, "{without:?} {with:?}");
}

/// Records when SYNs leave, and checks that packets from one host to another arrive in order.
#[derive(Default)]
struct Watch {
    syns: Vec<Time>,
    last: Time,
    ids: [Option<u64>; 2],
}

impl Tap for Watch {
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        outgoing: bool,
        packet: &Packet<Segment>,
        _: usize,
        _: usize,
    ) {
        assert!(now >= self.last, "in order of time");
        self.last = now;
        if outgoing && packet.body.flags.has(Flags::SYN) && !packet.body.flags.has(Flags::ACK) {
            self.syns.push(now);
        }
        if !outgoing {
            assert!(self.ids[host].is_none_or(|id| id < packet.id), "packets arrive in order");
            self.ids[host] = Some(packet.id);
        }
    }
}

#[test]
fn flows_scheduled_together_start_in_sequence() {
    let mut watch = Watch::default();
    let options = SimOptions { seed: 5, host_jitter: true, tap: Some(&mut watch), ..SimOptions::default() };
    sim::run("v", &parse(SCENARIO), options);
    let distinct: BTreeSet<Time> = watch.syns.iter().copied().collect();
    assert_eq!((watch.syns.len(), distinct.len()), (4, 4), "{:?}", watch.syns);
    assert!(watch.syns[0] > Time::ZERO && watch.syns[3] < Time::from_nanos(50_000_000), "{:?}", watch.syns);
}

/// Records when data reaches its receiver.
#[derive(Default)]
struct Arrivals(Vec<Time>);

impl Tap for Arrivals {
    fn packet(&mut self, now: Time, _: usize, outgoing: bool, packet: &Packet<Segment>, _: usize, _: usize) {
        if !outgoing && packet.body.len > 0 {
            self.0.push(now);
        }
    }
}

#[test]
fn a_host_that_wakes_up_handles_all_queued_packets() {
    let scenario = r#"
name = "burst"
duration = "100ms"
sample = "0s"
[links.wire]
between = ["a", "b"]
forward = [{ kind = "delay", delay = "40ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.bulk]
from = "a"
to = "b"
cc = "reno"
"#;
    let mut arrivals = Arrivals::default();
    let options =
        SimOptions { seed: 5, host_jitter: true, tap: Some(&mut arrivals), ..SimOptions::default() };
    sim::run("v", &parse(scenario), options);
    // The initial window of ten packets leaves at once, and nothing on the path spreads it.
    assert_eq!(arrivals.0.len(), 10);
    assert!(arrivals.0.iter().all(|t| *t == arrivals.0[0]), "{:?}", arrivals.0);
}
