//! The tracker's result for one direction of one connection: everything that a diagnosis needs, in memory
//! that does not grow with the number of packets.
//!
//! The direction is that of the data: `sender` sends it, `receiver` acknowledges it. `up` is the part of the
//! path between sender and capture, `down` the part between capture and receiver:
//!
//! ```text
//!   sender ---- up ---- capture ---- down ---- receiver
//!          data ->                      <- ACKs
//! ```
//! RTT = up + down at every vantage point. `down` is measured from data to its ACK, `up` from an ACK to the
//! first data that echoes its timestamp (or that its window permitted).
//!
//! Losses: a packet that was seen and had to be retransmitted was lost `down`. A packet that was never seen
//! although later ones were was lost `up`. Bytes that were acknowledged but never seen were missed by the
//! capture itself.

use crate::between::PathBetween;
use crate::{Exchanges, FirstPackets, PackedBytes, PackedSpan, ResetTrace, SetupTrace, SpanHistogram};
use capture::Endpoint;
use units::{Span, Time};

/// One direction of one connection.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Number of the connection in the capture, from 0, in order of first packets.
    pub connection: u32,
    pub sender: Endpoint,
    pub receiver: Endpoint,
    /// The sender sent the SYN (or, without a handshake, the first packet seen).
    pub opened: bool,
    /// First packet of the connection in either direction.
    pub first: Time,
    /// Last packet of the connection in either direction.
    pub last: Time,
    /// First packet with payload in this direction.
    pub first_data: Option<Time>,
    /// Last packet with payload, or the ACK of the last payload if that came later.
    pub last_data: Option<Time>,
    pub handshake: Handshake,
    /// Payload bytes of the largest segment on the wire (for super-packets: the announced MSS minus options,
    /// or the most frequent length); `None` if neither SYNs nor data were seen.
    pub mss: Option<u32>,
    /// The MSS before it fell during the connection; `None` if it did not fall.
    pub mss_before: Option<u32>,
    /// Smallest MTU that ICMP reported ("fragmentation needed", RFC 1191), bytes.
    pub path_mtu: Option<u32>,
    /// The largest IP packet, bytes, that would have arrived whole where others arrived in fragments, to the
    /// 8 bytes in which fragments are cut; `None` if none were fragmented.
    pub fragment_fits: Option<u32>,
    /// Times in which full segments did not get through, apparently because of their size.
    pub too_big: Vec<OversizeSpan>,
    /// When segments larger than the others were sent that were lost alone and then retransmitted in smaller
    /// ones: path MTU probes of the sender (RFC 4821 section 7.4).
    pub lost_probes: Vec<Time>,
    /// Header bytes of a full segment, IP and TCP.
    pub header: u32,
    /// Bytes that the link layer and tunnels add to each packet at the capture.
    pub outside: u32,
    pub counts: TrackCounts,
    /// Round trips between capture and receiver, of segments sent once (Karn's algorithm).
    pub rtt_down: SpanHistogram,
    /// Round trips between capture and sender.
    pub rtt_up: SpanHistogram,
    /// Round trips of the whole path: `rtt_down` of a packet plus the `rtt_up` in force when it passed.
    pub rtt: SpanHistogram,
    /// Width of the bins.
    pub bin: Span,
    /// Counts over time in bins counted from `first`. Bins without a packet and without a pause are left
    /// out.
    pub bins: Vec<Bin>,
    /// Packets in the order in which they passed; those lost `up` in the order in which they would have
    /// passed.
    pub log: Vec<LoggedPacket>,
    /// Packets of the same fate closer together than this were merged; zero: none.
    pub merged: Span,
    /// Timeouts and long silences with data outstanding, in order of time; at most [`MAX_WAITS`].
    pub waits: Vec<LongWait>,
    /// The connection's handshake; the same in both directions.
    pub setup: SetupTrace,
    /// The connection's reset; the same in both directions.
    pub reset: Option<ResetTrace>,
    /// ACKs that announced a window of zero after a larger one.
    pub zero_windows: FirstPackets,
    /// Response times of the sender, if it is the server.
    pub exchanges: Option<Box<Exchanges>>,
    /// Small segments that the sender held back until everything before them was acknowledged, while the
    /// receiver delayed that ACK.
    pub held: FirstPackets,
    /// Payload bytes of ACK-clocked bursts sent back to back (gaps below a tenth of the RTT and 1 ms).
    pub bursts: Bursts,
    /// Results of a capture at the other end; `None` without one.
    pub between: Option<Box<PathBetween>>,
}

