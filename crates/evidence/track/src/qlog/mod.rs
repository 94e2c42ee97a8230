//! qlog (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events): a QUIC endpoint's own log,
//! tracked like a TCP capture at that endpoint.
//!
//! QUIC numbers packets, not bytes, and retransmits lost data under new numbers. To let one tracker handle
//! both, the packets of the direction with more bytes are laid out as a stream. Each packet carries the bytes
//! after the previous one or, if an earlier packet was lost, that packet's bytes again. ACK frames become
//! cumulative and selective ACKs of these bytes. A sender's trace states which packets were lost; one that
//! was declared lost and acknowledged later was not (RFC 9002 section 6). A receiver's trace shows losses by
//! missing numbers and data that arrives again ([`arrivals`]). RTTs belong to the packets that an ACK
//! acknowledges and include the delay that the peer states, as with TCP.
//!
//! | TCP | QUIC |
//! |---|---|
//! | payload | length of a packet that elicits ACKs (RFC 9002 section 2) |
//! | handshake | the first packet in each direction |
//! | full segment | the largest packet |
//! | receive window | flow control credit (RFC 9000 section 4) beyond the last packet sent ([`credit`]); very large where unknown |

mod arrivals;
mod credit;
mod error;
mod event;
mod packet;
mod pieces;
mod read;
mod replay;
#[cfg(test)]
mod tests;
mod trace;

pub use error::QlogError;
pub use read::{LONGEST_FILE, read_qlog};
pub use trace::{
    FlowLimit, PacketNumber, QlogCredit, QlogEvent, QlogKind, QlogMetrics, QlogPacket, QlogState, QlogTrace,
    QlogVantage, StreamPart,
};

use crate::{Track, Tracker, TrackerOptions};
use capture::{Addr, Endpoint};

/// The tracks of a trace.
pub struct QlogTracks {
    /// The direction with more bytes.
    pub tracks: Vec<Track>,
    /// Lost packets of this direction: declared lost by the sender without a later ACK, or seen to be lost
    /// by the receiver.
    pub lost_packets: u64,
    /// Ack-eliciting packets of this direction; in a receiver's trace, those that arrived.
    pub sent_packets: u64,
}

/// The endpoint and its peer in a trace without addresses.
pub fn placeholder_ends() -> [Endpoint; 2] {
    [1, 2].map(|n| Endpoint { addr: Addr::v4([0, 0, 0, n]), port: 443 })
}

/// Tracks the direction of a trace that carries more bytes.
pub fn track_qlog(trace: &QlogTrace) -> QlogTracks {
    let replay = replay::replay(trace);
    let mut tracker = Tracker::new(TrackerOptions::default());
    replay.packets.iter().for_each(|(p, fate)| tracker.packet_with_fate(p, *fate));
    let mut tracks = Vec::new();
    tracker.finish(&mut tracks);
    // The opposite direction is only used for its ACKs.
    let [own, peer] = trace.ends.unwrap_or_else(placeholder_ends);
    let sender = if trace.is_of_receiver() { peer } else { own };
    tracks.retain(|t| t.sender == sender);
    QlogTracks { tracks, lost_packets: replay.lost, sent_packets: replay.sent }
}
