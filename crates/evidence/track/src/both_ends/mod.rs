//! One path captured at both ends, so that losses and delays between the captures are known rather than
//! inferred.
//!
//! Both files are read twice. In the first pass connections ([`seen`]) and UDP flows ([`datagrams`]) are
//! paired, the two clocks are aligned ([`clock`]), and the fate of each packet is found ([`fates`],
//! [`delays`]). In the second pass each capture goes through its own tracker, which uses these fates in
//! place of its guesses. Each direction of a connection keeps the track of the capture nearer to its sender,
//! so all data is reported as its sender's side saw it. Results use the clock and the addresses of the first
//! capture, called `here`; the other one is `there`. Connections that are only in the other capture are
//! counted but not reported.

mod clock;
mod datagrams;
mod delays;
mod fates;
mod path;
mod seen;

pub use crate::between::{DatagramsBetween, DelaySlice, ExternalFate, LostPacket, PathBetween};
pub use clock::ClockFit;

use crate::udp::{UdpTrack, UdpTracker};
use crate::{PacketRecorder, Totals, Track, Tracker, TrackerOptions};
use capture::{Batch, BatchPart, CaptureReader, FileInfo, OpenError, PacketFilter, TcpPacket};
use clock::difference;
use datagrams::{RenamedDatagrams, SeenDatagrams};
use delays::UdpMatch;
use path::{NamedResult, PathDirections, Renamed, matched_packets};
use seen::SeenCapture;
use std::path::Path;
use units::Time;

/// Why two captures cannot be combined.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    #[error("{0}")]
    Open(OpenError),
    /// The captures share no connection and no UDP flow.
    #[error(
        "no TCP connection is in both captures ({} in the first, {} in the second), neither by addresses and ports nor by \
         the sequence numbers of its SYNs, and no UDP flow ({} and {} directions), neither by addresses and ports nor by its \
         payload; a proxy between the captures splits one connection into two",
        .connections[0], .connections[1], .flows[0], .flows[1]
    )]
    NoneShared {
        /// Connections in each.
        connections: [usize; 2],
        /// Directions of UDP flows in each.
        flows: [usize; 2],
    },
    /// No TCP packets of both directions passed both captures, or one of the clocks was set during the
    /// captures.
    #[error("the captures' clocks cannot be aligned: {}", why_no_common_clock(*.packets))]
    Clocks {
        /// Packets found in both captures, in each direction.
        packets: [usize; 2],
    },
}

/// Explains why the clocks cannot be aligned, from the number of packets in each direction that both captures
/// contain.
fn why_no_common_clock(packets: [usize; 2]) -> String {
    let [a, b] = packets;
    if a == 0 || b == 0 {
        format!(
            "both captures contain {a} packets of one direction and {b} of the other; some of each are needed"
        )
    } else {
        "one of the clocks was set during the captures; use --from and --to to select the part before or after that"
            .into()
    }
}

/// Facts about the two captures as a whole.
#[derive(Clone, Debug)]
pub struct PairedCaptures {
    pub clock: ClockFit,
    /// Connections that are in both captures.
    pub paired: u64,
    /// Paired connections whose addresses or ports differ between the captures (NAT).
    pub translated: u64,
    /// Connections that are in one capture only: here, there.
    pub alone: [u64; 2],
    /// Directions of UDP flows that are in both captures, and how many of them have other addresses or ports
    /// there.
    pub paired_udp: [u64; 2],
    /// Directions of UDP flows that are in one capture only: here, there.
    pub alone_udp: [u64; 2],
    /// Packets of the paired connections and flows that one capture should contain and does not, as the
    /// other shows: here, there.
    pub missed: [u64; 2],
}

/// Two captures, combined.
pub struct BothEndsTracks {
    /// Tracks of the first capture's connections in their order, the opener's direction first.
    pub tracks: Vec<Track>,
    /// Information about the files: here, there.
    pub files: [FileInfo; 2],
    /// Totals of the first capture.
    pub totals: Totals,
    pub paired: PairedCaptures,
    /// UDP flows of the first capture, and how many were dropped because there were too many.
    pub udp: (Vec<UdpTrack>, u64),
}

