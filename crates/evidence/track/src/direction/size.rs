//! Packets that were too big for the path, and the size that the sender fell back to.
//!
//! A sender that hears of a smaller MTU (ICMP), or guesses it after timeouts (RFC 4821), sends what it sent in full
//! segments again in smaller pieces, and from then on its full segments are of the new size. Who goes on to hold them
//! against the old size takes each for the end of what an application wrote.
//!
//! A new size is believed when some packets are made of it and none of the old one comes between: after a packet that
//! ends inside one that was sent before, after an ICMP message, or (of a run of equal packets that do not push) by
//! itself: what is neither full nor pushed has no other reason to end there.

use super::Direction;
use super::state::AgreedMss;
use crate::sent_board::SentSegment;
use crate::{PacketKind, TooBigSpan};
use capture::{TcpFlags, TcpPacket};
use units::{Span, Time};

/// The MTU of Ethernet.
const ETHERNET_MTU: u32 = 1500;
/// The least MSS that every host takes (RFC 9293 section 3.7.1).
const LEAST_MSS: u32 = 536;
/// Packets that show a size that something else has named.
const SHOWN: u8 = 2;
/// Equal packets without PSH that show one by themselves.
const RUN: u8 = 8;
/// The least MTU that Linux believes a path to have (`ip_rt_min_pmtu`): smaller packets are messages.
const LEAST_PMTU: u32 = 552;
/// Timeouts in vain that speak of a size, where no smaller segments followed: as many as make Linux look for one
/// (`tcp_retries1`).
const VAIN: u32 = 3;
/// Smaller segments follow those that were cut within two round trips and this.
const SOON: Span = Span::from_millis(10);
/// Spans kept at most, and lost probes.
const MOST: usize = 16;
const MOST_PROBES: usize = 64;
/// Segments outstanding that are looked at for the one sent first.
const LOOKED_AT: usize = 64;
/// Data of the receiver that comes so much later than full segments stopped passing shows, if it need not send any again,
/// that it gets ACKs: without them it would have run into a timeout (RFC 6298 section 2.1: 1 s before the first sample)
/// twice; and so many packets of it.
const HEARD_AFTER: Span = Span::from_secs(3);
const HEARD: u32 = 3;

/// Sizes of segments.
#[derive(Clone, Copy, Debug)]
pub struct SegmentSizes {
    /// The largest payload of a packet on the wire, as far as is known; not zero.
    pub mss: Option<u32>,
    /// No segment has more, by the SYNs.
    most: Option<u32>,
    /// None that has options, of a sender that counts them off.
    agreed: Option<u32>,
    /// Bytes of IP and TCP headers of the last packet, and of link layer and tunnels around it.
    pub header: u16,
    pub outside: u16,
    /// The largest packet that was ever acknowledged.
    pub largest_acked: Option<u32>,
    /// IP bytes of a full segment that was seen; before one was, the MSS is what the SYNs let expect.
    seen_full: Option<u32>,
    /// Of packets that hold several segments each, which receive offload had joined.
    joined: JoinedSegments,
    /// How they change.
    pub watch: SizeWatch,
}

impl SegmentSizes {
    /// What the SYNs said.
    pub fn new(mss: Option<AgreedMss>) -> SegmentSizes {
        let (likely, most) = (mss.map(|m| m.likely), mss.map(|m| m.most));
        SegmentSizes {
            mss: likely,
            most,
            agreed: mss.map(|m| m.most.saturating_sub(m.options)),
            header: 40,
            outside: 0,
            largest_acked: None,
            seen_full: None,
            joined: JoinedSegments::default(),
            watch: SizeWatch::default(),
        }
    }

    /// Takes a packet of data. Without what the SYNs said, a packet of more than an Ethernet frame is several, unless it
    /// is the first that was seen.
    #[inline]
    pub fn learn(&mut self, p: &TcpPacket) {
        (self.header, self.outside) = (p.header, p.outside);
        if self.mss.is_some_and(|mss| p.len <= mss) {
            return;
        }
        let header = p.header as u32;
        let Some(most) = self.most else {
            // Receive offload hands on several segments as one.
            if self.mss.is_some_and(|mss| p.len.is_multiple_of(mss)) {
                return;
            }
            if self.mss.is_none() || p.len + header <= ETHERNET_MTU {
                // A small packet says nothing of it.
                let whole = ETHERNET_MTU.saturating_sub(header).max(LEAST_MSS);
                self.mss = Some(p.len.clamp(LEAST_MSS, whole));
            }
            return;
        };
        if p.len <= most && self.may_grow(p.len) {
            self.mss = Some(p.len);
        }
    }

