//! What each loss of a flow was: a policer's drop, a full queue, the path gone, or nothing that shows.

use crate::limit::lift::{LIFT, lift};
use crate::{Fate, Track};
use result::diagnosis::Cause;

/// When packets were lost, seconds since the connection's first packet, and to what. `dropped`: when a policer
/// dropped, seconds since 1970; `outages` as [`super::outages`] says.
pub(crate) fn losses(
    t: &Track,
    base: f64,
    rtt: f64,
    dropped: &[f64],
    outages: &[(f64, f64)],
) -> Vec<(f64, Cause)> {
    let first = seconds(t.first);
    let policed: Vec<u64> = dropped.iter().map(|d| micros(*d)).collect();
    let full = at_full_queue(t, base);
    let mut out = Vec::new();
    for (i, s) in t.log.iter().enumerate().filter(|(_, s)| !matches!(s.fate, Fate::Passed { .. })) {
        let at = seconds(s.time);
        let since = at - first;
        let cause = if policed.binary_search_by(|p| near(*p, micros(at))).is_ok() {
            Cause::Policed
        } else if outages.iter().any(|o| since > o.0 - 1.5 * rtt && since < o.1 + 0.5 * rtt) {
            Cause::Outage
        } else if full.as_ref().is_some_and(|f| f[i]) {
            Cause::Congestion
        } else {
            Cause::RandomLoss
        };
        out.push((since, cause));
    }
    out
}

/// Whether a queue was long when each packet passed, where losses go with that.
fn at_full_queue(t: &Track, base: f64) -> Option<Vec<bool>> {
    let delay = delays(t, base);
    let lost = |i: usize| !matches!(t.log[i].fate, Fate::Passed { .. });
    let of = |which: bool| {
        let some = delay.iter().enumerate().filter(|(i, d)| lost(*i) == which && d.is_finite());
        some.map(|(_, d)| *d).collect::<Vec<f32>>()
    };
    let (mut losses, mut passed) = (of(true), of(false));
    let lift = lift(&mut losses, &mut passed, base).filter(|l| l.share > LIFT)?;
    Some(delay.iter().map(|d| *d > 0.2 * lift.top).collect())
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

fn seconds(t: units::Time) -> f64 {
    t.as_nanos() as f64 * 1e-9
}
