//! Compares the models with the path crate's elements, which simulator and lab use.

use super::super::departures::Departures;
use super::super::rate_search::fit;
use super::super::refill_ticks::find_ticks;
use super::super::virtual_queue::{CHANCE_GAIN, PackedSeconds, PacketArrival, TokenBucketFit, depths_of};
use super::aqm::managed_queue;
use super::delays::{LimiterDelays, NOISE};
use super::{SURE_LEAD, loss_gain, losses};
use path::{Chain, Ecn, Outbox, Packet, Stage};
use serde_json::json;
use units::Time;

/// Bytes a second.
const RATE: f64 = 1e6;
/// Bytes.
const BUCKET: u64 = 30_000;
/// Bytes.
const QUEUE: u64 = 45_000;

/// Sends bursts of packets of many sizes through a stage. Returns their arrivals, with the fate and the wait
/// of each.
fn through(stage: serde_json::Value) -> Vec<PacketArrival> {
    through_of(stage, 1)
}

/// Sends packets of several flows as [`through`] does; flow n sends n times as many as the first.
fn through_of(stage: serde_json::Value, flows: u16) -> Vec<PacketArrival> {
    let stage: Stage = serde_json::from_value(stage).expect("a stage");
    let mut chain: Chain<()> = Chain::build(1, [("limiter", &stage)]);
    let mut arrivals: Vec<PacketArrival> = Vec::new();
    let (mut state, mut now, mut out) = (7u64, 0u64, Outbox::default());
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut left: Vec<(u64, Time)> = Vec::new();
    for id in 0..6000u64 {
        now += if id % 80 == 0 { 30_000_000 + random(100_000_000) } else { 20_000 };
        let size = 100 + random(1400) as u32;
        let at = Time::from_nanos(now);
        chain.handle_wake(at, &mut out);
        let all = u64::from(flows) * (u64::from(flows) + 1) / 2;
        let drawn = if flows > 1 { random(all) } else { 0 };
        let flow = (0..flows).find(|f| drawn < (u64::from(*f) + 1) * (u64::from(*f) + 2) / 2).unwrap_or(0);
        let (ecn, flow_id) = (Ecn::NotEct, u32::from(flow));
        let packet = Packet { id, size, overhead: 0, flow: flow_id, dscp: 0, ecn, fragment: None, body: () };
        chain.handle_packet(at, packet, &mut out);
        left.extend(out.sent.iter().map(|s| (s.1.id, s.0)));
        out.clear();
        arrivals.push(PacketArrival {
            at: now as f64 * 1e-9,
            bytes: size as f32,
            size: size as f32,
            lost: true,
            delay: PackedSeconds::UNKNOWN,
            flow,
            entry: id as u32,
        });
    }
    chain.handle_wake(Time::from_nanos(now + 10_000_000_000), &mut out);
    left.extend(out.sent.iter().map(|s| (s.1.id, s.0)));
    for (id, at) in left {
        let a = &mut arrivals[id as usize];
        (a.lost, a.delay) = (false, PackedSeconds::known((at.as_nanos() as f64 * 1e-9 - a.at) as f32));
    }
    arrivals
}

fn bucket(burst: u64) -> TokenBucketFit {
    TokenBucketFit { rate: RATE, burst: burst as f64, ..TokenBucketFit::default() }
}

#[test]
fn the_virtual_queue_predicts_each_packet_that_a_policer_drops() {
    let arrivals =
        through(json!({ "kind": "policer", "rate": "8Mbit/s", "burst": BUCKET.to_string() + "B" }));
    let b = bucket(BUCKET);
    let lost = arrivals.iter().filter(|a| a.lost).count();
    assert!(lost > 500 && lost < 5000, "{lost}");
    for (a, depth) in arrivals.iter().zip(depths_of(&arrivals, &b)) {
        // Tokens are counted exactly, the backlog in floating point.
        let beyond = depth as f64 - b.burst;
        assert!(beyond.abs() < 0.1 || a.lost == (beyond > 0.0), "{a:?} {depth}");
    }
    // All losses are predicted: a wrong rate predicts them less well.
    let right = losses::gain(&arrivals, &b, 0.01);
    let wrong = TokenBucketFit { rate: 1.1 * RATE, ..b };
    assert!(right > 50.0 && right > losses::gain(&arrivals, &wrong, 0.01), "{right}");
}

#[test]
fn a_shaper_delays_the_backlog_beyond_its_bucket_and_a_link_all_of_it() {
    let queue = json!({ "kind": "fifo", "packets": 1000 });
    let shaper =
        json!({ "kind": "shaper", "rate": "8Mbit/s", "burst": BUCKET.to_string() + "B", "queue": queue });
    let link = json!({ "kind": "link", "rate": "8Mbit/s", "queue": queue });
    for (stage, burst) in [(shaper, BUCKET as f64), (link, 0.0)] {
        let arrivals = through(stage);
        assert!(arrivals.iter().all(|a| !a.lost));
        for (a, depth) in arrivals.iter().zip(depths_of(&arrivals, &bucket(BUCKET))) {
            let predicted = (depth as f64 - burst).max(0.0) / RATE;
            let delay = a.delay.get().map_or(f64::NAN, f64::from);
            assert!((delay - predicted).abs() < 2e-6, "{a:?} {predicted}");
        }
    }
}

