//! The search for the token bucket that explains the losses, over rates.
//!
//! 1. Each candidate rate ([`super::candidate_rates`]) is tried on the virtual queue
//!    ([`super::virtual_queue`]), several at once ([`super::rate_lanes`]). Its best threshold is the bucket's
//!    size.
//! 2. The best rates are refined.
//! 3. Among rates that are as good, the middle is taken.
//! 4. Where no rate explains the losses well, the backlog is corrected by each packet's fate
//!    ([`super::corrected`]).

use super::candidate_rates::{RATE_STEP, candidates};
use super::corrected::fit_corrected;
use super::model::delays::NOISE;
use super::rate_lanes::{LANES, RateLanesLog};
use super::virtual_queue::{
    CHANCE_GAIN, COARSE_PACKETS, PacketArrival, TokenBucketFit, begin, episodes, gain_without_times, span,
};

/// Peaks of the gain that are refined, and tried with a corrected backlog ([`super::corrected`]).
const MAX_PEAKS: usize = 4;
/// Least number of losses for a search.
pub(crate) const MIN_LOSSES: usize = 4;
/// A bucket with fewer misclassified packets than this needs no correction.
const MAX_CLEAN_MISCLASSIFIED: f64 = 0.25;
/// A rate with this share of the best gain is as good.
const EQUAL_GAIN_SHARE: f64 = 0.97;
/// Rates around the best that are tried for being as good.
const RATES_AROUND: usize = 3 * LANES;
/// Relative distance of those rates: a third of that of the candidates.
const RATE_DISTANCE: f64 = (RATE_STEP - 1.0) / 3.0;

/// A search over the rates of one log.
struct RateSearch(RateLanesLog);

impl RateSearch {
    fn new(arrivals: &[PacketArrival], episodes: f64) -> RateSearch {
        RateSearch(RateLanesLog::new(arrivals, episodes))
    }

    /// Returns the best threshold at each of these rates.
    fn judged(&mut self, rates: &[f64]) -> Vec<TokenBucketFit> {
        let mut judged = Vec::with_capacity(rates.len() + LANES);
        for rates in rates.chunks(LANES) {
            judged.extend(self.0.judge(&std::array::from_fn(|i| rates[i.min(rates.len() - 1)])));
        }
        judged.truncate(rates.len());
        judged
    }

    /// Returns the best rate near this one.
    fn refine(&mut self, rate: f64) -> TokenBucketFit {
        // A rate is known to within one packet of all that passed.
        let fine = (self.0.sizes[1] as f64 / self.0.sums[1]).max(f32::EPSILON as f64);
        let half = (LANES / 2) as f64;
        let mut reach = RATE_STEP - 1.0;
        let mut best = TokenBucketFit { rate, ..TokenBucketFit::default() };
        loop {
            let middle = best.rate;
            let rates = std::array::from_fn(|i| middle * (1.0 + reach * (i as f64 / half - 1.0)));
            let mut lanes: Vec<(usize, TokenBucketFit)> =
                self.0.judge(&rates).into_iter().enumerate().collect();
            lanes.sort_by(|a, b| b.1.gain.total_cmp(&a.1.gain));
            for (lane, b) in lanes.into_iter().take(LANES / 2) {
                // A score never exceeds its gain.
                if b.gain <= best.score() {
                    break;
                }
                let here = self.0.measure(lane, b);
                if here.score() > best.score() {
                    best = here;
                }
            }
            if reach <= fine {
                return best;
            }
            reach /= half;
        }
    }

