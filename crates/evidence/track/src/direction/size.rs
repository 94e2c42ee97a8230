//! Packets that were too big for the path, and the segment size that the sender fell back to.
//!
//! A sender that learns of a smaller MTU (ICMP), or infers it from timeouts (RFC 4821), retransmits the data
//! of full segments in smaller ones, and from then on its full segments have the new size. Compared with the
//! old size, each of them would look like the end of an application's write.
//!
//! A new size is accepted when several packets have it and none of the old size comes between. They must
//! follow a packet that ends inside an earlier one, or an ICMP message, or be a run of equal packets without
//! PSH. A packet that is neither full nor pushed has no other reason to end there.

use super::Direction;
use super::state::AgreedMss;
use crate::scoreboard::SentSegment;
use crate::{OversizeSpan, PacketKind};
use capture::{TcpFlags, TcpPacket};
use units::{Span, Time};

/// The MTU of Ethernet.
const ETHERNET_MTU: u32 = 1500;
/// The minimum MSS that every host accepts (RFC 9293 section 3.7.1).
const MIN_MSS: u32 = 536;
/// Packets that confirm a size that another sign has proposed.
const CONFIRMING_PACKETS: u8 = 2;
/// Equal packets without PSH that establish a size by themselves.
const EQUAL_PACKETS: u8 = 8;
/// The minimum path MTU that Linux accepts (`ip_rt_min_pmtu`): smaller packets are application messages.
const MIN_PATH_MTU: u32 = 552;
/// Unsuccessful timeouts that indicate a size problem if no smaller segments followed: Linux probes for the
/// size after this many (`tcp_retries1`).
const FUTILE_TIMEOUTS: u32 = 3;
/// Smaller segments follow the ones they replace within two round trips and this.
const REPLACED_WITHIN: Span = Span::from_millis(10);
/// Maximum number of spans kept, and of lost probes.
const MAX_SPANS: usize = 16;
const MAX_PROBES: usize = 64;
/// Outstanding segments examined for the one sent first.
const MAX_EXAMINED: usize = 64;
/// The receiver gets ACKs if it sends data this long after full segments stopped passing, and this many
/// packets of it without a retransmission. Without ACKs it would have had two timeouts (RFC 6298 section 2.1:
/// 1 s before the first sample).
const RECEIVER_DATA_AFTER: Span = Span::from_secs(3);
const MIN_RECEIVER_PACKETS: u32 = 3;

/// Sizes of a direction's segments.
#[derive(Clone, Copy, Debug)]
pub struct SegmentSizes {
    /// The largest payload of a packet on the wire, as far as known; not zero.
    pub mss: Option<u32>,
    /// Maximum payload of a segment according to the SYNs.
    most: Option<u32>,
    /// Maximum payload of a segment with options, for a sender that subtracts them.
    agreed: Option<u32>,
    /// Header bytes of the last packet: IP and TCP, and link layer and tunnels around them.
    pub header: u16,
    pub outside: u16,
    /// The largest packet ever acknowledged.
    pub largest_acked: Option<u32>,
    /// IP bytes of a full segment that was seen; before one was, the MSS is what the SYNs suggest.
    seen_full: Option<u32>,
    /// Super-packets that receive offload made.
    joined: JoinedSegments,
    /// Changes of the size.
    pub watch: SizeChanges,
}

