//! Policers and shapers: timed scripts against the definitions, and the bound of rate plus burst.

use crate::common::{Rig, packet, stage};
use path::{DropCause, Packet, Policer, Shaper, Stage, StageLimit};
use serde_json::json;
use units::{Bytes, Rate, Stream};

const MS: u64 = 1_000_000;

/// Checks that no interval carries more than the rate times its length plus the burst, exactly.
fn within_bound(sent: &[(u64, u64)], bits: u128, rate: u128, burst_bits: u128) {
    // Bits sent minus bits accumulated, in bit * 10^-9: the largest increase from any earlier point.
    let (mut least, mut total) = (i128::MAX, 0i128);
    for &(at, _) in sent {
        let earned = (at as u128 * rate) as i128;
        least = least.min(total - earned);
        total += (bits * 1_000_000_000) as i128;
        let climb = total - earned - least;
        assert!(climb <= (burst_bits * 1_000_000_000) as i128, "more than rate plus burst");
    }
}

fn random_arrivals(rig: &mut Rig, n: u64) {
    let mut s = Stream::new(3, "arrivals");
    let mut now = 0;
    for id in 0..n {
        now += if s.below(100) == 0 { s.below(50 * MS) } else { s.below(MS / 2) };
        rig.arrive(now, packet(id, 1000));
    }
    rig.finish();
}

#[test]
fn rate_plus_burst_bounds_every_interval() {
    let rate = Rate::from_bps(7_777_777);
    let policer: Stage = Policer::single(rate, Some(Bytes::new(20_000))).into();
    let mut shaper = Shaper::new(rate);
    shaper.burst = Some(Bytes::new(20_000));
    for limiter in [policer, shaper.into()] {
        let mut rig = Rig::new(&[limiter]);
        random_arrivals(&mut rig, 50_000);
        assert!(rig.chain.account(0).passed > 10_000);
        within_bound(&rig.sent(), 8000, 7_777_777, 160_000);
    }
}

#[test]
fn a_policer_s_default_burst_is_250_ms() {
    // 20 Mbit/s / 32 = 625,000 bytes: 500 packets of 1250 B; tokens for one take 0.5 ms.
    let mut rig = Rig::new(&[stage(json!({"kind": "policer", "rate": "20Mbit/s"}))]);
    for id in 0..501 {
        rig.arrive(0, packet(id, 1250));
    }
    assert_eq!((rig.sent().len(), rig.dropped()), (500, vec![(0, 500, DropCause::Policed)]));
    rig.arrive(MS / 2 - 1, packet(501, 1250));
    rig.arrive(MS / 2, packet(502, 1250));
    assert_eq!(rig.sent().last(), Some(&(MS / 2, 502)));
    assert_eq!(rig.dropped().len(), 2);
}

#[test]
fn per_flow_gives_each_flow_its_own_bucket() {
    let policer = json!({"kind": "policer", "rate": "8Mbit/s", "burst": "1000B", "per_flow": true});
    let mut rig = Rig::new(&[stage(policer)]);
    for (id, flow) in [7, 7, 9, 9].into_iter().enumerate() {
        let mut p = packet(id as u64, 1000);
        p.flow = flow;
        rig.arrive(0, p);
    }
    assert_eq!(rig.sent(), [(0, 0), (0, 2)]);
}

/// A router's policer of one class: packets with other codepoints are neither metered nor dropped.
#[test]
fn a_policer_with_codepoints_ignores_other_packets() {
    let policer = json!({"kind": "policer", "rate": "8Mbit/s", "burst": "2000B", "dscp": [46]});
    let mut rig = Rig::new(&[stage(policer)]);
    for id in 0..6 {
        let dscp = if id % 2 == 0 { 46 } else { 0 };
        rig.arrive(0, Packet { dscp, ..packet(id, 1000) });
    }
    // Two packets of the class fit into the bucket, the third does not.
    assert_eq!(rig.sent().iter().map(|(_, id)| *id).collect::<Vec<_>>(), [0, 1, 2, 3, 5]);
    assert_eq!(rig.dropped(), [(0, 4, DropCause::Policed)]);
    let Stage::Policer(policer) = stage(json!({"kind": "policer", "rate": "8Mbit/s", "dscp": [46]})) else {
        panic!()
    };
    assert_eq!(Stage::from(policer.clone()).limit(), StageLimit::None);
    // The equivalent shaper delays only the class: by 1 ms for each packet beyond 4 ms of burst.
    let mut rig = Rig::new(&[policer.as_shaper(Default::default())]);
    for id in 0..20 {
        let dscp = if id < 10 { 46 } else { 0 };
        rig.arrive(0, Packet { dscp, ..packet(id, 1000) });
    }
    rig.finish();
    let late: Vec<u64> = rig.sent().iter().filter(|(at, _)| *at > 0).map(|(_, id)| *id).collect();
    assert_eq!((late, rig.dropped().len()), (vec![5, 6, 7, 8, 9], 0));
}

