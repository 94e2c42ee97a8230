//! Each direction of each paired connection: what became of its packets.

use super::clock::{ClockFit, PassedBoth};
use super::fates::{self, SentFate, WayFates, WayPackets};
use super::seen::{ConnectionPair, SeenCapture, SeenPacket};
use crate::between::{LateSpan, LostOnWay, PacketBeyond, WayBetween};
use crate::{PackedSpan, table};
use capture::{Addr, Endpoint, TcpPacket};
use std::collections::HashMap;
use units::{Span, Time};

/// Lost packets told one by one of each direction.
const MOST_LOST: usize = 1_000;
/// Parts of a direction's time that its delays are told of.
const PARTS: u64 = 200;

/// Which capture each end of a pair is nearer to: 0 here, 1 there; `None` where that is not known.
pub(super) type NearestCaptures = [Option<usize>; 2];

/// Packets that passed both captures, by the one that they passed first; and which capture each end of each pair is nearer to.
pub(super) fn sure_ways(
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

/// What end `side` (by its number here) of a pair sent, as one of the captures has it.
fn packets<'a>(
    seen: &'a [SeenCapture; 2],
    pair: &ConnectionPair,
    capture: usize,
    side: usize,
) -> &'a [SeenPacket] {
    let side = if capture == 0 { side } else { pair.there(side) };
    &seen[capture].connections[pair.at[capture]].packets[side]
}

/// A direction of a paired connection.
struct Way<'a> {
    ends: (Endpoint, Endpoint),
    /// The connection's first packet here.
    begin: Time,
    /// Which capture its packets pass first: 0 here, 1 there.
    first: usize,
    sent: &'a [SeenPacket],
    arrived: &'a [SeenPacket],
    fates: WayFates,
}

/// All directions of all pairs.
pub(super) struct Ways<'a> {
    list: Vec<Way<'a>>,
    /// The least that any packet took from one host to another, ns.
    least: HashMap<(Addr, Addr), i64>,
    /// TCP packets of each capture.
    packets: [u32; 2],
}

/// What is known of one direction, and which it is.
pub(super) struct NamedWay {
    pub from: Endpoint,
    pub to: Endpoint,
    /// The connection's first packet here.
    pub begin: Time,
    /// Which capture its packets pass first: 0 here, 1 there.
    pub first: usize,
    pub between: WayBetween,
}

