//! Voice codecs: their packets, and their sensitivity to loss.

use serde::{Deserialize, Serialize};
use units::Span;

/// Length of an RTP header without contributing sources (RFC 3550 section 5.1).
const RTP_HEADER: u32 = 12;
/// Default jitter buffer: how much later than the fastest packet a packet may arrive.
pub const JITTER_BUFFER: Span = Span::from_millis(60);

/// A voice codec that sends 20 ms of speech per packet (RFC 3551 section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// PCM at 64 kbit/s, with packet loss concealment (ITU-T G.711 appendix I).
    G711,
    /// CS-ACELP at 8 kbit/s (ITU-T G.729 annex A), two frames per packet.
    G729,
    /// Opus (RFC 6716) at a constant 24 kbit/s. ITU-T G.113 lists no impairment factors for it, so R and MOS
    /// are absent.
    Opus,
}

impl Codec {
    /// Time between two packets.
    pub const INTERVAL: Span = Span::from_millis(20);

    /// Bytes of speech per packet.
    const fn payload(self) -> u32 {
        match self {
            Codec::G711 => 160,
            Codec::G729 => 20,
            Codec::Opus => 60,
        }
    }

    /// Payload of a datagram, bytes: RTP header and speech.
    pub const fn udp_payload(self) -> u32 {
        self.payload() + RTP_HEADER
    }

    /// Parameters of the codec in the E-model; `None` where ITU-T G.113 lists no impairment factors.
    pub const fn rated(self) -> Option<RatedCodec> {
        let (delay_us, ie, bpl) = match self {
            // 160 frames of 0.125 ms, plus one.
            Codec::G711 => (20_125, 0.0, 25.1),
            // (2 + 1) x 10 ms + 5 ms.
            Codec::G729 => (35_000, 11.0, 19.0),
            Codec::Opus => return None,
        };
        Some(RatedCodec { delay: Span::from_micros(delay_us), ie, bpl })
    }
}

/// Parameters of a codec in the E-model (ITU-T G.107).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RatedCodec {
    /// Delay from speech to a complete packet: the frames that fill a packet, one for processing, and the
    /// look-ahead (ITU-T G.114 annex A: (N + 1) frames + look-ahead).
    pub delay: Span,
    /// Equipment impairment factor Ie (ITU-T G.113 appendix I, table I.1).
    pub ie: f64,
    /// Packet-loss robustness factor Bpl for random loss (table I.4, codecs with loss concealment).
    pub bpl: f64,
}