/// Maximum length of [`Track::waits`].
pub const MAX_WAITS: usize = 1024;

/// Contents of a connection's SYNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    pub syn: bool,
    pub syn_ack: bool,
    /// RTT of the handshake: SYN to the ACK of the SYN/ACK, minus what the capture did not see.
    pub rtt: Option<Span>,
    /// The part between this direction's sender and the capture.
    pub up: Option<Span>,
    /// The part between the capture and this direction's receiver.
    pub down: Option<Span>,
    /// MSS that the receiver announced.
    pub mss: Option<u16>,
    /// Shift of the receiver's windows, 0 unless both ends offered scaling; `None`: unknown.
    pub wscale: Option<u8>,
    /// Whether both ends offered window scaling, even by 0; `None`: unknown.
    pub scaled: Option<bool>,
    /// The sender had more in flight than windows shifted by the offered scale permit, and it was
    /// acknowledged. So the offered scale is wrong, and `wscale` is `None`.
    pub scale_is_wrong: bool,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// The snap length cut off options of a SYN, so what they offered is unknown.
    pub options_cut: bool,
}

/// Counts over the whole life of a direction. "Packets" are segments on the wire: a super-packet counts as
/// the segments that it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackCounts {
    /// All packets, ACKs without payload included.
    pub packets: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Data packets and ACKs whose options were cut off by the snap length, so that their timestamps and
    /// SACK blocks are unknown.
    pub options_cut: u64,
    /// Payload bytes seen, retransmissions included.
    pub payload_bytes: u64,
    /// Payload bytes, each counted once.
    pub unique_bytes: u64,
    /// IP bytes of all packets.
    pub ip_bytes: u64,
    /// Payload bytes acknowledged.
    pub acked_bytes: u64,
    /// Data packets that were sent before: seen before, or filling a gap without being reordered.
    pub retransmitted_packets: u64,
    /// Payload bytes of the retransmitted packets.
    pub retransmitted_bytes: u64,
    /// Retransmissions within a recovery that duplicate ACKs or SACK started.
    pub fast: u64,
    /// Retransmissions after a retransmission timeout, go-back-N included.
    pub rto: u64,
    /// Tail loss probes (RFC 8985 section 7).
    pub tlp: u64,
    /// Spurious retransmissions, shown by D-SACK (RFC 2883), by the ACK's timestamp (RFC 3522), or because
    /// the ACK came sooner than the path permits.
    pub spurious: u64,
    /// Retransmission timeouts, each counted once, regardless of how much was retransmitted.
    pub timeouts: u64,
    /// Packets lost between sender and capture.
    pub lost_up: u64,
    /// Packets lost between capture and receiver.
    pub lost_down: u64,
    /// Packets that arrived late because of reordering before the capture, not retransmitted.
    pub reordered: u64,
    /// The largest delay of a reordered packet.
    pub reordered_by: Span,
    /// ACKs from the receiver.
    pub acks: u64,
    /// Duplicate ACKs.
    pub dup_acks: u64,
    /// ACKs with SACK blocks.
    pub sacks: u64,
    /// ACKs with a D-SACK block.
    pub dsacks: u64,
    /// How often the receive window closed to zero.
    pub zero_windows: u64,
    /// Window probes and keep-alives from the sender.
    pub probes: u64,
    /// Data packets below the MSS with PSH: the application had written no more.
    pub short: u64,
    /// Time in which the sender had sent everything that its application had written
    /// ([`PauseKind::AppLimited`]).
    pub app_limited: Span,
    /// The part of it that an ACK ended: the application had more to write and waited for room in the send
    /// buffer.
    pub app_limited_until_ack: Span,
    /// Time in which a small segment was held back until a delayed ACK arrived ([`PauseKind::Held`]).
    pub held: Span,
    /// Payload bytes that were acknowledged but never seen.
    pub missed_bytes: u64,
    /// Duplicate records in the capture.
    pub duplicate_records: u64,
    /// ECN-capable data packets.
    pub ect: u64,
    /// Data packets marked CE at the capture.
    pub ce: u64,
    /// ACKs with ECN-Echo.
    pub ece: u64,
    /// Resets in either direction.
    pub resets: u64,
    /// Whether the sender sent a FIN.
    pub fin: bool,
    /// Full-sized segments that were lost repeatedly while smaller ones passed (a path MTU problem), or ICMP
    /// messages "packet too big".
    pub too_big: u64,
    /// ICMP messages "packet too big".
    pub icmp_too_big: u64,
    /// Packets that arrived in IP fragments, or in a tunnel packet that did.
    pub fragmented_packets: u64,
    pub fragments: u64,
    /// Fragmented packets of which some fragments never arrived: they count as lost before the capture.
    pub incomplete_packets: u64,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseKind {
    /// Nothing was in flight, and the application had nothing to send.
    Idle,
    /// Everything that the application had written was sent, in flight or not.
    AppLimited,
    /// The receive window had no room for another segment.
    WindowFull,
    /// The receive window had no room although nothing was in flight, and the sender had more to send.
    WindowShut,
    /// A small segment was held back until everything before it was acknowledged, and the receiver delayed
    /// that ACK (Nagle's algorithm).
    Held,
    /// A silence that a retransmission timeout or a tail loss probe ended.
    Timeout,
    /// A silence in both directions with data outstanding, longer than four RTTs and 200 ms, that ended
    /// because the path recovered.
    Silence,
}

