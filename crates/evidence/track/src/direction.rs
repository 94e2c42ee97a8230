//! One direction of a connection: what its sender sent, and what became of it.
//!
//! The state is grouped by subject in `direction/state.rs`. `ack.rs` processes ACKs, `retransmit.rs`
//! retransmissions, `pause.rs` pauses, and `size.rs` changes in the size of full segments.

mod ack;
mod pause;
mod retransmit;
mod size;
mod state;

pub use state::AgreedMss;

use crate::between::ExternalFate;
use crate::bins::Bins;
use crate::list_pool::{ListPool, MAX_POOLED_BYTES, PooledLists};
use crate::log::{LogEntry, PacketLog, SettledLoss};
use crate::retransmissions::Retransmissions;
use crate::scoreboard::{self, Scoreboard, SentSegment};
use crate::sender_side::{AckState, SenderSide};
use crate::sequence::{BEGIN, MAX_JUMP, unwrap};
use crate::{
    Bursts, FirstPackets, Handshake, LongWait, OversizeSpan, PackedSpan, PacketKind, PauseKind,
    SpanHistogram, TrackCounts, WaitReason,
};
use capture::{TcpFlags, TcpPacket};
use size::{SegmentSizes, SentProbe, StuckSegments};
use state::{
    AckTrail, AppState, BurstMeter, DataTimes, NewData, PauseState, ReceiveWindow, RecoveryState, RttState,
    StreamEdges,
};
use std::num::NonZeroU32;
use units::{Span, Time};

/// How a data packet was classified. It is small enough to be returned in a register: through memory, each
/// data packet would wait for the stores before it.
#[derive(Clone, Copy, Debug)]
pub struct SentData {
    pub kind: PacketKind,
    pub segments: u32,
    /// The sender's timer that released it.
    pub timer: Option<WaitReason>,
    /// The packet is a retransmission, or something before it is missing.
    pub repairs: bool,
}

/// A sender without an RTT sample retransmits after this time (RFC 6298 section 2.1).
const RETRANSMITTED_WITHIN: Span = Span::from_secs(1);

/// No sender waits this many retransmission timeouts as they are computed here: some stacks round up to a
/// second (RFC 6298 section 2.4), five times Linux's minimum.
const CERTAINLY_EXPIRED_RTOS: u64 = 5;

/// The state of one direction.
#[derive(Debug)]
pub struct Direction {
    pub stream: StreamEdges,
    /// One-way delay of the packet that passes now, above the minimum.
    pub delay: PackedSpan,
    /// Fate of that packet according to another source.
    pub fate: ExternalFate,
    scoreboard: Scoreboard,
    retransmissions: Retransmissions,
    acks: AckTrail,
    window: ReceiveWindow,
    recovery: RecoveryState,
    rtt: RttState,
    side: SenderSide,
    sizes: SegmentSizes,
    stuck: StuckSegments,
    times: DataTimes,
    app: AppState,
    pauses: PauseState,
    bursts: BurstMeter,
    handshake: Handshake,
    counts: TrackCounts,
    log: PacketLog,
    bins: Bins,
    zero_windows: FirstPackets,
    held: FirstPackets,
}

/// The final state of a direction when its connection ends: see `Track`.
pub struct DirectionEnd {
    pub first_data: Option<Time>,
    pub last_data: Option<Time>,
    pub handshake: Handshake,
    pub mss: Option<u32>,
    pub mss_before: Option<u32>,
    pub path_mtu: Option<u32>,
    pub too_big: Vec<OversizeSpan>,
    pub lost_probes: Vec<Time>,
    pub header: u32,
    pub outside: u32,
    pub counts: TrackCounts,
    pub rtt_down: SpanHistogram,
    pub rtt_up: SpanHistogram,
    pub rtt: SpanHistogram,
    pub bins: Bins,
    pub log: PacketLog,
    pub waits: Vec<LongWait>,
    pub zero_windows: FirstPackets,
    pub held: FirstPackets,
    pub bursts: Bursts,
}

