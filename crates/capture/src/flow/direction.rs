//! One direction of a connection: what its sender sent, and what became of it.

use super::bins::{Bins, Pause};
use super::board::{self, Board, Segment};
use super::log::{Entry, Log, Loss};
use super::resent::Resent;
use super::upstream::{Known, Upstream};
use crate::{Bursts, Counts, Flags, Handshake, Histogram, Kind, Packet, Wait, Waited};
use units::{Span, Time};

/// A jump of the sequence beyond this is no part of the stream.
const MOST_JUMP: u64 = 1 << 30;
/// The least retransmission timeout above the RTT, nanoseconds (Linux's `TCP_RTO_MIN`; RFC 6298 has 1 s).
const RTO_MIN: u64 = 200_000_000;
/// The timeout before there is an RTT, nanoseconds (RFC 6298 section 2.1).
const RTO_INITIAL: u64 = 1_000_000_000;
/// Reordering is not later than this where the RTT does not tell, nanoseconds.
const LATE: u64 = 3_000_000;
/// Bursts end at gaps of this, nanoseconds, or of a tenth of the RTT.
const BURST_GAP: u64 = 1_000_000;

/// Both unwrapped sequence numbers begin here, so that what is earlier has a number too.
pub const BEGIN: u64 = 1 << 32;

/// The sequence number nearest to `reference` whose low half is `n`.
#[inline]
pub fn unwrap(reference: u64, n: u32) -> u64 {
    reference.wrapping_add_signed(n.wrapping_sub(reference as u32) as i32 as i64)
}

/// Smoothed RTT, its deviation (RFC 6298), nanoseconds.
#[derive(Debug, Default)]
pub struct Smoothed {
    pub rtt: u64,
    pub deviation: u64,
}

impl Smoothed {
    #[inline]
    pub fn sample(&mut self, rtt: u64) {
        if self.rtt == 0 {
            (self.rtt, self.deviation) = (rtt.max(1), rtt / 2);
            return;
        }
        self.deviation = self.deviation - self.deviation / 4 + rtt.abs_diff(self.rtt) / 4;
        self.rtt = (self.rtt - self.rtt / 8 + rtt / 8).max(1);
    }

    /// The least timeout a sender is likely to have.
    pub fn timeout(&self) -> u64 {
        match self.rtt {
            0 => RTO_INITIAL,
            rtt => rtt.saturating_add(self.deviation.saturating_mul(4).max(RTO_MIN)),
        }
    }
}

/// What a packet of data was.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub kind: Kind,
    /// First byte, counted from the first.
    pub seq: u64,
    /// Bytes in flight after it, as its sender sees it.
    pub inflight: u32,
    /// A timer of the sender let it out.
    pub timer: Option<Waited>,
}

/// One direction.
#[derive(Debug)]
pub struct Direction {
    /// Sequence number of the first byte, unwrapped.
    pub(super) start: u64,
    /// Acknowledged up to here.
    pub(super) una: u64,
    /// Seen up to here.
    pub(super) nxt: u64,
    /// Where the stream ends, if that was seen.
    pub(super) fin: Option<u64>,
    pub(super) board: Board,
    /// Bytes of it that were sacked.
    pub(super) sacked: u32,
    /// SACK blocks of the last ACK.
    pub(super) blocks: [(u64, u64); 4],
    pub(super) log: Log,
    pub(super) bins: Bins,
    pub(super) up: Upstream,
    pub(super) resent: Resent,
    pub(super) rtt: Smoothed,
    /// Least RTT to the receiver, nanoseconds.
    pub(super) least_down: u64,
    pub(super) mss: u32,
    /// No segment is larger: what the SYNs said; 0 where they were not seen.
    most_mss: u32,
    pub(super) header: u16,
    outside: u16,
    pub(super) handshake: Handshake,
    pub(super) counts: Counts,
    pub(super) rtts: [Histogram; 3],
    /// Window announced last, as it stands; scaled; where it ends.
    pub(super) window: u16,
    pub(super) scale: Option<u8>,
    pub(super) edge: u64,
    pub(super) zero_since: Option<u64>,
    /// ACKs of the same byte in a row.
    pub(super) dups: u32,
    /// When `una` last moved.
    pub(super) progress: u64,
    last_sent: u64,
    /// Recovery after duplicate ACKs, after a timeout: until this is acknowledged.
    recover: u64,
    loss: u64,
    /// A tail loss probe was sent since `una` last moved.
    probed: u64,
    /// Nothing is outstanding from here on, as the sender sees it; `u64::MAX`: something is.
    pub(super) quiet_from: u64,
    full_from: u64,
    waits: Vec<Wait>,
    bursts: Bursts,
    burst: u32,
    /// The largest packet that was ever acknowledged.
    pub(super) largest_acked: u32,
    first_data: Option<u64>,
    pub(super) last_data: u64,
}

