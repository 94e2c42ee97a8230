//! One direction of a connection: what its sender sent, and what became of it.

use crate::bins::{Bins, PauseKind};
use crate::board::{self, SentBoard, SentSegment};
use crate::log::{LogEntry, PacketLog, SettledLoss};
use crate::pause::{UnexplainedPause, Written};
use crate::resent::Retransmissions;
use crate::upstream::{AckState, SenderSide};
use crate::{Bursts, Handshake, LongWait, PacketKind, SpanHistogram, TrackCounts, WaitReason};
use capture::{TcpFlags, TcpPacket};
use units::{Span, Time};

/// A jump of the sequence beyond this is no part of the stream.
const MOST_JUMP: u64 = 1 << 30;
/// The least retransmission timeout above the RTT, nanoseconds (Linux's `TCP_RTO_MIN`; RFC 6298 has 1 s).
pub(super) const RTO_MIN: u64 = 200_000_000;
/// The timeout before there is an RTT, nanoseconds (RFC 6298 section 2.1).
pub(super) const RTO_INITIAL: u64 = 1_000_000_000;
/// Bursts end at gaps of this, nanoseconds, or of a tenth of the RTT.
const BURST_GAP: u64 = 1_000_000;

/// No RTT is longer, nanoseconds (an hour).
pub const LONGEST: u64 = 3_600_000_000_000;

/// Both unwrapped sequence numbers begin here, so that what is earlier has a number too.
pub const BEGIN: u64 = 1 << 32;

/// The sequence number nearest to `reference` whose low half is `n`.
#[inline]
pub fn unwrap(reference: u64, n: u32) -> u64 {
    reference.wrapping_add_signed(n.wrapping_sub(reference as u32) as i32 as i64)
}

/// Smoothed RTT, its deviation (RFC 6298), nanoseconds.
#[derive(Debug, Default)]
pub struct RttEstimate {
    pub rtt: u64,
    pub deviation: u64,
}