/// Limits on what a direction keeps.
#[derive(Clone, Copy, Debug)]
pub struct TrackLimits {
    /// Maximum number of bins.
    pub bins: usize,
    /// Maximum number of logged packets.
    pub packets: usize,
}

impl Direction {
    /// Begins a direction whose first byte has the sequence number `seq`, in a connection that began at
    /// `first`. `mss` is `None` if no SYN was seen.
    pub fn new(
        seq: u32,
        first: Time,
        handshake: Handshake,
        mss: Option<AgreedMss>,
        limits: TrackLimits,
        lists: PooledLists,
    ) -> Direction {
        let start = BEGIN + seq as u64;
        let side = SenderSide::new(AckState::new(Time::ZERO, start, 0, None, false), handshake.up);
        let mut rtt = RttState::default();
        if let Some(all) = handshake.rtt {
            rtt.estimate.sample(all);
        }
        Direction {
            stream: StreamEdges { start, una: start, nxt: start, fin: None },
            delay: PackedSpan::UNKNOWN,
            fate: ExternalFate::Absent,
            scoreboard: Scoreboard { list: lists.scoreboard, sacked: 0 },
            retransmissions: Retransmissions::default(),
            acks: AckTrail::default(),
            window: ReceiveWindow::new(handshake.wscale),
            recovery: RecoveryState::default(),
            rtt,
            side,
            sizes: SegmentSizes::new(mss),
            stuck: StuckSegments::default(),
            times: DataTimes::default(),
            app: AppState::default(),
            pauses: PauseState::default(),
            bursts: BurstMeter::default(),
            handshake,
            counts: TrackCounts::default(),
            log: PacketLog::reusing(lists.log, limits.packets),
            bins: Bins::reusing(lists.bins, first, limits.bins),
            zero_windows: FirstPackets::default(),
            held: FirstPackets::default(),
        }
    }

    /// Processes a data packet; `last` is the time of the connection's previous packet.
    ///
    /// Not inlined, like [`Direction::ack`]: as one function, the compiler would keep less of their state in
    /// registers, which costs 2 % of the tracker's instructions.
    #[inline(never)]
    pub fn data(&mut self, p: &TcpPacket, now: Time, last: Time) -> Option<SentData> {
        let syn = p.flags.has(TcpFlags::SYN) as u32;
        let seq = unwrap(self.stream.nxt, p.seq.wrapping_add(syn));
        if seq > self.stream.nxt + MAX_JUMP {
            return None;
        }
        let end = seq + p.len as u64;
        if p.len == 1 && end == self.stream.una && self.stream.is_repeated_byte() {
            self.note_window_probe(None, now);
            return None;
        }
        if self.is_window_probe(seq, p.len, now) {
            self.note_window_probe((seq == self.stream.nxt).then_some(end), now);
            return None;
        }
        let probes = seq >= self.stream.nxt && self.sizes.is_probe(p);
        self.sizes.learn(p);
        if self.sizes.process(p) {
            self.end_stuck_span(now);
        }
        let segments = if probes { 1 } else { self.sizes.segments(p.len) };
        if probes && self.stuck.probe.is_none_or(|probe| probe.len < p.len) {
            self.stuck.probe = Some(SentProbe { seq, len: p.len, time: now });
        }
        self.count(p, segments);
        let gap = self.times.gap(now);
        self.end_shut_window(now);
        let missing = seq > self.stream.nxt;
        let (kind, timer) = if seq >= self.stream.nxt {
            self.new_data(p, seq, now, segments);
            let full = self.sizes.is_full(p.len);
            self.app.sent_new(NewData { time: now, pushed: p.flags.has(TcpFlags::PSH), full });
            self.watch_application(p, now);
            (PacketKind::Data, None)
        } else {
            self.old_data(p, seq, now, (gap, segments))
        };
        let repairs = missing || !matches!(kind, PacketKind::Data | PacketKind::Reordered);
        self.settle_silence(repairs, now);
        let prompt = timer.is_none() && kind != PacketKind::Reordered;
        if let Some((_, echo)) = p.options.timestamps
            && let Some(up) = self.side.echo(now, echo, gap, prompt)
        {
            self.rtt.up.record(up);
        }
        self.times.sent(now, gap);
        self.bursts.add(p.len, gap, self.rtt.estimate.smoothed());
        let inflight = self.count_bin(p, now, kind, segments);
        if kind == PacketKind::Data {
            self.app.in_flight(inflight);
        }
        self.end_pause(now, (last, gap), end, timer);
        if self.scoreboard.list.len() > scoreboard::MAX_SEGMENTS {
            self.drop_oldest_segment();
        }
        self.settle(now);
        Some(SentData { kind, segments, timer, repairs })
    }

