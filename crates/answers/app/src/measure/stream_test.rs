//! Summarises a test of streams from the counters of both ends.

use super::model::{Direction, EchoSummary, StreamTest};
use ::measure::client::StreamResult;
use ::measure::{BIN_MS, StreamCounters};

/// The part of a test, one in this many, that does not count for its goodput: connections start.
pub const START_SHARE: u64 = 4;

impl StreamTest {
    /// Summarises a test.
    pub fn of(name: &str, direction: Direction, result: &StreamResult) -> StreamTest {
        let sender = &result.sender.streams;
        let sum = |of: fn(&StreamCounters) -> u64| sender.iter().map(of).sum::<u64>();
        let time = |of: fn(&StreamCounters) -> Option<f64>| {
            sender.iter().map(of).sum::<Option<f64>>().filter(|_| !sender.is_empty())
        };
        let busy = time(|s| s.busy_s).filter(|busy| *busy > 0.0);
        let share = |part: Option<f64>| Some((part? / busy?).clamp(0.0, 1.0));
        let loaded = EchoSummary::of(result.echoes.sent, &result.echoes.rtt_ms);
        let trimmed = loaded.as_ref().map(|l| l.rtt_trimmed_mean_ms);
        StreamTest {
            name: name.into(),
            direction,
            connections: sender.len() as u32,
            seconds: (result.receiver.bins.len() as u64 * BIN_MS) as f64 / 1e3,
            bytes: result.bytes(),
            goodput_mbps: result.mbps(START_SHARE as usize),
            control: sender.first().map(|s| plain(&s.control)).unwrap_or_default(),
            retransmitted_share: sum(|s| s.retransmitted) as f64 / sum(|s| s.segments).max(1) as f64,
            timeouts: sum(|s| s.timeouts),
            min_rtt_ms: sender.iter().filter_map(|s| s.min_rtt_ms).reduce(f64::min),
            window_limited_share: share(time(|s| s.window_limited_s)),
            buffer_limited_share: share(time(|s| s.buffer_limited_s)),
            sender_waited_share: result.sender.waited_share,
            mss: sender.iter().map(|s| s.mss).max().unwrap_or_default(),
            loaded,
            round_trips_per_minute: trimmed.filter(|ms| *ms > 0.0).map(|ms| 60_000.0 / ms),
        }
    }
}

/// The name of a congestion control without anything that no such name has: a server reports it.
pub fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).take(16).collect()
}