impl<'a> Ways<'a> {
    /// Finds out what became of all packets. `firsts`: as [`clocks`] says.
    pub fn of(
        seen: &'a [SeenCapture; 2],
        pairs: &[ConnectionPair],
        firsts: &[NearestCaptures],
        clock: &ClockFit,
    ) -> Ways<'a> {
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
                let fates = fates::fates(&WayPackets { sent, arrived, answers, watched }, clock);
                list.push(Way { ends: (c.ends[side], c.ends[1 - side]), begin, first, sent, arrived, fates });
            }
        }
        let mut least: HashMap<(Addr, Addr), i64> = HashMap::new();
        for way in &list {
            let shortest = way.fates.sent.iter().filter_map(|(_, took)| *took).min();
            let known = least.entry(way.hosts()).or_insert(i64::MAX);
            *known = (*known).min(shortest.unwrap_or(i64::MAX));
        }
        Ways { list, least, packets: [seen[0].packets, seen[1].packets] }
    }

    /// What each capture's tracker is told of each packet.
    pub fn told(&self) -> [Vec<PacketBeyond>; 2] {
        let mut beyond = self.packets.map(|n| vec![PacketBeyond::Unasked; n as usize]);
        for way in &self.list {
            for (i, (p, (fate, took))) in way.sent.iter().zip(&way.fates.sent).enumerate() {
                let late = self.late(way, *took).into();
                beyond[way.first][p.index as usize] = match fate {
                    SentFate::Lost(lost) => PacketBeyond::Sent { late, lost: *lost },
                    SentFate::Unknown => PacketBeyond::Unknown,
                    SentFate::Double(first) => {
                        debug_assert!((*first as usize) < i);
                        beyond[way.first][way.sent[*first as usize].index as usize]
                    }
                };
            }
            for (p, took) in way.arrived.iter().zip(&way.fates.arrived) {
                let late = PackedSpan::from(self.late(way, *took));
                beyond[1 - way.first][p.index as usize] = PacketBeyond::Came(late);
            }
        }
        beyond
    }

    /// By how much longer than at least it took.
    fn late(&self, way: &Way, took: Option<i64>) -> Option<Span> {
        let least = self.least.get(&way.hosts())?;
        Some(Span::from_nanos(took?.saturating_sub(*least).max(0) as u64))
    }

    /// Packets that arrived, and that the first capture does not have; and such as were acknowledged, and that the second does
    /// not have: by capture.
    pub fn missed(&self) -> [u64; 2] {
        let mut missed = [0; 2];
        for way in &self.list {
            missed[way.first] += way.fates.unsent;
            missed[1 - way.first] += way.fates.unseen;
        }
        missed
    }

    /// What is known of each.
    pub fn between(&self) -> Vec<NamedWay> {
        let named = |way: &Way| NamedWay {
            from: way.ends.0,
            to: way.ends.1,
            begin: way.begin,
            first: way.first,
            between: self.one(way),
        };
        self.list.iter().map(named).collect()
    }

    fn one(&self, way: &Way) -> WayBetween {
        let mut out = WayBetween {
            needless_bytes: way.fates.needless_bytes,
            bare_packets: way.fates.bare.0,
            bare_lost: way.fates.bare.1,
            least_ns: self.least.get(&way.hosts()).copied().filter(|ns| *ns < i64::MAX),
            ..WayBetween::default()
        };
        let (Some(first), Some(last)) = (way.sent.first(), way.sent.last()) else { return out };
        let part = last.time.since(first.time) / PARTS + Span::from_nanos(1);
        for ((p, (fate, took)), again) in way.sent.iter().zip(&way.fates.sent).zip(&way.fates.again) {
            let from = first.time + part * (p.time.since(first.time).as_nanos() / part.as_nanos());
            if out.over_time.last().is_none_or(|span| span.from < from) {
                out.over_time.push(LateSpan { from, ..LateSpan::default() });
            }
            let Some(span) = out.over_time.last_mut() else { continue };
            if let Some(late) = self.late(way, *took) {
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
                    out.lost.push(LostOnWay { time, index, seq, bytes, again });
                }
                _ => {}
            }
        }
        out.lost.truncate(MOST_LOST);
        out
    }
}

impl Way<'_> {
    fn hosts(&self) -> (Addr, Addr) {
        (self.ends.0.addr, self.ends.1.addr)
    }
}

/// The other capture's packets as this one would have them: with the addresses and ports that their connection has here.
pub(super) struct Renamed {
    /// Of each TCP packet there, its connection's place; beyond the list where none is paired.
    of_packet: Vec<u32>,
    /// What the ends there are called here.
    ends: Vec<[Endpoint; 2]>,
}

impl Renamed {
    pub fn of(seen: &[SeenCapture; 2], pairs: &[ConnectionPair]) -> Renamed {
        let mut of_packet = vec![u32::MAX; seen[1].packets as usize];
        let mut ends = Vec::with_capacity(pairs.len());
        for (i, pair) in pairs.iter().enumerate() {
            let (here, there) = (&seen[0].connections[pair.at[0]], &seen[1].connections[pair.at[1]]);
            for p in there.packets.iter().flatten() {
                of_packet[p.index as usize] = i as u32;
            }
            ends.push([here.ends[pair.there(0)], here.ends[pair.there(1)]]);
        }
        Renamed { of_packet, ends }
    }

    /// The TCP packet with this number; `None` where its connection is not paired.
    pub fn packet(&self, index: usize, p: TcpPacket) -> Option<TcpPacket> {
        let here = self.ends.get(*self.of_packet.get(index)? as usize)?;
        let (_, side) = table::key(p.src, p.dst);
        Some(TcpPacket { src: here[side], dst: here[1 - side], ..p })
    }
}
