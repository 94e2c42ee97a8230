//! TCP connections followed through a capture: packets in, a [`Track`] for each direction that carried data out.

mod ack;
mod again;
mod bins;
mod board;
mod connection;
mod direction;
mod histogram;
mod log;
mod pause;
mod pipeline;
mod resent;
mod row;
mod stamps;
mod table;
mod track;
mod tracker;
mod upstream;

pub use capture::{Addr, Endpoint, FileInfo, NamedCount};
pub use histogram::SpanHistogram;
pub use pipeline::track;
pub use row::{PacketKind, PacketRecorder, PacketRow};
pub use track::{
    Bin, Bursts, Handshake, LoggedPacket, LongWait, MOST_WAITS, PacketFate, Track, TrackCounts, WaitReason,
};
pub use tracker::{Totals, Tracker, TrackerOptions};
