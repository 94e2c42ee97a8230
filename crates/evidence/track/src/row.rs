//! A packet with what the tracker knew when it passed: for exports and plots.

use units::{Span, Time};

/// What a packet is to its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketKind {
    /// No payload.
    #[default]
    Ack,
    /// Payload sent for the first time.
    Data,
    /// Sent again within a fast recovery.
    Fast,
    /// Sent again after a timeout.
    Timeout,
    /// A tail loss probe.
    Probe,
    /// Late by reordering, not sent again.
    Reordered,
}

impl PacketKind {
    /// As exports spell it.
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

/// One packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketRow {
    /// [`crate::Track::connection`].
    pub connection: u32,
    /// Sent by the end that opened the connection.
    pub from_opener: bool,
    /// Nanoseconds since 1970.
    pub time: Time,
    /// First payload byte, counted from the connection's first in this direction, wrap-around undone.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// IP bytes on the wire.
    pub ip_bytes: u32,
    /// What it acknowledges of the other direction, counted likewise.
    pub ack: u64,
    /// TCP flags.
    pub flags: u8,
    /// What it is.
    pub kind: PacketKind,
    /// Bytes in flight of its own direction after it, as the sender sees it.
    pub inflight: u32,
    /// The receive window it announces, bytes, scaled; `None` where the scale is not known.
    pub window: Option<u32>,
    /// RTT of the data it acknowledges, as in [`crate::Track::rtt`].
    pub rtt: Option<Span>,
}

/// Takes rows as they come, in the capture's order.
pub trait PacketRecorder: Send {
    /// One packet.
    fn row(&mut self, row: &PacketRow);
}
