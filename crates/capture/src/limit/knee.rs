//! The bucket before a queue: what passes without waiting before anything waits.
//!
//! A packet that waits at a shaper of rate r and bucket B leaves when all that came before it, less B, has been
//! carried off at r. With the level as in [`super::delay`], its own bytes included, level - r * wait = B for each packet
//! that waits, whatever slower or faster stages it met before; for one that has not waited yet it is less. So the
//! greatest value that many packets share is B, and a plain link's is a packet or two. Where packets are seen as
//! they leave, the level of what leaves is that value without any wait to be measured.
//!
//! A shaper that is refilled at intervals lets a bucket pass at once, and then nothing: there the value
//! goes up and down by a bucket, and what passes between two pauses is the bucket.

use super::bucket::{Arrival, quantile};
use super::sort;

/// Packets that wait looked at: later ones carry the sum of the rate's error.
const EARLY: usize = 4000;
/// Fewest of them.
const FEWEST: usize = 20;
/// Values within so many packets, so many seconds at the rate, or this share of them, are the same.
const SAME: (f64, f64, f64) = (3.0, 100e-6, 0.04);
/// Share of the packets that have one value, at least, and how much greater one that more have may be.
const SHARE: f64 = 0.2;
const NEAR: f64 = 1.15;
/// Fewest bursts of a shaper that is refilled at intervals.
const BURSTS: usize = 8;
/// Half the distance between the quartiles of what they hold, as a share.
const ALIKE: f64 = 0.12;
/// Share of the time that is spent in pauses, at least, where the stage behind is twice as fast; and how much shorter than
/// the common one a pause may be.
const PAUSE: (f64, f64) = (0.4, 0.5);
/// Share of the time in which packets wait that bursts account for, at least.
const MOST: f64 = 0.3;
/// Fewest packets of a burst: ACKs stand for two.
const PACKETS: f64 = 3.5;
/// Least interval, seconds: hosts gather packets for less.
const LONG: f64 = 2e-3;

/// How packets are seen at a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Bytes a second that it carries off.
    pub rate: f64,
    /// They are seen as they come to it, else as they leave.
    pub before: bool,
    /// Delays are those of the sender's clock, and times those before the delay.
    pub clocked: bool,
    /// Delay without waiting, seconds.
    pub base: f64,
    /// Least that counts as waiting, seconds; -inf: waits are not known, and all count.
    pub floor: f64,
    /// An arrival may stand for several packets, of which only the first came then.
    pub merged: bool,
}

/// A packet that passed.
#[derive(Clone, Copy)]
struct Passed {
    at: f64,
    bytes: f64,
    size: f64,
    wait: f64,
}

/// Bytes that pass before packets wait; `None` where that does not show.
pub(super) fn knee(arrivals: &[Arrival], seen: Seen) -> Option<f64> {
    let passed = passed(arrivals, seen);
    let mut values = values(&passed, seen);
    if values.len() < FEWEST {
        return None;
    }
    let size = passed[0].size;
    common(&mut values, seen.rate, size)
}

/// What passed, in the order it is seen at the queue.
fn passed(arrivals: &[Arrival], seen: Seen) -> Vec<Passed> {
    let of = |a: &Arrival| {
        let delay = a.rtt as f64;
        let at = if seen.clocked && delay.is_finite() { a.at + delay } else { a.at };
        Passed { at, bytes: a.bytes as f64, size: a.size as f64, wait: delay - seen.base }
    };
    let mut out: Vec<Passed> = arrivals.iter().filter(|a| !a.lost).map(of).collect();
    sort::by_time(&mut out, |p| p.at);
    out
}

