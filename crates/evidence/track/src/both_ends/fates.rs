//! What became of each packet between two captures.
//!
//! A packet with payload is told by the bytes of the stream that it brings, since segmentation offload cuts and joins packets
//! on either host; which of several that bring the same bytes arrived is told by the timestamp option, by the IP
//! identification where nothing on the way changes it, and else by the time that it took. A packet without payload is told by
//! its headers; of several that are alike only how many were lost is known.

use super::clock::{ClockFit, PassedBoth, difference};
use super::seen::SeenPacket;
use crate::sequence::{BEGIN, MAX_JUMP, unwrap};
use std::collections::HashMap;
use units::{Span, Time};

/// Packets looked at for the one that brought some bytes: as many segments as a packet of 64 kB holds, and as many again.
const MOST_CANDIDATES: usize = 128;
/// Segments that offload joins at the most: 64 kB of the least MSS (RFC 879 section 1: 536 bytes).
const MOST_SEGMENTS: u16 = 123;
/// A packet's way may seem so much shorter than the least: the clocks are laid beside each other no better.
const CLOCK_ERROR: i64 = 200_000;
/// A packet that has not arrived so long after the slowest one is lost (RFC 9293 section 3.4.1: the longest that a segment lives
/// is two minutes; no queue is known to hold one for longer than this).
const LATEST: Span = Span::from_secs(5);

/// One direction of a connection: what passed the first capture, and what of it passed the second.
pub(super) struct WayPackets<'a> {
    /// By the capture that they passed first; times of both are by the clock here.
    pub sent: &'a [SeenPacket],
    /// By the other.
    pub arrived: &'a [SeenPacket],
    /// The receiver's, at the other capture and at this one: what they acknowledge arrived.
    pub answers: [&'a [SeenPacket]; 2],
    /// The time in which the other capture saw packets.
    pub watched: (Time, Time),
}

/// What is known of one direction.
#[derive(Debug, Default)]
pub(super) struct WayFates {
    /// Of each packet sent: how much of its payload was lost, or that it is not known; and how long it took, ns.
    pub sent: Vec<(SentFate, Option<i64>)>,
    /// Of each packet that arrived: how long it took, ns; `None`: it was not seen before.
    pub arrived: Vec<Option<i64>>,
    /// Of each packet sent: some bytes of it had been sent before.
    pub again: Vec<bool>,
    /// Payload sent again of which an earlier transmission arrived.
    pub needless_bytes: u64,
    /// Packets without payload: how many, and how many of them were lost.
    pub bare: (u64, u64),
    /// Packets with payload that arrived although the first capture does not have them, and that were acknowledged although the
    /// second does not.
    pub unsent: u64,
    pub unseen: u64,
}

/// The fate of a packet sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SentFate {
    /// So many bytes of its payload were lost.
    Lost(u32),
    /// As [`PacketBeyond::Unknown`].
    #[default]
    Unknown,
    /// The same packet stands in the capture once more, before.
    Double(u32),
}

/// Bytes of a stream that a packet brings.
#[derive(Clone, Copy, Debug)]
struct StreamPiece {
    seq: u64,
    end: u64,
    /// Place in its list.
    at: usize,
}

/// The packets with payload, in the order of time; numbers go on where they wrap around.
fn pieces(packets: &[SeenPacket], reference: &mut u64) -> Vec<StreamPiece> {
    let data = packets.iter().enumerate().filter(|(_, p)| p.len > 0 && !p.flags.has(capture::TcpFlags::RST));
    data.filter_map(|(at, p)| {
        let seq = unwrap(*reference, p.seq.wrapping_add(u32::from(p.flags.has(capture::TcpFlags::SYN))));
        // Of another stream.
        if seq.abs_diff(*reference) > MAX_JUMP {
            return None;
        }
        let end = seq + u64::from(p.len);
        *reference = end.max(*reference);
        Some(StreamPiece { seq, end, at })
    })
    .collect()
}

/// Where a direction's numbers begin.
fn reference(packets: &[SeenPacket]) -> u64 {
    packets.first().map_or(BEGIN, |p| BEGIN + u64::from(p.seq))
}

