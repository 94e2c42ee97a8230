//! The tracker: packets in, a [`Track`] for each direction of each connection out.
//!
//! Packets and ICMP messages go in with [`Tracker::packet`] and [`Tracker::report`] (or [`Tracker::batch`]
//! for both), in the capture's order. [`Tracker::drain`] returns the connections finished so far,
//! [`Tracker::finish`] the rest. Memory is bounded for any input: see [`TrackerOptions`].

use crate::between::ExternalFate;
use crate::bins::{Bins, MAX_BINS};
use crate::connection::TrackedConnection;
use crate::direction::TrackLimits;
use crate::duplicates::{DuplicateTable, fingerprint};
use crate::list_pool::ListPool;
use crate::log::{MAX_LOGGED, PacketLog};
use crate::record_order::{RecordOrder, RecordTime};
use crate::silence::{HeldPacket, PendingSilence, Silence};
use crate::table::{self, ConnectionTable};
use crate::timestamp_clock::SilenceJudgement;
use crate::{Bin, LoggedPacket, PacketRecorder, Track};
use capture::{Batch, BatchPart, Endpoint, IcmpReport, TcpFlags, TcpPacket};
use units::{Span, Time};

/// A connection that both ends have closed may see a few late packets for this long.
const LINGER: Span = Span::from_secs(5);
/// A connection that is silent for this long frees the unused capacity of its lists. Connections that send
/// something every few seconds do not: they would grow them again each time.
const SHRINK_AFTER: Span = Span::from_secs(5);
/// If a capture is silent for longer than this, its clock may have been set.
const MAX_STEADY_SILENCE: Span = Span::from_secs(1);

/// No connection continues with its old timestamps after a longer silence (RFC 7323 section 5.5). So if the
/// whole capture is silent for longer, its clock was set.
const MAX_SILENCE: Span = Span::from_secs(24 * 24 * 3600);

/// Number of packets whose connections are prefetched together.
const PREFETCH_GROUP: usize = 16;
/// Up to this many connections stay in the processor's caches. They are counted by [`SLOTS`] bits, which some
/// share.
const MAX_CACHED_CONNECTIONS: u32 = if cfg!(fuzzing) { 0 } else { 100 };
const SLOTS: u32 = 256;

/// Times are limited to this (the year 2262), so that spans can be added to them.
const LATEST: Time = Time::from_nanos(i64::MAX as u64);

/// However little memory there is, each direction may keep this many bins and logged packets.
const MIN_BINS: usize = 16;
const MIN_LOGGED: usize = 32;

/// Bounds on the tracker's memory.
#[derive(Clone, Copy, Debug)]
pub struct TrackerOptions {
    /// Connections without packets for this long are closed.
    pub idle: Span,
    /// Bytes for bins and logs of all connections, including those not yet drained.
    pub budget: usize,
    /// Maximum number of open connections. Beyond it, those that are idle longest are closed.
    pub max_open: usize,
    /// Maximum number of tracks kept. Beyond it, those with the least payload are dropped.
    pub max_tracks: usize,
}

impl Default for TrackerOptions {
    fn default() -> TrackerOptions {
        TrackerOptions { idle: Span::from_secs(120), budget: 64 << 20, max_open: 1 << 16, max_tracks: 20_000 }
    }
}

/// Tracks the TCP connections of a capture.
pub struct Tracker {
    options: TrackerOptions,
    table: ConnectionTable,
    closed: Vec<Track>,
    recorder: Option<Box<dyn PacketRecorder>>,
    duplicate_table: DuplicateTable,
    list_pool: ListPool,
    connections: u64,
    duplicates: u64,
    missed: u64,
    forgotten: u64,
    /// Latest time, corrected for clock steps.
    now: Time,
    /// Sorts records that are not in order of time.
    order: RecordOrder,
    /// Added to the records' times since the clock was set back.
    shift: Span,
    /// Subtracted from the records' times since the clock was set ahead.
    skipped: Span,
    /// Number of records earlier than one before them plus clock steps back, and the largest such
    /// difference.
    backward_times: u64,
    largest_backward: Span,
    /// Number of clock steps ahead, and the largest one.
    forward_jumps: u64,
    largest_forward: Span,
    /// A silence whose cause is not known yet.
    pending_silence: Option<Box<PendingSilence>>,
    /// When idle connections were closed last, and when silent ones freed memory last.
    swept_at: Time,
    shrunk_at: Time,
    packets: u64,
    limits: TrackLimits,
    /// A bit for each connection that had a packet since the last [`Tracker::run_maintenance`], by the low
    /// bits of its number.
    active: [u64; (SLOTS / u64::BITS) as usize],
    /// More than [`MAX_CACHED_CONNECTIONS`] connections were active before the last
    /// [`Tracker::run_maintenance`].
    has_many_active: bool,
    /// Bytes of bins and logs of open connections.
    open_bytes: usize,
    /// Bytes of bins and logs of closed tracks.
    closed_bytes: usize,
    /// Bytes of both above which maintenance is not put off: thousands of connections could grow by several
    /// times the budget before the next one.
    overrun: usize,
}

