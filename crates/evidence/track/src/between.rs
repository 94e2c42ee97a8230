//! Results of a second capture at the other end of the path, for a packet, a connection and a flow.

use crate::{PackedSpan, SpanHistogram};
use units::{Span, Time};

/// Fate of a packet according to another source than this capture: a second capture at the other end of the
/// path, or the sender's own log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExternalFate {
    /// There is no other source.
    #[default]
    Absent,
    /// The other capture cannot say: it had not begun, had ended, or missed packets.
    Unknown,
    /// The packet left this capture for the other one.
    Sent {
        /// Queueing delay: transit time above the minimum. Unknown for a lost packet.
        late: PackedSpan,
        /// Payload bytes that did not arrive.
        lost: u32,
    },
    /// The sender logged the fate of its packet (qlog).
    Logged {
        /// Payload bytes that did not arrive.
        lost: u32,
    },
    /// The packet came from the other capture with this queueing delay: transit time above the minimum.
    Arrived(PackedSpan),
}

/// Combined result of two captures for the path in one direction of a TCP connection.
#[derive(Clone, Debug, Default)]
pub struct PathBetween {
    /// Packets with payload whose arrival is unknown: the other capture had not begun, had ended, or missed
    /// packets.
    pub unknown_packets: u64,
    /// Payload bytes sent again although an earlier transmission of them arrived.
    pub spurious_bytes: u64,
    /// Packets without payload, mostly ACKs.
    pub packets_without_payload: u64,
    /// Packets without payload that were lost.
    pub lost_without_payload: u64,
    /// Minimum one-way delay of any packet between the two hosts, ns, known to within half of
    /// [`ClockFit::round_trip`](crate::both_ends::ClockFit::round_trip). `None`: nothing arrived.
    pub least_ns: Option<i64>,
    /// Queueing delays: one-way delays above the minimum.
    pub late: SpanHistogram,
    /// Queueing delays and losses over time.
    pub over_time: Vec<DelaySlice>,
    /// Packets with payload that were lost, wholly or in part. The list may be shorter than
    /// [`PathBetween::lost_packets`].
    pub lost: Vec<LostPacket>,
    /// Number of packets with payload that were lost, wholly or in part.
    pub lost_packets: u64,
}

/// Combined result of two captures for one direction of a UDP flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatagramsBetween {
    pub arrived_packets: u64,
    pub lost_packets: u64,
    /// Datagrams whose fate is unknown: the other capture had not begun or had ended, or offload split or
    /// merged them.
    pub unknown_packets: u64,
    /// Datagrams that arrived more than once.
    pub doubled: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// The most datagrams lost in a row.
    pub longest_run: u64,
    /// Segmentation offload merged or split datagrams in one of the captures, so losses are not reported.
    pub cut: bool,
    /// Minimum one-way delay, ns. `None`: nothing arrived, or the clocks' offset is unknown
    /// ([`ClockFit::two_way`](crate::both_ends::ClockFit::two_way)).
    pub least_ns: Option<i64>,
    /// Queueing delays: one-way delays above the minimum.
    pub late: SpanHistogram,
    /// Mean difference between the delays of two datagrams that arrived in succession.
    pub jitter: Option<Span>,
    /// The highest value of RFC 3550's interarrival jitter.
    pub max_jitter: Option<Span>,
    /// Queueing delays and losses over time.
    pub over_time: Vec<DelaySlice>,
    /// When the lost datagrams were sent; at most the first thousand.
    pub lost: Vec<Time>,
}

/// Queueing delays and losses in a slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelaySlice {
    /// Beginning of the slice.
    pub from: Time,
    pub arrived: u32,
    /// Packets with payload of which something was lost.
    pub lost: u32,
    /// Sum of the queueing delays.
    pub sum: Span,
    /// The largest queueing delay.
    pub most: Span,
}

/// A packet that was lost between the captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPacket {
    /// When it passed the capture on its sender's side.
    pub time: Time,
    /// Index of the packet among that capture's TCP packets, from 0.
    pub index: u32,
    /// Sequence number, as in the header.
    pub seq: u32,
    /// Payload bytes that were lost.
    pub bytes: u32,
    /// Whether it is a retransmission.
    pub again: bool,
}
