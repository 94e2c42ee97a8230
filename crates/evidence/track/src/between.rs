//! What a second capture, at the other end of the path, says of packets.

use crate::{PackedSpan, SpanHistogram};
use units::{Span, Time};

/// What became of a packet on its way from one capture to the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketBeyond {
    /// There is no other capture.
    #[default]
    Unasked,
    /// It is not known: the other capture had not begun, had ended, or missed packets.
    Unknown,
    /// It was on its way for `late` longer than that takes at least; `lost` bytes of its payload did not arrive. Of a packet that
    /// was lost, `late` is not known.
    Sent {
        /// Queueing on the way.
        late: PackedSpan,
        /// Bytes of payload.
        lost: u32,
    },
    /// Its sender wrote down what became of it: so many bytes of its payload were lost.
    Told {
        /// Bytes of payload.
        lost: u32,
    },
    /// It came from the other capture, so much later than the way takes at least.
    Came(PackedSpan),
}

/// What is known of the way of one direction between both captures.
#[derive(Clone, Debug, Default)]
pub struct WayBetween {
    /// Packets with payload of which it is not known whether they arrived: the other capture had not begun, had ended, or missed
    /// packets.
    pub unknown_packets: u64,
    /// Payload sent again although an earlier transmission of it arrived, bytes.
    pub needless_bytes: u64,
    /// Packets without payload, ACKs as a rule.
    pub bare_packets: u64,
    /// Of these, those that were lost.
    pub bare_lost: u64,
    /// What the way took at least, ns, for any packet between the two hosts; off by at most half of [`ClockFit::round_trip`](crate::both_ends::ClockFit::round_trip).
    /// `None`: nothing arrived.
    pub least_ns: Option<i64>,
    /// How much longer than that packets took.
    pub late: SpanHistogram,
    /// The same over time.
    pub over_time: Vec<LateSpan>,
    /// Packets with payload that were lost, wholly or in part; the first [`WayBetween::lost_packets`] of them that fit.
    pub lost: Vec<LostOnWay>,
    /// How many there are.
    pub lost_packets: u64,
}

/// What is known of the way of one direction of a UDP flow between both captures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatagramsBetween {
    /// Datagrams that arrived.
    pub arrived_packets: u64,
    /// That were lost.
    pub lost_packets: u64,
    /// Of which it is not known: the other capture had not begun or had ended, or offload cut or joined them.
    pub unknown_packets: u64,
    /// That came more than once.
    pub doubled: u64,
    /// That came after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// The most lost one after the other.
    pub longest_run: u64,
    /// Segmentation offload joined datagrams in one of the captures: losses are not told.
    pub cut: bool,
    /// What the way took at least, ns. `None`: nothing arrived, or it cannot be known ([`ClockFit::two_way`](crate::both_ends::ClockFit::two_way)).
    pub least_ns: Option<i64>,
    /// How much longer than that datagrams took.
    pub late: SpanHistogram,
    /// By how much the delays of two differ that arrived one after the other, in the mean.
    pub jitter: Option<Span>,
    /// The most that RFC 3550's interarrival jitter was.
    pub max_jitter: Option<Span>,
    /// All of it over time.
    pub over_time: Vec<LateSpan>,
    /// When those lost were sent; the first thousand.
    pub lost: Vec<Time>,
}

/// Queueing in a part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LateSpan {
    /// When it begins.
    pub from: Time,
    /// Packets that arrived.
    pub arrived: u32,
    /// Those with payload of which something was lost.
    pub lost: u32,
    /// How much longer than at least they took, all added up.
    pub sum: Span,
    /// The longest.
    pub most: Span,
}

/// A packet that was lost between the captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostOnWay {
    /// When it passed the capture on its sender's side.
    pub time: Time,
    /// Which TCP packet of that capture it is, from 0.
    pub index: u32,
    /// Its sequence number, as it stands in the packet.
    pub seq: u32,
    /// Its payload that was lost, bytes.
    pub bytes: u32,
    /// It had been sent before.
    pub again: bool,
}
