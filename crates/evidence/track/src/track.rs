//! What the tracker keeps of one direction of one connection: all that a diagnosis needs, in memory that
//! does not grow with the number of packets.
//!
//! The direction is that of the data: `sender` sends it, `receiver` acknowledges it. `up` is the part of the
//! path between sender and capture, `down` that between capture and receiver:
//!
//! ```text
//!   sender ---- up ---- capture ---- down ---- receiver
//!          data ->                      <- ACKs
//! ```
//! RTT = up + down, whatever the vantage point: `down` from data to its ACK, `up` from an ACK to the first data
//! that echoes its timestamp (or that its window let out).
//! Losses: a packet seen that had to be sent again was lost `down`; one never seen whose successors were was
//! lost `up`. What was acknowledged but never seen at all, the capture itself missed.

use crate::between::WayBetween;
use crate::{Exchanges, FirstPackets, PackedBytes, PackedSpan, ResetTrace, SetupTrace, SpanHistogram};
use capture::Endpoint;
use units::{Span, Time};

/// One direction of one connection.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Number of the connection in the capture, from 0, in the order of first packets.
    pub connection: u32,
    /// Who sends the data.
    pub sender: Endpoint,
    /// Who acknowledges it.
    pub receiver: Endpoint,
    /// The sender sent the SYN (or, without handshake, the first packet seen).
    pub opened: bool,
    /// First packet of the connection, either direction.
    pub first: Time,
    /// Last.
    pub last: Time,
    /// First packet with payload in this direction.
    pub first_data: Option<Time>,
    /// Last packet with payload, or the ACK of the last payload if that is later.
    pub last_data: Option<Time>,
    /// What the SYNs said.
    pub handshake: Handshake,
    /// Payload bytes of the largest segment on the wire (of a super-packet: the announced MSS less options,
    /// or the commonest length); `None` where neither SYNs nor data were seen.
    pub mss: Option<u32>,
    /// The same before it fell in the midst of the connection; `None` where it did not.
    pub mss_before: Option<u32>,
    /// The least MTU that ICMP named ("fragmentation needed", RFC 1191), bytes.
    pub path_mtu: Option<u32>,
    /// The largest packet that would have come whole where others came in fragments, bytes of IP to the 8 that fragments
    /// are cut by; `None` where none did.
    pub fragment_fits: Option<u32>,
    /// When full segments did not get through, because of their size as it seems.
    pub too_big: Vec<TooBigSpan>,
    /// When segments larger than the others were sent that were lost alone, and then sent again in smaller ones: the
    /// sender tried what the path carries (RFC 4821 section 7.4).
    pub lost_probes: Vec<Time>,
    /// Bytes of headers a full segment has, IP and TCP.
    pub header: u32,
    /// Bytes that link layer and tunnels add to each packet where it was captured.
    pub outside: u32,
    /// The counts.
    pub counts: TrackCounts,
    /// From capture to receiver and back; of segments sent once (Karn).
    pub rtt_down: SpanHistogram,
    /// From capture to sender and back.
    pub rtt_up: SpanHistogram,
    /// Both together, as the sender sees it: `rtt_down` of a packet plus the `rtt_up` in force when it passed.
    pub rtt: SpanHistogram,
    /// Width of a bin.
    pub bin: Span,
    /// What happened in each span of time of width `bin`, counted from `first`; those without any packet and
    /// without any waiting are left out.
    pub bins: Vec<Bin>,
    /// The log: packets in the order they passed (of those lost `up`: would have passed).
    pub log: Vec<LoggedPacket>,
    /// Packets of one fate within this time of each other were merged; zero: none were.
    pub merged: Span,
    /// Timeouts and long silences with data outstanding, in the order of time; at most [`MOST_WAITS`].
    pub waits: Vec<LongWait>,
    /// How the connection was set up; the same of both its directions.
    pub setup: SetupTrace,
    /// How it was reset; likewise.
    pub reset: Option<ResetTrace>,
    /// ACKs that announced a window of zero where the one before had announced more.
    pub zero_windows: FirstPackets,
    /// What the sender was asked, and when it answered; absent of the end that asks.
    pub exchanges: Option<Box<Exchanges>>,
    /// Small segments that their sender held back until all before them was acknowledged, which the receiver put off.
    pub held: FirstPackets,
    /// Payload bytes of ACK-clocked bursts back to back (gaps below a tenth of the RTT and 1 ms): how large.
    pub bursts: Bursts,
    /// What a capture at the other end says; `None` where there was none.
    pub between: Option<Box<WayBetween>>,
}

/// The most [`Track::waits`] kept.
pub const MOST_WAITS: usize = 1024;

