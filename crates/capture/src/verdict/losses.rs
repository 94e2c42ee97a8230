//! What each loss of a flow was: a policer's drop, a full queue, the path gone, or nothing that shows.

use crate::limit::lift::{LIFT, lift};
use crate::{Fate, Track, Wait, Waited};
use result::diagnosis::Cause;
use std::collections::BTreeSet;

/// Silences this long, seconds, or this many RTTs, that one timeout ends may still be a lost tail.
const TAIL: (f64, f64) = (0.9, 6.0);

/// When packets were lost, seconds since the connection's first packet, and to what. `dropped`: places in the log of what
/// a policer dropped; `outages` as [`outages`] says.
pub(crate) fn losses(
    t: &Track,
    base: f64,
    rtt: f64,
    dropped: &[u32],
    outages: &[(f64, f64)],
) -> Vec<(f64, Cause)> {
    let first = seconds(t.first);
    let policed: BTreeSet<u32> = dropped.iter().copied().collect();
    let full = at_full_queue(t, base);
    let mut out = Vec::new();
    for (i, s) in t.log.iter().enumerate().filter(|(_, s)| !matches!(s.fate, Fate::Passed { .. })) {
        let at = seconds(s.time);
        let since = at - first;
        let cause = if policed.contains(&(i as u32)) {
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

/// Times in which nothing passed, seconds since the connection's first packet: silences that the path ended, those
/// that took more than one timeout to end, and those that another flow between the same hosts (`beside`) had too.
/// While others came through it was no outage.
pub(crate) fn outages(t: &Track, rtt: f64, beside: &[&Track]) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    let mut run: Vec<&Wait> = Vec::new();
    let waits = t.waits.iter().filter(|w| w.why != Waited::ZeroWindow);
    for w in waits.map(Some).chain([None]) {
        let joins = w.is_some_and(|w| run.last().is_none_or(|l| seconds(w.from) - seconds(l.to) < 0.5 * rtt));
        if !joins && let (Some(a), Some(b)) = (run.first(), run.last()) {
            let (from, to) = (seconds(a.from), seconds(b.to));
            let path = run.iter().any(|w| w.why == Waited::Silence);
            let long = run.len() > 1 || to - from > TAIL.0.max(TAIL.1 * rtt);
            let shared = to - from > 0.15_f64.max(3.0 * rtt) && beside.iter().any(|o| silent(o, from, to));
            if (path || long || shared) && !beside.iter().any(|o| came_through(o, from, to)) {
                out.push((from - seconds(t.first), to - seconds(t.first)));
            }
            run.clear();
        }
        run.extend(w);
    }
    out
}

fn seconds(t: units::Time) -> f64 {
    t.as_nanos() as f64 * 1e-9
}

/// It waited too for most of that time.
fn silent(t: &Track, from: f64, to: f64) -> bool {
    let both: f64 =
        t.waits.iter().map(|w| (seconds(w.to).min(to) - seconds(w.from).max(from)).max(0.0)).sum();
    both > 0.7 * (to - from)
}

/// Its packets arrived meanwhile, but for the edges: most of those sent, and several.
fn came_through(t: &Track, from: f64, to: f64) -> bool {
    let edge = 0.2 * (to - from);
    let (from, to) = (from + edge, to - edge);
    let begin = t.log.partition_point(|s| seconds(s.time) < from);
    let during = t.log[begin..].iter().take_while(|s| seconds(s.time) < to);
    let (mut passed, mut all) = (0, 0);
    for s in during {
        all += 1;
        passed += usize::from(matches!(s.fate, Fate::Passed { .. }) && !s.again);
    }
    passed >= 3 && passed * 2 > all
}
