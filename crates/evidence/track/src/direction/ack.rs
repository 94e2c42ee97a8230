//! Processing of ACKs, for the direction whose data they acknowledge.

use super::Direction;
use super::state::AckSamples;
use crate::scoreboard::SentSegment;
use crate::sender_side::AckState;
use crate::sequence::{MAX_JUMP, unwrap};
use crate::{PackedBytes, PackedSpan, WaitReason};
use capture::{TcpFlags, TcpPacket};
use std::num::{NonZeroU32, NonZeroU64};
use units::{Span, Time};

/// How long a receiver delays an ACK: at least 40 ms (Linux, `TCP_DELACK_MIN`; others 50 to 200 ms) minus a
/// tick of 4 ms, and less than 500 ms (RFC 1122 section 4.2.3.2).
const DELAYED_FROM: Span = Span::from_millis(36);
const DELAYED_UNTIL: Span = Span::from_millis(500);

/// Resolution of most captures: no RTT is shorter.
const MIN_RTT: Span = Span::from_micros(1);

impl Direction {
    /// Processes a packet of the receiver. Returns the RTT of the data that it acknowledges.
    #[inline(never)]
    pub fn ack(&mut self, p: &TcpPacket, now: Time) -> Option<Span> {
        let ack = unwrap(self.stream.una, p.ack);
        // Belongs to another stream.
        if ack > self.stream.nxt + MAX_JUMP {
            return None;
        }
        if NonZeroU64::new(ack) == self.window.probe_end {
            self.take_probe(ack, now);
        }
        let ack = self.without_fin(ack);
        let outstanding = self.outstanding();
        let pure = p.len == 0 && p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0) == 0;
        self.acks.bare |= pure;
        self.acks.stamped = p.options.timestamps.is_some();
        let mut samples = AckSamples::default();
        let advances = ack > self.stream.una;
        self.acks.delayed = pure && advances && self.is_delayed(ack, now);
        if advances {
            self.advance(ack, p, now, &mut samples);
        }
        if p.options.sacks > 0 {
            self.sack(ack, p, now, &mut samples);
        }
        let duplicate = pure && ack == self.stream.una && !advances && outstanding;
        // Before the first window is known, assume the largest.
        let same_window = p.window == self.window.field.unwrap_or(u16::MAX);
        if duplicate && (same_window || p.options.sacks > 0) {
            self.counts.dup_acks += 1;
            self.acks.duplicates += 1;
            self.acks.beyond += 1;
        }
        // An end that closes announces a window of zero because nothing will be read any more, not because
        // the reader is slow.
        let closes = p.window == 0 && p.flags.has(TcpFlags::FIN);
        if ack >= self.stream.una && !closes {
            self.take_window(ack, p, now);
        }
        let c = &mut self.counts;
        c.ece += p.flags.has(TcpFlags::ECE) as u64;
        c.acks += (pure || advances) as u64;
        c.options_cut += (pure && p.options.cut) as u64;
        self.side.acked(AckState::new(now, self.stream.una, self.scoreboard.sacked, self.window.end, pure));
        if let Some((tsval, _)) = p.options.timestamps {
            self.side.note_ack(now, tsval);
        }
        let few = samples.acked < 2 * u64::from(self.sizes.bytes_or_one());
        let rtt = self.sample(now, &samples, pure && few);
        self.count_ack(now, &samples, rtt, pure || advances);
        if advances && !self.outstanding() {
            self.begin_idle(now);
        }
        self.settle(now);
        rtt
    }

    /// Returns whether the receiver delayed this ACK: everything that can have arrived before it was sent is
    /// less than the two full segments that are acknowledged immediately (RFC 5681 section 4.2), and its
    /// extra delay, beyond the path's, is as long as a delayed-ACK timer. Such an ACK overstates the path's
    /// delay.
    #[inline]
    fn is_delayed(&self, ack: u64, now: Time) -> bool {
        let few = ack - self.stream.una < 2 * u64::from(self.sizes.bytes_or_one());
        few && ack <= self.stream.nxt && self.is_late_ack(ack, now)
    }

    /// Returns whether the ACK is late by as much as a delayed-ACK timer takes.
    fn is_late_ack(&self, ack: u64, now: Time) -> bool {
        let behind = self.scoreboard.find(ack);
        let last = behind.checked_sub(1).and_then(|i| self.scoreboard.list.get(i)).filter(|s| s.sent == 1);
        let Some(waited) = last.map(|last| now.since(last.time)).filter(|wait| *wait >= DELAYED_FROM) else {
            return false;
        };
        let path = [self.rtt.least_down, self.handshake.down].into_iter().flatten().min();
        path.is_some_and(|path| {
            let arrived = |next: &SentSegment| next.time + path <= now;
            (DELAYED_FROM..DELAYED_UNTIL).contains(&waited.saturating_sub(path))
                && !self.scoreboard.list.get(behind).is_some_and(arrived)
        })
    }

    /// Notes that the receiver accepted the byte of a window probe.
    #[cold]
    fn take_probe(&mut self, ack: u64, now: Time) {
        self.window.probe_end = None;
        if ack == self.stream.nxt + 1 && self.stream.una == self.stream.nxt {
            (self.stream.una, self.stream.nxt) = (ack, ack);
            self.counts.unique_bytes += 1;
            self.counts.acked_bytes += 1;
            self.bins.at(now).acked += 1;
        }
    }

    /// Subtracts a FIN, which takes a sequence number but is not a byte of the stream.
    #[inline]
    fn without_fin(&self, ack: u64) -> u64 {
        let stream = &self.stream;
        let seen = stream.fin.is_some_and(|fin| ack == fin + 1);
        let unseen = ack == stream.nxt + 1 && self.scoreboard.list.is_empty() && stream.una == stream.nxt;
        if seen || unseen { ack - 1 } else { ack }
    }

    /// Advances the cumulative acknowledgement to `ack`.
    #[inline]
    fn advance(&mut self, ack: u64, p: &TcpPacket, now: Time, samples: &mut AckSamples) {
        self.take_acked(ack, p, now, samples);
        let stream = &mut self.stream;
        if ack > stream.nxt {
            let missed = ack - stream.nxt.max(stream.una);
            self.counts.missed_bytes += missed;
            self.counts.acked_bytes += missed;
            stream.nxt = ack;
        }
        stream.una = ack;
        self.acks.duplicates = 0;
        if stream.una >= stream.nxt {
            self.acks.beyond = 0;
        }
        self.recovery.progress = Some(now);
    }

    /// Removes segments below `ack` from the scoreboard.
    #[inline]
    fn take_acked(&mut self, ack: u64, p: &TcpPacket, now: Time, samples: &mut AckSamples) {
        let mut spurious = false;
        let mut front = true;
        // Without SACK, missing data is acknowledged as soon as it arrives, together with the data behind it
        // (RFC 5681 section 4.2). If there was none behind it, the ACK may have waited for a second packet.
        let two = 2 * self.sizes.mss.unwrap_or(0) as u64;
        let behind = self.is_without_sack() && (self.acks.beyond > 0 || ack - self.stream.una > two);
        let mut filled = false;
        let mut resent = false;
        let mut proven = None;
        while let Some(s) = self.scoreboard.list.front_mut().filter(|s| s.seq < ack) {
            let end = s.end();
            let len = (end.min(ack) - s.seq) as u32;
            let mut part = *s;
            if end > ack {
                s.seq = ack;
                s.len -= len;
            } else {
                self.scoreboard.list.pop_front();
            }
            if part.sacked {
                self.scoreboard.sacked -= len;
                front = false;
                continue;
            }
            if part.sent > 1 {
                resent = true;
                // The ACK echoes this very transmission (RFC 7323 section 4).
                let echoes = |(_, echo)| NonZeroU32::new(echo) == part.tsval;
                if front && p.options.timestamps.is_some_and(echoes) {
                    proven = Some((part.time, part.up));
                }
                spurious = self.was_spurious(&part, p, now, front || spurious) || behind && filled && !front;
                filled |= front && !spurious;
                self.arrived_again(&part, len, spurious);
            }
            if !front {
                self.acks.beyond = self.acks.beyond.saturating_sub(self.sizes.segments(len));
            }
            front = false;
            // Data that waited at the receiver for a retransmission gives no RTT, nor does anything before it
            // (`tcp_clean_rtx_queue`: FLAG_RETRANS_DATA_ACKED).
            part.sent = if resent { part.sent.max(2) } else { part.sent };
            part.len = len;
            self.arrived(&part, now, samples);
        }
        if resent {
            (samples.oldest, samples.newest) = (proven, None);
        }
    }

    /// Notes that a segment has arrived: an ACK or a SACK block covers it.
    #[inline]
    fn arrived(&mut self, s: &SentSegment, now: Time, samples: &mut AckSamples) {
        let mut rtt = PackedSpan::UNKNOWN;
        if s.is_unseen() {
            self.counts.missed_bytes += s.len as u64;
        } else if s.sent == 1 && s.time >= self.rtt.from {
            // Karn's algorithm (RFC 6298 section 3): of data sent twice it is unknown which transmission
            // arrived.
            if samples.oldest.is_none_or(|(time, _)| s.time < time) {
                samples.oldest = Some((s.time, s.up));
            }
            samples.newest = samples.newest.max(Some(s.time));
            if !self.acks.delayed && self.knows_rtt(s.up) {
                rtt = PackedSpan::known((now.since(s.time) + s.up.or_zero()).max(MIN_RTT));
            }
        }
        if !s.is_unseen() {
            self.sizes.largest_acked = self.sizes.largest_acked.max(Some(s.len));
            self.stuck.arrived(s);
        }
        samples.acked += s.len as u64;
        self.counts.acked_bytes += s.len as u64;
        self.log.passed(s.entry, s.len, rtt);
    }

    /// Notes that `len` bytes of retransmitted data have arrived. `spurious`: the receiver already had them.
    pub(super) fn arrived_again(&mut self, part: &SentSegment, len: u32, spurious: bool) {
        let Some(first) = part.first_entry() else {
            if spurious {
                self.mark_spurious(part.seq, part.seq + len as u64, false);
            }
            return;
        };
        if spurious {
            let segments = self.sizes.segments(len);
            self.counts.spurious += segments as u64;
            self.log.found(first, len, segments);
        }
        self.log.passed(first, len, PackedSpan::UNKNOWN);
    }

    /// Returns whether the receiver sends no SACK, so that only cumulative ACKs show what arrived. If the
    /// snap length cut off options this is unknown; nearly all receivers send SACK.
    #[inline]
    pub(super) fn is_without_sack(&self) -> bool {
        self.counts.sacks == 0 && !self.handshake.sack && self.counts.options_cut == 0
    }

    /// Returns whether a retransmitted segment had arrived the first time. `first`: the ACK echoes the packet
    /// that carried this segment, or an earlier one.
    fn was_spurious(&self, s: &SentSegment, p: &TcpPacket, now: Time, first: bool) -> bool {
        // RFC 3522: the ACK of the first byte echoes the packet that carried it.
        if let Some((_, echo)) = p.options.timestamps
            && let Some(tsval) = s.tsval
            && first
            && (echo.wrapping_sub(tsval.get()) as i32) < 0
        {
            return true;
        }
        self.is_too_soon(s, now)
    }

    /// Returns whether the ACK of a retransmitted segment came sooner than the path permits.
    fn is_too_soon(&self, s: &SentSegment, now: Time) -> bool {
        self.rtt.least_down.is_some_and(|least| now.since(s.time) < least / 8 * 7)
    }

    /// Marks retransmissions between `seq` and `end` as spurious, reported by a D-SACK or inferred from an
    /// ACK.
    fn mark_spurious(&mut self, seq: u64, end: u64, by_dsack: bool) {
        let (log, counts, mss) = (&mut self.log, &mut self.counts, self.sizes.bytes_or_one());
        self.retransmissions.mark_spurious(seq, end, by_dsack, |entry, bytes| {
            let segments = bytes.div_ceil(mss);
            counts.spurious += segments as u64;
            log.found(entry, bytes, segments);
        });
    }

    /// Processes SACK blocks (RFC 2018, RFC 2883).
    fn sack(&mut self, ack: u64, p: &TcpPacket, now: Time, samples: &mut AckSamples) {
        self.counts.sacks += 1;
        let mut blocks = [(0, 0); 4];
        let mut known = 0;
        let una = self.stream.una;
        let unwrapped = |&(from, to): &(u32, u32)| (unwrap(una, from), unwrap(una, to));
        for (i, block) in p.options.sack_blocks().iter().enumerate() {
            let (from, to) = unwrapped(block);
            if from >= to || to > self.stream.nxt + MAX_JUMP {
                continue;
            }
            let within = p.options.sack_blocks().get(1).map(unwrapped);
            let within = within.is_some_and(|(a, b)| a <= from && to <= b && (a, b) != (from, to));
            if i == 0 && (to <= ack || within) {
                self.counts.dsacks += 1;
                self.mark_spurious(from, to, true);
                continue;
            }
            blocks[known] = (from, to);
            known += 1;
            self.mark_sacked(from.max(una), to, now, samples);
        }
        self.acks.blocks = blocks;
    }

    /// Marks the data between `from` and `to` as SACKed, except what the previous ACK already covered.
    fn mark_sacked(&mut self, mut from: u64, mut to: u64, now: Time, samples: &mut AckSamples) {
        for &(a, b) in &self.acks.blocks {
            if a <= from && from < b {
                from = b;
            }
            if a < to && to <= b {
                to = a;
            }
        }
        if from >= to {
            return;
        }
        let mut i = self.scoreboard.find(from);
        i += self.scoreboard.split(i, from) as usize;
        while let Some(s) = self.scoreboard.list.get(i).copied().filter(|s| s.seq < to) {
            self.scoreboard.split(i, to);
            let part = self.scoreboard.list[i];
            i += 1;
            if s.sacked {
                continue;
            }
            self.scoreboard.list[i - 1].sacked = true;
            self.scoreboard.sacked += part.len;
            if part.sent > 1 {
                self.arrived_again(&part, part.len, self.is_too_soon(&part, now));
            }
            self.arrived(&part, now, samples);
        }
    }

    /// Updates the receive window from an ACK.
    #[inline]
    fn take_window(&mut self, ack: u64, p: &TcpPacket, now: Time) {
        let syn = p.flags.has(TcpFlags::SYN);
        let zero = p.window == 0 && !syn && !p.flags.has(TcpFlags::RST);
        match (zero, self.window.zero_since) {
            (true, None) => {
                self.counts.zero_windows += 1;
                self.zero_windows.add(p.number);
                self.window.zero_since = Some(now);
            }
            (false, Some(from)) => {
                self.window.zero_since = None;
                self.waited(from, now, WaitReason::ZeroWindow);
            }
            _ => {}
        }
        self.window.field = Some(p.window);
        // RFC 7323 section 2.2: a SYN's window is not scaled.
        let scale = if syn { 0 } else { self.window.scale.unwrap_or(0) };
        let end = ack + ((p.window as u64) << scale);
        let least = self.stream.nxt + self.window.least_room(self.sizes.mss.unwrap_or(0));
        if end >= least && self.window.end.is_some_and(|before| before.get() < least) {
            self.window.opened = Some(now);
        }
        self.window.end = NonZeroU64::new(end);
        if self.window.scale.is_some() {
            let bytes = ((p.window as u64) << scale).min(u32::MAX.into()) as u32;
            self.window.greatest = self.window.greatest.max(bytes);
        }
    }

    /// The receive window announced last, bytes; `None` where its scale is not known.
    #[inline]
    pub fn announced(&self) -> Option<u32> {
        self.window.bytes()
    }

    /// Adds an RTT sample and returns it.
    #[inline]
    fn sample(&mut self, now: Time, samples: &AckSamples, may_be_delayed: bool) -> Option<Span> {
        let (sent, up) = samples.oldest?;
        let down = now.since(sent).max(MIN_RTT);
        self.rtt.prompt |= !may_be_delayed || down < DELAYED_FROM || down >= DELAYED_UNTIL;
        let total = down + up.or_zero();
        self.rtt.last_down = Some(down);
        self.rtt.down.record(down);
        self.rtt.estimate.sample(total);
        let known = self.knows_rtt(up);
        if known {
            self.rtt.total.record(total);
        }
        let least = samples.newest.map_or(down, |sent| now.since(sent));
        self.rtt.least_down = Some(self.rtt.least_down.map_or(least, |known| known.min(least)));
        known.then_some(total)
    }

    /// Returns whether `up`, the part of an RTT between sender and capture, is known or never will be. If the
    /// ACKs have timestamps, the sender's next data shows it.
    #[inline]
    fn knows_rtt(&self, up: PackedSpan) -> bool {
        up.is_known() || !self.acks.stamped
    }

    /// Records the queueing delay of the current ACK.
    #[inline]
    pub fn ack_delayed(&mut self, now: Time, delay: PackedSpan) {
        if delay.is_known() {
            let bin = self.bins.at(now);
            bin.ack_delay = bin.ack_delay.least(delay);
        }
    }

    #[inline]
    fn count_ack(&mut self, now: Time, samples: &AckSamples, rtt: Option<Span>, counted: bool) {
        let window = PackedBytes::from(self.announced());
        let delayed = self.acks.delayed;
        let bin = self.bins.at(now);
        bin.acks += counted as u32;
        bin.acked = bin.acked.saturating_add(samples.acked.min(u32::MAX as u64) as u32);
        bin.window = bin.window.least(window);
        // Data before the last segment that the ACK covers waited at the receiver for that segment (RFC 5681
        // section 4.2).
        let newest =
            samples.newest.zip(samples.oldest).map(|(newest, (_, up))| now.since(newest) + up.or_zero());
        if let Some(rtt) = rtt.filter(|_| !delayed) {
            bin.rtts.record(newest.map_or(rtt, |newest| newest.clamp(MIN_RTT, rtt)));
        }
    }
}
