//! What an ACK tells of the direction whose data it acknowledges.

use super::Direction;
use super::state::AckSamples;
use crate::sender_side::AckState;
use crate::sent_board::SentSegment;
use crate::sequence::{MAX_JUMP, unwrap};
use crate::{PackedBytes, PackedSpan, WaitReason};
use capture::{TcpFlags, TcpPacket};
use std::num::{NonZeroU32, NonZeroU64};
use units::{Span, Time};

/// How long a receiver delays an ACK: 40 ms at least (Linux, `TCP_DELACK_MIN`; others 50 to 200 ms) less a tick of 4 ms, and
/// less than 500 ms (RFC 1122 section 4.2.3.2).
const DELAYED_FROM: Span = Span::from_millis(36);
const DELAYED_UNTIL: Span = Span::from_millis(500);

/// Most captures count microseconds: no RTT is shorter.
const LEAST_RTT: Span = Span::from_micros(1);

impl Direction {
    /// A packet of the receiver passes. Returns the RTT of what it acknowledges.
    #[inline]
    pub fn ack(&mut self, p: &TcpPacket, now: Time) -> Option<Span> {
        let ack = unwrap(self.stream.una, p.ack);
        // Of another stream.
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
        // Before the first window was seen, it is taken for the largest.
        let same_window = p.window == self.window.field.unwrap_or(u16::MAX);
        if duplicate && (same_window || p.options.sacks > 0) {
            self.counts.dup_acks += 1;
            self.acks.duplicates += 1;
            self.acks.beyond += 1;
        }
        // Who closes announces a window of zero because nobody will read any more, not because the reader is slow.
        let closes = p.window == 0 && p.flags.has(TcpFlags::FIN);
        if ack >= self.stream.una && !closes {
            self.take_window(ack, p, now);
        }
        let c = &mut self.counts;
        c.ece += p.flags.has(TcpFlags::ECE) as u64;
        c.acks += (pure || advances) as u64;
        c.options_cut += (pure && p.options.cut) as u64;
        self.side.acked(AckState::new(now, self.stream.una, self.board.sacked, self.window.end, pure));
        if let Some((tsval, _)) = p.options.timestamps {
            self.side.mark(now, tsval);
        }
        let few = samples.acked < 2 * u64::from(self.sizes.or_one());
        let rtt = self.sample(now, &samples, pure && few);
        self.count_ack(now, &samples, rtt, pure || advances);
        if advances && !self.outstanding() {
            self.begin_idle(now);
        }
        self.settle(now);
        rtt
    }

    /// Whether the receiver held this ACK back: it covers all that can have arrived before it left, which is less than the two
    /// full segments that are acknowledged at once (RFC 5681 section 4.2), and comes later than the path makes it by as much as
    /// a timer of delayed ACKs takes. What such an ACK says of the path's delay is too much.
    #[inline]
    fn is_delayed(&self, ack: u64, now: Time) -> bool {
        let few = ack - self.stream.una < 2 * u64::from(self.sizes.or_one());
        few && ack <= self.stream.nxt && self.is_late_ack(ack, now)
    }

    /// Whether it comes so late.
    fn is_late_ack(&self, ack: u64, now: Time) -> bool {
        let path = [self.rtt.least_down, self.handshake.down].into_iter().flatten().min();
        let Some(path) = path else { return false };
        let behind = self.board.find(ack);
        let arrived = |next: &SentSegment| next.time + path <= now;
        let last = behind.checked_sub(1).and_then(|i| self.board.list.get(i)).filter(|s| s.sent == 1);
        let held = last.map(|last| now.since(last.time).saturating_sub(path));
        held.is_some_and(|held| (DELAYED_FROM..DELAYED_UNTIL).contains(&held))
            && !self.board.list.get(behind).is_some_and(arrived)
    }

    /// The receiver took the byte that asked for its window.
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

    /// A FIN takes a sequence number, but is no byte of the stream.
    #[inline]
    fn without_fin(&self, ack: u64) -> u64 {
        let stream = &self.stream;
        let seen = stream.fin.is_some_and(|fin| ack == fin + 1);
        let unseen = ack == stream.nxt + 1 && self.board.list.is_empty() && stream.una == stream.nxt;
        if seen || unseen { ack - 1 } else { ack }
    }

    /// Everything below `ack` has arrived.
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

    /// Takes what is below `ack` off the board.
    #[inline]
    fn take_acked(&mut self, ack: u64, p: &TcpPacket, now: Time, samples: &mut AckSamples) {
        let mut needless = false;
        let mut front = true;
        // Without SACK: what was missing is acknowledged as soon as it comes, and with it what lay behind it (RFC 5681
        // section 4.2). Where nothing did, an ACK may have waited for the second packet.
        let two = 2 * self.sizes.mss.unwrap_or(0) as u64;
        let behind = self.is_without_sack() && (self.acks.beyond > 0 || ack - self.stream.una > two);
        let mut filled = false;
        let mut resent = false;
        let mut proven = None;
        while let Some(s) = self.board.list.front_mut().filter(|s| s.seq < ack) {
            let end = s.end();
            let len = (end.min(ack) - s.seq) as u32;
            let mut part = *s;
            if end > ack {
                s.seq = ack;
                s.len -= len;
            } else {
                self.board.list.pop_front();
            }
            if part.sacked {
                self.board.sacked -= len;
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
                needless = self.was_needless(&part, p, now, front || needless) || behind && filled && !front;
                filled |= front && !needless;
                self.arrived_again(&part, len, needless);
            }
            if !front {
                self.acks.beyond = self.acks.beyond.saturating_sub(self.sizes.segments(len));
            }
            front = false;
            // What waited at the receiver for a retransmission gives no RTT, nor does what was before it
            // (`tcp_clean_rtx_queue`: FLAG_RETRANS_DATA_ACKED).
            part.sent = if resent { part.sent.max(2) } else { part.sent };
            part.len = len;
            self.arrived(&part, now, samples);
        }
        if resent {
            (samples.oldest, samples.newest) = (proven, None);
        }
    }

