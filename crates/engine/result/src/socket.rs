//! What the sending host's kernel counted of a flow's socket.

use serde::{Deserialize, Serialize};
use units::Time;

/// Counters of a socket at one moment; all that count grow from the connection's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketSample {
    /// When, nanoseconds since 1970.
    pub at: Time,
    /// Microseconds with data outstanding, of them with the receiver's window full, and with the send buffer full; `None`: the
    /// kernel does not count them.
    pub times_us: Option<[u64; 3]>,
    /// Payload bytes acknowledged; the SYN of the end that opened counts too.
    pub acked: u64,
    /// Smoothed RTT, µs; `None` before the first.
    pub rtt_us: Option<u32>,
    /// The last rate sample was taken while the application had written less than could be sent. Where it is `false`, the
    /// application may be limited all the same: the kernel keeps a greater rate (`tcp_rate_gen`, net/ipv4/tcp_rate.c). `None`: not
    /// known.
    pub app_limited: Option<bool>,
    /// Bytes written and not sent yet; `None`: not known.
    pub notsent: Option<u32>,
    /// The send buffer had no room for more; `None`: not known.
    pub buffer_full: Option<bool>,
}

impl SocketSample {
    /// All that the application has written is sent; `None`: not known.
    pub fn all_is_sent(&self) -> Option<bool> {
        self.notsent.map(|bytes| bytes == 0)
    }

    /// The application waits for room in the send buffer, all of which is sent; `None`: not known.
    pub fn waits_for_room(&self) -> Option<bool> {
        Some(self.buffer_full? && self.all_is_sent()?)
    }

    /// The application had written less than could be sent, and not for want of room; `None`: not known.
    pub fn writes_little(&self) -> Option<bool> {
        Some(self.app_limited? && self.all_is_sent()? && self.buffer_full != Some(true))
    }
}

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
