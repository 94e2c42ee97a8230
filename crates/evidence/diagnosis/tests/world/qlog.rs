//! Logs of QUIC endpoints (qlog): a sender's and a receiver's give the cause that a TCP capture of the same
//! path gives.

use diagnosis::diagnose_tracks;
use result::diagnosis::{CaptureInfo, LimiterKind};
use result::{Cause, Diagnosis};
use std::collections::{BTreeSet, VecDeque};
use track::qlog::{read_qlog, track_qlog};
use units::Stream;

/// What a path does to a packet that comes at a time (s) with so many bytes: how long it waits, or that it is
/// dropped.
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

/// What the logs of a transfer have.
#[derive(Clone, Copy)]
struct Logged {
    /// Some packets are declared lost that arrive all the same.
    early: bool,
    /// The receiver grants so many bytes beyond what it has read.
    credit: Option<u64>,
    /// Frames are logged; quinn logs none, but its bytes in flight.
    frames: bool,
    /// The sender writes so many bytes each second.
    writes: Option<f64>,
}

const PLAIN: Logged = Logged { early: false, credit: None, frames: true, writes: None };

/// The logs of both ends, and how many packets were dropped.
struct Logs {
    sender: String,
    receiver: String,
    dropped: u64,
}

/// A log in the making: events and their times, to be sorted.
struct Log(&'static str, Vec<(f64, String)>);

impl Log {
    fn say(&mut self, now: f64, name: &str, data: &str) {
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
        self.1.into_iter().fold(head, |all, (_, event)| all + &event)
    }
}

/// Twenty seconds of a client of Reno's kind (RFC 9002 section 7) that sends over 40 ms.
fn transfer(path: &mut dyn Path, logged: Logged) -> Logs {
    const SIZE: u32 = 1200;
    const DATA: u64 = 1150;
    let (mut own, mut far) = (Log("client", Vec::new()), Log("server", Vec::new()));
    let header = |n: usize| format!("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{n}}}");
    let initial = |n: usize| {
        format!(
            "\"header\":{{\"packet_type\":\"initial\",\"packet_number\":{n}}},\"raw\":{{\"length\":1200}}"
        )
    };
    let crypto = "\"frames\":[{\"frame_type\":\"crypto\"}]";
    let acked = if logged.frames { "{\"frame_type\":\"ack\",\"acked_ranges\":[[0,0]]}" } else { "" };
    let hello = format!("\"frames\":[{acked}]");
    own.say(0.0, "transport:packet_sent", &format!("{},{crypto}", initial(0)));
    far.say(0.02, "transport:packet_received", &format!("{},{crypto}", initial(0)));
    far.say(0.0201, "transport:packet_sent", &format!("{},{hello}", initial(0)));
    own.say(0.0401, "transport:packet_received", &format!("{},{hello}", initial(0)));
    let granted = |owner: &str, credit: u64| {
        format!(
            "\"owner\":\"{owner}\",\"initial_max_data\":{credit},\"initial_max_stream_data_bidi_remote\":{credit}"
        )
    };
    if let Some(credit) = logged.credit {
        own.say(0.0401, "transport:parameters_set", &granted("remote", credit));
        far.say(0.0201, "transport:parameters_set", &granted("local", credit));
    }
    let metrics = |window: f64, flying: usize| {
        let (cwnd, inflight) = ((window * f64::from(SIZE)) as u64, flying as u32 * SIZE);
        format!("\"congestion_window\":{cwnd},\"bytes_in_flight\":{inflight},\"smoothed_rtt\":40")
    };
    let (mut window, mut threshold) = (10.0f64, f64::INFINITY);
    let mut now = 0.05f64;
    // Of each packet when its ACK comes, if it does, and which data it has.
    let mut acks: Vec<(Option<f64>, u64)> = Vec::new();
    let mut dropped = 0;
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut coming: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut again: VecDeque<u64> = VecDeque::new();
    let (mut highest, mut recovery, mut next) = (0usize, 0usize, 0u64);
    // What the receiver has from the begin on, as the sender knows it.
    let mut read: BTreeSet<u64> = BTreeSet::new();
    let mut contiguous = 0u64;
    while now < 20.0 {
        let may_send = logged.credit.is_none_or(|credit| (next + 1) * DATA <= contiguous * DATA + credit);
        let written = logged.writes.is_none_or(|rate| ((next + 1) * DATA) as f64 <= rate * now);
        let has_data = !again.is_empty() || (may_send && written);
        if (open.len() as f64) < window && has_data {
            let n = acks.len();
            let chunk = again.pop_front().unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            let stream = format!(
                "{},\"raw\":{{\"length\":{SIZE}}},\"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{},\"length\":{DATA}}}]",
                header(n),
                chunk * DATA
            );
            let bare = format!("{},\"raw\":{{\"length\":{SIZE}}}", header(n));
            own.say(now, "transport:packet_sent", if logged.frames { &stream } else { &bare });
            let passed = path.pass(now, f64::from(SIZE + 28));
            dropped += u64::from(passed.is_none());
            acks.push((passed.map(|wait| now + 0.04 + wait), chunk));
            if let Some(wait) = passed {
                far.say(now + 0.02 + wait, "transport:packet_received", &stream);
                coming.insert((((now + 0.04 + wait) * 1e9) as u64, n));
            }
            open.insert(n);
            now += 20e-6;
            own.say(now, "recovery:metrics_updated", &metrics(window, open.len()));
            continue;
        }
        if coming.is_empty() && logged.writes.is_some() {
            now += 0.001;
            continue;
        }
        let waits = logged.writes.map_or(f64::INFINITY, |rate| ((next + 1) * DATA) as f64 / rate);
        let Some(&(at, n)) = coming.first() else { break };
        if waits > now && waits < at as f64 * 1e-9 && (open.len() as f64) < window {
            now = waits + 1e-6;
            continue;
        }
        coming.pop_first();
        now = now.max(at as f64 * 1e-9);
        read.insert(acks[n].1);
        while read.remove(&contiguous) {
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
        // A moment after the packet came.
        far.say(at as f64 * 1e-9 - 0.02 + 1e-6, "transport:packet_sent", &ack);
        own.say(now, "transport:packet_received", if logged.frames { ack } else { header(n) }.as_str());
        if open.remove(&n) {
            window += if window < threshold { 1.0 } else { 1.0 / window };
        }
        highest = highest.max(n);
        // RFC 9002 section 6.1.1: three packets later.
        let lost: Vec<usize> = open.range(..highest.saturating_sub(2)).copied().collect();
        for n in lost {
            open.remove(&n);
            again.push_back(acks[n].1);
            own.say(now, "recovery:packet_lost", &header(n));
            if n >= recovery {
                (window, recovery) = ((window / 2.0).max(2.0), acks.len());
                threshold = window;
            }
        }
        // One that arrives is given up now and then, and its ACK comes.
        if logged.early && n % 997 == 0 && open.len() > 4 {
            let n = *open.iter().next().unwrap();
            own.say(now, "recovery:packet_lost", &header(n));
        }
        own.say(now, "recovery:metrics_updated", &metrics(window, open.len()));
    }
    Logs { sender: own.text(), receiver: far.text(), dropped }
}

/// The diagnosis of a log's transfer, and how many packets it counts as lost.
fn diagnosed(text: &str) -> (Diagnosis, u64) {
    let traces = read_qlog(text).unwrap();
    let all = track_qlog(&traces[0]);
    let d = diagnose_tracks(all.tracks, CaptureInfo::default());
    for f in &d.flows {
        println!("{:?} {:?} {} {:?}", f.cause, f.causes, f.measures.lost_down, f.measures.rtt_ms);
    }
    println!("{:?}", d.limiters);
    (d, all.lost_packets)
}

#[test]
fn a_policer_shows_to_the_packet() {
    let (rate, burst) = (1.25e6, 60e3);
    let logs = transfer(&mut Policer { rate, burst, level: 0.0, last: 0.0 }, PLAIN);
    let (d, lost) = diagnosed(&logs.sender);
    let f = &d.flows[0];
    // The last losses were not known yet.
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
fn a_full_queue_and_chance_are_told_apart() {
    let (rate, queue) = (1.25e6, 0.06);
    let (d, lost) = diagnosed(&transfer(&mut Link { rate, queue, free: 0.0 }, PLAIN).sender);
    let f = &d.flows[0];
    assert!(matches!(f.cause, Cause::Congestion | Cause::Bottleneck), "{:?}", f.causes);
    assert_eq!(f.measures.lost_down, lost);
    assert!((f.measures.rtt_ms.max - 101.0).abs() < 3.0, "{:?}", f.measures.rtt_ms);
    let logs = transfer(&mut Random(Stream::new(4, "chance"), 0.01), PLAIN);
    let (d, lost) = diagnosed(&logs.sender);
    let f = &d.flows[0];
    assert!(logs.dropped > 50 && logs.dropped - lost < 10);
    assert_eq!((f.cause, f.measures.lost_down, f.limiter), (Cause::RandomLoss, lost, None));
    assert_eq!(f.measures.data_packets, f.measures.data_packets.max(logs.dropped));
    assert!((f.measures.rtt_ms.p50 - 40.0).abs() < 0.5, "{:?}", f.measures.rtt_ms);
}

/// RFC 9002 section 6: what is declared lost may arrive all the same.
#[test]
fn what_is_given_up_too_soon_is_not_lost() {
    let logs = transfer(&mut Random(Stream::new(4, "chance"), 0.01), Logged { early: true, ..PLAIN });
    let dropped = logs.dropped;
    assert!(logs.sender.matches("packet_lost").count() as u64 > dropped, "some are given up that arrive");
    let (d, lost) = diagnosed(&logs.sender);
    assert!(lost <= dropped && dropped - lost < 10, "{lost} {dropped}");
    assert_eq!(d.flows[0].measures.lost_down, lost);
}

/// RFC 9000 section 4: what the receiver grants is what may be in flight.
#[test]
fn flow_control_is_the_receive_window_at_both_ends() {
    let credit = 64 << 10;
    let logs = transfer(&mut Random(Stream::new(4, "none"), 0.0), Logged { credit: Some(credit), ..PLAIN });
    for log in [&logs.sender, &logs.receiver] {
        let (d, lost) = diagnosed(log);
        let f = &d.flows[0];
        assert_eq!((f.cause, lost), (Cause::ReceiveWindow, 0), "{:?}", f.causes);
        assert!(f.causes[0].share > 0.9, "{:?}", f.causes);
    }
    // A larger one than the congestion window ever is holds nothing back.
    let logs =
        transfer(&mut Random(Stream::new(4, "chance"), 0.01), Logged { credit: Some(16 << 20), ..PLAIN });
    assert_eq!(diagnosed(&logs.sender).0.flows[0].cause, Cause::RandomLoss);
}

/// The receiver's log of a transfer says of it what the sender's does.
#[test]
fn a_receiver_sees_what_was_lost_before_it() {
    let logs = transfer(&mut Random(Stream::new(4, "chance"), 0.01), PLAIN);
    let trace = &read_qlog(&logs.receiver).unwrap()[0];
    assert!(trace.is_of_receiver());
    let (d, lost) = diagnosed(&logs.receiver);
    assert!(logs.dropped.abs_diff(lost) * 20 < logs.dropped, "{} {lost}", logs.dropped);
    assert_eq!(d.flows[0].cause, Cause::RandomLoss, "{:?}", d.flows[0].causes);
    let link = || Link { rate: 1.25e6, queue: 0.06, free: 0.0 };
    let (d, _) = diagnosed(&transfer(&mut link(), PLAIN).receiver);
    assert!(matches!(d.flows[0].cause, Cause::Congestion | Cause::Bottleneck), "{:?}", d.flows[0].causes);
}

/// quinn logs no frames: its bytes in flight say what was acknowledged.
#[test]
fn without_frames_bytes_in_flight_are_the_acks() {
    let logs = transfer(&mut Random(Stream::new(4, "chance"), 0.01), Logged { frames: false, ..PLAIN });
    let (d, lost) = diagnosed(&logs.sender);
    let f = &d.flows[0];
    assert!(logs.dropped - lost < 10, "{} {lost}", logs.dropped);
    assert_eq!(f.cause, Cause::RandomLoss, "{:?}", f.causes);
    assert!((f.measures.rtt_ms.p50 - 40.0).abs() < 2.0, "{:?}", f.measures.rtt_ms);
}

#[test]
fn a_sender_with_nothing_to_send_is_the_application() {
    let logged = Logged { writes: Some(2e5), ..PLAIN };
    let logs = transfer(&mut Random(Stream::new(4, "none"), 0.0), logged);
    assert_eq!(diagnosed(&logs.sender).0.flows[0].cause, Cause::Application);
}

/// A log that ends anywhere gives a diagnosis, or an error that says why not.
#[test]
fn a_log_that_is_cut_at_any_line_is_judged_or_refused() {
    let logs =
        transfer(&mut Random(Stream::new(4, "chance"), 0.02), Logged { credit: Some(1 << 20), ..PLAIN });
    for log in [&logs.sender, &logs.receiver] {
        let ends: Vec<usize> = log.match_indices('\n').map(|(i, _)| i + 1).collect();
        // Each line at the begin, then ever fewer.
        let steps = (0..ends.len()).filter(|i| *i < 60 || i % (ends.len() / 40).max(1) == 0);
        for end in steps.map(|i| ends[i]) {
            // In the middle of the next line, too.
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