    /// Whether a segment may have `len` bytes if its options are counted off.
    pub fn is_agreed(&self, len: u32) -> bool {
        self.agreed.is_none_or(|most| len <= most)
    }

    /// What the SYNs allow a segment.
    pub fn largest(&self) -> Option<u32> {
        self.most
    }

    /// Segments that `len` bytes of payload are on the wire.
    #[inline]
    pub fn segments(&self, len: u32) -> u32 {
        let mss = self.or_one();
        // What the SYN allows is one, be it that its sender did not count options off.
        let allowed = self.watch.before.is_none() && self.most.is_some_and(|most| len <= most);
        if len <= mss || allowed { 1 } else { len.div_ceil(mss) }
    }

    /// Whether `len` is made of full segments.
    #[inline]
    pub fn is_full(&self, len: u32) -> bool {
        len.is_multiple_of(self.or_one())
    }

    /// The MSS; one byte while it is not known.
    #[inline]
    pub fn or_one(&self) -> u32 {
        self.mss.unwrap_or(1).max(1)
    }
}

/// How full segments change their size.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeWatch {
    /// The size before it first fell.
    pub before: Option<u32>,
    /// The least MTU that ICMP named.
    pub path_mtu: Option<u32>,
    /// A size that full segments may have now, and how many packets since are made of it.
    candidate: Option<u32>,
    shown: u8,
    /// The last packet without PSH below the full size, and how many equal ones in a row.
    run: u32,
    in_run: u8,
    /// A packet beyond the full size after that fell, and how many equal ones in a row.
    larger: u32,
    in_larger: u8,
}

/// Packets that receive offload made of several segments of a size that no packet shows alone.
#[derive(Clone, Copy, Debug, Default)]
struct JoinedSegments {
    /// What all of them are a multiple of, bytes.
    divisor: u32,
    /// How many there were in a row.
    count: u8,
}

impl JoinedSegments {
    /// Takes a packet larger than a segment; returns the size of its segments, no more than `most`, once enough packets agree. One
    /// that pushes may end in a smaller segment.
    fn size(&mut self, p: &TcpPacket, most: u32) -> Option<u32> {
        if p.flags.has(TcpFlags::PSH) {
            return None;
        }
        let common = greatest_common_divisor(self.divisor, p.len);
        (self.divisor, self.count) =
            if common < LEAST_MSS { (p.len, 1) } else { (common, self.count.saturating_add(1)) };
        let pieces = self.divisor.div_ceil(most.max(1));
        let size = self.divisor.is_multiple_of(pieces).then(|| self.divisor / pieces)?;
        (self.count >= RUN && size >= LEAST_MSS).then_some(size)
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if a == 0 { b } else { greatest_common_divisor(b % a, a) }
}

/// Full segments that do not get through.
#[derive(Debug, Default)]
pub struct StuckSegments {
    /// Those that are over: smaller ones followed.
    pub over: Vec<TooBigSpan>,
    /// The one that goes on.
    open: Option<TooBigSpan>,
    /// A smaller segment that was sent in it has arrived.
    small_arrived: bool,
    /// The sender has cut segments in it, and ran into a timeout all the same.
    cut: bool,
    cut_in_vain: bool,
    /// New data of the receiver late in it, and whether the receiver sent something again.
    heard: u32,
    heard_again: bool,
    /// The last segment that was larger than the others, until its fate is known.
    pub probe: Option<SentProbe>,
    /// Those that were lost.
    pub lost_probes: Vec<Time>,
}

/// A segment larger than the others, sent to try whether it passes.
#[derive(Clone, Copy, Debug)]
pub struct SentProbe {
    pub seq: u64,
    pub len: u32,
    pub time: Time,
}

impl StuckSegments {
    /// A segment has arrived.
    #[inline]
    pub fn arrived(&mut self, s: &SentSegment) {
        if self.open.is_some() || self.probe.is_some() {
            self.note_arrival(s);
        }
    }

    #[cold]
    fn note_arrival(&mut self, s: &SentSegment) {
        self.probe = self.probe.filter(|p| s.seq != p.seq || s.sent > 1);
        let Some(span) = &mut self.open else { return };
        if s.len.is_multiple_of(span.size) {
            self.open = None; // That was another matter.
        } else {
            self.small_arrived |= s.len < span.size && s.time > span.from;
        }
    }

