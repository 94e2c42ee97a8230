//! Two clocks laid beside each other, by the packets that passed both.
//!
//! A packet that passed here first took `there − here` = offset + its way; one that passed there first, offset − its way. No
//! way takes less than no time, so the offset lies below the first and above the second, always: a strip that both clocks
//! have to run through. Where the path was empty for a moment each way, the strip is the least round trip between the two
//! captures wide. So
//!
//! - **drift** is the slope at which the strip is widest: a wrong slope makes it narrower by what the clocks drift over the
//!   capture. (With delays of one direction only this is the skew of Moon, Skelly and Towsley, INFOCOM 1999, section 4; two
//!   directions tell a queue that grows from a clock that runs ahead, which one cannot.) Where slopes do nearly alike, as
//!   behind a queue that only ever grows, the one is taken at which most packets' least delays lie on the strip's edges.
//! - **offset** is the strip's middle, as NTP has it (RFC 5905 section 8). It is right if the empty path takes as long there as
//!   back; half the difference cannot be known, and half the strip's width bounds it.
//!
//! Delays above the least of their direction do not hang on the offset, and no loss does.

use units::{Span, Time};

/// Clocks drift apart by no more (RFC 5905 section 11.3 `MAXFREQ`; Linux `MAXFREQ_SCALED`).
const MOST_DRIFT: f64 = 500e-6;
/// Parts of the time in which the least delays are looked at.
const PARTS: usize = 512;
/// Slopes do alike that make the strip narrower by less than this share, or by two ticks of a microsecond, ns.
const ALIKE: (f64, f64) = (0.01, 2_000.0);
/// Steps of a search over slopes: each round narrows it fifty times, three come to 8 ns in a minute.
const STEPS: i32 = 100;
const ROUNDS: i32 = 3;
/// Halvings of an interval of slopes: to a billionth of it.
const HALVINGS: i32 = 30;

/// A packet that passed both captures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PassedBoth {
    /// When it passed here.
    pub here: Time,
    /// When it passed there, by the clock there.
    pub there: Time,
}

/// How the clock there runs beside the one here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFit {
    /// The time here from which drift counts.
    origin: Time,
    /// The time there at that time.
    origin_there: Time,
    /// How much faster the clock there runs, as a share.
    pub drift: f64,
    /// Drift is known to plus or minus so much.
    pub drift_error: f64,
    /// Least time from one capture to the other and back; none at all of a fit to one direction.
    pub round_trip: Span,
    /// Packets of both directions passed both captures. Of one alone the offset is that with which the least way takes no time.
    pub two_way: bool,
}

impl ClockFit {
    /// How far the clock there is ahead of the one here at the first packet, ns; known to half of [`ClockFit::round_trip`].
    pub fn offset_ns(&self) -> i64 {
        difference(self.origin_there, self.origin)
    }

    /// The time here when it is `there` there.
    pub fn here(&self, there: Time) -> Time {
        let since = difference(there, self.origin_there) as f64 / (1.0 + self.drift);
        moved(self.origin, since.round() as i64)
    }

    /// The time there when it is `here` here.
    pub fn there(&self, here: Time) -> Time {
        let since = difference(here, self.origin) as f64 * (1.0 + self.drift);
        moved(self.origin_there, since.round() as i64)
    }
}

/// `a` − `b`, ns.
pub(super) fn difference(a: Time, b: Time) -> i64 {
    a.as_nanos().wrapping_sub(b.as_nanos()) as i64
}

fn moved(time: Time, ns: i64) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add_signed(ns))
}

/// The least `there − here` of packets in a part of the time, or of the other direction the greatest.
#[derive(Clone, Copy)]
struct EdgePoint {
    /// ns since the first.
    at: f64,
    /// ns.
    value: f64,
}

/// Both edges.
struct Strip {
    upper: Vec<EdgePoint>,
    lower: Vec<EdgePoint>,
}

impl Strip {
    /// Its edges at the origin when both have this slope.
    fn edges(&self, slope: f64) -> (f64, f64) {
        let flat = |p: &EdgePoint| p.value - slope * p.at;
        let upper = self.upper.iter().map(flat).fold(f64::INFINITY, f64::min);
        let lower = self.lower.iter().map(flat).fold(f64::NEG_INFINITY, f64::max);
        (upper, lower)
    }

    /// Least of one linear function each point, less the greatest of others: concave in the slope.
    fn width(&self, slope: f64) -> f64 {
        let (upper, lower) = self.edges(slope);
        upper - lower
    }

    /// How badly the points lie on the edges: roots, so that many on an edge and a few far off is better than all a little off.
    fn stray(&self, slope: f64) -> f64 {
        let (upper, lower) = self.edges(slope);
        let far = |p: &EdgePoint, edge: f64| (p.value - slope * p.at - edge).abs().sqrt();
        self.upper.iter().map(|p| far(p, upper)).sum::<f64>()
            + self.lower.iter().map(|p| far(p, lower)).sum::<f64>()
    }