/// Sends packets of 1000 B at the given times in ms, precoloured by codepoint; returns the colours after
/// re-marking green 10, yellow 12, red 14.
fn colours(mut policer: serde_json::Value, script: &[(f64, u8)]) -> Vec<char> {
    policer["kind"] = json!("policer");
    for (colour, dscp) in [("green", 11), ("yellow", 13), ("red", 15)] {
        policer[colour] = json!({"dscp": dscp});
    }
    let mut rig = Rig::new(&[stage(policer)]);
    for (id, &(ms, dscp)) in script.iter().enumerate() {
        let mut p = packet(id as u64, 1000);
        p.dscp = dscp;
        rig.arrive((ms * 1e6) as u64, p);
    }
    assert_eq!(rig.chain.account(0).marked, script.len() as u64);
    rig.out
        .sent
        .iter()
        .map(|(_, p)| match p.dscp {
            11 => 'G',
            13 => 'Y',
            _ => 'R',
        })
        .collect()
}

/// RFC 2697 section 3; 8 Mbit/s earns 1000 B per ms, CBS 2000 B, EBS 1000 B.
#[test]
fn srtcm_colours_packets_as_in_rfc_2697() {
    let meter = json!({"meter": "srtcm", "rate": "8Mbit/s", "burst": "2kB", "excess_burst": "1kB"});
    // Full buckets: C for two, E for one. At 1 ms C has 1000 B. At 4 ms C has been full since 3 ms, and what
    // has overflowed since fills E.
    let blind = [(0., 0), (0., 0), (0., 0), (0., 0), (1., 0), (1., 0), (4., 0), (4., 0), (4., 0), (4., 0)];
    assert_eq!(colours(meter.clone(), &blind), "GGYRGRGGYR".chars().collect::<Vec<_>>());
    // Colour-aware: yellow (AF12) never uses C, red (AF13) uses neither.
    let mut aware = meter;
    aware["aware"] = json!(true);
    let script = [(0., 12), (0., 12), (0., 14), (0., 10), (0., 10), (0., 10)];
    assert_eq!(colours(aware, &script), "YRRGGR".chars().collect::<Vec<_>>());
}

/// RFC 2698 section 3; C: 8 Mbit/s and 1000 B, P: 16 Mbit/s and 2000 B.
#[test]
fn trtcm_colours_packets_as_in_rfc_2698() {
    let meter = json!({"meter": "trtcm", "rate": "8Mbit/s", "burst": "1kB",
                       "peak_rate": "16Mbit/s", "peak_burst": "2kB"});
    // Full buckets: green uses both, yellow uses P, then P is empty. At 0.5 ms P has 1000 B and C
    // 500 B: yellow, which does not use C. At 1 ms both have 1000 B: green.
    let blind = [(0., 0), (0., 0), (0., 0), (0.5, 0), (0.5, 0), (1., 0), (1., 0)];
    assert_eq!(colours(meter.clone(), &blind), "GYRYRGR".chars().collect::<Vec<_>>());
    let mut aware = meter;
    aware["aware"] = json!(true);
    let script = [(0., 14), (0., 12), (0., 10), (0., 10)];
    assert_eq!(colours(aware, &script), "RYGR".chars().collect::<Vec<_>>());
}

#[test]
fn a_packet_larger_than_the_bucket_is_dropped_by_policer_and_shaper() {
    let policer = json!({"kind": "policer", "rate": "8Mbit/s", "burst": "1000B"});
    let shaper = json!({"kind": "shaper", "rate": "8Mbit/s", "burst": "1000B"});
    for (limiter, cause) in [(policer, DropCause::Policed), (shaper, DropCause::TooBig)] {
        let mut rig = Rig::new(&[stage(limiter)]);
        rig.arrive(1000 * MS, packet(0, 1001)).finish();
        assert_eq!(rig.dropped(), [(1000 * MS, 0, cause)]);
    }
}