    /// `first` was sent again, or a piece of it by `p`.
    pub fn sent_again(&mut self, p: &TcpPacket, first: Option<SentSegment>) {
        let Some((probe, first)) = self.probe.zip(first).filter(|(probe, s)| s.seq == probe.seq) else {
            return;
        };
        self.probe = None;
        if first.sent == 1 && p.len < probe.len && self.lost_probes.len() < MOST_PROBES {
            self.lost_probes.push(probe.time);
        }
    }
}

impl SegmentSizes {
    /// ICMP named an MTU.
    pub fn told(&mut self, mtu: u32) {
        self.watch.path_mtu = Some(self.watch.path_mtu.map_or(mtu, |m| m.min(mtu)));
        self.propose(mtu.saturating_sub(self.header as u32));
    }

    /// Full segments may have this size now.
    fn propose(&mut self, size: u32) {
        if size > 0 && self.mss.is_some_and(|mss| size < mss) && self.watch.candidate != Some(size) {
            (self.watch.candidate, self.watch.shown) = (Some(size), 0);
        }
    }

    /// Whether segments may grow to `len` bytes again, after they had shrunk: not by one packet, which may be a probe
    /// (RFC 4821 section 7.4) or hold several. Nor by one that leaves no room for the options that it has.
    #[inline]
    pub fn may_grow(&mut self, len: u32) -> bool {
        if self.watch.before.is_none() && self.is_agreed(len) {
            return true;
        }
        if len.is_multiple_of(self.or_one()) {
            return false;
        }
        let w = &mut self.watch;
        w.in_larger = if len == w.larger { w.in_larger.saturating_add(1) } else { 1 };
        w.larger = len;
        w.in_larger > SHOWN
    }

    /// Whether a packet of new data is larger than full segments have become, though no more than the SYNs allow, and not
    /// the end of a write (`tcp_mtu_probe`).
    #[inline]
    pub fn is_probe(&self, p: &TcpPacket) -> bool {
        self.watch.before.is_some()
            && !p.flags.has(TcpFlags::PSH)
            && self.mss.is_some_and(|mss| p.len > mss && !p.len.is_multiple_of(mss))
            && self.largest().is_some_and(|most| p.len <= most)
    }

    /// Takes a packet of data; `true`: full segments have become smaller.
    #[inline]
    pub fn follow(&mut self, p: &TcpPacket) -> bool {
        let mss = self.or_one();
        if p.len == mss {
            (self.watch.in_run, self.watch.candidate) = (0, None);
            self.seen_full = Some(mss + u32::from(p.header));
            return false;
        }
        self.follow_other(p, mss)
    }

    /// The same of one that is not a full segment.
    fn follow_other(&mut self, p: &TcpPacket, mss: u32) -> bool {
        if self.is_part_of_guess(p, mss) {
            self.mss = Some(p.len);
            return false;
        }
        let w = &mut self.watch;
        if p.len.is_multiple_of(mss) {
            (w.in_run, w.candidate) = (0, None);
            self.seen_full = Some(mss + u32::from(p.header));
        } else if let Some(size) = w.candidate.filter(|size| p.len.is_multiple_of(*size)) {
            w.shown += 1;
            if w.shown >= SHOWN {
                return self.fall(size);
            }
        }
        if p.len > mss {
            let size = self.agreed.and_then(|most| self.joined.size(p, most));
            return size.is_some_and(|size| size < mss && self.fall(size));
        }
        let w = &mut self.watch;
        match p.flags.has(TcpFlags::PSH) {
            true if p.len > w.run => w.in_run = 0,
            true => {}
            false if p.len == w.run => w.in_run = w.in_run.saturating_add(1),
            false => (w.run, w.in_run) = (p.len, 1),
        }
        let (run, long) = (w.run, w.in_run >= RUN && w.run + u32::from(self.header) >= LEAST_PMTU);
        long && self.fall(run)
    }

    /// Whether the MSS, guessed from the first packet because no SYN was seen, was that of several segments which receive offload
    /// had joined: a packet that does not push is a whole part of it, so it is what a full segment holds.
    fn is_part_of_guess(&self, p: &TcpPacket, mss: u32) -> bool {
        let guessed = self.most.is_none() && self.watch.before.is_none();
        guessed
            && (LEAST_MSS..mss).contains(&p.len)
            && mss.is_multiple_of(p.len)
            && !p.flags.has(TcpFlags::PSH)
    }

