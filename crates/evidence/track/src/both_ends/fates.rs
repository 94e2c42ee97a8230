//! Finds the fate of each packet between two captures.
//!
//! A packet with payload is identified by the bytes of the stream that it carries, because segmentation
//! offload splits and merges packets on either host. If several packets carry the same bytes, the one that
//! arrived is identified by the timestamp option, by the IP identification where nothing on the path changes
//! it, and otherwise by its transit time. A packet without payload is identified by its headers; if several
//! are equal, only the number of lost ones is known.

use super::clock::{ClockFit, PassedBoth, difference};
use super::seen::SeenPacket;
use crate::sequence::{BEGIN, MAX_JUMP, unwrap};
use std::collections::HashMap;
use units::{Span, Time};

/// Maximum number of packets examined for the one that carried some bytes: twice the segments that a packet
/// of 64 kB holds.
const MAX_CANDIDATES: usize = 128;
/// Maximum number of segments that offload merges: 64 kB of the minimum MSS (RFC 879 section 1: 536 bytes).
const MAX_JOINED_SEGMENTS: u16 = 123;
/// A packet may seem faster than the minimum by this much, ns: the clocks are not aligned more exactly.
const CLOCK_ERROR_NS: i64 = 200_000;
/// A packet that has not arrived this long after the slowest one is lost (RFC 9293 section 3.4.1: a segment
/// lives at most two minutes; no queue is known to delay one for longer than this).
const MAX_LATENESS: Span = Span::from_secs(5);

/// One direction of a connection: the packets that passed the first capture, and those of them that passed
/// the second.
pub(super) struct DirectionPackets<'a> {
    /// Packets in the capture that they passed first. The times of all lists are by the clock here.
    pub sent: &'a [SeenPacket],
    /// Packets in the capture that they passed second.
    pub arrived: &'a [SeenPacket],
    /// The receiver's packets in the second and the first capture: what they acknowledge arrived.
    pub answers: [&'a [SeenPacket]; 2],
    /// The time range of the second capture.
    pub watched: (Time, Time),
}

/// The fates of one direction's packets.
#[derive(Debug, Default)]
pub(super) struct DirectionFates {
    /// For each packet sent: its fate, and its transit time, ns.
    pub sent: Vec<(SentFate, Option<i64>)>,
    /// For each packet that arrived: its transit time, ns; `None` if it was not seen before.
    pub arrived: Vec<Option<i64>>,
    /// For each packet sent: whether it contains bytes that had been sent before.
    pub again: Vec<bool>,
    /// Payload bytes sent again although an earlier transmission of them arrived.
    pub spurious_bytes: u64,
    /// Packets without payload, and how many of them were lost.
    pub bare: (u64, u64),
    /// Packets with payload that arrived although the first capture lacks them, and packets that were
    /// acknowledged although the second capture lacks them.
    pub unsent: u64,
    pub unseen: u64,
}

/// The fate of a packet that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SentFate {
    /// This many bytes of its payload were lost.
    Lost(u32),
    /// As [`ExternalFate::Unknown`](crate::between::ExternalFate::Unknown).
    #[default]
    Unknown,
    /// A duplicate record of an earlier packet in the same capture: that packet's index.
    Duplicate(u32),
}

/// Bytes of a stream that a packet carries.
#[derive(Clone, Copy, Debug)]
struct StreamPiece {
    seq: u64,
    end: u64,
    /// Index of the packet in its list.
    at: usize,
}

/// Returns the packets with payload in order of time. Sequence numbers are unwrapped.
fn pieces(packets: &[SeenPacket], reference: &mut u64) -> Vec<StreamPiece> {
    let data = packets.iter().enumerate().filter(|(_, p)| p.len > 0 && !p.flags.has(capture::TcpFlags::RST));
    data.filter_map(|(at, p)| {
        let seq = unwrap(*reference, p.seq.wrapping_add(u32::from(p.flags.has(capture::TcpFlags::SYN))));
        // Belongs to another stream.
        if seq.abs_diff(*reference) > MAX_JUMP {
            return None;
        }
        let end = seq + u64::from(p.len);
        *reference = end.max(*reference);
        Some(StreamPiece { seq, end, at })
    })
    .collect()
}

/// The unwrapped sequence number at which a direction begins.
fn reference(packets: &[SeenPacket]) -> u64 {
    packets.first().map_or(BEGIN, |p| BEGIN + u64::from(p.seq))
}

