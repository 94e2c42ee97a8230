//! A trace as the packets of a TCP sender's capture: see [`super`].

use super::read::{PacketNumber, QlogKind, QlogTrace, QlogVantage};
use super::unnamed_ends;
use crate::between::PacketBeyond;
use capture::{Endpoint, PacketOptions, TcpFlags, TcpPacket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{Span, Time};

/// The window that every ACK announces: as large as TCP's largest, so that it never holds anyone back.
const WINDOW: (u16, u8) = (u16::MAX, 14);
/// IP and UDP headers of IPv4 (RFC 791, RFC 768), bytes, in the place of IP's and TCP's.
const HEADER: u16 = 28;
/// What is acknowledged beyond a hole, most ranges told at a time (RFC 2018 section 3).
const BLOCKS: usize = 4;

/// A trace's packets in the order of time, each with what became of it.
pub(super) struct Replay {
    pub packets: Vec<(TcpPacket, PacketBeyond)>,
    pub sent: u64,
    pub lost: u64,
}

/// The stream that the packets are laid out as.
struct Layout {
    own: Endpoint,
    peer: Endpoint,
    next: u64,
    /// Bytes of packets declared lost, to be sent again.
    again: VecDeque<(u64, u32)>,
    /// Bytes that each packet brought that is not acknowledged.
    brought: BTreeMap<PacketNumber, (u64, u32)>,
    /// Acknowledged up to here, and ranges beyond.
    acked: u64,
    beyond: BTreeMap<u64, u64>,
    /// The ranges that grew last come first (RFC 2018 section 4).
    recent: VecDeque<u64>,
    largest: u32,
}

/// Lays out a trace.
pub(super) fn replay(trace: &QlogTrace) -> Replay {
    let [own, peer] = trace.ends.unwrap_or_else(unnamed_ends);
    let eliciting = |kind: &QlogKind| match *kind {
        QlogKind::Sent { number, length, eliciting } => (eliciting && length > 0).then_some((number, length)),
        _ => None,
    };
    let fates = Fates::of(trace);
    let largest = trace.events.iter().filter_map(|e| Some(eliciting(&e.kind)?.1)).max().unwrap_or(1);
    let mut layout = Layout {
        own,
        peer,
        next: 1,
        again: VecDeque::new(),
        brought: BTreeMap::new(),
        acked: 1,
        beyond: BTreeMap::new(),
        recent: VecDeque::new(),
        largest,
    };
    let mut out = Replay { packets: layout.handshake(trace), sent: 0, lost: 0 };
    let begin = out.packets.last().map_or(Time::ZERO, |p| p.0.time);
    for event in &trace.events {
        let now = event.time;
        match &event.kind {
            QlogKind::Sent { .. } => {
                // What was sent before the other side answered is the handshake itself.
                let data = eliciting(&event.kind).filter(|_| now > begin);
                let Some((number, length)) = data else { continue };
                let lost = fates.lost.contains(&number);
                let known = lost || fates.acked.contains(&number);
                out.sent += 1;
                out.lost += u64::from(lost);
                let p = layout.send(now, number, length);
                let told = if known {
                    PacketBeyond::Told { lost: if lost { p.len } else { 0 } }
                } else {
                    PacketBeyond::Unasked
                };
                out.packets.push((p, told));
            }
            QlogKind::Received { space, acked, .. } if !acked.is_empty() => {
                out.packets
                    .extend(layout.acknowledge(now, *space, acked).map(|p| (p, PacketBeyond::Unasked)));
            }
            QlogKind::Received { .. } => {}
            QlogKind::Lost { number } => layout.lose(*number),
        }
    }
    out
}

/// What the trace as a whole says of packets.
struct Fates {
    acked: BTreeSet<PacketNumber>,
    lost: BTreeSet<PacketNumber>,
}

impl Fates {
    fn of(trace: &QlogTrace) -> Fates {
        let sent = |number: &QlogKind| match number {
            QlogKind::Sent { number, .. } => Some(*number),
            _ => None,
        };
        let mut open: BTreeSet<PacketNumber> = trace.events.iter().filter_map(|e| sent(&e.kind)).collect();
        let (mut acked, mut lost) = (BTreeSet::new(), BTreeSet::new());
        for event in &trace.events {
            match &event.kind {
                QlogKind::Received { space, acked: ranges, .. } => {
                    for (from, to) in ranges {
                        let new = open.range((*space, *from)..=(*space, *to)).copied().collect::<Vec<_>>();
                        for number in new {
                            open.remove(&number);
                            acked.insert(number);
                        }
                    }
                }
                QlogKind::Lost { number } => {
                    lost.insert(*number);
                }
                QlogKind::Sent { .. } => {}
            }
        }
        // Declared lost too soon: it had arrived.
        lost.retain(|number| !acked.contains(number));
        Fates { acked, lost }
    }
}

impl Layout {
    fn packet(&self, time: Time, from_own: bool, seq: u64, flags: TcpFlags) -> TcpPacket {
        let (src, dst) = if from_own { (self.own, self.peer) } else { (self.peer, self.own) };
        let ack = if from_own { 1 } else { self.acked as u32 };
        TcpPacket {
            time,
            src,
            dst,
            seq: seq as u32,
            ack,
            flags,
            window: WINDOW.0,
            header: HEADER,
            ..TcpPacket::default()
        }
    }

    /// The first packet, the first of the other side, and what came next, as a handshake.
    fn handshake(&self, trace: &QlogTrace) -> Vec<(TcpPacket, PacketBeyond)> {
        let time = |sent: bool| {
            let is = |kind: &QlogKind| match kind {
                QlogKind::Sent { .. } => sent,
                QlogKind::Received { .. } => !sent,
                QlogKind::Lost { .. } => false,
            };
            trace.events.iter().find(|e| is(&e.kind)).map(|e| e.time)
        };
        let (Some(first_sent), Some(first_received)) = (time(true), time(false)) else { return Vec::new() };
        let opens = match trace.vantage {
            QlogVantage::Client => true,
            QlogVantage::Server => false,
            QlogVantage::Other => first_sent <= first_received,
        };
        let options = PacketOptions {
            mss: Some(self.largest.min(u16::MAX.into()) as u16),
            wscale: Some(WINDOW.1),
            sack_ok: true,
            ..PacketOptions::default()
        };
        let answer = TcpFlags::SYN | TcpFlags::ACK;
        let syn = |time, own, flags| TcpPacket {
            options,
            ack: if flags == answer { 1 } else { 0 },
            ..self.packet(time, own, 0, flags)
        };
        let (begin, reply) = if opens { (first_sent, first_received) } else { (first_received, first_sent) };
        let reply = reply.max(begin);
        // Of a server, the client's next packet ends the handshake; what it sends before that is its own to send already.
        let mut list = vec![syn(begin, opens, TcpFlags::SYN), syn(reply, !opens, answer)];
        if opens {
            list.push(self.packet(reply + Span::from_micros(1), true, 1, TcpFlags::ACK));
        }
        list.into_iter().map(|p| (p, PacketBeyond::Unasked)).collect()
    }

    fn send(&mut self, now: Time, number: PacketNumber, length: u32) -> TcpPacket {
        // What was lost comes again with the next packet that has room for most of it.
        let repeats = self.again.front().is_some_and(|(_, len)| length >= len / 2 + len / 4);
        let (seq, len) = match repeats.then(|| self.again.pop_front()).flatten() {
            Some(bytes) => bytes,
            None => {
                self.next += u64::from(length);
                (self.next - u64::from(length), length)
            }
        };
        self.brought.insert(number, (seq, len));
        TcpPacket { len, ..self.packet(now, true, seq, TcpFlags::ACK) }
    }

    fn lose(&mut self, number: PacketNumber) {
        if let Some((seq, len)) = self.brought.get(&number).copied()
            && !self.has(seq, len)
            && !self.again.contains(&(seq, len))
        {
            self.again.push_back((seq, len));
        }
    }

    fn has(&self, seq: u64, len: u32) -> bool {
        let end = seq + u64::from(len);
        end <= self.acked || self.beyond.range(..=seq).next_back().is_some_and(|(_, to)| *to >= end)
    }

    fn acknowledge(&mut self, now: Time, space: u8, ranges: &[(u64, u64)]) -> Option<TcpPacket> {
        let mut grown = false;
        for (from, to) in ranges {
            let new = self.brought.range((space, *from)..=(space, *to)).map(|(number, _)| *number);
            for number in new.collect::<Vec<_>>() {
                let Some((seq, len)) = self.brought.remove(&number) else { continue };
                self.again.retain(|bytes| *bytes != (seq, len));
                grown |= self.take(seq, seq + u64::from(len));
            }
        }
        grown.then(|| {
            let mut options = PacketOptions::default();
            let blocks = self.recent.iter().filter_map(|from| Some((*from, *self.beyond.get(from)?)));
            for (slot, (from, to)) in options.sack.iter_mut().zip(blocks.take(BLOCKS)) {
                *slot = (from as u32, to as u32);
                options.sacks += 1;
            }
            TcpPacket { options, header: HEADER, ..self.packet(now, false, 1, TcpFlags::ACK) }
        })
    }

    /// The receiver has these bytes; whether that is new.
    fn take(&mut self, mut from: u64, mut to: u64) -> bool {
        if to <= self.acked {
            return false;
        }
        from = from.max(self.acked);
        while let Some((&a, &b)) = self.beyond.range(..=to).next_back().filter(|(_, b)| **b >= from) {
            if a <= from && b >= to {
                return false;
            }
            (from, to) = (from.min(a), to.max(b));
            self.beyond.remove(&a);
            self.recent.retain(|start| *start != a);
        }
        if from <= self.acked {
            self.acked = to;
        } else {
            self.beyond.insert(from, to);
            self.recent.push_front(from);
            self.recent.truncate(64);
        }
        true
    }
}
