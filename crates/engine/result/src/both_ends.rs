//! What two captures of one path, taken at its ends, say together.

use serde::{Deserialize, Serialize};

/// Two captures put together. All else is told by the clock and the addresses of the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BothEndsInfo {
    /// The second capture's name as given.
    pub other_file: String,
    /// How far the second capture's clock was ahead of the first's at the first packet in both, ms.
    pub clock_offset_ms: f64,
    /// The offset is right to plus or minus this, ms: half of the least time from one capture to the other and back. If that takes
    /// as long there as back, it is exact. Neither losses nor `late_ms` hang on it. Absent where packets of one direction only are in
    /// both: the offset cannot be known, and is told as if the least way took no time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_offset_error_ms: Option<f64>,
    /// How much faster the second clock runs, millionths.
    pub clock_drift_ppm: f64,
    /// The drift is right to plus or minus this, millionths.
    pub clock_drift_error_ppm: f64,
    /// Connections that both captures have.
    pub paired_connections: u64,
    /// Of these, those with other addresses or ports in the second (NAT): paired by the sequence numbers of both SYNs.
    pub translated_connections: u64,
    /// Connections that only the first has; they are told as by one capture.
    pub only_first: u64,
    /// Connections that only the second has; they are not told.
    pub only_second: u64,
    /// Directions of UDP flows that both captures have.
    #[serde(default)]
    pub paired_udp_flows: u64,
    /// Of these, those with other addresses or ports in the second (NAT): paired by their payload.
    #[serde(default)]
    pub translated_udp_flows: u64,
    /// Directions of UDP flows that only the first has; they are told as by one capture.
    #[serde(default)]
    pub only_first_udp: u64,
    /// That only the second has; they are not told.
    #[serde(default)]
    pub only_second_udp: u64,
    /// Packets that arrived at the second capture and that the first should have, and has not.
    pub missed_first: u64,
    /// The other way round.
    pub missed_second: u64,
}

/// What both captures say of one direction of a connection, between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BetweenEnds {
    /// Packets with payload that were lost between the captures, wholly or (of those that offload cuts afterwards) in part.
    pub lost_packets: u64,
    /// Packets with payload of which it is not known: the other capture had not begun, had ended, or missed packets.
    pub unknown_packets: u64,
    /// Payload sent again although an earlier transmission of it arrived, bytes.
    pub needless_bytes: u64,
    /// Packets without payload, ACKs as a rule.
    pub bare_packets: u64,
    /// Of these, those that were lost.
    pub bare_lost: u64,
    /// What the way took at least, ms, right to `clock_offset_error_ms`; absent where nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub least_ms: Option<f64>,
    /// How much longer than that packets took, ms: queueing in this direction alone.
    pub late_ms: LateSummary,
    /// The same over time; parts in which nothing was sent are left out.
    pub over_time: Vec<LatePart>,
    /// The lost packets; the first thousand where there are more.
    pub lost: Vec<LostBetween>,
}

/// What both captures say of one direction of a UDP flow, between them. `least_ms` and `late_ms` as of TCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpBetweenEnds {
    /// Datagrams that arrived.
    pub arrived_packets: u64,
    /// That were lost between the captures.
    pub lost_packets: u64,
    /// Of which it is not known: the other capture had not begun or had ended, or segmentation offload joined them in one of the
    /// captures.
    pub unknown_packets: u64,
    /// The most lost one after the other.
    pub longest_loss_packets: u64,
    /// Datagrams that came after one that was sent later (RFC 4737).
    pub reordered_packets: u64,
    /// That came more than once.
    pub duplicated_packets: u64,
    /// Segmentation offload joined datagrams in one of the captures: losses are not told.
    pub joined_by_offload: bool,
    /// What the way took at least, ms, right to `clock_offset_error_ms`; absent where that is not known, or nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub least_ms: Option<f64>,
    /// How much longer than that datagrams took, ms (RFC 5481: packet delay variation).
    pub late_ms: LateSummary,
    /// By how much the delays of two datagrams differ that arrived one after the other, in the mean, ms (RFC 3550's D); absent where
    /// fewer than two arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_ms: Option<f64>,
    /// The most that RFC 3550's interarrival jitter was, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_jitter_ms: Option<f64>,
    /// All of it over time; parts in which nothing was sent are left out.
    pub over_time: Vec<LatePart>,
    /// When those lost passed the capture on the sender's side, seconds since the first capture began; the first thousand.
    pub lost_at_s: Vec<f64>,
}

/// How much longer than at least packets took, ms; zeros where none arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateSummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Most.
    pub max: f64,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatePart {
    /// Where it begins, seconds since the capture began.
    pub from_s: f64,
    /// Packets sent in it that arrived.
    pub arrived: u32,
    /// Packets with payload sent in it that were lost.
    pub lost: u32,
    /// Mean of how much longer than at least they took, ms.
    pub mean_ms: f64,
    /// Most, ms.
    pub max_ms: f64,
}

/// A packet that was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostBetween {
    /// When it passed the capture on its sender's side, seconds since the first capture began.
    pub at_s: f64,
    /// Its sequence number, as it stands in the packet.
    pub seq: u32,
    /// Its payload that was lost, bytes.
    pub bytes: u32,
    /// It had been sent before.
    pub again: bool,
}