/// Totals over everything that a tracker has processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub connections: u64,
    /// Payload bytes of closed connections that were acknowledged but never seen.
    pub missed_bytes: u64,
    /// Duplicate records of closed connections.
    pub duplicate_records: u64,
    /// Tracks dropped because there were more than [`TrackerOptions::max_tracks`].
    pub forgotten_tracks: u64,
    /// TCP packets whose time was earlier than that of a packet before, plus steps back of the capture's
    /// clock.
    pub backward_times: u64,
    /// The largest such difference.
    pub most_backward: Span,
    /// Steps ahead of the capture's clock. The time that they skip does not count as elapsed.
    pub forward_jumps: u64,
    /// The largest step ahead.
    pub most_forward: Span,
}

impl Tracker {
    /// A tracker without connections.
    pub fn new(options: TrackerOptions) -> Tracker {
        Tracker {
            options,
            table: ConnectionTable::new(),
            closed: Vec::new(),
            recorder: None,
            duplicate_table: DuplicateTable::new(),
            list_pool: ListPool::default(),
            connections: 0,
            duplicates: 0,
            missed: 0,
            forgotten: 0,
            now: Time::ZERO,
            order: RecordOrder::new(),
            shift: Span::ZERO,
            skipped: Span::ZERO,
            backward_times: 0,
            largest_backward: Span::ZERO,
            forward_jumps: 0,
            largest_forward: Span::ZERO,
            pending_silence: None,
            swept_at: Time::ZERO,
            shrunk_at: Time::ZERO,
            packets: 0,
            limits: TrackLimits { bins: MAX_BINS, packets: MAX_LOGGED },
            active: Default::default(),
            has_many_active: cfg!(fuzzing),
            open_bytes: 0,
            closed_bytes: 0,
            overrun: options.budget,
        }
    }

    /// Sends a row for each packet to `recorder` from now on.
    pub fn set_recorder(&mut self, recorder: Box<dyn PacketRecorder>) {
        self.recorder = Some(recorder);
    }

    /// Processes an ICMP message about a TCP packet.
    pub fn report(&mut self, report: &IcmpReport) {
        self.take_held_back();
        let (key, side) = table::key(report.from, report.to);
        let slot = self.table.find(&key);
        if let Some(connection) = slot.and_then(|slot| self.table.get(slot)) {
            connection.report(side, report);
        }
    }

    /// Processes a batch.
    pub fn batch(&mut self, batch: &Batch) {
        batch.in_order().for_each(|next| match next {
            BatchPart::Packets(packets) => self.packets(packets),
            BatchPart::Report(report) => self.report(report),
        });
    }

    /// Processes packets as [`Tracker::packet`] does one by one, but faster with many connections: otherwise
    /// most of the time is spent waiting for the memory of one connection after another.
    pub fn packets(&mut self, packets: &[TcpPacket]) {
        for group in packets.chunks(PREFETCH_GROUP) {
            if self.has_many_active {
                self.prefetch(group);
            }
            let fingerprints = self.duplicate_table.fingerprints::<PREFETCH_GROUP>(group);
            group.iter().zip(fingerprints).for_each(|(p, fingerprint)| {
                self.packet_with_fingerprint(p, fingerprint, ExternalFate::Absent)
            });
        }
    }

