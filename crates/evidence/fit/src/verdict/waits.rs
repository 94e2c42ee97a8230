//! The sender's waits as the kernel counted them, and the rate to which the test itself was limited.

use super::digest::SeriesDigest;
use super::{SummaryVerdict, VerdictKind, rate, size};
use crate::series::SeriesInterval;

/// Least share of the busy time of the wait that held the flow.
const MIN_WAIT_SHARE: f64 = 0.5;
/// Largest relative difference from the test's own rate.
const TARGET_RATE_TOLERANCE: f64 = 0.03;
/// Least share of the time without data outstanding of a flow that the application held.
const MIN_IDLE_SHARE: f64 = 0.5;

/// The verdict if the test's own rate, the receiver's window, the send buffer or the application held the
/// flow.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    own_rate(d).or_else(|| counted(d)).or_else(|| idle(d))
}

fn own_rate(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let target = d.series.target_bps.filter(|t| *t > 0.0)?;
    let near = (d.bps / target - 1.0).abs() <= TARGET_RATE_TOLERANCE;
    near.then(|| SummaryVerdict {
        kind: VerdictKind::Application,
        headline: format!(
            "The test limited itself to {} (-b) and reached it: the path carries at least that, and no rate limiter can be identified.",
            rate(target)
        ),
        ..SummaryVerdict::default()
    })
}

/// A counter's sum over all intervals of the flow with most bytes, seconds; `None` if no interval has it.
fn sum(d: &SeriesDigest, value: fn(&SeriesInterval) -> Option<f64>) -> Option<f64> {
    d.series.flows.first()?.intervals.iter().filter_map(value).reduce(|a, b| a + b)
}

fn counted(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let busy = sum(d, |i| i.busy_s).filter(|b| *b > 0.0)?;
    let share = |value| sum(d, value).unwrap_or(0.0) / busy;
    let (window, buffer) = (share(|i| i.rwnd_limited_s), share(|i| i.sndbuf_limited_s));
    let first = d.series.flows.first()?;
    let at_most =
        |value: fn(&SeriesInterval) -> Option<f64>| first.intervals.iter().filter_map(value).reduce(f64::max);
    if window.max(buffer) < MIN_WAIT_SHARE {
        return None;
    }
    let no_limiter = "no rate limiter can be identified";
    if window >= buffer {
        let bytes = at_most(|i| i.snd_wnd_bytes).or_else(|| at_most(|i| i.unacked_bytes)).or(d.inflight());
        let size_text = bytes.map_or(String::new(), |b| format!(" of {}", size(b)));
        return Some(SummaryVerdict {
            kind: VerdictKind::ReceiveWindow,
            headline: format!(
                "The receiver's window{size_text} held the flow for {:.0} % of its busy time: raise net.ipv4.tcp_rmem (or SO_RCVBUF) at the \
                 receiver; {no_limiter}.",
                100.0 * window.min(1.0)
            ),
            window_bytes: bytes,
            ..SummaryVerdict::default()
        });
    }
    let bytes = at_most(|i| i.unacked_bytes).or(d.inflight());
    let size_text = bytes.map_or(String::new(), |b| format!(", with {} in flight,", size(b)));
    Some(SummaryVerdict {
        kind: VerdictKind::SendBuffer,
        headline: format!(
            "The send buffer{size_text} held the flow for {:.0} % of its busy time: raise net.ipv4.tcp_wmem (or SO_SNDBUF) at the sender; {no_limiter}.",
            100.0 * buffer.min(1.0)
        ),
        window_bytes: bytes,
        ..SummaryVerdict::default()
    })
}

fn idle(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let busy = sum(d, |i| i.busy_s)?;
    let first = d.series.flows.first()?;
    let all: f64 = first.intervals.iter().map(SeriesInterval::seconds).sum();
    let limited = first.intervals.iter().filter(|i| i.app_limited == Some(true)).count();
    let mostly = limited * 2 > first.intervals.len();
    if !mostly && (first.intervals.len() < 2 || busy >= (1.0 - MIN_IDLE_SHARE) * all) {
        return None;
    }
    let headline = match first.intervals.len() {
        1 => "Perhaps the application held the flow: the kernel marks it app_limited. No rate limiter can be identified.".into(),
        _ => format!(
            "Probably the application held the flow: data was outstanding for {:.0} % of the time. No rate limiter can be identified.",
            100.0 * (busy / all.max(1e-9)).min(1.0)
        ),
    };
    Some(SummaryVerdict { kind: VerdictKind::Application, headline, ..SummaryVerdict::default() })
}