    /// Returns the middle of the rates near `best` that misclassify as few packets. Where the bucket fills up
    /// between losses a range of rates does, and the best of them has the largest bucket.
    fn middle(&mut self, best: &TokenBucketFit) -> f64 {
        let rates: [f64; RATES_AROUND] = std::array::from_fn(|i| {
            best.rate * (1.0 + RATE_DISTANCE * (i as f64 - (RATES_AROUND / 2) as f64))
        });
        let mut misclassified = [f64::INFINITY; RATES_AROUND];
        for (misclassified, rates) in misclassified.chunks_mut(LANES).zip(rates.chunks(LANES)) {
            let judged = self.0.judge(&std::array::from_fn(|lane| rates[lane]));
            for (lane, b) in
                judged.into_iter().enumerate().filter(|(_, b)| b.gain > EQUAL_GAIN_SHARE * best.gain)
            {
                misclassified[lane] = self.0.measure(lane, b).misclassified;
            }
        }
        let best =
            (0..RATES_AROUND).min_by(|a, b| misclassified[*a].total_cmp(&misclassified[*b])).unwrap_or(0);
        let few = |i: &usize| misclassified[*i] <= misclassified[best];
        let first = (0..=best).rev().take_while(few).last().unwrap_or(best);
        let last = (best..RATES_AROUND).take_while(few).last().unwrap_or(best);
        (rates[first] + rates[last]) / 2.0
    }

    /// Examines one rate.
    fn at(&mut self, rate: f64) -> TokenBucketFit {
        let b = self.0.judge(&[rate; LANES])[0];
        self.0.measure(0, b)
    }
}

/// Returns the peaks of the gain among the rates that were tried, the greatest first.
fn peaks(tried: &[TokenBucketFit]) -> Vec<TokenBucketFit> {
    let mut tried: Vec<TokenBucketFit> = tried.iter().copied().filter(|b| b.gain > 0.0).collect();
    tried.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let mut peaks: Vec<TokenBucketFit> = Vec::new();
    for b in tried {
        if peaks.len() < MAX_PEAKS && peaks.iter().all(|p| (b.rate / p.rate).ln().abs() > RATE_STEP.ln()) {
            peaks.push(b);
        }
    }
    peaks
}

/// Returns the least and the greatest rate that explain the losses as well as `best`, if they are farther
/// apart than [`RateSearch::middle`] covers. `tried` is in rising order.
fn equivalent_rates(tried: &[TokenBucketFit], best: &TokenBucketFit) -> Option<(f64, f64)> {
    let good = |b: &&TokenBucketFit| b.gain > EQUAL_GAIN_SHARE * best.gain;
    let (below, above) = tried.split_at(tried.partition_point(|b| b.rate < best.rate));
    let lowest = below.iter().rev().take_while(good).last().unwrap_or(best).rate;
    let highest = above.iter().take_while(good).last().unwrap_or(best).rate;
    (highest > lowest * (1.0 + RATE_DISTANCE * RATES_AROUND as f64)).then_some((lowest, highest))
}

/// Merges neighbouring packets of the same fate until about `count` are left.
fn thin(arrivals: &[PacketArrival], count: usize) -> Vec<PacketArrival> {
    if arrivals.len() <= count {
        return arrivals.to_vec();
    }
    let mut width = NOISE;
    let mut began = f64::NEG_INFINITY;
    let mut out: Vec<PacketArrival> = Vec::new();
    // The first pass avoids a copy of all packets, which would be the most memory that a diagnosis needs.
    for a in arrivals {
        if !out.last_mut().is_some_and(|kept| joins(kept, a, &mut began, width)) {
            began = a.at;
            out.push(*a);
        }
    }
    let (first, last) = span(arrivals);
    while out.len() > count && width < last - first {
        width *= 2.0;
        began = out[0].at;
        out.dedup_by(|a, kept| joins(kept, a, &mut began, width));
    }
    out
}

/// Merges `a` into `kept`, whose first packet came at `began`, if both have the same fate and `a` came within
/// `width` seconds. Returns whether it did; if not, `began` becomes the time of `a`.
fn joins(kept: &mut PacketArrival, a: &PacketArrival, began: &mut f64, width: f64) -> bool {
    let same = kept.lost == a.lost && a.at - *began <= width;
    if same {
        kept.bytes += a.bytes;
    } else {
        *began = a.at;
    }
    same
}

/// Whether too few packets were lost for a search.
pub(super) fn are_too_few(arrivals: &[PacketArrival]) -> bool {
    arrivals.iter().filter(|a| a.lost).nth(MIN_LOSSES - 1).is_none()
}

