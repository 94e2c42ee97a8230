//! Limiters that delays propose: the queue of a link or shaper, which drains at one rate.
//!
//! 1. While packets wait, they leave at the queue's rate ([`super::delay_fit::drain`]).
//! 2. At that rate the delay must rise with the backlog as it does behind a queue. Bytes that pass before
//!    packets wait are a shaper's bucket ([`super::model::delays`]). Where packets are captured as they
//!    leave, their departures show the bucket ([`super::shaper_bucket`]).
//! 3. A shaper that is refilled at intervals shows by its ticks instead ([`super::refill_ticks`]).

use super::delay_fit::{self, DelayFit, drain, fit_to_backlog};
use super::departures::Departures;
use super::evidence::{self, LimiterEvidence, LimiterStatement};
use super::model::delays::{FEW_PACKETS, Likelihoods, LimiterDelays, NOISE};
use super::posterior::{LimiterCandidate, LimiterSource};
use super::refill_ticks::{RefillTicks, find_ticks};
use super::several_queues::are_delays_apart;
use super::shaper_bucket::{QueueView, bucket_before_queue};
use super::virtual_queue::{PacketArrival, largest};
use super::{FoundLimiter, PathFacts, SAME_RATE, model};
use result::diagnosis::LimiterKind;

/// Spread of the lower quartile of delays by the sender's clock, seconds: a quarter of Linux' tick of a
/// millisecond.
const CLOCK_SPREAD_S: f64 = 250e-6;
/// Least length of the windows over which a rate is measured, seconds; else half a round trip.
const MIN_WINDOW_S: f64 = 0.02;
/// Seconds after the start and after each pause over which the backlog is added up: until the error of the
/// rate matters, or for all of the time.
const BACKLOG_SPANS_S: [f64; 2] = [2.0, f64::INFINITY];

/// Returns how far RTT against backlog is from the line of a queue.
fn crooked(d: &DelayFit) -> f64 {
    d.left + (d.slope - 1.0).abs()
}

/// Returns the rate, bytes a second, at which most packets arrive over long and short times alike, and the
/// share of the times in which they do. Packets that a window holds back come in bursts, faster than on
/// average.
pub(super) fn pinned_rate(arrivals: &[PacketArrival], path: PathFacts) -> Option<(f64, f64)> {
    let (rate, share) = delay_fit::commonest_rate(arrivals, path.episode().max(MIN_WINDOW_S))?;
    let (short, often) = delay_fit::commonest_rate(arrivals, 0.0)?;
    let difference = (short / rate - 1.0).abs();
    Some((rate, share.min(often) * libm::exp(-difference / SAME_RATE)))
}

/// Proposes a link before the capture because packets arrive at one rate, and a shaper where a bucket shows.
pub(super) fn limiters_by_rate(
    arrivals: &[PacketArrival],
    rate: f64,
    path: PathFacts,
) -> Vec<LimiterCandidate> {
    let PathFacts { base, merged, .. } = path;
    let view = QueueView { rate, clocked: false, base, floor: None, merged };
    let found = FoundLimiter { rate, behind: path.behind, ..FoundLimiter::default() };
    let bucket = bucket(bucket_before_queue(arrivals, view), largest(arrivals));
    with_bucket(found, bucket)
        .map(|found| {
            let evidence = LimiterEvidence::of_any();
            LimiterCandidate { source: LimiterSource::Rate, found, evidence, arrivals: None }
        })
        .collect()
}

/// Returns the limiter as a link, and also as a shaper where a bucket shows.
fn with_bucket(found: FoundLimiter, bucket: Option<f64>) -> impl Iterator<Item = FoundLimiter> {
    let limiter = move |burst| FoundLimiter { kind: kind(burst), burst, ..found };
    [limiter(None)].into_iter().chain(bucket.map(move |_| limiter(bucket)))
}

/// Returns the bucket, unless it is so small that a link without a bucket passes the same amount.
fn bucket(passes: Option<f64>, size: f64) -> Option<f64> {
    passes.filter(|b| *b > FEW_PACKETS * size)
}

/// Returns the kind of a queue: a shaper if it has a bucket.
fn kind(bucket: Option<f64>) -> LimiterKind {
    if bucket.is_some() { LimiterKind::Shaper } else { LimiterKind::Bottleneck }
}

