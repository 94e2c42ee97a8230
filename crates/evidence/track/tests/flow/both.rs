//! Both ends of one path: each packet's fate is found despite clock offset, NAT and segmentation offload.

use crate::vantage::{Run, run};
use crate::{BLOAT, DELAY, HEAVY, LOSS, OUTAGE, POLICER, RECEIVER, REORDER, SENDER, check, transfer};
use capture::{Addr, Frame, PacketFilter, PcapWriter, TcpFlags, TcpPacket};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use track::both_ends::{BothEndsTracks, PairError, track_both_ends};
use track::{PacketFate, Track, TrackerOptions};
use units::{Span, Time};

fn written(name: &str, packets: &[TcpPacket]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("longfat-both-{name}-{}.pcap", std::process::id()));
    let mut out = PcapWriter::new(BufWriter::new(File::create(&path).unwrap())).unwrap();
    packets.iter().for_each(|p| out.write(&Frame::of(p)).unwrap());
    path
}

fn both(name: &str, here: &[TcpPacket], there: &[TcpPacket]) -> Result<BothEndsTracks, PairError> {
    let paths = [written(&format!("{name}-a"), here), written(&format!("{name}-b"), there)];
    let options = TrackerOptions::default();
    let files = [paths[0].as_path(), paths[1].as_path()];
    let out = track_both_ends(files, &PacketFilter::default(), options, None, &mut |_, _| {});
    paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    out
}

