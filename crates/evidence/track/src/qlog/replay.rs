//! Converts a trace to the packets of a TCP capture at its endpoint: see [`super`].

use super::arrivals::{Arrivals, MAX_NUMBER_GAP};
use super::credit::Credit;
use super::placeholder_ends;
use super::trace::{PacketNumber, QlogKind, QlogMetrics, QlogPacket, QlogTrace, QlogVantage};
use crate::between::ExternalFate;
use capture::{Endpoint, PacketOptions, TcpFlags, TcpPacket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{Span, Time};

/// The largest window scale (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;
/// IP and UDP header bytes with IPv4 (RFC 791, RFC 768), used in place of the IP and TCP headers.
const HEADER_BYTES: u16 = 28;
/// A pause is not pacing if it is longer than the time to pace this many packets.
const PACED_PACKETS: u64 = 2;
/// The slowest pacing rate of a congestion control over a round trip, as a share of its window per RTT: BBR
/// draining a queue (gain 0.75), with some slack.
const MIN_PACING_GAIN: f64 = 0.67;
/// The shortest pause that counts: timers are not finer (RFC 9002 section 6.1.2).
const GRANULARITY: Span = Span::from_millis(1);
/// Maximum number of SACK blocks in an ACK (RFC 2018 section 3).
const MAX_SACK_BLOCKS: usize = 4;

/// A trace's packets in order of time, each with its fate.
pub(super) struct Replay {
    pub packets: Vec<(TcpPacket, ExternalFate)>,
    pub sent: u64,
    pub lost: u64,
}

/// The stream that the data packets of one direction are laid out as.
struct StreamLayout {
    own: Endpoint,
    peer: Endpoint,
    /// Whether the endpoint sends the data.
    own_data: bool,
    next: u64,
    /// Bytes of packets declared lost, to be retransmitted.
    lost_bytes: VecDeque<(u64, u32)>,
    /// Bytes reserved for packets that have not arrived yet: they arrive late, or another packet carries
    /// their data.
    reserved: BTreeMap<PacketNumber, (u64, u32)>,
    /// For each number space, the number after the highest that arrived.
    expected: BTreeMap<u8, u64>,
    /// Unacknowledged bytes that each packet carried.
    carried: BTreeMap<PacketNumber, (u64, u32)>,
    /// Cumulatively acknowledged up to here, and SACKed ranges above it.
    acked: u64,
    sacked: BTreeMap<u64, u64>,
    /// The most recently grown ranges come first (RFC 2018 section 4).
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
    room: SendRoom,
}

/// Tracks whether the sender could have sent more since its last data packet: whether its congestion window
/// and the receiver's credit had room.
#[derive(Default)]
struct SendRoom {
    metrics: QlogMetrics,
    last_data: Option<PacketNumber>,
    /// Packets after which the sender had nothing to send.
    ended: BTreeSet<PacketNumber>,
    last_sent: Time,
    /// Bytes sent together.
    burst: u64,
    always: bool,
}

impl SendRoom {
    fn sent(&mut self, now: Time, number: PacketNumber, length: u32) {
        let at_once = now.since(self.last_sent) < GRANULARITY;
        self.burst = if at_once { self.burst } else { 0 } + u64::from(length);
        (self.last_data, self.last_sent, self.always) = (Some(number), now, true);
    }

    /// Returns whether the sender had nothing to send until now: there was room all the time, for longer than
    /// pacing explains.
    fn idle_before(&self, now: Time, packet: u64) -> bool {
        let (Some(cwnd), Some(rtt)) = (self.metrics.cwnd, self.metrics.smoothed_rtt) else { return false };
        // Pacing spreads a window over a round trip, one burst at a time (RFC 9002 section 7.7).
        let burst = self.burst.max(PACED_PACKETS * packet) as f64 / MIN_PACING_GAIN;
        let paced = rtt.as_secs_f64() * burst / cwnd.max(1) as f64;
        let gap = now.since(self.last_sent).as_secs_f64();
        self.always && gap > paced.max(GRANULARITY.as_secs_f64())
    }
}

/// Converts a trace. Which packets ended the application's data shows only in what follows them, so a first
/// pass finds these.
pub(super) fn replay(trace: &QlogTrace) -> Replay {
    let pushed = lay_out(trace, BTreeSet::new()).1;
    lay_out(trace, pushed).0
}

/// Lays out a trace. Also returns the packets after which the sender had nothing to send.
fn lay_out(trace: &QlogTrace, pushed: BTreeSet<PacketNumber>) -> (Replay, BTreeSet<PacketNumber>) {
    let own_data = !trace.is_of_receiver();
    let mut layout = StreamLayout::new(trace, own_data);
    layout.pushed = pushed;
    let fates = Fates::of(trace, own_data);
    let mut out = Replay { packets: layout.handshake(trace), sent: 0, lost: 0 };
    let handshake = out.packets.last().map_or(Time::ZERO, |p| p.0.time);
    // In a connection with streams, everything before the first belongs to the handshake: crypto data,
    // connection IDs.
    let first = trace.events.iter().find(|e| match &e.kind {
        QlogKind::Sent(p) => own_data && !p.parts.is_empty(),
        QlogKind::Received(p) => !own_data && !p.parts.is_empty(),
        QlogKind::Lost { .. } => false,
    });
    let begin = (handshake + Span::from_nanos(1)).max(first.map_or(Time::ZERO, |e| e.time));
    // Without ACK frames, the bytes in flight show how much was acknowledged.
    let infer_acks = own_data && !trace.has_acks();
    let mut metrics = trace.metrics.iter().filter(|_| own_data).peekable();
    for (i, event) in trace.events.iter().enumerate() {
        while let Some(m) = metrics.next_if(|m| m.after <= i) {
            if let Some(inflight) = m.inflight.filter(|_| infer_acks) {
                let acked = layout.left_flight(inflight, &fates.lost);
                out.ack(&mut layout, m.time, &acked, false);
            }
            layout.room.metrics = *m;
            layout.check_room();
        }
        layout.check_room();
        let now = event.time;
        match &event.kind {
            QlogKind::Sent(p) if own_data => out.data(&mut layout, now, p, begin, &fates),
            QlogKind::Received(p) if !own_data => out.data(&mut layout, now, p, begin, &fates),
            QlogKind::Sent(p) | QlogKind::Received(p) => {
                let more = layout.credit.apply_limits(p);
                let ranges = p.acked.iter().map(|&(from, to)| ((p.number.0, from), (p.number.0, to)));
                out.ack(&mut layout, now, &ranges.collect::<Vec<_>>(), more);
            }
            QlogKind::Lost { number } if own_data => layout.declare_lost(*number),
            QlogKind::Lost { .. } => {}
        }
    }
    layout.scale_windows(&mut out.packets);
    (out, layout.room.ended)
}

impl Replay {
    fn data(&mut self, layout: &mut StreamLayout, now: Time, p: &QlogPacket, begin: Time, fates: &Fates) {
        layout.credit.sent(p);
        // Anything before the other side answered is the handshake itself.
        if !p.eliciting || p.length == 0 || now < begin {
            return;
        }
        let lost = fates.lost.contains(&p.number);
        self.sent += 1;
        let sacked = if !layout.own_data {
            self.lost += u64::from(fates.arrivals.repairs.contains_key(&p.number));
            ExternalFate::Absent
        } else if lost || fates.acked.contains(&p.number) {
            self.lost += u64::from(lost);
            ExternalFate::Logged { lost: if lost { p.length } else { 0 } }
        } else {
            ExternalFate::Absent
        };
        let packet = if layout.own_data {
            layout.send(now, p.number, p.length)
        } else {
            layout.receive(now, p.number, p.length, &fates.arrivals)
        };
        if layout.room.idle_before(now, u64::from(layout.largest)) {
            layout.room.ended.extend(layout.room.last_data);
        }
        // The end of a stream is the end of the application's data.
        if p.parts.iter().any(|part| part.fin) {
            layout.room.ended.insert(p.number);
        }
        layout.room.sent(now, p.number, p.length);
        let sacked = match sacked {
            ExternalFate::Logged { lost: 1.. } => ExternalFate::Logged { lost: packet.len },
            other => other,
        };
        let ended = layout.pushed.contains(&p.number);
        let flags = if ended { packet.flags | TcpFlags::PSH } else { packet.flags };
        self.packets.push((TcpPacket { flags, ..packet }, sacked));
    }

    fn ack(
        &mut self,
        layout: &mut StreamLayout,
        now: Time,
        ranges: &[(PacketNumber, PacketNumber)],
        more_credit: bool,
    ) {
        let packet = layout.acknowledge(now, ranges).or_else(|| more_credit.then(|| layout.ack_packet(now)));
        let Some(packet) = packet else { return };
        let window = layout.window();
        let is_new = window != layout.last_window;
        if packet.ack != layout.last_ack(&self.packets) || packet.options.sacks > 0 || is_new {
            let inflight = layout.next - layout.acked;
            layout.windows.push(Window { packet: self.packets.len(), credited: window, inflight });
            layout.last_window = window;
            self.packets.push((packet, ExternalFate::Absent));
        }
    }
}

/// The fates of the data packets, according to the whole trace.
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

/// When the first acknowledged packet was sent, and when its ACK arrived.
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

impl StreamLayout {
    fn new(trace: &QlogTrace, own_data: bool) -> StreamLayout {
        let [own, peer] = trace.ends.unwrap_or_else(placeholder_ends);
        let of_data = |(sent, p): &(bool, &QlogPacket)| *sent == own_data && p.eliciting;
        let largest = trace.packets().filter(of_data).map(|(_, p)| p.length).max().unwrap_or(1);
        let from_client = own_data == (trace.vantage != QlogVantage::Server);
        StreamLayout {
            own,
            peer,
            own_data,
            next: 1,
            lost_bytes: VecDeque::new(),
            reserved: BTreeMap::new(),
            expected: BTreeMap::new(),
            carried: BTreeMap::new(),
            acked: 1,
            sacked: BTreeMap::new(),
            recent: VecDeque::new(),
            largest,
            // The credit that the receiver of the data grants.
            credit: Credit::new(from_client, trace.credit[usize::from(own_data)]),
            windows: Vec::new(),
            last_window: None,
            declared: BTreeSet::new(),
            pushed: BTreeSet::new(),
            room: SendRoom::default(),
        }
    }

    fn check_room(&mut self) {
        let m = &self.room.metrics;
        // Metrics may be stated before the packet just sent is counted.
        let need = 2 * u64::from(self.largest);
        let window = m.cwnd.zip(m.inflight).is_some_and(|(cwnd, inflight)| inflight + need <= cwnd);
        self.room.always &= window && self.credit.remaining().is_none_or(|credit| credit >= need);
    }

    /// Returns a packet of the data's sender (`data`) or of its receiver.
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
            header: HEADER_BYTES,
            ..TcpPacket::default()
        }
    }

    /// Returns the first packet in each direction as a handshake.
    fn handshake(&self, trace: &QlogTrace) -> Vec<(TcpPacket, ExternalFate)> {
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
            wscale: Some(MAX_SCALE),
            sack_ok: true,
            ..PacketOptions::default()
        };
        let answer = TcpFlags::SYN | TcpFlags::ACK;
        let syn = |time, own: bool, flags| TcpPacket {
            options,
            ack: if flags == answer { 1 } else { 0 },
            ..self.packet(time, own == self.own_data, 0, flags)
        };
        // A client's hello may take several packets, be retransmitted or follow a Retry: an ACK shows which
        // one was answered.
        let round_trip = first_round_trip(trace);
        let mut list = match (opens, round_trip) {
            (true, Some((begin, reply))) => vec![syn(begin, true, TcpFlags::SYN), syn(reply, false, answer)],
            (true, None) => {
                let reply = first_received.max(first_sent);
                vec![syn(first_sent, true, TcpFlags::SYN), syn(reply, false, answer)]
            }
            (false, _) => {
                let reply = round_trip.filter(|_| !self.own_data).map_or(first_sent, |(begin, _)| begin);
                // The log is the endpoint's own, so its response time is not a path delay.
                let before = reply.max(first_received) - Span::from_micros(1);
                vec![syn(before, false, TcpFlags::SYN), syn(reply.max(first_received), true, answer)]
            }
        };
        let end = list.last().map_or(first_sent, |p| p.time);
        // Anything that a server sends before the client's next packet is already its own data.
        let third = match round_trip {
            _ if opens => Some((end + Span::from_micros(1), self.own_data)),
            Some((_, reply)) if !self.own_data => Some((reply.max(end), true)),
            _ => None,
        };
        list.extend(third.map(|(time, data)| self.packet(time, data, 1, TcpFlags::ACK)));
        list.into_iter().map(|p| (p, ExternalFate::Absent)).collect()
    }

    /// Returns the next bytes of the stream for a packet. A packet that ends the application's data is not a
    /// full segment, even if it is as long.
    fn next_bytes_for(&mut self, number: PacketNumber, length: u32) -> (u64, u32) {
        let is_last = self.pushed.contains(&number) && length == self.largest;
        self.next_bytes(length - u32::from(is_last))
    }

    /// Returns the next bytes of the stream.
    fn next_bytes(&mut self, length: u32) -> (u64, u32) {
        self.next += u64::from(length);
        (self.next - u64::from(length), length)
    }

    fn send(&mut self, now: Time, number: PacketNumber, length: u32) -> TcpPacket {
        // Lost bytes are retransmitted in the next packet that has room for most of them.
        let repeats = self.lost_bytes.front().is_some_and(|(_, len)| length >= len / 2 + len / 4);
        let lost_bytes = repeats.then(|| self.lost_bytes.pop_front()).flatten();
        let (seq, len) = lost_bytes.unwrap_or_else(|| self.next_bytes_for(number, length));
        self.carried.insert(number, (seq, len));
        TcpPacket { len, ..self.packet(now, true, seq, TcpFlags::ACK) }
    }

    fn receive(&mut self, now: Time, number: PacketNumber, length: u32, arrivals: &Arrivals) -> TcpPacket {
        // Reserve bytes for earlier packets that arrive later, by themselves or in other packets.
        let expected = self.expected.entry(number.0).or_insert(number.1);
        let from = (*expected).max(number.1.saturating_sub(MAX_NUMBER_GAP));
        *expected = (*expected).max(number.1 + 1);
        for missing in from..number.1 {
            let missing = (number.0, missing);
            if arrivals.lost.contains_key(&missing) || arrivals.arrived.contains(&missing) {
                let bytes = self.next_bytes(self.largest);
                self.reserved.insert(missing, bytes);
            }
        }
        let repaired = arrivals.repairs.get(&number).unwrap_or(&number);
        let place = self.reserved.remove(repaired);
        let (seq, len) = place.unwrap_or_else(|| self.next_bytes_for(number, length));
        self.carried.insert(number, (seq, len));
        TcpPacket { len, ..self.packet(now, true, seq, TcpFlags::ACK) }
    }

    fn declare_lost(&mut self, number: PacketNumber) {
        self.declared.insert(number);
        if let Some((seq, len)) = self.carried.get(&number).copied()
            && !self.has(seq, len)
            && !self.lost_bytes.contains(&(seq, len))
        {
            self.lost_bytes.push_back((seq, len));
        }
    }

    fn has(&self, seq: u64, len: u32) -> bool {
        let end = seq + u64::from(len);
        end <= self.acked || self.sacked.range(..=seq).next_back().is_some_and(|(_, to)| *to >= end)
    }

    /// Returns the oldest packets that are no longer in flight when `inflight` bytes are, except lost ones.
    fn left_flight(&self, inflight: u64, lost: &BTreeSet<PacketNumber>) -> Vec<(PacketNumber, PacketNumber)> {
        let flying = self.carried.iter().filter(|(number, _)| !self.declared.contains(number));
        let mut flying: u64 = flying.map(|(_, (_, len))| u64::from(*len)).sum();
        let open = self.carried.iter().filter(|(number, _)| !lost.contains(number));
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
            let new = self.carried.range(from..=to).map(|(number, _)| *number);
            for number in new.collect::<Vec<_>>() {
                let Some((seq, len)) = self.carried.remove(&number) else { continue };
                self.lost_bytes.retain(|bytes| *bytes != (seq, len));
                grown |= self.take(seq, seq + u64::from(len));
            }
        }
        grown.then(|| self.ack_packet(now))
    }

    /// Returns an ACK of everything that has arrived.
    fn ack_packet(&self, now: Time) -> TcpPacket {
        let mut options = PacketOptions::default();
        let blocks = self.recent.iter().filter_map(|from| Some((*from, *self.sacked.get(from)?)));
        for (slot, (from, to)) in options.sack.iter_mut().zip(blocks.take(MAX_SACK_BLOCKS)) {
            *slot = (from as u32, to as u32);
            options.sacks += 1;
        }
        TcpPacket { options, ..self.packet(now, false, 1, TcpFlags::ACK) }
    }

    /// Marks these bytes as received. Returns whether any are new.
    fn take(&mut self, mut from: u64, mut to: u64) -> bool {
        if to <= self.acked {
            return false;
        }
        from = from.max(self.acked);
        while let Some((&a, &b)) = self.sacked.range(..=to).next_back().filter(|(_, b)| **b >= from) {
            if a <= from && b >= to {
                return false;
            }
            (from, to) = (from.min(a), to.max(b));
            self.sacked.remove(&a);
            self.recent.retain(|start| *start != a);
        }
        if from <= self.acked {
            self.acked = to;
        } else {
            self.sacked.insert(from, to);
            self.recent.push_front(from);
            self.recent.truncate(64);
        }
        true
    }

    fn last_ack(&self, packets: &[(TcpPacket, ExternalFate)]) -> u32 {
        self.windows.last().map_or(0, |w| packets[w.packet].0.ack)
    }

    /// The window that the receiver would announce: flow control credit, counted from the last ACK as in TCP.
    fn window(&self) -> Option<u64> {
        self.credit.remaining().map(|credit| self.next - self.acked + credit)
    }

    /// Writes the windows, with the smallest scale that fits the largest.
    fn scale_windows(&self, packets: &mut [(TcpPacket, ExternalFate)]) {
        let largest = self.windows.iter().filter_map(|w| w.credited).max();
        // An unknown window is made large enough not to limit the sender, and if possible no larger than the
        // known ones.
        let bytes = |w: &Window| match (w.credited, largest) {
            (Some(window), _) => Some(window),
            (None, Some(largest)) => Some(largest.max(2 * w.inflight)),
            (None, None) => None,
        };
        let most = self.windows.iter().filter_map(bytes).max();
        let fits = |scale: &u8| most.is_some_and(|most| most >> scale <= u64::from(u16::MAX));
        let scale = (0..MAX_SCALE).find(fits).unwrap_or(MAX_SCALE);
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

/// The window in a packet of the receiver.
struct Window {
    /// Index of the packet.
    packet: usize,
    /// Bytes by flow control credit; `None` if unknown.
    credited: Option<u64>,
    /// Bytes in flight at that time.
    inflight: u64,
}