/// Pairs packets that certainly passed both captures: those with bytes that were sent once and arrived once,
/// and unique packets without payload. Times are by each capture's own clock.
pub(super) fn sure_pairs(sent: &[SeenPacket], arrived: &[SeenPacket]) -> Vec<PassedBoth> {
    let mut from = reference(sent);
    let [once_sent, once_came] = [(sent, from), (arrived, from)].map(|(list, begin)| {
        from = begin;
        unshared_bytes(pieces(list, &mut from))
    });
    let mut pairs = Vec::new();
    for piece in &once_came {
        let i = once_sent.partition_point(|s| s.seq <= piece.seq);
        if let Some(s) = i.checked_sub(1).map(|i| once_sent[i]).filter(|s| s.end >= piece.end) {
            pairs.push(PassedBoth { here: sent[s.at].time, there: arrived[piece.at].time });
        }
    }
    let [bare, came] = packets_without_payload(sent, arrived);
    for (key, times) in &bare {
        if let ([here], Some([there])) = (&times[..], came.get(key).map(|list| &list[..])) {
            pairs.push(PassedBoth { here: sent[*here].time, there: arrived[*there].time });
        }
    }
    pairs.sort_by_key(|p| (p.here, p.there));
    pairs
}

/// Returns the pieces that share no byte with another, in order of the stream.
fn unshared_bytes(mut pieces: Vec<StreamPiece>) -> Vec<StreamPiece> {
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

/// Indices of packets with equal headers.
type EqualPackets = HashMap<(u32, u32, u32, u16, u16, u8), Vec<usize>>;

/// Returns the packets without payload in both captures. NAT may change identifications: if no packet kept
/// its own, they are ignored.
fn packets_without_payload(sent: &[SeenPacket], arrived: &[SeenPacket]) -> [EqualPackets; 2] {
    let grouped = |with_id: bool| {
        [sent, arrived].map(|list| {
            let mut by_headers = EqualPackets::new();
            for (i, p) in list.iter().enumerate().filter(|(_, p)| p.len == 0) {
                let id = if with_id { p.id } else { 0 };
                by_headers.entry(SeenPacket { id, ..*p }.key()).or_default().push(i);
            }
            by_headers
        })
    };
    let both = grouped(true);
    if both[0].keys().any(|key| both[1].contains_key(key)) { both } else { grouped(false) }
}

/// Returns whether the packets of direction `out` passed here first, compared with those of the opposite
/// direction `back`: that is, whether this capture is nearer to the sender of `out`. Neighbours in time are
/// compared, so the clocks may drift. `None` if one of the lists is empty.
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

/// The ranges of the stream that have arrived, in order and without overlaps.
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

    /// Number of bytes between `from` and `to` that have not arrived.
    fn missing(&self, from: u64, to: u64) -> u64 {
        let mut missing = to - from;
        let first = self.0.partition_point(|c| c.1 <= from);
        for c in self.0[first..].iter().take_while(|c| c.0 < to) {
            missing -= c.1.min(to) - c.0.max(from);
        }
        missing
    }
}

/// A transmission, and how many of its bytes were seen to arrive.
#[derive(Clone, Copy, Debug, Default)]
struct Transmission {
    arrived: u32,
    took: Option<i64>,
}

