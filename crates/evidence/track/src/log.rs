//! The log of packets and their fates.
//!
//! A packet is logged when it passes, but its fate is known only later. Entries wait in `pending`, in order
//! of time, until their fate and that of all earlier ones is known. A loss that only a retransmission
//! indicates waits longer, because a D-SACK may show that the packet had arrived.

use crate::between::ExternalFate;
use crate::bins::{grow, move_to_exact_size};
use crate::{LoggedPacket, PackedSpan, PacketFate};
use std::collections::VecDeque;
use units::{Span, Time};

/// Maximum number of packets logged for a direction while memory suffices.
pub const MAX_LOGGED: usize = 65_536;
/// Maximum number of pending entries. Beyond it, the oldest is settled as it stands.
const MAX_PENDING: usize = 32_768;
/// Packets closer together than this are merged first.
const FIRST_MERGED: Span = Span::from_micros(20);
/// How many packets back to look for one of the same fate to merge with.
const MERGE_LOOKBACK: usize = 6;

/// A packet whose fate may be open. Bytes are payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogEntry {
    pub time: Time,
    /// Not settled before this time.
    pub hold: Time,
    pub bytes: u32,
    /// Part of `bytes` whose fate is open.
    pub open: u32,
    /// Part of `bytes` that was lost.
    pub lost: u32,
    /// RTT of the bytes that arrived.
    pub rtt: PackedSpan,
    pub segments: u16,
    /// Number of segments that were lost; part of `segments`.
    pub lost_segments: u16,
    /// One-way delay to the capture above the minimum.
    pub delay: PackedSpan,
    /// [`TcpPacket::number`](capture::TcpPacket::number); for a packet that was not seen, that of the packet
    /// which shows that it is missing.
    pub number: u32,
    /// Header bytes of each segment.
    pub header: u16,
    /// Retransmission.
    pub again: bool,
    /// The capture did not see the packet: the sequence numbers skipped it.
    pub unseen: bool,
    /// A capture at the other end was consulted, so that capture alone determines the RTT
    /// ([`LogEntry::apply_external_fate`]).
    pub rtt_is_external: bool,
    /// The external fate states what was lost; nothing in this capture changes that.
    pub known: bool,
}

impl LogEntry {
    /// Applies what another source knows of the packet. If that is a capture at the other end, the log's RTTs
    /// are queueing delays until the connection ends ([`crate::both_ends`]).
    #[cold]
    fn apply_external_fate(&mut self, fate: ExternalFate) {
        match fate {
            ExternalFate::Absent | ExternalFate::Arrived(_) => {}
            ExternalFate::Unknown => self.rtt_is_external = true,
            ExternalFate::Sent { late, lost } => {
                (self.rtt_is_external, self.rtt) = (true, late);
                self.set_lost(lost);
            }
            ExternalFate::Logged { lost } => self.set_lost(lost),
        }
    }

    fn set_lost(&mut self, lost: u32) {
        let whole = u64::from(self.bytes.max(1));
        // All segments but the last have the same size.
        let share = (u64::from(lost) * u64::from(self.segments) + whole / 2) / whole;
        (self.known, self.lost) = (true, lost);
        self.lost_segments = share.max(u64::from(lost > 0)) as u16;
    }
}

/// A loss, when it becomes final.
#[derive(Clone, Copy, Debug)]
pub struct SettledLoss {
    pub time: Time,
    pub segments: u16,
    /// Lost between sender and capture, otherwise between capture and receiver.
    pub up: bool,
}

/// The log of one direction.
#[derive(Debug)]
pub struct PacketLog {
    done: Vec<LoggedPacket>,
    pending: VecDeque<LogEntry>,
    /// Number of the first pending entry; numbers wrap around.
    base: u32,
    /// Packets closer together than this were merged; zero: none.
    merged: Span,
    most: usize,
}

/// Empty lists of a log, kept for their memory.
#[derive(Debug, Default)]
pub struct PooledLog {
    done: Vec<LoggedPacket>,
    pending: VecDeque<LogEntry>,
}

impl PooledLog {
    /// Bytes of memory allocated.
    pub fn bytes(&self) -> usize {
        self.done.capacity() * size_of::<LoggedPacket>() + self.pending.capacity() * size_of::<LogEntry>()
    }
}

impl PacketLog {
    pub fn new(most: usize) -> PacketLog {
        PacketLog::reusing(PooledLog::default(), most)
    }

    /// Returns an empty log that reuses the memory of another.
    pub fn reusing(PooledLog { done, pending }: PooledLog, most: usize) -> PacketLog {
        PacketLog { done, pending, base: 0, merged: Span::ZERO, most }
    }

