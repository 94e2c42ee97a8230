//! Successful and failed handovers, trains, slow jitter: timed scripts.

use crate::common::{Rig, packet, stage};
use path::{Config, DropCause, StageLimit, Train};
use serde_json::json;
use units::{Length, Rate, Span, Speed, Time};

const MS: u64 = 1_000_000;

/// Packets at the given times in ms, at 12 Mbit/s (1 ms each) through a handover at 10 ms that takes 5 ms, or
/// 20 ms if it fails.
fn script(extra: serde_json::Value, at: &[u64]) -> Rig {
    let mut config = json!({"kind": "handover", "at": ["10ms", "60ms"], "lasts": "5ms",
        "buffer": "kept", "rate": "12Mbit/s"});
    config.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let mut rig = Rig::new(&[stage(config)]);
    for (id, ms) in at.iter().enumerate() {
        rig.arrive(ms * MS, packet(id as u64, 1500));
    }
    rig.finish();
    rig
}

fn ms(rig: &Rig) -> Vec<(u64, u64)> {
    rig.sent().into_iter().map(|(ns, id)| (ns / MS, id)).collect()
}

#[test]
fn a_failed_handover_leaves_the_old_cells_buffer_behind() {
    let failed = json!({"failed": [1], "failure_lasts": ["20ms", "20ms"]});
    // 0 is sent by 10 ms; 1 and 2 are in the old cell; 3 and 4 arrive in the gap and wait for
    // the new cell at 30 ms; at 60 ms a handover succeeds and 5 waits 5 ms.
    let rig = script(failed, &[9, 9, 9, 10, 25, 60]);
    assert_eq!(ms(&rig), [(10, 0), (31, 3), (32, 4), (66, 5)]);
    assert_eq!(rig.dropped(), [(10 * MS, 1, DropCause::Outage), (10 * MS, 2, DropCause::Outage)]);
}

#[test]
fn failed_and_successful_handovers_have_separate_buffers() {
    let with = |buffer: &str, failure: &str| {
        let failed = json!({"failed": [1], "failure_lasts": ["20ms", "20ms"], "buffer": buffer,
            "failure_buffer": failure});
        let rig = script(failed, &[9, 9, 20, 59, 59, 62]);
        (ms(&rig), rig.dropped().into_iter().map(|(at, id, _)| (at / MS, id)).collect::<Vec<_>>())
    };
    let kept = vec![(10, 0), (31, 1), (32, 2), (60, 3), (66, 4), (67, 5)];
    assert_eq!(with("kept", "kept"), (kept, vec![]));
    let lost = vec![(10, 0), (60, 3), (66, 4), (67, 5)];
    assert_eq!(with("kept", "lost"), (lost, vec![(10, 1), (20, 2)]));
    let behind = vec![(10, 0), (31, 1), (32, 2), (60, 3), (66, 5)];
    assert_eq!(with("left-behind", "kept"), (behind, vec![(60, 4)]));
}

#[test]
fn the_rate_also_falls_before_a_failed_handover() {
    let slow = json!({"failed": [1], "failure_lasts": ["20ms", "20ms"], "failure_buffer": "kept",
        "fall": "4ms", "falling_rate": "6Mbit/s"});
    // From 6 ms on a packet takes 2 ms: 0 is sent by 7 ms (half of it before 6 ms), 1 by 9 ms, half of 2 by
    // 10 ms, the rest at full rate from 30 ms on.
    let rig = script(slow, &[5, 5, 5, 5]);
    let sent: Vec<f64> = rig.sent().iter().map(|(ns, _)| *ns as f64 / MS as f64).collect();
    assert_eq!(sent, [6.0, 8.0, 10.0, 31.0]);
}

