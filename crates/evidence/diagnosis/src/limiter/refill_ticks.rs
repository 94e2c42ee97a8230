//! A shaper that is refilled at intervals, from packets that leave at its ticks.
//!
//! A link, or a bucket that fills continuously, releases a packet as soon as its predecessors have left. A
//! packet that waits while nothing leaves waits for a tick. Ticks are whole intervals apart, regardless of
//! arrivals and drops. Between two neighbouring ticks that both release waiting packets exactly one refill
//! passes: all of it was used, or no packet would have waited. This proposes an interval and a refill; the
//! departure times decide whether they are real ([`super::model::refilled`]).

use super::departures::{Departure, Departures};
use super::model::delays::MAX_QUANTILE;
use super::model::refilled::{ObservedDepartures, RefilledModel};
use super::virtual_queue::quantile;

/// Neighbours of a tick on either side that are compared with it.
const NEIGHBOURS: usize = 4;
/// Least number of fully used intervals: the number of a tick's neighbours.
const MIN_INTERVALS: usize = 2 * NEIGHBOURS;
/// Greatest distance of the time between two ticks from a whole number of intervals, as a share of an
/// interval. A fifth are as near by chance.
const MAX_INTERVAL_ERROR: f64 = 0.1;
/// Least share of ticks that must be whole intervals from half of their neighbours.
const MIN_REGULAR_SHARE: f64 = 0.5;

/// A shaper that is refilled at intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefillTicks {
    /// Seconds between two ticks.
    pub interval: f64,
    /// Bytes that pass in an interval.
    pub burst: f64,
    /// Greatest wait, seconds.
    pub most: f64,
}

/// Finds a shaper that is refilled at intervals, from packets that wait longer than `floor` seconds. `link`
/// is the rate of the alternative, bytes a second, `noise` the least spread of times in seconds, `size` the
/// size of the largest packet in bytes. Ticks propose the shaper, and the likelihood of the departure times
/// decides ([`RefilledModel`]).
pub(super) fn find_ticks(
    departures: Departures,
    floor: f64,
    link: f64,
    noise: f64,
    size: f64,
) -> Option<RefillTicks> {
    let departures = departures.known();
    let observed = ObservedDepartures { departures: &departures, link, noise, size };
    let holds = holds(&departures, floor);
    // Shorter pauses are not those between ticks.
    let min_hold = 0.5 * long(&holds);
    let ticks: Vec<usize> = holds.iter().filter(|h| h.1 > min_hold).map(|h| h.0).collect();
    let times: Vec<f64> = ticks.iter().map(|i| departures.get(*i).at).collect();
    let models = likely_models(observed, (&ticks, &times), interval(&times)?).into_iter();
    let (RefilledModel { interval, refill, .. }, _) = models.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut waits: Vec<f32> =
        departures.iter().filter(|l| l.own).filter_map(|l| Some(l.wait? as f32)).collect();
    Some(RefillTicks { interval, burst: refill, most: quantile(&mut waits, MAX_QUANTILE) as f64 })
}

/// Returns the models of this interval that are more likely than their alternatives, with and without room
/// for a second refill, each with the share of residuals that it leaves. `ticks`: indices and times of
/// departures that released waiting packets; those at ticks of the interval count.
fn likely_models(
    observed: ObservedDepartures,
    (ticks, times): (&[usize], &[f64]),
    interval: f64,
) -> Vec<(RefilledModel, f64)> {
    let at_ticks = |i: &usize| is_tick(times, *i, interval);
    let (ticks, times): (Vec<usize>, Vec<f64>) =
        (0..ticks.len()).filter(at_ticks).map(|i| (ticks[i], times[i])).unzip();
    let Some(refill) = bytes_per_interval(observed.departures, &ticks, interval) else {
        return Vec::new();
    };
    let models = [refill, 2.0 * refill].map(|capacity| RefilledModel { interval, refill, capacity });
    models.into_iter().filter_map(|model| Some((model, model.residual_share(observed, &times)?))).collect()
}

/// Returns the bytes that pass in a fully used interval; `None` where too few are fully used.
fn bytes_per_interval(departures: &Departures, ticks: &[usize], interval: f64) -> Option<f64> {
    let at = |i: usize| departures.get(i).at;
    let neighbours =
        ticks.windows(2).filter(|w| ((at(w[1]) - at(w[0])) / interval - 1.0).abs() < MAX_INTERVAL_ERROR);
    let refill = |w: &[usize]| (w[0]..w[1]).map(|i| departures.get(i).bytes).sum::<f64>() as f32;
    let mut refills: Vec<f32> = neighbours.map(refill).collect();
    if refills.len() < MIN_INTERVALS {
        return None;
    }
    Some(quantile(&mut refills, 0.5) as f64)
}

