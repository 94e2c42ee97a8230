//! Loss, duplication, reordering, tunnels, classes.

use crate::common::{Rig, packet, stage};
use path::{DropCause, Ecn, Overhead, Preset, Tunnel};
use serde_json::json;

const MS: u64 = 1_000_000;

/// Which of `n` packets are lost.
fn lost(loss: serde_json::Value, n: u64) -> Vec<bool> {
    let mut rig = Rig::new(&[stage(loss)]);
    for id in 0..n {
        rig.arrive(id, packet(id, 100));
    }
    let mut lost = vec![false; n as usize];
    rig.dropped().iter().for_each(|d| lost[d.1 as usize] = true);
    lost
}

#[test]
fn scripted_losses_drop_the_listed_packets() {
    let every = lost(json!({"kind": "loss", "model": "every", "every": 3}), 7);
    assert_eq!(every, [false, false, true, false, false, true, false]);
    let list = lost(json!({"kind": "loss", "model": "list", "packets": [4, 1]}), 5);
    assert_eq!(list, [true, false, false, true, false]);
}

#[test]
fn gilbert_elliott_has_the_expected_loss_rate_and_burst_length() {
    // Share of the bad state p / (p + r) = 1/21, in which 80 % are lost; it lasts 1 / r = 5 packets.
    let loss = json!({"kind": "loss", "model": "gilbert-elliott", "p": 0.01, "r": 0.2});
    let n = 500_000;
    let all = lost(loss, n);
    let share = all.iter().filter(|&&l| l).count() as f64 / n as f64;
    assert!((share - 1.0 / 21.0).abs() < 0.002, "{share}");
    let spells = all.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
    assert!((share * n as f64 / spells - 5.0).abs() < 0.15);
    let mut half = json!({"kind": "loss", "model": "gilbert-elliott", "p": 0.01, "r": 0.2});
    half["loss_bad"] = json!(0.8);
    half["loss_good"] = json!(0.001);
    let share = lost(half, n).iter().filter(|&&l| l).count() as f64 / n as f64;
    assert!((share - (0.8 / 21.0 + 0.001 * 20.0 / 21.0)).abs() < 0.002, "{share}");
}

#[test]
fn bernoulli_losses_are_independent() {
    let all = lost(json!({"kind": "loss", "probability": 0.1}), 300_000);
    let count = |f: fn(&[bool]) -> bool| all.windows(2).filter(|w| f(w)).count() as f64 / 3e5;
    assert!((count(|w| w[0]) - 0.1).abs() < 0.003);
    assert!((count(|w| w[0] && w[1]) - 0.01).abs() < 0.001);
}

#[test]
fn duplicates_follow_at_once_and_delayed_packets_are_overtaken() {
    let mut rig = Rig::new(&[stage(json!({"kind": "duplicate", "probability": 1.0}))]);
    rig.arrive(5, packet(0, 100));
    assert_eq!(rig.sent(), [(5, 0), (5, 0)]);
    let a = rig.chain.account(0);
    assert_eq!((a.packets_in, a.copies, a.passed), (1, 1, 2));

    let reorder = json!({"kind": "reorder", "probability": 0.25, "delay": "3ms"});
    let mut rig = Rig::new(&[stage(reorder)]);
    for id in 0..10_000 {
        rig.arrive(id * MS, packet(id, 100));
    }
    rig.finish();
    let late = rig.sent().iter().filter(|(at, id)| *at == (id + 3) * MS).count() as f64;
    assert!((late / 1e4 - 0.25).abs() < 0.02);
    assert!(rig.sent().iter().all(|(at, id)| *at == id * MS || *at == (id + 3) * MS));
}

fn esp(nat_traversal: bool) -> Tunnel {
    let overhead = Overhead::Preset(Preset::EspAesGcm);
    Tunnel { overhead, nat_traversal, mtu: Some(1500), icmp: None, fragment: false }
}

/// RFC 4303 section 2.4, RFC 4106 sections 3, 6: 20 + 8 + 8 + (n + 2 padded to 4) + 16.
#[test]
fn esp_pads_to_multiples_of_four_bytes() {
    assert_eq!([1400, 1401, 1402, 1403].map(|n| esp(false).outer(n)), [1456, 1456, 1456, 1460]);
    assert_eq!((esp(false).largest_inner(1500), esp(true).largest_inner(1500)), (1446, 1438));
    for mtu in 100..1600 {
        let n = esp(true).largest_inner(mtu);
        assert!(esp(true).outer(n) <= mtu && esp(true).outer(n + 1) > mtu);
    }
}

#[test]
fn packets_that_no_longer_fit_are_bounced_with_the_inner_mtu() {
    let tunnel = json!({"kind": "tunnel", "overhead": "esp-aes-gcm", "mtu": 1500});
    let mut rig = Rig::new(&[stage(tunnel), stage(json!({"kind": "tunnel-end"}))]);
    rig.arrive(0, packet(0, 1447)).arrive(0, packet(1, 1446));
    assert_eq!((rig.out.bounced[0].1.size, rig.out.bounced[0].2), (1447, 1446));
    let (_, whole) = &rig.out.sent[0];
    assert_eq!((whole.id, whole.size, whole.overhead), (1, 1446, 0));
}