    /// Stream offset of the packet's first byte.
    pub fn offset(&self, p: &TcpPacket) -> u64 {
        let syn = p.flags.has(TcpFlags::SYN) as u32;
        unwrap(self.stream.nxt, p.seq.wrapping_add(syn)).saturating_sub(self.stream.start)
    }

    /// Processes a packet without payload from the sender: an ACK, or a probe that requests one (RFC 9293
    /// sections 3.8.4 and 3.8.6.1: keep-alives and window probes repeat the previous byte).
    #[inline]
    pub fn note_empty(&mut self, p: &TcpPacket, now: Time) {
        let control = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0;
        let stream = &self.stream;
        if p.flags.0 & control == 0
            && stream.una > stream.start
            && unwrap(stream.nxt, p.seq).wrapping_add(1) == stream.una
        {
            self.note_window_probe(None, now);
        }
    }

    #[inline]
    fn count(&mut self, p: &TcpPacket, segments: u32) {
        let c = &mut self.counts;
        c.data_packets += segments as u64;
        c.payload_bytes += p.len as u64;
        c.options_cut += p.options.cut as u64;
        c.ect += if p.ecn != 0 { segments as u64 } else { 0 };
        c.ce += if p.ecn == 3 { segments as u64 } else { 0 };
    }

    #[inline]
    fn count_bin(&mut self, p: &TcpPacket, now: Time, kind: PacketKind, segments: u32) -> u32 {
        let inflight = self.inflight(now);
        let short = self.is_last_piece(p, now);
        self.counts.short += short as u64;
        let bin = self.bins.at(now);
        let bytes = match kind {
            PacketKind::Data | PacketKind::Reordered => &mut bin.sent,
            _ => &mut bin.resent,
        };
        *bytes = bytes.saturating_add(p.len);
        bin.packets = bin.packets.saturating_add(segments);
        bin.short += short as u32;
        bin.data_delay = bin.data_delay.least(self.delay);
        bin.inflight = bin.inflight.max(inflight);
        inflight
    }

    /// Processes data beyond everything seen so far.
    #[inline]
    fn new_data(&mut self, p: &TcpPacket, seq: u64, now: Time, segments: u32) {
        if seq > self.stream.nxt {
            self.jump(p, seq, now);
        }
        let number = self.log.push_with_fate(self.log_entry(p, now, segments), self.fate);
        self.extend(p, p.len, now, number);
        self.window.check_scale(self.stream.nxt);
        self.counts.unique_bytes += p.len as u64;
    }

    /// Returns the log's entry for a packet that passes now.
    #[inline(always)]
    fn log_entry(&self, p: &TcpPacket, now: Time, segments: u32) -> LogEntry {
        LogEntry {
            time: now,
            number: p.number,
            bytes: p.len,
            open: p.len,
            segments: segments.min(u16::MAX as u32) as u16,
            header: p.header,
            delay: self.delay,
            ..LogEntry::default()
        }
    }

    /// Extends the stream by `len` bytes, which `p` carried.
    fn extend(&mut self, p: &TcpPacket, len: u32, now: Time, entry: u32) {
        self.scoreboard.list.push_back(SentSegment {
            seq: self.stream.nxt,
            time: now,
            len,
            up: self.side.rtt(),
            entry,
            tsval: timestamp(p),
            id: p.id,
            first: None,
            sent: 1,
            sacked: false,
        });
        self.stream.nxt += len as u64;
    }

