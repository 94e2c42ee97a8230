//! One path captured at both ends: what was lost between the captures, and how long everything took, is known.
//!
//! Both files are read twice. First, connections are paired ([`seen`]), and flows of UDP ([`datagrams`]), the clocks laid beside
//! each other ([`clock`]), and the fate of each packet found ([`fates`], [`spread`]). Then each capture goes through a tracker of its own, which is told these fates in
//! place of its guesses; of each connection's direction the track of the capture nearer to its sender counts, so that all data
//! is told as its sender's side has it. All is told by the clock and the addresses of the first capture, `here`, and connections
//! that only the other capture has are counted, not told.

mod clock;
mod datagrams;
mod fates;
mod seen;
mod spread;
mod way;

pub use crate::between::{DatagramsBetween, LateSpan, LostOnWay, PacketBeyond, WayBetween};
pub use clock::ClockFit;

use crate::udp::{UdpTrack, UdpTracker};
use crate::{PacketRecorder, Totals, Track, Tracker, TrackerOptions};
use capture::{Batch, BatchPart, CaptureReader, FileInfo, OpenError, PacketFilter, TcpPacket};
use clock::difference;
use datagrams::{RenamedDatagrams, SeenDatagrams};
use seen::SeenCapture;
use spread::UdpSpread;
use std::path::Path;
use units::Time;
use way::{NamedWay, Renamed, Ways, sure_ways};

/// Why two captures make no whole.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// One of them cannot be read.
    #[error("{0}")]
    Open(OpenError),
    /// No connection and no flow of UDP is in both.
    #[error(
        "no TCP connection is in both captures ({} in the first, {} in the second), neither by addresses and ports, nor by \
         the sequence numbers of its SYNs, and no UDP flow ({} and {} directions), neither by addresses and ports nor by its \
         payload; what terminates TCP on the way makes two connections of one",
        .connections[0], .connections[1], .flows[0], .flows[1]
    )]
    NoneShared {
        /// Connections in each.
        connections: [usize; 2],
        /// Directions of UDP flows in each.
        flows: [usize; 2],
    },
    /// No packets of both directions of TCP passed both captures, or one of their clocks was set meanwhile.
    #[error("the captures' clocks cannot be laid beside each other: {}", no_clock(*.packets))]
    Clocks {
        /// Packets found in both captures, of either direction.
        packets: [usize; 2],
    },
}

/// Why the clocks have no common time, by the packets of either direction that both captures have.
fn no_clock(packets: [usize; 2]) -> String {
    let [a, b] = packets;
    if a == 0 || b == 0 {
        format!("{a} packets of one direction and {b} of the other are in both; it takes some of each")
    } else {
        "one of them was set meanwhile; --from and --to take the part before or after that".into()
    }
}

/// What was found out about two captures as a whole.
#[derive(Clone, Debug)]
pub struct PairedCaptures {
    /// The clocks.
    pub clock: ClockFit,
    /// Connections that both have.
    pub paired: u64,
    /// Of these, those whose addresses or ports are others there (NAT).
    pub translated: u64,
    /// Connections that only one has: here, there.
    pub alone: [u64; 2],
    /// Directions of UDP flows that both have, and of these those whose addresses or ports are others there.
    pub paired_udp: [u64; 2],
    /// Directions of UDP flows that only one has: here, there.
    pub alone_udp: [u64; 2],
    /// Packets of the paired connections and flows that one capture should have seen and did not, as the other shows: here, there.
    pub missed: [u64; 2],
}

/// Two captures put together.
pub struct BothEndsTracks {
    /// Of the connections that the first has, in their order, the opener's direction first.
    pub tracks: Vec<Track>,
    /// Here, there.
    pub files: [FileInfo; 2],
    /// Of the first.
    pub totals: Totals,
    /// What was found out about both.
    pub paired: PairedCaptures,
    /// The first's flows of UDP, and how many were forgotten.
    pub udp: (Vec<UdpTrack>, u64),
}

