//! Restless hosts: repeats differ, a seed still says everything, nothing is lost or overtaken.

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

fn run(seed: u64, unrest: bool) -> Outcome {
    sim::run("v", &parse(SCENARIO), SimOptions { seed, unrest, ..SimOptions::default() })
}

fn numbers(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

#[test]
fn a_seed_says_everything_and_another_says_something_else() {
    assert!(numbers(&run(3, true)) == numbers(&run(3, true)));
    let totals: BTreeSet<u64> =
        (0..6).map(|seed| run(seed, true).variant.total_goodput_mbps.to_bits()).collect();
    assert_eq!(totals.len(), 6, "repeats differ");
    assert!(numbers(&run(1, false)) == numbers(&run(2, false)), "at rest nothing here is random");
}

#[test]
fn restless_hosts_do_the_same_work() {
    let (rest, restless) = (run(1, false).variant, run(1, true).variant);
    for (a, b) in rest.flows.iter().zip(&restless.flows).filter(|(a, _)| !a.name.starts_with("bulk")) {
        assert!(b.goodput_mbps > 0.8 * a.goodput_mbps, "{}: {} {}", a.name, a.goodput_mbps, b.goodput_mbps);
    }
    let call = |v: &result::VariantResult| {
        v.flows.iter().find(|f| f.name == "call").and_then(|f| f.real_time).map(|r| r.delay_ms)
    };
    let (still, moved) = (call(&rest).unwrap(), call(&restless).unwrap());
    // A datagram's delay is its sender's timer and its receiver's reaction more: some tens of microseconds.
    assert!(moved.mean > still.mean && moved.mean < still.mean + 0.5, "{still:?} {moved:?}");
}

/// When SYNs leave, and that what one host sends another arrives in order.
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
            assert!(self.ids[host].is_none_or(|id| id < packet.id), "nothing is overtaken");
            self.ids[host] = Some(packet.id);
        }
    }
}

#[test]
fn flows_that_begin_together_do_not_begin_at_once() {
    let mut watch = Watch::default();
    let options = SimOptions { seed: 5, unrest: true, tap: Some(&mut watch), ..SimOptions::default() };
    sim::run("v", &parse(SCENARIO), options);
    let apart: BTreeSet<Time> = watch.syns.iter().copied().collect();
    assert_eq!((watch.syns.len(), apart.len()), (4, 4), "{:?}", watch.syns);
    assert!(watch.syns[0] > Time::ZERO && watch.syns[3] < Time::from_nanos(50_000_000), "{:?}", watch.syns);
}

/// When data reaches its receiver.
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
fn a_host_that_wakes_up_takes_all_that_has_come() {
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
    let options = SimOptions { seed: 5, unrest: true, tap: Some(&mut arrivals), ..SimOptions::default() };
    sim::run("v", &parse(scenario), options);
    // The initial window of ten packets leaves at once, and nothing on the path pulls it apart.
    assert_eq!(arrivals.0.len(), 10);
    assert!(arrivals.0.iter().all(|t| *t == arrivals.0[0]), "{:?}", arrivals.0);
}