    /// Notes that packets are missing before `seq`.
    #[cold]
    fn jump(&mut self, p: &TcpPacket, seq: u64, now: Time) {
        self.explain_by_jump(seq, now);
        let len = (seq - self.stream.nxt) as u32;
        // The missing packets are assumed to follow the last one that passed, at its distance from the one
        // before: a policer drops the end of a burst.
        let segments = self.sizes.segments(len).max(1);
        let between = self.times.gap(now) / (segments as u64 + 1);
        let time = self.times.last_sent.map_or(now, |last| last + between.min(self.times.spacing));
        let entry = self.log.push(LogEntry {
            time,
            number: p.number,
            bytes: len,
            open: len,
            segments: segments.min(u16::MAX as u32) as u16,
            header: p.header,
            delay: self.delay,
            unseen: true,
            ..LogEntry::default()
        });
        self.extend(p, len, now, entry);
        if let Some(unseen) = self.scoreboard.list.back_mut() {
            unseen.sent = 0;
        }
    }

    /// Drops the oldest segment, because too much is outstanding.
    #[cold]
    fn drop_oldest_segment(&mut self) {
        if let Some(s) = self.scoreboard.list.pop_front() {
            if s.sacked {
                self.scoreboard.sacked -= s.len;
            } else if s.is_unseen() {
                self.capture_missed(&s);
            } else {
                self.log.passed(s.entry, s.len, PackedSpan::UNKNOWN);
            }
            self.arrived_again(&s, s.len, false);
        }
    }

    /// Notes that the capture, not the path, lost a segment that was never seen.
    fn capture_missed(&mut self, s: &SentSegment) {
        self.counts.missed_bytes += u64::from(s.len);
        self.log.removed(s.entry, s.len, self.sizes.segments(s.len));
    }

    /// Bytes in flight as the sender sees them.
    #[inline]
    pub fn inflight(&mut self, now: Time) -> u32 {
        let ack = self.side.last_ack(now);
        let above = self.stream.nxt.saturating_sub(ack.una);
        // No sender has more in flight than the receiver permits (RFC 9293 section 3.8.6). Anything above
        // that was acknowledged by an ACK that the sender already had; when it got it is only approximately
        // known.
        above.saturating_sub(ack.sacked as u64).min(self.window.greatest().into()) as u32
    }

    /// Notes a FIN: the stream ends before the sequence number `seq`.
    pub fn ends_at(&mut self, seq: u32) {
        let end = unwrap(self.stream.nxt, seq);
        self.stream.fin = (end >= self.stream.nxt).then_some(end).or(self.stream.fin);
    }

    /// Settles the fates that are known at `now`.
    #[inline]
    fn settle(&mut self, now: Time) {
        let (counts, bins) = (&mut self.counts, &mut self.bins);
        self.log.settle(now, |loss| count_loss(counts, bins, loss));
    }

    /// Processes an ICMP message "packet too big" and the MTU that it may report.
    pub fn icmp_mtu(&mut self, mtu: Option<u32>) {
        if let Some(mtu) = mtu {
            self.sizes.icmp_mtu(mtu);
        }
    }

    /// Bytes that were seen and are not acknowledged.
    #[inline]
    pub fn bytes_out(&self) -> u64 {
        self.stream.nxt.saturating_sub(self.stream.una)
    }

    /// Minimum round trip between capture and receiver.
    pub fn least_down(&self) -> Option<Span> {
        self.rtt.least_down
    }

    /// Queueing delay of the round trip between capture and receiver, of the data that is acknowledged up to
    /// `ack` at `now`, or of the data acknowledged last.
    pub fn down_over_least(&self, ack: u32, now: Time) -> Option<Span> {
        let behind = self.scoreboard.find(unwrap(self.stream.una, ack));
        let newest = behind.checked_sub(1).and_then(|i| self.scoreboard.list.get(i)).filter(|s| s.sent == 1);
        let down = newest.map(|s| now.since(s.time)).or(self.rtt.last_down)?;
        Some(down.saturating_sub(self.rtt.least_down.or(self.handshake.down)?))
    }

