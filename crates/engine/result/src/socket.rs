//! The sending host's kernel statistics of a flow's socket (`TCP_INFO`).

use serde::{Deserialize, Serialize};
use units::Time;

/// Statistics of a socket at one moment; counters start with the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketSample {
    /// Time, ns since 1970.
    pub at: Time,
    /// Time with data outstanding, time limited by the receive window, and time limited by the send buffer
    /// (each included in the first), µs; `None`: the kernel does not count them.
    pub times_us: Option<[u64; 3]>,
    /// Payload bytes acknowledged; for the client, the SYN counts as one.
    pub acked: u64,
    /// Smoothed RTT, µs; `None` before the first sample.
    pub rtt_us: Option<u32>,
    /// Whether the last rate sample was application-limited: taken while the application had written less
    /// than could be sent. `false` does not exclude it, as the kernel keeps a higher earlier rate
    /// (`tcp_rate_gen`, net/ipv4/tcp_rate.c). `None`: unknown.
    pub app_limited: Option<bool>,
    /// Bytes written but not yet sent; `None`: unknown.
    pub notsent: Option<u32>,
    /// Whether the send buffer is full; `None`: unknown.
    pub buffer_full: Option<bool>,
}

impl SocketSample {
    /// Whether everything that the application has written is sent; `None`: unknown.
    pub fn all_is_sent(&self) -> Option<bool> {
        self.notsent.map(|bytes| bytes == 0)
    }

    /// Whether the application waits for room in the send buffer, all of which is sent; `None`: unknown.
    pub fn waits_for_room(&self) -> Option<bool> {
        Some(self.buffer_full? && self.all_is_sent()?)
    }

    /// Whether the application writes less than could be sent, although the send buffer has room; `None`:
    /// unknown.
    pub fn writes_little(&self) -> Option<bool> {
        Some(self.app_limited? && self.all_is_sent()? && self.buffer_full != Some(true))
    }
}

/// Statistics that the sending host's kernel kept of the socket (`TCP_INFO`); a number is absent where the
/// kernel does not provide it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketAccount {
    /// How long the socket was observed, s.
    pub observed_s: f64,
    /// Number of samples.
    pub samples: u64,
    /// Time with data outstanding while observed, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_s: Option<f64>,
    /// Time limited by the receive window, s, included in `busy_s`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_limited_s: Option<f64>,
    /// Time with a full send buffer that was all sent, s, included in `busy_s`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub buffer_limited_s: Option<f64>,
    /// Share of the samples in which the application had written less than could be sent, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub app_limited_share: Option<f64>,
    /// Minimum RTT, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_rtt_ms: Option<f64>,
    /// Retransmitted segments since the start of the connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted_packets: Option<u64>,
    /// Congestion window at the last sample, segments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwnd_packets: Option<u64>,
    /// Pacing rate at the last sample, Mbit/s of payload and headers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pacing_rate_mbps: Option<f64>,
    /// Highest delivery rate of all samples, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery_rate_mbps: Option<f64>,
    /// Size of the send buffer, bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub send_buffer_bytes: Option<u64>,
}