/// Returns the packets that waited longer than `floor` seconds while nothing left and other packets waited
/// behind them, each with the length of that pause in seconds. (No packet waits behind one whose ACK is
/// delayed.)
fn holds(departures: &Departures, floor: f64) -> Vec<(usize, f64)> {
    let wait = |l: &Departure| l.wait.filter(|wait| *wait > floor);
    let hold = |i: usize| {
        let l = departures.get(i);
        let held = (l.at - departures.get(i - 1).at).min(wait(&l)?);
        let next = departures.get(i + 1);
        let is_hold = l.own && held > floor && next.at - wait(&next)? < l.at;
        is_hold.then_some((i, held))
    };
    (1..departures.len().saturating_sub(1)).filter_map(hold).collect()
}

/// Returns the length of pause for which longer pauses make up half of the total time, seconds.
fn long(holds: &[(usize, f64)]) -> f64 {
    let mut lengths: Vec<f64> = holds.iter().map(|h| h.1).collect();
    lengths.sort_unstable_by(|a, b| b.total_cmp(a));
    let (total, mut sum) = (lengths.iter().sum::<f64>(), 0.0);
    let long = lengths.into_iter().find(|h| {
        sum += h;
        sum > 0.5 * total
    });
    long.unwrap_or(0.0)
}

/// Returns the interval, seconds, whose multiples are the distances of these ticks.
fn interval(ticks: &[f64]) -> Option<f64> {
    if ticks.len() < MIN_INTERVALS {
        return None;
    }
    let mut distances: Vec<f64> = pairs(ticks).map(|(a, b)| b - a).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let (mut to, mut most) = (0, (0, 0));
    for (from, least) in distances.iter().enumerate() {
        to = to.max(from);
        to += distances[to..].iter().take_while(|d| **d <= least * (1.0 + MAX_INTERVAL_ERROR)).count();
        most = most.max((to - from, from));
    }
    let (count, first) = most;
    let usual = distances[first + count / 2];
    // Ticks that release packets may seldom be neighbours, so try fractions of the usual distance. Half of an
    // interval explains everything that the interval explains, so the longest is selected.
    let tried = (1..=NEIGHBOURS).map(|n| {
        let interval = refined(ticks, usual / n as f64);
        (interval, pairs(ticks).filter(|(a, b)| whole_intervals(b - a, interval).is_some()).count())
    });
    let tried: Vec<(f64, usize)> = tried.collect();
    let explained = tried.iter().map(|t| t.1).max()?;
    let (interval, _) =
        tried.into_iter().find(|t| t.1 as f64 > (1.0 - MAX_INTERVAL_ERROR) * explained as f64)?;
    let are = (0..ticks.len()).filter(|i| is_tick(ticks, *i, interval)).count() as f64;
    (are > MIN_REGULAR_SHARE * ticks.len() as f64).then_some(interval)
}

/// Returns each tick with each of those that follow soon.
fn pairs(ticks: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let followers = move |i: usize| ticks[i + 1..].iter().take(NEIGHBOURS).map(move |b| (ticks[i], *b));
    (0..ticks.len()).flat_map(followers)
}

/// Returns the number of intervals between two times, if it is nearly whole.
fn whole_intervals(distance: f64, interval: f64) -> Option<f64> {
    let n = nearest(distance.abs() / interval);
    ((distance.abs() - n * interval).abs() < MAX_INTERVAL_ERROR * interval && n >= 1.0).then_some(n)
}

/// Rounds a number that is not negative, by adding a constant at which only whole numbers differ. Two
/// instructions, where `f64::round` is a call.
fn nearest(number: f64) -> f64 {
    const WHOLE: f64 = (1u64 << (f64::MANTISSA_DIGITS - 1)) as f64;
    number + WHOLE - WHOLE
}

/// Whether at least half of a tick's neighbours are whole intervals away.
fn is_tick(ticks: &[f64], i: usize, interval: f64) -> bool {
    let (from, to) = (i.saturating_sub(NEIGHBOURS), (i + NEIGHBOURS + 1).min(ticks.len()));
    let are = ticks[from..to].iter().filter(|t| whole_intervals(**t - ticks[i], interval).is_some()).count();
    2 * are >= to - from - 1
}

