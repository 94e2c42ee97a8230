//! What a voice codec puts on the wire, and how sensitive to loss it is.

use serde::{Deserialize, Serialize};
use units::Span;

/// RFC 3550 section 5.1: an RTP header without contributing sources.
const RTP_HEADER: u32 = 12;
/// How much later than the fastest packet one may come, where the scenario does not say it.
pub const JITTER_BUFFER: Span = Span::from_millis(60);

/// A voice codec, sending 20 ms of speech in a packet (RFC 3551 section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// PCM at 64 kbit/s, with packet loss concealment (ITU-T G.711 appendix I).
    G711,
    /// CS-ACELP at 8 kbit/s (ITU-T G.729 annex A), two frames a packet.
    G729,
    /// Opus (RFC 6716) at a constant 24 kbit/s. ITU-T G.113 has no impairment factors of it, so that R and MOS are absent.
    Opus,
}

impl Codec {
    /// Time between two packets.
    pub const INTERVAL: Span = Span::from_millis(20);

    /// Bytes of speech in a packet.
    const fn payload(self) -> u32 {
        match self {
            Codec::G711 => 160,
            Codec::G729 => 20,
            Codec::Opus => 60,
        }
    }

    /// What a datagram holds, bytes: the RTP header and the speech.
    pub const fn udp_payload(self) -> u32 {
        self.payload() + RTP_HEADER
    }

    /// How it fares in the E-model; `None` where ITU-T G.113 has no impairment factors of it.
    pub const fn rated(self) -> Option<RatedCodec> {
        let (delay_us, ie, bpl) = match self {
            // 160 frames of 0.125 ms, and one more.
            Codec::G711 => (20_125, 0.0, 25.1),
            // (2 + 1) x 10 ms + 5 ms.
            Codec::G729 => (35_000, 11.0, 19.0),
            Codec::Opus => return None,
        };
        Some(RatedCodec { delay: Span::from_micros(delay_us), ie, bpl })
    }
}

/// What the E-model (ITU-T G.107) takes of a codec.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RatedCodec {
    /// From when a sound is made to when its packet is ready: the frames that fill a packet and one to work in, and the
    /// look-ahead (ITU-T G.114 annex A: (N + 1) frames + look-ahead).
    pub delay: Span,
    /// Equipment impairment factor Ie (ITU-T G.113 appendix I, table I.1).
    pub ie: f64,
    /// Packet-loss robustness factor Bpl, of random loss (table I.4, the codecs with loss concealment).
    pub bpl: f64,
}