    /// A segment has arrived: an ACK or a SACK block covers it.
    #[inline]
    fn arrived(&mut self, s: &SentSegment, now: Time, samples: &mut AckSamples) {
        let mut rtt = PackedSpan::UNKNOWN;
        if s.is_unseen() {
            self.counts.missed_bytes += s.len as u64;
        } else if s.sent == 1 && s.time >= self.rtt.from {
            // Karn's algorithm (RFC 6298 section 3): of what was sent twice it is not known which arrived.
            if samples.oldest.is_none_or(|(time, _)| s.time < time) {
                samples.oldest = Some((s.time, s.up));
            }
            samples.newest = samples.newest.max(Some(s.time));
            if !self.acks.delayed && self.knows_rtt(s.up) {
                rtt = PackedSpan::known((now.since(s.time) + s.up.or_zero()).max(LEAST_RTT));
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

    /// The receiver has `len` bytes of what was sent again; `needless`: it had them before.
    pub(super) fn arrived_again(&mut self, part: &SentSegment, len: u32, needless: bool) {
        let Some(first) = part.first_entry() else {
            if needless {
                self.needless(part.seq, part.seq + len as u64, false);
            }
            return;
        };
        if needless {
            let segments = self.sizes.segments(len);
            self.counts.spurious += segments as u64;
            self.log.found(first, len, segments);
        }
        self.log.passed(first, len, PackedSpan::UNKNOWN);
    }

    /// The receiver sends no SACK: only cumulative ACKs say what arrived. Where the snap length cut options off that is not known, and
    /// nearly all receivers send it.
    #[inline]
    pub(super) fn is_without_sack(&self) -> bool {
        self.counts.sacks == 0 && !self.handshake.sack && self.counts.options_cut == 0
    }

    /// Whether a segment that was sent again had arrived the first time. `first`: the ACK echoes the packet that
    /// brought it, or one before.
    fn was_needless(&self, s: &SentSegment, p: &TcpPacket, now: Time, first: bool) -> bool {
        // RFC 3522: the ACK of the first byte echoes the packet that brought it.
        if let Some((_, echo)) = p.options.timestamps
            && let Some(tsval) = s.tsval
            && first
            && (echo.wrapping_sub(tsval.get()) as i32) < 0
        {
            return true;
        }
        self.is_too_soon(s, now)
    }

    /// Whether the ACK of a segment sent again comes sooner than the path allows.
    fn is_too_soon(&self, s: &SentSegment, now: Time) -> bool {
        self.rtt.least_down.is_some_and(|least| now.since(s.time) < least / 8 * 7)
    }

    /// What was sent again between `seq` and `end` had arrived before: a D-SACK shows it, or else an ACK.
    fn needless(&mut self, seq: u64, end: u64, by_dsack: bool) {
        let (log, counts, mss) = (&mut self.log, &mut self.counts, self.sizes.or_one());
        self.retransmissions.needless(seq, end, by_dsack, |entry, bytes| {
            let segments = bytes.div_ceil(mss);
            counts.spurious += segments as u64;
            log.found(entry, bytes, segments);
        });
    }

    /// SACK blocks (RFC 2018, RFC 2883).
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
                self.needless(from, to, true);
                continue;
            }
            blocks[known] = (from, to);
            known += 1;
            self.mark_sacked(from.max(una), to, now, samples);
        }
        self.acks.blocks = blocks;
    }

    /// Marks what lies between `from` and `to` as sacked, but for what the last ACK sacked already.
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
        let mut i = self.board.find(from);
        i += self.board.cut(i, from) as usize;
        while let Some(s) = self.board.list.get(i).copied().filter(|s| s.seq < to) {
            self.board.cut(i, to);
            let part = self.board.list[i];
            i += 1;
            if s.sacked {
                continue;
            }
            self.board.list[i - 1].sacked = true;
            self.board.sacked += part.len;
            if part.sent > 1 {
                self.arrived_again(&part, part.len, self.is_too_soon(&part, now));
            }
            self.arrived(&part, now, samples);
        }
    }

    /// The window that an ACK announces.
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

    /// Takes the RTT, and returns it.
    #[inline]
    fn sample(&mut self, now: Time, samples: &AckSamples, may_be_delayed: bool) -> Option<Span> {
        let (sent, up) = samples.oldest?;
        let down = now.since(sent).max(LEAST_RTT);
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

    /// Whether `up`, the part of an RTT between sender and capture, is known, or never will be: where the ACKs have timestamps, the
    /// sender's next data shows it.
    #[inline]
    fn knows_rtt(&self, up: PackedSpan) -> bool {
        up.is_known() || !self.acks.stamped
    }

    /// The ACK that passes was delayed by so much above the least.
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
        // What came before the last segment that it covers waited at the receiver for that (RFC 5681 section 4.2).
        let newest =
            samples.newest.zip(samples.oldest).map(|(newest, (_, up))| now.since(newest) + up.or_zero());
        if let Some(rtt) = rtt.filter(|_| !delayed) {
            bin.rtts.record(newest.map_or(rtt, |newest| newest.clamp(LEAST_RTT, rtt)));
        }
    }
}