/// Level less what was carried off while they waited, of the first packets that wait.
fn values(passed: &[Passed], seen: Seen) -> Vec<f32> {
    let (mut level, mut last) = (0.0f64, 0.0);
    let mut out = Vec::new();
    for p in passed {
        level = (level - seen.rate * (p.at - last)).max(0.0);
        last = p.at;
        let own = if seen.merged { p.size } else { p.bytes };
        if p.wait > seen.floor || seen.floor == f64::NEG_INFINITY {
            out.push((level + own - if seen.before { seen.rate * p.wait } else { 0.0 }) as f32);
            if out.len() == EARLY {
                break;
            }
        }
        level += p.bytes;
    }
    out
}

/// The least value that many have: what was held up elsewhere and came at once makes later ones greater.
fn common(values: &mut [f32], rate: f64, size: f64) -> Option<f64> {
    values.sort_unstable_by(f32::total_cmp);
    let enough = ((values.len() as f64 * SHARE) as usize).max(2);
    let (mut best, mut from) = (None::<(usize, usize)>, 0);
    for to in 0..values.len() {
        let high = values[to] as f64;
        if best.is_some_and(|b| high > NEAR * values[b.1] as f64 + size) {
            break;
        }
        let width = (SAME.0 * size).max(SAME.1 * rate).max(SAME.2 * high);
        while (values[from] as f64) < high - width {
            from += 1;
        }
        if to - from >= best.map_or(enough, |b| b.1 - b.0 + 1) {
            best = Some((from, to));
        }
    }
    best.map(|b| values[(b.0 + b.1) / 2] as f64)
}

/// A shaper that is refilled at intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pulses {
    /// What leaves between two pauses, bytes.
    pub burst: f64,
    /// Bytes a second.
    pub rate: f64,
}

/// Finds the regular bursts in which packets leave while others wait. `seen.rate` need not be known well.
pub(super) fn pulses(arrivals: &[Arrival], seen: Seen) -> Option<Pulses> {
    let passed = passed(arrivals, seen);
    let mut wait = f64::NAN;
    let mut leaves: Vec<(f64, f64, bool)> = Vec::with_capacity(passed.len());
    for p in &passed {
        // One without a sample waits as the one before.
        wait = if p.wait.is_finite() { p.wait } else { wait };
        if wait.is_finite() {
            leaves.push((if seen.before { p.at + wait } else { p.at }, p.bytes, wait > seen.floor));
        }
    }
    sort::by_time(&mut leaves, |l| l.0);
    let (gap, whole) = common_gap(&leaves)?;
    let pause = PAUSE.1 * gap;
    let (mut bursts, mut spans) = (Vec::new(), 0.0);
    // Since the pause before; nothing where some did not wait.
    let mut now: Option<(f64, f64)> = None;
    for w in leaves.windows(2) {
        let ((before, bytes, _), (at, _, waits)) = (w[0], w[1]);
        now = now.map(|n| (n.0, n.1 + bytes)).filter(|_| waits);
        if at - before > pause {
            if let Some((began, sum)) = now {
                bursts.push(sum as f32);
                spans += at - began;
            }
            now = waits.then_some((at, 0.0));
        }
    }
    if bursts.len() < BURSTS || spans < MOST * whole {
        return None;
    }
    let sum: f64 = bursts.iter().map(|b| *b as f64).sum();
    let burst = quantile(&mut bursts, 0.5) as f64;
    let spread = (quantile(&mut bursts, 0.75) - quantile(&mut bursts, 0.25)) as f64 / 2.0;
    let rate = sum / spans;
    let long = burst > LONG * rate && burst > PACKETS * passed[0].size;
    (long && spread < ALIKE * burst).then_some(Pulses { burst, rate })
}