/// Packets that surely passed both, one each: bytes that were sent once and came once, and packets without payload that are like
/// no other. Times are those of each capture's clock.
pub(super) fn sure_pairs(sent: &[SeenPacket], arrived: &[SeenPacket]) -> Vec<PassedBoth> {
    let mut from = reference(sent);
    let [once_sent, once_came] = [(sent, from), (arrived, from)].map(|(list, begin)| {
        from = begin;
        only_once(pieces(list, &mut from))
    });
    let mut pairs = Vec::new();
    for piece in &once_came {
        let i = once_sent.partition_point(|s| s.seq <= piece.seq);
        if let Some(s) = i.checked_sub(1).map(|i| once_sent[i]).filter(|s| s.end >= piece.end) {
            pairs.push(PassedBoth { here: sent[s.at].time, there: arrived[piece.at].time });
        }
    }
    let [bare, came] = bare_packets(sent, arrived);
    for (key, times) in &bare {
        if let ([here], Some([there])) = (&times[..], came.get(key).map(|list| &list[..])) {
            pairs.push(PassedBoth { here: sent[*here].time, there: arrived[*there].time });
        }
    }
    pairs.sort_by_key(|p| (p.here, p.there));
    pairs
}

/// In the order of the stream, without all that share a byte with another.
fn only_once(mut pieces: Vec<StreamPiece>) -> Vec<StreamPiece> {
    pieces.sort_by_key(|p| (p.seq, p.end));
    let (mut until, mut kept) = (0, Vec::with_capacity(pieces.len()));
    for (i, p) in pieces.iter().enumerate() {
        let next = pieces.get(i + 1).map_or(u64::MAX, |n| n.seq);
        if p.seq >= until && p.end <= next {
            kept.push(*p);
        }
        until = until.max(p.end);
    }
    kept
}

/// Places of packets that look alike.
type AlikePackets = HashMap<(u32, u32, u32, u16, u16, u8), Vec<usize>>;

/// The packets without payload on both sides. NAT may give them other identifications: where no packet kept its own, they do
/// not count.
fn bare_packets(sent: &[SeenPacket], arrived: &[SeenPacket]) -> [AlikePackets; 2] {
    let of = |with_id: bool| {
        [sent, arrived].map(|list| {
            let mut of = AlikePackets::new();
            for (i, p) in list.iter().enumerate().filter(|(_, p)| p.len == 0) {
                let id = if with_id { p.id } else { 0 };
                of.entry(SeenPacket { id, ..*p }.key()).or_default().push(i);
            }
            of
        })
    };
    let both = of(true);
    if both[0].keys().any(|key| both[1].contains_key(key)) { both } else { of(false) }
}

/// Whether packets that passed here first, `out`, came there later than those of the other direction, `back`: which capture is
/// nearer to the sender of `out`. Neighbours in time are compared, so that clocks may drift. `None`: one of both is missing.
pub(super) fn passes_here_first(out: &[PassedBoth], back: &[PassedBoth]) -> Option<bool> {
    let mut votes = 0i64;
    for p in out {
        let i = back.partition_point(|b| b.here < p.here);
        let near = [i.checked_sub(1).map(|i| back[i]), back.get(i).copied()];
        for b in near.into_iter().flatten() {
            votes += difference(p.there, p.here).saturating_sub(difference(b.there, b.here)).signum();
        }
    }
    (votes != 0).then_some(votes > 0)
}

/// Which bytes have come: stretches in the order of the stream, without overlaps.
struct StreamCover(Vec<(u64, u64)>);

impl StreamCover {
    fn of(pieces: &[StreamPiece]) -> StreamCover {
        let mut sorted: Vec<(u64, u64)> = pieces.iter().map(|p| (p.seq, p.end)).collect();
        sorted.sort_unstable();
        let mut cover: Vec<(u64, u64)> = Vec::new();
        for (from, to) in sorted {
            match cover.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(to),
                _ => cover.push((from, to)),
            }
        }
        StreamCover(cover)
    }

    /// Of the bytes from `from` to `to` those that have not come.
    fn missing(&self, from: u64, to: u64) -> u64 {
        let mut missing = to - from;
        let first = self.0.partition_point(|c| c.1 <= from);
        for c in self.0[first..].iter().take_while(|c| c.0 < to) {
            missing -= c.1.min(to) - c.0.max(from);
        }
        missing
    }
}

/// A transmission, as far as its bytes were seen to arrive.
#[derive(Clone, Copy, Debug, Default)]
struct Transmission {
    arrived: u32,
    took: Option<i64>,
}

