//! Each direction of each paired connection, with the fates of its packets.

use super::clock::{ClockFit, PassedBoth};
use super::fates::{self, DirectionFates, DirectionPackets, SentFate};
use super::seen::{ConnectionPair, SeenCapture, SeenPacket};
use crate::between::{DelaySlice, ExternalFate, LostPacket, PathBetween};
use crate::{PackedSpan, table};
use capture::{Addr, Endpoint, TcpPacket};
use std::collections::HashMap;
use units::{Span, Time};

/// Maximum number of lost packets of a direction that are listed.
const MAX_LOST: usize = 1_000;
/// Number of slices of a direction's time.
const SLICES: u64 = 200;

/// The capture that each end of a pair is nearer to: 0 here, 1 there; `None` if unknown.
pub(super) type NearestCaptures = [Option<usize>; 2];

/// Returns packets that passed both captures, by the capture that they passed first, and the capture that
/// each end of each pair is nearer to.
pub(super) fn matched_packets(
    seen: &[SeenCapture; 2],
    pairs: &[ConnectionPair],
) -> ([Vec<PassedBoth>; 2], Vec<NearestCaptures>) {
    let mut both = [Vec::new(), Vec::new()];
    let mut firsts = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let of = |side: usize| {
            let there = &seen[1].connections[pair.at[1]].packets[pair.there(side)];
            fates::sure_pairs(&seen[0].connections[pair.at[0]].packets[side], there)
        };
        let sure = [of(0), of(1)];
        let first = fates::passes_here_first(&sure[0], &sure[1]);
        if let Some(here) = first {
            let [a, b] = sure;
            both[usize::from(!here)].extend(a);
            both[usize::from(here)].extend(b);
        }
        firsts.push(first.map_or([None; 2], |here| [Some(usize::from(!here)), Some(usize::from(here))]));
    }
    (both, firsts)
}

/// Returns the packets that end `side` (by its number here) of a pair sent, as one of the captures contains
/// them.
fn packets<'a>(
    seen: &'a [SeenCapture; 2],
    pair: &ConnectionPair,
    capture: usize,
    side: usize,
) -> &'a [SeenPacket] {
    let side = if capture == 0 { side } else { pair.there(side) };
    &seen[capture].connections[pair.at[capture]].packets[side]
}

/// One direction of a paired connection.
struct PathDirection<'a> {
    ends: (Endpoint, Endpoint),
    /// Time of the connection's first packet here.
    begin: Time,
    /// The capture that its packets pass first: 0 here, 1 there.
    first: usize,
    sent: &'a [SeenPacket],
    arrived: &'a [SeenPacket],
    fates: DirectionFates,
}

/// All directions of all pairs.
pub(super) struct PathDirections<'a> {
    list: Vec<PathDirection<'a>>,
    /// Minimum transit time of any packet from one host to another, ns.
    least: HashMap<(Addr, Addr), i64>,
    /// Number of TCP packets in each capture.
    packets: [u32; 2],
}

/// The result of one direction.
pub(super) struct NamedResult {
    pub from: Endpoint,
    pub to: Endpoint,
    /// Time of the connection's first packet here.
    pub begin: Time,
    /// The capture that its packets pass first: 0 here, 1 there.
    pub first: usize,
    pub between: PathBetween,
}

