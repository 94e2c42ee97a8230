//! What live connections do, second by second: the lines of `longfat watch --live json`.

use crate::socket::SenderTime;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Name and version of the format of a [`WatchReport`].
pub const WATCH_SCHEMA: &str = "longfat-watch/1";

/// The JSON Schema (draft 7) of a [`WatchReport`]: `docs/watch.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/watch.schema.json")
}

/// What limits the sender of a connection, by its own kernel's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SenderLimit {
    /// The receive window was full.
    ReceiveWindow,
    /// The send buffer was full, and all of it was sent.
    SendBuffer,
    /// The application had nothing, or too little, to send.
    Application,
    /// Data was outstanding and none of these limits applied: the congestion window, pacing or the path.
    Network,
    /// This host received more than it sent: the sender at the other end decides, and only its kernel knows.
    OtherEnd,
    /// No data moved or was outstanding.
    Idle,
    /// The kernel does not report it (before Linux 4.10).
    #[default]
    Unknown,
}

impl SenderLimit {
    /// All values, in the order of their declaration.
    pub const ALL: [SenderLimit; 7] = [
        SenderLimit::ReceiveWindow,
        SenderLimit::SendBuffer,
        SenderLimit::Application,
        SenderLimit::Network,
        SenderLimit::OtherEnd,
        SenderLimit::Idle,
        SenderLimit::Unknown,
    ];

    /// The name in JSON. Where a [`crate::Cause`] means the same, it has the same name.
    pub const fn name(self) -> &'static str {
        match self {
            SenderLimit::ReceiveWindow => "receive-window",
            SenderLimit::SendBuffer => "send-buffer",
            SenderLimit::Application => "application",
            SenderLimit::Network => "network",
            SenderLimit::OtherEnd => "other-end",
            SenderLimit::Idle => "idle",
            SenderLimit::Unknown => "unknown",
        }
    }
}

/// What a connection did over some time. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Activity {
    /// The time, s: between the kernel's readings, so rarely a whole number.
    pub seconds: f64,
    /// Bytes sent and acknowledged.
    pub sent_bytes: u64,
    /// Bytes received in order.
    pub received_bytes: u64,
    /// `sent_bytes` per second, Mbit/s.
    pub sent_mbps: f64,
    /// `received_bytes` per second, Mbit/s.
    pub received_mbps: f64,
    /// Data segments sent, retransmissions included; absent before Linux 4.6.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_packets: Option<u64>,
    /// Segments retransmitted.
    pub retransmitted_packets: u64,
    /// Packets that the kernel dropped at the socket after their arrival, duplicates included; absent if it
    /// does not count them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dropped_packets: Option<u64>,
    /// What limited this host's sending for how many of the `seconds`.
    pub sender_s: SenderTime,
    /// What limited the direction with more bytes, for the longest part of the time.
    pub limit: SenderLimit,
}

impl Activity {
    /// Retransmitted share of the data segments sent, 0 to 1; `None` if none were sent, or it is unknown.
    pub fn retransmitted_share(&self) -> Option<f64> {
        let sent = self.sent_packets.filter(|sent| *sent > 0)?;
        Some((self.retransmitted_packets as f64 / sent as f64).min(1.0))
    }

    /// Returns the seconds of each limit, in the order of [`SenderLimit::ALL`]; they add up to `seconds`.
    pub fn seconds_of_limits(&self) -> [f64; SenderLimit::ALL.len()] {
        let s = &self.sender_s;
        match self.limit {
            SenderLimit::OtherEnd => [0.0, 0.0, 0.0, 0.0, self.seconds, 0.0, 0.0],
            SenderLimit::Idle => [0.0, 0.0, 0.0, 0.0, 0.0, self.seconds, 0.0],
            _ => [s.receive_window, s.send_buffer, s.application, s.network, 0.0, 0.0, s.unknown],
        }
    }
}

/// Returns the limit with the longest time of the `seconds` of each in [`SenderLimit::ALL`], and its share of
/// the time in which there was something to send, 0 to 1. `None` without any time.
pub fn main_limit(seconds: &[f64; SenderLimit::ALL.len()]) -> Option<(SenderLimit, f64)> {
    let idle = SenderLimit::Idle as usize;
    let total = seconds.iter().enumerate().filter(|(i, _)| *i != idle).map(|(_, s)| s).sum::<f64>();
    if total <= 0.0 {
        return (seconds[idle] > 0.0).then_some((SenderLimit::Idle, 1.0));
    }
    let active = SenderLimit::ALL.into_iter().filter(|limit| *limit != SenderLimit::Idle);
    let longest = active.max_by(|a, b| seconds[*a as usize].total_cmp(&seconds[*b as usize]))?;
    Some((longest, seconds[longest as usize] / total))
}

/// A process that holds a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketProcess {
    /// Process id.
    pub pid: u32,
    /// Name (`/proc/PID/comm`), chosen by the process itself.
    pub name: String,
}

/// A connection in a [`WatchReport`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedConnection {
    /// Address of this host's end.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub local: SocketAddr,
    /// Address of the other end.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub remote: SocketAddr,
    /// The process that holds the socket; absent where it is unknown, e.g. another user's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub process: Option<SocketProcess>,
    /// Congestion control; absent where the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub control: Option<String>,
    /// Congestion window, segments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwnd_packets: Option<u32>,
    /// Smoothed RTT of the sent data, ms; absent before the first sample.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_ms: Option<f64>,
    /// Least RTT of the sent data in the kernel's window (5 minutes by default), ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_rtt_ms: Option<f64>,
    /// RTT that the kernel estimates from the received data, ms: includes the time in which the sender had
    /// nothing to send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receiver_rtt_ms: Option<f64>,
    /// Whether the connection has ended.
    pub ended: bool,
    /// Since the last report.
    pub last_second: Activity,
    /// The last 55 to 65 seconds, or since the connection was first seen.
    pub last_minute: Activity,
}

impl WatchedConnection {
    /// RTT of the direction with more bytes, ms: of the sent data, or the receiver's estimate.
    pub fn rtt_of_busier_direction(&self) -> Option<f64> {
        match self.last_minute.limit {
            SenderLimit::OtherEnd => self.receiver_rtt_ms.or(self.rtt_ms),
            _ => self.rtt_ms,
        }
    }
}

/// The connections of one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchReport {
    /// Name and version of this format.
    pub schema: String,
    /// Time of the report, s since 1970.
    pub at_s: f64,
    /// Time since the watch began, s.
    pub elapsed_s: f64,
    /// Time since the last report, s; more than a second on a host with many connections.
    pub seconds: f64,
    /// Number of connections, those included that ended since the last report.
    pub count: u64,
    /// Bytes per second that all of them sent and that were acknowledged, Mbit/s.
    pub sent_mbps: f64,
    /// Bytes per second that all of them received, Mbit/s.
    pub received_mbps: f64,
    /// Number of connections that are not in `connections`, which holds those with the most bytes.
    pub omitted: u64,
    /// Packets since the start that longfat could not read in time.
    pub missed_packets: u64,
    /// The connections, those with the most bytes since the last report first.
    pub connections: Vec<WatchedConnection>,
}