/// What is settled of a direction when its connection ends: see `Track`.
pub struct Settled {
    pub first_data: Option<Time>,
    pub last_data: Option<Time>,
    pub handshake: Handshake,
    pub mss: u32,
    pub header: u32,
    pub outside: u32,
    pub counts: Counts,
    pub rtts: [Histogram; 3],
    pub bins: Bins,
    pub log: Log,
    pub waits: Vec<Wait>,
    pub bursts: Bursts,
}

/// Bounds on what a direction keeps.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub bins: usize,
    pub samples: usize,
}

impl Direction {
    /// A direction whose first byte has the sequence number `seq`, in a connection that began at `first`. `mss`:
    /// the likely and the greatest MSS by what the SYNs said; zeros where they were not seen.
    pub fn new(seq: u32, first: u64, handshake: Handshake, mss: [u32; 2], limits: Limits) -> Direction {
        let start = BEGIN + seq as u64;
        let mut up = Upstream::default();
        if let Some(rtt) = handshake.up {
            up.begin(rtt.as_nanos());
        }
        up.acked(Known { time: 0, una: start, sacked: 0, edge: u64::MAX });
        let mut rtt = Smoothed::default();
        if let Some(all) = handshake.rtt {
            rtt.sample(all.as_nanos());
        }
        Direction {
            start,
            una: start,
            nxt: start,
            fin: None,
            board: Board::default(),
            sacked: 0,
            blocks: [(0, 0); 4],
            log: Log::new(limits.samples),
            bins: Bins::new(first, limits.bins),
            up,
            resent: Resent::default(),
            rtt,
            least_down: u64::MAX,
            mss: mss[0],
            most_mss: mss[1],
            header: 40,
            outside: 0,
            handshake,
            counts: Counts::default(),
            rtts: Default::default(),
            window: u16::MAX,
            scale: None,
            edge: u64::MAX,
            zero_since: None,
            dups: 0,
            progress: 0,
            last_sent: 0,
            recover: 0,
            loss: 0,
            probed: 0,
            quiet_from: u64::MAX,
            full_from: u64::MAX,
            waits: Vec::new(),
            bursts: Bursts::default(),
            burst: 0,
            largest_acked: 0,
            first_data: None,
            last_data: 0,
        }
    }

    /// Segments that `len` bytes of payload are on the wire.
    #[inline]
    pub(super) fn segments(&self, len: u32) -> u32 {
        if len <= self.mss { 1 } else { len.div_ceil(self.mss.max(1)) }
    }

    /// The largest payload of a packet on the wire. Without what the SYNs said, a packet of more than an
    /// Ethernet frame is several, unless it is the first that was seen.
    #[inline]
    fn learn_mss(&mut self, p: &Packet) {
        if p.len <= self.mss {
            return;
        }
        if self.most_mss > 0 {
            if p.len <= self.most_mss {
                self.mss = p.len;
            }
            return;
        }
        if self.mss == 0 || p.len + p.header as u32 <= 1500 {
            self.mss = p.len.min(1500u32.saturating_sub(p.header as u32).max(536));
        }
    }