impl SegmentSizes {
    /// Begins with what the SYNs state.
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
            watch: SizeChanges::default(),
        }
    }

    /// Learns from a data packet. Without the SYNs, a packet larger than an Ethernet frame is a super-packet,
    /// unless it is the first one seen.
    #[inline]
    pub fn learn(&mut self, p: &TcpPacket) {
        (self.header, self.outside) = (p.header, p.outside);
        if self.mss.is_some_and(|mss| p.len <= mss) {
            return;
        }
        let header = p.header as u32;
        let Some(most) = self.most else {
            // Receive offload delivers several segments as one.
            if self.mss.is_some_and(|mss| p.len.is_multiple_of(mss)) {
                return;
            }
            if self.mss.is_none() || p.len + header <= ETHERNET_MTU {
                // A small packet says nothing about the MSS.
                let whole = ETHERNET_MTU.saturating_sub(header).max(MIN_MSS);
                self.mss = Some(p.len.clamp(MIN_MSS, whole));
            }
            return;
        };
        if p.len <= most && self.may_grow(p.len) {
            self.mss = Some(p.len);
        }
    }

    /// Returns whether a segment may have `len` bytes if its options are subtracted.
    pub fn is_agreed(&self, len: u32) -> bool {
        self.agreed.is_none_or(|most| len <= most)
    }

    /// Maximum payload of a segment according to the SYNs.
    pub fn largest(&self) -> Option<u32> {
        self.most
    }

    /// Number of segments that `len` bytes of payload take on the wire.
    #[inline]
    pub fn segments(&self, len: u32) -> u32 {
        let mss = self.bytes_or_one();
        // A payload that the SYN permits is one segment, even if its sender did not subtract options.
        let allowed = self.watch.before.is_none() && self.most.is_some_and(|most| len <= most);
        if len <= mss || allowed { 1 } else { len.div_ceil(mss) }
    }

    /// Returns whether `len` bytes are a whole number of full segments.
    #[inline]
    pub fn is_full(&self, len: u32) -> bool {
        len.is_multiple_of(self.bytes_or_one())
    }

    /// The MSS; one byte while it is unknown.
    #[inline]
    pub fn bytes_or_one(&self) -> u32 {
        self.mss.unwrap_or(1).max(1)
    }
}

/// Changes in the size of full segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeChanges {
    /// The size before it fell first.
    pub before: Option<u32>,
    /// Smallest MTU that ICMP reported.
    pub path_mtu: Option<u32>,
    /// A size that full segments may have now, and the number of packets since that confirm it.
    candidate: Option<u32>,
    shown: u8,
    /// Size of the last packet without PSH below the full size, and how many equal ones in a row.
    run: u32,
    in_run: u8,
    /// Size of a packet above the full size after that fell, and how many equal ones in a row.
    larger: u32,
    in_larger: u8,
}

/// Super-packets that receive offload made of segments whose size no packet shows alone.
#[derive(Clone, Copy, Debug, Default)]
struct JoinedSegments {
    /// Greatest common divisor of their sizes, bytes.
    divisor: u32,
    /// Number of super-packets in a row.
    count: u8,
}

impl JoinedSegments {
    /// Adds a packet larger than a segment. Returns the size of its segments, at most `most`, once enough
    /// packets agree. A packet with PSH is ignored, because it may end in a smaller segment.
    fn size(&mut self, p: &TcpPacket, most: u32) -> Option<u32> {
        if p.flags.has(TcpFlags::PSH) {
            return None;
        }
        let common = greatest_common_divisor(self.divisor, p.len);
        (self.divisor, self.count) =
            if common < MIN_MSS { (p.len, 1) } else { (common, self.count.saturating_add(1)) };
        let pieces = self.divisor.div_ceil(most.max(1));
        let size = self.divisor.is_multiple_of(pieces).then(|| self.divisor / pieces)?;
        (self.count >= EQUAL_PACKETS && size >= MIN_MSS).then_some(size)
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if a == 0 { b } else { greatest_common_divisor(b % a, a) }
}

/// Full segments that do not get through.
#[derive(Debug, Default)]
pub struct StuckSegments {
    /// Finished spans: smaller segments followed.
    pub over: Vec<OversizeSpan>,
    /// The current span.
    open: Option<OversizeSpan>,
    /// A smaller segment that was sent in this span has arrived.
    small_arrived: bool,
    /// The sender has retransmitted smaller segments in this span, and still had a timeout.
    cut: bool,
    smaller_in_vain: bool,
    /// Number of late data packets of the receiver in this span, and whether the receiver retransmitted any.
    receiver_packets: u32,
    receiver_retransmitted: bool,
    /// The last segment larger than the others, until its fate is known.
    pub probe: Option<SentProbe>,
    /// When probes were sent that were lost.
    pub lost_probes: Vec<Time>,
}

/// A segment larger than the others, sent to probe the path MTU.
#[derive(Clone, Copy, Debug)]
pub struct SentProbe {
    pub seq: u64,
    pub len: u32,
    pub time: Time,
}

impl StuckSegments {
    /// Notes that a segment has arrived.
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
            self.open = None; // Unrelated: a segment of this size got through.
        } else {
            self.small_arrived |= s.len < span.size && s.time > span.from;
        }
    }

    /// Notes that `first`, or a piece of it, was retransmitted by `p`.
    pub fn note_retransmission(&mut self, p: &TcpPacket, first: Option<SentSegment>) {
        let Some((probe, first)) = self.probe.zip(first).filter(|(probe, s)| s.seq == probe.seq) else {
            return;
        };
        self.probe = None;
        if first.sent == 1 && p.len < probe.len && self.lost_probes.len() < MAX_PROBES {
            self.lost_probes.push(probe.time);
        }
    }
}