#[test]
fn elements_with_one_fate_fail_together_and_seeds_differ() {
    let gaps = |seed, name: &str, fate: Option<&str>| {
        let mut config = json!({"kind": "handover", "every": "10s", "lasts": "100ms",
            "buffer": "kept", "failures": 2, "among": 5});
        if let Some(fate) = fate {
            config["fate"] = json!(fate);
        }
        let mut element = stage(config).build::<()>(seed, name);
        let mut out = path::Outbox::default();
        for k in 1..=5 {
            element.handle_packet(Time::ZERO + Span::from_secs(10 * k), Box::new(packet(k, 100)), &mut out);
            element.handle_wake(Time::ZERO + Span::from_secs(10 * k + 9), &mut out);
        }
        out.sent.iter().map(|(at, p)| at.as_nanos() - p.id * 10_000 * MS).collect::<Vec<u64>>()
    };
    let down = gaps(1, "down", Some("radio"));
    assert_eq!(down, gaps(1, "up", Some("radio")));
    assert_ne!(down, gaps(2, "down", Some("radio")));
    assert_ne!(gaps(1, "down", None), gaps(1, "up", None));
    for seed in 0..50 {
        let gaps = gaps(seed, "down", Some("radio"));
        assert_eq!(gaps.iter().filter(|&&ns| ns == 100 * MS).count(), 3);
        assert_eq!(gaps.iter().filter(|&&ns| (1000 * MS..=2000 * MS).contains(&ns)).count(), 2);
    }
}

#[test]
fn slow_jitter_stays_in_range_and_changes_little_between_packets() {
    let jitter = json!({"kind": "jitter", "delay": "50ms", "jitter": "20ms", "every": "200ms"});
    let mut rig = Rig::new(&[stage(jitter)]);
    for id in 0..60_000 {
        rig.arrive(id * MS, packet(id, 100));
    }
    rig.finish();
    let delays: Vec<f64> = rig.sent().iter().map(|&(at, id)| at as f64 / 1e6 - id as f64).collect();
    assert!(delays.iter().all(|d| (30.0..=70.0).contains(d)));
    // It changes by at most 40 ms in 200 ms, so no packet waits for another.
    assert!(delays.windows(2).all(|w| (w[1] - w[0]).abs() <= 0.201));
    let mean = delays.iter().sum::<f64>() / 60_000.0;
    assert!((mean - 50.0).abs() < 2.0, "{mean}");
}

fn train(speed: u64) -> Train {
    Train { rate: units::Rate::from_bps(20_000_000), speed: Speed::from_kmh(speed), ..Train::default() }
}

/// Mean packet loss over the length of a cell.
fn mean_loss(train: &Train, bytes: u32) -> f64 {
    let rates = (-399..400).map(|along| train.radio_at(f64::from(along)).bit_error_rate);
    rates.map(|ber| path::radio::packet_loss(ber, bytes)).sum::<f64>() / 799.0
}

#[test]
fn bit_errors_rise_above_about_200_km_h() {
    let errors = |speed| {
        let t = train(speed);
        let rates = (-399..400).map(|along| t.radio_at(f64::from(along)).bit_error_rate);
        rates.sum::<f64>() / 799.0 / 6.4e-8
    };
    // Relative to a standing train: hardly more, twice, six times, thirteen times.
    for (speed, times) in [(1, 1.0), (100, 1.2), (200, 2.2), (300, 6.6), (350, 13.0)] {
        assert!((errors(speed) / times - 1.0).abs() < 0.05, "{speed} km/h: {}", errors(speed));
    }
    // A large packet has more bits that can be in error.
    let loss = |bytes| mean_loss(&train(300), bytes);
    assert!((loss(1500) / loss(40) - 1500.0 / 40.0).abs() < 1.0, "{} {}", loss(1500), loss(40));
}

#[test]
fn at_the_mast_the_rate_is_highest_and_the_shift_changes_sign() {
    let t = train(300);
    assert_eq!(t.radio_at(0.0).rate.as_bps(), 20_000_000);
    assert_eq!(t.radio_at(-400.0).rate, t.radio_at(400.0).rate);
    // 12 dB, with 5 dB of coding: M = 1 + 1.5 * 50.12 / 14.5087 = 6.182; log2(M) / 6 = 0.438.
    assert!((t.radio_at(400.0).rate.as_bps() as f64 / 20e6 - 0.438).abs() < 0.001);
    assert!(t.radio_at(-50.0).doppler_hz > 0.0 && t.radio_at(50.0).doppler_hz < 0.0);
    assert!(t.radio_at(-400.0).doppler_hz > 560.0);
}

#[test]
fn faster_trains_fail_more_handovers() {
    // 200 m of overlap: 2.4 s at 300 km/h, two attempts; 7.2 s at 100 km/h, seven.
    assert!((train(300).failure_probability() - 0.09).abs() < 1e-12);
    assert!((train(100).failure_probability() - 0.3f64.powi(7)).abs() < 1e-12);
    assert!((train(400).failure_probability() - 0.3).abs() < 1e-12);
}

