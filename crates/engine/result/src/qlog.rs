//! A QUIC endpoint's qlog of its own congestion control and loss recovery.

use serde::{Deserialize, Serialize};

/// A QUIC sender's own log of its congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QlogAccount {
    /// Smallest congestion window in the log, bytes.
    pub min_cwnd_bytes: u64,
    /// Median of the congestion window over time, bytes.
    pub p50_cwnd_bytes: u64,
    /// Largest congestion window, bytes.
    pub max_cwnd_bytes: u64,
    /// Maximum of bytes in flight in the log; absent where the log does not state them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_inflight_bytes: Option<u64>,
    /// Share of the time in which bytes in flight were at least nine tenths of the congestion window, 0 to
    /// 1; absent where the log lacks either.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_full_share: Option<f64>,
    /// How many times the congestion window was reduced by a tenth or more at once (Reno halves it, CUBIC
    /// reduces it by three tenths: RFC 9002 section 7.3.2, RFC 9438 section 4.6).
    pub cuts: u64,
    /// How many times the congestion control entered recovery.
    pub recoveries: u64,
    /// Expired probe timeouts (RFC 9002 section 6.2) in the log.
    #[serde(default)]
    pub probe_timeouts: u64,
    /// Packets that report exhausted flow control credit (DATA_BLOCKED, STREAM_DATA_BLOCKED; RFC 9000
    /// section 19.12).
    #[serde(default)]
    pub blocked_packets: u64,
    /// Median ACK delay in the peer's ACK frames, ms; absent where the log has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_ack_delay_ms: Option<f64>,
    /// Maximum ACK delay in the peer's ACK frames, ms; absent where the log has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_ack_delay_ms: Option<f64>,
    /// Congestion window and bytes in flight over time. Above two thousand points, the smallest and largest
    /// window of each interval.
    pub metrics: Vec<QlogPoint>,
    /// States of the congestion control with their begin; at most the first thousand.
    pub states: Vec<QlogStateSpan>,
}

/// The sender's recovery metrics at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QlogPoint {
    /// Time, seconds since the begin of the capture or of the first qlog.
    pub at_s: f64,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Bytes in flight; absent where not logged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inflight_bytes: Option<u64>,
    /// Slow start threshold, bytes; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed RTT, ms; absent where not logged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub srtt_ms: Option<f64>,
}

/// A state of the congestion control and its begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QlogStateSpan {
    /// Begin of the state, seconds since the begin of the capture or of the first qlog.
    pub at_s: f64,
    /// Name of the state, as the implementation calls it.
    pub name: String,
}