/// Finds the bucket that explains the losses best; `None` where there are too few losses. `timed`: the times
/// of lost packets are known; otherwise their assumed place must not be what distinguishes them. `width`
/// (seconds, about half a round trip) is the least distance between two episodes of losses.
pub(crate) fn fit(arrivals: &[PacketArrival], width: f64, timed: bool) -> Option<TokenBucketFit> {
    if are_too_few(arrivals) {
        return None;
    }
    let counted = episodes(arrivals, width) as f64;
    let coarse = thin(begin(arrivals), COARSE_PACKETS);
    let mut search = RateSearch::new(&coarse, counted);
    let tried = search.judged(&candidates(&coarse));
    let mut plain: Vec<TokenBucketFit> = peaks(&tried).iter().map(|b| search.refine(b.rate)).collect();
    plain.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let clean = plain.first().is_none_or(|b| {
        b.misclassified < MAX_CLEAN_MISCLASSIFIED
            && (timed || gain_without_times(&coarse, b, counted) > CHANCE_GAIN)
    });
    let some = if clean { &[] } else { plain.as_slice() };
    let corrected: Vec<TokenBucketFit> = some.iter().map(|b| fit_corrected(&coarse, b, counted)).collect();
    let best = plain.into_iter().chain(corrected).max_by(|a, b| a.score().total_cmp(&b.score()))?;
    if best.corrected || best.gain < CHANCE_GAIN {
        return Some(best);
    }
    let rate = search.middle(&best);
    let middle = search.at(rate);
    let best = if middle.score() > EQUAL_GAIN_SHARE * best.score() { middle } else { best };
    Some(TokenBucketFit { equivalent_rates: equivalent_rates(&tried, &best), ..best })
}

#[cfg(test)]
mod tests {
    use super::super::virtual_queue::passed_beyond_limit;
    use super::*;

    /// Bursts of a random size at random times through a policer.
    fn policed(rate: f64, burst: f64, seconds: f64, load: f64) -> Vec<PacketArrival> {
        let mut x = 7u64;
        let mut random = move || {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (x >> 40) as f64 / (1u64 << 24) as f64
        };
        let (mut tokens, mut last, mut now) = (burst, 0.0, 0.0);
        let mut out = Vec::new();
        while now < seconds {
            let packets = 2 + (random() * 60.0) as usize;
            for _ in 0..packets {
                now += 20e-6;
                tokens = burst.min(tokens + rate * (now - last));
                last = now;
                let lost = tokens < 1500.0;
                tokens -= if lost { 0.0 } else { 1500.0 };
                out.push(PacketArrival::full(now, 0.05, lost, 0));
            }
            now += random() * 2.0 * packets as f64 * 1500.0 / (rate * load);
        }
        out
    }

    #[test]
    fn a_policer_is_found_with_rate_and_burst() {
        for (rate, burst, load) in
            [(2.5e6, 30e3, 1.0), (2.5e6, 625e3, 1.3), (1e7, 2e5, 1.1), (2.5e6, 60e3, 0.6)]
        {
            let arrivals = policed(rate, burst, 20.0, load);
            let b = fit(&arrivals, 0.025, true).unwrap_or_default();
            assert!((b.rate / rate - 1.0).abs() < 0.03, "{rate} {burst}: {b:?}");
            assert!((b.burst / burst - 1.0).abs() < 0.1, "{rate} {burst}: {b:?}");
            assert!(b.explained > 0.9 && b.gain > 10.0, "{rate} {burst}: {b:?}");
            assert_eq!(b.equivalent_rates, None, "{rate} {burst}");
        }
    }

    #[test]
    fn an_undetermined_rate_is_reported_as_a_range() {
        // Five packets of each burst pass within a packet's time at the rate; then the bucket fills up.
        let burst = |i: u32| {
            (0..2 + i % 6)
                .map(move |k| PacketArrival::full(i as f64 * 0.1 + k as f64 * 20e-6, 0.1, k >= 5, i))
        };
        let arrivals: Vec<PacketArrival> = (0..120).flat_map(burst).collect();
        let b = fit(&arrivals, 0.05, true).unwrap_or_default();
        let (lowest, highest) = b.equivalent_rates.unwrap_or_default();
        // At least 8 kB each 100 ms; at most more than the search covers.
        assert!(lowest < 2.0 * 80e3 && highest > 2.5e6, "{b:?}");
    }