#[test]
fn packets_are_fragmented_and_reassembled() {
    let entry = stage(json!({"kind": "tunnel", "overhead": "esp-aes-gcm", "mtu": 1500,
                             "fragment": true}));
    // Outer 1556 B: 1536 B of payload in fragments of 1480 and 56.
    let mut rig = Rig::new(std::slice::from_ref(&entry));
    rig.arrive(0, packet(0, 1500));
    let pieces: Vec<_> = rig.out.sent.iter().map(|(_, p)| (p.size, p.overhead)).collect();
    assert_eq!(pieces, [(1500, 56), (76, 20)]);
    assert_eq!(rig.chain.account(0).copies, 1);

    // A link in between spaces them; the end sends the whole packet when the second arrives, with its ECN
    // mark.
    let link = stage(json!({"kind": "link", "rate": "12Mbit/s"}));
    let mut rig = Rig::new(&[entry.clone(), link, stage(json!({"kind": "tunnel-end"}))]);
    let mut marked = packet(0, 1500);
    marked.ecn = Ecn::Ce;
    rig.arrive(0, marked).finish();
    let (at, whole) = &rig.out.sent[0];
    assert_eq!(at.as_nanos(), MS + 50_667);
    assert_eq!((whole.size, whole.overhead, whole.fragment, whole.ecn), (1500, 0, None, Ecn::Ce));
    let end = rig.chain.account(2);
    assert_eq!((end.packets_in, end.passed, end.joined, end.held), (2, 1, 1, 0));

    // The second fragment is lost: the first is dropped after 30 s.
    let loss = stage(json!({"kind": "loss", "model": "list", "packets": [2]}));
    let mut rig = Rig::new(&[entry, loss, stage(json!({"kind": "tunnel-end"}))]);
    rig.arrive(5, packet(0, 1500)).arrive(6, packet(1, 1500)).finish();
    assert_eq!(rig.sent(), [(6, 1)]);
    let expected = [(5, 0, DropCause::Loss), (30_000 * MS + 5, 0, DropCause::Incomplete)];
    assert_eq!(rig.dropped(), expected);
}

/// A port of 100 Mbit/s with a tunnel that is limited to 20 Mbit/s; other packets may use all of it.
fn port() -> path::Stage {
    stage(json!({"kind": "htb", "classes": [
        {"name": "port", "rate": "100Mbit/s"},
        {"name": "tunnel", "parent": "port", "rate": "20Mbit/s", "tunnel": true},
        {"name": "rest", "parent": "port", "rate": "80Mbit/s", "ceil": "100Mbit/s"},
    ]}))
}

/// Rates of tunnelled and of other packets over one second, in Mbit/s, for the given offered rates.
fn shares(stage: path::Stage, tunnelled: u64, others: u64) -> (f64, f64) {
    let mut rig = Rig::new(&[stage]);
    let gap = |mbps: u64| 12_000_000 / mbps.max(1);
    let (mut next, mut id) = ([0, 0], 0);
    let offered = [tunnelled, others];
    loop {
        let kind = usize::from(offered[0] == 0 || offered[1] > 0 && next[1] < next[0]);
        if next[kind] >= 1000 * MS {
            break;
        }
        let mut p = packet(id, 1500);
        p.overhead = if kind == 0 { 60 } else { 0 };
        rig.arrive(next[kind], p);
        next[kind] += gap(offered[kind]);
        id += 1;
    }
    rig.wait_until(1000 * MS);
    let mbps = |tunnel| {
        let sent = rig.out.sent.iter().filter(|(_, p)| (p.overhead > 0) == tunnel);
        sent.count() as f64 * 0.012
    };
    (mbps(true), mbps(false))
}

#[test]
fn a_tunnel_is_shaped_independently_of_the_rest_of_the_port() {
    let near = |(a, b): (f64, f64), (x, y): (f64, f64)| (a - x).abs() < 0.1 && (b - y).abs() < 0.1;
    // Overload of both; the tunnel alone; the rest alone; a tunnel below its limit.
    assert!(near(shares(port(), 50, 200), (20.0, 80.0)), "{:?}", shares(port(), 50, 200));
    assert!(near(shares(port(), 50, 0), (20.0, 0.0)));
    assert!(near(shares(port(), 0, 200), (0.0, 100.0)), "{:?}", shares(port(), 0, 200));
    assert!(near(shares(port(), 5, 200), (5.0, 95.0)), "{:?}", shares(port(), 5, 200));
}

#[test]
fn spare_rate_is_shared_by_priority_then_by_quantum() {
    // 10 of 100 guaranteed to each; the rest is borrowed: all by prio 0, or 3 : 1 by quantum.
    let two = |prio: u8, quantum: u32| {
        let leaf = |name, tunnel, prio, quantum| {
            json!({"name": name, "parent": "port", "rate": "10Mbit/s", "ceil": "100Mbit/s",
                   "tunnel": tunnel, "prio": prio, "quantum": quantum})
        };
        stage(json!({"kind": "htb", "classes": [{"name": "port", "rate": "100Mbit/s"},
            leaf("a", true, 0, quantum), leaf("b", false, prio, 3000)]}))
    };
    let (a, b) = shares(two(1, 3000), 200, 200);
    assert!((a - 90.0).abs() < 0.5 && (b - 10.0).abs() < 0.5, "{a} {b}");
    let (a, b) = shares(two(0, 9000), 200, 200);
    assert!((a - 70.0).abs() < 1.5 && (b - 30.0).abs() < 1.5, "{a} {b}");
}

#[test]
fn packets_that_match_no_class_pass_at_once() {
    let htb = json!({"kind": "htb", "classes": [{"name": "a", "rate": "1kbit/s", "flows": [4]}]});
    let mut rig = Rig::new(&[stage(htb)]);
    for id in 0..10 {
        rig.arrive(id, packet(id, 1500));
    }
    assert_eq!(rig.sent().len(), 10);
}
