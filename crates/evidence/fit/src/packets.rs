//! The packets of a flow in a compact form.

use track::{PacketFate, Track};

/// Most packets that are kept of a flow: more are not simulated.
const MAX_PACKETS: usize = 1 << 19;

/// A data packet that passed the capture, or would have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FitPacket {
    /// Seconds since 1970.
    pub at: f64,
    /// Round trip, seconds; NaN if it is not known.
    pub rtt: f32,
    /// IP bytes.
    pub bytes: u32,
    /// Payload bytes.
    pub payload: u32,
    pub segments: u16,
    pub lost: bool,
    /// The packet is a retransmission.
    pub again: bool,
}

/// The first [`MAX_PACKETS`] packets of a track.
pub fn packets(t: &Track) -> Vec<FitPacket> {
    let packet = |p: &track::LoggedPacket| FitPacket {
        at: p.time.as_nanos() as f64 * 1e-9,
        rtt: p.rtt.get().map_or(f32::NAN, |s| s.as_secs_f64() as f32),
        bytes: p.bytes,
        payload: p.bytes.saturating_sub(t.header * u32::from(p.segments)),
        segments: p.segments,
        lost: p.fate != PacketFate::Passed,
        again: p.again,
    };
    t.log.iter().take(MAX_PACKETS).map(packet).collect()
}
