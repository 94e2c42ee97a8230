//! Links, delays, traces, outages, handovers: timed scripts, and queueing theory.

use crate::common::{Rig, packet, stage};
use path::{Config, DropCause, Jitter, Link, RateTrace, StageLimit};
use serde_json::json;
use units::{Rate, Span, Stream, Time};

const MS: u64 = 1_000_000;

#[test]
fn a_link_sends_in_order_and_drops_on_overflow() {
    // 1500 B at 12 Mbit/s take 1 ms; two packets may wait in addition to the one in transmission.
    let link = json!({"kind": "link", "rate": "12Mbit/s", "delay": "10ms", "mtu": 1500,
                      "queue": {"kind": "fifo", "packets": 2}});
    let mut rig = Rig::new(&[stage(link)]);
    for id in 0..5 {
        rig.arrive(0, packet(id, 1500));
    }
    // At 1 ms the first has been transmitted and the second starts: the queue has room again.
    rig.arrive(MS, packet(5, 1500));
    rig.arrive(MS, packet(6, 1501));
    rig.finish();
    assert_eq!(rig.sent(), [(11 * MS, 0), (12 * MS, 1), (13 * MS, 2), (14 * MS, 5)]);
    let overflow = DropCause::Overflow;
    assert_eq!(rig.dropped(), [(0, 3, overflow), (0, 4, overflow)]);
    let (at, bounced, mtu) = &rig.out.bounced[0];
    assert_eq!((at.as_nanos(), bounced.id, *mtu), (MS, 6, 1500));
    let a = rig.chain.account(0);
    assert_eq!((a.packets_in, a.passed, a.dropped, a.too_big, a.max_queue), (7, 4, 2, 1, 2));
    assert_eq!((a.delay_max, a.delay_sum), (Span::from_millis(13), Span::from_millis(49)));
}

#[test]
fn transmission_times_are_rounded_up_to_the_nanosecond() {
    let mut rig = Rig::new(&[stage(json!({"kind": "link", "rate": "200Mbit/s"}))]);
    rig.arrive(5, packet(0, 1514)).finish();
    assert_eq!(rig.sent(), [(5 + 60_560, 0)]);
}

#[test]
fn a_link_without_a_rate_and_an_empty_chain_add_no_delay() {
    let mut rig = Rig::new(&[stage(json!({"kind": "delay", "delay": "7ms"}))]);
    rig.arrive(0, packet(0, 9000)).arrive(0, packet(1, 40)).finish();
    assert_eq!(rig.sent(), [(7 * MS, 0), (7 * MS, 1)]);
    let mut rig = Rig::new(&[]);
    rig.arrive(3, packet(0, 9000));
    assert_eq!(rig.sent(), [(3, 0)]);
}

#[test]
fn the_gauge_excludes_the_packet_in_transmission() {
    let link = Link { rate: Some(Rate::from_bps(12_000_000)), ..Link::default() };
    let mut rig = Rig::new(&[link.into()]);
    for id in 0..4 {
        rig.arrive(0, packet(id, 1500));
    }
    let now = Time::from_nanos(MS + MS / 2);
    rig.chain.catch_up(now, &mut rig.out);
    let gauge = rig.chain.gauge(0, now);
    assert_eq!((gauge.queue_packets, gauge.queue_bytes), (2, 3000));
}

/// M/D/1: mean wait = rho / (2 (1 - rho)) service times (Pollaczek 1930, Khinchine 1932).
#[test]
fn poisson_arrivals_wait_according_to_pollaczek_and_khinchine() {
    let service = 1_000_000.0;
    for rho in [0.3, 0.6, 0.75] {
        let link = json!({"kind": "link", "rate": "12Mbit/s",
                          "queue": {"kind": "fifo", "packets": 100000}});
        let mut rig = Rig::new(&[stage(link)]);
        let mut source = Stream::new(11, "poisson");
        let mean = Span::from_nanos((service / rho) as u64);
        let n = 1_000_000;
        let mut now = Time::ZERO;
        for id in 0..n {
            now += source.exponential(mean);
            rig.chain.handle_packet(now, packet(id, 1500), &mut rig.out);
            rig.out.clear();
        }
        rig.finish();
        let inside = rig.chain.account(0).delay_sum.as_nanos() as f64 / n as f64;
        let expected = rho / (2.0 * (1.0 - rho)) * service;
        let error = (inside - service) / expected - 1.0;
        assert!(error.abs() < 0.02, "rho {rho}: off by {error}");
    }
}

