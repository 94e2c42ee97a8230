//! A QUIC sender's own account (qlog): what was lost is what it says, and what held it is told as of a TCP sender's capture.

use diagnosis::diagnose_tracks;
use result::diagnosis::{CaptureInfo, LimiterKind};
use result::{Cause, Diagnosis};
use std::collections::BTreeSet;
use std::fmt::Write;
use track::qlog::{read_qlog, track_qlog};
use units::Stream;

/// What a path does to a packet that comes at a time (s) with so many bytes: how long it waits, or that it is dropped.
trait Path {
    fn pass(&mut self, now: f64, bytes: f64) -> Option<f64>;
}

struct Policer {
    rate: f64,
    burst: f64,
    level: f64,
    last: f64,
}

impl Path for Policer {
    fn pass(&mut self, now: f64, bytes: f64) -> Option<f64> {
        self.level = (self.level - (now - self.last) * self.rate).max(0.0);
        self.last = now;
        if self.level + bytes > self.burst {
            return None;
        }
        self.level += bytes;
        Some(0.0)
    }
}

/// A link of a rate with a queue of so many seconds.
struct Link {
    rate: f64,
    queue: f64,
    free: f64,
}

impl Path for Link {
    fn pass(&mut self, now: f64, bytes: f64) -> Option<f64> {
        let wait = (self.free - now).max(0.0);
        if wait > self.queue {
            return None;
        }
        self.free = now + wait + bytes / self.rate;
        Some(wait + bytes / self.rate)
    }
}

struct Random(Stream, f64);

impl Path for Random {
    fn pass(&mut self, _: f64, _: f64) -> Option<f64> {
        (!self.0.chance(self.1)).then_some(0.0)
    }
}

/// Twenty seconds of a sender of Reno's kind (RFC 9002 section 7) over 40 ms, as JSON-SEQ; and how many packets were dropped.
/// `early`: some packets are given up that arrive all the same.
fn sequence(path: &mut dyn Path, early: bool) -> (String, u64) {
    const SIZE: u32 = 1200;
    let mut out = String::from(
        "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"client\"},\
         \"common_fields\":{\"time_format\":\"relative\",\"reference_time\":1700000000000}}}\n",
    );
    let mut say = |now: f64, name: &str, data: String| {
        let _ = writeln!(out, "\u{1e}{{\"time\":{:.4},\"name\":\"{name}\",\"data\":{{{data}}}}}", now * 1e3);
    };
    let header = |n: usize| format!("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{n}}}");
    say(0.0, "transport:packet_sent", "\"header\":{\"packet_type\":\"initial\",\"packet_number\":0},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"crypto\"}]".into());
    say(0.04, "transport:packet_received", "\"header\":{\"packet_type\":\"initial\",\"packet_number\":0},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,0]]}]".into());
    let (mut window, mut threshold) = (10.0f64, f64::INFINITY);
    let mut now = 0.05f64;
    // When the ACK of each packet comes, if it does.
    let mut acks: Vec<Option<f64>> = Vec::new();
    let mut dropped = 0;
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut coming: BTreeSet<(u64, usize)> = BTreeSet::new();
    let (mut highest, mut recovery) = (0usize, 0usize);
    while now < 20.0 {
        if (open.len() as f64) < window {
            let n = acks.len();
            say(
                now,
                "transport:packet_sent",
                format!(
                    "{},\"raw\":{{\"length\":{SIZE}}},\"frames\":[{{\"frame_type\":\"stream\"}}]",
                    header(n)
                ),
            );
            let passed = path.pass(now, f64::from(SIZE + 28));
            dropped += u64::from(passed.is_none());
            acks.push(passed.map(|wait| now + 0.04 + wait));
            if let Some(at) = acks[n] {
                coming.insert(((at * 1e9) as u64, n));
            }
            open.insert(n);
            now += 20e-6;
            continue;
        }
        let Some((at, n)) = coming.pop_first() else { break };
        now = now.max(at as f64 * 1e-9);
        say(
            now,
            "transport:packet_received",
            format!(
                "\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{n}}},\"raw\":{{\"length\":35}},\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":[[{n},{n}]]}}]"
            ),
        );
        if open.remove(&n) {
            window += if window < threshold { 1.0 } else { 1.0 / window };
        }
        highest = highest.max(n);
        // RFC 9002 section 6.1.1: three packets later.
        let lost: Vec<usize> = open.range(..highest.saturating_sub(2)).copied().collect();
        for n in lost {
            open.remove(&n);
            say(now, "recovery:packet_lost", header(n));
            if n >= recovery {
                (window, recovery) = ((window / 2.0).max(2.0), acks.len());
                threshold = window;
            }
        }
        // One that arrives is given up now and then, and its ACK comes.
        if early && n % 997 == 0 && open.len() > 4 {
            let n = *open.iter().next().unwrap();
            say(now, "recovery:packet_lost", header(n));
        }
    }
    (out, dropped)
}