impl RttEstimate {
    #[inline]
    pub fn sample(&mut self, rtt: u64) {
        let rtt = rtt.min(LONGEST);
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
pub struct SentData {
    pub kind: PacketKind,
    /// Segments on the wire.
    pub segments: u32,
    /// First byte, counted from the first.
    pub seq: u64,
    /// Bytes in flight after it, as its sender sees it.
    pub inflight: u32,
    /// A timer of the sender let it out.
    pub timer: Option<WaitReason>,
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
    pub(super) board: SentBoard,
    /// One-way delay of the packet that passes now, µs; `u32::MAX` where unknown.
    pub(super) delay: u32,
    /// Bytes of it that were sacked.
    pub(super) sacked: u32,
    /// SACK blocks of the last ACK.
    pub(super) blocks: [(u64, u64); 4],
    pub(super) log: PacketLog,
    pub(super) bins: Bins,
    pub(super) up: SenderSide,
    pub(super) resent: Retransmissions,
    pub(super) rtt: RttEstimate,
    /// Least RTT to the receiver, nanoseconds.
    pub(super) least_down: u64,
    pub(super) mss: u32,
    /// No segment is larger: what the SYNs said; 0 where they were not seen.
    most_mss: u32,
    pub(super) header: u16,
    outside: u16,
    pub(super) handshake: Handshake,
    pub(super) counts: TrackCounts,
    pub(super) rtts: [SpanHistogram; 3],
    /// Window announced last, as it stands; scaled; where it ends.
    pub(super) window: u16,
    pub(super) scale: Option<u8>,
    pub(super) edge: u64,
    pub(super) zero_since: Option<u64>,
    /// ACKs of the same byte in a row.
    pub(super) dups: u32,
    /// Segments that the receiver may have beyond a hole, as duplicate ACKs tell.
    pub(super) above: u32,
    /// When `una` last moved.
    pub(super) progress: u64,
    pub(super) last_sent: u64,
    /// Time between the last two packets of data.
    spacing: u64,
    /// Recovery after duplicate ACKs, after a timeout: until this is acknowledged.
    pub(super) recover: u64,
    pub(super) loss: u64,
    /// A tail loss probe was sent since `una` last moved.
    pub(super) probed: u64,
    /// Nothing is outstanding from here on, as the sender sees it; `u64::MAX`: something is.
    pub(super) quiet_from: u64,
    /// When new data was sent last; when it was before that quiet.
    pub(super) last_new: u64,
    pub(super) had_sent: u64,
    /// End of the last silence, timeout or full window: the time before it has its reason.
    pub(super) spoken_for: u64,
    /// That data ended in PSH.
    pub(super) had_pushed: bool,
    pub(super) written: Written,
    pushed: bool,
    pub(super) full_from: u64,
    pub(super) doubt: Option<UnexplainedPause>,
    pub(super) waits: Vec<LongWait>,
    bursts: Bursts,
    burst: u32,
    /// The largest packet that was ever acknowledged.
    pub(super) largest_acked: u32,
    pub(super) first_data: Option<u64>,
    pub(super) last_data: u64,
}

/// What is settled of a direction when its connection ends: see `Track`.
pub struct DirectionEnd {
    pub first_data: Option<Time>,
    pub last_data: Option<Time>,
    pub handshake: Handshake,
    pub mss: u32,
    pub header: u32,
    pub outside: u32,
    pub counts: TrackCounts,
    pub rtts: [SpanHistogram; 3],
    pub bins: Bins,
    pub log: PacketLog,
    pub waits: Vec<LongWait>,
    pub bursts: Bursts,
}

/// Bounds on what a direction keeps.
#[derive(Clone, Copy, Debug)]
pub struct TrackLimits {
    pub bins: usize,
    pub samples: usize,
}

impl Direction {
    /// A direction whose first byte has the sequence number `seq`, in a connection that began at `first`. `mss`:
    /// the likely and the greatest MSS by what the SYNs said; zeros where they were not seen.
    pub fn new(seq: u32, first: u64, handshake: Handshake, mss: [u32; 2], limits: TrackLimits) -> Direction {
        let start = BEGIN + seq as u64;
        let mut up = SenderSide::default();
        if let Some(rtt) = handshake.up {
            up.begin(rtt.as_nanos());
        }
        up.acked(AckState { una: start, edge: u64::MAX, ..AckState::default() });
        let mut rtt = RttEstimate::default();
        if let Some(all) = handshake.rtt {
            rtt.sample(all.as_nanos());
        }
        Direction {
            start,
            una: start,
            nxt: start,
            fin: None,
            board: SentBoard::default(),
            delay: u32::MAX,
            sacked: 0,
            blocks: [(0, 0); 4],
            log: PacketLog::new(limits.samples),
            bins: Bins::new(first, limits.bins),
            up,
            resent: Retransmissions::default(),
            rtt,
            least_down: u64::MAX,
            mss: mss[0],
            most_mss: mss[1],
            header: 40,
            outside: 0,
            handshake,
            counts: TrackCounts::default(),
            rtts: Default::default(),
            window: u16::MAX,
            scale: None,
            edge: u64::MAX,
            zero_since: None,
            dups: 0,
            above: 0,
            progress: 0,
            last_sent: 0,
            spacing: 0,
            recover: 0,
            loss: 0,
            probed: 0,
            quiet_from: u64::MAX,
            last_new: 0,
            had_sent: 0,
            spoken_for: 0,
            had_pushed: false,
            written: Written::default(),
            pushed: false,
            full_from: u64::MAX,
            doubt: None,
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
    fn learn_mss(&mut self, p: &TcpPacket) {
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
    pub fn data(&mut self, p: &TcpPacket, now: u64, last: u64) -> Option<SentData> {
        let syn = p.flags.has(TcpFlags::SYN) as u32;
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
        let entry = LogEntry {
            time: now,
            bytes: p.len,
            segments: segments.min(u16::MAX as u32) as u16,
            header: p.header,
            delay: self.delay,
            ..LogEntry::default()
        };
        let (kind, timer) = if seq >= self.nxt {
            self.fresh(p, seq, now, entry);
            self.had_sent = std::mem::replace(&mut self.last_new, now);
            self.had_pushed = std::mem::replace(&mut self.pushed, p.flags.has(TcpFlags::PSH));
            self.watch_written(p, now);
            (PacketKind::Data, None)
        } else {
            self.again(p, seq, now, gap, entry)
        };
        if let Some((_, echo)) = p.options.timestamps
            && let Some(up) = self.up.echo(now, echo, gap, timer.is_none() && kind != PacketKind::Reordered)
        {
            self.rtts[1].record(Span::from_nanos(up));
        }
        self.first_data.get_or_insert(now);
        self.last_sent = now;
        self.spacing = gap;
        self.last_data = now;
        self.clock_burst(p.len, gap);
        let inflight = self.count_bin(p, now, kind, segments);
        if kind == PacketKind::Data {
            self.written.with(inflight);
        }
        self.end_pause(now, last, end, timer);
        if self.board.list.len() > board::MOST {
            self.give_up();
        }
        self.settle(now);
        Some(SentData { kind, segments, seq: seq.saturating_sub(self.start), inflight, timer })
    }

    /// A packet without payload from the sender: an ACK, or a probe that asks for one (RFC 9293 section 3.8.4
    /// and 3.8.6.1: keep-alives and window probes repeat the byte before).
    #[inline]
    pub fn note_empty(&mut self, p: &TcpPacket) {
        let control = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0;
        if p.flags.0 & control == 0
            && self.una > self.start
            && unwrap(self.nxt, p.seq).wrapping_add(1) == self.una
        {
            self.counts.probes += 1;
        }
    }

    #[inline]
    fn count(&mut self, p: &TcpPacket, segments: u32) {
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
    fn count_bin(&mut self, p: &TcpPacket, now: u64, kind: PacketKind, segments: u32) -> u32 {
        let inflight = self.inflight(now);
        let short = self.is_piece(p, now);
        self.counts.short += short as u64;
        let bin = self.bins.at(now);
        let bytes = match kind {
            PacketKind::Data | PacketKind::Reordered => &mut bin.sent,
            _ => &mut bin.resent,
        };
        *bytes = bytes.saturating_add(p.len);
        bin.packets = bin.packets.saturating_add(segments);
        bin.short += short as u32;
        bin.data_delay = bin.data_delay.min(self.delay);
        bin.inflight = bin.inflight.max(inflight);
        bin.inflight_min = bin.inflight_min.min(inflight);
        inflight
    }

    /// Data beyond all that was seen: part of the stream for the first time.
    #[inline]
    fn fresh(&mut self, p: &TcpPacket, seq: u64, now: u64, entry: LogEntry) {
        if seq > self.nxt {
            self.jump(p, seq, now);
        }
        let number = self.log.push(LogEntry { open: p.len, ..entry });
        self.extend(p, seq, p.len, now, number);
    }

    pub(super) fn extend(&mut self, p: &TcpPacket, seq: u64, len: u32, now: u64, entry: u32) {
        self.board.list.push_back(SentSegment {
            seq,
            time: now,
            len,
            up: (self.up.rtt() / 1000).min(u32::MAX as u64) as u32,
            entry,
            tsval: p.options.timestamps.map_or(0, |t| t.0),
            id: p.id,
            first: 0,
            times: 1,
            sacked: false,
        });
        self.counts.unique_bytes += len as u64;
        self.nxt = seq + len as u64;
    }

    /// Packets are missing before `seq`.
    #[cold]
    fn jump(&mut self, p: &TcpPacket, seq: u64, now: u64) {
        self.resolve_doubt(seq, now);
        let len = (seq - self.nxt) as u32;
        // They came after the last that passed, as close as that came after the one before it: what a policer drops
        // is the end of a burst.
        let segments = self.segments(len).max(1) as u64;
        let between = now.saturating_sub(self.last_sent) / (segments + 1);
        let time = if self.last_sent > 0 { self.last_sent + between.min(self.spacing) } else { now };
        let entry = self.log.push(LogEntry {
            time,
            bytes: len,
            open: len,
            segments: self.segments(len).min(u16::MAX as u32) as u16,
            header: p.header,
            delay: self.delay,
            hole: true,
            ..LogEntry::default()
        });
        let at = self.nxt;
        let unique = self.counts.unique_bytes;
        self.extend(p, at, len, now, entry);
        self.counts.unique_bytes = unique;
        if let Some(hole) = self.board.list.back_mut() {
            hole.times = 0;
        }
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
            self.mend(&s, s.len, false);
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

    /// Whether data was seen that is not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> bool {
        self.una < self.nxt
    }

    /// Reads from each of its cache lines.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let c = &self.counts;
        let counts = c.packets ^ c.fast ^ c.lost_up ^ c.dup_acks ^ c.probes ^ c.resets;
        let rtts = self.rtts[0].samples() ^ self.rtts[1].samples() ^ self.rtts[2].samples();
        let lists = self.board.list.len() ^ self.log.len() ^ self.bins.at_hand();
        let more = self.start ^ self.blocks[0].0 ^ self.blocks[3].1 ^ self.progress ^ self.full_from;
        counts ^ rtts ^ lists as u64 ^ more ^ self.up.fetch() ^ self.handshake.mss.unwrap_or(0) as u64
    }

    /// Reads where its lists are read and written next.
    #[inline]
    pub fn fetch_lists(&self) -> u64 {
        let board = [self.board.list.front(), self.board.list.back()];
        let board = board.iter().flatten().fold(0, |sum, s| sum ^ s.seq);
        let rtts = self.rtts.iter().fold(0, |sum, h| sum ^ h.fetch());
        board ^ rtts ^ self.log.fetch() ^ self.bins.fetch() ^ self.up.fetch_list()
    }

    /// Bytes of memory that grow.
    pub fn bytes(&self) -> usize {
        self.bins.bytes() + self.log.bytes()
    }

    /// Gives back what its lists have in reserve.
    pub fn rest(&mut self) {
        self.board.list.shrink_to_fit();
        self.log.rest();
        self.bins.rest();
        self.up.rest();
        self.resent.rest();
    }

    /// Keeps less from now on.
    pub fn limit(&mut self, limits: TrackLimits) {
        self.bins.limit(limits.bins);
        self.log.limit(limits.samples);
    }

    /// The connection is over; its last packet passed at `last`.
    pub fn finish(mut self, last: u64) -> DirectionEnd {
        if self.burst > 0 {
            self.end_burst();
        }
        self.end_full(last);
        if last > self.quiet_from {
            self.bins.spread(self.quiet_from, last, PauseKind::Idle);
        }
        self.end_doubt();
        self.lose_rest(last);
        let (counts, bins) = (&mut self.counts, &mut self.bins);
        self.log.finish(|loss| count_loss(counts, bins, loss));
        DirectionEnd {
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

    /// What lies below three sacked segments (RFC 6675's `IsLost`) was lost, though never sent again; and what never
    /// came below three that did.
    fn lose_rest(&mut self, last: u64) {
        let (mut above, mut came) = (0, 0);
        for i in (0..self.board.list.len()).rev() {
            let s = self.board.list[i];
            let segments = self.segments(s.len);
            came += if s.is_hole() { 0 } else { segments };
            if s.is_hole() && came >= 3 {
                self.log.lost(s.entry, s.len, segments, 0);
            } else if s.sacked {
                above += segments;
            } else if above >= 3 && (s.times <= 1 || last.saturating_sub(s.time) > 2 * self.rtt.rtt) {
                self.log.lost(s.entry, s.len, segments, 0);
            }
        }
    }
}

fn count_loss(counts: &mut TrackCounts, bins: &mut Bins, loss: SettledLoss) {
    let segments = loss.segments as u64;
    *if loss.up { &mut counts.lost_up } else { &mut counts.lost_down } += segments;
    let bin = bins.at(loss.time);
    bin.lost = bin.lost.saturating_add(loss.segments as u32);
}