/// Reads two captures and tracks the connections of the first. `filter` applies to the first. `recorder`
/// receives the packets of the first. `progress` receives the bytes read and the total of all four readings.
///
/// # Errors
/// Fails when a file cannot be read, when the captures share no connection and no UDP flow, or when their
/// clocks cannot be aligned.
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
    let (sure, firsts) = matched_packets(&seen, &pairs);
    let clock = datagrams::clock_of(sure, &udp_pairs)?;
    datagrams::set_firsts_by_clock(&mut udp_pairs, &clock);
    seen[1].set_clock(&clock);
    seen_udp[1].set_clock(&clock);
    let directions = PathDirections::of(&seen, &pairs, &firsts, &clock);
    let external = directions.external_fates();
    let watched = seen.each_ref().map(|s| s.watched);
    let udp_matches: Vec<UdpMatch> = udp_pairs
        .iter()
        .map(|pair| delays::match_datagrams(seen_udp.each_ref(), pair, watched, clock.two_way))
        .collect();
    let external_udp = delays::external_datagram_fates(&udp_matches, seen_udp.each_ref().map(|s| s.count));
    let unsent = |first| udp_matches.iter().filter(|s| s.first == first).map(|s| s.unsent).sum::<u64>();
    let missed = directions.missed();
    let paired = PairedCaptures {
        clock,
        paired: pairs.len() as u64,
        translated: pairs.iter().filter(|p| p.translated).count() as u64,
        alone: [0, 1].map(|i| (seen[i].connections.len() - pairs.len()) as u64),
        paired_udp: [udp_pairs.len(), udp_pairs.iter().filter(|p| p.translated).count()].map(|n| n as u64),
        alone_udp: [0, 1].map(|i| (seen_udp[i].flows.len() - udp_pairs.len()) as u64),
        missed: [0, 1].map(|i| missed[i] + unsent(i)),
    };
    let between = directions.between();
    let renamed = Renamed::of(&seen, &pairs);
    let renamed_udp = RenamedDatagrams::of(seen_udp.each_ref(), &udp_pairs);
    // If a time range of the first capture was selected, use the same range of the other one.
    let selected = filter.from.or(filter.to).and(seen[0].times);
    let is_selected = |time: Time| selected.is_none_or(|(from, to)| from <= time && time <= to);
    drop(directions);
    drop((seen, seen_udp));

    // The second pass.
    let mut tracker = Tracker::new(options);
    if let Some(recorder) = recorder {
        tracker.set_recorder(recorder);
    }
    let mut fates = external[0].iter();
    let mut datagrams = UdpTracker::default();
    let mut udp_fates = external_udp[0].iter();
    let here = read(paths[0], filter, &mut |batch| {
        batch.datagrams.iter().for_each(|d| {
            datagrams.datagram_with_fate(d, udp_fates.next().copied().unwrap_or_default());
        });
        batch.in_order().for_each(|part| match part {
            BatchPart::Packets(packets) => packets.iter().for_each(|p| {
                tracker.packet_with_fate(p, fates.next().copied().unwrap_or_default());
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
            let fate = external[1].get(at).copied().unwrap_or_default();
            let as_here = renamed.packet(at, TcpPacket { time: clock.here(p.time), ..*p });
            at += 1;
            if let Some(p) = as_here.filter(|p| is_selected(p.time)) {
                tracker.packet_with_fate(&p, fate);
            }
        }
        for d in &batch.datagrams {
            let fate = external_udp[1].get(at_udp).copied().unwrap_or_default();
            let as_here = renamed_udp.datagram(at_udp, clock.here(d.time), *d);
            at_udp += 1;
            if let Some(d) = as_here.filter(|d| is_selected(d.time)) {
                datagrams_there.datagram_with_fate(&d, fate);
            }
        }
    })?;
    let mut others = Vec::new();
    tracker.finish(&mut others);
    others.retain(|t| between.iter().any(|w| w.first == 1 && (w.from, w.to) == (t.sender, t.receiver)));
    replace(&mut tracks, others);
    between.into_iter().for_each(|result| attach(&mut tracks, result));
    tracks.iter_mut().filter(|t| t.between.is_some()).for_each(queueing_to_rtt);
    tracks.sort_by_key(|t| (t.connection, !t.opened));
    let mut udp = datagrams.finish();
    delays::join_datagrams(&mut udp.0, datagrams_there.finish().0, udp_matches);
    Ok(BothEndsTracks { tracks, files: [here, there], totals, paired, udp })
}

/// Replaces tracks by those of the capture on the sender's side.
fn replace(tracks: &mut Vec<Track>, others: Vec<Track>) {
    for other in others {
        let distance = |t: &Track| difference(t.first, other.first).unsigned_abs();
        let ends = (other.sender, other.receiver);
        let known = (0..tracks.len()).filter(|i| (tracks[*i].sender, tracks[*i].receiver) == ends);
        if let Some(i) = known.min_by_key(|i| distance(&tracks[*i])) {
            let (connection, opened) = (tracks[i].connection, tracks[i].opened);
            tracks[i] = Track { connection, opened, ..other };
            continue;
        }
        // Nothing of this direction passed here: it gets the connection's number from the opposite direction.
        let back = tracks.iter().filter(|t| (t.receiver, t.sender) == ends).min_by_key(|t| distance(t));
        let (connection, opened) = match back {
            Some(back) => (back.connection, !back.opened),
            None => (tracks.iter().map(|t| t.connection + 1).max().unwrap_or(0), other.opened),
        };
        tracks.push(Track { connection, opened, ..other });
    }
}

/// Stores the result of a direction in its track.
fn attach(tracks: &mut [Track], result: NamedResult) {
    let same_ends = tracks.iter_mut().filter(|t| (t.sender, t.receiver) == (result.from, result.to));
    if let Some(t) = same_ends.min_by_key(|t| difference(t.first, result.begin).unsigned_abs()) {
        t.between = Some(Box::new(result.between));
    }
}

/// Converts the log's queueing delays to round trips with an empty return path: the minimum RTT plus the
/// queueing delay. Spurious retransmissions are known exactly.
fn queueing_to_rtt(t: &mut Track) {
    let Some(between) = &t.between else { return };
    let base = t.rtt.min().or(t.handshake.rtt);
    for p in &mut t.log {
        p.rtt = base.and_then(|base| Some(base + p.rtt.get()?)).into();
    }
    let mss = u64::from(t.mss.unwrap_or(1)).max(1);
    t.counts.spurious = between.spurious_bytes.div_ceil(mss).min(t.counts.retransmitted_packets);
}