impl SegmentSizes {
    /// Processes an MTU that ICMP reported.
    pub fn icmp_mtu(&mut self, mtu: u32) {
        self.watch.path_mtu = Some(self.watch.path_mtu.map_or(mtu, |m| m.min(mtu)));
        self.propose(mtu.saturating_sub(self.header as u32));
    }

    /// Proposes a new size of full segments.
    fn propose(&mut self, size: u32) {
        if size > 0 && self.mss.is_some_and(|mss| size < mss) && self.watch.candidate != Some(size) {
            (self.watch.candidate, self.watch.shown) = (Some(size), 0);
        }
    }

    /// Returns whether segments may grow to `len` bytes again after they had shrunk. One packet does not
    /// suffice, because it may be a probe (RFC 4821 section 7.4) or a super-packet, nor does one that leaves
    /// no room for its options.
    #[inline]
    pub fn may_grow(&mut self, len: u32) -> bool {
        if self.watch.before.is_none() && self.is_agreed(len) {
            return true;
        }
        if len.is_multiple_of(self.bytes_or_one()) {
            return false;
        }
        let w = &mut self.watch;
        w.in_larger = if len == w.larger { w.in_larger.saturating_add(1) } else { 1 };
        w.larger = len;
        w.in_larger > CONFIRMING_PACKETS
    }

    /// Returns whether a packet of new data is larger than full segments have become, but no larger than the
    /// SYNs permit, and not the end of a write (`tcp_mtu_probe`).
    #[inline]
    pub fn is_probe(&self, p: &TcpPacket) -> bool {
        self.watch.before.is_some()
            && !p.flags.has(TcpFlags::PSH)
            && self.mss.is_some_and(|mss| p.len > mss && !p.len.is_multiple_of(mss))
            && self.largest().is_some_and(|most| p.len <= most)
    }

    /// Processes a data packet. Returns whether full segments have become smaller.
    #[inline]
    pub fn process(&mut self, p: &TcpPacket) -> bool {
        let mss = self.bytes_or_one();
        if p.len == mss {
            (self.watch.in_run, self.watch.candidate) = (0, None);
            self.seen_full = Some(mss + u32::from(p.header));
            return false;
        }
        self.process_other(p, mss)
    }