/// Number of kinds of pauses.
const PAUSES: usize = PauseKind::Silence as usize + 1;

/// Counts in a slice of time. Pauses add up to at most its width, not counting application-limited time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Index of the bin: time since `first` divided by the width.
    pub index: u32,
    /// Payload bytes sent for the first time.
    pub sent: u32,
    /// Payload bytes retransmitted.
    pub resent: u32,
    /// Payload bytes newly acknowledged, cumulatively or by SACK.
    pub acked: u32,
    pub packets: u32,
    /// Packets that passed in this bin and were lost, on either side of the capture.
    pub lost: u32,
    pub acks: u32,
    /// Data packets below the MSS with PSH.
    pub short: u32,
    /// Maximum of the bytes in flight as the sender sees them: data seen minus what was acknowledged `up`
    /// ago.
    pub inflight: u32,
    /// Minimum receive window, bytes; unknown if its scale is.
    pub window: PackedBytes,
    /// Minimum one-way delay of the sender's packets to the capture, above the minimum of the connection, by
    /// its timestamps.
    pub data_delay: PackedSpan,
    /// Minimum one-way delay of the receiver's packets to the capture, above the minimum of the connection,
    /// by its timestamps.
    pub ack_delay: PackedSpan,
    /// RTTs of packets acknowledged in this bin, as in [`Track::rtt`].
    pub rtts: BinRtts,
    /// Microseconds of each [`PauseKind`].
    pub(crate) pauses: [u32; PAUSES],
}

impl Bin {
    /// How much of the bin was a pause of this kind.
    #[inline]
    pub fn paused(&self, kind: PauseKind) -> Span {
        Span::from_micros(self.pauses[kind as usize].into())
    }

    /// Removes the receive window and the time in which it was full.
    pub(crate) fn forget_window(&mut self) {
        self.window = PackedBytes::UNKNOWN;
        self.pauses[PauseKind::WindowFull as usize] = 0;
    }

    /// Adds microseconds to the pauses of this kind.
    pub(crate) fn add_pause(&mut self, kind: PauseKind, us: u32) {
        let sum = &mut self.pauses[kind as usize];
        *sum = sum.saturating_add(us);
    }

