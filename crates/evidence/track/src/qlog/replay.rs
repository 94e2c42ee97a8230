//! A trace as the packets of a TCP capture at its endpoint: see [`super`].

use super::arrivals::{Arrivals, LONGEST_GAP};
use super::credit::Credit;
use super::trace::{PacketNumber, QlogKind, QlogMetrics, QlogPacket, QlogTrace, QlogVantage};
use super::unnamed_ends;
use crate::between::PacketBeyond;
use capture::{Endpoint, PacketOptions, TcpFlags, TcpPacket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{Span, Time};

/// The largest window scale (RFC 7323 section 2.3).
const LARGEST_SCALE: u8 = 14;
/// IP and UDP headers of IPv4 (RFC 791, RFC 768), bytes, in the place of IP's and TCP's.
const HEADER: u16 = 28;
/// A pause is not pacing if it is longer than it takes to pace so many packets.
const PACKETS_PACED: u64 = 2;
/// The slowest that a control paces for a round trip, as a part of its window: BBR that drains a queue (gain 0.75), and some
/// slack.
const LEAST_PACING: f64 = 0.67;
/// The shortest pause that counts: timers are no finer (RFC 9002 section 6.1.2).
const GRANULARITY: Span = Span::from_millis(1);
/// Ranges that an ACK states beyond a hole (RFC 2018 section 3).
const BLOCKS: usize = 4;

/// A trace's packets in the order of time, each with what became of it.
pub(super) struct Replay {
    pub packets: Vec<(TcpPacket, PacketBeyond)>,
    pub sent: u64,
    pub lost: u64,
}

/// The stream that the data packets of one direction are laid out as.
struct Layout {
    own: Endpoint,
    peer: Endpoint,
    /// Whether the endpoint sends the data.
    own_data: bool,
    next: u64,
    /// Bytes of packets declared lost, to be sent again.
    again: VecDeque<(u64, u32)>,
    /// Bytes of the packets that did not come yet: they come late, or their data comes with another.
    reserved: BTreeMap<PacketNumber, (u64, u32)>,
    /// Of each number space, the number behind the highest that came.
    expected: BTreeMap<u8, u64>,
    /// Bytes that each packet brought that is not acknowledged.
    brought: BTreeMap<PacketNumber, (u64, u32)>,
    /// Acknowledged up to here, and ranges beyond.
    acked: u64,
    beyond: BTreeMap<u64, u64>,
    /// The ranges that grew last come first (RFC 2018 section 4).
    recent: VecDeque<u64>,
    largest: u32,
    credit: Credit,
    /// The window of each packet that carries one.
    windows: Vec<Window>,
    last_window: Option<u64>,
    /// Packets declared lost so far.
    declared: BTreeSet<PacketNumber>,
    /// Packets after which the sender had nothing to send.
    pushed: BTreeSet<PacketNumber>,
    room: Room,
}

/// Whether the sender could have sent more since its last data packet: its congestion window and the receiver's credit had room.
#[derive(Default)]
struct Room {
    metrics: QlogMetrics,
    last_data: Option<PacketNumber>,
    /// Packets after which it had nothing to send.
    ended: BTreeSet<PacketNumber>,
    last_sent: Time,
    /// Bytes that left together.
    burst: u64,
    always: bool,
}

impl Room {
    fn sent(&mut self, now: Time, number: PacketNumber, length: u32) {
        let at_once = now.since(self.last_sent) < GRANULARITY;
        self.burst = if at_once { self.burst } else { 0 } + u64::from(length);
        (self.last_data, self.last_sent, self.always) = (Some(number), now, true);
    }

    /// Whether it had nothing to send until now: there was room all the time, and it lasted longer than pacing explains.
    fn idle_before(&self, now: Time, packet: u64) -> bool {
        let (Some(cwnd), Some(rtt)) = (self.metrics.cwnd, self.metrics.smoothed_rtt) else { return false };
        // Pacing spreads a window over a round trip, a burst at a time (RFC 9002 section 7.7).
        let burst = self.burst.max(PACKETS_PACED * packet) as f64 / LEAST_PACING;
        let paced = rtt.as_secs_f64() * burst / cwnd.max(1) as f64;
        let gap = now.since(self.last_sent).as_secs_f64();
        self.always && gap > paced.max(GRANULARITY.as_secs_f64())
    }
}

/// Lays out a trace. Which packets ended what the application had shows only in what follows them, so a first pass looks for these.
pub(super) fn replay(trace: &QlogTrace) -> Replay {
    let pushed = lay_out(trace, BTreeSet::new()).1;
    lay_out(trace, pushed).0
}

/// Lays out a trace; also the packets after which the sender had nothing to send.
fn lay_out(trace: &QlogTrace, pushed: BTreeSet<PacketNumber>) -> (Replay, BTreeSet<PacketNumber>) {
    let own_data = !trace.is_of_receiver();
    let mut layout = Layout::new(trace, own_data);
    layout.pushed = pushed;
    let fates = Fates::of(trace, own_data);
    let mut out = Replay { packets: layout.handshake(trace), sent: 0, lost: 0 };
    let handshake = out.packets.last().map_or(Time::ZERO, |p| p.0.time);
    // Of a connection with streams, what comes before the first is the handshake's: crypto data, connection IDs.
    let first = trace.events.iter().find(|e| match &e.kind {
        QlogKind::Sent(p) => own_data && !p.parts.is_empty(),
        QlogKind::Received(p) => !own_data && !p.parts.is_empty(),
        QlogKind::Lost { .. } => false,
    });
    let begin = (handshake + Span::from_nanos(1)).max(first.map_or(Time::ZERO, |e| e.time));
    // Without ACK frames, bytes in flight say how much was acknowledged.
    let infer_acks = own_data && !trace.has_acks();
    let mut metrics = trace.metrics.iter().filter(|_| own_data).peekable();
    for (i, event) in trace.events.iter().enumerate() {
        while let Some(m) = metrics.next_if(|m| m.after <= i) {
            if let Some(inflight) = m.inflight.filter(|_| infer_acks) {
                let acked = layout.left_flight(inflight, &fates.lost);
                out.ack(&mut layout, m.time, &acked, false);
            }
            layout.room.metrics = *m;
            layout.look_for_room();
        }
        layout.look_for_room();
        let now = event.time;
        match &event.kind {
            QlogKind::Sent(p) if own_data => out.data(&mut layout, now, p, begin, &fates),
            QlogKind::Received(p) if !own_data => out.data(&mut layout, now, p, begin, &fates),
            QlogKind::Sent(p) | QlogKind::Received(p) => {
                let more = layout.credit.granted(p);
                let ranges = p.acked.iter().map(|&(from, to)| ((p.number.0, from), (p.number.0, to)));
                out.ack(&mut layout, now, &ranges.collect::<Vec<_>>(), more);
            }
            QlogKind::Lost { number } if own_data => layout.lose(*number),
            QlogKind::Lost { .. } => {}
        }
    }
    layout.scale_windows(&mut out.packets);
    (out, layout.room.ended)
}

impl Replay {
    fn data(&mut self, layout: &mut Layout, now: Time, p: &QlogPacket, begin: Time, fates: &Fates) {
        layout.credit.sent(p);
        // What came before the other side answered is the handshake itself.
        if !p.eliciting || p.length == 0 || now < begin {
            return;
        }
        let lost = fates.lost.contains(&p.number);
        self.sent += 1;
        let beyond = if !layout.own_data {
            self.lost += u64::from(fates.arrivals.repairs.contains_key(&p.number));
            PacketBeyond::Unasked
        } else if lost || fates.acked.contains(&p.number) {
            self.lost += u64::from(lost);
            PacketBeyond::Told { lost: if lost { p.length } else { 0 } }
        } else {
            PacketBeyond::Unasked
        };
        let packet = if layout.own_data {
            layout.send(now, p.number, p.length)
        } else {
            layout.receive(now, p.number, p.length, &fates.arrivals)
        };
        if layout.room.idle_before(now, u64::from(layout.largest)) {
            layout.room.ended.extend(layout.room.last_data);
        }
        // The end of a stream is the end of what the application wrote.
        if p.parts.iter().any(|part| part.fin) {
            layout.room.ended.insert(p.number);
        }
        layout.room.sent(now, p.number, p.length);
        let beyond = match beyond {
            PacketBeyond::Told { lost: 1.. } => PacketBeyond::Told { lost: packet.len },
            other => other,
        };
        let ended = layout.pushed.contains(&p.number);
        let flags = if ended { packet.flags | TcpFlags::PSH } else { packet.flags };
        self.packets.push((TcpPacket { flags, ..packet }, beyond));
    }

    fn ack(
        &mut self,
        layout: &mut Layout,
        now: Time,
        ranges: &[(PacketNumber, PacketNumber)],
        more_credit: bool,
    ) {
        let packet = layout.acknowledge(now, ranges).or_else(|| more_credit.then(|| layout.bare(now)));
        let Some(packet) = packet else { return };
        let window = layout.window();
        let is_new = window != layout.last_window;
        if packet.ack != layout.last_ack(&self.packets) || packet.options.sacks > 0 || is_new {
            let inflight = layout.next - layout.acked;
            layout.windows.push(Window { packet: self.packets.len(), credited: window, inflight });
            layout.last_window = window;
            self.packets.push((packet, PacketBeyond::Unasked));
        }
    }
}

/// What the trace as a whole says of the data packets.
struct Fates {
    acked: BTreeSet<PacketNumber>,
    lost: BTreeSet<PacketNumber>,
    arrivals: Arrivals,
}

impl Fates {
    fn of(trace: &QlogTrace, own_data: bool) -> Fates {
        let (mut acked, mut lost) = (BTreeSet::new(), BTreeSet::new());
        if !own_data {
            return Fates { acked, lost, arrivals: Arrivals::of(trace) };
        }
        let mut open: BTreeSet<PacketNumber> =
            trace.packets().filter(|(sent, _)| *sent).map(|(_, p)| p.number).collect();
        for event in &trace.events {
            match &event.kind {
                QlogKind::Received(p) => {
                    for (from, to) in &p.acked {
                        let range = (p.number.0, *from)..=(p.number.0, *to);
                        let new = open.range(range).copied().collect::<Vec<_>>();
                        for number in new {
                            open.remove(&number);
                            acked.insert(number);
                        }
                    }
                }
                QlogKind::Lost { number } => {
                    lost.insert(*number);
                }
                QlogKind::Sent(_) => {}
            }
        }
        // Declared lost too soon: it had arrived.
        lost.retain(|number| !acked.contains(number));
        Fates { acked, lost, arrivals: Arrivals::default() }
    }
}

/// When the first packet that was acknowledged left, and when its ACK came.
fn first_round_trip(trace: &QlogTrace) -> Option<(Time, Time)> {
    let mut left: BTreeMap<PacketNumber, Time> = BTreeMap::new();
    for event in &trace.events {
        match &event.kind {
            QlogKind::Sent(p) => {
                left.insert(p.number, event.time);
            }
            QlogKind::Received(p) => {
                let newest = p.acked.iter().map(|range| range.1).max();
                let left = newest.and_then(|n| left.get(&(p.number.0, n)));
                if let Some(left) = left.filter(|left| **left <= event.time) {
                    return Some((*left, event.time));
                }
            }
            QlogKind::Lost { .. } => {}
        }
    }
    None
}

impl Layout {
    fn new(trace: &QlogTrace, own_data: bool) -> Layout {
        let [own, peer] = trace.ends.unwrap_or_else(unnamed_ends);
        let of_data = |(sent, p): &(bool, &QlogPacket)| *sent == own_data && p.eliciting;
        let largest = trace.packets().filter(of_data).map(|(_, p)| p.length).max().unwrap_or(1);
        let from_client = own_data == (trace.vantage != QlogVantage::Server);
        Layout {
            own,
            peer,
            own_data,
            next: 1,
            again: VecDeque::new(),
            reserved: BTreeMap::new(),
            expected: BTreeMap::new(),
            brought: BTreeMap::new(),
            acked: 1,
            beyond: BTreeMap::new(),
            recent: VecDeque::new(),
            largest,
            // What the receiver of the data grants.
            credit: Credit::new(from_client, trace.credit[usize::from(own_data)]),
            windows: Vec::new(),
            last_window: None,
            declared: BTreeSet::new(),
            pushed: BTreeSet::new(),
            room: Room::default(),
        }
    }

    fn look_for_room(&mut self) {
        let m = &self.room.metrics;
        // Metrics may be stated before the packet that was sent is counted.
        let need = 2 * u64::from(self.largest);
        let window = m.cwnd.zip(m.inflight).is_some_and(|(cwnd, inflight)| inflight + need <= cwnd);
        self.room.always &= window && self.credit.remaining().is_none_or(|credit| credit >= need);
    }

    /// A packet of the data's sender (`data`) or of its receiver.
    fn packet(&self, time: Time, data: bool, seq: u64, flags: TcpFlags) -> TcpPacket {
        let from_own = data == self.own_data;
        let (src, dst) = if from_own { (self.own, self.peer) } else { (self.peer, self.own) };
        let ack = if data { 1 } else { self.acked as u32 };
        TcpPacket {
            time,
            src,
            dst,
            seq: seq as u32,
            ack,
            flags,
            window: u16::MAX,
            header: HEADER,
            ..TcpPacket::default()
        }
    }

    /// The first packet in each direction as a handshake.
    fn handshake(&self, trace: &QlogTrace) -> Vec<(TcpPacket, PacketBeyond)> {
        let time = |sent: bool| {
            let is = |kind: &QlogKind| match kind {
                QlogKind::Sent(_) => sent,
                QlogKind::Received(_) => !sent,
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
            wscale: Some(LARGEST_SCALE),
            sack_ok: true,
            ..PacketOptions::default()
        };
        let answer = TcpFlags::SYN | TcpFlags::ACK;
        let syn = |time, own: bool, flags| TcpPacket {
            options,
            ack: if flags == answer { 1 } else { 0 },
            ..self.packet(time, own == self.own_data, 0, flags)
        };
        // A client's hello may take several packets, be sent again or follow a Retry: an ACK says which one was answered.
        let round_trip = first_round_trip(trace);
        let mut list = match (opens, round_trip) {
            (true, Some((begin, reply))) => vec![syn(begin, true, TcpFlags::SYN), syn(reply, false, answer)],
            (true, None) => {
                let reply = first_received.max(first_sent);
                vec![syn(first_sent, true, TcpFlags::SYN), syn(reply, false, answer)]
            }
            (false, _) => {
                let reply = round_trip.filter(|_| !self.own_data).map_or(first_sent, |(begin, _)| begin);
                // The log is the endpoint's own: what it takes to answer is not a distance.
                let before = reply.max(first_received) - Span::from_micros(1);
                vec![syn(before, false, TcpFlags::SYN), syn(reply.max(first_received), true, answer)]
            }
        };
        let end = list.last().map_or(first_sent, |p| p.time);
        // What a server sends before the client's next packet is its own to send already.
        let third = match round_trip {
            _ if opens => Some((end + Span::from_micros(1), self.own_data)),
            Some((_, reply)) if !self.own_data => Some((reply.max(end), true)),
            _ => None,
        };
        list.extend(third.map(|(time, data)| self.packet(time, data, 1, TcpFlags::ACK)));
        list.into_iter().map(|p| (p, PacketBeyond::Unasked)).collect()
    }

    /// Bytes behind all others, for a packet. One that ends what the application had is not a full segment, even if it is as long.
    fn behind_for(&mut self, number: PacketNumber, length: u32) -> (u64, u32) {
        let is_last = self.pushed.contains(&number) && length == self.largest;
        self.behind(length - u32::from(is_last))
    }

    /// Bytes behind all others.
    fn behind(&mut self, length: u32) -> (u64, u32) {
        self.next += u64::from(length);
        (self.next - u64::from(length), length)
    }

    fn send(&mut self, now: Time, number: PacketNumber, length: u32) -> TcpPacket {
        // What was lost comes again with the next packet that has room for most of it.
        let repeats = self.again.front().is_some_and(|(_, len)| length >= len / 2 + len / 4);
        let again = repeats.then(|| self.again.pop_front()).flatten();
        let (seq, len) = again.unwrap_or_else(|| self.behind_for(number, length));
        self.brought.insert(number, (seq, len));
        TcpPacket { len, ..self.packet(now, true, seq, TcpFlags::ACK) }
    }

    fn receive(&mut self, now: Time, number: PacketNumber, length: u32, arrivals: &Arrivals) -> TcpPacket {
        // Room for the packets before it that come later, by themselves or as others.
        let expected = self.expected.entry(number.0).or_insert(number.1);
        let from = (*expected).max(number.1.saturating_sub(LONGEST_GAP));
        *expected = (*expected).max(number.1 + 1);
        for missing in from..number.1 {
            let missing = (number.0, missing);
            if arrivals.lost.contains_key(&missing) || arrivals.came.contains(&missing) {
                let bytes = self.behind(self.largest);
                self.reserved.insert(missing, bytes);
            }
        }
        let repaired = arrivals.repairs.get(&number).unwrap_or(&number);
        let place = self.reserved.remove(repaired);
        let (seq, len) = place.unwrap_or_else(|| self.behind_for(number, length));
        self.brought.insert(number, (seq, len));
        TcpPacket { len, ..self.packet(now, true, seq, TcpFlags::ACK) }
    }

    fn lose(&mut self, number: PacketNumber) {
        self.declared.insert(number);
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

    /// The oldest packets that are no longer in flight when so many bytes are, without those that are lost.
    fn left_flight(&self, inflight: u64, lost: &BTreeSet<PacketNumber>) -> Vec<(PacketNumber, PacketNumber)> {
        let flying = self.brought.iter().filter(|(number, _)| !self.declared.contains(number));
        let mut flying: u64 = flying.map(|(_, (_, len))| u64::from(*len)).sum();
        let open = self.brought.iter().filter(|(number, _)| !lost.contains(number));
        let left = open.take_while(|(_, (_, len))| {
            let leaves = flying >= inflight + u64::from(*len);
            flying -= if leaves { u64::from(*len) } else { 0 };
            leaves
        });
        left.map(|(number, _)| (*number, *number)).collect()
    }

    fn acknowledge(&mut self, now: Time, ranges: &[(PacketNumber, PacketNumber)]) -> Option<TcpPacket> {
        let mut grown = false;
        for &(from, to) in ranges {
            let new = self.brought.range(from..=to).map(|(number, _)| *number);
            for number in new.collect::<Vec<_>>() {
                let Some((seq, len)) = self.brought.remove(&number) else { continue };
                self.again.retain(|bytes| *bytes != (seq, len));
                grown |= self.take(seq, seq + u64::from(len));
            }
        }
        grown.then(|| self.bare(now))
    }

    /// An ACK of all that came.
    fn bare(&self, now: Time) -> TcpPacket {
        let mut options = PacketOptions::default();
        let blocks = self.recent.iter().filter_map(|from| Some((*from, *self.beyond.get(from)?)));
        for (slot, (from, to)) in options.sack.iter_mut().zip(blocks.take(BLOCKS)) {
            *slot = (from as u32, to as u32);
            options.sacks += 1;
        }
        TcpPacket { options, ..self.packet(now, false, 1, TcpFlags::ACK) }
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

    fn last_ack(&self, packets: &[(TcpPacket, PacketBeyond)]) -> u32 {
        self.windows.last().map_or(0, |w| packets[w.packet].0.ack)
    }

    /// What the receiver would announce: flow control's credit, counted as TCP counts it from the last ACK on.
    fn window(&self) -> Option<u64> {
        self.credit.remaining().map(|credit| self.next - self.acked + credit)
    }

    /// Writes the windows, in the smallest scale that holds the largest.
    fn scale_windows(&self, packets: &mut [(TcpPacket, PacketBeyond)]) {
        let largest = self.windows.iter().filter_map(|w| w.credited).max();
        // A window that is not known is large enough not to hold the sender back, and no larger than the known ones where it can be.
        let bytes = |w: &Window| match (w.credited, largest) {
            (Some(window), _) => Some(window),
            (None, Some(largest)) => Some(largest.max(2 * w.inflight)),
            (None, None) => None,
        };
        let most = self.windows.iter().filter_map(bytes).max();
        let fits = |scale: &u8| most.is_some_and(|most| most >> scale <= u64::from(u16::MAX));
        let scale = (0..LARGEST_SCALE).find(fits).unwrap_or(LARGEST_SCALE);
        let field = |window: u64| (window >> scale).min(u16::MAX.into()) as u16;
        for (p, _) in packets.iter_mut().filter(|(p, _)| p.options.wscale.is_some()) {
            p.options.wscale = Some(scale);
            p.window = largest.map_or(u16::MAX, |window| window.min(u16::MAX.into()) as u16);
        }
        for w in &self.windows {
            packets[w.packet].0.window = bytes(w).map_or(u16::MAX, field);
        }
    }
}

/// What the receiver's packet says of its window.
struct Window {
    /// Place of the packet.
    packet: usize,
    /// Bytes by flow control's credit; `None` where that is not known.
    credited: Option<u64>,
    /// Bytes in flight then.
    inflight: u64,
}