    /// Prefetches the connections of these packets: the processor overlaps reads that do not depend on each
    /// other.
    fn prefetch(&self, group: &[TcpPacket]) {
        let mut prefetched = [None; PREFETCH_GROUP];
        for (connection, p) in prefetched.iter_mut().zip(group) {
            *connection = self.table.peek(&table::key(p.src, p.dst).0);
        }
        let mut last = u32::MAX;
        for connection in &mut prefetched {
            let number = connection.map_or(u32::MAX, |c: &TrackedConnection| c.number);
            if std::mem::replace(&mut last, number) == number {
                *connection = None;
            }
        }
        let connections = || prefetched.iter().flatten();
        let sum = connections().fold(0, |sum, c| sum ^ c.fetch());
        let sum = connections().flat_map(|c| c.directions()).fold(sum, |sum, d| sum ^ d.fetch());
        let sum = connections().flat_map(|c| c.directions()).fold(sum, |sum, d| sum ^ d.fetch_lists());
        std::hint::black_box(sum);
    }

    /// Processes a packet. The packets of a capture should come in order of time; a few that do not are
    /// sorted into place.
    #[inline]
    pub fn packet(&mut self, p: &TcpPacket) {
        self.packet_with_fate(p, ExternalFate::Absent);
    }

    /// Processes a packet whose fate another source may know.
    pub fn packet_with_fate(&mut self, p: &TcpPacket, fate: ExternalFate) {
        self.packet_with_fingerprint(p, fingerprint(p), fate);
    }

    #[inline]
    fn packet_with_fingerprint(&mut self, p: &TcpPacket, fingerprint: u64, fate: ExternalFate) {
        if !self.order.passes(p.time + self.shift) {
            return self.put_in_order((*p, fingerprint, fate));
        }
        self.in_order(p, fingerprint, fate);
    }

    /// Holds back a packet that may be out of order, and processes those that are due.
    #[cold]
    fn put_in_order(&mut self, packet: HeldPacket) {
        match self.order.push(packet.0.time + self.shift, packet) {
            RecordTime::Latest => {}
            RecordTime::Early(by) => {
                self.backward_times += 1;
                self.largest_backward = self.largest_backward.max(by);
            }
            RecordTime::SetBack => return self.set_back(),
        }
        while let Some((p, fingerprint, fate)) = self.order.pop() {
            self.in_order(&p, fingerprint, fate);
        }
    }

    /// Processes all packets that are held back because of their order.
    fn take_held_back(&mut self) {
        for (p, fingerprint, fate) in self.order.finish() {
            self.in_order(&p, fingerprint, fate);
        }
    }

    /// Continues from the latest time after the clock was set back.
    #[cold]
    fn set_back(&mut self) {
        let run = self.order.take_run();
        let Some((first, ..)) = run.first().copied() else { return };
        self.take_held_back();
        self.resolve_silence(None);
        let back = self.order.latest().since(first.time + self.shift);
        self.largest_backward = self.largest_backward.max(back);
        // All but the last of them were already counted as early.
        self.backward_times = self.backward_times + 2 - run.len() as u64;
        let continued = self.time_after_step(&first) + self.skipped;
        self.shift += continued.since(first.time + self.shift);
        self.forget_times();
        for (p, fingerprint, fate) in run {
            self.packet_with_fingerprint(&p, fingerprint, fate);
        }
    }

    /// When the first packet after a clock step passed: by its sender's clock, otherwise immediately.
    fn time_after_step(&mut self, p: &TcpPacket) -> Time {
        let (key, side) = table::key(p.src, p.dst);
        let known = self.table.find(&key).and_then(|slot| self.table.get(slot));
        let by_sender = known.and_then(|c| c.time_by_sender(side, p));
        by_sender.filter(|at| (self.now..=self.now + MAX_STEADY_SILENCE).contains(at)).unwrap_or(self.now)
    }

    /// Forgets measurements that would compare a time before a clock step with one after it.
    fn forget_times(&mut self) {
        let now = self.now;
        self.table.each(|c| c.forget_times(now));
    }

    #[inline]
    fn in_order(&mut self, p: &TcpPacket, fingerprint: u64, fate: ExternalFate) {
        if self.pending_silence.is_some() {
            return self.hold_back((*p, fingerprint, fate));
        }
        if self.packets > 0 && self.at(p) > self.now + MAX_STEADY_SILENCE && self.watch_silence(p) {
            return self.hold_back((*p, fingerprint, fate));
        }
        self.take(p, fingerprint, fate);
    }

