//! Measures how late hosts are: from a packet's arrival to its effect, and from a flow's start to its SYN, on
//! the kernel in the lab and in the simulator. `crates/engine/sim/src/host_jitter.rs` draws from the kernel's
//! values.
//!
//! longfat controls the path, so the moment when a packet is due at a host is known to the nanosecond. If the
//! engine delivers it late or reads the answer late, that is part of the measurement, like a network card and
//! its interrupt. The host's own share is measured separately ([`Lateness::turn`]). An answer is attributed
//! to a packet only if nothing else can have caused it: the first ACK of exactly its last byte, or the first
//! data after an ACK and before the next one. Anything longer than [`MAX_LATENESS`] waited for a timer and is
//! left out.

use capture::{CaptureReader, TcpFlags};
use path::Packet;
use scenario::{Experiment, Scenario};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use transport::{Flags, Segment};
use units::{Span, Time};

/// The shortest timer that delays an answer is SACK compression's, the next one the delayed ACK's tick of 4
/// ms.
const MAX_LATENESS: Span = Span::from_micros(900);
/// The paths between the hosts `a` and `b`: rate, queue in packets, and congestion control; the delay is 5 ms
/// each way.
const PATHS: [(&str, u32, &str); 4] = [
    ("3Mbit/s", 100, "reno"),
    ("10Mbit/s", 100, "cubic"),
    ("25Mbit/s", 60, "cubic"),
    ("50Mbit/s", 40, "reno"),
];

/// Measured delays, in nanoseconds, unsorted.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// From data at the receiver to its ACK.
    pub receiver: Vec<f64>,
    /// From an ACK at the sender to the data that it releases.
    pub sender: Vec<f64>,
    /// From the delivery of an ACK to the sender's host to the data that it releases.
    pub turn: Vec<f64>,
    /// From the start time of a host's first flow to its SYN, and between the SYNs of flows that start
    /// together.
    pub start: Vec<f64>,
}

/// A segment at a host, with its arrival or departure time.
#[derive(Clone, Copy, Debug)]
struct SeenSegment {
    at: Time,
    /// The sequence number after its last byte.
    end: u32,
    ack: u32,
    len: u32,
    syn: bool,
}

/// Segments due at the hosts `a` and `b`, and segments that left them.
#[derive(Default)]
struct HostsSeen {
    arrived: [Vec<SeenSegment>; 2],
    /// Segments delivered to `a`, with the delivery time; in the simulator, the due time.
    handed: Vec<SeenSegment>,
    left: [Vec<SeenSegment>; 2],
}

fn scenario(rate: &str, queue: u32, cc: &str, flows: u32, seconds: u32) -> Result<Scenario, String> {
    let text = format!(
        r#"name = "late"
duration = "{seconds}s"
sample = "0s"
[links.path]
between = ["a", "b"]
forward = [{{ kind = "link", rate = "{rate}", queue = {{ kind = "fifo", packets = {queue} }} }}, {{ kind = "delay", delay = "5ms" }}]
backward = [{{ kind = "delay", delay = "5ms" }}]
[flows.f]
from = "a"
to = "b"
cc = "{cc}"
count = {flows}
"#
    );
    let experiment = Experiment::parse("late.toml", &text, &[]).map_err(|e| e.to_string())?;
    experiment.variants.into_iter().next().map(|v| v.scenario).ok_or_else(|| "no variant".into())
}

/// Measures how late the kernel's hosts are, or the simulator's with host jitter.
///
/// # Errors
/// Fails if the lab cannot run it.
pub fn learn(on_kernel: bool, rounds: u64) -> Result<Lateness, String> {
    let look = if on_kernel { on_the_kernel } else { simulated };
    let mut late = Lateness::default();
    for seed in 1..=rounds {
        for (rate, queue, cc) in PATHS {
            let seen = look(&scenario(rate, queue, cc, 1, 4)?, seed)?;
            late.receiver.extend(acknowledged(&seen));
            late.sender.extend(released(&seen.arrived[0], &seen.left[0]));
            late.turn.extend(released(&seen.handed, &seen.left[0]));
            let seen = look(&scenario(rate, queue, cc, 4, 1)?, seed)?;
            late.start.extend(begun(&seen));
        }
    }
    Ok(late)
}

/// Delays of pure ACKs that `b` sent immediately for a packet.
fn acknowledged(seen: &HostsSeen) -> Vec<f64> {
    let mut known = BTreeSet::new();
    let mut data = seen.arrived[1].iter().filter(|p| p.len > 0).peekable();
    let mut last: Option<&SeenSegment> = None;
    let mut late = Vec::new();
    for ack in seen.left[1].iter().filter(|p| p.len == 0 && !p.syn) {
        while let Some(packet) = data.next_if(|p| p.at <= ack.at) {
            last = Some(packet);
        }
        if let Some(packet) = last.filter(|p| p.end == ack.ack)
            && known.insert(ack.ack)
        {
            late.push(ack.at.since(packet.at));
        }
    }
    short_delays(late)
}

