//! What two captures, taken at the two ends of a path, show together.

use serde::{Deserialize, Serialize};

/// Two captures combined. Times and addresses in the diagnosis are those of the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BothEndsInfo {
    /// Name of the second capture as given.
    pub other_file: String,
    /// How far the second capture's clock was ahead of the first's at the first packet that both have, ms.
    pub clock_offset_ms: f64,
    /// Error bound of `clock_offset_ms`, plus or minus, ms: half of the minimum RTT between the captures.
    /// The offset is exact if both directions take equally long; losses and `delay_variation_ms` do not
    /// depend on it. Absent where both captures share packets of one direction only: the offset is then
    /// unknown, and stated as if the fastest packet took no time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_offset_error_ms: Option<f64>,
    /// How much faster the second clock runs, ppm.
    pub clock_drift_ppm: f64,
    /// Error bound of `clock_drift_ppm`, plus or minus, ppm.
    pub clock_drift_error_ppm: f64,
    /// Connections in both captures.
    pub paired_connections: u64,
    /// Paired connections with other addresses or ports in the second capture (NAT): matched by the sequence
    /// numbers of both SYNs.
    pub translated_connections: u64,
    /// Connections in the first capture only; they are diagnosed from that capture alone.
    pub only_first: u64,
    /// Connections in the second capture only; they are not reported.
    pub only_second: u64,
    /// Directions of UDP flows in both captures.
    #[serde(default)]
    pub paired_udp_flows: u64,
    /// Paired directions of UDP flows with other addresses or ports in the second capture (NAT): matched by
    /// payload.
    #[serde(default)]
    pub translated_udp_flows: u64,
    /// Directions of UDP flows in the first capture only; they are diagnosed from that capture alone.
    #[serde(default)]
    pub only_first_udp: u64,
    /// Directions of UDP flows in the second capture only; they are not reported.
    #[serde(default)]
    pub only_second_udp: u64,
    /// Packets that must have passed the first capture but are missing from it.
    pub missed_first: u64,
    /// Packets that must have passed the second capture but are missing from it.
    pub missed_second: u64,
}

/// Losses and delays of one direction of a connection between the two captures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BetweenEnds {
    /// Data packets lost between the captures, wholly or (if offload segmented them later) in part.
    pub lost_packets: u64,
    /// Data packets of unknown fate: the other capture had not begun, had ended, or missed packets.
    pub unknown_packets: u64,
    /// Payload retransmitted although an earlier transmission arrived, bytes.
    pub spurious_bytes: u64,
    /// Packets without payload, mostly ACKs.
    pub packets_without_payload: u64,
    /// Packets without payload that were lost.
    pub lost_without_payload: u64,
    /// Minimum one-way delay between the captures, ms, with the error of `clock_offset_error_ms`; absent
    /// where nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_delay_ms: Option<f64>,
    /// One-way delay above that minimum, ms: queueing in this direction alone.
    pub delay_variation_ms: DelayVariation,
    /// Queueing delay and losses over time; intervals in which nothing was sent are omitted.
    pub over_time: Vec<DelayVariationPart>,
    /// The lost packets, at most the first thousand.
    pub lost: Vec<LostBetween>,
}

/// Losses and delays of one direction of a UDP flow between the two captures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpBetweenEnds {
    /// Datagrams that arrived.
    pub arrived_packets: u64,
    /// Datagrams lost between the captures.
    pub lost_packets: u64,
    /// Datagrams of unknown fate: the other capture had not begun or had ended, or segmentation offload
    /// merged them in one of the captures.
    pub unknown_packets: u64,
    /// Longest run of consecutive lost datagrams.
    pub longest_loss_packets: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737).
    pub reordered_packets: u64,
    /// Datagrams that arrived more than once.
    pub duplicated_packets: u64,
    /// Whether segmentation offload merged datagrams in one of the captures; losses are then unknown.
    pub joined_by_offload: bool,
    /// Minimum one-way delay between the captures, ms, with the error of `clock_offset_error_ms`; absent
    /// where the clock offset is unknown, or nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_delay_ms: Option<f64>,
    /// One-way delay above that minimum, ms: packet delay variation (RFC 5481).
    pub delay_variation_ms: DelayVariation,
    /// Mean difference of the delays of two datagrams that arrived in succession, ms (D in RFC 3550); absent
    /// where fewer than two arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_ms: Option<f64>,
    /// Maximum of the interarrival jitter of RFC 3550, ms; absent where fewer than two datagrams arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_jitter_ms: Option<f64>,
    /// Delay and losses over time; intervals in which nothing was sent are omitted.
    pub over_time: Vec<DelayVariationPart>,
    /// Times at which lost datagrams passed the capture on the sender's side, seconds since the first
    /// capture began; at most the first thousand.
    pub lost_at_s: Vec<f64>,
}

/// Delay above the minimum one-way delay, ms; zeros where nothing arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayVariation {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Maximum.
    pub max: f64,
}

/// Delay and losses in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayVariationPart {
    /// Begin of the interval, seconds since the first capture began.
    pub from_s: f64,
    /// Packets sent in the interval that arrived.
    pub arrived: u32,
    /// Data packets sent in the interval that were lost.
    pub lost: u32,
    /// Mean delay above the minimum, ms.
    pub mean_ms: f64,
    /// Maximum delay above the minimum, ms.
    pub max_ms: f64,
}

/// A packet that was lost between the captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostBetween {
    /// Time at which the packet passed the capture on the sender's side, seconds since the first capture
    /// began.
    pub at_s: f64,
    /// Sequence number, as in the packet.
    pub seq: u32,
    /// Payload bytes that were lost.
    pub bytes: u32,
    /// Whether the packet was a retransmission.
    pub again: bool,
}