    /// Data passes, `last` being the time of the connection's packet before it.
    #[inline]
    pub fn data(&mut self, p: &Packet, now: u64, last: u64) -> Option<Seen> {
        let syn = p.flags.has(Flags::SYN) as u32;
        let seq = unwrap(self.nxt, p.seq.wrapping_add(syn));
        if seq > self.nxt + MOST_JUMP {
            return None;
        }
        let end = seq + p.len as u64;
        if p.len == 1 && end == self.una && self.una == self.nxt && self.una > self.start {
            self.counts.probes += 1;
            return None;
        }
        self.learn_mss(p);
        self.header = p.header;
        self.outside = p.outside;
        let segments = self.segments(p.len);
        self.count(p, segments);
        let gap = now.saturating_sub(self.last_sent);
        let entry = Entry {
            time: now,
            bytes: p.len,
            segments: segments.min(u16::MAX as u32) as u16,
            header: p.header,
            ..Entry::default()
        };
        let (kind, timer) = if seq >= self.nxt {
            self.fresh(p, seq, now, entry);
            (Kind::Data, None)
        } else {
            self.again(p, seq, now, gap, entry)
        };
        if let Some((_, echo)) = p.options.timestamps
            && let Some(up) = self.up.echo(now, echo, gap, timer.is_none() && kind != Kind::Reordered)
        {
            self.rtts[1].record(Span::from_nanos(up));
        }
        self.first_data.get_or_insert(now);
        self.last_sent = now;
        self.last_data = now;
        self.clock_burst(p.len, gap);
        let inflight = self.count_bin(p, now, kind, segments);
        self.end_pause(now, last, timer);
        if self.board.list.len() > board::MOST {
            self.give_up();
        }
        self.settle(now);
        Some(Seen { kind, seq: seq.saturating_sub(self.start), inflight, timer })
    }

    /// A packet without payload from the sender: an ACK, or a probe that asks for one (RFC 9293 section 3.8.4
    /// and 3.8.6.1: keep-alives and window probes repeat the byte before).
    #[inline]
    pub fn note_empty(&mut self, p: &Packet) {
        let control = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        if p.flags.0 & control == 0
            && self.una > self.start
            && unwrap(self.nxt, p.seq).wrapping_add(1) == self.una
        {
            self.counts.probes += 1;
        }
    }

    #[inline]
    fn count(&mut self, p: &Packet, segments: u32) {
        let c = &mut self.counts;
        c.data_packets += segments as u64;
        c.payload_bytes += p.len as u64;
        c.ect += if p.ecn != 0 { segments as u64 } else { 0 };
        c.ce += if p.ecn == 3 { segments as u64 } else { 0 };
    }

    #[inline]
    fn clock_burst(&mut self, len: u32, gap: u64) {
        if self.burst > 0 && gap > BURST_GAP.min(self.rtt.rtt / 10) {
            self.end_burst();
        }
        self.burst = self.burst.saturating_add(len);
    }

    fn end_burst(&mut self) {
        self.bursts.count += 1;
        self.bursts.bytes += self.burst as u64;
        self.bursts.largest = self.bursts.largest.max(self.burst);
        self.burst = 0;
    }

    #[inline]
    fn count_bin(&mut self, p: &Packet, now: u64, kind: Kind, segments: u32) -> u32 {
        let inflight = self.inflight(now);
        let short = p.len < self.mss && p.flags.has(Flags::PSH);
        self.counts.short += short as u64;
        let bin = self.bins.at(now);
        let bytes = match kind {
            Kind::Data | Kind::Reordered => &mut bin.sent,
            _ => &mut bin.resent,
        };
        *bytes = bytes.saturating_add(p.len);
        bin.packets = bin.packets.saturating_add(segments);
        bin.short += short as u32;
        bin.inflight = bin.inflight.max(inflight);
        bin.inflight_min = bin.inflight_min.min(inflight);
        inflight
    }

    /// Data beyond all that was seen: part of the stream for the first time.
    #[inline]
    fn fresh(&mut self, p: &Packet, seq: u64, now: u64, entry: Entry) {
        if seq > self.nxt {
            self.jump(p, seq, now);
        }
        let number = self.log.push(Entry { open: p.len, ..entry });
        self.extend(p, seq, p.len, now, number);
    }