    /// Merges the following bin into this one.
    pub(crate) fn merge(&mut self, next: &Bin) {
        let sums = [
            (&mut self.sent, next.sent),
            (&mut self.resent, next.resent),
            (&mut self.acked, next.acked),
            (&mut self.packets, next.packets),
            (&mut self.lost, next.lost),
            (&mut self.acks, next.acks),
            (&mut self.short, next.short),
        ];
        for (sum, n) in sums.into_iter().chain(self.pauses.iter_mut().zip(next.pauses)) {
            *sum = sum.saturating_add(n);
        }
        self.inflight = self.inflight.max(next.inflight);
        self.window = self.window.least(next.window);
        self.data_delay = self.data_delay.least(next.data_delay);
        self.ack_delay = self.ack_delay.least(next.ack_delay);
        self.rtts.merge(&next.rtts);
    }
}

/// RTTs of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BinRtts {
    pub least: PackedSpan,
    pub greatest: PackedSpan,
    /// Number of samples.
    pub count: u32,
    /// Sum of the samples, microseconds.
    sum_us: u64,
}

impl BinRtts {
    /// Sum of the samples.
    pub fn sum(&self) -> Span {
        Span::from_micros(self.sum_us)
    }

    /// Adds a sample.
    #[inline]
    pub(crate) fn record(&mut self, rtt: Span) {
        let packed = PackedSpan::known(rtt);
        self.least = self.least.least(packed);
        self.greatest = self.greatest.greatest(packed);
        self.sum_us += rtt.as_micros();
        self.count += 1;
    }

    fn merge(&mut self, next: &BinRtts) {
        self.least = self.least.least(next.least);
        self.greatest = self.greatest.greatest(next.greatest);
        self.sum_us = self.sum_us.saturating_add(next.sum_us);
        self.count = self.count.saturating_add(next.count);
    }
}

/// The fate of a packet, or of several merged ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketFate {
    #[default]
    Passed,
    /// Lost between sender and capture.
    LostUp,
    /// Lost between capture and receiver.
    LostDown,
}

/// A data packet that passed the vantage point, or was lost before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggedPacket {
    /// When it passed, nanoseconds since 1970.
    pub time: Time,
    /// IP bytes on the wire, including the headers of all segments of a super-packet.
    pub bytes: u32,
    /// Payload bytes.
    pub payload: u32,
    /// RTT of a packet that arrived, as in [`Track::rtt`]; unknown for retransmissions and before the first
    /// sample.
    pub rtt: PackedSpan,
    /// Number of segments.
    pub segments: u16,
    /// Whether it is a retransmission.
    pub again: bool,
    /// One-way delay to the capture above the minimum of the connection, by the sender's timestamps.
    pub delay: PackedSpan,
    pub fate: PacketFate,
    /// Number in the capture, from 1, as Wireshark's `frame.number`; for a packet lost before the capture,
    /// that of the packet which shows that it is missing; for merged packets, that of the first.
    pub number: u32,
}

/// The cause or the end of a long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A retransmission timeout.
    Timeout,
    /// A tail loss probe (RFC 8985 section 7).
    Probe,
    /// The path recovered: no packet passed in either direction, then ACKs or data did, without a timeout of
    /// the sender.
    Silence,
    /// A zero window that opened.
    ZeroWindow,
}

/// A long wait with data outstanding or with a window of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongWait {
    /// Last packet before the wait.
    pub from: Time,
    /// The packet that ended it.
    pub to: Time,
    pub why: WaitReason,
}

/// An interval in which no segment of one size arrived, although some were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OversizeSpan {
    /// When the first of them was sent, or when data last got through before that.
    pub from: Time,
    /// When smaller segments replaced them, or the connection's last packet.
    pub to: Time,
    /// Payload bytes of these segments.
    pub size: u32,
    /// Payload bytes of the segments that replaced them; `None`: none did.
    pub fits: Option<u32>,
    /// Timeouts in this time.
    pub timeouts: u32,
    /// Whether smaller packets of the sender got through meanwhile. If not, the path may have passed nothing
    /// at all.
    pub smaller_passed: bool,
}

/// Number and size of bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bursts {
    /// Number of bursts.
    pub count: u64,
    /// Payload bytes of all bursts.
    pub bytes: u64,
    /// Payload bytes of the largest burst.
    pub largest: u32,
}
