//! The log of packets and their fates.
//!
//! A packet is entered when it passes; what became of it is known later. Entries wait in `pending`, in the order of
//! time, until their fate and all earlier ones are known. A loss that only a retransmission tells of waits longer: a
//! D-SACK may show that the packet had arrived.

use crate::between::PacketBeyond;
use crate::bins::moved_out;
use crate::{LoggedPacket, PackedSpan, PacketFate};
use std::collections::VecDeque;
use units::{Span, Time};

/// The most packets logged of a direction while memory suffices.
pub const MOST_LOGGED: usize = 65_536;
/// The most entries that wait; the oldest is settled as it stands when one more comes.
const MOST_PENDING: usize = 32_768;
/// Packets are merged within this at first.
const FIRST_MERGED: Span = Span::from_micros(20);
/// How many packets back one of the same fate is looked for.
const BACK: usize = 6;

/// A packet whose fate may be open. Bytes are payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogEntry {
    /// When it passed.
    pub time: Time,
    /// Not settled before this time.
    pub hold: Time,
    pub bytes: u32,
    /// Of `bytes`, those whose fate is open.
    pub open: u32,
    /// Of `bytes`, those lost.
    pub lost: u32,
    /// RTT of those that arrived.
    pub rtt: PackedSpan,
    pub segments: u16,
    /// Of `segments`, those lost.
    pub lost_segments: u16,
    /// One-way delay to the capture above the least.
    pub delay: PackedSpan,
    /// [`TcpPacket::number`](capture::TcpPacket::number); of one not seen, that of the packet which shows that it is missing.
    pub number: u32,
    /// Bytes of headers of each segment.
    pub header: u16,
    /// It had been sent before.
    pub again: bool,
    /// The capture did not see it: the sequence jumped over it.
    pub unseen: bool,
    /// A capture at the other end was asked: the RTT is not told, or what stands for it is known ([`LogEntry::judged`]).
    pub asked: bool,
    /// The other capture says what was lost of it: nothing seen here changes that.
    pub known: bool,
}

impl LogEntry {
    /// With what is known of it elsewhere. Where a capture at the other end says so, the RTT of its log is the queueing on the way,
    /// until the connection ends ([`crate::both_ends`]).
    #[inline]
    pub fn judged(self, beyond: PacketBeyond) -> LogEntry {
        match beyond {
            PacketBeyond::Unasked | PacketBeyond::Came(_) => self,
            known => self.judged_elsewhere(known),
        }
    }

    #[cold]
    fn judged_elsewhere(self, beyond: PacketBeyond) -> LogEntry {
        match beyond {
            PacketBeyond::Unasked | PacketBeyond::Came(_) => self,
            PacketBeyond::Unknown => LogEntry { asked: true, ..self },
            PacketBeyond::Sent { late, lost } => LogEntry { asked: true, rtt: late, ..self.with_lost(lost) },
            PacketBeyond::Told { lost } => self.with_lost(lost),
        }
    }

    fn with_lost(self, lost: u32) -> LogEntry {
        let whole = u64::from(self.bytes.max(1));
        // All segments but the last are of one size.
        let share = (u64::from(lost) * u64::from(self.segments) + whole / 2) / whole;
        let lost_segments = share.max(u64::from(lost > 0)) as u16;
        LogEntry { known: true, lost, lost_segments, ..self }
    }
}

/// What was lost, as it becomes final.
#[derive(Clone, Copy, Debug)]
pub struct SettledLoss {
    pub time: Time,
    pub segments: u16,
    /// Between sender and capture, else behind the capture.
    pub up: bool,
}

/// Of one direction.
#[derive(Debug)]
pub struct PacketLog {
    done: Vec<LoggedPacket>,
    pending: VecDeque<LogEntry>,
    /// Number of the first of `pending`; numbers wrap around.
    base: u32,
    /// Packets within this time of each other were merged.
    merged: Span,
    most: usize,
}

/// Memory of a log's lists, which are empty.
#[derive(Debug, Default)]
pub struct SpareLog {
    done: Vec<LoggedPacket>,
    pending: VecDeque<LogEntry>,
}

impl SpareLog {
    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.done.capacity() * size_of::<LoggedPacket>() + self.pending.capacity() * size_of::<LogEntry>()
    }
}

impl PacketLog {
    pub fn new(most: usize) -> PacketLog {
        PacketLog::within(SpareLog::default(), most)
    }

    /// One without packets, in memory that another had.
    pub fn within(SpareLog { done, pending }: SpareLog, most: usize) -> PacketLog {
        PacketLog { done, pending, base: 0, merged: Span::ZERO, most }
    }

    /// Moves to memory of just its size; returns that which it had.
    pub fn hand_over(&mut self) -> SpareLog {
        SpareLog {
            done: moved_out(&mut self.done),
            pending: match self.pending.is_empty() {
                true => std::mem::take(&mut self.pending),
                false => VecDeque::new(),
            },
        }
    }

    /// That of a track.
    pub fn of(done: Vec<LoggedPacket>, merged: Span) -> PacketLog {
        PacketLog { done, merged, ..PacketLog::new(usize::MAX) }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.done.capacity() * size_of::<LoggedPacket>() + self.pending.capacity() * size_of::<LogEntry>()
    }