    /// Processes a data packet that is not exactly one full segment.
    fn process_other(&mut self, p: &TcpPacket, mss: u32) -> bool {
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
            if w.shown >= CONFIRMING_PACKETS {
                return self.set_size(size);
            }
        }
        if p.len > mss {
            let size = self.agreed.and_then(|most| self.joined.size(p, most));
            return size.is_some_and(|size| size < mss && self.set_size(size));
        }
        let w = &mut self.watch;
        match p.flags.has(TcpFlags::PSH) {
            true if p.len > w.run => w.in_run = 0,
            true => {}
            false if p.len == w.run => w.in_run = w.in_run.saturating_add(1),
            false => (w.run, w.in_run) = (p.len, 1),
        }
        let (run, long) =
            (w.run, w.in_run >= EQUAL_PACKETS && w.run + u32::from(self.header) >= MIN_PATH_MTU);
        long && self.set_size(run)
    }

    /// Returns whether the MSS, guessed from the first packet because no SYN was seen, was the size of a
    /// super-packet: a packet without PSH divides it, so that is the size of a full segment.
    fn is_part_of_guess(&self, p: &TcpPacket, mss: u32) -> bool {
        let guessed = self.most.is_none() && self.watch.before.is_none();
        guessed && (MIN_MSS..mss).contains(&p.len) && mss.is_multiple_of(p.len) && !p.flags.has(TcpFlags::PSH)
    }

    /// Sets the size of full segments. Returns whether their packets are smaller than those seen before. They
    /// are not if no full segment of the size that the SYNs suggest was seen, nor if options take the bytes
    /// that the payload lost (MPTCP, RFC 8684; SACK blocks in data packets).
    fn set_size(&mut self, size: u32) -> bool {
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
    /// Checks retransmitted data up to `end` for a size problem; `first` is the segment that it was part of.
    pub(super) fn watch_segment_size(
        &mut self,
        p: &TcpPacket,
        (end, first): (u64, Option<SentSegment>),
        (kind, timer): (PacketKind, bool),
        now: Time,
    ) {
        let Some((first, mss)) = first.filter(|s| !s.is_unseen()).zip(self.sizes.mss) else { return };
        let timeout = timer && kind == PacketKind::Timeout;
        let last = self.scoreboard.list.get(self.scoreboard.find(end - 1));
        let cut = !p.len.is_multiple_of(mss) && last.is_some_and(|s| s.end() > end && !s.is_unseen());
        let again = timeout && p.len == mss && first.len >= mss;
        self.stuck.smaller_in_vain |= timeout && self.stuck.cut;
        // Smaller packets, or the handshake, got through before. If larger ones did, that says nothing about
        // now; a small one that was sent behind full ones and arrived while they are retransmitted does.
        let mut outstanding = self.scoreboard.list.iter().take(MAX_EXAMINED);
        let behind = |s: &SentSegment| s.sacked && s.sent == 1 && s.len < mss;
        let smaller_passed = self.sizes.largest_acked.map_or(self.handshake.syn_ack, |acked| acked < mss)
            || again && (self.stuck.small_arrived || outstanding.any(behind));
        if !cut && !again {
            return;
        }
        let sent = self.scoreboard.list.iter().take(MAX_EXAMINED).map(|s| s.time).min().unwrap_or(now);
        let since = self.recovery.progress.max(self.times.first).unwrap_or(now).min(sent);
        let from = if timeout { since } else { first.time };
        let passed_since = self.stuck.open.is_some_and(|s| self.recovery.progress > Some(s.to));
        if passed_since && self.sizes.watch.candidate.is_none() {
            self.stuck.open = None; // Unrelated: data got through since.
        }
        if self.stuck.open.is_none() {
            (self.stuck.receiver_packets, self.stuck.receiver_retransmitted) = (0, false);
            (self.stuck.cut, self.stuck.smaller_in_vain, self.stuck.small_arrived) = (false, false, false);
        }
        let span = self.stuck.open.get_or_insert(OversizeSpan {
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
            // For a super-packet (segmentation offload), the following packets must show how large its
            // segments are.
            self.sizes.propose(p.len);
        }
    }

    /// Notes data that the receiver sends.
    #[inline]
    pub fn receiver_sends(&mut self, kind: PacketKind, now: Time) {
        let Some(span) = &self.stuck.open else { return };
        match kind {
            PacketKind::Data => {
                self.stuck.receiver_packets += u32::from(now.since(span.from) > RECEIVER_DATA_AFTER)
            }
            _ => self.stuck.receiver_retransmitted = true,
        }
    }

    /// Ends a span when full segments have become smaller: their size was the cause.
    #[cold]
    pub(super) fn end_stuck_span(&mut self, now: Time) {
        let soon = self.rtt.estimate.or_zero() * 2 + REPLACED_WITHIN;
        if let Some(span) = self.stuck.open.take().filter(|s| now.since(s.to) <= soon)
            && self.stuck.over.len() < MAX_SPANS
        {
            // The first smaller segment got through, or the size was not the cause.
            let smaller_passed = span.smaller_passed || !self.stuck.smaller_in_vain;
            self.stuck.over.push(OversizeSpan { to: now, fits: self.sizes.mss, smaller_passed, ..span });
        }
    }

    /// Returns the spans at the connection's end. A current span counts if it had enough timeouts.
    pub(super) fn too_big(&mut self, last: Time) -> Vec<OversizeSpan> {
        let mut spans = std::mem::take(&mut self.stuck.over);
        let receiver_packets =
            self.stuck.receiver_packets >= MIN_RECEIVER_PACKETS && !self.stuck.receiver_retransmitted;
        let vain = self.stuck.open.take().filter(|s| s.timeouts >= FUTILE_TIMEOUTS);
        spans.extend(vain.map(|s| OversizeSpan {
            to: s.to.max(last),
            smaller_passed: s.smaller_passed || receiver_packets,
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
            sizes.process(&packet(*len, *push))
        });
        fell.filter(|fell| *fell).count()
    }

    #[test]
    fn a_proposed_size_is_accepted_once_packets_confirm_it() {
        let mut s = sizes();
        take(&mut s, &[(1448, false)]);
        s.icmp_mtu(1476);
        assert_eq!((take(&mut s, &[(1424, true)]), s.mss), (0, Some(1448)));
        assert_eq!((take(&mut s, &[(1424, true)]), s.mss, s.watch.before), (1, Some(1424), Some(1448)));
        // Segmentation offload: a super-packet of two segments. Proposed and refuted.
        s.icmp_mtu(1052);
        take(&mut s, &[(2848, true), (2000, true), (1424, true)]);
        assert_eq!((take(&mut s, &[(1000, true), (1000, true)]), s.mss), (0, Some(1424)));
    }

    #[test]
    fn a_packet_with_psh_is_not_a_full_segment() {
        let mut s = sizes();
        assert_eq!((take(&mut s, &[(1000, true); 100]), s.mss), (0, Some(1448)));
        assert_eq!(take(&mut s, &[(1000, false), (1000, true), (900, false), (448, true)].repeat(9)), 0);
    }

    #[test]
    fn a_run_of_equal_packets_without_psh_is_full() {
        let mut s = sizes();
        take(&mut s, &[(1448, false)]);
        let burst = [(1424, false), (1424, true)];
        assert_eq!((take(&mut s, &burst.repeat(7)), s.mss), (0, Some(1448)));
        assert_eq!((take(&mut s, &burst), s.mss), (1, Some(1424)));
        // They grow again once several packets are larger, not because of one probe.
        take(&mut s, &[(1440, false), (1424, false), (1424, false)]);
        assert_eq!(s.mss, Some(1424));
        take(&mut s, &[(1440, false); 3]);
        assert_eq!(s.mss, Some(1440));
    }

    /// MPTCP's options take 20 bytes of each segment: none ever had the 1448 bytes that the SYNs suggest.
    #[test]
    fn segments_that_were_never_larger_did_not_shrink() {
        for push in [false, true] {
            let mut s = sizes();
            let run: Vec<(u32, bool)> = (0..40).map(|i| (1428, push && i % 4 == 3)).collect();
            assert_eq!((take(&mut s, &run), s.mss, s.watch.before), (0, Some(1428), None));
        }
        // Receive offload delivers two to ten of them as one.
        let mut s = sizes();
        let joined: Vec<(u32, bool)> = (0..20).map(|i| (1428 * (2 + i % 9), false)).collect();
        assert_eq!((take(&mut s, &joined), s.mss, s.watch.before), (0, Some(1428), None));
        assert!(s.is_full(14_280) && s.segments(14_280) == 10);
        // SACK blocks in data packets take the bytes by which the payload shrank.
        let mut s = sizes();
        take(&mut s, &[(1448, false)]);
        let with_blocks = TcpPacket { header: 64, ..packet(1436, false) };
        let fell = (0..20).filter(|_| {
            s.learn(&with_blocks);
            s.process(&with_blocks)
        });
        let fell = fell.count();
        assert_eq!((fell, s.watch.before), (0, None));
    }
}
