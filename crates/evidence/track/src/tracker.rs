//! The tracker: packets in, what is to know of each direction of each connection out.
//!
//! Three verbs: [`Tracker::packet`] and [`Tracker::report`] (or [`Tracker::batch`] of both) in the capture's order; [`Tracker::drain`]
//! whenever connections that are over are wanted; [`Tracker::finish`] for the rest. Memory is bounded whatever
//! the packets say: see [`TrackerOptions`].

use crate::between::PacketBeyond;
use crate::bins::{Bins, MOST_BINS};
use crate::connection::TrackedConnection;
use crate::direction::TrackLimits;
use crate::doubles::{DoubleTable, sign};
use crate::log::{MOST_LOGGED, PacketLog};
use crate::record_order::{RecordOrder, RecordTime};
use crate::spare::SpareStore;
use crate::standstill::{HeldPacket, Silence, Standstill};
use crate::table::{self, ConnectionTable};
use crate::timestamp_clock::SilenceJudgement;
use crate::{Bin, LoggedPacket, PacketRecorder, Track};
use capture::{Batch, BatchPart, Endpoint, IcmpReport, TcpFlags, TcpPacket};
use units::{Span, Time};

/// A connection that both ends have ended may see a few late packets so long.
const LINGER: Span = Span::from_secs(5);
/// One that was silent so long gives back what its lists have in reserve.
const REST: Span = Span::from_secs(1);
/// A capture that is silent for longer may have had its clock set.
const STEP: Span = Span::from_secs(1);

/// No connection that was silent for longer goes on with the timestamps that it had (RFC 7323 section 5.5): a capture that is
/// silent as a whole for so long, was not; its clock was set.
const LONGEST_SILENCE: Span = Span::from_secs(24 * 24 * 3600);

/// Packets whose connections are fetched at a time.
const AHEAD: usize = 16;
/// What is known of so few connections stays in the processor's caches. They are counted by [`SLOTS`] bits, which some share.
const FEW: u32 = if cfg!(fuzzing) { 0 } else { 100 };
const SLOTS: u32 = 256;

/// No time is later (the year 2262), so that spans can be added to it.
const LATEST: Time = Time::from_nanos(i64::MAX as u64);

/// Bounds.
#[derive(Clone, Copy, Debug)]
pub struct TrackerOptions {
    /// Connections without packets that long are closed.
    pub idle: Span,
    /// Bytes for bins and logs of all connections, those not yet drained among them.
    pub budget: usize,
    /// The most connections open at a time; beyond, those idle longest are closed.
    pub most_open: usize,
    /// The most tracks kept; beyond, those with least payload are forgotten.
    pub most_tracks: usize,
}

impl Default for TrackerOptions {
    fn default() -> TrackerOptions {
        TrackerOptions {
            idle: Span::from_secs(120),
            budget: 64 << 20,
            most_open: 1 << 16,
            most_tracks: 20_000,
        }
    }
}

/// Follows connections.
pub struct Tracker {
    options: TrackerOptions,
    table: ConnectionTable,
    closed: Vec<Track>,
    recorder: Option<Box<dyn PacketRecorder>>,
    doubles: DoubleTable,
    spare: SpareStore,
    connections: u64,
    duplicates: u64,
    missed: u64,
    forgotten: u64,
    /// Latest time.
    now: Time,
    /// Records that are not in the order of time.
    order: RecordOrder,
    /// What is added to the records' times since the clock was set back.
    shift: Span,
    /// What is taken off, since it was set ahead.
    ahead: Span,
    /// Records earlier than one before them, and clocks set back; the most by which.
    backward: u64,
    most_back: Span,
    /// How many times it jumped ahead, and the most by which.
    forward: u64,
    most_forward: Span,
    /// A silence that is not yet judged.
    standstill: Option<Box<Standstill>>,
    /// When idle connections were closed last, and when silent ones gave back memory.
    swept: Time,
    rested: Time,
    packets: u64,
    limits: TrackLimits,
    /// A bit for each connection that had a packet since the last [`Tracker::keep_house`], by the end of its number.
    seen: [u64; (SLOTS / u64::BITS) as usize],
    /// There were more than [`FEW`] before it.
    many: bool,
    /// Bytes of bins and logs of open connections.
    held: usize,
    /// Of tracks closed.
    kept: usize,
}

