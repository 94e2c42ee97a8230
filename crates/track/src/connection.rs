//! A connection: two ends, what each sent, and a [`Direction`] for each that sent data.

use crate::direction::{BEGIN, Direction, TrackLimits, unwrap};
use crate::stamps::TimestampClock;
use crate::{Handshake, PacketKind, PacketRow, Track};
use capture::{Endpoint, TcpFlags, TcpPacket};
use units::{Span, Time};

/// Packets looked at for one that stands in the capture twice.
const RECENT: usize = 4;
/// A record is another's double within this, nanoseconds; without IP identification and timestamp, within less.
const DOUBLE: u64 = 2_000_000;
const DOUBLE_PLAIN: u64 = 200_000;

/// What one end sent, payload apart.
#[derive(Clone, Debug, Default)]
struct EndpointState {
    /// Sequence number of its SYN.
    isn: Option<u32>,
    syn_time: u64,
    syns: u32,
    mss: Option<u16>,
    /// Announced in its SYN; `Some(0)` without the option, `None` where no (whole) SYN was seen.
    wscale: Option<u8>,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    /// The first byte of its data, as the other end's first ACK tells.
    first_acked: Option<u32>,
    packets: u64,
    ip_bytes: u64,
    acked: bool,
    fin: bool,
    recent: [(u64, u64); RECENT],
    next: u8,
    stamps: TimestampClock,
}

/// One connection.
#[derive(Debug)]
pub struct TrackedConnection {
    pub number: u32,
    pub ends: [Endpoint; 2],
    /// Which of `ends` opened it.
    opener: usize,
    halves: [EndpointState; 2],
    data: [Option<Box<Direction>>; 2],
    pub first: u64,
    pub last: u64,
    /// `last` when it gave back memory.
    rested: u64,
    resets: u64,
    too_big: [u64; 2],
    handshake_rtts: [Option<u64>; 2],
    duplicates: u64,
    /// [`TrackedConnection::bytes`] when it was last asked.
    pub held: usize,
}

impl TrackedConnection {
    /// Begins with `p`, whose times are `now`; `side` is the index of its source in `ends`.
    pub fn new(number: u32, ends: [Endpoint; 2], side: usize, p: &TcpPacket, now: u64) -> TrackedConnection {
        // Without a handshake the first packet seen counts as the opener's; a SYN+ACK answers one.
        let answer = p.flags.has(TcpFlags::SYN) && p.flags.has(TcpFlags::ACK);
        TrackedConnection {
            number,
            ends,
            opener: if answer { 1 - side } else { side },
            halves: Default::default(),
            data: [None, None],
            first: now,
            last: now,
            rested: 0,
            resets: 0,
            too_big: [0; 2],
            handshake_rtts: [None; 2],
            duplicates: 0,
            held: 0,
        }
    }

    /// Whether both ends are done.
    pub fn is_over(&self) -> bool {
        self.resets > 0 || self.halves[0].fin && self.halves[1].fin
    }

    /// Whether `p`, a SYN, opens another connection between the same ends.
    pub fn is_reopened_by(&self, side: usize, p: &TcpPacket, now: u64) -> bool {
        let syn = p.flags.has(TcpFlags::SYN) && !p.flags.has(TcpFlags::ACK);
        if !syn || self.halves[side].isn == Some(p.seq) {
            return false;
        }
        // A SYN sent in answer to the other's (simultaneous open) has the other's isn still unanswered.
        let fresh = self.halves[side].packets == 0 && now.saturating_sub(self.first) < 3_000_000_000;
        !fresh
    }

    /// ICMP says that a packet from end `side` was too big.
    pub fn too_big(&mut self, side: usize) {
        self.too_big[side] += 1;
    }