/// The gap that [`PAUSE`] of all time is spent in ones at least as long, while packets wait; and that time.
fn common_gap(leaves: &[(f64, f64, bool)]) -> Option<(f64, f64)> {
    let waits = leaves.windows(2).filter(|w| w[0].2 && w[1].2);
    let mut gaps: Vec<f32> = waits.map(|w| (w[1].0 - w[0].0) as f32).collect();
    gaps.sort_unstable_by(|a, b| b.total_cmp(a));
    let whole: f64 = gaps.iter().map(|g| *g as f64).sum();
    let mut sum = 0.0;
    let common = gaps.into_iter().map(|g| g as f64).find(|g| {
        sum += g;
        sum > PAUSE.0 * whole
    });
    common.map(|g| (g, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: f64 = 0.05;

    /// When packets that come at these times leave a stage of `rate` bytes a second and a bucket of `burst`.
    fn stage(come: &[f64], rate: f64, burst: f64, size: f64) -> Vec<f64> {
        let (mut tokens, mut last) = (burst, 0.0f64);
        let leave = come.iter().map(|at| {
            let at = at.max(last);
            tokens = burst.min(tokens + rate * (at - last)) - size;
            let wait = (-tokens / rate).max(0.0);
            tokens = tokens.max(0.0);
            last = at + wait;
            last
        });
        leave.collect()
    }

    /// Growing bursts each 80 ms through a link of `access` and a shaper, seen before both.
    fn seen_before(access: f64, rate: f64, burst: f64) -> Vec<Arrival> {
        let come: Vec<f64> = (0..60).flat_map(|i| vec![i as f64 * 0.08; 20 + 3 * i]).collect();
        let between = stage(&come, access, 1500.0, 1500.0);
        let leave = stage(&between, rate, burst, 1500.0);
        let of = |(at, out): (&f64, &f64)| Arrival {
            at: *at,
            bytes: 1500.0,
            size: 1500.0,
            lost: false,
            rtt: (out - at + BASE) as f32,
            flow: 0,
            entry: 0,
        };
        come.iter().zip(&leave).map(of).collect()
    }

    fn seen(rate: f64, before: bool) -> Seen {
        Seen { rate, before, clocked: false, base: BASE, floor: 0.0025, merged: false }
    }

    #[test]
    fn a_bucket_is_the_same_whatever_link_is_before_it() {
        let rate = 1e6;
        for (access, burst) in [(2e6, 40e3), (2e6, 120e3), (3e7, 40e3), (3e7, 120e3)] {
            let k = knee(&seen_before(access, rate, burst), seen(rate, true)).unwrap_or_default();
            assert!((k / burst - 1.0).abs() < 0.06, "{access} {burst}: {k}");
        }
        let link = knee(&seen_before(3e7, rate, 1500.0), seen(rate, true)).unwrap_or_default();
        assert!(link < 4500.0, "{link}");
    }

    #[test]
    fn packets_seen_as_they_leave_tell_it_too() {
        let rate = 1e6;
        let mut out = seen_before(3e7, rate, 60e3);
        out.iter_mut().for_each(|a| a.at += a.rtt as f64 - BASE);
        let k = knee(&out, seen(rate, false)).unwrap_or_default();
        assert!((k / 60e3 - 1.0).abs() < 0.05, "{k}");
    }

    #[test]
    fn what_leaves_between_two_pauses_is_the_bucket_of_an_interval() {
        let (rate, burst) = (1e6, 30e3);
        // Twenty packets at ten times the rate, then nothing until the interval is over.
        let leave = |i: usize| (i / 20) as f64 * burst / rate + (i % 20) as f64 * 1500.0 / (10.0 * rate);
        let of = |i: usize| Arrival {
            at: leave(i),
            bytes: 1500.0,
            size: 1500.0,
            lost: false,
            rtt: (BASE + 0.03) as f32,
            flow: 0,
            entry: 0,
        };
        let arrivals: Vec<Arrival> = (0..1000).map(of).collect();
        let p = pulses(&arrivals, seen(rate, false));
        assert!(
            p.is_some_and(|p| (p.burst - burst).abs() < 1.0 && (p.rate / rate - 1.0).abs() < 1e-6),
            "{p:?}"
        );
        // A link lets them leave evenly.
        let even: Vec<Arrival> =
            (0..1000).map(|i| Arrival { at: i as f64 * 1500.0 / rate, ..of(i) }).collect();
        assert!(pulses(&even, seen(rate, false)).is_none());
    }
}
