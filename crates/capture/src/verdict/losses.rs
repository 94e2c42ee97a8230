//! What each loss of a flow was: a policer's drop, a full queue, the path gone, or nothing that shows.

use super::outages::reach;
use crate::limit::lift::goes_with_delay;
use crate::{Fate, Sample, Track};
use result::diagnosis::Cause;
use std::collections::BTreeSet;

/// A queue is long when the delay is this share of that of losses usually.
const LONG: f32 = 0.3;
/// Of a delay by clock, the share that counts for the mean; and how long it does, seconds.
const SHARE: f32 = 0.25;
const TICKS: f64 = 0.003;

/// When packets were lost, seconds since the connection's first packet, and to what. `dropped`: places in the log of what
/// a policer dropped; `outages` as [`super::outages`] says.
pub(crate) fn losses(
    t: &Track,
    base: f64,
    rtt: f64,
    dropped: &[u32],
    outages: &[(f64, f64)],
) -> Vec<(f64, Cause)> {
    let first = seconds(t.first);
    let policed: BTreeSet<u32> = dropped.iter().copied().collect();
    let full = at_full_queue(t, base, rtt);
    let gone: Vec<(f64, f64)> = outages.iter().map(|o| reach(*o, rtt)).collect();
    let mut out = Vec::new();
    for (i, s) in t.log.iter().enumerate().filter(|(_, s)| !matches!(s.fate, Fate::Passed { .. })) {
        let at = seconds(s.time);
        let since = at - first;
        let cause = if policed.contains(&(i as u32)) {
            Cause::Policed
        } else if gone.iter().any(|g| since > g.0 && since < g.1) {
            Cause::Outage
        } else if full[i] {
            Cause::Congestion
        } else {
            Cause::RandomLoss
        };
        out.push((since, cause));
    }
    out
}

/// Which packets of the log were lost at a full queue: those that came when it was long, where losses go with that.
/// Losses before the capture are held against the delay to it, those behind it against the round trip.
fn at_full_queue(t: &Track, base: f64, rtt: f64) -> Vec<bool> {
    let mut full = vec![false; t.log.len()];
    for (fate, delay) in [(Fate::LostDown, round_trips(t, base)), (Fate::LostUp, ways(t))] {
        let (mut losses, mut passed, mut until) = (Vec::new(), Vec::new(), f64::NEG_INFINITY);
        for (s, d) in t.log.iter().zip(&delay).filter(|(_, d)| d.is_finite()) {
            if matches!(s.fate, Fate::Passed { rtt: 1.. }) {
                passed.push(*d);
            } else if s.fate == fate && seconds(s.time) > until {
                // Losses within half a round trip are of one queue, and say it once.
                losses.push(*d);
                until = seconds(s.time) + 0.5 * rtt;
            }
        }
        let Some(usual) = goes_with_delay(&mut losses, &mut passed) else { continue };
        for (i, s) in t.log.iter().enumerate() {
            full[i] |= s.fate == fate && delay[i] > LONG * usual;
        }
    }
    full
}

/// Delay of the round trip above the least, seconds, of each packet or (where it has none) of the last before it.
fn round_trips(t: &Track, base: f64) -> Vec<f32> {
    let mut last = f32::NAN;
    let of = |s: &Sample| {
        if let Fate::Passed { rtt: rtt @ 1.. } = s.fate {
            last = (rtt as f64 * 1e-6 - base) as f32;
        }
        last
    };
    t.log.iter().map(of).collect()
}

/// Delay on the way to the capture above the least, seconds, likewise; the mean of some, because the sender's clock
/// ticks slower than packets come.
fn ways(t: &Track) -> Vec<f32> {
    let (mut mean, mut last) = (f32::NAN, f64::NEG_INFINITY);
    let of = |s: &Sample| {
        if matches!(s.fate, Fate::Passed { .. }) && s.delay != u32::MAX {
            let (at, now) = (seconds(s.time), s.delay as f32 * 1e-6);
            let old = mean.is_finite() && at - last < TICKS;
            mean = if old { mean + SHARE * (now - mean) } else { now };
            last = at;
        }
        mean
    };
    t.log.iter().map(of).collect()
}

pub(super) fn seconds(t: units::Time) -> f64 {
    t.as_nanos() as f64 * 1e-9
}