/// Finds the fate of each packet. All times are by the clock here; `clock` gives their uncertainty.
pub(super) fn fates(way: &DirectionPackets, clock: &ClockFit) -> DirectionFates {
    let mut from = reference(way.sent);
    let mut pieces_sent = pieces(way.sent, &mut from);
    let mut from = reference(way.sent);
    let came = pieces(way.arrived, &mut from);
    let mut out = DirectionFates {
        sent: vec![Default::default(); way.sent.len()],
        arrived: vec![None; way.arrived.len()],
        again: vec![false; way.sent.len()],
        ..DirectionFates::default()
    };
    skip_duplicates(way.sent, &mut pieces_sent, &mut out);
    let mut until = 0;
    for p in &pieces_sent {
        out.again[p.at] = p.seq < until;
        until = until.max(p.end);
    }
    let mut transmissions: Vec<Transmission> = vec![Transmission::default(); way.sent.len()];
    let mut by_seq = pieces_sent.clone();
    by_seq.sort_by_key(|p| (p.seq, p.at));
    let longest = by_seq.iter().map(|p| p.end - p.seq).max().unwrap_or(0);
    let has_ids = keeps_ids(way, &by_seq, &came);
    let least = -(clock.round_trip.as_nanos() as i64 / 2) - CLOCK_ERROR_NS;
    let mut usual: Option<i64> = None;
    for piece in &came {
        let mut seq = piece.seq;
        while seq < piece.end {
            let p = &way.arrived[piece.at];
            // The segments that offload merged have one time, which may be that of the first.
            let floor = if seq == piece.seq { least } else { i64::MIN };
            let found =
                find_transmission(way, (&by_seq, longest), &transmissions, (seq, p), (has_ids, floor, usual));
            let Some((carrier, took)) = found else { break };
            let t = &mut transmissions[carrier.at];
            let bytes = (carrier.end.min(piece.end) - seq) as u32;
            t.arrived = (t.arrived + bytes).min((carrier.end - carrier.seq) as u32);
            if took >= least {
                t.took.get_or_insert(took);
                out.arrived[piece.at].get_or_insert(took);
                usual = Some(took);
            }
            seq += u64::from(bytes);
        }
    }
    // Packets that arrived before the first one sent here may have been sent before the capture began.
    let begin = way.sent.first().map_or(Time::ZERO, |p| p.time);
    let is_unsent =
        |p: &&StreamPiece| out.arrived[p.at].is_none() && way.arrived[p.at].time > begin + MAX_LATENESS;
    out.unsent = came.iter().filter(is_unsent).count() as u64;
    settle(way, &pieces_sent, &came, &transmissions, &mut out);
    out.spurious_bytes = spurious_bytes(&pieces_sent, &by_seq, &transmissions, longest);
    settle_without_payload(way, &mut out);
    out
}

/// Marks duplicate records, as mirror ports make them: records with equal identifications and headers. A
/// sender gives a retransmission another identification.
fn skip_duplicates(sent: &[SeenPacket], pieces: &mut Vec<StreamPiece>, out: &mut DirectionFates) {
    let mut first: HashMap<(u32, u32, u16, u32, u32), usize> = HashMap::new();
    pieces.retain(|piece| {
        let p = &sent[piece.at];
        if p.id == 0 {
            return true;
        }
        let known = *first.entry((p.seq, p.len, p.id, p.tsval, p.ack)).or_insert(piece.at);
        if known != piece.at {
            out.sent[piece.at].0 = SentFate::Duplicate(known as u32);
        }
        known == piece.at
    });
}

/// Returns whether identifications arrive unchanged, judged by bytes that were sent once.
fn keeps_ids(way: &DirectionPackets, by_seq: &[StreamPiece], came: &[StreamPiece]) -> bool {
    let (mut same, mut other) = (0u64, 0u64);
    for piece in came {
        let i = by_seq.partition_point(|s| s.seq < piece.seq);
        let exact = |i: usize| by_seq.get(i).filter(|s| s.seq == piece.seq);
        if let (Some(s), None) = (exact(i), exact(i + 1)) {
            let equal = way.sent[s.at].id == way.arrived[piece.at].id;
            if equal { same += 1 } else { other += 1 }
        }
    }
    same > other && way.sent.iter().any(|p| p.id != 0)
}

/// Returns the transmission that carried the byte `seq` of the arrived packet `p`, and its transit time, ns:
/// the candidate closest to the `usual` transit time. No packet in `by_seq` is longer than `longest`.
fn find_transmission(
    way: &DirectionPackets,
    (by_seq, longest): (&[StreamPiece], u64),
    transmissions: &[Transmission],
    (seq, p): (u64, &SeenPacket),
    (has_ids, least, usual): (bool, i64, Option<i64>),
) -> Option<(StreamPiece, i64)> {
    let from = by_seq.partition_point(|s| s.seq + longest <= seq);
    let to = by_seq.partition_point(|s| s.seq <= seq);
    let candidates = by_seq[from..to].iter().rev().take(MAX_CANDIDATES).filter_map(|s| {
        let sent = &way.sent[s.at];
        let took = difference(p.time, sent.time);
        let open = s.end > seq && u64::from(transmissions[s.at].arrived) < s.end - s.seq;
        let tsval_matches = sent.tsval == 0 || p.tsval == 0 || sent.tsval == p.tsval;
        // If offload splits a packet, each segment has the next identification; if it merges some, the first
        // one's is kept.
        let whole = sent.seq == p.seq && sent.len == p.len;
        let id_distance = p.id.wrapping_sub(sent.id).min(sent.id.wrapping_sub(p.id));
        let id_matches = !has_ids || id_distance <= if whole { 0 } else { MAX_JOINED_SEGMENTS };
        (open && tsval_matches && id_matches && took >= least).then_some((*s, took))
    });
    candidates.min_by_key(|(s, took)| (usual.map_or(0, |usual| took.abs_diff(usual)), s.at))
}