    /// A packet from end `side` passes. Returns a row for it unless it is a double; `wanted` says whether
    /// anyone reads the row.
    #[inline]
    pub fn packet(
        &mut self,
        side: usize,
        p: &TcpPacket,
        now: u64,
        limits: TrackLimits,
        wanted: bool,
    ) -> Option<PacketRow> {
        if self.is_double(side, p, now) {
            self.duplicates += 1;
            return None;
        }
        let last = self.last;
        self.last = now;
        let other = 1 - side;
        let half = &mut self.halves[side];
        let stamp = p.options.timestamps.filter(|_| p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::RST.0) == 0);
        let delay = stamp.and_then(|(value, _)| half.stamps.delay(Time::from_nanos(now), value));
        let delay = delay.map_or(u32::MAX, |d| (d.as_nanos() / 1000).min(u32::MAX as u64 - 1) as u32);
        if p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::RST.0 | TcpFlags::FIN.0) != 0 {
            self.control(side, p, now);
        } else if !self.halves[side].acked {
            self.first_ack(side, p, now);
        }
        let out = |d: &Option<Box<Direction>>| d.as_ref().is_some_and(|d| d.outstanding());
        let was_out = [out(&self.data[0]), out(&self.data[1])];
        let mut row = PacketRow { window: u32::MAX, ..PacketRow::default() };
        if p.flags.has(TcpFlags::ACK) && !p.flags.has(TcpFlags::RST) {
            if self.data[other].is_none() {
                self.begin_unseen(other, p, limits);
            }
            if let Some(d) = &mut self.data[other] {
                row.rtt_us = d.ack(p, now);
                d.ack_delayed(now, delay);
                if wanted {
                    row.ack = unwrap(d.una, p.ack).saturating_sub(d.start);
                    row.window = d.announced();
                }
            }
        }
        let (mut timer, mut segments) = (false, 1);
        if p.len > 0 && !p.flags.has(TcpFlags::RST) {
            if self.data[side].is_none() {
                self.begin(side, p.seq.wrapping_add(p.flags.has(TcpFlags::SYN) as u32), limits);
            }
            if let Some(d) = &mut self.data[side] {
                d.delay = delay;
            }
            if let Some(d) = &mut self.data[side]
                && let Some(seen) = d.data(p, now, last)
            {
                (row.kind, row.seq, row.inflight) = (seen.kind, seen.seq, seen.inflight);
                timer = seen.timer.is_some();
                segments = seen.segments;
            }
        } else if let Some(d) = &mut self.data[side] {
            d.note_empty(p);
            row.seq = unwrap(d.nxt, p.seq).saturating_sub(d.start);
            row.inflight = d.inflight(now);
        }
        if p.flags.has(TcpFlags::FIN)
            && let Some(d) = &mut self.data[side]
        {
            let end = unwrap(d.nxt, p.seq) + p.len as u64;
            d.fin = (end >= d.nxt).then_some(end).or(d.fin);
        }
        for (i, d) in self.data.iter_mut().enumerate() {
            let Some(d) = d else { continue };
            if was_out[i] {
                d.watch_silence(last, now, timer && i == side);
            }
            d.watch_window(now);
        }
        let headers = segments.saturating_mul(p.header as u32);
        let half = &mut self.halves[side];
        half.packets += segments as u64;
        half.ip_bytes += p.len as u64 + headers as u64;
        if !wanted {
            return None;
        }
        row.connection = self.number;
        row.from_opener = side == self.opener;
        row.time = Time::from_nanos(now);
        row.len = p.len;
        row.ip_bytes = p.len.saturating_add(headers);
        row.flags = p.flags.0;
        if row.kind == PacketKind::Ack && p.len > 0 {
            row.kind = PacketKind::Data;
        }
        Some(row)
    }

    /// Whether the record stood in the capture a moment before: a bridge, or the `any` device.
    #[inline]
    fn is_double(&mut self, side: usize, p: &TcpPacket, now: u64) -> bool {
        let half = &mut self.halves[side];
        let (tsval, tsecr) = p.options.timestamps.unwrap_or((0, 0));
        let mut sign = (p.seq as u64) << 32 | p.ack as u64;
        let mix = |sign: u64, n: u64| (sign ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        sign = mix(sign, (p.id as u64) << 48 | (p.flags.0 as u64) << 40 | p.len as u64);
        sign = mix(sign, (tsval as u64) << 32 | tsecr as u64);
        sign = mix(sign, p.window as u64);
        for &(from, to) in p.options.sack_blocks() {
            sign = mix(sign, (from as u64) << 32 | to as u64);
        }
        let plain = p.id == 0;
        let within = match plain {
            // Two ACKs of the same may be two duplicate ACKs, and nothing tells them apart.
            true if p.len == 0 => 0,
            true => DOUBLE_PLAIN,
            false => DOUBLE,
        };
        if within > 0 && half.recent.iter().any(|&(s, time)| s == sign && now.saturating_sub(time) < within) {
            return true;
        }
        // In a burst the double may stand far behind.
        let sent = self.data[side].as_ref();
        if p.len > 0 && !plain && sent.is_some_and(|d| d.was_sent(p, now.saturating_sub(DOUBLE))) {
            return true;
        }
        half.recent[half.next as usize] = (sign, now);
        half.next = (half.next + 1) % RECENT as u8;
        false
    }

    /// SYN, FIN, RST.
    fn control(&mut self, side: usize, p: &TcpPacket, now: u64) {
        if p.flags.has(TcpFlags::RST) {
            self.resets += 1;
        }
        self.halves[side].fin |= p.flags.has(TcpFlags::FIN);
        if !p.flags.has(TcpFlags::SYN) {
            return;
        }
        let half = &mut self.halves[side];
        half.isn = Some(p.seq);
        half.syn_time = now;
        half.syns += 1;
        half.mss = p.options.mss;
        half.sack = p.options.sack_ok;
        half.timestamps = p.options.timestamps.is_some();
        half.ecn = p.flags.has(TcpFlags::ECE);
        half.wscale = match p.options.wscale {
            Some(scale) => Some(scale.min(14)), // RFC 7323 section 2.3
            None if p.options.cut => None,
            None => Some(0),
        };
        if p.flags.has(TcpFlags::ACK) {
            self.opener = 1 - side;
            // The SYN that it answers, and the path to the end that answered; of several SYNs no one knows which.
            let syn = &self.halves[1 - side];
            if syn.syns == 1 {
                self.handshake_rtts[side] = Some(now.saturating_sub(syn.syn_time));
            }
        }
    }

    /// The first packet from `side` without SYN, FIN, RST.
    #[cold]
    fn first_ack(&mut self, side: usize, p: &TcpPacket, now: u64) {
        self.halves[side].acked = true;
        let answer = &self.halves[1 - side];
        if p.flags.has(TcpFlags::ACK) {
            if side == self.opener && answer.syns == 1 && self.handshake_rtts[side].is_none() {
                self.handshake_rtts[side] = Some(now.saturating_sub(answer.syn_time));
            }
            self.halves[1 - side].first_acked.get_or_insert(p.ack);
        }
    }

    fn handshake(&self, side: usize) -> Handshake {
        let (from, to) = (&self.halves[side], &self.halves[1 - side]);
        let (syn, answer) = (&self.halves[self.opener], &self.halves[1 - self.opener]);
        let up = self.handshake_rtts[side].map(Span::from_nanos);
        let down = self.handshake_rtts[1 - side].map(Span::from_nanos);
        Handshake {
            syn: syn.isn.is_some(),
            syn_ack: answer.isn.is_some(),
            rtt: up.zip(down).map(|(a, b)| a + b),
            up,
            down,
            mss: to.mss,
            wscale: self.scale(1 - side),
            sack: from.sack && to.sack,
            timestamps: from.timestamps && to.timestamps,
            ecn: from.ecn && to.ecn,
        }
    }

    /// The scale of the windows that `side` announces: none unless both ends offered it.
    fn scale(&self, side: usize) -> Option<u8> {
        let (own, other) = (self.halves[side].wscale, self.halves[1 - side].wscale);
        own.filter(|_| other != Some(0) || own == Some(0)).or((other == Some(0)).then_some(0))
    }

    /// End `side` begins to send data, its first byte having the sequence number `seq`.
    #[cold]
    fn begin(&mut self, side: usize, seq: u32, limits: TrackLimits) {
        let first = match (self.halves[side].isn, self.halves[side].first_acked) {
            (Some(isn), _) => isn.wrapping_add(1),
            // Packets may be missing at the capture's very beginning; a jump of more is none.
            (None, Some(acked)) if seq.wrapping_sub(acked) < 1 << 20 => acked,
            _ => seq,
        };
        let handshake = self.handshake(side);
        let options = if handshake.timestamps { 12 } else { 0 };
        let offer = |m: u16| (m as u32).saturating_sub(options).max(1);
        // A sender keeps to the other's offer, and as a rule to its own.
        let most = handshake.mss.map_or(0, offer);
        let mss = [self.halves[side].mss.map_or(most, |own| most.min(offer(own))), most];
        let mut d = Direction::new(first, self.first, handshake, mss, limits);
        d.scale = handshake.wscale;
        self.data[side] = Some(Box::new(d));
    }

    /// An ACK of data from end `side` that was never seen, because only this way was captured.
    #[inline]
    fn begin_unseen(&mut self, side: usize, p: &TcpPacket, limits: TrackLimits) {
        let half = &self.halves[side];
        let Some(first) = half.isn.map(|n| n.wrapping_add(1)).or(half.first_acked) else {
            self.halves[side].first_acked = Some(p.ack);
            return;
        };
        // One byte more is a FIN.
        if (p.ack.wrapping_sub(first) as i32) > 1 {
            self.begin(side, first, limits);
        }
    }

    /// Reads from each of its cache lines.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let half = |h: &EndpointState| h.packets ^ h.recent[0].0 ^ h.recent[RECENT - 1].1 ^ h.stamps.fetch();
        half(&self.halves[0])
            ^ half(&self.halves[1])
            ^ self.last
            ^ self.held as u64
            ^ self.ends[1].port as u64
    }

    /// The directions that have data.
    pub fn directions(&self) -> impl Iterator<Item = &Direction> {
        self.data.iter().flatten().map(|d| &**d)
    }

    /// Bytes of memory that grow.
    pub fn bytes(&self) -> usize {
        self.data.iter().flatten().map(|d| d.bytes()).sum()
    }

    /// Gives back memory that it may not need again; once in a silence.
    pub fn rest(&mut self) {
        if self.rested != self.last {
            self.rested = self.last;
            self.data.iter_mut().flatten().for_each(|d| d.rest());
            self.held = self.bytes();
        }
    }

    /// Keeps less from now on.
    pub fn limit(&mut self, limits: TrackLimits) {
        self.data.iter_mut().flatten().for_each(|d| d.limit(limits));
    }

    /// Doubles that were left out.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The tracks of the ends that sent data.
    pub fn finish(mut self, out: &mut Vec<Track>) {
        for side in 0..2 {
            let Some(d) = self.data[side].take() else { continue };
            let mut s = d.finish(self.last);
            let (from, to) = (&self.halves[side], self.ends[1 - side]);
            s.counts.packets = from.packets;
            s.counts.ip_bytes = from.ip_bytes;
            s.counts.resets = self.resets;
            s.counts.fin = from.fin;
            s.counts.too_big += self.too_big[side];
            s.counts.duplicate_records = self.duplicates;
            let (bin, mut bins) = (s.bins.width(), s.bins.into_list());
            let (log, merged) = s.log.into_samples();
            let put_right = |delay: &mut u32, stamps: &TimestampClock, at: Time| {
                if *delay != u32::MAX {
                    *delay = delay.saturating_add(stamps.unknown(at)).min(u32::MAX - 1);
                }
            };
            let back = &self.halves[1 - side].stamps;
            for b in &mut bins {
                let at = (b.index as u64).saturating_mul(bin.as_nanos()).saturating_add(bin.as_nanos() / 2);
                let at = Time::from_nanos(self.first.saturating_add(at));
                put_right(&mut b.data_delay, &from.stamps, at);
                put_right(&mut b.ack_delay, back, at);
            }
            let [rtt_down, rtt_up, rtt] = s.rtts;
            out.push(Track {
                connection: self.number,
                sender: self.ends[side],
                receiver: to,
                opened: side == self.opener,
                first: Time::from_nanos(self.first),
                last: Time::from_nanos(self.last),
                first_data: s.first_data,
                last_data: s.last_data,
                handshake: s.handshake,
                mss: s.mss,
                header: s.header,
                outside: s.outside,
                counts: s.counts,
                rtt_down,
                rtt_up,
                rtt,
                bin,
                bins,
                log,
                merged,
                waits: s.waits,
                bursts: s.bursts,
            });
        }
    }
}

/// As [`BEGIN`] lies above 2^31, numbers before the first do not wrap.
const _: () = assert!(BEGIN > 1 << 31);
