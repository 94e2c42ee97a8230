//! One row per packet, with the tracker's state at that moment: for exports and plots.

use units::{Span, Time};

/// The role of a packet in its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketKind {
    /// A packet without payload.
    #[default]
    Ack,
    /// New data.
    Data,
    /// Retransmission in fast recovery.
    Fast,
    /// Retransmission after a timeout.
    Timeout,
    /// Tail loss probe.
    Probe,
    /// Late because of reordering, not a retransmission.
    Reordered,
}

impl PacketKind {
    /// The name used in exports.
    pub fn name(self) -> &'static str {
        match self {
            PacketKind::Ack => "ack",
            PacketKind::Data => "data",
            PacketKind::Fast => "fast",
            PacketKind::Timeout => "timeout",
            PacketKind::Probe => "probe",
            PacketKind::Reordered => "reordered",
        }
    }
}

/// A packet with the tracker's state after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketRow {
    /// [`crate::Track::connection`].
    pub connection: u32,
    /// Whether the end that opened the connection sent it.
    pub from_opener: bool,
    /// Nanoseconds since 1970.
    pub time: Time,
    /// Stream offset of the first payload byte, unwrapped, from the first byte of this direction.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// IP bytes on the wire.
    pub ip_bytes: u32,
    /// Stream offset that it acknowledges in the other direction, unwrapped.
    pub ack: u64,
    /// TCP flags, as in the header.
    pub flags: u8,
    pub kind: PacketKind,
    /// Bytes in flight in its own direction after it, as its sender sees it.
    pub inflight: u32,
    /// The receive window that it announces, bytes, scaled; `None` if the scale is unknown.
    pub window: Option<u32>,
    /// RTT of the data that it acknowledges, as in [`crate::Track::rtt`].
    pub rtt: Option<Span>,
}

/// Receives rows in the capture's order.
pub trait PacketRecorder: Send {
    /// Records one packet.
    fn row(&mut self, row: &PacketRow);
}