    /// How many entries wait.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Reads a little of what is read and written next.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let ends = [self.pending.front(), self.pending.back()];
        let done = self.done.last().map_or(0, |s| s.bytes as u64);
        ends.iter().flatten().fold(done, |sum, e| sum ^ e.time.as_nanos())
    }

    /// Enters a packet; returns its number. Where too many wait, the oldest is settled: call [`PacketLog::settle`].
    #[inline]
    pub fn push(&mut self, entry: LogEntry) -> u32 {
        let number = self.base.wrapping_add(self.pending.len() as u32);
        self.pending.push_back(entry);
        number
    }

    #[inline]
    fn get(&mut self, number: u32) -> Option<&mut LogEntry> {
        self.pending.get_mut(number.wrapping_sub(self.base) as usize)
    }

    /// `bytes` of the packet arrived, with this RTT.
    #[inline]
    pub fn passed(&mut self, number: u32, bytes: u32, rtt: PackedSpan) {
        if let Some(e) = self.get(number) {
            e.open = e.open.saturating_sub(bytes);
            if rtt.is_known() && !e.asked {
                e.rtt = rtt;
            }
        }
    }

    /// `bytes` of it were lost, as it seems; held until `hold`.
    pub fn lost(&mut self, number: u32, bytes: u32, segments: u32, hold: Time) {
        self.suspect(number, bytes, segments);
        if let Some(e) = self.get(number) {
            e.open = e.open.saturating_sub(bytes);
            e.hold = e.hold.max(hold);
        }
    }

    /// `bytes` of it were sent again, but may have arrived the first time: their fate stays open.
    pub fn suspect(&mut self, number: u32, bytes: u32, segments: u32) {
        if let Some(e) = self.get(number).filter(|e| !e.known) {
            e.lost = e.lost.saturating_add(bytes).min(e.bytes);
            e.lost_segments = (e.lost_segments as u32 + segments).min(u16::MAX as u32) as u16;
        }
    }

    /// `bytes` of it have an open fate from now on.
    pub fn reopen(&mut self, number: u32, bytes: u32) {
        if let Some(e) = self.get(number) {
            e.open = bytes;
        }
    }

    /// `bytes` of it that were thought lost had arrived.
    pub fn found(&mut self, number: u32, bytes: u32, segments: u32) {
        if let Some(e) = self.get(number).filter(|e| !e.known) {
            e.lost = e.lost.saturating_sub(bytes);
            e.lost_segments = (e.lost_segments as u32).saturating_sub(segments) as u16;
        }
    }

    /// `bytes` are no part of it: another entry stands for them.
    pub fn removed(&mut self, number: u32, bytes: u32, segments: u32) {
        if let Some(e) = self.get(number) {
            e.open = e.open.saturating_sub(bytes);
            e.bytes = e.bytes.saturating_sub(bytes);
            e.segments = (e.segments as u32).saturating_sub(segments) as u16;
        }
    }

    /// Moves what is decided from `pending` to `done`; tells of losses. Mostly nothing is.
    #[inline(always)]
    pub fn settle(&mut self, now: Time, lose: impl FnMut(SettledLoss)) {
        if self.is_front_decided(now) {
            self.settle_decided(now, lose);
        }
    }

    #[inline(always)]
    fn is_front_decided(&self, now: Time) -> bool {
        let decided = |e: &LogEntry| e.open == 0 && e.hold <= now || self.pending.len() > MOST_PENDING;
        self.pending.front().is_some_and(decided)
    }

    #[inline(never)]
    fn settle_decided(&mut self, now: Time, mut lose: impl FnMut(SettledLoss)) {
        while self.is_front_decided(now) {
            self.settle_front(&mut lose);
        }
    }

    /// Settles all, the open ones as arrived.
    pub fn finish(&mut self, mut lose: impl FnMut(SettledLoss)) {
        while !self.pending.is_empty() {
            self.settle_front(&mut lose);
        }
    }

    /// The packets, and the time within which they were merged.
    pub fn into_packets(self) -> (Vec<LoggedPacket>, Span) {
        (self.done, self.merged)
    }

    #[inline]
    fn settle_front(&mut self, lose: &mut impl FnMut(SettledLoss)) {
        let Some(e) = self.pending.pop_front() else { return };
        self.base = self.base.wrapping_add(1);
        let logged = |bytes: u32, segments: u16, rtt, fate| LoggedPacket {
            time: e.time,
            bytes: bytes.saturating_add((segments as u32).saturating_mul(e.header as u32)),
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

    #[inline]
    fn add(&mut self, packet: LoggedPacket) {
        if !self.merged.is_zero() && merge_back(&mut self.done, &packet, self.merged) {
            return;
        }
        self.done.push(packet);
        if self.done.len() > self.most {
            self.merge();
        }
    }

    /// Merges until there is room again.
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

    /// Gives back what its lists have in reserve.
    pub fn rest(&mut self) {
        self.done.shrink_to_fit();
        self.pending.shrink_to_fit();
    }

    /// Keeps `most` packets at most from now on.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
        if self.done.len() > most {
            self.merge();
            self.done.shrink_to_fit();
        }
    }
}

/// Adds `s` to one of the last packets if it is alike and within `merged`. Those in between of another fate
/// do not matter: else a flow that loses every second packet could not be shortened.
#[inline]
fn merge_back(packets: &mut [LoggedPacket], s: &LoggedPacket, merged: Span) -> bool {
    let from = packets.len().saturating_sub(BACK);
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
        return true;
    }
    false
}
