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

/// A sender's time, divided by what limited it according to its kernel's counters. The parts add up to the
/// whole time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SenderTime {
    /// Time limited by the receive window, s.
    pub receive_window: f64,
    /// Time limited by the send buffer, s.
    pub send_buffer: f64,
    /// Time in which the application had nothing, or too little, to send, s.
    pub application: f64,
    /// Time with data outstanding and none of these limits, s: the congestion window, pacing or the path
    /// limited.
    pub network: f64,
    /// Time that the kernel does not account for, s: before Linux 4.10.
    pub unknown: f64,
}

impl SenderTime {
    /// Divides a time of `total` seconds. `counted`: seconds that were added meanwhile to the counters of
    /// [`SocketSample::times_us`]. `waiting` and `little`: shares of the samples for which
    /// [`SocketSample::waits_for_room`] and [`SocketSample::writes_little`] hold.
    ///
    /// The kernel's time of the send buffer is a lower bound, so the samples count where they show more.
    pub fn divide(
        total: f64,
        counted: Option<[f64; 3]>,
        waiting: Option<f64>,
        little: Option<f64>,
    ) -> SenderTime {
        let waited = waiting.unwrap_or(0.0) * total;
        let Some([busy, window, buffer]) = counted else {
            let send_buffer = waited.clamp(0.0, total);
            return SenderTime { send_buffer, unknown: total - send_buffer, ..SenderTime::default() };
        };
        let receive_window = window.clamp(0.0, total);
        // Busy time without either limit: the network may have limited it, unless the application wrote
        // little.
        let moving = (busy - window - buffer.max(waited)).max(0.0);
        let send_buffer = buffer.max(waited).clamp(0.0, total - receive_window);
        let rest = total - receive_window - send_buffer;
        let application = (total - busy + moving * little.unwrap_or(0.0)).clamp(0.0, rest);
        SenderTime { receive_window, send_buffer, application, network: rest - application, unknown: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::SenderTime;

    #[test]
    fn the_parts_of_a_senders_time_add_up() {
        let divide = |counted, waiting, little| {
            let t = SenderTime::divide(10.0, counted, waiting, little);
            let parts = [t.receive_window, t.send_buffer, t.application, t.network, t.unknown];
            assert!((parts.iter().sum::<f64>() - 10.0).abs() < 1e-9, "{t:?}");
            assert!(parts.iter().all(|part| *part >= 0.0), "{t:?}");
            parts
        };
        assert_eq!(divide(Some([8.0, 3.0, 1.0]), None, None), [3.0, 1.0, 2.0, 4.0, 0.0]);
        assert_eq!(divide(Some([8.0, 3.0, 1.0]), Some(0.2), Some(0.5)), [3.0, 2.0, 3.5, 1.5, 0.0]);
        assert_eq!(divide(None, None, None), [0.0, 0.0, 0.0, 0.0, 10.0], "an old kernel");
        assert_eq!(divide(None, Some(0.4), None), [0.0, 4.0, 0.0, 0.0, 6.0]);
        // Counters that advanced by more than the time between two readings.
        assert_eq!(divide(Some([11.0, 12.0, 2.0]), Some(1.0), None), [10.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(divide(Some([0.0; 3]), None, Some(1.0)), [0.0, 0.0, 10.0, 0.0, 0.0], "idle");
    }
}