    /// Minimum round trip between capture and sender.
    pub fn least_up(&self) -> Option<Span> {
        self.rtt.up.min()
    }

    /// Restarts RTT measurements after a step of the capture's clock, which is now `now`: earlier packets and
    /// unanswered ACKs give no RTT.
    pub fn forget_times(&mut self, now: Time) {
        self.rtt.from = now;
        self.side.forget_marks();
    }

    /// Returns whether the packet, of this sender, retransmits data in flight.
    pub fn retransmits_in_flight(&self, p: &TcpPacket) -> bool {
        p.len > 0 && self.outstanding() && unwrap(self.stream.nxt, p.seq) < self.stream.nxt
    }

    /// Returns whether the receiver's packet acknowledges data that was in flight for `silence` without a
    /// retransmission, far longer than any retransmission timer allows (RFC 6298 section 5). Then less time
    /// has passed for the sender than the capture's clock shows.
    pub fn exceeded_its_timer(&self, p: &TcpPacket, silence: Span) -> bool {
        let ack = unwrap(self.stream.una, p.ack);
        let oldest = self.scoreboard.list.front();
        oldest.is_some_and(|s| ack > s.seq && ack <= self.stream.nxt)
            && p.flags.has(TcpFlags::ACK)
            && silence > self.rtt.estimate.timeout() * CERTAINLY_EXPIRED_RTOS
    }