/// What passed through a tracker as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections.
    pub connections: u64,
    /// Payload bytes acknowledged that the capture never saw, of those closed.
    pub missed_bytes: u64,
    /// Records that stood in the capture twice, of those closed.
    pub duplicate_records: u64,
    /// Tracks forgotten because there were more than [`TrackerOptions::most_tracks`].
    pub forgotten_tracks: u64,
    /// TCP packets whose time was earlier than that of one before, and times that the capture's clock was set back.
    pub backward_times: u64,
    /// The most by which one was, or it was.
    pub most_backward: Span,
    /// Times that the capture's clock jumped ahead; what it jumped over does not count.
    pub forward_jumps: u64,
    /// The longest jump.
    pub most_forward: Span,
}

impl Tracker {
    /// No connection yet.
    pub fn new(options: TrackerOptions) -> Tracker {
        Tracker {
            options,
            table: ConnectionTable::new(),
            closed: Vec::new(),
            recorder: None,
            doubles: DoubleTable::new(),
            spare: SpareStore::default(),
            connections: 0,
            duplicates: 0,
            missed: 0,
            forgotten: 0,
            now: Time::ZERO,
            order: RecordOrder::new(),
            shift: Span::ZERO,
            ahead: Span::ZERO,
            backward: 0,
            most_back: Span::ZERO,
            forward: 0,
            most_forward: Span::ZERO,
            standstill: None,
            swept: Time::ZERO,
            rested: Time::ZERO,
            packets: 0,
            limits: TrackLimits { bins: MOST_BINS, packets: MOST_LOGGED },
            seen: Default::default(),
            many: cfg!(fuzzing),
            held: 0,
            kept: 0,
        }
    }

    /// A row for each packet goes there from now on.
    pub fn set_recorder(&mut self, recorder: Box<dyn PacketRecorder>) {
        self.recorder = Some(recorder);
    }

    /// ICMP said something of a TCP packet.
    pub fn report(&mut self, report: &IcmpReport) {
        self.take_rest();
        let (key, side) = table::key(report.from, report.to);
        let slot = self.table.find(&key);
        if let Some(connection) = slot.and_then(|slot| self.table.get(slot)) {
            connection.report(side, report);
        }
    }

    /// All that a batch holds.
    pub fn batch(&mut self, batch: &Batch) {
        batch.in_order().for_each(|next| match next {
            BatchPart::Packets(packets) => self.packets(packets),
            BatchPart::Report(report) => self.report(report),
        });
    }

    /// Packets, as [`Tracker::packet`] takes them one by one, but faster where connections are many: most of the
    /// time would go into waiting for the memory of one connection after the other.
    pub fn packets(&mut self, packets: &[TcpPacket]) {
        for group in packets.chunks(AHEAD) {
            if self.many {
                self.fetch(group);
            }
            let signs = self.doubles.signs::<AHEAD>(group);
            group.iter().zip(signs).for_each(|(p, sign)| self.packet_signed(p, sign, PacketBeyond::Unasked));
        }
    }

    /// Reads a little of all that the connections of these packets have in memory: reads that do not hang on each
    /// other the processor does at the same time.
    fn fetch(&self, group: &[TcpPacket]) {
        let mut ahead = [None; AHEAD];
        for (connection, p) in ahead.iter_mut().zip(group) {
            *connection = self.table.peek(&table::key(p.src, p.dst).0);
        }
        let mut last = u32::MAX;
        for connection in &mut ahead {
            let number = connection.map_or(u32::MAX, |c: &TrackedConnection| c.number);
            if std::mem::replace(&mut last, number) == number {
                *connection = None;
            }
        }
        let connections = || ahead.iter().flatten();
        let sum = connections().fold(0, |sum, c| sum ^ c.fetch());
        let sum = connections().flat_map(|c| c.directions()).fold(sum, |sum, d| sum ^ d.fetch());
        let sum = connections().flat_map(|c| c.directions()).fold(sum, |sum, d| sum ^ d.fetch_lists());
        std::hint::black_box(sum);
    }

    /// A packet. Those of a capture should come in the order of time; a few that do not are put in their places.
    #[inline]
    pub fn packet(&mut self, p: &TcpPacket) {
        self.packet_known(p, PacketBeyond::Unasked);
    }

    /// The same, with what a capture at the other end says of it.
    pub fn packet_known(&mut self, p: &TcpPacket, beyond: PacketBeyond) {
        self.packet_signed(p, sign(p), beyond);
    }