/// Marks packets that did not arrive as lost, if the other capture would have shown them.
fn settle(
    way: &DirectionPackets,
    sent: &[StreamPiece],
    came: &[StreamPiece],
    transmissions: &[Transmission],
    out: &mut DirectionFates,
) {
    let cover = StreamCover::of(came);
    let acked = acknowledged(way, reference(way.sent));
    let ways: Vec<i64> = sent.iter().filter_map(|p| transmissions[p.at].took).collect();
    let (shortest, longest) = (ways.iter().min().copied(), ways.iter().max().copied());
    let lasts = Span::from_nanos(longest.unwrap_or(0).max(0) as u64) + MAX_LATENESS;
    // Anything sent before this was overtaken by what arrived, or would have arrived long ago.
    let arrived_last =
        sent.iter().filter(|p| transmissions[p.at].took.is_some()).map(|p| way.sent[p.at].time).max();
    let judged_until = arrived_last.max(Some(way.watched.1 - lasts));
    for p in sent {
        let (t, time) = (&transmissions[p.at], way.sent[p.at].time);
        let bytes = p.end - p.seq;
        let missing = bytes - u64::from(t.arrived);
        // Acknowledged but not seen to arrive: the capture lacks it.
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

/// Highest sequence number that the receiver acknowledged.
fn acknowledged(way: &DirectionPackets, reference: u64) -> Option<u64> {
    let mut highest: Option<u64> = None;
    for p in way.answers.into_iter().flatten().filter(|p| p.flags.has(capture::TcpFlags::ACK)) {
        let ack = unwrap(highest.unwrap_or(reference), p.ack);
        if ack.abs_diff(highest.unwrap_or(reference)) <= MAX_JUMP {
            highest = highest.max(Some(ack));
        }
    }
    highest
}

/// Number of payload bytes sent again although an earlier transmission of them arrived.
fn spurious_bytes(
    sent: &[StreamPiece],
    by_seq: &[StreamPiece],
    transmissions: &[Transmission],
    longest: u64,
) -> u64 {
    let mut bytes = 0;
    let mut until = 0;
    for p in sent {
        if p.seq < until {
            let from = by_seq.partition_point(|s| s.seq + longest <= p.seq);
            let before = by_seq[from..].iter().take_while(|s| s.seq < p.end).take(MAX_CANDIDATES);
            let whole = |s: &StreamPiece| u64::from(transmissions[s.at].arrived) == s.end - s.seq;
            let arrived = before.filter(|s| s.at < p.at && s.end > p.seq && whole(s));
            let arrived: Vec<StreamPiece> = arrived.copied().collect();
            bytes += p.end - p.seq - StreamCover::of(&arrived).missing(p.seq, p.end);
        }
        until = until.max(p.end);
    }
    bytes
}

/// Decides the fates of packets without payload: among equal ones, the first to arrive are taken for the
/// first sent.
fn settle_without_payload(way: &DirectionPackets, out: &mut DirectionFates) {
    let [sent, arrived] = packets_without_payload(way.sent, way.arrived);
    let inside = |p: &SeenPacket| p.time >= way.watched.0 && p.time + MAX_LATENESS <= way.watched.1;
    for (key, list) in &sent {
        let came = arrived.get(key).map_or(&[][..], |list| list);
        let equal = list.len() == came.len();
        for (i, j) in list.iter().zip(came) {
            let took = difference(way.arrived[*j].time, way.sent[*i].time);
            if equal {
                (out.sent[*i], out.arrived[*j]) = ((SentFate::Lost(0), Some(took)), Some(took));
            }
        }
        let judged = list.iter().filter(|i| inside(&way.sent[**i])).count();
        out.bare.0 += judged.max(came.len().min(list.len())) as u64;
        out.bare.1 += judged.saturating_sub(came.len()) as u64;
    }
}
