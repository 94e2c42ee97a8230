//! What the sending host's kernel counted of a flow's socket.

use serde::{Deserialize, Serialize};

/// The kernel's own account of the sender's socket (`TCP_INFO`); what a kernel does not count is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketAccount {
    /// How long the socket was watched, seconds.
    pub observed_s: f64,
    /// How often it was looked at.
    pub samples: u64,
    /// Of that time, seconds in which data was outstanding.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_s: Option<f64>,
    /// Of `busy_s`, seconds in which the receiver's window had no room for more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_limited_s: Option<f64>,
    /// Of `busy_s`, seconds in which the send buffer was full and all in it was sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub buffer_limited_s: Option<f64>,
    /// Share of the samples in which the application had written less than could be sent, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub app_limited_share: Option<f64>,
    /// Least RTT, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_rtt_ms: Option<f64>,
    /// Segments sent again since the connection began.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted_packets: Option<u64>,
    /// Congestion window at the end, segments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwnd_packets: Option<u64>,
    /// Rate at which the kernel paced at the end, Mbit/s of payload and headers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pacing_rate_mbps: Option<f64>,
    /// Greatest delivery rate of the samples, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery_rate_mbps: Option<f64>,
    /// Bytes that the send buffer may hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub send_buffer_bytes: Option<u64>,
}