    fn extend(&mut self, p: &Packet, seq: u64, len: u32, now: u64, entry: u32) {
        self.board.list.push_back(Segment {
            seq,
            time: now,
            len,
            up: (self.up.rtt() / 1000).min(u32::MAX as u64) as u32,
            entry,
            tsval: p.options.timestamps.map_or(0, |t| t.0),
            id: p.id,
            times: 1,
            sacked: false,
            hole: false,
        });
        self.counts.unique_bytes += len as u64;
        self.nxt = seq + len as u64;
    }

    /// Packets are missing before `seq`.
    #[cold]
    fn jump(&mut self, p: &Packet, seq: u64, now: u64) {
        let len = (seq - self.nxt) as u32;
        let entry = self.log.push(Entry {
            time: now,
            bytes: len,
            open: len,
            segments: self.segments(len).min(u16::MAX as u32) as u16,
            header: p.header,
            hole: true,
            ..Entry::default()
        });
        let at = self.nxt;
        let unique = self.counts.unique_bytes;
        self.extend(p, at, len, now, entry);
        self.counts.unique_bytes = unique;
        if let Some(hole) = self.board.list.back_mut() {
            hole.hole = true;
            hole.times = 0;
        }
    }

    /// Data of which part was there before, or should have been.
    #[cold]
    fn again(&mut self, p: &Packet, seq: u64, now: u64, gap: u64, entry: Entry) -> (Kind, Option<Waited>) {
        let old_end = (seq + p.len as u64).min(self.nxt);
        let mut i = self.board.find(seq);
        i += self.board.cut(i, seq) as usize;
        let first = self.board.list.get(i).copied();
        let late = first.is_some_and(|s| s.hole && s.seq < old_end && self.is_late(&s, p, now));
        let (kind, timer) = if late {
            (Kind::Reordered, None)
        } else {
            self.kind_of_retransmission(seq, old_end, now, gap, first)
        };
        let number = self.log.push(Entry { again: !late, ..entry });
        let tsval = p.options.timestamps.map_or(0, |t| t.0);
        let up = (self.up.rtt() / 1000).min(u32::MAX as u64) as u32;
        let hold = now.saturating_add(2 * self.rtt.rtt.min(RTO_INITIAL)).saturating_add(RTO_MIN / 2);
        // Bytes of it whose fate is open; those that the receiver was known to have.
        let (mut opened, mut stale) = (0, 0);
        while let Some(s) = self.board.list.get(i).copied().filter(|s| s.seq < old_end) {
            self.board.cut(i, old_end);
            let s = self.board.list.get(i).copied().unwrap_or(s);
            let segments = self.segments(s.len);
            i += 1;
            if s.sacked {
                stale += s.len;
                continue;
            }
            if s.hole && late {
                self.log.removed(s.entry, s.len, segments);
                self.counts.reordered += segments as u64;
                let by = Span::from_nanos(now - s.time.min(now));
                self.counts.reordered_by = self.counts.reordered_by.max(by);
            } else {
                // A packet lost time and again while smaller ones passed.
                let large = s.len <= self.mss && s.len > self.largest_acked && self.largest_acked > 0;
                self.counts.too_big += (s.times >= 2 && large) as u64;
                self.log.lost(s.entry, s.len, segments, if s.hole { 0 } else { hold });
                if !s.hole {
                    self.resent.push(super::resent::Again {
                        seq: s.seq,
                        end: s.end(),
                        entry: s.entry,
                        needless: false,
                        told: false,
                    });
                }
            }
            if s.hole {
                self.counts.unique_bytes += s.len as u64;
            }
            opened += s.len;
            let times = if s.hole && late { 1 } else { s.times.saturating_add(1).max(2) };
            let seen = Segment { time: now, up, entry: number, tsval, id: p.id, times, hole: false, ..s };
            self.board.list[i - 1] = seen;
        }
        let old = (old_end - seq) as u32;
        if !late {
            let segments = self.segments(old) as u64;
            self.counts.retransmitted_packets += segments;
            self.counts.retransmitted_bytes += old as u64;
            let count = match kind {
                Kind::Timeout => &mut self.counts.rto,
                Kind::Probe => &mut self.counts.tlp,
                _ => &mut self.counts.fast,
            };
            *count += segments;
            stale += old_end.min(self.una).saturating_sub(seq) as u32;
            if stale > 0 {
                self.counts.spurious += self.segments(stale) as u64;
            }
        }
        let end = seq + p.len as u64;
        if end > self.nxt {
            let (at, len) = (self.nxt, (end - self.nxt) as u32);
            self.extend(p, at, len, now, number);
            opened += len;
        }
        self.log.reopen(number, opened);
        (kind, timer)
    }