    #[inline]
    fn packet_signed(&mut self, p: &TcpPacket, sign: u64, beyond: PacketBeyond) {
        if !self.order.passes(p.time + self.shift) {
            return self.put_in_order((*p, sign, beyond));
        }
        self.in_order(p, sign, beyond);
    }

    /// Takes a packet that may not be in the order of time, and those that are due.
    #[cold]
    fn put_in_order(&mut self, packet: HeldPacket) {
        match self.order.push(packet.0.time + self.shift, packet) {
            RecordTime::Latest => {}
            RecordTime::Early(by) => {
                self.backward += 1;
                self.most_back = self.most_back.max(by);
            }
            RecordTime::SetBack => return self.set_back(),
        }
        while let Some((p, sign, beyond)) = self.order.pop() {
            self.in_order(&p, sign, beyond);
        }
    }

    /// Takes all that is held back because of its order.
    fn take_rest(&mut self) {
        for (p, sign, beyond) in self.order.finish() {
            self.in_order(&p, sign, beyond);
        }
    }

    /// The clock was set back: time goes on from where it was.
    #[cold]
    fn set_back(&mut self) {
        let run = self.order.take_run();
        let Some((first, ..)) = run.first().copied() else { return };
        self.take_rest();
        self.judge_standstill(None);
        let back = self.order.latest().since(first.time + self.shift);
        self.most_back = self.most_back.max(back);
        // All but the last of them were counted as early.
        self.backward = self.backward + 2 - run.len() as u64;
        let goes_on = self.goes_on_at(&first) + self.ahead;
        self.shift += goes_on.since(first.time + self.shift);
        self.forget_times();
        for (p, sign, beyond) in run {
            self.packet_signed(&p, sign, beyond);
        }
    }

    /// When the packet passed that came first after the clock was set: by its sender's clock, or else at once.
    fn goes_on_at(&mut self, p: &TcpPacket) -> Time {
        let (key, side) = table::key(p.src, p.dst);
        let known = self.table.find(&key).and_then(|slot| self.table.get(slot));
        let by_sender = known.and_then(|c| c.time_by_sender(side, p));
        by_sender.filter(|at| (self.now..=self.now + STEP).contains(at)).unwrap_or(self.now)
    }

    /// The clock was set: no time before that is held against one after it.
    fn forget_times(&mut self) {
        let now = self.now;
        self.table.each(|c| c.forget_times(now));
    }

    #[inline]
    fn in_order(&mut self, p: &TcpPacket, sign: u64, beyond: PacketBeyond) {
        if self.standstill.is_some() {
            return self.hold_back((*p, sign, beyond));
        }
        if self.packets > 0 && self.at(p) > self.now + STEP && self.watch_silence(p) {
            return self.hold_back((*p, sign, beyond));
        }
        self.take(p, sign, beyond);
    }

    /// The time of a packet, its clock's steps apart.
    #[inline]
    fn at(&self, p: &TcpPacket) -> Time {
        (p.time + self.shift) - self.ahead
    }

    #[inline]
    fn take(&mut self, p: &TcpPacket, sign: u64, beyond: PacketBeyond) {
        let now = self.clock(p.time);
        self.packets += 1;
        if self.packets.is_multiple_of(4096) {
            self.keep_house(now);
        }
        let (key, side) = table::key(p.src, p.dst);
        let slot = match self.table.find(&key) {
            Some(slot) => match self.table.get(slot) {
                Some(c) if c.is_reopened_by(side, p, now) => {
                    self.close(slot);
                    self.open(key, side, p, now)
                }
                _ => slot,
            },
            None => self.open(key, side, p, now),
        };
        let Some(connection) = self.table.get(slot) else { return };
        let row = connection.packet(
            side,
            (p, sign),
            now,
            (self.limits, &mut self.doubles),
            beyond,
            self.recorder.is_some(),
        );
        let held = connection.bytes();
        self.held = self.held + held - std::mem::replace(&mut connection.held, held);
        let bit = connection.number % SLOTS;
        self.seen[(bit / u64::BITS) as usize] |= 1 << (bit % u64::BITS);
        if p.flags.0 & (TcpFlags::FIN.0 | TcpFlags::RST.0) != 0 && connection.is_over() {
            self.rest_one(slot);
        }
        if let (Some(recorder), Some(row)) = (&mut self.recorder, row) {
            recorder.row(&row);
        }
    }

