//! TCP connections followed through a capture: packets in, a [`Track`] for each direction that carried data out.

mod between;
mod bins;
pub mod both_ends;
mod connection;
mod direction;
mod doubles;
mod exchange;
mod first_packets;
mod log;
mod packed;
mod pipeline;
pub mod qlog;
mod record_order;
mod retransmissions;
mod row;
mod rtt;
mod sender_side;
mod sent_board;
mod sequence;
mod setup;
mod spare;
mod standstill;
mod table;
mod timestamp_clock;
mod track;
mod tracker;
pub mod udp;

pub use bins::MOST_BINS;
pub use capture::{Addr, Endpoint, FileInfo, NamedCount, Unreachable};
pub use exchange::Exchanges;
pub use first_packets::FirstPackets;
pub use packed::{PackedBytes, PackedSpan, SpanHistogram};
pub use pipeline::{CaptureTracks, track_capture, track_datagrams_too};
pub use row::{PacketKind, PacketRecorder, PacketRow};
pub use setup::{ResetTrace, SetupTrace};
pub use track::{
    Bin, BinRtts, Bursts, Handshake, LoggedPacket, LongWait, MOST_WAITS, PacketFate, PauseKind, TooBigSpan,
    Track, TrackCounts, WaitReason,
};
pub use tracker::{Totals, Tracker, TrackerOptions};