    /// Whether a packet that fills a hole is late only, not sent again.
    fn is_late(&self, hole: &Segment, p: &Packet, now: u64) -> bool {
        let waited = now.saturating_sub(hole.time);
        if let Some((tsval, _)) = p.options.timestamps {
            // Sent before the packet that overtook it; or after: then it was sent again.
            match tsval.wrapping_sub(hole.tsval) as i32 {
                i32::MIN..0 => return true,
                1..=i32::MAX => return false,
                0 => {}
            }
        }
        // Until the sender can know of the hole a round trip passes.
        let by_time =
            waited < LATE.max(self.rtt.rtt / 2) && (self.rtt.rtt == 0 || waited < self.rtt.rtt / 10 * 9);
        if p.id != 0 && hole.id != 0 && self.rtt.rtt == 0 {
            return (p.id.wrapping_sub(hole.id) as i16) < 0;
        }
        by_time
    }

    /// Why the sender sent bytes from `seq` to `end` again, `gap` after the data before.
    fn kind_of_retransmission(
        &mut self,
        seq: u64,
        end: u64,
        now: u64,
        gap: u64,
        first: Option<Segment>,
    ) -> (Kind, Option<Waited>) {
        let srtt = self.rtt.rtt;
        let timeout = self.rtt.timeout();
        let stalled = now.saturating_sub(self.progress.max(self.first_data.unwrap_or(now)));
        let indicated = self.sacked > 0 || self.dups >= 3 || self.una < self.recover;
        let front = seq <= self.una;
        let tail = end == self.nxt;
        let in_loss = self.una < self.loss;
        let sent_once = first.is_some_and(|s| s.times <= 1);
        let waited = gap >= timeout / 2 && stalled.max(gap) >= timeout / 10 * 9;
        if tail
            && !indicated
            && !in_loss
            && self.handshake.sack
            && self.probed <= self.una
            && sent_once
            && gap >= srtt.saturating_add(srtt / 2)
        {
            self.probed = self.una + 1;
            return (Kind::Probe, Some(Waited::Probe));
        }
        if front && (waited || !indicated && gap >= RTO_MIN.max(2 * srtt) / 10 * 9) {
            self.counts.timeouts += 1;
            self.loss = self.nxt;
            self.recover = 0;
            return (Kind::Timeout, Some(Waited::Timeout));
        }
        if in_loss {
            return (Kind::Timeout, None);
        }
        self.recover = self.nxt;
        (Kind::Fast, None)
    }

    /// Too much is outstanding: the oldest is given up.
    #[cold]
    fn give_up(&mut self) {
        if let Some(s) = self.board.list.pop_front() {
            if s.sacked {
                self.sacked -= s.len;
            } else {
                self.log.passed(s.entry, s.len, 0);
            }
        }
    }

    /// Bytes in flight as the sender sees it.
    #[inline]
    pub(super) fn inflight(&mut self, now: u64) -> u32 {
        match self.up.known(now) {
            Some(k) => {
                self.nxt.saturating_sub(k.una).saturating_sub(k.sacked as u64).min(u32::MAX as u64) as u32
            }
            None => 0,
        }
    }

    #[inline]
    pub(super) fn settle(&mut self, now: u64) {
        let (counts, bins) = (&mut self.counts, &mut self.bins);
        self.log.settle(now, |loss| count_loss(counts, bins, loss));
    }

    /// Whether the window has no room for another segment, as the sender sees it.
    #[inline]
    fn is_full(&mut self, now: u64) -> bool {
        if self.scale.is_none() && self.window != 0 {
            return false;
        }
        let edge = self.up.known(now).map_or(u64::MAX, |k| k.edge);
        self.nxt.saturating_add(self.mss as u64) > edge
    }