    /// The time of a packet, corrected for clock steps.
    #[inline]
    fn at(&self, p: &TcpPacket) -> Time {
        (p.time + self.shift) - self.skipped
    }

    #[inline]
    fn take(&mut self, p: &TcpPacket, fingerprint: u64, fate: ExternalFate) {
        let now = self.clock(p.time);
        self.packets += 1;
        if self.packets.is_multiple_of(4096) || self.open_bytes + self.closed_bytes > self.overrun {
            self.run_maintenance(now);
        }
        let (key, side) = table::key(p.src, p.dst);
        if p.flags.has(TcpFlags::SYN) {
            self.close_before(p, now);
        }
        let slot = match self.table.find(&key) {
            Some(slot) => slot,
            None => self.open(key, side, p, now),
        };
        let Some(connection) = self.table.get(slot) else { return };
        let row = connection.packet(
            side,
            (p, fingerprint),
            now,
            (self.limits, &mut self.duplicate_table),
            fate,
            self.recorder.is_some(),
        );
        let bytes = connection.bytes();
        self.open_bytes = self.open_bytes + bytes - std::mem::replace(&mut connection.counted_bytes, bytes);
        let bit = connection.number % SLOTS;
        self.active[(bit / u64::BITS) as usize] |= 1 << (bit % u64::BITS);
        if p.flags.0 & (TcpFlags::FIN.0 | TcpFlags::RST.0) != 0 && connection.is_over() {
            self.shrink_one(slot);
        }
        if let (Some(recorder), Some(row)) = (&mut self.recorder, row) {
            recorder.row(&row);
        }
    }

    /// Closes the connection between the ends of a SYN that opens another one.
    #[cold]
    fn close_before(&mut self, p: &TcpPacket, now: Time) {
        let (key, side) = table::key(p.src, p.dst);
        let known = self.table.find(&key);
        let is_reopened =
            |slot: &usize| self.table.get(*slot).is_some_and(|c| c.is_reopened_by(side, p, now));
        if let Some(slot) = known.filter(is_reopened) {
            self.close(slot);
        }
    }

    /// Frees the memory of a finished connection for the next one.
    #[cold]
    fn shrink_one(&mut self, slot: usize) {
        let Some(connection) = self.table.get(slot) else { return };
        self.open_bytes -= connection.counted_bytes;
        connection.shrink(&mut self.list_pool);
        self.open_bytes += connection.counted_bytes;
    }

    /// Corrects a time for clock steps; the result never decreases.
    #[inline]
    fn clock(&mut self, time: Time) -> Time {
        self.now = self.now.max((time + self.shift) - self.skipped).min(LATEST);
        self.now
    }

    /// Handles a silence of the capture. If it is longer than a connection may be silent, the clock was set
    /// ahead, and time continues from where it was. Returns whether the following packets must decide: the
    /// packet's sender shows by its own clock that less time has passed, or data was in flight and nothing
    /// shows that it had to be retransmitted.
    #[cold]
    fn watch_silence(&mut self, p: &TcpPacket) -> bool {
        let silence = self.at(p).since(self.now);
        if silence > MAX_SILENCE {
            self.step_ahead(silence);
            return false;
        }
        let decides = match self.judge_silence(p, silence) {
            SilenceJudgement::Less => true,
            SilenceJudgement::Passed => false,
            SilenceJudgement::Unknown => self.is_other_data_in_flight(p),
        };
        if decides {
            self.pending_silence = Some(Box::new(PendingSilence::new(silence, self.at(p))));
        }
        decides
    }

    /// Returns whether data of the packet's connection is in flight that the packet does not retransmit.
    fn is_other_data_in_flight(&mut self, p: &TcpPacket) -> bool {
        let (key, side) = table::key(p.src, p.dst);
        let known = self.table.find(&key).and_then(|slot| self.table.get(slot));
        known.is_some_and(|c| c.is_other_data_in_flight(side, p))
    }

    fn judge_silence(&mut self, p: &TcpPacket, silence: Span) -> SilenceJudgement {
        let now = self.at(p);
        let (key, side) = table::key(p.src, p.dst);
        let known = self.table.find(&key).and_then(|slot| self.table.get(slot));
        known.map_or(SilenceJudgement::Unknown, |c| c.judge_silence(side, p, now, silence))
    }

