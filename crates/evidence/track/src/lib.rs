//! TCP connections and UDP flows followed through a capture: packets in, a [`Track`] for each direction that
//! carried data out.

mod between;
mod bins;
pub mod both_ends;
mod connection;
mod direction;
mod duplicates;
mod first_packets;
mod list_pool;
mod log;
mod packed;
mod pipeline;
pub mod qlog;
mod record_order;
mod responses;
mod retransmissions;
mod row;
mod rtt;
mod scoreboard;
mod sender_side;
mod sequence;
mod setup;
mod silence;
mod table;
mod timestamp_clock;
mod track;
mod tracker;
pub mod udp;

pub use bins::MAX_BINS;
pub use capture::{Addr, Endpoint, FileInfo, NamedCount, Unreachable};
pub use first_packets::FirstPackets;
pub use packed::{PackedBytes, PackedSpan, SpanHistogram};
pub use pipeline::{CaptureTracks, track_capture, track_capture_with_udp};
pub use responses::Exchanges;
pub use row::{PacketKind, PacketRecorder, PacketRow};
pub use setup::{ResetTrace, SetupTrace};
pub use track::{
    Bin, BinRtts, Bursts, Handshake, LoggedPacket, LongWait, MAX_WAITS, OversizeSpan, PacketFate, PauseKind,
    Track, TrackCounts, WaitReason,
};
pub use tracker::{Totals, Tracker, TrackerOptions};
