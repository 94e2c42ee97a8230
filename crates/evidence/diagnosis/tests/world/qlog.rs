//! qlog files of a QUIC sender and receiver give the same cause as a TCP capture of the same path.

use diagnosis::diagnose_tracks;
use result::diagnosis::{CaptureInfo, LimiterKind};
use result::{Cause, Diagnosis};
use std::collections::{BTreeSet, VecDeque};
use track::qlog::{read_qlog, track_qlog};
use units::Stream;

/// A path in one direction.
trait Path {
    /// Returns the delay in seconds of a packet of `bytes` that arrives at `now` seconds, or `None` if it is
    /// dropped.
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

/// A link of `rate` bytes per second with a queue of `queue` seconds.
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

/// Drops each packet with this probability.
struct RandomLoss(Stream, f64);

impl Path for RandomLoss {
    fn pass(&mut self, _: f64, _: f64) -> Option<f64> {
        (!self.0.chance(self.1)).then_some(0.0)
    }
}

/// Content of the logs of a transfer.
#[derive(Clone, Copy)]
struct Logged {
    /// Some packets that arrive are declared lost.
    spurious_losses: bool,
    /// The receiver's flow control credit, bytes beyond what it has read.
    credit: Option<u64>,
    /// Frames are logged. quinn logs none, only its bytes in flight.
    frames: bool,
    /// The rate at which the application writes, bytes per second.
    write_rate: Option<f64>,
}

const PLAIN: Logged = Logged { spurious_losses: false, credit: None, frames: true, write_rate: None };

/// The logs of both ends, and the number of dropped packets.
struct Logs {
    sender: String,
    receiver: String,
    dropped: u64,
}

/// A log under construction: the vantage point, and events with their times in seconds.
struct Log(&'static str, Vec<(f64, String)>);

impl Log {
    fn event(&mut self, now: f64, name: &str, data: &str) {
        let text = format!("\u{1e}{{\"time\":{:.4},\"name\":\"{name}\",\"data\":{{{data}}}}}\n", now * 1e3);
        self.1.push((now, text));
    }

    fn text(mut self) -> String {
        self.1.sort_by(|a, b| a.0.total_cmp(&b.0));
        let head = format!(
            "\u{1e}{{\"qlog_format\":\"JSON-SEQ\",\"trace\":{{\"vantage_point\":{{\"type\":\"{}\"}},\
             \"common_fields\":{{\"time_format\":\"relative\",\"reference_time\":1700000000000}}}}}}\n",
            self.0
        );
        self.1.into_iter().fold(head, |log, (_, event)| log + &event)
    }
}

/// Twenty seconds of an upload over 40 ms by a client with NewReno (RFC 9002 section 7).
fn transfer(path: &mut dyn Path, logged: Logged) -> Logs {
    const SIZE: u32 = 1200;
    const DATA: u64 = 1150;
    let (mut sender, mut receiver) = (Log("client", Vec::new()), Log("server", Vec::new()));
    let header = |n: usize| format!("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{n}}}");
    let initial = |n: usize| {
        format!(
            "\"header\":{{\"packet_type\":\"initial\",\"packet_number\":{n}}},\"raw\":{{\"length\":1200}}"
        )
    };
    let crypto = "\"frames\":[{\"frame_type\":\"crypto\"}]";
    let acked = if logged.frames { "{\"frame_type\":\"ack\",\"acked_ranges\":[[0,0]]}" } else { "" };
    let hello = format!("\"frames\":[{acked}]");
    sender.event(0.0, "transport:packet_sent", &format!("{},{crypto}", initial(0)));
    receiver.event(0.02, "transport:packet_received", &format!("{},{crypto}", initial(0)));
    receiver.event(0.0201, "transport:packet_sent", &format!("{},{hello}", initial(0)));
    sender.event(0.0401, "transport:packet_received", &format!("{},{hello}", initial(0)));
    let granted = |owner: &str, credit: u64| {
        format!(
            "\"owner\":\"{owner}\",\"initial_max_data\":{credit},\"initial_max_stream_data_bidi_remote\":{credit}"
        )
    };
    if let Some(credit) = logged.credit {
        sender.event(0.0401, "transport:parameters_set", &granted("remote", credit));
        receiver.event(0.0201, "transport:parameters_set", &granted("local", credit));
    }
    let metrics = |window: f64, flying: usize| {
        let (cwnd, inflight) = ((window * f64::from(SIZE)) as u64, flying as u32 * SIZE);
        format!("\"congestion_window\":{cwnd},\"bytes_in_flight\":{inflight},\"smoothed_rtt\":40")
    };
    let (mut window, mut threshold) = (10.0f64, f64::INFINITY);
    let mut now = 0.05f64;
    // The arrival of each packet's ACK in seconds, `None` if the packet is lost, and the packet's chunk of
    // data.
    let mut acks: Vec<(Option<f64>, u64)> = Vec::new();
    let mut dropped = 0;
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut coming: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut retransmit: VecDeque<u64> = VecDeque::new();
    let (mut highest, mut recovery, mut next) = (0usize, 0usize, 0u64);
    // Chunks that the receiver has, as far as the sender knows, and how many of them are contiguous from
    // the start.
    let mut received: BTreeSet<u64> = BTreeSet::new();
    let mut contiguous = 0u64;
    while now < 20.0 {
        let may_send = logged.credit.is_none_or(|credit| (next + 1) * DATA <= contiguous * DATA + credit);
        let written = logged.write_rate.is_none_or(|rate| ((next + 1) * DATA) as f64 <= rate * now);
        let has_data = !retransmit.is_empty() || (may_send && written);
        if (open.len() as f64) < window && has_data {
            let n = acks.len();
            let chunk = retransmit.pop_front().unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            let stream = format!(
                "{},\"raw\":{{\"length\":{SIZE}}},\"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{},\"length\":{DATA}}}]",
                header(n),
                chunk * DATA
            );
            let bare = format!("{},\"raw\":{{\"length\":{SIZE}}}", header(n));
            sender.event(now, "transport:packet_sent", if logged.frames { &stream } else { &bare });
            let passed = path.pass(now, f64::from(SIZE + 28));
            dropped += u64::from(passed.is_none());
            acks.push((passed.map(|wait| now + 0.04 + wait), chunk));
            if let Some(wait) = passed {
                receiver.event(now + 0.02 + wait, "transport:packet_received", &stream);
                coming.insert((((now + 0.04 + wait) * 1e9) as u64, n));
            }
            open.insert(n);
            now += 20e-6;
            sender.event(now, "recovery:metrics_updated", &metrics(window, open.len()));
            continue;
        }
        if coming.is_empty() && logged.write_rate.is_some() {
            now += 0.001;
            continue;
        }
        let waits = logged.write_rate.map_or(f64::INFINITY, |rate| ((next + 1) * DATA) as f64 / rate);
        let Some(&(at, n)) = coming.first() else { break };
        if waits > now && waits < at as f64 * 1e-9 && (open.len() as f64) < window {
            now = waits + 1e-6;
            continue;
        }
        coming.pop_first();
        now = now.max(at as f64 * 1e-9);
        received.insert(acks[n].1);
        while received.remove(&contiguous) {
            contiguous += 1;
        }
        let limit = logged.credit.map(|credit| {
            format!(",{{\"frame_type\":\"max_stream_data\",\"stream_id\":0,\"maximum\":{0}}},{{\"frame_type\":\"max_data\",\"maximum\":{0}}}", contiguous * DATA + credit)
        });
        let ack = format!(
            "{},\"raw\":{{\"length\":35}},\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":[[{n},{n}]]}}{}]",
            header(n),
            limit.unwrap_or_default()
        );
        // Just after the packet's arrival.
        receiver.event(at as f64 * 1e-9 - 0.02 + 1e-6, "transport:packet_sent", &ack);
        sender.event(now, "transport:packet_received", if logged.frames { ack } else { header(n) }.as_str());
        if open.remove(&n) {
            window += if window < threshold { 1.0 } else { 1.0 / window };
        }
        highest = highest.max(n);
        // Packet threshold of three (RFC 9002 section 6.1.1).
        let lost: Vec<usize> = open.range(..highest.saturating_sub(2)).copied().collect();
        for n in lost {
            open.remove(&n);
            retransmit.push_back(acks[n].1);
            sender.event(now, "recovery:packet_lost", &header(n));
            if n >= recovery {
                (window, recovery) = ((window / 2.0).max(2.0), acks.len());
                threshold = window;
            }
        }
        // Now and then a packet is declared lost although it arrives and is acknowledged.
        if logged.spurious_losses && n % 997 == 0 && open.len() > 4 {
            let n = *open.iter().next().unwrap();
            sender.event(now, "recovery:packet_lost", &header(n));
        }
        sender.event(now, "recovery:metrics_updated", &metrics(window, open.len()));
    }
    Logs { sender: sender.text(), receiver: receiver.text(), dropped }
}