/// Says what became of each packet. Times are all by the clock here; `clock` tells how well they are known.
pub(super) fn fates(way: &WayPackets, clock: &ClockFit) -> WayFates {
    let mut from = reference(way.sent);
    let mut pieces_sent = pieces(way.sent, &mut from);
    let mut from = reference(way.sent);
    let came = pieces(way.arrived, &mut from);
    let mut out = WayFates {
        sent: vec![Default::default(); way.sent.len()],
        arrived: vec![None; way.arrived.len()],
        again: vec![false; way.sent.len()],
        ..WayFates::default()
    };
    take_doubles(way.sent, &mut pieces_sent, &mut out);
    let mut until = 0;
    for p in &pieces_sent {
        out.again[p.at] = p.seq < until;
        until = until.max(p.end);
    }
    let mut board: Vec<Transmission> = vec![Transmission::default(); way.sent.len()];
    let mut by_seq = pieces_sent.clone();
    by_seq.sort_by_key(|p| (p.seq, p.at));
    let longest = by_seq.iter().map(|p| p.end - p.seq).max().unwrap_or(0);
    let has_ids = keeps_ids(way, &by_seq, &came);
    let least = -(clock.round_trip.as_nanos() as i64 / 2) - CLOCK_ERROR;
    let mut usual: Option<i64> = None;
    for piece in &came {
        let mut seq = piece.seq;
        while seq < piece.end {
            let p = &way.arrived[piece.at];
            // What offload joined has one time for all of it, be it that of the first.
            let floor = if seq == piece.seq { least } else { i64::MIN };
            let found = bringer(way, (&by_seq, longest), &board, (seq, p), (has_ids, floor, usual));
            let Some((brought, took)) = found else { break };
            let t = &mut board[brought.at];
            let bytes = (brought.end.min(piece.end) - seq) as u32;
            t.arrived = (t.arrived + bytes).min((brought.end - brought.seq) as u32);
            if took >= least {
                t.took.get_or_insert(took);
                out.arrived[piece.at].get_or_insert(took);
                usual = Some(took);
            }
            seq += u64::from(bytes);
        }
    }
    // What came before the first that was sent here may have been sent before the capture began.
    let begin = way.sent.first().map_or(Time::ZERO, |p| p.time);
    let is_unsent = |p: &&StreamPiece| out.arrived[p.at].is_none() && way.arrived[p.at].time > begin + LATEST;
    out.unsent = came.iter().filter(is_unsent).count() as u64;
    settle(way, &pieces_sent, &came, &board, &mut out);
    out.needless_bytes = needless(&pieces_sent, &by_seq, &board, longest);
    settle_bare(way, &mut out);
    out
}

/// A record that stands in the capture twice, as a mirror port makes them, was sent once: the same identification and the same
/// headers. Whoever sends again takes another.
fn take_doubles(sent: &[SeenPacket], pieces: &mut Vec<StreamPiece>, out: &mut WayFates) {
    let mut first: HashMap<(u32, u32, u16, u32, u32), usize> = HashMap::new();
    pieces.retain(|piece| {
        let p = &sent[piece.at];
        if p.id == 0 {
            return true;
        }
        let known = *first.entry((p.seq, p.len, p.id, p.tsval, p.ack)).or_insert(piece.at);
        if known != piece.at {
            out.sent[piece.at].0 = SentFate::Double(known as u32);
        }
        known == piece.at
    });
}

/// Whether identifications arrive as they were sent: those of bytes that were sent once say so.
fn keeps_ids(way: &WayPackets, by_seq: &[StreamPiece], came: &[StreamPiece]) -> bool {
    let (mut same, mut other) = (0u64, 0u64);
    for piece in came {
        let i = by_seq.partition_point(|s| s.seq < piece.seq);
        let exact = |i: usize| by_seq.get(i).filter(|s| s.seq == piece.seq);
        if let (Some(s), None) = (exact(i), exact(i + 1)) {
            let alike = way.sent[s.at].id == way.arrived[piece.at].id;
            if alike { same += 1 } else { other += 1 }
        }
    }
    same > other && way.sent.iter().any(|p| p.id != 0)
}

/// Which transmission brought the byte `seq` that arrived with `p`, and how long it took, ns: of those that may have, the one
/// that took most like the `usual`. Of packets in `by_seq` none is longer than `longest`.
fn bringer(
    way: &WayPackets,
    (by_seq, longest): (&[StreamPiece], u64),
    board: &[Transmission],
    (seq, p): (u64, &SeenPacket),
    (has_ids, least, usual): (bool, i64, Option<i64>),
) -> Option<(StreamPiece, i64)> {
    let from = by_seq.partition_point(|s| s.seq + longest <= seq);
    let to = by_seq.partition_point(|s| s.seq <= seq);
    let candidates = by_seq[from..to].iter().rev().take(MOST_CANDIDATES).filter_map(|s| {
        let sent = &way.sent[s.at];
        let took = difference(p.time, sent.time);
        let open = s.end > seq && u64::from(board[s.at].arrived) < s.end - s.seq;
        let stamped = sent.tsval == 0 || p.tsval == 0 || sent.tsval == p.tsval;
        // Of a packet that offload cuts, each segment has the next number; of those it joins, the first one's stands.
        let whole = sent.seq == p.seq && sent.len == p.len;
        let apart = p.id.wrapping_sub(sent.id).min(sent.id.wrapping_sub(p.id));
        let named = !has_ids || apart <= if whole { 0 } else { MOST_SEGMENTS };
        (open && stamped && named && took >= least).then_some((*s, took))
    });
    candidates.min_by_key(|(s, took)| (usual.map_or(0, |usual| took.abs_diff(usual)), s.at))
}