/// What the SYNs of a connection said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// The SYN was seen.
    pub syn: bool,
    /// The SYN+ACK was seen.
    pub syn_ack: bool,
    /// RTT of the handshake: SYN to the ACK of the SYN+ACK less what the capture did not see.
    pub rtt: Option<Span>,
    /// The part of it between this direction's sender and the capture.
    pub up: Option<Span>,
    /// The part of it between the capture and this direction's receiver.
    pub down: Option<Span>,
    /// MSS the receiver announced.
    pub mss: Option<u16>,
    /// By how much the receiver's windows are to be shifted, 0 unless both ends offered it; `None`: not known.
    pub wscale: Option<u8>,
    /// Both ends offered window scaling, be it by 0; `None`: not known.
    pub scaled: Option<bool>,
    /// The sender had more on its way than the windows allow if they are shifted by that, and it was acknowledged: so they
    /// are not, and `wscale` is not known.
    pub scale_refuted: bool,
    /// Both ends agreed on SACK.
    pub sack: bool,
    /// Both ends use timestamps.
    pub timestamps: bool,
    /// Both ends agreed on ECN.
    pub ecn: bool,
    /// The snap length cut options of a SYN off: what they offered is not known.
    pub options_cut: bool,
}

/// Counts over the whole life of a direction. "Packets" are segments on the wire: a super-packet counts as
/// many as it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackCounts {
    /// Packets, ACKs without payload among them.
    pub packets: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Data packets and ACKs of which the snap length cut options off: their timestamps and SACK blocks are not known.
    pub options_cut: u64,
    /// Payload bytes seen, retransmissions included.
    pub payload_bytes: u64,
    /// Payload bytes, each once.
    pub unique_bytes: u64,
    /// IP bytes of all packets.
    pub ip_bytes: u64,
    /// Payload bytes acknowledged.
    pub acked_bytes: u64,
    /// Packets with payload that was sent before (seen before, or behind what was seen and not reordered).
    pub retransmitted_packets: u64,
    /// Their payload.
    pub retransmitted_bytes: u64,
    /// Of `retransmitted_packets`: within a recovery that duplicate ACKs or SACK began.
    pub fast: u64,
    /// After a retransmission timeout, go-back-N included.
    pub rto: u64,
    /// Tail loss probes (RFC 8985 section 7).
    pub tlp: u64,
    /// Known needless: by D-SACK (RFC 2883), by the ACK's timestamp (RFC 3522), or acknowledged sooner than
    /// the path allows.
    pub spurious: u64,
    /// Retransmission timeouts, each once however much was sent again.
    pub timeouts: u64,
    /// Packets lost between sender and capture.
    pub lost_up: u64,
    /// Packets lost between capture and receiver.
    pub lost_down: u64,
    /// Packets that came late by reordering before the capture, not retransmitted.
    pub reordered: u64,
    /// The most by which one was late.
    pub reordered_by: Span,
    /// ACKs from the receiver.
    pub acks: u64,
    /// Of them duplicates.
    pub dup_acks: u64,
    /// Of them with SACK blocks.
    pub sacks: u64,
    /// Of them with a D-SACK block.
    pub dsacks: u64,
    /// Windows of zero, each closing once.
    pub zero_windows: u64,
    /// Window probes and keep-alives from the sender.
    pub probes: u64,
    /// Data packets below the MSS with PSH: the sending application had no more at hand.
    pub short: u64,
    /// Time in which the sender had sent all that its application had written ([`PauseKind::AppLimited`]).
    pub app_limited: Span,
    /// The part of it that an ACK ended: the application had more to write, and waited for room in the send buffer.
    pub app_limited_until_ack: Span,
    /// Time in which a small segment was held back until a delayed ACK came ([`PauseKind::Held`]).
    pub held: Span,
    /// Payload bytes acknowledged that the capture never saw.
    pub missed_bytes: u64,
    /// Records that stood in the capture twice.
    pub duplicate_records: u64,
    /// Data packets that were ECN capable.
    pub ect: u64,
    /// Data packets that arrived marked (CE) at the capture.
    pub ce: u64,
    /// ACKs with ECN echo.
    pub ece: u64,
    /// Resets in either direction.
    pub resets: u64,
    /// FIN seen from the sender.
    pub fin: bool,
    /// Full-sized segments that were lost again and again while smaller ones passed (path MTU trouble), or
    /// ICMP said "packet too big".
    pub too_big: u64,
    /// Of these, ICMP messages.
    pub icmp_too_big: u64,
    /// Packets that came in IP fragments, or in a tunnel's packet that did.
    pub fragmented_packets: u64,
    /// The fragments.
    pub fragments: u64,
    /// Of these packets those of which some fragments never came: they count as lost before the capture.
    pub torn_packets: u64,
}

/// Why nothing was sent, as bins count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseKind {
    /// Nothing was outstanding, and the application had nothing to send.
    Idle,
    /// All that the application had written was sent; idle or not.
    AppLimited,
    /// The receive window had no room for another segment.
    WindowFull,
    /// It had none although all was acknowledged, and the sender had more to send.
    WindowShut,
    /// A small segment was held back until all before it was acknowledged, and the receiver delayed that ACK (Nagle).
    Held,
    /// A silence that a retransmission timeout or a tail loss probe ended.
    Timeout,
    /// A silence of both directions with data outstanding, longer than four RTTs and 200 ms, that ended because the
    /// path came back.
    Silence,
}