/// What is said of it, and how many packets it says were lost.
fn said(text: &str) -> (Diagnosis, u64) {
    let traces = read_qlog(text).unwrap();
    let all = track_qlog(&traces[0]);
    let d = diagnose_tracks(all.tracks, CaptureInfo::default());
    println!(
        "{:?}",
        d.flows
            .iter()
            .map(|f| (f.cause, &f.causes, f.measures.lost_down, f.measures.rtt_ms))
            .collect::<Vec<_>>()
    );
    println!("{:?}", d.limiters);
    (d, all.lost_packets)
}

#[test]
fn a_policer_shows_to_the_packet() {
    let (rate, burst) = (1.25e6, 60e3);
    let (text, dropped) = sequence(&mut Policer { rate, burst, level: 0.0, last: 0.0 }, false);
    let (d, lost) = said(&text);
    let f = &d.flows[0];
    // The last losses were not known yet.
    assert!(dropped > 30 && dropped - lost < 30, "{dropped} {lost}");
    assert_eq!(
        (d.flows.len(), f.cause, f.measures.lost_down, f.measures.lost_up),
        (1, Cause::Policed, lost, 0)
    );
    let limiter = &d.limiters[f.limiter.unwrap()];
    assert_eq!(limiter.kind, LimiterKind::Policer);
    assert!((limiter.rate_mbps / (rate * 8e-6) - 1.0).abs() < 0.02, "{}", limiter.rate_mbps);
    assert!((limiter.burst_bytes.unwrap() / burst - 1.0).abs() < 0.05, "{:?}", limiter.burst_bytes);
}

#[test]
fn a_full_queue_and_chance_are_told_apart() {
    let (rate, queue) = (1.25e6, 0.06);
    let (text, _) = sequence(&mut Link { rate, queue, free: 0.0 }, false);
    let (d, lost) = said(&text);
    let f = &d.flows[0];
    assert!(matches!(f.cause, Cause::Congestion | Cause::Bottleneck), "{:?}", f.causes);
    assert_eq!(f.measures.lost_down, lost);
    assert!((f.measures.rtt_ms.max - 101.0).abs() < 3.0, "{:?}", f.measures.rtt_ms);
    let (text, dropped) = sequence(&mut Random(Stream::new(4, "chance"), 0.01), false);
    let (d, lost) = said(&text);
    let f = &d.flows[0];
    assert!(dropped > 50 && dropped - lost < 10);
    assert_eq!((f.cause, f.measures.lost_down, f.limiter), (Cause::RandomLoss, lost, None));
    assert_eq!(f.measures.data_packets, f.measures.data_packets.max(dropped));
    assert!((f.measures.rtt_ms.p50 - 40.0).abs() < 0.5, "{:?}", f.measures.rtt_ms);
}

/// RFC 9002 section 6: what is declared lost may arrive all the same.
#[test]
fn what_is_given_up_too_soon_is_not_lost() {
    let (text, dropped) = sequence(&mut Random(Stream::new(4, "chance"), 0.01), true);
    assert!(text.matches("packet_lost").count() as u64 > dropped, "some are given up that arrive");
    let (d, lost) = said(&text);
    assert!(lost <= dropped && dropped - lost < 10, "{lost} {dropped}");
    assert_eq!(d.flows[0].measures.lost_down, lost);
}