impl<'a> PathDirections<'a> {
    /// Finds the fates of all packets. `firsts` comes from [`matched_packets`].
    pub fn of(
        seen: &'a [SeenCapture; 2],
        pairs: &[ConnectionPair],
        firsts: &[NearestCaptures],
        clock: &ClockFit,
    ) -> PathDirections<'a> {
        let mut list = Vec::new();
        for (pair, firsts) in pairs.iter().zip(firsts) {
            let c = &seen[0].connections[pair.at[0]];
            let begin = c.packets.iter().filter_map(|p| p.first()).map(|p| p.time).min().unwrap_or_default();
            for (side, first) in firsts.iter().enumerate() {
                let Some(first) = *first else { continue };
                let of = |capture, side| packets(seen, pair, capture, side);
                let (sent, arrived) = (of(first, side), of(1 - first, side));
                let answers = [of(0, 1 - side), of(1, 1 - side)];
                let watched = seen[1 - first].watched;
                let fates = fates::fates(&DirectionPackets { sent, arrived, answers, watched }, clock);
                list.push(PathDirection {
                    ends: (c.ends[side], c.ends[1 - side]),
                    begin,
                    first,
                    sent,
                    arrived,
                    fates,
                });
            }
        }
        let mut least: HashMap<(Addr, Addr), i64> = HashMap::new();
        for direction in &list {
            let shortest = direction.fates.sent.iter().filter_map(|(_, took)| *took).min();
            let known = least.entry(direction.hosts()).or_insert(i64::MAX);
            *known = (*known).min(shortest.unwrap_or(i64::MAX));
        }
        PathDirections { list, least, packets: [seen[0].packets, seen[1].packets] }
    }

    /// The external fate of each packet for the tracker of each capture.
    pub fn external_fates(&self) -> [Vec<ExternalFate>; 2] {
        let mut external = self.packets.map(|n| vec![ExternalFate::Absent; n as usize]);
        for direction in &self.list {
            for (i, (p, (fate, took))) in direction.sent.iter().zip(&direction.fates.sent).enumerate() {
                let late = self.late(direction, *took).into();
                external[direction.first][p.index as usize] = match fate {
                    SentFate::Lost(lost) => ExternalFate::Sent { late, lost: *lost },
                    SentFate::Unknown => ExternalFate::Unknown,
                    SentFate::Duplicate(first) => {
                        debug_assert!((*first as usize) < i);
                        external[direction.first][direction.sent[*first as usize].index as usize]
                    }
                };
            }
            for (p, took) in direction.arrived.iter().zip(&direction.fates.arrived) {
                let late = PackedSpan::from(self.late(direction, *took));
                external[1 - direction.first][p.index as usize] = ExternalFate::Arrived(late);
            }
        }
        external
    }

    /// Queueing delay: transit time above the minimum.
    fn late(&self, direction: &PathDirection, took: Option<i64>) -> Option<Span> {
        let least = self.least.get(&direction.hosts())?;
        Some(Span::from_nanos(took?.saturating_sub(*least).max(0) as u64))
    }

    /// Packets that each capture lacks: those that arrived although the first capture does not contain them,
    /// and those that were acknowledged although the second does not.
    pub fn missed(&self) -> [u64; 2] {
        let mut missed = [0; 2];
        for direction in &self.list {
            missed[direction.first] += direction.fates.unsent;
            missed[1 - direction.first] += direction.fates.unseen;
        }
        missed
    }

    /// The results of all directions.
    pub fn between(&self) -> Vec<NamedResult> {
        let named = |direction: &PathDirection| NamedResult {
            from: direction.ends.0,
            to: direction.ends.1,
            begin: direction.begin,
            first: direction.first,
            between: self.result(direction),
        };
        self.list.iter().map(named).collect()
    }

    fn result(&self, direction: &PathDirection) -> PathBetween {
        let mut out = PathBetween {
            spurious_bytes: direction.fates.spurious_bytes,
            packets_without_payload: direction.fates.bare.0,
            lost_without_payload: direction.fates.bare.1,
            least_ns: self.least.get(&direction.hosts()).copied().filter(|ns| *ns < i64::MAX),
            ..PathBetween::default()
        };
        let (Some(first), Some(last)) = (direction.sent.first(), direction.sent.last()) else { return out };
        let part = last.time.since(first.time) / SLICES + Span::from_nanos(1);
        for ((p, (fate, took)), again) in
            direction.sent.iter().zip(&direction.fates.sent).zip(&direction.fates.again)
        {
            let from = first.time + part * (p.time.since(first.time).as_nanos() / part.as_nanos());
            if out.over_time.last().is_none_or(|span| span.from < from) {
                out.over_time.push(DelaySlice { from, ..DelaySlice::default() });
            }
            let Some(span) = out.over_time.last_mut() else { continue };
            if let Some(late) = self.late(direction, *took) {
                out.late.record(late);
                span.most = span.most.max(late);
                span.sum += late;
                span.arrived += 1;
            }
            match *fate {
                SentFate::Unknown if p.len > 0 => out.unknown_packets += 1,
                SentFate::Lost(bytes) if bytes > 0 => {
                    span.lost += 1;
                    out.lost_packets += 1;
                    let (time, index, seq, again) = (p.time, p.index, p.seq, *again);
                    out.lost.push(LostPacket { time, index, seq, bytes, again });
                }
                _ => {}
            }
        }
        out.lost.truncate(MAX_LOST);
        out
    }
}

impl PathDirection<'_> {
    fn hosts(&self) -> (Addr, Addr) {
        (self.ends.0.addr, self.ends.1.addr)
    }
}

/// Converts the other capture's packets to the addresses and ports that their connection has here.
pub(super) struct Renamed {
    /// Index of the pair of each TCP packet there; beyond the list if its connection is not paired.
    pair_of_packet: Vec<u32>,
    /// The endpoints here of each pair's ends there.
    ends: Vec<[Endpoint; 2]>,
}

impl Renamed {
    pub fn of(seen: &[SeenCapture; 2], pairs: &[ConnectionPair]) -> Renamed {
        let mut pair_of_packet = vec![u32::MAX; seen[1].packets as usize];
        let mut ends = Vec::with_capacity(pairs.len());
        for (i, pair) in pairs.iter().enumerate() {
            let (here, there) = (&seen[0].connections[pair.at[0]], &seen[1].connections[pair.at[1]]);
            for p in there.packets.iter().flatten() {
                pair_of_packet[p.index as usize] = i as u32;
            }
            ends.push([here.ends[pair.there(0)], here.ends[pair.there(1)]]);
        }
        Renamed { pair_of_packet, ends }
    }

    /// Returns the TCP packet with this index; `None` if its connection is not paired.
    pub fn packet(&self, index: usize, p: TcpPacket) -> Option<TcpPacket> {
        let here = self.ends.get(*self.pair_of_packet.get(index)? as usize)?;
        let (_, side) = table::key(p.src, p.dst);
        Some(TcpPacket { src: here[side], dst: here[1 - side], ..p })
    }
}
