//! What a QUIC endpoint's qlog says of its own recovery.

use serde::{Deserialize, Serialize};

/// An endpoint's own account of its congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QlogAccount {
    /// The smallest congestion window that the log states, bytes.
    pub min_cwnd_bytes: u64,
    /// The median over time.
    pub p50_cwnd_bytes: u64,
    /// The largest.
    pub max_cwnd_bytes: u64,
    /// The most bytes in flight that the log states; absent where it states none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_inflight_bytes: Option<u64>,
    /// Share of the time in which bytes in flight were nine tenths of the congestion window or more; absent where
    /// the log lacks one of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_full_share: Option<f64>,
    /// How often the congestion window was cut by a tenth or more at once (Reno halves it, CUBIC takes three tenths: RFC 9002 section
    /// 7.3.2, RFC 9438 section 4.6).
    pub cuts: u64,
    /// How often its state became one of recovery.
    pub recoveries: u64,
    /// Probe timeouts that expired (RFC 9002 section 6.2), as far as the log states them.
    #[serde(default)]
    pub probe_timeouts: u64,
    /// Packets that say their sender is out of flow control credit (DATA_BLOCKED, STREAM_DATA_BLOCKED; RFC 9000 section 19.12).
    #[serde(default)]
    pub blocked_packets: u64,
    /// The median delay that the peer's ACK frames state, ms; absent where the log has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_ack_delay_ms: Option<f64>,
    /// The longest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_ack_delay_ms: Option<f64>,
    /// Congestion window and bytes in flight over time; of more than two thousand the least and the greatest window of each part.
    pub metrics: Vec<QlogPoint>,
    /// The states of its congestion control, from when on; the first thousand.
    pub states: Vec<QlogStateSpan>,
}

/// A moment of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QlogPoint {
    /// Seconds since the capture, or the first qlog, began.
    pub at_s: f64,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Bytes in flight.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inflight_bytes: Option<u64>,
    /// Slow start threshold, bytes; absent before there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed RTT, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub srtt_ms: Option<f64>,
}

/// A state that held from a moment on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QlogStateSpan {
    /// Seconds since the capture, or the first qlog, began.
    pub at_s: f64,
    /// As the implementation calls it.
    pub name: String,
}
