//! What a capture says of UDP flows.

use crate::RttSummary;
use crate::both_ends::UdpBetweenEnds;
use crate::diagnosis::{Limiter, LimiterKind};
use serde::{Deserialize, Serialize};

/// What went one way between two UDP ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpFlowDiagnosis {
    /// Number within the UDP flows, as with TCP: even of who sent first, odd of the other.
    pub id: u32,
    /// Sender, `address:port`.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// `quic`, `rtp` or `udp`: what shows in the packets.
    pub protocol: String,
    /// First datagram, seconds since the capture began.
    pub start_s: f64,
    /// From the first to the last datagram, seconds.
    pub duration_s: f64,
    /// Datagrams.
    pub packets: u64,
    /// Payload, bytes.
    pub payload_bytes: u64,
    /// IP bytes.
    pub ip_bytes: u64,
    /// IP bytes over the duration, Mbit/s.
    pub rate_mbps: f64,
    /// The greatest rate over half a second, Mbit/s; absent of shorter flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_rate_mbps: Option<f64>,
    /// The rate over time.
    pub over_time: Vec<UdpRate>,
    /// Whether losses are known, and by what.
    pub loss: UdpLoss,
    /// Packets lost, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
    /// RTTs by the spin bit, what the ends wait among them (RFC 9312 section 3.8.2); absent where it does not spin.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spin_rtt_ms: Option<RttSummary>,
    /// What QUIC's handshake shows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quic: Option<QuicFacts>,
    /// What RTP's numbers and timestamps show.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtp: Option<RtpFacts>,
    /// The rate limit that it went through, where one shows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limiter: Option<Limiter>,
    /// What was lost and late between two captures of the path; absent where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub between_ends: Option<UdpBetweenEnds>,
}

impl UdpFlowDiagnosis {
    /// The limiter's kind.
    pub fn limited_by(&self) -> Option<LimiterKind> {
        self.limiter.as_ref().map(|l| l.kind)
    }
}

/// A part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpRate {
    /// Where it begins, seconds since the capture began.
    pub from_s: f64,
    /// How long it is, seconds.
    pub width_s: f64,
    /// IP bytes in it, Mbit/s.
    pub mbps: f64,
    /// Packets lost in it, where that is known for each.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
}

/// Whether losses of a UDP flow are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UdpLoss {
    /// They are not: nothing in the packets shows what is missing.
    #[default]
    NotVisible,
    /// RTP's sequence numbers tell what was lost before the capture; what was lost behind it is not known.
    BeforeCapture,
    /// The sender's own qlog tells.
    Qlog,
    /// Two captures, one at each end, tell what was lost between them.
    BothEnds,
}

/// What QUIC shows without its keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuicFacts {
    /// Version, hexadecimal: `1` (RFC 9000), `6b3343cf` (version 2, RFC 9369) ….
    pub version: String,
    /// Connection ID that the client's first Initial is for, hexadecimal.
    pub destination_id: String,
    /// Connection ID that the client chose, hexadecimal.
    pub source_id: String,
    /// This direction is the client's.
    pub from_client: bool,
    /// RTT of the handshake, ms, what the ends take to answer among it (RFC 9312 section 3.8.1); absent where a packet of it was
    /// sent again or is not in the capture.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handshake_rtt_ms: Option<f64>,
    /// The part of it between capture and server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_server_ms: Option<f64>,
    /// The part of it between capture and client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_client_ms: Option<f64>,
    /// The server asked for another Initial, or named other versions.
    pub retried: bool,
    /// What the spin bit does (RFC 9000 section 17.4).
    pub spin: SpinBit,
}

/// What the spin bit does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SpinBit {
    /// Too few packets to tell, or it turns so often that it may be drawn for each packet.
    #[default]
    Unknown,
    /// It spins.
    Spins,
    /// It keeps its value: an end has disabled it.
    Disabled,
}

/// What RTP shows (RFC 3550): of the source with most packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtpFacts {
    /// Synchronisation source.
    pub ssrc: u32,
    /// Payload type.
    pub payload_type: u8,
    /// Packets of it.
    pub packets: u64,
    /// Packets that never came: lost between sender and capture.
    pub lost: u64,
    /// Packets that came after a later one.
    pub reordered: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Ticks a second of its timestamps, where they are those of a known clock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_hz: Option<f64>,
    /// Interarrival jitter at the end, ms (RFC 3550 section 6.4.1), where the clock is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_ms: Option<f64>,
    /// The most that it was, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_jitter_ms: Option<f64>,
}