/// What did not arrive was lost, if the other capture would have shown it.
fn settle(
    way: &WayPackets,
    sent: &[StreamPiece],
    came: &[StreamPiece],
    board: &[Transmission],
    out: &mut WayFates,
) {
    let cover = StreamCover::of(came);
    let acked = acknowledged(way, reference(way.sent));
    let ways: Vec<i64> = sent.iter().filter_map(|p| board[p.at].took).collect();
    let (shortest, longest) = (ways.iter().min().copied(), ways.iter().max().copied());
    let lasts = Span::from_nanos(longest.unwrap_or(0).max(0) as u64) + LATEST;
    // What was sent before this was overtaken by what arrived, or would have been there long since.
    let arrived_last = sent.iter().filter(|p| board[p.at].took.is_some()).map(|p| way.sent[p.at].time).max();
    let judged_until = arrived_last.max(Some(way.watched.1 - lasts));
    for p in sent {
        let (t, time) = (&board[p.at], way.sent[p.at].time);
        let bytes = p.end - p.seq;
        let missing = bytes - u64::from(t.arrived);
        // Acknowledged, but never seen to arrive: it is the capture that lacks it.
        let unseen = cover.missing(p.seq, p.end.min(acked.unwrap_or(0)).max(p.seq));
        let begun = difference(time, way.watched.0) + shortest.unwrap_or(0) >= 0;
        let known = t.took.is_some() || begun && Some(time) <= judged_until && unseen == 0;
        out.unseen += u64::from(unseen > 0 && t.took.is_none());
        out.sent[p.at] = match known {
            true => (SentFate::Lost(missing.saturating_sub(unseen) as u32), t.took),
            false => (SentFate::Unknown, None),
        };
    }
}

/// Up to where the receiver said that it has the stream.
fn acknowledged(way: &WayPackets, reference: u64) -> Option<u64> {
    let mut highest: Option<u64> = None;
    for p in way.answers.into_iter().flatten().filter(|p| p.flags.has(capture::TcpFlags::ACK)) {
        let ack = unwrap(highest.unwrap_or(reference), p.ack);
        if ack.abs_diff(highest.unwrap_or(reference)) <= MAX_JUMP {
            highest = highest.max(Some(ack));
        }
    }
    highest
}

/// Payload sent again although an earlier transmission of it arrived.
fn needless(sent: &[StreamPiece], by_seq: &[StreamPiece], board: &[Transmission], longest: u64) -> u64 {
    let mut bytes = 0;
    let mut until = 0;
    for p in sent {
        if p.seq < until {
            let from = by_seq.partition_point(|s| s.seq + longest <= p.seq);
            let before = by_seq[from..].iter().take_while(|s| s.seq < p.end).take(MOST_CANDIDATES);
            let whole = |s: &StreamPiece| u64::from(board[s.at].arrived) == s.end - s.seq;
            let arrived = before.filter(|s| s.at < p.at && s.end > p.seq && whole(s));
            let arrived: Vec<StreamPiece> = arrived.copied().collect();
            bytes += p.end - p.seq - StreamCover::of(&arrived).missing(p.seq, p.end);
        }
        until = until.max(p.end);
    }
    bytes
}

/// Packets without payload: of those that look alike, the first ones to arrive are taken for the first ones sent.
fn settle_bare(way: &WayPackets, out: &mut WayFates) {
    let [sent, arrived] = bare_packets(way.sent, way.arrived);
    let inside = |p: &SeenPacket| p.time >= way.watched.0 && p.time + LATEST <= way.watched.1;
    for (key, list) in &sent {
        let came = arrived.get(key).map_or(&[][..], |list| list);
        let alike = list.len() == came.len();
        for (i, j) in list.iter().zip(came) {
            let took = difference(way.arrived[*j].time, way.sent[*i].time);
            if alike {
                (out.sent[*i], out.arrived[*j]) = ((SentFate::Lost(0), Some(took)), Some(took));
            }
        }
        let judged = list.iter().filter(|i| inside(&way.sent[**i])).count();
        out.bare.0 += judged.max(came.len().min(list.len())) as u64;
        out.bare.1 += judged.saturating_sub(came.len()) as u64;
    }
}