    /// Full segments have `size` bytes now; `true`: their packets are smaller than those seen before. They are not where no
    /// full segment was seen that the SYNs let expect, nor where options take what the payload lost (MPTCP, RFC 8684; SACK
    /// blocks beside data).
    fn fall(&mut self, size: u32) -> bool {
        let smaller = self.seen_full.is_some_and(|seen| size + u32::from(self.header) < seen);
        if smaller {
            self.watch.before = self.watch.before.or(self.mss);
        }
        self.mss = Some(size);
        let w = &mut self.watch;
        (w.candidate, w.shown, w.in_run, w.in_larger) = (None, 0, 0, 0);
        smaller
    }
}

impl Direction {
    /// Data from `seq` to `end` was sent again; `first` is what it was part of. Nothing came through since `stalled`.
    pub(super) fn watch_size(
        &mut self,
        p: &TcpPacket,
        (end, first): (u64, Option<SentSegment>),
        (kind, timer): (PacketKind, bool),
        now: Time,
    ) {
        let Some((first, mss)) = first.filter(|s| !s.is_unseen()).zip(self.sizes.mss) else { return };
        let timeout = timer && kind == PacketKind::Timeout;
        let last = self.board.list.get(self.board.find(end - 1));
        let cut = !p.len.is_multiple_of(mss) && last.is_some_and(|s| s.end() > end && !s.is_unseen());
        let again = timeout && p.len == mss && first.len >= mss;
        self.stuck.cut_in_vain |= timeout && self.stuck.cut;
        // Small ones, or the handshake, came through before; if larger ones did, that says nothing of now. A small one that
        // was sent behind full ones, and arrived while they are sent again and again, does.
        let mut outstanding = self.board.list.iter().take(LOOKED_AT);
        let behind = |s: &SentSegment| s.sacked && s.sent == 1 && s.len < mss;
        let smaller_passed = self.sizes.largest_acked.map_or(self.handshake.syn_ack, |acked| acked < mss)
            || again && (self.stuck.small_arrived || outstanding.any(behind));
        if !cut && !again {
            return;
        }
        let sent = self.board.list.iter().take(LOOKED_AT).map(|s| s.time).min().unwrap_or(now);
        let since = self.recovery.progress.max(self.times.first).unwrap_or(now).min(sent);
        let from = if timeout { since } else { first.time };
        let passed_since = self.stuck.open.is_some_and(|s| self.recovery.progress > Some(s.to));
        if passed_since && self.sizes.watch.candidate.is_none() {
            self.stuck.open = None; // That was another matter.
        }
        if self.stuck.open.is_none() {
            (self.stuck.heard, self.stuck.heard_again) = (0, false);
            (self.stuck.cut, self.stuck.cut_in_vain, self.stuck.small_arrived) = (false, false, false);
        }
        let span = self.stuck.open.get_or_insert(TooBigSpan {
            from,
            to: now,
            size: mss,
            fits: None,
            timeouts: 0,
            smaller_passed,
        });
        (span.to, span.timeouts) = (now, span.timeouts + timeout as u32);
        span.smaller_passed |= smaller_passed;
        if cut {
            self.stuck.cut = true;
            // Of a packet that holds several (segmentation offload), what follows must say how large they are.
            self.sizes.propose(p.len);
        }
    }

    /// The receiver sends data.
    #[inline]
    pub fn hear(&mut self, kind: PacketKind, now: Time) {
        let Some(span) = &self.stuck.open else { return };
        match kind {
            PacketKind::Data => self.stuck.heard += u32::from(now.since(span.from) > HEARD_AFTER),
            _ => self.stuck.heard_again = true,
        }
    }

    /// Full segments have become smaller: if some were stuck, that was why.
    #[cold]
    pub(super) fn unstick(&mut self, now: Time) {
        let soon = self.rtt.estimate.or_zero() * 2 + SOON;
        if let Some(span) = self.stuck.open.take().filter(|s| now.since(s.to) <= soon)
            && self.stuck.over.len() < MOST
        {
            // The first smaller one came through, or it was not the size.
            let smaller_passed = span.smaller_passed || !self.stuck.cut_in_vain;
            self.stuck.over.push(TooBigSpan { to: now, fits: self.sizes.mss, smaller_passed, ..span });
        }
    }