    /// Returns whether data was seen that is not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> bool {
        self.stream.una < self.stream.nxt
    }

    /// Prefetches the state; returns a value that depends on it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let c = &self.counts;
        let counts = c.packets ^ c.fast ^ c.lost_up ^ c.dup_acks ^ c.probes ^ c.resets;
        let rtts = self.rtt.down.samples() ^ self.rtt.up.samples() ^ self.rtt.total.samples();
        let lists =
            self.scoreboard.list.len() ^ self.log.len() ^ self.bins.current() ^ self.pauses.waits.len();
        let blocks = self.acks.blocks[0].0 ^ self.acks.blocks[3].1;
        let more = self.stream.start ^ self.times.spacing.as_nanos() ^ self.bursts.done.bytes;
        let mss = self.handshake.mss.unwrap_or(0) as u64;
        counts ^ rtts ^ lists as u64 ^ blocks ^ more ^ self.side.fetch() ^ mss
    }

    /// Prefetches the ends of the lists; returns a value that depends on them.
    #[inline]
    pub fn fetch_lists(&self) -> u64 {
        let scoreboard = [self.scoreboard.list.front(), self.scoreboard.list.back()];
        let scoreboard = scoreboard.iter().flatten().fold(0, |sum, s| sum ^ s.seq);
        let rtts = self.rtt.down.fetch() ^ self.rtt.up.fetch() ^ self.rtt.total.fetch();
        scoreboard ^ rtts ^ self.log.fetch() ^ self.bins.fetch() ^ self.side.fetch_list()
    }

    /// Bytes of bins and log.
    pub fn bytes(&self) -> usize {
        self.bins.bytes() + self.log.bytes()
    }

    /// Bytes of bins.
    pub fn bin_bytes(&self) -> usize {
        self.bins.bytes()
    }

    /// Frees unused capacity. If all data is acknowledged and the lists are small, their memory goes to
    /// `store`.
    pub fn shrink(&mut self, store: &mut ListPool) {
        if self.scoreboard.list.is_empty() && self.bytes() <= MAX_POOLED_BYTES {
            let scoreboard = std::mem::take(&mut self.scoreboard.list);
            store.put(PooledLists { scoreboard, log: self.log.take_memory(), bins: self.bins.take_memory() });
        }
        self.scoreboard.list.shrink_to_fit();
        self.log.shrink();
        self.bins.shrink();
        self.side.shrink();
        self.retransmissions.shrink();
    }

    /// Limits what the direction keeps from now on.
    pub fn limit(&mut self, limits: TrackLimits) {
        self.bins.limit(limits.bins);
        self.log.limit(limits.packets);
    }

    /// Returns the final state at the end of the connection, whose last packet passed at `last`.
    pub fn finish(mut self, last: Time) -> DirectionEnd {
        self.bursts.end();
        self.end_full_window(last);
        self.end_shut_window(Time::from_nanos(u64::MAX));
        if let Some(idle) = self.pauses.idle_from.filter(|idle| last > *idle) {
            self.bins.spread(idle, last, PauseKind::Idle);
        }
        self.explain_as_idle();
        self.end_silence(false);
        self.settle_unrepaired(last);
        let (counts, bins) = (&mut self.counts, &mut self.bins);
        self.log.finish(|loss| count_loss(counts, bins, loss));
        let too_big = self.too_big(last);
        if self.window.refuted {
            self.bins.forget_windows();
            (self.handshake.wscale, self.handshake.scale_is_wrong) = (None, true);
        }
        // If no data echoed an ACK, the part between sender and capture is unknown.
        let rtt = if self.rtt.total.samples() > 0 { self.rtt.total } else { self.rtt.down.clone() };
        // The other part is unknown too if each ACK may have waited for the receiver's delayed-ACK timer.
        let known = self.rtt.prompt || self.handshake.down.is_some();
        let if_known = |h: SpanHistogram| if known { h } else { SpanHistogram::default() };
        DirectionEnd {
            first_data: self.times.first,
            last_data: self
                .times
                .first
                .and(self.times.last_sent.max(self.recovery.progress).max(self.times.last_window_probe)),
            handshake: self.handshake,
            mss: self.sizes.mss,
            mss_before: self.sizes.watch.before,
            path_mtu: self.sizes.watch.path_mtu,
            too_big,
            lost_probes: self.stuck.lost_probes,
            header: self.sizes.header as u32,
            outside: self.sizes.outside as u32,
            counts: self.counts,
            rtt_down: if_known(self.rtt.down),
            rtt_up: self.rtt.up,
            rtt: if_known(rtt),
            bins: self.bins,
            log: self.log,
            waits: self.pauses.waits,
            zero_windows: self.zero_windows,
            held: self.held,
            bursts: self.bursts.done,
        }
    }

    /// Settles, at the end of the connection, data that was never retransmitted. Data below three SACKed
    /// segments was lost (RFC 6675 section 4, `IsLost`), and so was data that is missing from the capture
    /// below three captured segments. If the capture contains no ACK, data that the sender had time to
    /// retransmit and did not is missing from the capture.
    fn settle_unrepaired(&mut self, last: Time) {
        let (mut above, mut came) = (0, 0);
        let repairs = self.counts.retransmitted_packets > 0;
        for i in (0..self.scoreboard.list.len()).rev() {
            let s = self.scoreboard.list[i];
            let segments = self.sizes.segments(s.len);
            came += if s.is_unseen() { 0 } else { segments };
            if s.is_unseen()
                && self.counts.acks == 0
                && (!repairs || last.since(s.time) > RETRANSMITTED_WITHIN)
            {
                self.capture_missed(&s);
                continue;
            }
            let old = || s.sent <= 1 || last.since(s.time) > self.rtt.estimate.or_zero() * 2;
            if s.is_unseen() && came >= 3 {
                self.log.lost(s.entry, s.len, segments, Time::ZERO);
            } else if s.sacked {
                above += segments;
            } else if above >= 3 && old() {
                self.log.lost(s.entry, s.len, segments, Time::ZERO);
            }
        }
    }
}

/// The packet's timestamp (TSval), if it has one other than zero.
#[inline]
fn timestamp(p: &TcpPacket) -> Option<NonZeroU32> {
    NonZeroU32::new(p.options.timestamps?.0)
}

fn count_loss(counts: &mut TrackCounts, bins: &mut Bins, loss: SettledLoss) {
    let segments = loss.segments as u64;
    *if loss.up { &mut counts.lost_up } else { &mut counts.lost_down } += segments;
    let bin = bins.at(loss.time);
    bin.lost = bin.lost.saturating_add(loss.segments as u32);
}