/// Reads two captures, which `open` opens, `filter` being for the first, and follows the connections that the first has.
/// `recorder` gets the packets of the first. `progress` gets bytes read and to be read of all four readings.
pub fn track_both_ends(
    paths: [&Path; 2],
    filter: &PacketFilter,
    options: TrackerOptions,
    recorder: Option<Box<dyn PacketRecorder>>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<BothEndsTracks, PairError> {
    let mut done = 0;
    let all = paths.iter().map(|path| path.metadata().ok().map(|m| 2 * m.len())).sum::<Option<u64>>();
    let mut read = |path: &Path, filter: &PacketFilter, take: &mut dyn FnMut(&Batch)| {
        let mut reader = CaptureReader::open(path).map_err(PairError::Open)?;
        reader.keep(filter.clone());
        let mut batch = Batch::default();
        while reader.fill(&mut batch) {
            take(&batch);
            batch.clear();
            progress(done + reader.progress().0, all);
        }
        done += reader.progress().0;
        Ok(reader.info())
    };
    let mut seen = [SeenCapture::default(), SeenCapture::default()];
    let mut seen_udp = [SeenDatagrams::default(), SeenDatagrams::default()];
    for (i, filter) in [filter, &PacketFilter::default()].into_iter().enumerate() {
        let file = read(paths[i], filter, &mut |batch| {
            batch.packets.iter().for_each(|p| seen[i].packet(p));
            batch.datagrams.iter().for_each(|d| seen_udp[i].datagram(d));
        })?;
        seen[i].watched = file.times.unwrap_or_default();
    }
    let pairs = seen::connections([&seen[0], &seen[1]]);
    let mut udp_pairs = datagrams::udp_pairs(seen_udp.each_ref());
    if pairs.is_empty() && udp_pairs.is_empty() {
        let connections = seen.each_ref().map(|s| s.connections.len());
        return Err(PairError::NoneShared { connections, flows: seen_udp.each_ref().map(|s| s.flows.len()) });
    }
    let (sure, firsts) = sure_ways(&seen, &pairs);
    let clock = datagrams::clock_of(sure, &udp_pairs)?;
    datagrams::set_firsts_by_clock(&mut udp_pairs, &clock);
    seen[1].set_clock(&clock);
    seen_udp[1].set_clock(&clock);
    let ways = Ways::of(&seen, &pairs, &firsts, &clock);
    let beyond = ways.told();
    let watched = seen.each_ref().map(|s| s.watched);
    let spreads: Vec<UdpSpread> = udp_pairs
        .iter()
        .map(|pair| spread::spread(seen_udp.each_ref(), pair, watched, clock.two_way))
        .collect();
    let beyond_udp = spread::told_datagrams(&spreads, seen_udp.each_ref().map(|s| s.count));
    let unsent = |first| spreads.iter().filter(|s| s.first == first).map(|s| s.unsent).sum::<u64>();
    let missed = ways.missed();
    let paired = PairedCaptures {
        clock,
        paired: pairs.len() as u64,
        translated: pairs.iter().filter(|p| p.translated).count() as u64,
        alone: [0, 1].map(|i| (seen[i].connections.len() - pairs.len()) as u64),
        paired_udp: [udp_pairs.len(), udp_pairs.iter().filter(|p| p.translated).count()].map(|n| n as u64),
        alone_udp: [0, 1].map(|i| (seen_udp[i].flows.len() - udp_pairs.len()) as u64),
        missed: [0, 1].map(|i| missed[i] + unsent(i)),
    };
    let between = ways.between();
    let renamed = Renamed::of(&seen, &pairs);
    let renamed_udp = RenamedDatagrams::of(seen_udp.each_ref(), &udp_pairs);
    // Of the other capture the same time as of this one, where a part of that is asked for.
    let asked = filter.from.or(filter.to).and(seen[0].times);
    let is_asked = |time: Time| asked.is_none_or(|(from, to)| from <= time && time <= to);
    drop(ways);
    drop((seen, seen_udp));

    // The second reading.
    let mut tracker = Tracker::new(options);
    if let Some(recorder) = recorder {
        tracker.set_recorder(recorder);
    }
    let mut told = beyond[0].iter();
    let mut datagrams = UdpTracker::default();
    let mut told_udp = beyond_udp[0].iter();
    let here = read(paths[0], filter, &mut |batch| {
        batch.datagrams.iter().for_each(|d| {
            datagrams.datagram_known(d, told_udp.next().copied().unwrap_or_default());
        });
        batch.in_order().for_each(|part| match part {
            BatchPart::Packets(packets) => packets.iter().for_each(|p| {
                tracker.packet_known(p, told.next().copied().unwrap_or_default());
            }),
            BatchPart::Report(report) => tracker.report(report),
        });
    })?;
    let mut tracks = Vec::new();
    let totals = tracker.finish(&mut tracks);
    let mut tracker = Tracker::new(options);
    let mut datagrams_there = UdpTracker::default();
    let (mut at, mut at_udp) = (0, 0);
    let there = read(paths[1], &PacketFilter::default(), &mut |batch| {
        for p in &batch.packets {
            let told = beyond[1].get(at).copied().unwrap_or_default();
            let as_here = renamed.packet(at, TcpPacket { time: clock.here(p.time), ..*p });
            at += 1;
            if let Some(p) = as_here.filter(|p| is_asked(p.time)) {
                tracker.packet_known(&p, told);
            }
        }
        for d in &batch.datagrams {
            let told = beyond_udp[1].get(at_udp).copied().unwrap_or_default();
            let as_here = renamed_udp.datagram(at_udp, clock.here(d.time), *d);
            at_udp += 1;
            if let Some(d) = as_here.filter(|d| is_asked(d.time)) {
                datagrams_there.datagram_known(&d, told);
            }
        }
    })?;
    let mut others = Vec::new();
    tracker.finish(&mut others);
    others.retain(|t| between.iter().any(|w| w.first == 1 && (w.from, w.to) == (t.sender, t.receiver)));
    replace(&mut tracks, others);
    between.into_iter().for_each(|way| attach(&mut tracks, way));
    tracks.iter_mut().filter(|t| t.between.is_some()).for_each(settle);
    tracks.sort_by_key(|t| (t.connection, !t.opened));
    let mut udp = datagrams.finish();
    spread::join_datagrams(&mut udp.0, datagrams_there.finish().0, spreads);
    Ok(BothEndsTracks { tracks, files: [here, there], totals, paired, udp })
}

/// Puts the tracks of the capture on the sender's side in the place of the other's.
fn replace(tracks: &mut Vec<Track>, others: Vec<Track>) {
    for other in others {
        let apart = |t: &Track| difference(t.first, other.first).unsigned_abs();
        let ends = (other.sender, other.receiver);
        let known = (0..tracks.len()).filter(|i| (tracks[*i].sender, tracks[*i].receiver) == ends);
        if let Some(i) = known.min_by_key(|i| apart(&tracks[*i])) {
            let (connection, opened) = (tracks[i].connection, tracks[i].opened);
            tracks[i] = Track { connection, opened, ..other };
            continue;
        }
        // Nothing of it came here: it has the number of what went the other way.
        let back = tracks.iter().filter(|t| (t.receiver, t.sender) == ends).min_by_key(|t| apart(t));
        let (connection, opened) = match back {
            Some(back) => (back.connection, !back.opened),
            None => (tracks.iter().map(|t| t.connection + 1).max().unwrap_or(0), other.opened),
        };
        tracks.push(Track { connection, opened, ..other });
    }
}

/// Gives what is known of a direction to the track that it is about.
fn attach(tracks: &mut [Track], way: NamedWay) {
    let of = tracks.iter_mut().filter(|t| (t.sender, t.receiver) == (way.from, way.to));
    if let Some(t) = of.min_by_key(|t| difference(t.first, way.begin).unsigned_abs()) {
        t.between = Some(Box::new(way.between));
    }
}

/// What the log has of queueing becomes the round trip that an empty way back would have made of it: the least one, and the
/// queueing. What was sent again in vain is known.
fn settle(t: &mut Track) {
    let Some(between) = &t.between else { return };
    let base = t.rtt.min().or(t.handshake.rtt);
    for p in &mut t.log {
        p.rtt = base.and_then(|base| Some(base + p.rtt.get()?)).into();
    }
    let mss = u64::from(t.mss.unwrap_or(1)).max(1);
    t.counts.spurious = between.needless_bytes.div_ceil(mss).min(t.counts.retransmitted_packets);
}
