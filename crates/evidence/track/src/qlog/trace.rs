//! A qlog trace, in a form that does not depend on the stack and version that wrote it.

use capture::Endpoint;
use units::{Span, Time};

/// Which endpoint wrote a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QlogVantage {
    Client,
    Server,
    /// A device between them, or unknown.
    #[default]
    Other,
}

/// The packets of one connection, as one endpoint saw them.
#[derive(Clone, Debug, Default)]
pub struct QlogTrace {
    pub vantage: QlogVantage,
    /// Original destination connection ID, hexadecimal.
    pub original_id: Option<String>,
    /// The endpoint and its peer, where an event names their addresses.
    pub ends: Option<[Endpoint; 2]>,
    /// Whether times count from 1970; otherwise they begin at 0.
    pub dated: bool,
    /// Events of packets in the file's order.
    pub events: Vec<QlogEvent>,
    /// The endpoint's recovery metrics, in the file's order.
    pub metrics: Vec<QlogMetrics>,
    /// States of the endpoint's congestion control.
    pub states: Vec<QlogState>,
    /// Flow control credit granted in the transport parameters of the endpoint that wrote the trace, and of
    /// its peer.
    pub credit: [QlogCredit; 2],
    /// Number of expired probe timeouts (RFC 9002 section 6.2).
    pub probe_timeouts: u64,
    /// ACK delays that the peer states.
    pub ack_delays: Vec<Span>,
    /// Line at which the file ends in the middle of an event.
    pub cut_at_line: Option<usize>,
}

impl QlogTrace {
    /// Shifts the trace in time so that its first event is at `start`.
    pub fn begin_at(&mut self, start: Time) {
        let Some(first) = self.events.first().map(|e| e.time) else { return };
        let moved = |time: Time| start + time.since(first);
        self.events.iter_mut().for_each(|e| e.time = moved(e.time));
        self.metrics.iter_mut().for_each(|m| m.time = moved(m.time));
        self.states.iter_mut().for_each(|s| s.time = moved(s.time));
    }

    /// Returns whether any received packet shows which packets it acknowledges. quinn writes no frames.
    pub fn has_acks(&self) -> bool {
        self.packets().any(|(sent, p)| !sent && !p.acked.is_empty())
    }

    /// Returns whether received packets have no length, so that the amount received is unknown. quinn writes
    /// none.
    pub fn lacks_received_lengths(&self) -> bool {
        let mut received = self.packets().filter(|(sent, _)| !sent).peekable();
        received.peek().is_some() && received.all(|(_, p)| p.length == 0)
    }

    /// Packets in the file's order, and whether the endpoint sent them.
    pub fn packets(&self) -> impl Iterator<Item = (bool, &QlogPacket)> {
        self.events.iter().filter_map(|e| match &e.kind {
            QlogKind::Sent(p) => Some((true, p)),
            QlogKind::Received(p) => Some((false, p)),
            QlogKind::Lost { .. } => None,
        })
    }

    /// Returns whether this is the trace of a receiver: the endpoint received more bytes in ack-eliciting
    /// packets than it sent. Where the bytes that it received are unknown, it received more packets.
    pub fn is_of_receiver(&self) -> bool {
        if self.lacks_received_lengths() {
            let sent = self.packets().filter(|(sent, _)| *sent).count();
            return self.packets().count() > 2 * sent;
        }
        let bytes = |of: bool| -> u64 {
            let list = self.packets().filter(|(sent, p)| *sent == of && p.eliciting);
            list.map(|(_, p)| u64::from(p.length)).sum()
        };
        bytes(false) > bytes(true)
    }
}

/// The state of an endpoint's loss recovery (quic-events: `recovery_metrics_updated`, `metrics_updated`
/// before draft 10). An event states only what changed: earlier values are carried on, and a value that was
/// never stated is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QlogMetrics {
    pub time: Time,
    /// Number of the trace's events before it in the file.
    pub after: usize,
    /// Congestion window, bytes.
    pub cwnd: Option<u64>,
    pub inflight: Option<u64>,
    /// Slow start threshold, bytes.
    pub ssthresh: Option<u64>,
    pub smoothed_rtt: Option<Span>,
}

/// A state of the congestion control (quic-events: `congestion_state_updated`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QlogState {
    /// When the state began.
    pub time: Time,
    /// `slow_start`, `congestion_avoidance`, `recovery`, `application_limited`, or a name of the
    /// implementation.
    pub name: String,
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct QlogEvent {
    /// Nanoseconds, since 1970 if that is known.
    pub time: Time,
    pub kind: QlogKind,
}

/// The number space of Initial packets.
pub(super) const INITIAL: u8 = 0;
/// The number space of 0-RTT and 1-RTT packets.
pub(super) const APPLICATION: u8 = 2;

/// Number space (RFC 9000 section 12.3) and number.
pub type PacketNumber = (u8, u64);

/// An event of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum QlogKind {
    /// The endpoint sent it.
    Sent(QlogPacket),
    /// The endpoint received it.
    Received(QlogPacket),
    /// The endpoint declared it lost.
    Lost {
        /// Number of the lost packet.
        number: PacketNumber,
    },
}

/// A packet that was sent or received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QlogPacket {
    pub number: PacketNumber,
    /// QUIC bytes.
    pub length: u32,
    /// Whether the packet is ack-eliciting (RFC 9002 section 2).
    pub eliciting: bool,
    /// Ranges of numbers that its ACK frames acknowledge, both ends included.
    pub acked: Vec<(u64, u64)>,
    /// Stream data in its STREAM frames.
    pub parts: Vec<StreamPart>,
    /// Flow control credit that it grants.
    pub limits: Vec<FlowLimit>,
    /// Whether it states that its sender is out of flow control credit (DATA_BLOCKED, STREAM_DATA_BLOCKED).
    pub blocked: bool,
}

/// A STREAM frame (RFC 9000 section 19.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPart {
    pub stream: u64,
    pub from: u64,
    /// Offset after its last byte.
    pub to: u64,
    /// Whether the stream ends here.
    pub fin: bool,
}

/// A MAX_DATA or MAX_STREAM_DATA frame (RFC 9000 section 19.9 and 19.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimit {
    /// The stream; `None` for the whole connection.
    pub stream: Option<u64>,
    /// Offset up to which data may be sent; for the connection, the sum over its streams.
    pub maximum: u64,
}

/// Flow control credit in transport parameters (RFC 9000 section 18.2), bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QlogCredit {
    /// `initial_max_data`.
    pub connection: Option<u64>,
    /// `initial_max_stream_data_bidi_local`: streams that the end which grants it opened.
    pub bidi_local: Option<u64>,
    /// `initial_max_stream_data_bidi_remote`: streams that the other end opened.
    pub bidi_remote: Option<u64>,
    /// `initial_max_stream_data_uni`.
    pub uni: Option<u64>,
}
