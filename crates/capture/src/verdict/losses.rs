//! What each loss of a flow was: a policer's drop, a full queue, the path gone, or nothing that shows.

use crate::{Fate, Track, Wait, Waited};
use result::diagnosis::Cause;

/// Delay that a queue must reach before losses at its top mean anything: seconds, and share of RTprop.
const LEAST_QUEUE: (f64, f64) = (0.0004, 0.015);
/// Silences this long, seconds, or this many RTTs, that one timeout ends may still be a lost tail.
const TAIL: (f64, f64) = (0.9, 6.0);

/// When packets were lost, seconds since the connection's first packet, and to what. `dropped`: when a policer
/// dropped, seconds since 1970.
pub(crate) fn losses(t: &Track, base: f64, dropped: &[f64]) -> Vec<(f64, Cause)> {
    let first = t.first.as_nanos() as f64 * 1e-9;
    let policed: Vec<u64> = dropped.iter().map(|d| micros(*d)).collect();
    let delay = delays(t, base);
    let mut top: Vec<f32> = delay.iter().copied().filter(|d| d.is_finite()).collect();
    let top = crate::limit::bucket::quantile(&mut top, 0.95) as f64;
    let queues = top > LEAST_QUEUE.0.max(LEAST_QUEUE.1 * base);
    let mut out = Vec::new();
    for (s, delay) in t.log.iter().zip(&delay).filter(|(s, _)| !matches!(s.fate, Fate::Passed { .. })) {
        let at = s.time.as_nanos() as f64 * 1e-9;
        let is_policed = policed.binary_search_by(|p| near(*p, micros(at))).is_ok();
        let cause = match is_policed {
            true => Cause::Policed,
            false if queues && *delay as f64 > 0.5 * top => Cause::Congestion,
            false => Cause::RandomLoss,
        };
        out.push((at - first, cause));
    }
    out
}

/// Times that went through sums of floats are the same within 2 µs.
fn near(a: u64, b: u64) -> std::cmp::Ordering {
    if a.abs_diff(b) <= 2 { std::cmp::Ordering::Equal } else { a.cmp(&b) }
}

fn micros(s: f64) -> u64 {
    (s * 1e6) as u64
}

/// Delay above the least, seconds, of each packet or (where it has none) of the last before it that has: of the
/// round trip, or on the way to the capture where that is more of it.
fn delays(t: &Track, base: f64) -> Vec<f32> {
    let mut last = f32::NAN;
    t.log
        .iter()
        .map(|s| {
            if let Fate::Passed { rtt } = s.fate {
                let round = if rtt > 0 { (rtt as f64 * 1e-6 - base) as f32 } else { f32::NAN };
                let way = if s.delay == u32::MAX { f32::NAN } else { s.delay as f32 * 1e-6 };
                let now = round.max(way);
                last = if now.is_finite() { now } else { last };
            }
            last
        })
        .collect()
}

/// Times in which nothing passed, seconds since the connection's first packet: silences that the path ended, and
/// those that took more than one timeout to end.
pub(crate) fn outages(t: &Track, rtt: f64) -> Vec<(f64, f64)> {
    let since = |time: units::Time| (time.as_nanos() as f64 - t.first.as_nanos() as f64) * 1e-9;
    let mut out = Vec::new();
    let mut run: Vec<&Wait> = Vec::new();
    let mut close = |run: &mut Vec<&Wait>| {
        if let (Some(a), Some(b)) = (run.first(), run.last()) {
            let (from, to) = (since(a.from), since(b.to));
            let path = run.iter().any(|w| w.why == Waited::Silence);
            if path || run.len() > 1 || to - from > TAIL.0.max(TAIL.1 * rtt) {
                out.push((from, to));
            }
        }
        run.clear();
    };
    for w in t.waits.iter().filter(|w| w.why != Waited::ZeroWindow) {
        let apart = run.last().is_none_or(|l| since(w.from) - since(l.to) > 0.5 * rtt);
        if apart {
            close(&mut run);
        }
        run.push(w);
    }
    close(&mut run);
    out
}
