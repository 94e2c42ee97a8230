//! Aligns two clocks by the packets that passed both captures.
//!
//! For a packet that passed here first, `there − here` = offset + transit time; for one that passed there
//! first, offset − transit time. Transit times are positive, so the offset always lies below all values of
//! the first kind and above all of the second: both clocks must run through a strip between two edges. Where
//! the path was empty for a moment in each direction, the strip is as wide as the minimum round trip between
//! the captures. So:
//!
//! - **drift** is the slope at which the strip is widest. A wrong slope makes it narrower by what the clocks
//!   drift over the capture. (With delays of one direction only, this is the skew of Moon, Skelly and
//!   Towsley, INFOCOM 1999, section 4. Two directions distinguish a growing queue from a fast clock; one
//!   direction cannot.) If several slopes do nearly as well, as behind a queue that only grows, the slope at
//!   which most packets' minimum delays lie on the strip's edges is selected.
//! - **offset** is the middle of the strip, as in NTP (RFC 5905 section 8). It is correct if the empty path
//!   takes equally long in both directions. Half of the difference cannot be known, and half of the strip's
//!   width bounds it.
//!
//! Delays above the minimum of their direction do not depend on the offset, nor does any loss.

use units::{Span, Time};

/// Maximum relative drift between two clocks (RFC 5905 section 11.3 `MAXFREQ`; Linux `MAXFREQ_SCALED`).
const MAX_DRIFT: f64 = 500e-6;
/// Number of slices of the capture whose minimum delays are used.
const SLICES: usize = 512;
/// Slopes count as equally good if they narrow the strip by less than this share, or by two ticks of a
/// microsecond, ns.
const EQUALLY_GOOD: (f64, f64) = (0.01, 2_000.0);
/// Steps of each round of the search over slopes. Each round narrows the range fifty-fold; three reach 8 ns
/// in a minute.
const STEPS: i32 = 100;
const ROUNDS: i32 = 3;
/// Number of halvings of a range of slopes: to a billionth of it.
const HALVINGS: i32 = 30;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PassedBoth {
    /// When it passed here.
    pub here: Time,
    /// When it passed there, by that capture's clock.
    pub there: Time,
}

/// How the clock there runs relative to the clock here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFit {
    /// The time here from which drift is counted.
    origin: Time,
    /// The time there at `origin`.
    origin_there: Time,
    /// Relative speed: how much faster the clock there runs.
    pub drift: f64,
    /// The drift is known to plus or minus this.
    pub drift_error: f64,
    /// Minimum time from one capture to the other and back; zero for a fit to one direction.
    pub round_trip: Span,
    /// Packets of both directions passed both captures. With one direction only, the offset assumes a
    /// minimum transit time of zero.
    pub two_way: bool,
}

impl ClockFit {
    /// How far the clock there is ahead of the clock here at the first packet, ns; known to within half of
    /// [`ClockFit::round_trip`].
    pub fn offset_ns(&self) -> i64 {
        difference(self.origin_there, self.origin)
    }

    /// Converts a time there to the time here.
    pub fn here(&self, there: Time) -> Time {
        let since = difference(there, self.origin_there) as f64 / (1.0 + self.drift);
        shifted(self.origin, since.round() as i64)
    }

    /// Converts a time here to the time there.
    pub fn there(&self, here: Time) -> Time {
        let since = difference(here, self.origin) as f64 * (1.0 + self.drift);
        shifted(self.origin_there, since.round() as i64)
    }
}

/// `a` − `b`, ns.
pub(super) fn difference(a: Time, b: Time) -> i64 {
    a.as_nanos().wrapping_sub(b.as_nanos()) as i64
}

fn shifted(time: Time, ns: i64) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add_signed(ns))
}

/// The minimum `there − here` of the packets in a slice of time, or the maximum for the opposite direction.
#[derive(Clone, Copy)]
struct EdgePoint {
    at: f64,
    value: f64,
}

/// The two edges of the strip.
struct Strip {
    upper: Vec<EdgePoint>,
    lower: Vec<EdgePoint>,
}

impl Strip {
    /// Positions of the edges at the origin if both have this slope.
    fn edges(&self, slope: f64) -> (f64, f64) {
        let flat = |p: &EdgePoint| p.value - slope * p.at;
        let upper = self.upper.iter().map(flat).fold(f64::INFINITY, f64::min);
        let lower = self.lower.iter().map(flat).fold(f64::NEG_INFINITY, f64::max);
        (upper, lower)
    }

    /// Width of the strip: a minimum of linear functions of the slope minus a maximum of others, so concave
    /// in the slope.
    fn width(&self, slope: f64) -> f64 {
        let (upper, lower) = self.edges(slope);
        upper - lower
    }

    /// How far the points are from the edges, as a sum of square roots: many points on an edge and a few far
    /// off beat all points slightly off.
    fn distance_from_edges(&self, slope: f64) -> f64 {
        let (upper, lower) = self.edges(slope);
        let far = |p: &EdgePoint, edge: f64| (p.value - slope * p.at - edge).abs().sqrt();
        self.upper.iter().map(|p| far(p, upper)).sum::<f64>()
            + self.lower.iter().map(|p| far(p, lower)).sum::<f64>()
    }

