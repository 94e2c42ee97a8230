//! Limiters proposed by delays: a queue that drains at one rate, of a link or of a shaper.
//!
//! 1. While packets wait, they leave at the queue's rate ([`super::delay_fit::drain`]).
//! 2. At that rate the delay must rise with the backlog as behind a queue; what passes before packets wait is a shaper's bucket
//!    ([`super::model::delays`]). Where packets are seen as they leave, it shows in what they leave behind
//!    ([`super::shaper_bucket`]).
//! 3. A shaper that is refilled at intervals shows by its ticks instead ([`super::refill_ticks`]).

use super::delay_fit::{self, DelayFit, drain, fit_to_backlog};
use super::departures::Departures;
use super::model::delays::{FEW_PACKETS, Likelihoods, LimiterDelays, NOISE};
use super::posterior::{LimiterCandidate, LimiterSign, LimiterSigns, LimiterSource};
use super::refill_ticks::{RefillTicks, find_ticks};
use super::shaper_bucket::{QueueView, bucket_before_queue};
use super::virtual_queue::{PacketArrival, has_delays, largest};
use super::{FoundLimiter, PathFacts, SAME_RATE, model};
use result::diagnosis::LimiterKind;

/// By how much the lower quartile of delays by the sender's clock differs, seconds: a quarter of a millisecond, in which Linux counts.
const TICK: f64 = 250e-6;
/// A rate is that of windows of half a round trip, but no shorter than this, seconds.
const WINDOW: f64 = 0.02;
/// A rate is known well enough to add up for so many seconds after the start and after each pause; or, with luck, for all of the time.
const SPANS: [f64; 2] = [2.0, f64::INFINITY];

/// How far RTT against backlog is from a queue's line.
fn crooked(d: &DelayFit) -> f64 {
    d.left + (d.slope - 1.0).abs()
}

/// Proposes a link before the capture by nothing but packets that come at one rate, over long and short times alike: what
/// a window holds back comes in bursts, faster than it comes on average. `clocked`: the same packets with their delays to the capture.
pub(super) fn limiters_by_rate(
    arrivals: &[PacketArrival],
    path: PathFacts,
    clocked: &[PacketArrival],
) -> Vec<LimiterCandidate> {
    let rates = delay_fit::commonest_rate(arrivals, path.episode().max(WINDOW));
    let Some(((rate, share), (short, often))) = rates.zip(delay_fit::commonest_rate(arrivals, 0.0)) else {
        return Vec::new();
    };
    let mut signs = LimiterSigns::new(path.behind);
    let apart = (short / rate - 1.0).abs();
    signs.set(LimiterSign::Pinned, share.min(often) * libm::exp(-apart / SAME_RATE));
    signs.set(LimiterSign::Spread, apart.max(1e-3).ln());
    signs.flag(LimiterSign::WaitsKnown, has_delays(clocked));
    let PathFacts { base, merged, .. } = path;
    let seen = QueueView { rate, clocked: false, base, floor: f64::NEG_INFINITY, merged };
    let found = FoundLimiter { rate, behind: path.behind, ..FoundLimiter::default() };
    let bucket = bucket(bucket_before_queue(arrivals, seen), largest(arrivals));
    with_bucket(found, signs, bucket, arrivals, [LimiterSource::LinkByRate, LimiterSource::ShaperByRate])
}

/// The same as a link, and as a shaper where a bucket shows: `sources` of the two.
fn with_bucket(
    found: FoundLimiter,
    mut signs: LimiterSigns,
    bucket: Option<f64>,
    arrivals: &[PacketArrival],
    sources: [LimiterSource; 2],
) -> Vec<LimiterCandidate> {
    let size = largest(arrivals).max(1.0);
    signs.flag(LimiterSign::HasBucket, bucket.is_some());
    signs.set(LimiterSign::Packets, bucket.map_or(0.0, |b| (b / size).ln()));
    let of = |source, burst| {
        let found = FoundLimiter { kind: kind(burst), burst, ..found };
        LimiterCandidate { source, found, signs, arrivals: None }
    };
    let link = of(sources[0], None);
    let shaper = bucket.map(|_| of(sources[1], bucket));
    [link].into_iter().chain(shaper).collect()
}

/// What passes without waiting, unless it is so little that a link without bucket lets it pass.
fn bucket(passes: Option<f64>, size: f64) -> Option<f64> {
    passes.filter(|b| *b > FEW_PACKETS * size)
}

/// What has a bucket is a shaper.
fn kind(bucket: Option<f64>) -> LimiterKind {
    if bucket.is_some() { LimiterKind::Shaper } else { LimiterKind::Bottleneck }
}

/// Delay against backlog.
fn straightest(arrivals: &[PacketArrival], rate: f64, path: PathFacts) -> Option<DelayFit> {
    let fits = SPANS.map(|span| fit_to_backlog(arrivals, rate, path.base, (span, path.merged)));
    fits.into_iter().flatten().min_by(|a, b| crooked(a).total_cmp(&crooked(b)))
}

