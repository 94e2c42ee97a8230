//! Chains, the counters of their elements, and the summary of a run.

use chains::{FlowTally, LinkDirection, Whole, element_series, elements, outcome, sample, ways};
use path::{Ecn, Outbox, Packet};
use result::Clock;
use scenario::{Experiment, Scenario};
use units::{Span, Time};

const TEXT: &str = r#"
duration = "4s"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "policer", rate = "8Mbit/s", burst = "3000B" }, { kind = "delay", delay = "10ms" }]
backward = [{ kind = "delay", delay = "20ms" }]
[links.lan]
between = ["c", "b"]
backward = [{ kind = "link", rate = "20Mbit/s" }]
[flows.f]
from = "a"
to = "c"
count = 2
"#;

fn scenario() -> Scenario {
    Experiment::parse("t.toml", TEXT, &[]).unwrap().variants.remove(0).scenario
}

fn packet(id: u64) -> Packet<()> {
    Packet { id, size: 1500, overhead: 0, flow: 0, dscp: 0, ecn: Ecn::NotEct, fragment: None, body: () }
}

#[test]
fn each_link_has_two_chains_whose_elements_keep_accounts() {
    let mut ways: Vec<LinkDirection<()>> = ways(&scenario(), 1);
    let leads: Vec<(&str, [usize; 2])> = ways.iter().map(|w| (&w.name[..], w.hosts)).collect();
    let wanted = [
        ("wan.forward", [0, 1]),
        ("wan.backward", [1, 0]),
        ("lan.forward", [2, 1]),
        ("lan.backward", [1, 2]),
    ];
    assert_eq!(leads, wanted);
    let mut series = element_series(ways.iter());
    let (now, mut out) = (Time::ZERO, Outbox::default());
    for id in 0..5 {
        ways[0].chain.handle_packet(now, packet(id), &mut out);
    }
    sample(&mut series, ways.iter(), now, now);
    let all = elements(ways.iter());
    let names: Vec<(&str, &str)> = all.iter().map(|e| (&e.name[..], &e.kind[..])).collect();
    let kinds = ["policer", "delay", "delay", "link"];
    let wanted = ["wan.forward.policer", "wan.forward.delay", "wan.backward.delay", "lan.backward.link"];
    assert_eq!(names, wanted.into_iter().zip(kinds).collect::<Vec<_>>());
    // The bucket holds two packets.
    assert_eq!((all[0].passed_packets, all[0].dropped_packets), (2, 3));
    let named: Vec<&str> = series.iter().map(|s| &s.name[..]).collect();
    assert_eq!(named, wanted);
    assert_eq!((&series[0].dropped[..], &series[0].tokens_bytes[..]), (&[3][..], &[Some(0.0)][..]));
    assert_eq!(series[1].tokens_bytes[0], None, "a delay has no bucket");
}

#[test]
fn a_summary_has_rates_limits_and_names() {
    let scenario = scenario();
    let tally = |name: &str, delivered_bytes| FlowTally {
        name: name.into(),
        cc: "reno".into(),
        delivered_bytes,
        start: Time::ZERO + Span::from_secs(1),
        done: Some(Time::ZERO + Span::from_secs(3)),
        active: Span::from_millis(1600),
        lost_packets: Some(3),
        ..FlowTally::default()
    };
    let whole = |clock| {
        let duration = scenario.duration;
        let whole = Whole { name: "v", clock, scenario: &scenario, only_flow: None, duration };
        let tallies = vec![tally("f-1", 1_000_000), tally("f-2", 0)];
        outcome(whole, tallies, Vec::new(), Vec::new(), Vec::new()).variant
    };
    let v = whole(Clock::Kernel);
    assert_eq!((v.name.as_str(), v.clock, v.duration_s, v.limit_mbps), ("v", Clock::Kernel, 4.0, Some(8.0)));
    let f = &v.flows[0];
    assert_eq!((f.from.as_str(), f.to.as_str(), f.cc.as_str()), ("a", "c", "reno"));
    assert_eq!((f.goodput_mbps, v.flows[1].goodput_mbps), (4.0, 0.0));
    assert_eq!((v.measured_s, f.active_s, f.own_goodput_mbps()), ([1.0, 3.0], 1.6, 5.0));
    assert_eq!((f.limit_mbps, f.lost_packets, f.mss_bytes), (Some(8.0), Some(3), None));
    assert_eq!(v.path.as_ref().map(|p| p.links.len()), Some(2));
    // A summary depends on the clock in its field `clock` only.
    let mut simulated = whole(Clock::Sim);
    simulated.clock = Clock::Kernel;
    assert_eq!(simulated, v);
}
