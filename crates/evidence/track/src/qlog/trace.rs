//! What a qlog says of packets, whichever stack and version wrote it.

use capture::Endpoint;
use units::{Span, Time};

/// The endpoint that wrote a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QlogVantage {
    /// The client.
    Client,
    /// The server.
    Server,
    /// A device between them, or the trace does not say.
    #[default]
    Other,
}

/// The packets of one connection, as one endpoint saw them.
#[derive(Clone, Debug, Default)]
pub struct QlogTrace {
    /// The endpoint that wrote the trace.
    pub vantage: QlogVantage,
    /// Original destination connection ID, hexadecimal.
    pub original_id: Option<String>,
    /// The endpoint and its peer, where an event names their addresses.
    pub ends: Option<[Endpoint; 2]>,
    /// Whether times are since 1970; otherwise they begin at 0.
    pub dated: bool,
    /// Packets in the file's order.
    pub events: Vec<QlogEvent>,
    /// The endpoint's recovery metrics, in the file's order.
    pub metrics: Vec<QlogMetrics>,
    /// The states of its congestion control.
    pub states: Vec<QlogState>,
    /// Flow control credit that both ends granted in their transport parameters: the endpoint that wrote, its peer.
    pub credit: [QlogCredit; 2],
    /// Times that a probe timeout expired (RFC 9002 section 6.2).
    pub probe_timeouts: u64,
    /// Delays that the peer's ACK frames state.
    pub ack_delays: Vec<Span>,
    /// The line at which the file ends in the middle of an event.
    pub cut_at_line: Option<usize>,
}

impl QlogTrace {
    /// Moves the trace in time so that its first event is at `start`.
    pub fn begin_at(&mut self, start: Time) {
        let Some(first) = self.events.first().map(|e| e.time) else { return };
        let moved = |time: Time| start + time.since(first);
        self.events.iter_mut().for_each(|e| e.time = moved(e.time));
        self.metrics.iter_mut().for_each(|m| m.time = moved(m.time));
        self.states.iter_mut().for_each(|s| s.time = moved(s.time));
    }

    /// Whether a received packet shows which packets it acknowledges: quinn writes no frames.
    pub fn has_acks(&self) -> bool {
        self.packets().any(|(sent, p)| !sent && !p.acked.is_empty())
    }

    /// Whether received packets have no length, so that how much came is not known: quinn writes none.
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

    /// Whether the endpoint received more than it sent, in bytes of packets that elicit ACKs: the trace of a receiver.
    pub fn is_of_receiver(&self) -> bool {
        let bytes = |of: bool| -> u64 {
            let list = self.packets().filter(|(sent, p)| *sent == of && p.eliciting);
            list.map(|(_, p)| u64::from(p.length)).sum()
        };
        bytes(false) > bytes(true)
    }
}

/// What an endpoint knew of its recovery (quic-events: `recovery_metrics_updated`, `metrics_updated` before draft 10). An event states
/// only what changed; a value that was stated before is carried on, and one that never was is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QlogMetrics {
    /// When.
    pub time: Time,
    /// How many of the trace's events stand before it in the file.
    pub after: usize,
    /// Congestion window, bytes.
    pub cwnd: Option<u64>,
    /// Bytes in flight.
    pub inflight: Option<u64>,
    /// Slow start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Span>,
}

/// A state of the congestion control (quic-events: `congestion_state_updated`), by the implementation's name for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QlogState {
    /// When it began.
    pub time: Time,
    /// `slow_start`, `congestion_avoidance`, `recovery`, `application_limited`, or its own.
    pub name: String,
}

/// An event, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct QlogEvent {
    /// ns, since 1970 where that is known.
    pub time: Time,
    /// What happened.
    pub kind: QlogKind,
}

/// The number space of 0-RTT and 1-RTT packets.
pub(super) const APPLICATION: u8 = 2;

/// Number space (RFC 9000 section 12.3) and number.
pub type PacketNumber = (u8, u64);

/// What happened to a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum QlogKind {
    /// The endpoint sent it.
    Sent(QlogPacket),
    /// The endpoint received it.
    Received(QlogPacket),
    /// The endpoint declared it lost.
    Lost {
        /// Its number.
        number: PacketNumber,
    },
}

/// A packet that was sent or received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QlogPacket {
    /// Its number.
    pub number: PacketNumber,
    /// Bytes of QUIC.
    pub length: u32,
    /// Whether it elicits ACKs (RFC 9002 section 2).
    pub eliciting: bool,
    /// Ranges of numbers that its ACK frames acknowledge, both ends included.
    pub acked: Vec<(u64, u64)>,
    /// Its parts of streams.
    pub parts: Vec<StreamPart>,
    /// Flow control credit that it grants.
    pub limits: Vec<FlowLimit>,
    /// Whether it says that its sender is out of flow control credit (DATA_BLOCKED, STREAM_DATA_BLOCKED).
    pub blocked: bool,
}

/// A STREAM frame (RFC 9000 section 19.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPart {
    /// Stream ID.
    pub stream: u64,
    /// Offset of its first byte.
    pub from: u64,
    /// Offset behind its last byte.
    pub to: u64,
    /// Whether the stream ends with it.
    pub fin: bool,
}

/// A MAX_DATA or MAX_STREAM_DATA frame (RFC 9000 section 19.9 and 19.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimit {
    /// The stream; `None` is the connection.
    pub stream: Option<u64>,
    /// The offset up to which data may be sent; of the connection, the sum over its streams.
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