    #[test]
    fn the_middle_of_equally_good_rates_is_chosen() {
        // The bucket is full again before each burst, so only the length of a burst shows the rate.
        let (rate, burst) = (1e6f64, 60e3f64);
        let (mut out, mut at) = (Vec::new(), 0.0f64);
        for i in 0..12u32 {
            let (begin, mut tokens, mut last) = (at, burst, at);
            for k in 0..60 + i % 20 {
                at = begin + k as f64 * if i % 2 == 0 { 0.2e-3 } else { 0.5e-3 };
                tokens += rate * (at - last);
                last = at;
                let lost = tokens < 1500.0;
                tokens -= if lost { 0.0 } else { 1500.0 };
                out.push(PacketArrival::full(at, 0.05, lost, k));
            }
            at += 0.5;
        }
        let mut search = RateSearch::new(&out, 12.0);
        for factor in [0.97, 0.98, 1.02, 1.03] {
            let best = search.at(factor * rate);
            let middle = search.middle(&best);
            let b = search.at(middle);
            assert!(
                (b.rate / rate - 1.0).abs() < 0.012 && (b.burst / burst - 1.0).abs() < 0.03,
                "{factor}: {b:?}"
            );
        }
    }

    /// A window that grows from 70 packets to 140 over 70 round trips of 10 ms, and is halved a round trip
    /// after a loss.
    fn sawtooth() -> Vec<PacketArrival> {
        let (mut out, mut at, mut window, mut lost_at) = (Vec::new(), 0.0f64, 70u32, None);
        for i in 0..90_000u32 {
            at += 0.01 / window as f64;
            let lost = window == 140 && lost_at.is_none();
            lost_at = if lost { Some(i) } else { lost_at };
            out.push(PacketArrival::full(at, 0.05, lost, i));
            window += u32::from(i % window == 0 && window < 140);
            if lost_at.is_some_and(|l| i == l + 140) {
                (window, lost_at) = (70, None);
            }
        }
        out
    }

    #[test]
    fn a_sawtooth_window_exceeds_the_bucket_that_it_resembles() {
        let policed = policed(2.5e6, 625e3, 20.0, 1.3);
        let b = fit(&policed, 0.025, true).unwrap_or_default();
        assert!(passed_beyond_limit(&policed, &b) < 0.01, "{b:?}");
        let sawtooth = sawtooth();
        let bytes: f64 = sawtooth.iter().map(|a| a.bytes as f64).sum();
        let (begin, end) = span(&sawtooth);
        let mut search = RateSearch::new(&sawtooth, episodes(&sawtooth, 0.005) as f64);
        // The scores of a large bucket at the mean rate and of one near the greatest rate differ by less than
        // a hundredth.
        let large = search.refine(bytes / (end - begin));
        assert!(large.burst > 100.0 * 1500.0, "{large:?}");
        let found = fit(&sawtooth, 0.005, true).unwrap_or_default();
        assert!(found.score() > 0.99 * large.score(), "{found:?} {large:?}");
        for b in [large, found] {
            assert!(b.gain > CHANCE_GAIN && b.explained > 0.5, "{b:?}");
            assert!(passed_beyond_limit(&sawtooth, &b) > 5.0, "{b:?}");
        }
    }

    #[test]
    fn losses_at_random_are_not_a_bucket() {
        for seed in 0..20 {
            let mut arrivals = policed(2.5e6, 1e12, 20.0, 0.8);
            for (i, a) in arrivals.iter_mut().enumerate() {
                let h = (i as u64 + seed * 1_000_003).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                a.lost = (h ^ h >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40 < (1 << 24) / 200;
            }
            let b = fit(&arrivals, 0.025, true).unwrap_or_default();
            assert!(b.gain < 8.0, "{b:?}");
        }
    }
}
