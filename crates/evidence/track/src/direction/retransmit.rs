//! Data that was seen or expected before: whether it is a retransmission or merely late, and why it was
//! retransmitted.

use super::{Direction, timestamp};
use crate::log::LogEntry;
use crate::retransmissions::Retransmission;
use crate::rtt::{RTO_INITIAL, RTO_MIN};
use crate::scoreboard::SentSegment;
use crate::{PackedSpan, PacketKind, WaitReason};
use capture::TcpPacket;
use std::num::NonZeroU32;
use units::{Span, Time};

/// Without an RTT, data that arrives later than this is a retransmission, not reordered.
const REORDERED_WITHIN: Span = Span::from_millis(3);

/// The packet with old data that is being processed.
struct OldPacket {
    /// The packet is late because of reordering; otherwise it is a retransmission.
    late: bool,
    /// Log number of the packet.
    entry: u32,
    time: Time,
    up: PackedSpan,
    tsval: Option<NonZeroU32>,
    id: u16,
    /// A loss that it indicates is not final before this time.
    hold: Time,
}

impl Direction {
    /// Processes data of which part was seen, or missing, before.
    #[cold]
    pub(super) fn old_data(
        &mut self,
        p: &TcpPacket,
        seq: u64,
        now: Time,
        (gap, segments): (Span, u32),
    ) -> (PacketKind, Option<WaitReason>) {
        let end = seq + p.len as u64;
        let old_end = end.min(self.stream.nxt);
        let mut i = self.scoreboard.find(seq);
        i += self.scoreboard.split(i, seq) as usize;
        let first = self.scoreboard.list.get(i).copied();
        let late = first.is_some_and(|s| s.is_unseen() && s.seq < old_end && self.is_late(&s, p, now));
        let (kind, timer) = match late {
            true => (PacketKind::Reordered, None),
            false => self.kind_of_retransmission(seq, old_end, now, gap, first),
        };
        if !late {
            self.watch_segment_size(p, (old_end, first), (kind, timer.is_some()), now);
            self.stuck.note_retransmission(p, first);
        }
        let entry = LogEntry { again: !late, open: 0, ..self.log_entry(p, now, segments) };
        let old = OldPacket {
            late,
            entry: self.log.push_with_fate(entry, self.fate),
            time: now,
            up: self.side.rtt(),
            tsval: timestamp(p),
            id: p.id,
            hold: now + self.rtt.estimate.or_zero().min(RTO_INITIAL) * 2 + RTO_MIN / 2,
        };
        let (mut opened, mut stale) = self.retransmit_segments(i, old_end, &old);
        if !late {
            stale += old_end.min(self.stream.una).saturating_sub(seq) as u32;
            self.count_retransmission((old_end - seq) as u32, kind, stale);
        }
        if end > self.stream.nxt {
            let len = (end - self.stream.nxt) as u32;
            self.extend(p, len, now, old.entry);
            self.counts.unique_bytes += len as u64;
            opened += len;
        }
        self.log.reopen(old.entry, opened);
        (kind, timer)
    }

    /// Processes the segments from index `i` up to `end` that the packet carries again. Returns how many of
    /// its bytes have an open fate, and how many the receiver was known to have.
    fn retransmit_segments(&mut self, mut i: usize, end: u64, old: &OldPacket) -> (u32, u32) {
        let (mut opened, mut stale) = (0, 0);
        while let Some(s) = self.scoreboard.list.get(i).copied().filter(|s| s.seq < end) {
            self.scoreboard.split(i, end);
            let s = self.scoreboard.list.get(i).copied().unwrap_or(s);
            i += 1;
            if s.sacked {
                stale += s.len;
                continue;
            }
            let first = self.open_fate(&s, old);
            if s.is_unseen() {
                self.counts.unique_bytes += s.len as u64;
            }
            opened += s.len;
            let sent = if s.is_unseen() && old.late { 1 } else { s.sent.saturating_add(1).max(2) };
            let OldPacket { time, up, entry, tsval, id, .. } = *old;
            self.scoreboard.list[i - 1] = SentSegment { time, up, entry, tsval, id, sent, first, ..s };
        }
        (opened, stale)
    }