    /// The range of slopes at which the strip is nearly as wide as at its widest.
    fn widest(&self) -> (f64, f64) {
        let (mut from, mut to) = (-MAX_DRIFT, MAX_DRIFT);
        for _ in 0..2 * HALVINGS {
            let (a, b) = (from + (to - from) / 3.0, to - (to - from) / 3.0);
            if self.width(a) < self.width(b) { from = a } else { to = b }
        }
        let best = (from + to) / 2.0;
        let least = self.width(best) - (EQUALLY_GOOD.0 * self.width(best)).max(EQUALLY_GOOD.1);
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
        (end(-MAX_DRIFT), end(MAX_DRIFT))
    }

    /// The slope in this range at which most points lie on the edges; zero if that does as well.
    fn slope(&self, (least, most): (f64, f64)) -> f64 {
        let (mut from, mut to) = (least, most);
        let mut best = (from + to) / 2.0;
        for _ in 0..ROUNDS {
            let step = (to - from) / f64::from(STEPS);
            let slopes = (0..=STEPS).map(|i| from + step * f64::from(i));
            best = slopes
                .min_by(|a, b| self.distance_from_edges(*a).total_cmp(&self.distance_from_edges(*b)))
                .unwrap_or(best);
            (from, to) = ((best - step).max(least), (best + step).min(most));
        }
        let fits_zero =
            least <= 0.0 && most >= 0.0 && self.distance_from_edges(0.0) <= self.distance_from_edges(best);
        if fits_zero { 0.0 } else { best }
    }
}

/// Aligns the clocks by packets that passed here first (`out`) and there first (`back`). `None` if one of
/// them is empty, or if no steady clock lets all packets travel forwards in time: one clock was set
/// meanwhile.
pub(super) fn fit(out: &[PassedBoth], back: &[PassedBoth]) -> Option<ClockFit> {
    let all = || out.iter().chain(back);
    let first = all().min_by_key(|p| p.here)?;
    let last = all().map(|p| p.here).max()?;
    let (origin, origin_there) = (first.here, first.there);
    let part = last.since(origin).as_nanos() / SLICES as u64 + 1;
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
        origin_there: shifted(origin_there, ((upper + lower) / 2.0).round() as i64),
        drift,
        drift_error: (range.1 - range.0) / 2.0,
        round_trip: Span::from_nanos((upper - lower) as u64),
        two_way: true,
    })
}

/// Aligns the clocks by one direction alone: packets that passed here first (`is_out`), or there. The drift
/// is that of the line below all delays on which most of the minima lie (Moon, Skelly and Towsley, section
/// 4); a queue that only grows looks the same. `None` without packets.
pub(super) fn fit_one_way(packets: &[PassedBoth], is_out: bool) -> Option<ClockFit> {
    let first = packets.iter().min_by_key(|p| p.here)?;
    let last = packets.iter().map(|p| p.here).max()?;
    let (origin, origin_there) = (first.here, first.there);
    let part = last.since(origin).as_nanos() / SLICES as u64 + 1;
    let upper = edge(packets, (origin, origin_there, part), if is_out { |a, b| a < b } else { |a, b| a > b });
    // Upside down, the edge of the opposite direction lies above.
    let sign = if is_out { 1.0 } else { -1.0 };
    let upper = upper.into_iter().map(|p| EdgePoint { value: sign * p.value, ..p }).collect();
    let strip = Strip { upper, lower: Vec::new() };
    let slope = strip.slope((-MAX_DRIFT, MAX_DRIFT));
    Some(ClockFit {
        origin,
        origin_there: shifted(origin_there, (sign * strip.edges(slope).0).round() as i64),
        drift: sign * slope,
        drift_error: MAX_DRIFT,
        round_trip: Span::ZERO,
        two_way: false,
    })
}

/// The extreme `there − here` in each slice of time. The tuple gives the origins of both clocks and the
/// slice's length, ns.
fn edge(
    packets: &[PassedBoth],
    (origin, origin_there, part): (Time, Time, u64),
    better: fn(f64, f64) -> bool,
) -> Vec<EdgePoint> {
    let mut parts: Vec<Option<EdgePoint>> = vec![None; SLICES];
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

    /// A minute on a path with delays of 12 ms out and 8 ms back and a packet each way every 10 ms. The clock
    /// there is `ahead` (ns) and runs faster by `drift`. `queue` gives the queueing delay, ns, of packets
    /// that leave here at a time (s).
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
                // 12 ms out and 8 ms back: 2 ms of the offset cannot be seen, and are within the bound.
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

    /// From one direction alone, a queue that grows all the time looks like a clock that runs fast.
    #[test]
    fn a_growing_queue_is_not_drift() {
        let (out, back) = minute(0, 20e-6, |t| t * 1e6);
        let fit = fit(&out, &back).unwrap();
        assert!((fit.drift - 20e-6).abs() < 1e-6, "{fit:?}");
    }

    /// One direction gives the drift and the queueing delays, but not the minimum transit time.
    #[test]
    fn one_direction_gives_the_drift_and_queueing_delays() {
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
    fn one_direction_or_a_clock_step_gives_no_two_way_fit() {
        let (out, mut back) = minute(0, 0.0, |_| 0.0);
        assert_eq!((fit(&out, &[]), fit(&[], &back)), (None, None));
        for p in back.iter_mut().skip(3_000) {
            p.there = shifted(p.there, 5_000_000_000);
        }
        assert_eq!(fit(&out, &back), None, "packets would arrive before they are sent");
    }
}