    /// Corrects for a step ahead of the capture's clock.
    fn step_ahead(&mut self, by: Span) {
        self.skipped += by;
        self.forward_jumps += 1;
        self.largest_forward = self.largest_forward.max(by);
    }

    /// Holds back a packet after a silence whose cause is not known yet.
    #[cold]
    fn hold_back(&mut self, packet: HeldPacket) {
        let now = self.at(&packet.0);
        // Another silence: decide by what has been seen so far.
        if self.pending_silence.as_ref().is_some_and(|s| now > s.last() + MAX_STEADY_SILENCE) {
            self.resolve_silence(None);
            return self.in_order(&packet.0, packet.1, packet.2);
        }
        let Some(silence) = self.pending_silence.as_ref().map(|s| s.silence) else { return };
        let judgement = self.judge_silence(&packet.0, silence);
        let judged = self.pending_silence.as_mut().and_then(|s| s.hold(packet, now, judgement));
        if judged.is_some() {
            self.resolve_silence(judged);
        }
    }

    /// Processes the packets that were held back, once the cause of the silence before them is known or has
    /// to be decided.
    #[cold]
    fn resolve_silence(&mut self, judged: Option<Silence>) {
        let Some(pending_silence) = self.pending_silence.take() else { return };
        let first = pending_silence.held.first().map(|held| held.0);
        if let Some(first) = first
            && judged.unwrap_or_else(|| pending_silence.so_far()) == Silence::ClockStep
        {
            let passed = self.time_after_step(&first).since(self.now);
            self.step_ahead(pending_silence.silence.saturating_sub(passed));
            self.forget_times();
        }
        pending_silence.held.iter().for_each(|(p, fingerprint, fate)| self.take(p, *fingerprint, *fate));
    }

    #[cold]
    fn open(&mut self, key: [Endpoint; 2], side: usize, p: &TcpPacket, now: Time) -> usize {
        if self.table.len() >= self.options.max_open {
            self.close_idlest();
        }
        let number = self.connections as u32;
        self.connections += 1;
        let mut connection = TrackedConnection::new(number, key, side, p, now);
        connection.pooled_lists = self.list_pool.take();
        self.table.insert(key, connection)
    }

    /// Closes finished, idle and surplus connections and frees memory.
    #[cold]
    fn run_maintenance(&mut self, now: Time) {
        let active = std::mem::take(&mut self.active);
        self.has_many_active =
            active.iter().map(|bits| bits.count_ones()).sum::<u32>() > MAX_CACHED_CONNECTIONS;
        let idle = self.options.idle;
        if now.since(self.swept_at) >= (idle / 8).min(LINGER) {
            self.swept_at = now;
            self.sweep(|c| {
                let silent = now.since(c.last);
                silent > idle || c.is_over() && silent > LINGER
            });
        }
        if now.since(self.shrunk_at) >= SHRINK_AFTER {
            self.shrunk_at = now;
            self.shrink(now);
        }
        self.fit_budget();
    }

    /// Frees the unused capacity of silent connections.
    fn shrink(&mut self, now: Time) {
        let mut less = 0;
        self.table.each(|c| {
            if now.since(c.last) > SHRINK_AFTER {
                less += c.counted_bytes;
                c.shrink(&mut self.list_pool);
                less -= c.counted_bytes;
            }
        });
        self.open_bytes -= less;
    }

    fn sweep(&mut self, over: impl Fn(&TrackedConnection) -> bool) {
        for slot in self.table.slots_where(over) {
            self.close(slot);
        }
    }

    #[cold]
    fn close_idlest(&mut self) {
        let mut lasts = Vec::with_capacity(self.table.len());
        self.table.each(|c| lasts.push(c.last));
        let quarter = lasts.len() / 4;
        if quarter < lasts.len() {
            let (_, &mut until, _) = lasts.select_nth_unstable(quarter);
            self.sweep(|c| c.last <= until);
        }
    }