/// Refines the interval by ticks that are farther and farther apart, which measure it more exactly.
fn refined(ticks: &[f64], mut interval: f64) -> f64 {
    for most in 1..=NEIGHBOURS {
        let (mut sum, mut count, inverse) = (0.0, 0.0, 1.0 / interval);
        for d in pairs(ticks).map(|(a, b)| b - a) {
            // Does as `whole_intervals`, but adds 0 where a branch would be unpredictable.
            let n = nearest(d * inverse);
            let near = (d - n * interval).abs() < MAX_INTERVAL_ERROR * interval;
            let counts = near & (n >= 1.0) & (d < (most as f64 + 0.5) * interval);
            sum += if counts { d } else { 0.0 };
            count += if counts { n } else { 0.0 };
        }
        interval = if count > 0.0 { sum / count } else { interval };
    }
    interval
}

#[cfg(test)]
mod tests {
    use super::super::virtual_queue::PacketArrival;
    use super::*;

    const BASE: f64 = 0.05;
    const SIZE: f64 = 1500.0;

    /// Draws seconds from 0 to `below`.
    fn chance(state: &mut u64, below: f64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 40) as f64 / (1u64 << 24) as f64 * below
    }

    /// Trains of packets about every 13 ms, captured before a bucket that gets `burst` bytes each `interval`
    /// seconds and holds two refills, and a queue of `room` packets.
    fn through(interval: f64, burst: f64, room: usize) -> Vec<PacketArrival> {
        let (mut tokens, mut ticks, mut state, mut at) = (burst, 0.0, 1, 0.0f64);
        let (mut out, mut left) = (Vec::new(), Vec::<f64>::new());
        for i in 0..6000u32 {
            at += if i % 40 == 0 { 0.005 + chance(&mut state, 0.016) } else { 20e-6 };
            let lost = left.iter().rev().take_while(|l| **l > at).count() >= room;
            let mut leaves = left.last().map_or(at, |l| l.max(at));
            if !lost {
                let now = (leaves / interval).floor().max(ticks);
                tokens = (tokens + (now - ticks) * burst).min(2.0 * burst);
                ticks = now;
                if tokens < SIZE {
                    (ticks, tokens) = (ticks + 1.0, tokens + burst);
                    leaves = ticks * interval;
                }
                tokens -= SIZE;
                left.push(leaves);
            }
            out.push(PacketArrival::full(at, leaves - at + BASE, lost, i));
        }
        out
    }

    fn found(arrivals: &[PacketArrival]) -> Option<RefillTicks> {
        find_ticks(Departures::new(arrivals, true, BASE), 0.001, f64::INFINITY, 1e-5, SIZE)
    }

    #[test]
    fn ticks_of_a_refilled_shaper_are_found_with_any_queue() {
        for (interval, burst, room) in
            [(0.03, 100e3, 20), (0.03, 100e3, 2000), (0.1, 330e3, 50), (0.01, 30e3, 30)]
        {
            let arrivals = through(interval, burst, room);
            let g = found(&arrivals);
            let near = |g: RefillTicks| {
                (g.interval / interval - 1.0).abs() < 0.003 && (g.burst / burst - 1.0).abs() < 0.02
            };
            assert!(g.is_some_and(near), "{interval} {burst} {room}: {g:?}");
        }
    }

    #[test]
    fn neither_a_link_nor_a_window_has_ticks() {
        // A link of 4 Mbyte/s, where the trains wait for each other.
        let (mut state, mut at, mut free) = (1, 0.0, 0.0f64);
        let mut link = Vec::new();
        for i in 0..6000u32 {
            at += if i % 40 == 0 { 0.005 + chance(&mut state, 0.016) } else { 20e-6 };
            free = free.max(at) + SIZE / 4e6;
            link.push(PacketArrival::full(at, free - at + BASE, false, i));
        }
        assert!(found(&link).is_none());
        // One window per round trip, with jitter of a few percent.
        let (mut at, mut window) = (0.0, Vec::new());
        for i in 0..6000u32 {
            if i % 40 == 0 {
                at += BASE + 0.001 + chance(&mut state, 0.003);
            }
            let rtt = BASE + 0.001 + chance(&mut state, 0.003);
            window.push(PacketArrival::full(at, rtt, false, i));
        }
        assert!(found(&window).is_none());
        assert!(found(&[]).is_none());
    }
}