/// Delays of data that `a` sent after an ACK and before the next one.
fn released(came: &[SeenSegment], left: &[SeenSegment]) -> Vec<f64> {
    let acks: Vec<&SeenSegment> = came.iter().filter(|p| !p.syn).collect();
    let mut data = left.iter().filter(|p| p.len > 0).peekable();
    let mut late = Vec::new();
    for pair in acks.windows(2) {
        while data.next_if(|p| p.at < pair[0].at).is_some() {}
        if let Some(first) = data.peek().filter(|p| p.at < pair[1].at) {
            late.push(first.at.since(pair[0].at));
        }
    }
    short_delays(late)
}

/// Time of the first SYN, then from one SYN to the next.
fn begun(seen: &HostsSeen) -> Vec<f64> {
    let mut before = Time::ZERO;
    let syns = seen.left[0].iter().filter(|p| p.syn).map(|p| {
        let late = p.at.since(before);
        before = p.at;
        late.as_nanos() as f64
    });
    syns.collect()
}

fn short_delays(late: Vec<Span>) -> Vec<f64> {
    late.into_iter().filter(|&s| s <= MAX_LATENESS).map(|s| s.as_nanos() as f64).collect()
}

/// An unnamed temporary file.
fn unnamed_file(number: usize) -> Result<File, String> {
    let path = std::env::temp_dir().join(format!("longfat-late-{}-{number}", std::process::id()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path).map_err(|e| e.to_string())?;
    std::fs::remove_file(&path).map_err(|e| e.to_string())?;
    Ok(file)
}

fn on_the_kernel(scenario: &Scenario, seed: u64) -> Result<HostsSeen, String> {
    // Two hosts; what left the link; the delay forward; the delay back.
    let files = (0..5).map(unnamed_file).collect::<Result<Vec<_>, _>>()?;
    let copies =
        files.iter().map(|f| f.try_clone().map_err(|e| e.to_string())).collect::<Result<Vec<_>, _>>()?;
    let mut copies = copies.into_iter();
    let captures = lab::Captures { hosts: copies.by_ref().take(2).collect(), stages: copies.collect() };
    let options = lab::LabOptions { seed, pcap: Some(captures), ..Default::default() };
    lab::run("kernel", scenario, options).map_err(|e| e.to_string())?;
    let [a, b, _, there, back] = &files[..] else { return Err("expected five capture files".into()) };
    let from = |host: u8, packets: Vec<(u8, SeenSegment)>| -> Vec<SeenSegment> {
        packets.into_iter().filter(|(src, _)| *src == host).map(|(_, p)| p).collect()
    };
    let (there, back) = (read(there)?, read(back)?);
    // Identify the hosts: the first to send is `a`.
    let (first, second) = (there.first().map_or(0, |p| p.0), back.first().map_or(0, |p| p.0));
    let (a, b) = (read(a)?, read(b)?);
    Ok(HostsSeen {
        arrived: [from(second, back), from(first, there)],
        handed: from(second, a.clone()),
        left: [from(first, a), from(second, b)],
    })
}

/// The segments of a capture, each with the last byte of its source's address.
fn read(file: &File) -> Result<Vec<(u8, SeenSegment)>, String> {
    let mut file = file.try_clone().map_err(|e| e.to_string())?;
    file.seek(SeekFrom::Start(0)).map_err(|e| e.to_string())?;
    let mut reader = CaptureReader::from_reader(Box::new(file), "late").map_err(|e| e.to_string())?;
    let mut batch = capture::Batch::default();
    while reader.fill(&mut batch) {}
    let passing = |p: &capture::TcpPacket| {
        let end = p.seq.wrapping_add(p.len);
        SeenSegment { at: p.time, end, ack: p.ack, len: p.len, syn: p.flags.has(TcpFlags::SYN) }
    };
    let host = |p: &capture::TcpPacket| match p.src.addr.ip() {
        std::net::IpAddr::V4(ip) => ip.octets()[3],
        std::net::IpAddr::V6(ip) => ip.octets()[15],
    };
    Ok(batch.packets.iter().map(|p| (host(p), passing(p))).collect())
}

fn simulated(scenario: &Scenario, seed: u64) -> Result<HostsSeen, String> {
    let mut seen = HostsSeen::default();
    let options = sim::SimOptions { seed, host_jitter: true, tap: Some(&mut seen), ..Default::default() };
    sim::run("sim", scenario, options);
    seen.handed = seen.arrived[0].clone();
    Ok(seen)
}

impl sim::Tap for HostsSeen {
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        outgoing: bool,
        packet: &Packet<Segment>,
        _: usize,
        _: usize,
    ) {
        let seg = &packet.body;
        let passing = SeenSegment {
            at: now,
            end: (seg.seq as u32).wrapping_add(seg.len),
            ack: seg.ack as u32,
            len: seg.len,
            syn: seg.flags.has(Flags::SYN),
        };
        let side = if outgoing { &mut self.left } else { &mut self.arrived };
        side[host].push(passing);
    }
}