    /// Moves the lists to memory of their exact size and returns the old memory.
    pub fn take_memory(&mut self) -> PooledLog {
        PooledLog {
            done: move_to_exact_size(&mut self.done),
            pending: match self.pending.is_empty() {
                true => std::mem::take(&mut self.pending),
                false => VecDeque::new(),
            },
        }
    }

    /// Returns the log of a finished track, to be merged further.
    pub fn of(done: Vec<LoggedPacket>, merged: Span) -> PacketLog {
        PacketLog { done, merged, ..PacketLog::new(usize::MAX) }
    }

    /// Bytes of memory allocated.
    pub fn bytes(&self) -> usize {
        self.done.capacity() * size_of::<LoggedPacket>() + self.pending.capacity() * size_of::<LogEntry>()
    }

    /// Number of pending entries.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Prefetches what is read and written next; returns a value that depends on it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let ends = [self.pending.front(), self.pending.back()];
        let done = self.done.last().map_or(0, |s| s.bytes as u64);
        ends.iter().flatten().fold(done, |sum, e| sum ^ e.time.as_nanos())
    }

    /// Adds a packet and returns its number. Call [`PacketLog::settle`] afterwards.
    #[inline]
    pub fn push(&mut self, entry: LogEntry) -> u32 {
        let number = self.base.wrapping_add(self.pending.len() as u32);
        self.pending.push_back(entry);
        number
    }

    /// Adds a packet, as [`PacketLog::push`] does, of whose fate another source may know.
    ///
    /// The entry is changed in the list: one on the stack would be written in parts and read back as a whole,
    /// for which the processor has to wait until everything before is in the cache.
    #[inline]
    pub fn push_with_fate(&mut self, entry: LogEntry, fate: ExternalFate) -> u32 {
        let number = self.push(entry);
        if fate != ExternalFate::Absent
            && let Some(e) = self.pending.back_mut()
        {
            e.apply_external_fate(fate);
        }
        number
    }

    #[inline]
    fn get(&mut self, number: u32) -> Option<&mut LogEntry> {
        self.pending.get_mut(number.wrapping_sub(self.base) as usize)
    }

    /// Notes that `bytes` of the packet arrived, with this RTT.
    #[inline]
    pub fn passed(&mut self, number: u32, bytes: u32, rtt: PackedSpan) {
        if let Some(e) = self.get(number) {
            e.open = e.open.saturating_sub(bytes);
            if rtt.is_known() && !e.rtt_is_external {
                e.rtt = rtt;
            }
        }
    }

    /// Notes that `bytes` of the packet seem to be lost. The entry is not settled before `hold`.
    pub fn lost(&mut self, number: u32, bytes: u32, segments: u32, hold: Time) {
        self.note_suspected(number, bytes, segments);
        if let Some(e) = self.get(number) {
            e.open = e.open.saturating_sub(bytes);
            e.hold = e.hold.max(hold);
        }
    }

    /// Notes that `bytes` of the packet were retransmitted but may have arrived the first time: their fate
    /// stays open.
    pub fn note_suspected(&mut self, number: u32, bytes: u32, segments: u32) {
        if let Some(e) = self.get(number).filter(|e| !e.known) {
            e.lost = e.lost.saturating_add(bytes).min(e.bytes);
            e.lost_segments = (e.lost_segments as u32 + segments).min(u16::MAX as u32) as u16;
        }
    }

    /// Opens the fate of `bytes` of the packet again.
    pub fn reopen(&mut self, number: u32, bytes: u32) {
        if let Some(e) = self.get(number) {
            e.open = bytes;
        }
    }

    /// Notes that `bytes` of the packet that were presumed lost had arrived.
    pub fn found(&mut self, number: u32, bytes: u32, segments: u32) {
        if let Some(e) = self.get(number).filter(|e| !e.known) {
            e.lost = e.lost.saturating_sub(bytes);
            e.lost_segments = (e.lost_segments as u32).saturating_sub(segments) as u16;
        }
    }

    /// Takes `bytes` off the entry, because another entry counts them.
    pub fn removed(&mut self, number: u32, bytes: u32, segments: u32) {
        if let Some(e) = self.get(number) {
            e.open = e.open.saturating_sub(bytes);
            e.bytes = e.bytes.saturating_sub(bytes);
            e.segments = (e.segments as u32).saturating_sub(segments) as u16;
        }
    }

    /// Moves entries whose fate is known from `pending` to `done` and reports their losses.
    #[inline(always)]
    pub fn settle(&mut self, now: Time, lose: impl FnMut(SettledLoss)) {
        if self.is_front_decided(now) {
            self.settle_decided(now, lose);
        }
    }

    #[inline(always)]
    fn is_front_decided(&self, now: Time) -> bool {
        let decided = |e: &LogEntry| e.open == 0 && e.hold <= now || self.pending.len() > MAX_PENDING;
        self.pending.front().is_some_and(decided)
    }

    #[inline(never)]
    fn settle_decided(&mut self, now: Time, mut lose: impl FnMut(SettledLoss)) {
        while self.is_front_decided(now) {
            self.settle_front(&mut lose);
        }
    }

    /// Settles all entries; open ones count as arrived.
    pub fn finish(&mut self, mut lose: impl FnMut(SettledLoss)) {
        while !self.pending.is_empty() {
            self.settle_front(&mut lose);
        }
    }

    /// Returns the packets, and the time within which they were merged.
    pub fn into_packets(self) -> (Vec<LoggedPacket>, Span) {
        (self.done, self.merged)
    }

    #[inline(always)]
    fn settle_front(&mut self, lose: &mut impl FnMut(SettledLoss)) {
        let Some(e) = self.pending.pop_front() else { return };
        self.base = self.base.wrapping_add(1);
        let logged = |payload: u32, segments: u16, rtt, fate| LoggedPacket {
            time: e.time,
            bytes: payload.saturating_add((segments as u32).saturating_mul(e.header as u32)),
            payload,
            rtt,
            segments,
            again: e.again,
            delay: e.delay,
            fate,
            number: e.number,
        };
        if e.bytes > e.lost {
            let segments = e.segments.saturating_sub(e.lost_segments).max(1);
            self.add(logged(e.bytes - e.lost, segments, e.rtt, PacketFate::Passed));
        }
        if e.lost > 0 {
            let segments = e.lost_segments.max(1);
            let fate = if e.unseen { PacketFate::LostUp } else { PacketFate::LostDown };
            self.add(logged(e.lost, segments, PackedSpan::UNKNOWN, fate));
            lose(SettledLoss { time: e.time, segments, up: e.unseen });
        }
    }

    /// Adds a packet. It is written straight to the list and merged from there, because a copy from the stack
    /// would have to wait for its parts.
    #[inline(always)]
    fn add(&mut self, packet: LoggedPacket) {
        grow(&mut self.done, self.most.saturating_add(1));
        self.done.push(packet);
        if !self.merged.is_zero() || self.done.len() > self.most {
            self.merge_last();
        }
    }

    /// Merges the last packet with one before it.
    #[inline(never)]
    fn merge_last(&mut self) {
        if !self.merged.is_zero()
            && let Some((last, before)) = self.done.split_last_mut()
            && merge_back(before, last, self.merged)
        {
            self.done.pop();
        } else if self.done.len() > self.most {
            self.merge();
        }
    }

    /// Merges packets until a quarter of the list is free.
    #[cold]
    fn merge(&mut self) {
        while self.done.len() > self.most / 4 * 3 {
            self.merged = if self.merged.is_zero() { FIRST_MERGED } else { self.merged * 2 };
            let mut kept = 0;
            for i in 0..self.done.len() {
                let s = self.done[i];
                let (before, _) = self.done.split_at_mut(kept);
                if !merge_back(before, &s, self.merged) {
                    self.done[kept] = s;
                    kept += 1;
                }
            }
            self.done.truncate(kept);
            if self.merged == Span::MAX {
                break;
            }
        }
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.done.shrink_to_fit();
        self.pending.shrink_to_fit();
    }

    /// Limits the log to `most` packets from now on.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
        if self.done.len() > most {
            self.merge();
        }
        self.done.shrink_to(most);
    }
}

/// Merges `s` into one of the last packets of the same fate within `merged`. Packets of other fates in
/// between do not matter; otherwise the log of a flow that loses every second packet could not be shortened.
#[inline]
fn merge_back(packets: &mut [LoggedPacket], s: &LoggedPacket, merged: Span) -> bool {
    let from = packets.len().saturating_sub(MERGE_LOOKBACK);
    for last in packets[from..].iter_mut().rev() {
        if s.time.since(last.time) > merged {
            return false;
        }
        if last.fate != s.fate || last.again != s.again {
            continue;
        }
        let (Some(bytes), Some(segments)) =
            (last.bytes.checked_add(s.bytes), last.segments.checked_add(s.segments))
        else {
            return false;
        };
        last.rtt = match (last.rtt.get(), s.rtt.get()) {
            (None, _) => s.rtt,
            (_, None) => last.rtt,
            (Some(a), Some(b)) => {
                let sum = a.as_micros() * last.segments as u64 + b.as_micros() * s.segments as u64;
                PackedSpan::known(Span::from_micros(sum / segments as u64))
            }
        };
        (last.bytes, last.segments) = (bytes, segments);
        last.payload = last.payload.saturating_add(s.payload);
        return true;
    }
    false
}