#[test]
fn a_mahimahi_trace_delivers_at_its_opportunities() {
    let trace = json!({"kind": "rate-trace", "opportunities": [1, 1, 5]});
    let mut rig = Rig::new(&[stage(trace)]);
    for id in 0..3 {
        rig.arrive(0, packet(id, 1500));
    }
    // The first round ends at 5 ms; the next opportunities are at 6, 6 and 10 ms. A packet that arrives
    // at an opportunity is too late for it. Three small packets share one.
    rig.arrive(6 * MS, packet(3, 1500));
    for id in 4..7 {
        rig.arrive(10 * MS + 1, packet(id, 500));
    }
    // 3000 B need two opportunities.
    rig.arrive(20 * MS, packet(7, 3000));
    rig.finish();
    let ms: Vec<_> = rig.sent().into_iter().map(|(ns, id)| (ns / MS, id)).collect();
    assert_eq!(ms, [(1, 0), (1, 1), (5, 2), (10, 3), (11, 4), (11, 5), (11, 6), (21, 7)]);
    assert!(rig.sent().iter().all(|(ns, _)| ns % MS == 0));
}

#[test]
fn trace_files_are_read_in_both_formats() {
    use path::Config;
    let named = || RateTrace { file: Some("lte.down".into()), ..RateTrace::default() };
    let mut t = named();
    assert_eq!(t.check().unwrap_err().message, "is not loaded");
    t.load("# a comment\n0\n3\n3 # twice\n\n7\n").unwrap();
    assert_eq!((t.opportunities.as_slice(), t.file()), (&[0, 3, 3, 7][..], None));
    t.check().unwrap();
    let mut t = named();
    t.load("0s 20Mbit/s\n2.5s 5 Mbit/s\n").unwrap();
    t.check().unwrap();
    assert_eq!(t.steps[1].at, Span::from_millis(2500));
    let wrong = named().load("0s 20Mbit/s\n17\n").unwrap_err();
    assert!(wrong.message.starts_with("line 2: "), "{wrong}");
    assert!(named().load("\n").is_err());
    assert!(named().load("1e9\n").is_err());
}

#[test]
fn an_outage_drops_or_keeps_packets() {
    let outage = |buffer| stage(json!({"kind": "outage", "at": ["10ms"], "lasts": "5ms", "buffer": buffer}));
    let script = |buffer| {
        let mut rig = Rig::new(&[outage(buffer)]);
        for (id, at) in [9 * MS, 10 * MS, 14 * MS, 15 * MS].into_iter().enumerate() {
            rig.arrive(at, packet(id as u64, 100));
        }
        rig.finish();
        rig
    };
    let lost = script("lost");
    assert_eq!(lost.sent(), [(9 * MS, 0), (15 * MS, 3)]);
    assert_eq!(lost.dropped(), [(10 * MS, 1, DropCause::Outage), (14 * MS, 2, DropCause::Outage)]);
    let kept = script("kept");
    assert_eq!(kept.sent(), [(9 * MS, 0), (15 * MS, 1), (15 * MS, 2), (15 * MS, 3)]);
}

#[test]
fn a_handover_reduces_the_rate_stops_and_adds_delay() {
    // 12 Mbit/s (1 ms per packet); half of it starting at 8 ms; nothing from 10 to 15 ms; then 3 ms of extra
    // delay for 2 ms.
    let handover = |buffer| {
        stage(json!({"kind": "handover", "at": ["10ms"], "lasts": "5ms", "buffer": buffer,
            "rate": "12Mbit/s", "fall": "2ms", "falling_rate": "6Mbit/s",
            "extra_delay": "3ms", "extra_for": "2ms", "delay": "1ms"}))
    };
    let script = |buffer| {
        let mut rig = Rig::new(&[handover(buffer)]);
        for id in 0..4 {
            rig.arrive(7 * MS, packet(id, 1500));
        }
        for id in 4..7 {
            rig.arrive(15 * MS, packet(id, 1500));
        }
        rig.finish();
        rig
    };
    // Transmitted by 8, 10, 16, 17, 18, 19, 20 ms; the one at 16 has 3 ms of extra delay; those from 17 on
    // would arrive before it and wait for it.
    let ms = |rig: &Rig| rig.sent().into_iter().map(|(ns, id)| (ns / MS, id)).collect::<Vec<_>>();
    let kept = script("kept");
    assert_eq!(ms(&kept), [(9, 0), (11, 1), (20, 2), (20, 3), (20, 4), (20, 5), (21, 6)]);
    // With `lost`: packets queued at 10 ms are dropped.
    let lost = script("lost");
    assert_eq!(ms(&lost), [(9, 0), (11, 1), (20, 4), (20, 5), (20, 6)]);
    assert_eq!(lost.dropped(), [(10 * MS, 2, DropCause::Outage), (10 * MS, 3, DropCause::Outage)]);
}