    /// Updates the fate of the previous transmission of `s`. Returns how many log entries back its first
    /// transmission is, if the fate of that is open.
    fn open_fate(&mut self, s: &SentSegment, old: &OldPacket) -> Option<NonZeroU32> {
        let segments = self.sizes.segments(s.len);
        let back = old.entry.wrapping_sub(s.entry);
        let first = s.first.and_then(|first| NonZeroU32::new(first.get().wrapping_add(back)));
        if s.is_unseen() && old.late {
            self.log.removed(s.entry, s.len, segments);
            self.counts.reordered += segments as u64;
            self.counts.reordered_by = self.counts.reordered_by.max(old.time.since(s.time));
            return first;
        }
        // Lost more than once while smaller packets passed: possibly too big for the path.
        let large = self.sizes.largest_acked.is_some_and(|largest| s.len > largest)
            && self.sizes.mss.is_some_and(|mss| s.len <= mss);
        self.counts.too_big += (s.sent >= 2 && large) as u64;
        let first = if s.sent == 1 && self.is_without_sack() {
            self.log.note_suspected(s.entry, s.len, segments);
            NonZeroU32::new(back)
        } else {
            let hold = if s.is_unseen() { Time::ZERO } else { old.hold };
            self.log.lost(s.entry, s.len, segments, hold);
            first
        };
        if first.is_none() && !s.is_unseen() {
            let (seq, end, entry) = (s.seq, s.end(), s.entry);
            self.retransmissions.push(Retransmission { seq, end, entry, needless: false, by_dsack: false });
        }
        first
    }

    fn count_retransmission(&mut self, bytes: u32, kind: PacketKind, stale: u32) {
        let segments = self.sizes.segments(bytes) as u64;
        let counts = &mut self.counts;
        counts.retransmitted_packets += segments;
        counts.retransmitted_bytes += bytes as u64;
        *match kind {
            PacketKind::Timeout => &mut counts.rto,
            PacketKind::Probe => &mut counts.tlp,
            _ => &mut counts.fast,
        } += segments;
        if stale > 0 {
            counts.spurious += self.sizes.segments(stale) as u64;
        }
    }

    /// Returns whether a packet that carries the `unseen` segment is merely late, not a retransmission.
    fn is_late(&self, unseen: &SentSegment, p: &TcpPacket, now: Time) -> bool {
        if let Some((tsval, _)) = p.options.timestamps {
            // Sent before the packet that overtook it: late. Sent after it: retransmitted.
            match tsval.wrapping_sub(unseen.tsval.map_or(0, NonZeroU32::get)) as i32 {
                i32::MIN..0 => return true,
                1..=i32::MAX => return false,
                0 => {}
            }
        }
        let waited = now.since(unseen.time);
        match self.rtt.estimate.smoothed() {
            // The sender notices a loss after a round trip at the earliest.
            Some(rtt) => waited < REORDERED_WITHIN.max(rtt / 2) && waited < rtt / 10 * 9,
            None if p.id != 0 && unseen.id != 0 => (p.id.wrapping_sub(unseen.id) as i16) < 0,
            None => waited < REORDERED_WITHIN,
        }
    }

    /// Determines why the sender retransmitted the bytes from `seq` to `end`, `gap` after the previous data.
    fn kind_of_retransmission(
        &mut self,
        seq: u64,
        end: u64,
        now: Time,
        gap: Span,
        first: Option<SentSegment>,
    ) -> (PacketKind, Option<WaitReason>) {
        let una = self.stream.una;
        let (srtt, timeout) = (self.rtt.estimate.or_zero(), self.rtt.estimate.timeout());
        let since = self.recovery.progress.max(Some(self.times.first.unwrap_or(now)));
        let stalled = since.map_or(Span::ZERO, |since| now.since(since));
        let indicated = self.scoreboard.sacked > 0 || self.acks.duplicates >= 3 || self.recovery.is_fast(una);
        let after_timeout = self.recovery.is_after_timeout(una);
        let waited = gap >= timeout / 2 && stalled.max(gap) >= timeout / 10 * 9;
        // RFC 8985 section 7: a probe repeats the last segment once.
        let may_probe = end == self.stream.nxt
            && !indicated
            && !after_timeout
            && self.handshake.sack
            && self.recovery.probed.is_none_or(|probed| probed < una)
            && first.is_some_and(|s| s.sent <= 1);
        if may_probe && gap >= srtt + srtt / 2 {
            self.recovery.probed = Some(una);
            return (PacketKind::Probe, Some(WaitReason::Probe));
        }
        if seq <= una && (waited || !indicated && gap >= RTO_MIN.max(srtt * 2) / 10 * 9) {
            self.counts.timeouts += 1;
            self.recovery.timeout_until = Some(self.stream.nxt);
            self.recovery.fast_until = None;
            return (PacketKind::Timeout, Some(WaitReason::Timeout));
        }
        if after_timeout {
            return (PacketKind::Timeout, None);
        }
        self.recovery.fast_until = Some(self.stream.nxt);
        (PacketKind::Fast, None)
    }
}
