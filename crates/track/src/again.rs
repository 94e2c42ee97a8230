//! Data that was there before, or should have been: sent again, and why, or only late.

use crate::board::SentSegment;
use crate::direction::{Direction, RTO_INITIAL, RTO_MIN, unwrap};
use crate::log::LogEntry;
use crate::resent::Retransmission;
use crate::{PacketKind, WaitReason};
use capture::TcpPacket;
use units::Span;

/// Reordering is not later than this where the RTT does not tell, nanoseconds.
const LATE: u64 = 3_000_000;

impl Direction {
    /// Whether this very packet, by its IP identification and timestamp, passed after the time `since`.
    #[inline]
    pub fn was_sent(&self, p: &TcpPacket, since: u64) -> bool {
        let seq = unwrap(self.nxt, p.seq);
        if seq >= self.nxt {
            return false;
        }
        let tsval = p.options.timestamps.map_or(0, |t| t.0);
        let before = self.board.list.get(self.board.find(seq));
        before.is_some_and(|s| {
            s.seq == seq && !s.is_hole() && s.id == p.id && s.tsval == tsval && s.time > since
        })
    }

    /// Data of which part was there before, or should have been.
    #[cold]
    pub(super) fn again(
        &mut self,
        p: &TcpPacket,
        seq: u64,
        now: u64,
        gap: u64,
        entry: LogEntry,
    ) -> (PacketKind, Option<WaitReason>) {
        let old_end = (seq + p.len as u64).min(self.nxt);
        let mut i = self.board.find(seq);
        i += self.board.cut(i, seq) as usize;
        let first = self.board.list.get(i).copied();
        let late = first.is_some_and(|s| s.is_hole() && s.seq < old_end && self.is_late(&s, p, now));
        let (kind, timer) = if late {
            (PacketKind::Reordered, None)
        } else {
            self.kind_of_retransmission(seq, old_end, now, gap, first)
        };
        let number = self.log.push(LogEntry { again: !late, ..entry });
        let tsval = p.options.timestamps.map_or(0, |t| t.0);
        let up = (self.up.rtt() / 1000).min(u32::MAX as u64) as u32;
        let hold = now.saturating_add(2 * self.rtt.rtt.min(RTO_INITIAL)).saturating_add(RTO_MIN / 2);
        // Bytes of it whose fate is open; those that the receiver was known to have.
        let (mut opened, mut stale) = (0, 0);
        while let Some(s) = self.board.list.get(i).copied().filter(|s| s.seq < old_end) {
            self.board.cut(i, old_end);
            let s = self.board.list.get(i).copied().unwrap_or(s);
            let segments = self.segments(s.len);
            let mut first = if s.first > 0 { s.first.wrapping_add(number.wrapping_sub(s.entry)) } else { 0 };
            i += 1;
            if s.sacked {
                stale += s.len;
                continue;
            }
            if s.is_hole() && late {
                self.log.removed(s.entry, s.len, segments);
                self.counts.reordered += segments as u64;
                let by = Span::from_nanos(now - s.time.min(now));
                self.counts.reordered_by = self.counts.reordered_by.max(by);
            } else {
                // A packet lost time and again while smaller ones passed.
                let large = s.len <= self.mss && s.len > self.largest_acked && self.largest_acked > 0;
                self.counts.too_big += (s.times >= 2 && large) as u64;
                if s.times == 1 && self.is_blind() {
                    self.log.suspect(s.entry, s.len, segments);
                    first = number.wrapping_sub(s.entry);
                } else {
                    self.log.lost(s.entry, s.len, segments, if s.is_hole() { 0 } else { hold });
                }
                if first == 0 && !s.is_hole() {
                    self.resent.push(Retransmission {
                        seq: s.seq,
                        end: s.end(),
                        entry: s.entry,
                        needless: false,
                        told: false,
                    });
                }
            }
            if s.is_hole() {
                self.counts.unique_bytes += s.len as u64;
            }
            opened += s.len;
            let times = if s.is_hole() && late { 1 } else { s.times.saturating_add(1).max(2) };
            let seen = SentSegment { time: now, up, entry: number, tsval, id: p.id, times, first, ..s };
            self.board.list[i - 1] = seen;
        }
        let old = (old_end - seq) as u32;
        if !late {
            let segments = self.segments(old) as u64;
            self.counts.retransmitted_packets += segments;
            self.counts.retransmitted_bytes += old as u64;
            let count = match kind {
                PacketKind::Timeout => &mut self.counts.rto,
                PacketKind::Probe => &mut self.counts.tlp,
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
    fn is_late(&self, hole: &SentSegment, p: &TcpPacket, now: u64) -> bool {
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
        first: Option<SentSegment>,
    ) -> (PacketKind, Option<WaitReason>) {
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
            return (PacketKind::Probe, Some(WaitReason::Probe));
        }
        if front && (waited || !indicated && gap >= RTO_MIN.max(2 * srtt) / 10 * 9) {
            self.counts.timeouts += 1;
            self.loss = self.nxt;
            self.recover = 0;
            return (PacketKind::Timeout, Some(WaitReason::Timeout));
        }
        if in_loss {
            return (PacketKind::Timeout, None);
        }
        self.recover = self.nxt;
        (PacketKind::Fast, None)
    }
}
