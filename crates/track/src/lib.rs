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

pub use capture::{Addr, End, FileInfo, NamedCount};
pub use histogram::Histogram;
pub use pipeline::track;
pub use row::{Kind, Recorder, Row};
pub use track::{Bin, Bursts, Counts, Fate, Handshake, MOST_WAITS, Sample, Track, Wait, Waited};
pub use tracker::{Totals, Tracker, TrackerOptions};