    /// A connection is over: memory that it will not need again the next one gets.
    #[cold]
    fn rest_one(&mut self, slot: usize) {
        let Some(connection) = self.table.get(slot) else { return };
        self.held -= connection.held;
        connection.rest(&mut self.spare);
        self.held += connection.held;
    }

    /// Times never go back.
    #[inline]
    fn clock(&mut self, time: Time) -> Time {
        self.now = self.now.max((time + self.shift) - self.ahead).min(LATEST);
        self.now
    }

    /// The capture was silent. If it was so for longer than a connection may be, its clock was set ahead, and time goes on from where
    /// it was. Returns whether what comes next decides: the packet's sender says by its own clock that less time has passed, or data was
    /// on its way and nothing says that it had to be sent again.
    #[cold]
    fn watch_silence(&mut self, p: &TcpPacket) -> bool {
        let silence = self.at(p).since(self.now);
        if silence > LONGEST_SILENCE {
            self.step_ahead(silence);
            return false;
        }
        let decides = match self.judge_silence(p, silence) {
            SilenceJudgement::Less => true,
            SilenceJudgement::Passed => false,
            SilenceJudgement::Unknown => self.is_on_its_way(p),
        };
        if decides {
            self.standstill = Some(Box::new(Standstill::new(silence, self.at(p))));
        }
        decides
    }

    /// Whether data of the packet's connection is on its way, and the packet does not bring it again.
    fn is_on_its_way(&mut self, p: &TcpPacket) -> bool {
        let (key, side) = table::key(p.src, p.dst);
        let known = self.table.find(&key).and_then(|slot| self.table.get(slot));
        known.is_some_and(|c| c.is_on_its_way(side, p))
    }

    fn judge_silence(&mut self, p: &TcpPacket, silence: Span) -> SilenceJudgement {
        let now = self.at(p);
        let (key, side) = table::key(p.src, p.dst);
        let known = self.table.find(&key).and_then(|slot| self.table.get(slot));
        known.map_or(SilenceJudgement::Unknown, |c| c.judge_silence(side, p, now, silence))
    }

    /// The capture's clock was set ahead by so much.
    fn step_ahead(&mut self, by: Span) {
        self.ahead += by;
        self.forward += 1;
        self.most_forward = self.most_forward.max(by);
    }

    /// A packet behind a silence that is not yet judged.
    #[cold]
    fn hold_back(&mut self, packet: HeldPacket) {
        let now = self.at(&packet.0);
        // Another silence: what has been seen must do.
        if self.standstill.as_ref().is_some_and(|s| now > s.last() + STEP) {
            self.judge_standstill(None);
            return self.in_order(&packet.0, packet.1, packet.2);
        }
        let Some(silence) = self.standstill.as_ref().map(|s| s.silence) else { return };
        let judgement = self.judge_silence(&packet.0, silence);
        let judged = self.standstill.as_mut().and_then(|s| s.hold(packet, now, judgement));
        if judged.is_some() {
            self.judge_standstill(judged);
        }
    }

    /// Takes the packets that were held back, now that the silence before them is judged, or has to be.
    #[cold]
    fn judge_standstill(&mut self, judged: Option<Silence>) {
        let Some(standstill) = self.standstill.take() else { return };
        let first = standstill.held.first().map(|held| held.0);
        if let Some(first) = first
            && judged.unwrap_or_else(|| standstill.so_far()) == Silence::ClockStep
        {
            let passed = self.goes_on_at(&first).since(self.now);
            self.step_ahead(standstill.silence.saturating_sub(passed));
            self.forget_times();
        }
        standstill.held.iter().for_each(|(p, sign, beyond)| self.take(p, *sign, *beyond));
    }

    #[cold]
    fn open(&mut self, key: [Endpoint; 2], side: usize, p: &TcpPacket, now: Time) -> usize {
        if self.table.len() >= self.options.most_open {
            self.make_room();
        }
        let number = self.connections as u32;
        self.connections += 1;
        let mut connection = TrackedConnection::new(number, key, side, p, now);
        connection.spare = self.spare.take();
        self.table.insert(key, connection)
    }

    /// Closes what is over, idle, or too much.
    #[cold]
    fn keep_house(&mut self, now: Time) {
        let seen = std::mem::take(&mut self.seen);
        self.many = seen.iter().map(|bits| bits.count_ones()).sum::<u32>() > FEW;
        let idle = self.options.idle;
        if now.since(self.swept) >= (idle / 8).min(LINGER) {
            self.swept = now;
            self.sweep(|c| {
                let silent = now.since(c.last);
                silent > idle || c.is_over() && silent > LINGER
            });
        }
        if now.since(self.rested) >= REST {
            self.rested = now;
            self.rest(now);
        }
        self.save();
    }

