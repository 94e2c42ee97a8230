//! qlog (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events): what a QUIC endpoint wrote down of itself, followed as
//! a TCP sender's capture is.
//!
//! QUIC numbers packets, not bytes, and sends what was lost under new numbers. So that one tracker follows both, the packets that
//! the endpoint sent are laid out as a stream: each brings the bytes behind the last one's or, where an earlier packet was declared
//! lost, that packet's bytes once more; ACK frames become cumulative and selective ACKs of these bytes. What was lost is what the
//! endpoint says: a packet declared lost and acknowledged later was not (RFC 9002 section 6). RTTs are those of the packets that an
//! ACK acknowledges, less nothing: the delay that the peer says it took is in them, as with TCP.
//!
//! | of TCP | is of QUIC |
//! |---|---|
//! | payload | length of a packet that elicits ACKs (RFC 9002 section 2) |
//! | handshake | the first packets each way |
//! | full segment | the largest packet |
//! | receive window | not told: flow control (RFC 9000 section 4) counts bytes of streams, not of packets |

mod read;
mod replay;

pub use read::{
    LONGEST_FILE, PacketNumber, QlogError, QlogEvent, QlogKind, QlogMetrics, QlogState, QlogTrace,
    QlogVantage, read_qlog,
};

use crate::{Track, Tracker, TrackerOptions};
use capture::{Addr, Endpoint};

/// A trace, followed.
pub struct QlogTracks {
    /// What the endpoint sent.
    pub tracks: Vec<Track>,
    /// Packets that it declared lost and that were not acknowledged later.
    pub lost_packets: u64,
    /// Packets sent that elicit ACKs.
    pub sent_packets: u64,
}

/// Where a trace names no addresses: the endpoint, and its peer.
pub fn unnamed_ends() -> [Endpoint; 2] {
    [1, 2].map(|n| Endpoint { addr: Addr::v4([0, 0, 0, n]), port: 443 })
}

/// Follows what the endpoint of a trace sent.
pub fn track_qlog(trace: &QlogTrace) -> QlogTracks {
    let replay = replay::replay(trace);
    let mut tracker = Tracker::new(TrackerOptions::default());
    replay.packets.iter().for_each(|(p, beyond)| tracker.packet_known(p, *beyond));
    let mut tracks = Vec::new();
    tracker.finish(&mut tracks);
    // The peer's side is only there to acknowledge.
    let own = trace.ends.unwrap_or_else(unnamed_ends)[0];
    tracks.retain(|t| t.sender == own);
    QlogTracks { tracks, lost_packets: replay.lost, sent_packets: replay.sent }
}