/// A shaper that is refilled at intervals. Where an interval passes next to nothing it is as good as a link.
fn at_intervals(
    arrivals: &[PacketArrival],
    g: RefillTicks,
    path: PathFacts,
    found: FoundLimiter,
) -> FoundLimiter {
    let rate = g.burst / g.interval;
    let burst = bucket(Some(g.burst), largest(arrivals));
    let delays = DelayFit { most: g.most, left: 1.0, ..DelayFit::default() };
    FoundLimiter {
        kind: kind(burst),
        rate,
        burst,
        queue: g.most * rate,
        delay: g.most,
        interval: Some(g.interval),
        delay_fit: straightest(arrivals, rate, path).or(Some(delays)),
        ..found
    }
}

/// Proposes a queue that drains at one rate. Delays below `floor`, seconds, may be none.
pub(super) fn limiters_by_delays(
    arrivals: &[PacketArrival],
    path: PathFacts,
    floor: f64,
) -> Vec<LimiterCandidate> {
    let width = path.episode().max(WINDOW);
    let clocked = path.base == 0.0;
    let departures = Departures::new(arrivals, path.behind || clocked, path.base);
    let PathFacts { base, merged, behind, .. } = path;
    let drain = drain(&departures, floor, width);
    let found = FoundLimiter { behind, drain, ..FoundLimiter::default() };
    let size = largest(arrivals);
    let noise = if clocked { TICK } else { NOISE };
    let link = drain.map_or(f64::INFINITY, |d| d.rate);
    let mut out = Vec::new();
    if let Some(ticks) = find_ticks(departures, floor, link, noise, size) {
        let found = at_intervals(arrivals, ticks, path, found);
        let mut signs = LimiterSigns::new(behind);
        signs.set(LimiterSign::Ticks, 1.0 - ticks.sure);
        signs.set(LimiterSign::Left, found.delay_fit.map_or(1.0, |a| a.left));
        signs.flag(LimiterSign::HasBucket, found.burst.is_some());
        out.push(LimiterCandidate { source: LimiterSource::ShaperByTicks, found, signs, arrivals: None });
    }
    let Some((d, a)) = drain.and_then(|d| Some((d, straightest(arrivals, d.rate, path)?))) else {
        return out;
    };
    let found =
        FoundLimiter { rate: d.rate, delay_fit: Some(a), delay: a.most, queue: a.most * d.rate, ..found };
    let delays = SPANS.map(|span| LimiterDelays::since_pauses(arrivals, d.rate, (span, merged), base, noise));
    let fair = behind && SPANS.iter().zip(&delays).any(|(span, d)| d.is_fair(arrivals, (*span, merged)));
    let told = [0, 1].map(|i| delays[i].likelihoods());
    let mut signs = LimiterSigns::new(behind);
    signs.set(LimiterSign::Spread, d.spread.max(1e-3).ln());
    signs.set(LimiterSign::Busy, d.busy);
    signs.set(LimiterSign::Slope, (a.slope - 1.0).abs().min(2.0));
    signs.set(LimiterSign::Left, a.left);
    signs.set(LimiterSign::Delay, (a.most / floor).max(1.0).ln());
    let loss_gain = model::losses::gain_by_delay(arrivals, path.episode());
    signs.set(LimiterSign::LossesWithDelay, loss_gain.ln_1p());
    signs.flag(LimiterSign::Fair, fair);
    signs.flag(LimiterSign::WaitsKnown, told.iter().flatten().any(|t| t.count > 2.0));
    // What a bucket lacks shows best where packets leave.
    let buckets =
        || told.iter().zip(&delays).find_map(|(t, d)| Some(d.passed_without_wait(t.as_ref()?.behind?.0)));
    let passes = match behind {
        true => buckets(),
        false => bucket_before_queue(arrivals, QueueView { rate: d.rate, clocked, base, floor, merged }),
    };
    let bucket = bucket(passes, size);
    let found = FoundLimiter { fair, loss_gain, ..found };
    let sources = [LimiterSource::LinkByDelays, LimiterSource::ShaperByDelays];
    let mut proposed = with_bucket(found, signs, bucket, arrivals, sources);
    for c in &mut proposed {
        let shaped = c.source == LimiterSource::ShaperByDelays;
        let likely = |t: &Likelihoods| if shaped { t.behind.map_or(t.all, |b| b.1) } else { t.all };
        let than_others = |t: &Option<Likelihoods>| t.as_ref().map_or(0.0, |t| t.than_others(likely(t)));
        c.signs.set(LimiterSign::Waits, than_others(&told[0]));
        c.signs.set(LimiterSign::WaitsOfAll, than_others(&told[1]));
    }
    out.append(&mut proposed);
    out
}