/// Diagnoses a log. Also returns the number of packets that it counts as lost.
fn diagnose(text: &str) -> (Diagnosis, u64) {
    let traces = read_qlog(text).unwrap();
    let tracked = track_qlog(&traces[0]);
    let d = diagnose_tracks(tracked.tracks, CaptureInfo::default());
    for f in &d.flows {
        println!("{:?} {:?} {} {:?}", f.cause, f.causes, f.measures.lost_down, f.measures.rtt_ms);
    }
    println!("{:?}", d.limiters);
    (d, tracked.lost_packets)
}

#[test]
fn every_loss_at_a_policer_is_found() {
    let (rate, burst) = (1.25e6, 60e3);
    let logs = transfer(&mut Policer { rate, burst, level: 0.0, last: 0.0 }, PLAIN);
    let (d, lost) = diagnose(&logs.sender);
    let f = &d.flows[0];
    // The log ends before the last losses are detected.
    assert!(logs.dropped > 30 && logs.dropped - lost < 30, "{} {lost}", logs.dropped);
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
fn a_full_queue_is_distinguished_from_random_loss() {
    let (rate, queue) = (1.25e6, 0.06);
    let (d, lost) = diagnose(&transfer(&mut Link { rate, queue, free: 0.0 }, PLAIN).sender);
    let f = &d.flows[0];
    assert!(matches!(f.cause, Cause::Congestion | Cause::Bottleneck), "{:?}", f.causes);
    assert_eq!(f.measures.lost_down, lost);
    assert!((f.measures.rtt_ms.max - 101.0).abs() < 3.0, "{:?}", f.measures.rtt_ms);
    let logs = transfer(&mut RandomLoss(Stream::new(4, "chance"), 0.01), PLAIN);
    let (d, lost) = diagnose(&logs.sender);
    let f = &d.flows[0];
    assert!(logs.dropped > 50 && logs.dropped - lost < 10);
    assert_eq!((f.cause, f.measures.lost_down, f.limiter), (Cause::RandomLoss, lost, None));
    assert_eq!(f.measures.data_packets, f.measures.data_packets.max(logs.dropped));
    assert!((f.measures.rtt_ms.p50 - 40.0).abs() < 0.5, "{:?}", f.measures.rtt_ms);
}

/// Packets declared lost may still arrive (RFC 9002 section 6).
#[test]
fn spurious_losses_are_not_counted() {
    let logs =
        transfer(&mut RandomLoss(Stream::new(4, "chance"), 0.01), Logged { spurious_losses: true, ..PLAIN });
    let dropped = logs.dropped;
    assert!(logs.sender.matches("packet_lost").count() as u64 > dropped, "some losses are spurious");
    let (d, lost) = diagnose(&logs.sender);
    assert!(lost <= dropped && dropped - lost < 10, "{lost} {dropped}");
    assert_eq!(d.flows[0].measures.lost_down, lost);
}

/// QUIC's flow control credit (RFC 9000 section 4) acts as TCP's receive window.
#[test]
fn flow_control_is_the_receive_window_in_both_logs() {
    let credit = 64 << 10;
    let logs =
        transfer(&mut RandomLoss(Stream::new(4, "none"), 0.0), Logged { credit: Some(credit), ..PLAIN });
    for log in [&logs.sender, &logs.receiver] {
        let (d, lost) = diagnose(log);
        let f = &d.flows[0];
        assert_eq!((f.cause, lost), (Cause::ReceiveWindow, 0), "{:?}", f.causes);
        assert!(f.causes[0].share > 0.9, "{:?}", f.causes);
    }
    // A credit above the largest congestion window does not limit.
    let logs =
        transfer(&mut RandomLoss(Stream::new(4, "chance"), 0.01), Logged { credit: Some(16 << 20), ..PLAIN });
    assert_eq!(diagnose(&logs.sender).0.flows[0].cause, Cause::RandomLoss);
}

/// The receiver's log of a transfer gives the same cause as the sender's.
#[test]
fn the_receivers_log_shows_losses_on_the_path() {
    let logs = transfer(&mut RandomLoss(Stream::new(4, "chance"), 0.01), PLAIN);
    let trace = &read_qlog(&logs.receiver).unwrap()[0];
    assert!(trace.is_of_receiver());
    let (d, lost) = diagnose(&logs.receiver);
    assert!(logs.dropped.abs_diff(lost) * 20 < logs.dropped, "{} {lost}", logs.dropped);
    assert_eq!(d.flows[0].cause, Cause::RandomLoss, "{:?}", d.flows[0].causes);
    let link = || Link { rate: 1.25e6, queue: 0.06, free: 0.0 };
    let (d, _) = diagnose(&transfer(&mut link(), PLAIN).receiver);
    assert!(matches!(d.flows[0].cause, Cause::Congestion | Cause::Bottleneck), "{:?}", d.flows[0].causes);
}

/// quinn logs no frames, so ACKs are inferred from its bytes in flight.
#[test]
fn without_frames_acks_are_inferred_from_bytes_in_flight() {
    let logs = transfer(&mut RandomLoss(Stream::new(4, "chance"), 0.01), Logged { frames: false, ..PLAIN });
    let (d, lost) = diagnose(&logs.sender);
    let f = &d.flows[0];
    assert!(logs.dropped - lost < 10, "{} {lost}", logs.dropped);
    assert_eq!(f.cause, Cause::RandomLoss, "{:?}", f.causes);
    assert!((f.measures.rtt_ms.p50 - 40.0).abs() < 2.0, "{:?}", f.measures.rtt_ms);
}

#[test]
fn a_sender_with_nothing_to_send_is_the_application() {
    let logged = Logged { write_rate: Some(2e5), ..PLAIN };
    let logs = transfer(&mut RandomLoss(Stream::new(4, "none"), 0.0), logged);
    assert_eq!(diagnose(&logs.sender).0.flows[0].cause, Cause::Application);
}

/// A truncated log gives a diagnosis or an error with a message.
#[test]
fn a_truncated_log_is_diagnosed_or_rejected() {
    let logs =
        transfer(&mut RandomLoss(Stream::new(4, "chance"), 0.02), Logged { credit: Some(1 << 20), ..PLAIN });
    for log in [&logs.sender, &logs.receiver] {
        let ends: Vec<usize> = log.match_indices('\n').map(|(i, _)| i + 1).collect();
        // Cut at each of the first 60 lines, then at every fortieth part of the log.
        let steps = (0..ends.len()).filter(|i| *i < 60 || i % (ends.len() / 40).max(1) == 0);
        for end in steps.map(|i| ends[i]) {
            // Cut in the middle of the next line as well.
            for cut in [end, (end + 30).min(log.len())] {
                match read_qlog(&log[..cut]) {
                    Ok(traces) => {
                        let d = diagnose_tracks(track_qlog(&traces[0]).tracks, CaptureInfo::default());
                        for f in &d.flows {
                            assert!((0.0..=1.0).contains(&f.confidence), "{cut}: {f:?}");
                        }
                    }
                    Err(e) => assert!(cut < 400 && !e.to_string().is_empty(), "{cut}: {e}"),
                }
            }
        }
    }
}