    /// After each packet: notes when the window has filled, or has room again.
    #[inline]
    pub fn watch_window(&mut self, now: u64) {
        let full = self.is_full(now);
        if full == (self.full_from != u64::MAX) {
            return;
        }
        if full {
            self.full_from = now;
        } else {
            self.end_full(now);
        }
    }

    fn end_full(&mut self, now: u64) {
        let from = std::mem::replace(&mut self.full_from, u64::MAX);
        self.bins.spread(from, now.min(self.quiet_from), Pause::WindowFull);
    }

    /// Data ends a pause.
    #[inline]
    fn end_pause(&mut self, now: u64, last: u64, timer: Option<Waited>) {
        if let Some(why) = timer {
            self.end_full(last);
            self.bins.spread(last.max(self.bins_from()), now, Pause::Timeout);
            self.wait(last, now, why);
        } else if now > self.quiet_from {
            self.end_full(now);
            self.bins.spread(self.quiet_from, now, Pause::Idle);
        }
        self.quiet_from = u64::MAX;
        if self.una >= self.nxt {
            self.begin_quiet(now);
        }
    }

    fn bins_from(&self) -> u64 {
        self.first_data.unwrap_or(0)
    }

    /// All was acknowledged; the sender learns of it later.
    pub(super) fn begin_quiet(&mut self, now: u64) {
        let up = self.up.rtt();
        self.quiet_from = now + up + up / 4;
    }

    /// Nothing passed either way from `last` to `now` although data was outstanding.
    #[inline]
    pub fn watch_silence(&mut self, last: u64, now: u64, timer: bool) {
        let silent = now.saturating_sub(last);
        if silent <= RTO_MIN || timer || self.zero_since.is_some() {
            return;
        }
        if silent > 4 * self.rtt.rtt && self.first_data.is_some() {
            self.end_full(last);
            self.bins.spread(last, now, Pause::Silence);
            self.wait(last, now, Waited::Silence);
        }
    }

    /// Whether data was seen that is not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> bool {
        self.una < self.nxt
    }

    pub(super) fn wait(&mut self, from: u64, to: u64, why: Waited) {
        if self.waits.len() < crate::MOST_WAITS {
            self.waits.push(Wait { from: Time::from_nanos(from), to: Time::from_nanos(to), why });
        }
    }

    /// Bytes of memory that grow.
    pub fn bytes(&self) -> usize {
        self.bins.bytes() + self.log.bytes()
    }

    /// Keeps less from now on.
    pub fn limit(&mut self, limits: Limits) {
        self.bins.limit(limits.bins);
        self.log.limit(limits.samples);
    }

    /// The connection is over; its last packet passed at `last`.
    pub fn finish(mut self, last: u64) -> Settled {
        if self.burst > 0 {
            self.end_burst();
        }
        self.end_full(last);
        if last > self.quiet_from {
            self.bins.spread(self.quiet_from, last, Pause::Idle);
        }
        self.lose_rest();
        let (counts, bins) = (&mut self.counts, &mut self.bins);
        self.log.finish(|loss| count_loss(counts, bins, loss));
        Settled {
            first_data: self.first_data.map(Time::from_nanos),
            last_data: self.first_data.map(|_| Time::from_nanos(self.last_data)),
            handshake: self.handshake,
            mss: self.mss,
            header: self.header as u32,
            outside: self.outside as u32,
            counts: self.counts,
            rtts: self.rtts,
            bins: self.bins,
            log: self.log,
            waits: self.waits,
            bursts: self.bursts,
        }
    }

    /// What lies below three sacked segments (RFC 6675's `IsLost`) was lost, though never sent again.
    fn lose_rest(&mut self) {
        let mut above = 0;
        for i in (0..self.board.list.len()).rev() {
            let s = self.board.list[i];
            let segments = self.segments(s.len);
            if s.sacked {
                above += segments;
            } else if above >= 3 {
                self.log.lost(s.entry, s.len, segments, 0);
            }
        }
    }
}

fn count_loss(counts: &mut Counts, bins: &mut Bins, loss: Loss) {
    let segments = loss.segments as u64;
    *if loss.up { &mut counts.lost_up } else { &mut counts.lost_down } += segments;
    let bin = bins.at(loss.time);
    bin.lost = bin.lost.saturating_add(loss.segments as u32);
}
