//! The packets of a flow, as few bytes each as a fit needs of them.

use track::{PacketFate, Track};

/// The most packets that are kept of a flow: more are not simulated anyway.
const MOST_PACKETS: usize = 1 << 19;

/// A data packet that passed the capture, or would have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FitPacket {
    /// When, seconds since 1970.
    pub at: f64,
    /// Round trip, seconds; not a number where it is not known.
    pub rtt: f32,
    /// IP bytes.
    pub bytes: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Segments.
    pub segments: u16,
    /// It was lost.
    pub lost: bool,
    /// It had been sent before.
    pub again: bool,
}

/// The first of a track's log.
pub fn packets(t: &Track) -> Vec<FitPacket> {
    let of = |p: &track::LoggedPacket| FitPacket {
        at: p.time.as_nanos() as f64 * 1e-9,
        rtt: p.rtt.get().map_or(f32::NAN, |s| s.as_secs_f64() as f32),
        bytes: p.bytes,
        payload: p.bytes.saturating_sub(t.header * u32::from(p.segments)),
        segments: p.segments,
        lost: p.fate != PacketFate::Passed,
        again: p.again,
    };
    t.log.iter().take(MOST_PACKETS).map(of).collect()
}
