//! qlog (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events): a QUIC endpoint's log of itself, followed as a TCP
//! capture at that endpoint is.
//!
//! QUIC numbers packets, not bytes, and sends what was lost under new numbers. So that one tracker follows both, the packets of the
//! direction with more bytes are laid out as a stream: each brings the bytes behind the last one's or, where an earlier packet was
//! lost, that packet's bytes once more; ACK frames become cumulative and selective ACKs of these bytes. A sender's trace states which
//! packets were lost: one that was declared lost and acknowledged later was not (RFC 9002 section 6). A receiver's trace shows it by
//! numbers that are missing and data that comes again ([`arrivals`]). RTTs are those of the packets that an ACK acknowledges, the
//! delay that the peer states included, as with TCP.
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

/// A trace, followed.
pub struct QlogTracks {
    /// The direction with more bytes.
    pub tracks: Vec<Track>,
    /// Packets of it that were lost: as the sender declared and no later ACK contradicts, or as the receiver saw.
    pub lost_packets: u64,
    /// Packets of it that elicit ACKs; at a receiver, those that came.
    pub sent_packets: u64,
}

/// The endpoint and its peer in a trace that names no addresses.
pub fn unnamed_ends() -> [Endpoint; 2] {
    [1, 2].map(|n| Endpoint { addr: Addr::v4([0, 0, 0, n]), port: 443 })
}

/// Follows the direction of a trace that carries more bytes.
pub fn track_qlog(trace: &QlogTrace) -> QlogTracks {
    let replay = replay::replay(trace);
    let mut tracker = Tracker::new(TrackerOptions::default());
    replay.packets.iter().for_each(|(p, beyond)| tracker.packet_known(p, *beyond));
    let mut tracks = Vec::new();
    tracker.finish(&mut tracks);
    // The other direction is only there to acknowledge.
    let [own, peer] = trace.ends.unwrap_or_else(unnamed_ends);
    let sender = if trace.is_of_receiver() { peer } else { own };
    tracks.retain(|t| t.sender == sender);
    QlogTracks { tracks, lost_packets: replay.lost, sent_packets: replay.sent }
}