#[test]
fn a_train_has_a_gap_at_every_border_and_the_loss_of_its_bit_error_rate() {
    let config = Train {
        start: Length::from_m(700),
        failed: vec![2],
        repeats: 0,
        failure_lasts: [Span::from_millis(1500); 2],
        ..train(300)
    };
    config.check().unwrap();
    // 100 m to the border: 1.2 s, then every 9.6 s.
    let mut rig = Rig::new(&[config.clone().into()]);
    for ms in (0..30_000).filter(|ms| ms % 2 == 1) {
        rig.arrive(ms * MS, packet(ms, 1500));
    }
    rig.finish();
    let waited = |ms: u64| rig.sent().iter().find(|s| s.1 == ms).map(|s| s.0 as f64 / 1e6 - ms as f64);
    assert!(waited(1101).is_some_and(|w| w < 2.0));
    assert!(waited(1201).is_some_and(|w| (99.0..102.0).contains(&w)), "{:?}", waited(1201));
    assert!(waited(10_801).is_some_and(|w| (1499.0..1502.0).contains(&w)));
    let damaged = rig.dropped().iter().filter(|d| d.2 == DropCause::Loss).count() as f64;
    let expected = 15_000.0 * mean_loss(&config, 1500);
    // 30 s are about three cells: nearly uniform over the positions.
    assert!((damaged - expected).abs() < 0.3 * expected, "{damaged} {expected}");
}

#[test]
fn retransmissions_by_the_radio_replace_loss_by_delay() {
    // A standing train in a cell where a packet is damaged with probability 1 - (1 - 1e-5)^12000 = 11.3 %.
    let run = |repeats| {
        let standing =
            Train { speed: Speed::from_kmh(1), cell: Length::from_m(2), residual: 0.0, ..train(1) };
        let config = Train {
            bit_errors: 1e-5,
            edge_snr: 19.0,
            path_loss: 0.0,
            attempt_failure: 0.0,
            repeats,
            ..standing
        };
        let mut rig = Rig::new(&[config.into()]);
        for id in 0..5_000 {
            rig.arrive(id * MS, packet(id, 1500));
        }
        rig.finish();
        let late = rig.sent().iter().filter(|(at, id)| at - id * MS > MS).count();
        (rig.dropped().len() as f64 / 5_000.0, late as f64 / 5_000.0, rig.sent().is_sorted())
    };
    let (lost, late, _) = run(0);
    assert!((lost - 0.113).abs() < 0.015 && late == 0.0, "{lost} {late}");
    // 11.3 % of 11.3 %; at 20 Mbit/s a packet takes 0.6 ms, so a retransmitted packet is late, and the next
    // may be.
    let (lost, late, in_order) = run(1);
    assert!((lost - 0.0128).abs() < 0.005 && late > 0.1 && in_order, "{lost} {late}");
}

/// A cell of 10 s at the full rate, of which handovers take 0.1 s or, if half of them fail, 1 s on average.
#[test]
fn the_limit_of_a_train_is_its_mean_rate() {
    let train = |more: serde_json::Value| {
        let mut config = json!({"rate": "20Mbit/s", "speed": "288km/h", "edge_snr": 60.0, "residual": 0.0,
            "failure_probability": 0.0});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match serde_json::from_value::<Train>(config).unwrap().limit() {
            StageLimit::Shared(rate) => rate.as_mbps(),
            other => panic!("{other:?}"),
        }
    };
    assert!((train(json!({})) - 20.0 * 0.99).abs() < 1e-3, "{}", train(json!({})));
    let half = json!({"failure_probability": 0.5, "failure_lasts": ["1.8s", "2s"]});
    assert!((train(half.clone()) - 20.0 * 0.9).abs() < 1e-3, "{}", train(half));
    // With a weak signal at the borders the mean is lower, and never higher than the rate near the mast.
    let weak = Train { rate: Rate::from_bps(20_000_000), ..Train::default() };
    let (near, far) = (weak.radio_at(0.0).rate, weak.radio_at(400.0).rate);
    assert!(far < weak.mean_rate() && weak.mean_rate() < near, "{far} {} {near}", weak.mean_rate());
}