#[test]
fn a_token_bucket_filter_sends_at_the_exact_nanosecond() {
    // 8 Mbit/s is a byte per µs; the bucket holds two packets.
    let tbf = json!({"kind": "shaper", "rate": "8Mbit/s", "burst": "3000B"});
    let mut rig = Rig::new(&[stage(tbf)]);
    for id in 0..4 {
        rig.arrive(0, packet(id, 1500));
    }
    // 4.0 ms: 1000 B accumulated since 3 ms. A packet of 999 B must not overtake the one that waits.
    rig.arrive(4 * MS, packet(4, 1500));
    rig.arrive(4 * MS, packet(5, 999));
    rig.finish();
    let expected = [(0, 0), (0, 1), (1500, 2), (3000, 3), (4500, 4), (5499, 5)];
    assert_eq!(rig.sent(), expected.map(|(us, id)| (us * 1000, id)));
    let a = rig.chain.account(0);
    assert_eq!((a.max_queue, a.held), (2, 0));
}

#[test]
fn a_peak_rate_spreads_the_burst() {
    let tbf = json!({"kind": "shaper", "rate": "8Mbit/s", "burst": "3000B",
                     "peak_rate": "16Mbit/s", "peak_burst": "1500B"});
    let mut rig = Rig::new(&[stage(tbf)]);
    for id in 0..4 {
        rig.arrive(0, packet(id, 1500));
    }
    rig.finish();
    // The second packet waits for the peak bucket, the third for both, which are ready at 1.5 ms.
    let expected = [(0, 0), (750, 1), (1500, 2), (3000, 3)];
    assert_eq!(rig.sent(), expected.map(|(us, id)| (us * 1000, id)));
}

#[test]
fn latency_sizes_the_queue_as_tc_does() {
    // 1 ms at 8 Mbit/s is 1000 B, plus 3000 B of burst: 4000 B may wait, including the head.
    let tbf = json!({"kind": "shaper", "rate": "8Mbit/s", "burst": "3000B", "latency": "1ms"});
    let mut rig = Rig::new(&[stage(tbf)]);
    for id in 0..8 {
        rig.arrive(0, packet(id, 1000));
    }
    assert_eq!(rig.dropped(), [(0, 7, DropCause::Overflow)]);
    rig.finish();
    assert_eq!(rig.sent().last(), Some(&(4 * MS, 6)));
}

#[test]
fn cisco_refills_bc_every_tc() {
    // CIR 20 Mbit/s, Bc = Be = 80,000 bit: Tc 4 ms, the bucket holds 20,000 bytes.
    let cisco = json!({"kind": "shaper", "refill": "interval", "rate": "20Mbit/s",
                       "burst": "10kB", "excess_burst": "10kB"});
    let mut rig = Rig::new(&[stage(cisco)]);
    for id in 0..45 {
        rig.arrive(0, packet(id, 1000));
    }
    // 20 packets from the full bucket, then 10 at each tick.
    rig.wait_until(13 * MS);
    let count = |rig: &Rig, ms: u64| rig.sent().iter().filter(|s| s.0 == ms * MS).count();
    assert_eq!([0, 4, 8, 12].map(|ms| count(&rig, ms)), [20, 10, 10, 5]);
    // 5000 B are left at 13 ms; the ticks at 16 and 20 ms fill the bucket (Be accumulates while idle).
    for id in 100..140 {
        rig.arrive(21 * MS, packet(id, 1000));
    }
    rig.finish();
    assert_eq!([21, 24, 28, 32].map(|ms| count(&rig, ms)), [20, 10, 10, 0]);
}

#[test]
fn ticks_do_not_drift_if_tc_is_not_a_whole_number_of_nanoseconds() {
    // 1514 B at 7 Mbit/s: Tc = 1.730285714… ms. After 7,000,000 ticks exactly 12,112 s.
    let cisco = json!({"kind": "shaper", "refill": "interval", "rate": "7Mbit/s",
                       "burst": "1514B", "excess_burst": "0B"});
    let mut rig = Rig::new(&[stage(cisco)]);
    rig.arrive(12_112_000 * MS - 1, packet(0, 1514));
    rig.arrive(12_112_000 * MS - 1, packet(1, 1514));
    rig.finish();
    assert_eq!(rig.sent().last(), Some(&(12_112_000 * MS, 1)));
}

#[test]
fn the_gauge_shows_tokens() {
    let tbf = json!({"kind": "shaper", "rate": "8Mbit/s", "burst": "3000B"});
    let mut rig = Rig::new(&[stage(tbf)]);
    for id in 0..3 {
        rig.arrive(0, packet(id, 1500));
    }
    let gauge = |rig: &mut Rig, ms: u64| {
        rig.wait_until(ms * MS);
        rig.chain.catch_up(rig.now, &mut rig.out);
        rig.chain.gauge(0, rig.now)
    };
    let g = gauge(&mut rig, 1);
    assert_eq!((g.queue_packets, g.queue_bytes, g.tokens_bytes), (1, 1500, Some(1000)));
    let g = gauge(&mut rig, 2);
    assert_eq!((g.queue_packets, g.tokens_bytes), (0, Some(500)));
}