    /// The slopes that make it nearly as wide as any does.
    fn widest(&self) -> (f64, f64) {
        let (mut from, mut to) = (-MOST_DRIFT, MOST_DRIFT);
        for _ in 0..2 * HALVINGS {
            let (a, b) = (from + (to - from) / 3.0, to - (to - from) / 3.0);
            if self.width(a) < self.width(b) { from = a } else { to = b }
        }
        let best = (from + to) / 2.0;
        let least = self.width(best) - (ALIKE.0 * self.width(best)).max(ALIKE.1);
        let end = |outside: f64| {
            if self.width(outside) >= least {
                return outside;
            }
            let (mut inside, mut outside) = (best, outside);
            for _ in 0..HALVINGS {
                let middle = (inside + outside) / 2.0;
                if self.width(middle) >= least { inside = middle } else { outside = middle }
            }
            inside
        };
        (end(-MOST_DRIFT), end(MOST_DRIFT))
    }

    /// The slope between these at which the points lie best on the edges; none at all if that does as well.
    fn slope(&self, (least, most): (f64, f64)) -> f64 {
        let (mut from, mut to) = (least, most);
        let mut best = (from + to) / 2.0;
        for _ in 0..ROUNDS {
            let step = (to - from) / f64::from(STEPS);
            let slopes = (0..=STEPS).map(|i| from + step * f64::from(i));
            best = slopes.min_by(|a, b| self.stray(*a).total_cmp(&self.stray(*b))).unwrap_or(best);
            (from, to) = ((best - step).max(least), (best + step).min(most));
        }
        let stands = least <= 0.0 && most >= 0.0 && self.stray(0.0) <= self.stray(best);
        if stands { 0.0 } else { best }
    }
}

/// Lays the clocks beside each other, by packets that passed here first (`out`) and there first (`back`). `None` where one of
/// both is missing, or where no steady clock makes all of them travel forwards in time: one was set meanwhile.
pub(super) fn fit(out: &[PassedBoth], back: &[PassedBoth]) -> Option<ClockFit> {
    let all = || out.iter().chain(back);
    let first = all().min_by_key(|p| p.here)?;
    let last = all().map(|p| p.here).max()?;
    let (origin, origin_there) = (first.here, first.there);
    let part = last.since(origin).as_nanos() / PARTS as u64 + 1;
    let from = (origin, origin_there, part);
    let strip = Strip { upper: edge(out, from, |a, b| a < b), lower: edge(back, from, |a, b| a > b) };
    if strip.upper.is_empty() || strip.lower.is_empty() {
        return None;
    }
    let range = strip.widest();
    let drift = strip.slope(range);
    let (upper, lower) = strip.edges(drift);
    (upper >= lower).then(|| ClockFit {
        origin,
        origin_there: moved(origin_there, ((upper + lower) / 2.0).round() as i64),
        drift,
        drift_error: (range.1 - range.0) / 2.0,
        round_trip: Span::from_nanos((upper - lower) as u64),
        two_way: true,
    })
}

/// The same by one direction alone: packets that passed here first (`is_out`), or there. The drift is that of the line under all
/// delays at which most of the least ones lie (Moon, Skelly and Towsley, section 4): a queue that only ever grows looks the
/// same. `None` where there is no packet.
pub(super) fn fit_one_way(packets: &[PassedBoth], is_out: bool) -> Option<ClockFit> {
    let first = packets.iter().min_by_key(|p| p.here)?;
    let last = packets.iter().map(|p| p.here).max()?;
    let (origin, origin_there) = (first.here, first.there);
    let part = last.since(origin).as_nanos() / PARTS as u64 + 1;
    let upper = edge(packets, (origin, origin_there, part), if is_out { |a, b| a < b } else { |a, b| a > b });
    // Upside down, the edge of the other direction is one that lies above.
    let sign = if is_out { 1.0 } else { -1.0 };
    let upper = upper.into_iter().map(|p| EdgePoint { value: sign * p.value, ..p }).collect();
    let strip = Strip { upper, lower: Vec::new() };
    let slope = strip.slope((-MOST_DRIFT, MOST_DRIFT));
    Some(ClockFit {
        origin,
        origin_there: moved(origin_there, (sign * strip.edges(slope).0).round() as i64),
        drift: sign * slope,
        drift_error: MOST_DRIFT,
        round_trip: Span::ZERO,
        two_way: false,
    })
}