#[test]
fn delay_predicts_losses_of_a_full_queue_but_not_of_a_policer() {
    let queue = json!({ "kind": "fifo", "bytes": QUEUE.to_string() + "B" });
    let link = through(json!({ "kind": "link", "rate": "8Mbit/s", "queue": queue }));
    assert!(losses::gain_by_delay(&link, 0.01) > 50.0);
    let mut policed =
        through(json!({ "kind": "policer", "rate": "8Mbit/s", "burst": BUCKET.to_string() + "B" }));
    policed
        .iter_mut()
        .enumerate()
        .for_each(|(i, a)| a.delay = PackedSeconds::known((i * 37 % 50) as f32 * 1e-4));
    assert!(losses::gain_by_delay(&policed, 0.01) < 20.0);
    // Less what a second limiter costs.
    let second = loss_gain(&policed, &bucket(BUCKET), 0.01);
    assert!(second > SURE_LEAD + losses::gain_by_delay(&policed, 0.01), "{second}");
}

#[test]
fn codels_control_law_predicts_drops_of_a_managed_queue_but_not_of_a_full_one() {
    let gain = |queue: serde_json::Value, flows: u16| {
        let arrivals = through_of(json!({ "kind": "link", "rate": "8Mbit/s", "queue": queue }), flows);
        let lost = arrivals.iter().filter(|a| a.lost).count();
        assert!(lost > 20, "{queue}: {lost}");
        let managed = managed_queue(&arrivals, RATE, 0.0, 0.01);
        (managed.gain, managed.dropped.len() as f64 / lost as f64)
    };
    for (queue, flows) in [("codel", 1), ("codel", 3), ("fq-codel", 1), ("fq-codel", 3)] {
        let (gain, share) = gain(json!({ "kind": queue }), flows);
        assert!(gain > SURE_LEAD && share > 0.8, "{queue} {flows}: {gain} {share}");
    }
    for room in [10, 40, 70] {
        let (gain, _) = gain(json!({ "kind": "fifo", "packets": room }), 1);
        assert!(gain < SURE_LEAD, "{room}: {gain}");
    }
}

#[test]
fn ticks_are_found_only_behind_a_shaper_refilled_at_intervals() {
    let find = |stage: serde_json::Value| {
        let arrivals = through(stage);
        let departures = Departures::new(&arrivals, true, 0.0);
        find_ticks(departures, 1e-4, RATE, NOISE, 1500.0)
    };
    let shaper = |burst: u64, refill: &str| {
        let queue = json!({ "kind": "fifo", "packets": 1000 });
        let burst = burst.to_string() + "B";
        json!({ "kind": "shaper", "rate": "8Mbit/s", "burst": burst, "refill": refill, "queue": queue })
    };
    for burst in [10_000, 30_000] {
        let found = find(shaper(burst, "interval")).expect("ticks");
        let (interval, burst) = (burst as f64 / RATE, burst as f64);
        assert!((found.interval / interval - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.burst / burst - 1.0).abs() < 0.1, "{found:?}");
        assert!(find(shaper(burst as u64, "continuous")).is_none(), "{burst}");
    }
    let queue = json!({ "kind": "fifo", "packets": 1000 });
    assert!(find(json!({ "kind": "link", "rate": "8Mbit/s", "queue": queue })).is_none());
}

#[test]
fn per_flow_queues_are_distinguished_from_a_shared_queue() {
    let is_fair = |queue: serde_json::Value, flows: u16| {
        let arrivals = through_of(json!({ "kind": "link", "rate": "8Mbit/s", "queue": queue }), flows);
        let span = (f64::INFINITY, false);
        LimiterDelays::since_pauses(&arrivals, RATE, span, 0.0, NOISE).is_fair(&arrivals, span)
    };
    let limited = |kind: &str| json!({ "kind": kind, "packets": 1000 });
    let controlled = |kind: &str| json!({ "kind": kind });
    for flows in [2, 4] {
        for queue in [limited("drr"), limited("wfq"), controlled("fq-codel")] {
            assert!(is_fair(queue.clone(), flows), "{queue} {flows}");
        }
        for queue in [limited("fifo"), controlled("codel")] {
            assert!(!is_fair(queue.clone(), flows), "{queue} {flows}");
        }
    }
    assert!(!is_fair(json!({ "kind": "drr", "packets": 1000 }), 1));
}

/// The window grows from 70 packets to 140 over 70 round trips of 10 ms, and is halved a round trip after
/// each loss.
#[test]
fn a_window_that_repeatedly_exceeds_the_bucket_is_not_limited_by_it() {
    let (mut arrivals, mut at, mut window, mut lost_at) = (Vec::new(), 0.0f64, 70u32, None);
    for i in 0..90_000u32 {
        at += 0.01 / window as f64;
        let lost = window == 140 && lost_at.is_none();
        lost_at = if lost { Some(i) } else { lost_at };
        let (bytes, size, delay) = (1500.0, 1500.0, PackedSeconds::UNKNOWN);
        arrivals.push(PacketArrival { at, bytes, size, lost, delay, flow: 0, entry: i });
        window += u32::from(i % window == 0 && window < 140);
        if lost_at.is_some_and(|l| i == l + 140) {
            (window, lost_at) = (70, None);
        }
    }
    let b = fit(&arrivals, 0.005, true).unwrap_or_default();
    assert!(b.gain > CHANCE_GAIN && losses::gain(&arrivals, &b, 0.005) < 0.0, "{b:?}");
    assert!(loss_gain(&arrivals, &b, 0.005) < 0.0, "{b:?}");
}