/// Returns the delays against the backlog at `rate`, over short and long times.
fn delays_at(arrivals: &[PacketArrival], rate: f64, path: PathFacts, noise: f64) -> [LimiterDelays; 2] {
    BACKLOG_SPANS_S
        .map(|span| LimiterDelays::since_pauses(arrivals, rate, (span, path.merged), path.base, noise))
}

/// Returns the fit of delay to backlog that is closest to a queue's line.
fn straightest(delays: &[LimiterDelays; 2], rate: f64, base: f64) -> Option<DelayFit> {
    let fits = delays.iter().filter_map(|delays| fit_to_backlog(delays, rate, base));
    fits.min_by(|a, b| crooked(a).total_cmp(&crooked(b)))
}

/// Returns the shaper that is refilled at intervals, or a link where an interval passes hardly more than a
/// packet.
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
        delay_fit: straightest(&delays_at(arrivals, rate, path, NOISE), rate, path.base).or(Some(delays)),
        ..found
    }
}

/// Proposes a queue that drains at one rate. Delays below `floor` seconds do not count as waiting.
pub(super) fn limiters_by_delays(
    arrivals: &[PacketArrival],
    path: PathFacts,
    floor: f64,
) -> Vec<LimiterCandidate> {
    let width = path.episode().max(MIN_WINDOW_S);
    let clocked = path.base == 0.0;
    let departures = Departures::new(arrivals, path.behind || clocked, path.base);
    let PathFacts { base, merged, behind, .. } = path;
    let drain = drain(&departures, floor, width);
    let found = FoundLimiter { behind, drain, ..FoundLimiter::default() };
    let size = largest(arrivals);
    let noise = if clocked { CLOCK_SPREAD_S } else { NOISE };
    let link = drain.map_or(f64::INFINITY, |d| d.rate);
    let mut out = Vec::new();
    if let Some(ticks) = find_ticks(departures, floor, link, noise, size) {
        let found = at_intervals(arrivals, ticks, path, found);
        let mut evidence = LimiterEvidence::of_any();
        let loses = arrivals.iter().any(|a| a.lost);
        evidence.flag(LimiterStatement::Ticks, loses && found.kind == LimiterKind::Shaper);
        out.push(LimiterCandidate { source: LimiterSource::Ticks, found, evidence, arrivals: None });
    }
    let Some(d) = drain else { return out };
    let delays = delays_at(arrivals, d.rate, path, noise);
    let Some(a) = straightest(&delays, d.rate, base) else { return out };
    let found =
        FoundLimiter { rate: d.rate, delay_fit: Some(a), delay: a.most, queue: a.most * d.rate, ..found };
    let fair =
        behind && BACKLOG_SPANS_S.iter().zip(&delays).any(|(span, d)| d.is_fair(arrivals, (*span, merged)));
    let likelihoods = [0, 1].map(|i| delays[i].likelihoods());
    let loss_gain = model::losses::gain_by_delay(arrivals, path.episode());
    let buckets = || {
        likelihoods.iter().zip(&delays).find_map(|(l, d)| Some(d.passed_without_wait(l.as_ref()?.behind?.0)))
    };
    let passes = match behind {
        true => buckets(),
        false => bucket_before_queue(
            arrivals,
            QueueView { rate: d.rate, clocked, base, floor: Some(floor), merged },
        ),
    };
    // A bucket is read from a backlog that all flows share.
    let shared = !behind || !are_delays_apart(arrivals, size / d.rate);
    let bucket = bucket(passes.filter(|_| shared), size);
    let found = FoundLimiter { fair, loss_gain, ..found };
    out.extend(with_bucket(found, bucket).map(|found| {
        let own = |l: &Likelihoods| match found.kind {
            LimiterKind::Shaper => l.behind.map_or(l.all, |b| b.1),
            _ => l.all,
        };
        let waits = likelihoods.iter().flatten().map(|l| l.than_others(own(l)));
        let waits = waits.max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let mut evidence = evidence::of_delays(&found, waits);
        evidence.flag(LimiterStatement::TwoReadings, bucket.is_some());
        LimiterCandidate { source: LimiterSource::Delays, found, evidence, arrivals: None }
    }));
    out
}