    /// Halves the bins or the logged packets that each connection may keep, whichever take more memory, until
    /// everything fits into the budget.
    fn fit_budget(&mut self) {
        while self.open_bytes + self.closed_bytes > self.options.budget {
            let Some(limits) = self.smaller_limits() else { break };
            self.limits = limits;
            let mut open_bytes = 0;
            self.table.each(|c| {
                c.limit(limits);
                c.counted_bytes = c.bytes();
                open_bytes += c.counted_bytes;
            });
            self.open_bytes = open_bytes;
            self.closed.iter_mut().for_each(|track| limit(track, limits));
            self.closed_bytes = self.closed.iter().map(bytes).sum();
        }
        // Where the minimum of each connection is more than the budget, it is exceeded.
        self.overrun = (self.open_bytes + self.closed_bytes).max(self.options.budget) / 8 * 9;
    }

    /// The next smaller limits, or `None` if both are at their minimum.
    fn smaller_limits(&mut self) -> Option<TrackLimits> {
        let TrackLimits { bins, packets } = self.limits;
        let fewer_bins = TrackLimits { bins: bins / 2, packets };
        let fewer_packets = TrackLimits { bins, packets: packets / 2 };
        match (bins > MIN_BINS, packets > MIN_LOGGED) {
            (false, false) => None,
            (true, false) => Some(fewer_bins),
            (false, true) => Some(fewer_packets),
            (true, true) => {
                let mut bin_bytes = self.closed.iter().map(|t| size_of_val(&t.bins[..])).sum::<usize>();
                self.table.each(|c| bin_bytes += c.bin_bytes());
                let more_bins = bin_bytes > (self.open_bytes + self.closed_bytes) / 2;
                Some(if more_bins { fewer_bins } else { fewer_packets })
            }
        }
    }

    fn close(&mut self, slot: usize) {
        let Some(connection) = self.table.remove(slot) else { return };
        self.duplicates += connection.duplicates();
        self.open_bytes -= connection.counted_bytes;
        let before = self.closed.len();
        connection.finish(&mut self.closed);
        // Most memory belongs to tracks: they keep no more than they need.
        for track in &mut self.closed[before..] {
            track.bins.shrink_to(8);
            track.log.shrink_to(8);
            track.waits.shrink_to(8);
        }
        self.missed += self.closed[before..].iter().map(|t| t.counts.missed_bytes).sum::<u64>();
        self.closed_bytes += self.closed[before..].iter().map(bytes).sum::<usize>();
        let most = self.options.max_tracks;
        if self.closed.len() > most.saturating_add(most / 4) {
            self.drop_smallest();
        }
    }

    /// Keeps the tracks with the most payload.
    fn drop_smallest(&mut self) {
        let most = self.options.max_tracks;
        if self.closed.len() > most {
            let rank = |t: &Track| (std::cmp::Reverse(t.counts.payload_bytes), t.connection, t.opened);
            self.closed.select_nth_unstable_by_key(most, rank);
            self.forgotten += (self.closed.len() - most) as u64;
            self.closed.truncate(most);
            self.closed_bytes = self.closed.iter().map(bytes).sum();
        }
    }

    /// Moves the tracks of finished connections to `out`.
    pub fn drain(&mut self, out: &mut Vec<Track>) {
        out.append(&mut self.closed);
        self.closed_bytes = 0;
    }

    /// Closes all connections, appends the remaining tracks to `out` and returns the totals.
    pub fn finish(mut self, out: &mut Vec<Track>) -> Totals {
        self.take_held_back();
        self.resolve_silence(None);
        self.sweep(|_| true);
        self.fit_budget();
        self.drop_smallest();
        out.append(&mut self.closed);
        Totals {
            connections: self.connections,
            missed_bytes: self.missed,
            duplicate_records: self.duplicates,
            forgotten_tracks: self.forgotten,
            backward_times: self.backward_times,
            most_backward: self.largest_backward,
            forward_jumps: self.forward_jumps,
            most_forward: self.largest_forward,
        }
    }
}

/// Reduces what a closed track keeps.
fn limit(track: &mut Track, limits: TrackLimits) {
    let bins = std::mem::take(&mut track.bins);
    let mut bins = Bins::of(track.first, track.bin, bins);
    bins.limit(limits.bins);
    (track.bin, track.bins) = (bins.width(), bins.into_list());
    let mut log = PacketLog::of(std::mem::take(&mut track.log), track.merged);
    log.limit(limits.packets);
    (track.log, track.merged) = log.into_packets();
}

/// Bytes of a closed track's bins and log.
fn bytes(track: &Track) -> usize {
    track.bins.capacity() * size_of::<Bin>() + track.log.capacity() * size_of::<LoggedPacket>()
}