/// In each part of the time the best `there − here`: of packets, the times from which both count, and a part's length, ns.
fn edge(
    packets: &[PassedBoth],
    (origin, origin_there, part): (Time, Time, u64),
    better: fn(f64, f64) -> bool,
) -> Vec<EdgePoint> {
    let mut parts: Vec<Option<EdgePoint>> = vec![None; PARTS];
    for p in packets {
        let at = p.here.since(origin).as_nanos();
        let value = difference(p.there, origin_there).saturating_sub(at as i64) as f64;
        let slot = &mut parts[(at / part) as usize];
        if slot.is_none_or(|known| better(value, known.value)) {
            *slot = Some(EdgePoint { at: at as f64, value });
        }
    }
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    /// A minute of a path that takes 12 ms there and 8 ms back, a packet each way every 10 ms; the clock there is `ahead` (ns) and
    /// runs faster by `drift`. `queue` says how long, ns, what leaves here at a time (s) waits.
    fn minute(ahead: i64, drift: f64, queue: impl Fn(f64) -> f64) -> (Vec<PassedBoth>, Vec<PassedBoth>) {
        let begin = 1_700_000_000_000_000_000u64;
        let there = |t: u64| {
            let ns = (t as f64 * (1.0 + drift)).round() as i64 + ahead;
            Time::from_nanos(begin.saturating_add_signed(ns))
        };
        let mut chance = Stream::new(7, "clock");
        let (mut out, mut back) = (Vec::new(), Vec::new());
        for i in 0..6_000u64 {
            let t = i * 10_000_000;
            let mut jitter = || if i % 7 == 0 { 0.0 } else { chance.below(3_000_000) as f64 };
            let arrives = t + 12_000_000 + (queue(t as f64 * 1e-9) + jitter()) as u64;
            out.push(PassedBoth { here: Time::from_nanos(begin + t), there: there(arrives) });
            let arrives = t + 8_000_000 + jitter() as u64;
            back.push(PassedBoth { here: Time::from_nanos(begin + arrives), there: there(t) });
        }
        (out, back)
    }

    #[test]
    fn offset_and_drift_are_found_and_the_error_is_half_the_asymmetry() {
        for (ahead, drift) in [(0, 0.0), (3_600_000_000_000, 40e-6), (-5_000_000_000, -120e-6), (1, 3e-6)] {
            for queue in [|_: f64| 0.0, |t: f64| (t % 5.0) * 20e6, |t: f64| if t > 25.0 { 50e6 } else { 0.0 }]
            {
                let (out, back) = minute(ahead, drift, queue);
                let fit = fit(&out, &back).unwrap();
                assert!((fit.drift - drift).abs() < 1e-6, "{ahead} {drift}: {fit:?}");
                assert!((fit.drift - drift).abs() <= fit.drift_error.max(1e-9), "{fit:?}");
                // 12 there and 8 back: two milliseconds of the offset cannot be seen, and are within the bound.
                let off = fit.offset_ns() - ahead;
                assert!((off - 2_000_000).abs() < 60_000, "{ahead} {drift}: {off}");
                assert!((fit.round_trip.as_nanos() as i64 - 20_000_000).abs() < 120_000, "{fit:?}");
                assert!(off.unsigned_abs() <= fit.round_trip.as_nanos() / 2);
                for p in &out {
                    let there = fit.there(p.here);
                    assert!(difference(fit.here(there), p.here).abs() <= 1, "there and back again");
                }
            }
        }
    }

    /// A queue that grows all the time looks like a clock that runs fast, from one direction.
    #[test]
    fn a_growing_queue_is_no_drift() {
        let (out, back) = minute(0, 20e-6, |t| t * 1e6);
        let fit = fit(&out, &back).unwrap();
        assert!((fit.drift - 20e-6).abs() < 1e-6, "{fit:?}");
    }

    /// From one direction a steady drift is found, and what the least way took is not.
    #[test]
    fn one_direction_tells_the_drift_and_delays_above_the_least() {
        for (ahead, drift) in [(0, 0.0), (7_000_000_000, 40e-6), (-5_000_000_000, -120e-6)] {
            let (out, back) = minute(ahead, drift, |t| (t % 5.0) * 20e6);
            for (packets, is_out) in [(&out, true), (&back, false)] {
                let fit = fit_one_way(packets, is_out).unwrap();
                assert!((fit.drift - drift).abs() < 1e-6 && !fit.two_way, "{ahead} {drift}: {fit:?}");
                let took = |p: &PassedBoth| {
                    let ns = difference(fit.here(p.there), p.here);
                    if is_out { ns } else { -ns }
                };
                let least = packets.iter().map(took).min().unwrap();
                assert!(least.abs() < 60_000, "{ahead} {drift} {is_out}: {least}");
            }
        }
        assert_eq!(fit_one_way(&[], true), None);
    }

    #[test]
    fn one_direction_or_a_clock_that_was_set_tell_nothing() {
        let (out, mut back) = minute(0, 0.0, |_| 0.0);
        assert_eq!((fit(&out, &[]), fit(&[], &back)), (None, None));
        for p in back.iter_mut().skip(3_000) {
            p.there = moved(p.there, 5_000_000_000);
        }
        assert_eq!(fit(&out, &back), None, "packets would arrive before they are sent");
    }
}