fn put_together(name: &str, here: &[TcpPacket], there: &[TcpPacket]) -> BothEndsTracks {
    both(name, here, there).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Captures with a clock that is ahead by this many ns and faster by this share.
fn clocked(packets: &[TcpPacket], ahead: i64, drift: f64) -> Vec<TcpPacket> {
    let begin = packets[0].time;
    let set = |p: &TcpPacket| {
        let since = (p.time.since(begin).as_nanos() as f64 * (1.0 + drift)).round() as i64;
        TcpPacket { time: Time::from_nanos(begin.as_nanos().saturating_add_signed(since + ahead)), ..*p }
    };
    packets.iter().map(set).collect()
}

/// Replaces the simulator's initial sequence numbers, which are 0, by random ones.
fn numbered(packets: &[TcpPacket]) -> Vec<TcpPacket> {
    let number = |p: &TcpPacket| {
        let isn = |port: u16| 0x9e37_79b9u32.wrapping_mul(u32::from(port));
        let (own, other) = (isn(p.src.port), isn(p.dst.port));
        let mut q = *p;
        q.seq = q.seq.wrapping_add(own);
        q.ack = if q.flags.has(TcpFlags::ACK) { q.ack.wrapping_add(other) } else { 0 };
        for (a, b) in &mut q.options.sack {
            (*a, *b) = (a.wrapping_add(other), b.wrapping_add(other));
        }
        q
    };
    packets.iter().map(number).collect()
}

/// Translates the client's address and port and assigns new identifications.
fn translated(packets: &[TcpPacket]) -> Vec<TcpPacket> {
    let mut next = 1000u16;
    let translate = |p: &TcpPacket| {
        let mut q = *p;
        for end in [&mut q.src, &mut q.dst] {
            if end.port != 5201 {
                (end.addr, end.port) = (Addr::v4([203, 0, 113, 9]), end.port ^ 0x1fff);
            }
        }
        next = next.wrapping_add(1);
        q.id = next;
        q
    };
    packets.iter().map(translate).collect()
}

/// Segmentation offload: up to `most` segments sent within a millisecond become one packet, with consecutive
/// identifications.
fn offloaded(packets: &[TcpPacket], most: u32) -> Vec<TcpPacket> {
    let mut out: Vec<TcpPacket> = Vec::new();
    for p in packets {
        let joins = |last: &TcpPacket| {
            last.src == p.src
                && last.len > 0
                && p.len > 0
                && last.seq.wrapping_add(last.len) == p.seq
                && last.options == p.options
                && last.ack == p.ack
                && last.len + p.len <= most * 1448
                && p.time.since(last.time) < Span::from_millis(1)
        };
        match out.last_mut().filter(|last| joins(last)) {
            Some(last) => last.len += p.len,
            None => out.push(*p),
        }
    }
    out
}

/// A packet that left the first host for the last, and its transit time if it arrived.
type Journey = (TcpPacket, Option<Span>);

/// All such packets, by identification and sequence number: the simulator counts packets modulo 2^16.
fn truth(r: &Run) -> Vec<Journey> {
    let hosts = &r.captures.hosts;
    let mut came: BTreeMap<(u16, u32), Vec<Time>> = BTreeMap::new();
    for p in hosts[RECEIVER].iter().filter(|p| p.dst.port == 5201) {
        came.entry((p.id, p.seq)).or_default().push(p.time);
    }
    let sent = hosts[SENDER].iter().filter(|p| p.dst.port == 5201);
    let took = |p: &TcpPacket| {
        let times = came.get(&(p.id, p.seq))?.iter().filter(|t| **t > p.time);
        times.map(|t| t.since(p.time)).min().filter(|took| *took < Span::from_secs(2))
    };
    sent.map(|p| (*p, took(p))).collect()
}

/// Number of data packets that were lost.
fn lost(r: &Run) -> u64 {
    truth(r).iter().filter(|(p, took)| p.len > 0 && took.is_none()).count() as u64
}

fn upload(tracks: &[Track]) -> &Track {
    tracks.iter().find(|t| t.receiver.port == 5201).unwrap()
}

/// Checks the result against the truth; delays must agree to within `error` ns.
fn is_right(label: &str, found: &BothEndsTracks, truth: &[Journey], error: u64) {
    let t = upload(&found.tracks);
    check(t);
    let between = t.between.as_ref().unwrap_or_else(|| panic!("{label}: not paired"));
    let data = || truth.iter().filter(|(p, _)| p.len > 0);
    let lost: Vec<Time> = data().filter(|(_, took)| took.is_none()).map(|(p, _)| p.time).collect();
    assert_eq!((between.unknown_packets, between.lost_packets), (0, lost.len() as u64), "{label}");
    let found_times: Vec<Time> = between.lost.iter().map(|l| l.time).collect();
    let expected: Vec<Time> = lost.iter().copied().take(1000).collect();
    assert_eq!(found_times, expected, "{label}: which were lost");
    let logged: Vec<Time> = t.log.iter().filter(|p| p.fate == PacketFate::LostDown).map(|p| p.time).collect();
    assert_eq!(logged, lost, "{label}: in the tracker's log");
    assert_eq!((t.counts.lost_up, t.counts.lost_down), (0, lost.len() as u64), "{label}");
    // A retransmission of a packet that was not lost before is spurious.
    let mut arrived: BTreeSet<u32> = BTreeSet::new();
    let mut needless = 0;
    let mut in_time: Vec<_> = data().collect();
    in_time.sort_by_key(|(p, _)| p.time);
    for (p, took) in in_time {
        needless += u64::from(arrived.contains(&p.seq)) * u64::from(p.len);
        if took.is_some() {
            arrived.insert(p.seq);
        }
    }
    assert_eq!(between.spurious_bytes, needless, "{label}");
    // The log's round trip is the minimum RTT plus the queueing delay of this direction, to its resolution of
    // a microsecond.
    let least = truth.iter().filter_map(|(_, took)| *took).min().unwrap();
    let base = t.rtt.min().unwrap();
    let took: Vec<(Time, Span)> = data().filter_map(|(p, took)| Some((p.time, (*took)?))).collect();
    let passed: Vec<_> = t.log.iter().filter(|p| p.fate == PacketFate::Passed).collect();
    assert_eq!(passed.len(), took.len(), "{label}");
    for (p, (time, took)) in passed.iter().zip(took) {
        assert_eq!(p.time, time, "{label}");
        let late = p.rtt.get().unwrap() - base;
        let off = late.as_nanos().abs_diff((took - least).as_nanos());
        assert!(off <= error + 2_000, "{label}: {off} ns, {late:?} for {:?}", took - least);
    }
}

#[test]
fn each_loss_and_each_delay_is_known_whatever_the_clocks() {
    for (name, stage) in
        [("policer", POLICER), ("loss", HEAVY), ("reorder", REORDER), ("bloat", BLOAT), ("outage", OUTAGE)]
    {
        for (ahead, drift) in [(0, 0.0), (-7_200_123_456_789, 45e-6), (1_000_000, -80e-6)] {
            let stack = if drift > 0.0 { "stack = { timestamps = false }" } else { "" };
            let r = transfer(stage, true, stack, stack, 3);
            let there = clocked(&r.captures.hosts[RECEIVER], ahead, drift);
            let label = format!("{name} {ahead} {drift}");
            let found = put_together("clocks", &r.captures.hosts[SENDER], &there);
            let fit = found.paired.clock;
            assert!((fit.drift - drift).abs() < 10e-6, "{label}: {fit:?}");
            let off = (fit.offset_ns() - ahead).unsigned_abs();
            assert!(off <= fit.round_trip.as_nanos() / 2, "{label}: {off} ns, {fit:?}");
            assert_eq!((found.paired.paired, found.paired.translated, found.paired.alone), (1, 0, [0, 0]));
            assert_eq!(found.paired.missed, [0, 0], "{label}");
            is_right(&label, &found, &truth(&r), 60_000);
        }
    }
}

#[test]
fn connections_behind_nat_are_paired_by_their_handshake() {
    let r = transfer(LOSS, true, "", "", 5);
    let [here, there] = [SENDER, RECEIVER].map(|host| numbered(&r.captures.hosts[host]));
    let found = put_together("nat", &here, &clocked(&translated(&there), 30_000_000_000, 20e-6));
    assert_eq!((found.paired.paired, found.paired.translated), (1, 1));
    is_right("nat", &found, &truth(&r), 60_000);
    // Without the handshake nothing shows that the connections are the same.
    let late = |packets: &[TcpPacket]| packets.iter().skip(200).copied().collect::<Vec<_>>();
    let none = both("nat-late", &late(&here), &late(&translated(&there)));
    assert!(matches!(none, Err(PairError::NoneShared { connections: [1, 1], .. })));
}

/// The sender's capture shows up to 40 segments as one packet, the receiver's up to 16.
#[test]
fn offload_on_both_sides_hides_no_loss() {
    for stage in [POLICER, LOSS] {
        let r = transfer(stage, true, "", "", 2);
        let hosts = &r.captures.hosts;
        let sent = offloaded(&hosts[SENDER], 40);
        assert!(sent.len() * 10 < hosts[SENDER].len() * 9, "{} of {}", sent.len(), hosts[SENDER].len());
        let found = put_together("offload", &sent, &offloaded(&hosts[RECEIVER], 16));
        let t = upload(&found.tracks);
        check(t);
        let bytes: u64 = t.between.as_ref().unwrap().lost.iter().map(|l| u64::from(l.bytes)).sum();
        let truly: u64 =
            truth(&r).iter().filter(|(_, took)| took.is_none()).map(|(p, _)| u64::from(p.len)).sum();
        assert_eq!(bytes, truly);
        assert_eq!(t.counts.lost_down, lost(&r));
        assert_eq!(t.between.as_ref().unwrap().unknown_packets, 0);
    }
}

#[test]
fn packets_missing_from_a_capture_are_not_losses() {
    let r = transfer(LOSS, true, "", "", 4);
    let hosts = &r.captures.hosts;
    // Every hundredth packet that arrived is missing from the receiver's capture.
    let mut n = 0;
    let mut keep = |p: &&TcpPacket| {
        n += u32::from(p.len > 0);
        p.len == 0 || !n.is_multiple_of(100)
    };
    let gaps: Vec<TcpPacket> = hosts[RECEIVER].iter().filter(&mut keep).copied().collect();
    let found = put_together("gaps", &hosts[SENDER], &gaps);
    let between = upload(&found.tracks).between.as_ref().unwrap();
    let missing = (hosts[RECEIVER].len() - gaps.len()) as u64;
    // A packet that was lost, retransmitted and then missing there still counts as lost, as does the first of
    // both.
    assert!(between.unknown_packets >= missing, "{} {missing}", between.unknown_packets);
    assert!(between.unknown_packets <= missing + 5, "{} {missing}", between.unknown_packets);
    assert!(between.lost_packets <= lost(&r) && between.lost_packets + 5 >= lost(&r));
    assert_eq!(found.paired.missed[0], 0);
    assert!(found.paired.missed[1].abs_diff(missing) <= 5, "{:?}", found.paired.missed);
    // The receiver's capture begins a second late and ends a second early.
    let [first, last] = [hosts[SENDER].first().unwrap().time, hosts[SENDER].last().unwrap().time];
    let inside = |p: &&TcpPacket| p.time > first + Span::from_secs(1) && p.time + Span::from_secs(1) < last;
    let part: Vec<TcpPacket> = hosts[RECEIVER].iter().filter(inside).copied().collect();
    let found = put_together("part", &hosts[SENDER], &part);
    let between = upload(&found.tracks).between.as_ref().unwrap();
    let truly = truth(&r);
    let within = truly.iter().filter(|(p, took)| p.len > 0 && took.is_none());
    let (from, to) = (part[0].time, part.last().unwrap().time);
    let within = within.filter(|(p, _)| p.time > from && p.time + Span::from_millis(11) < to).count() as u64;
    assert!(
        between.lost_packets <= within && between.lost_packets + 2 >= within,
        "{within} {}",
        between.lost_packets
    );
    assert!(between.unknown_packets > 500, "{}", between.unknown_packets);
}

#[test]
fn a_duplicate_record_counts_once() {
    let r = transfer(LOSS, true, "", "", 6);
    let mut twice = Vec::new();
    for p in &r.captures.hosts[SENDER] {
        twice.push(*p);
        if p.len > 0 {
            twice.push(TcpPacket { time: p.time + Span::from_micros(7), ttl: p.ttl - 1, ..*p });
        }
    }
    twice.sort_by_key(|p| p.time);
    let found = put_together("twice", &twice, &r.captures.hosts[RECEIVER]);
    is_right("twice", &found, &truth(&r), 60_000);
}

/// Each direction is reported from its sender's capture, with one connection number and one clock.
#[test]
fn each_direction_is_reported_from_its_senders_capture() {
    let line = r#"{ kind = "link", rate = "50Mbit/s" }"#;
    let loss =
        |p: &str| format!("{{ kind = \"loss\", name = \"l\", model = \"bernoulli\", probability = {p} }}");
    let flow = |name: &str, from: &str, to: &str| {
        format!(
            "[flows.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\ncc = \"cubic\"\napp = {{ kind = \"bulk\", bytes = \"5MB\" }}\n"
        )
    };
    let there = format!("{line}, {}, {DELAY}", loss("0.01"));
    let back = format!("{line}, {}, {DELAY}", loss("0.02"));
    let flows = flow("up", "a", "b") + &flow("down", "b", "a");
    let r =
        run("duration = \"60s\"\n[hosts.a]\n[hosts.m]\n[hosts.b]", &there, DELAY, &back, DELAY, &flows, 9);
    let hosts = &r.captures.hosts;
    let found = put_together("ways", &hosts[SENDER], &clocked(&hosts[RECEIVER], 5_000_000_000, 30e-6));
    let dropped = |from: usize| {
        let to = if from == SENDER { RECEIVER } else { SENDER };
        let own = hosts[from].iter().find(|p| hosts[to].iter().any(|q| q.id == p.id && q.time > p.time));
        let addr = own.unwrap().src.addr;
        let count = |host: usize| hosts[host].iter().filter(|p| p.len > 0 && p.src.addr == addr).count();
        (addr, (count(from) - count(to)) as u64)
    };
    for from in [SENDER, RECEIVER] {
        let (addr, lost) = dropped(from);
        let t = found.tracks.iter().find(|t| t.sender.addr == addr).unwrap();
        check(t);
        assert_eq!((t.counts.lost_up, t.counts.lost_down), (0, lost), "{from}");
        assert!(lost > 20 && t.between.as_ref().unwrap().unknown_packets == 0);
        assert!(t.first.since(hosts[SENDER][0].time) < Span::from_secs(1), "by the first capture's clock");
        // At its sender: no path lies between the sender and the capture.
        assert!(t.rtt_up.min().unwrap_or_default() < Span::from_millis(1), "{from}: {:?}", t.rtt_up.min());
    }
    let numbers: BTreeSet<u32> = found.tracks.iter().map(|t| t.connection).collect();
    assert_eq!(numbers.len(), found.tracks.len());
}