#[test]
fn jitter_keeps_the_order_unless_reorder_is_set() {
    let jitter = |reorder, distribution| {
        let (delay, half) = (Span::from_millis(20), Span::from_millis(5));
        let jitter = Some(half);
        Jitter { delay, jitter, distribution, reorder, ..Jitter::default() }
    };
    let run = |config: Jitter| {
        let mut rig = Rig::new(&[config.into()]);
        for id in 0..20_000 {
            rig.arrive(id * MS / 10, packet(id, 100));
        }
        rig.finish();
        let delays: Vec<f64> =
            rig.sent().iter().map(|&(at, id)| at as f64 / 1e6 - id as f64 / 10.0).collect();
        let mean = delays.iter().sum::<f64>() / 20_000.0;
        let var = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 20_000.0;
        (rig.sent().is_sorted_by_key(|s| s.1), mean, var.sqrt())
    };
    use path::Distribution::{Normal, Uniform};
    let (ordered, _, _) = run(jitter(false, Uniform));
    assert!(ordered);
    let (ordered, mean, deviation) = run(jitter(true, Uniform));
    assert!(!ordered && (mean - 20.0).abs() < 0.1, "{mean}");
    assert!((deviation - 5.0 / 3.0f64.sqrt()).abs() < 0.05, "{deviation}");
    let (_, mean, deviation) = run(jitter(true, Normal));
    assert!((mean - 20.0).abs() < 0.15 && (deviation - 5.0).abs() < 0.15, "{mean} {deviation}");
}

#[test]
fn a_trace_of_delays_is_repeated() {
    let jitter = json!({"kind": "jitter", "distribution": "trace", "delays": ["1ms", "4ms", "2ms"]});
    let mut rig = Rig::new(&[stage(jitter)]);
    for id in 0..4 {
        rig.arrive(id * MS, packet(id, 100));
    }
    rig.finish();
    // 1, 1 + 4, 2 + 2 (waits for its predecessor), 3 + 1 (waits too).
    assert_eq!(rig.sent(), [(MS, 0), (5 * MS, 1), (5 * MS, 2), (5 * MS, 3)]);
}

/// A periodic trace has a mean rate, which a busy link carries.
#[test]
fn a_periodic_trace_has_a_mean_rate() {
    let limit = |trace: serde_json::Value| serde_json::from_value::<RateTrace>(trace).unwrap().limit();
    let shared = |bps| StageLimit::Shared(Rate::from_bps(bps));
    let steps = json!([{"at": "0s", "rate": "8Mbit/s"}, {"at": "1ms", "rate": "0bit/s"}]);
    assert_eq!(limit(json!({"steps": steps, "period": "10ms"})), shared(800_000));
    assert_eq!(limit(json!({"steps": [{"at": "0s", "rate": "8Mbit/s"}]})), StageLimit::Varies);
    // Three opportunities of 1504 bytes in 12 ms.
    assert_eq!(limit(json!({"opportunities": [2, 7, 12]})), shared(3_008_000));
    let mut rig = Rig::new(&[stage(json!({"kind": "rate-trace", "opportunities": [2, 7, 12]}))]);
    for id in 0..300 {
        rig.arrive(0, packet(id, 1504));
    }
    rig.finish();
    let last = rig.sent().last().map(|&(at, _)| at as f64 / 1e9).unwrap();
    assert!((300.0 * 1504.0 * 8.0 / last / 3_008_000.0 - 1.0).abs() < 0.01, "{last}");
}