    /// The spans, at the connection's end: one that goes on counts where nothing of that size came through in it.
    pub(super) fn too_big(&mut self, last: Time) -> Vec<TooBigSpan> {
        let mut spans = std::mem::take(&mut self.stuck.over);
        let heard = self.stuck.heard >= HEARD && !self.stuck.heard_again;
        let vain = self.stuck.open.take().filter(|s| s.timeouts >= VAIN);
        spans.extend(vain.map(|s| TooBigSpan {
            to: s.to.max(last),
            smaller_passed: s.smaller_passed || heard,
            ..s
        }));
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direction::AgreedMss;

    fn packet(len: u32, push: bool) -> TcpPacket {
        let flags = if push { TcpFlags(TcpFlags::PSH.0 | TcpFlags::ACK.0) } else { TcpFlags::ACK };
        TcpPacket { len, header: 52, flags, ..TcpPacket::default() }
    }

    fn sizes() -> SegmentSizes {
        SegmentSizes::new(Some(AgreedMss { likely: 1448, most: 1448, options: 0 }))
    }

    fn take(sizes: &mut SegmentSizes, packets: &[(u32, bool)]) -> usize {
        let fell = packets.iter().map(|(len, push)| {
            sizes.learn(&packet(*len, *push));
            sizes.follow(&packet(*len, *push))
        });
        fell.filter(|fell| *fell).count()
    }

    #[test]
    fn a_size_that_was_named_is_believed_when_packets_show_it() {
        let mut s = sizes();
        take(&mut s, &[(1448, false)]);
        s.told(1476);
        assert_eq!((take(&mut s, &[(1424, true)]), s.mss), (0, Some(1448)));
        assert_eq!((take(&mut s, &[(1424, true)]), s.mss, s.watch.before), (1, Some(1424), Some(1448)));
        // Segmentation offload: two in one packet. Named, and refuted.
        s.told(1052);
        take(&mut s, &[(2848, true), (2000, true), (1424, true)]);
        assert_eq!((take(&mut s, &[(1000, true), (1000, true)]), s.mss), (0, Some(1424)));
    }

    #[test]
    fn what_an_application_pushes_is_no_full_segment() {
        let mut s = sizes();
        assert_eq!((take(&mut s, &[(1000, true); 100]), s.mss), (0, Some(1448)));
        assert_eq!(take(&mut s, &[(1000, false), (1000, true), (900, false), (448, true)].repeat(9)), 0);
    }

    #[test]
    fn a_run_of_equal_packets_that_do_not_push_are_full() {
        let mut s = sizes();
        take(&mut s, &[(1448, false)]);
        let burst = [(1424, false), (1424, true)];
        assert_eq!((take(&mut s, &burst.repeat(7)), s.mss), (0, Some(1448)));
        assert_eq!((take(&mut s, &burst), s.mss), (1, Some(1424)));
        // They grow again when several have grown, not by a probe.
        take(&mut s, &[(1440, false), (1424, false), (1424, false)]);
        assert_eq!(s.mss, Some(1424));
        take(&mut s, &[(1440, false); 3]);
        assert_eq!(s.mss, Some(1440));
    }

    /// MPTCP's options take 20 bytes of each segment: none ever had the 1448 that the SYNs let expect.
    #[test]
    fn segments_that_never_were_larger_did_not_shrink() {
        for push in [false, true] {
            let mut s = sizes();
            let run: Vec<(u32, bool)> = (0..40).map(|i| (1428, push && i % 4 == 3)).collect();
            assert_eq!((take(&mut s, &run), s.mss, s.watch.before), (0, Some(1428), None));
        }
        // Receive offload hands on two to ten of them as one.
        let mut s = sizes();
        let joined: Vec<(u32, bool)> = (0..20).map(|i| (1428 * (2 + i % 9), false)).collect();
        assert_eq!((take(&mut s, &joined), s.mss, s.watch.before), (0, Some(1428), None));
        assert!(s.is_full(14_280) && s.segments(14_280) == 10);
        // SACK blocks beside data take as many bytes as the payload lost.
        let mut s = sizes();
        take(&mut s, &[(1448, false)]);
        let with_blocks = TcpPacket { header: 64, ..packet(1436, false) };
        let fell = (0..20).filter(|_| {
            s.learn(&with_blocks);
            s.follow(&with_blocks)
        });
        let fell = fell.count();
        assert_eq!((fell, s.watch.before), (0, None));
    }
}