    /// Has silent connections give back what memory they have in reserve.
    fn rest(&mut self, now: Time) {
        let mut less = 0;
        self.table.each(|c| {
            if now.since(c.last) > REST {
                less += c.held;
                c.rest(&mut self.spare);
                less -= c.held;
            }
        });
        self.held -= less;
    }

    fn sweep(&mut self, over: impl Fn(&TrackedConnection) -> bool) {
        for slot in self.table.slots_where(over) {
            self.close(slot);
        }
    }

    #[cold]
    fn make_room(&mut self) {
        let mut lasts = Vec::with_capacity(self.table.len());
        self.table.each(|c| lasts.push(c.last));
        let quarter = lasts.len() / 4;
        if quarter < lasts.len() {
            let (_, &mut until, _) = lasts.select_nth_unstable(quarter);
            self.sweep(|c| c.last <= until);
        }
    }

    /// Halves what each connection may keep until all fit.
    fn save(&mut self) {
        while self.held + self.kept > self.options.budget && self.limits.bins > 32 {
            self.limits = TrackLimits { bins: self.limits.bins / 2, packets: self.limits.packets / 2 };
            let limits = self.limits;
            let mut held = 0;
            self.table.each(|c| {
                c.limit(limits);
                c.held = c.bytes();
                held += c.held;
            });
            self.held = held;
            self.closed.iter_mut().for_each(|track| limit(track, limits));
            self.kept = self.closed.iter().map(bytes).sum();
        }
    }

    fn close(&mut self, slot: usize) {
        let Some(connection) = self.table.remove(slot) else { return };
        self.duplicates += connection.duplicates();
        self.held -= connection.held;
        let before = self.closed.len();
        connection.finish(&mut self.closed);
        // Most memory is that of tracks: no more than they need.
        for track in &mut self.closed[before..] {
            track.bins.shrink_to(8);
            track.log.shrink_to(8);
            track.waits.shrink_to(8);
        }
        self.missed += self.closed[before..].iter().map(|t| t.counts.missed_bytes).sum::<u64>();
        self.kept += self.closed[before..].iter().map(bytes).sum::<usize>();
        let most = self.options.most_tracks;
        if self.closed.len() > most.saturating_add(most / 4) {
            self.forget();
        }
    }

    /// Keeps the tracks with most payload.
    fn forget(&mut self) {
        let most = self.options.most_tracks;
        if self.closed.len() > most {
            let rank = |t: &Track| (std::cmp::Reverse(t.counts.payload_bytes), t.connection, t.opened);
            self.closed.select_nth_unstable_by_key(most, rank);
            self.forgotten += (self.closed.len() - most) as u64;
            self.closed.truncate(most);
            self.kept = self.closed.iter().map(bytes).sum();
        }
    }

    /// Moves the tracks of connections that are over to `out`.
    pub fn drain(&mut self, out: &mut Vec<Track>) {
        out.append(&mut self.closed);
        self.kept = 0;
    }

    /// Ends all connections: the rest of the tracks, and the totals.
    pub fn finish(mut self, out: &mut Vec<Track>) -> Totals {
        self.take_rest();
        self.judge_standstill(None);
        self.sweep(|_| true);
        self.save();
        self.forget();
        out.append(&mut self.closed);
        Totals {
            connections: self.connections,
            missed_bytes: self.missed,
            duplicate_records: self.duplicates,
            forgotten_tracks: self.forgotten,
            backward_times: self.backward,
            most_backward: self.most_back,
            forward_jumps: self.forward,
            most_forward: self.most_forward,
        }
    }
}

/// Shortens what a closed track keeps.
fn limit(track: &mut Track, limits: TrackLimits) {
    let bins = std::mem::take(&mut track.bins);
    let mut bins = Bins::of(track.first, track.bin, bins);
    bins.limit(limits.bins);
    (track.bin, track.bins) = (bins.width(), bins.into_list());
    let mut log = PacketLog::of(std::mem::take(&mut track.log), track.merged);
    log.limit(limits.packets);
    (track.log, track.merged) = log.into_packets();
}

/// Bytes of what grows with a track.
fn bytes(track: &Track) -> usize {
    track.bins.capacity() * size_of::<Bin>() + track.log.capacity() * size_of::<LoggedPacket>()
}
