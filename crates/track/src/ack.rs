//! What an ACK tells of the direction whose data it acknowledges.

use crate::WaitReason;
use crate::board::SentSegment;
use crate::direction::{Direction, unwrap};
use crate::upstream::AckState;
use capture::{TcpFlags, TcpPacket};
use units::Span;

/// An ACK of more than this beyond what was seen is of another stream.
const MOST_AHEAD: u64 = 1 << 30;

/// RTTs of what an ACK newly acknowledges; send times, nanoseconds.
#[derive(Default)]
struct AckSamples {
    /// Of the oldest segment and the `up` then in force.
    oldest: Option<(u64, u32)>,
    newest: Option<u64>,
    /// Bytes.
    acked: u64,
}

impl Direction {
    /// A packet of the receiver passes. Returns the RTT it tells, µs, 0 for none.
    #[inline]
    pub fn ack(&mut self, p: &TcpPacket, now: u64) -> u32 {
        let mut ack = unwrap(self.una, p.ack);
        if ack > self.nxt + MOST_AHEAD {
            return 0;
        }
        let outstanding = self.una < self.nxt;
        let pure = p.len == 0 && p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0) == 0;
        if let Some(fin) = self.fin
            && ack == fin + 1
        {
            ack = fin;
        } else if ack == self.nxt + 1 && self.board.list.is_empty() && self.una == self.nxt {
            ack = self.nxt; // a FIN that was not seen
        }
        let mut sampled = AckSamples::default();
        let advances = ack > self.una;
        if advances {
            self.advance(ack, p, now, &mut sampled);
        }
        if p.options.sacks > 0 {
            self.sack(ack, p, now, &mut sampled);
        }
        let duplicate = pure && ack == self.una && !advances && outstanding;
        if duplicate && (p.window == self.window || p.options.sacks > 0) {
            self.counts.dup_acks += 1;
            self.dups += 1;
            self.above += 1;
        }
        if ack >= self.una {
            self.take_window(ack, p, now);
        }
        let c = &mut self.counts;
        c.ece += p.flags.has(TcpFlags::ECE) as u64;
        if pure || advances {
            c.acks += 1;
        }
        self.up.acked(AckState {
            time: now,
            una: self.una,
            sacked: self.sacked,
            edge: self.edge,
            pure,
            gap: 0,
        });
        if let Some((tsval, _)) = p.options.timestamps {
            self.up.mark(now, tsval);
        }
        let rtt = self.sample(now, &sampled);
        self.count_ack(now, &sampled, rtt, pure || advances);
        if advances && self.una >= self.nxt {
            self.begin_quiet(now);
        }
        self.settle(now);
        rtt
    }

    /// Everything below `ack` has arrived.
    #[inline]
    fn advance(&mut self, ack: u64, p: &TcpPacket, now: u64, sampled: &mut AckSamples) {
        let mut needless = false;
        let mut front = true;
        // Without SACK: what filled a hole is acknowledged at once, and with it what lay behind (RFC 5681 section 4.2).
        // Where nothing did, an ACK may have waited for the second packet.
        let behind = self.is_blind() && (self.above > 0 || ack - self.una > 2 * self.mss as u64);
        let mut filled = false;
        let mut mended = false;
        let mut proven = None;
        while let Some(s) = self.board.list.front_mut().filter(|s| s.seq < ack) {
            let end = s.end();
            let len = (end.min(ack) - s.seq) as u32;
            let part = *s;
            if end > ack {
                s.seq = ack;
                s.len -= len;
            } else {
                self.board.list.pop_front();
            }
            if part.sacked {
                self.sacked -= len;
                front = false;
                continue;
            }
            if part.times > 1 {
                mended = true;
                // The ACK echoes this very transmission (RFC 7323 section 4).
                if front && p.options.timestamps.is_some_and(|(_, echo)| echo == part.tsval) {
                    proven = Some((part.time, part.up));
                }
                needless = self.was_needless(&part, p, now, front, needless) || behind && filled && !front;
                filled |= front && !needless;
                self.mend(&part, len, needless);
            }
            if !front {
                self.above = self.above.saturating_sub(self.segments(len));
            }
            front = false;
            // What waited for a retransmission at the receiver tells no RTT, nor does what was before it
            // (`tcp_clean_rtx_queue`: FLAG_RETRANS_DATA_ACKED).
            let times = if mended { part.times.max(2) } else { part.times };
            self.arrived(&SentSegment { len, times, ..part }, now, sampled);
        }
        if mended {
            (sampled.oldest, sampled.newest) = (proven, None);
        }
        if ack > self.nxt {
            let missed = ack - self.nxt.max(self.una);
            self.counts.missed_bytes += missed;
            self.counts.acked_bytes += missed;
            self.nxt = ack;
        }
        self.una = ack;
        self.dups = 0;
        if self.una >= self.nxt {
            self.above = 0;
        }
        self.progress = now;
        self.last_data = now;
    }

    /// A segment has arrived, as an ACK or a SACK tells.
    #[inline]
    fn arrived(&mut self, s: &SentSegment, now: u64, sampled: &mut AckSamples) {
        let mut rtt = 0;
        if s.is_hole() {
            self.counts.missed_bytes += s.len as u64;
        } else if s.times == 1 {
            // Karn: of what was sent twice no one knows which was acknowledged.
            if sampled.oldest.is_none_or(|(time, _)| s.time < time) {
                sampled.oldest = Some((s.time, s.up));
            }
            sampled.newest = Some(sampled.newest.map_or(s.time, |time| time.max(s.time)));
            rtt = ((now.saturating_sub(s.time) / 1000) as u32).saturating_add(s.up).max(1);
        }
        if !s.is_hole() {
            self.largest_acked = self.largest_acked.max(s.len);
        }
        sampled.acked += s.len as u64;
        self.counts.acked_bytes += s.len as u64;
        self.log.passed(s.entry, s.len, rtt);
    }

    /// The receiver has `len` bytes of what was sent again; `needless`: it had them before.
    pub(super) fn mend(&mut self, part: &SentSegment, len: u32, needless: bool) {
        let Some(first) = part.doubted() else {
            if needless {
                self.needless(part.seq, part.seq + len as u64, false);
            }
            return;
        };
        if needless {
            let segments = self.segments(len);
            self.counts.spurious += segments as u64;
            self.log.found(first, len, segments);
        }
        self.log.passed(first, len, 0);
    }

    /// No SACK and no D-SACK tell what arrived.
    #[inline]
    pub(super) fn is_blind(&self) -> bool {
        self.counts.sacks == 0 && !self.handshake.sack
    }

    /// Whether a segment that was sent again had arrived the first time.
    fn was_needless(&self, s: &SentSegment, p: &TcpPacket, now: u64, front: bool, before: bool) -> bool {
        // RFC 3522: the ACK of the first byte echoes the packet that brought it.
        if let Some((_, echo)) = p.options.timestamps
            && s.tsval != 0
            && (front || before)
            && (echo.wrapping_sub(s.tsval) as i32) < 0
        {
            return true;
        }
        self.too_soon(s, now)
    }

    /// Whether the ACK of a segment sent again comes sooner than the path allows.
    fn too_soon(&self, s: &SentSegment, now: u64) -> bool {
        self.least_down != u64::MAX && now.saturating_sub(s.time) < self.least_down / 8 * 7
    }

    /// What was sent again between `seq` and `end` need not have been, as a D-SACK tells or an ACK.
    fn needless(&mut self, seq: u64, end: u64, told: bool) {
        let (log, counts, mss) = (&mut self.log, &mut self.counts, self.mss.max(1));
        self.resent.needless(seq, end, told, |entry, bytes| {
            let segments = bytes.div_ceil(mss);
            counts.spurious += segments as u64;
            log.found(entry, bytes, segments);
        });
    }

    /// SACK blocks (RFC 2018, RFC 2883).
    fn sack(&mut self, ack: u64, p: &TcpPacket, now: u64, sampled: &mut AckSamples) {
        self.counts.sacks += 1;
        let mut blocks = [(0, 0); 4];
        let mut known = 0;
        for (i, &(from, to)) in p.options.sack_blocks().iter().enumerate() {
            let (from, to) = (unwrap(self.una, from), unwrap(self.una, to));
            if from >= to || to > self.nxt + MOST_AHEAD {
                continue;
            }
            let within = p.options.sack_blocks().get(1).is_some_and(|&(a, b)| {
                let (a, b) = (unwrap(self.una, a), unwrap(self.una, b));
                a <= from && to <= b && (a, b) != (from, to)
            });
            if i == 0 && (to <= ack || within) {
                self.counts.dsacks += 1;
                self.needless(from, to, true);
                continue;
            }
            blocks[known] = (from, to);
            known += 1;
            self.mark(from.max(self.una), to, now, sampled);
        }
        self.blocks = blocks;
    }

    /// Marks what lies between `from` and `to`, except what the last ACK told already.
    fn mark(&mut self, mut from: u64, mut to: u64, now: u64, sampled: &mut AckSamples) {
        for &(a, b) in &self.blocks {
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
            self.sacked += part.len;
            if part.times > 1 {
                self.mend(&part, part.len, self.too_soon(&part, now));
            }
            self.arrived(&part, now, sampled);
        }
    }

    /// The window that an ACK announces.
    #[inline]
    fn take_window(&mut self, ack: u64, p: &TcpPacket, now: u64) {
        let zero = p.window == 0 && !p.flags.has(TcpFlags::SYN) && !p.flags.has(TcpFlags::RST);
        match (zero, self.zero_since) {
            (true, None) => {
                self.counts.zero_windows += 1;
                self.zero_since = Some(now);
            }
            (false, Some(from)) => {
                self.zero_since = None;
                self.wait(from, now, WaitReason::ZeroWindow);
            }
            _ => {}
        }
        self.window = p.window;
        // RFC 7323 section 2.2: a SYN's window is not scaled.
        let scale = if p.flags.has(TcpFlags::SYN) { 0 } else { self.scale.unwrap_or(0) };
        self.edge = ack + ((p.window as u64) << scale);
    }

    /// The window announced last, bytes; `u32::MAX` where its scale is not known.
    #[inline]
    pub(super) fn announced(&self) -> u32 {
        match self.scale {
            Some(scale) => ((self.window as u64) << scale).min(u32::MAX as u64 - 1) as u32,
            None if self.window == 0 => 0,
            None => u32::MAX,
        }
    }

    /// Takes the RTT; returns it in µs, 0 for none.
    #[inline]
    fn sample(&mut self, now: u64, sampled: &AckSamples) -> u32 {
        let Some((sent, up)) = sampled.oldest else { return 0 };
        let down = now.saturating_sub(sent);
        let all = down.saturating_add(up as u64 * 1000);
        self.rtts[0].record(Span::from_nanos(down));
        self.rtts[2].record(Span::from_nanos(all));
        self.rtt.sample(all);
        let least = sampled.newest.map_or(down, |t| now.saturating_sub(t));
        self.least_down = self.least_down.min(least);
        ((all / 1000).min(u32::MAX as u64 - 1) as u32).max(1)
    }

    /// The ACK that passes came so much later than ever, µs.
    #[inline]
    pub fn ack_delayed(&mut self, now: u64, delay: u32) {
        if delay != u32::MAX {
            let bin = self.bins.at(now);
            bin.ack_delay = bin.ack_delay.min(delay);
        }
    }

    #[inline]
    fn count_ack(&mut self, now: u64, sampled: &AckSamples, rtt: u32, counted: bool) {
        let inflight = self.inflight(now);
        let window = self.announced();
        let bin = self.bins.at(now);
        bin.acks += counted as u32;
        bin.acked = bin.acked.saturating_add(sampled.acked.min(u32::MAX as u64) as u32);
        bin.inflight_min = bin.inflight_min.min(inflight);
        bin.window = bin.window.min(window);
        if rtt > 0 {
            bin.rtt_min = bin.rtt_min.min(rtt);
            bin.rtt_max = bin.rtt_max.max(rtt);
            bin.rtt_sum += rtt as u64;
            bin.rtts += 1;
        }
    }
}