/// How many kinds of pauses there are.
const PAUSES: usize = PauseKind::Silence as usize + 1;

/// What happened in a span of time. Pauses add up to its width at most, application-limited time apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Which: time since `first` / width.
    pub index: u32,
    /// Payload bytes sent first.
    pub sent: u32,
    /// Payload bytes sent again.
    pub resent: u32,
    /// Payload bytes newly acknowledged, cumulatively or by SACK.
    pub acked: u32,
    /// Data packets.
    pub packets: u32,
    /// Packets that passed in this span and were lost (either side).
    pub lost: u32,
    /// ACKs.
    pub acks: u32,
    /// Data packets below the MSS with PSH.
    pub short: u32,
    /// Most bytes in flight, as the sender sees it (data seen less what was acknowledged `up` ago).
    pub inflight: u32,
    /// Least receive window, bytes; unknown where its scale is.
    pub window: PackedBytes,
    /// Least one-way delay of the sender's packets to the capture above the least ever, by its timestamps.
    pub data_delay: PackedSpan,
    /// The same of the receiver's packets.
    pub ack_delay: PackedSpan,
    /// RTTs of packets acknowledged in this span, as in [`Track::rtt`].
    pub rtts: BinRtts,
    /// Microseconds of each [`PauseKind`].
    pub(crate) pauses: [u32; PAUSES],
}

impl Bin {
    /// How much of this span was a pause of that kind.
    #[inline]
    pub fn paused(&self, kind: PauseKind) -> Span {
        Span::from_micros(self.pauses[kind as usize].into())
    }

    /// The receive window is not known, and whether it was full.
    pub(crate) fn forget_window(&mut self) {
        self.window = PackedBytes::UNKNOWN;
        self.pauses[PauseKind::WindowFull as usize] = 0;
    }

    /// So many microseconds more were a pause.
    pub(crate) fn add_pause(&mut self, kind: PauseKind, us: u32) {
        let sum = &mut self.pauses[kind as usize];
        *sum = sum.saturating_add(us);
    }

    /// Adds what happened in the span after this one.
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
    /// The least.
    pub least: PackedSpan,
    /// The greatest.
    pub greatest: PackedSpan,
    /// How many.
    pub count: u32,
    /// All added up, microseconds.
    sum_us: u64,
}

impl BinRtts {
    /// All added up.
    pub fn sum(&self) -> Span {
        Span::from_micros(self.sum_us)
    }

    /// Takes one.
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

/// What became of a packet, or of a few merged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFate {
    /// It arrived.
    Passed,
    /// Lost between sender and capture.
    LostUp,
    /// Lost between capture and receiver.
    LostDown,
}

/// A packet that passed the vantage point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPacket {
    /// When it passed, nanoseconds since 1970.
    pub time: Time,
    /// IP bytes on the wire, all headers of the segments of a super-packet counted.
    pub bytes: u32,
    /// RTT of one that arrived, as in [`Track::rtt`]; unknown of retransmissions and before the first sample.
    pub rtt: PackedSpan,
    /// How many segments.
    pub segments: u16,
    /// It had been sent before.
    pub again: bool,
    /// By how much its one-way delay to the capture was above the least ever, by the sender's timestamps.
    pub delay: PackedSpan,
    /// What became of it.
    pub fate: PacketFate,
    /// Its number in the capture, from 1, as Wireshark's `frame.number`; of one lost before the capture, that of the packet
    /// which shows that it is missing; of merged ones, that of the first.
    pub number: u32,
}

/// What ended a long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A retransmission timeout.
    Timeout,
    /// A tail loss probe (RFC 8985 section 7).
    Probe,
    /// The path came back: no packet passed either way, then ACKs or data, without a timeout of the sender.
    Silence,
    /// A zero window opened.
    ZeroWindow,
}

/// A long wait with data outstanding, or with a window of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongWait {
    /// Last packet before it.
    pub from: Time,
    /// The packet that ended it.
    pub to: Time,
    /// What ended it.
    pub why: WaitReason,
}

/// A time in which segments of a size were sent in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooBigSpan {
    /// When the first of them was sent, or what came through last before.
    pub from: Time,
    /// When smaller ones had taken their place, or the last packet of the connection.
    pub to: Time,
    /// Their payload, bytes.
    pub size: u32,
    /// The payload of those that took their place; `None`: none did.
    pub fits: Option<u32>,
    /// Timeouts in it.
    pub timeouts: u32,
    /// Smaller packets of the sender came through meanwhile; where they did not, nothing may have passed at all.
    pub smaller_passed: bool,
}

/// Bursts, by size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bursts {
    /// How many.
    pub count: u64,
    /// Payload bytes of all.
    pub bytes: u64,
    /// Of the largest.
    pub largest: u32,
}
