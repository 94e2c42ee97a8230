//! A limiter found by its delays: a queue that drains at one rate, of a link or of a shaper.
//!
//! 1. While packets wait, they leave at the queue's rate ([`super::delay_fit::drain`]).
//! 2. At that rate the delay must rise with the backlog as behind a queue; what passes before packets wait is a shaper's bucket
//!    ([`super::model::delays`]). Where packets are seen as they leave, it shows in what they leave behind
//!    ([`super::shaper_bucket`]).
//! 3. A shaper that is refilled at intervals shows by its ticks instead ([`super::refill_ticks`]).

use super::delay_fit::{self, DelayFit, drain, fit_to_backlog};
use super::departures::Departures;
use super::loss_delay::delay_at_losses;
use super::model::delays::{LEAST_BUCKET, LimiterDelays, NOISE, Waits};
use super::refill_ticks::{RefillTicks, find_ticks};
use super::shaper_bucket::{QueueView, bucket_before_queue};
use super::virtual_queue::{PacketArrival, largest};
use super::{FoundLimiter, PathFacts};
use result::diagnosis::LimiterKind;

/// Share of the times at which packets come at the commonest rate, where a link is full.
const PINNED: f64 = 0.35;
/// A bucket that lasts for less than this, seconds, is none: hosts take that long now and then.
const HOST: f64 = 150e-6;
/// By how much the lower quartile of delays by the sender's clock differs, seconds: a quarter of a millisecond, in which Linux counts.
const TICK: f64 = 250e-6;
/// A rate is known well enough to add up for so many seconds after the start and after each pause; or, with luck, for all of the time.
const SPANS: [f64; 2] = [2.0, f64::INFINITY];

/// A fair queue is told where it is so much likelier than what else may be ([`super::model::SURE`]).
const FAIR: f64 = 0.95;

/// A line of delay over backlog that rises by this much of what a queue's does, and leaves less than this share of the variance,
/// is a queue's, though bins be too few for likelihoods.
const QUEUE_LINE: (f64, f64) = (0.6, 0.6);

/// Whether delay goes with the backlog as behind a queue.
fn queues(d: &DelayFit) -> bool {
    d.slope > QUEUE_LINE.0 && d.left < QUEUE_LINE.1
}

/// How far RTT against backlog is from a queue's line.
fn crooked(d: &DelayFit) -> f64 {
    d.left + (d.slope - 1.0).abs()
}

/// Whether losses before the capture come when the delay to it is long, by the sender's clock; or it has none.
pub(super) fn losses_go_with_delay(clocked: &[PacketArrival], rtt: f64) -> bool {
    let mut last: Vec<f32> = Vec::new();
    let (mut losses, mut passed, mut until) = (Vec::new(), Vec::new(), f64::NEG_INFINITY);
    for a in clocked {
        if last.len() <= a.flow as usize {
            last.resize(a.flow as usize + 1, f32::NAN);
        }
        let now = &mut last[a.flow as usize];
        if !a.lost && a.rtt.is_finite() {
            *now = a.rtt;
            passed.push(a.rtt);
        } else if a.lost && now.is_finite() && a.at > until {
            losses.push(*now);
            until = a.at + 0.5 * rtt;
        }
    }
    passed.is_empty() || delay_at_losses(&mut losses, &mut passed).is_some()
}

/// Finds a link before the capture by nothing but packets that come at one rate, over long and short times alike: what
/// a window holds back comes in bursts, faster than it comes on average.
pub(super) fn limiter_by_rate(
    arrivals: &[PacketArrival],
    path: PathFacts,
    mut found: FoundLimiter,
) -> Option<FoundLimiter> {
    let (rate, share) = delay_fit::commonest_rate(arrivals, (0.5 * path.rtt).max(0.02))?;
    let (short, often) = delay_fit::commonest_rate(arrivals, 0.0)?;
    if (short / rate - 1.0).abs() > 0.02 || often < PINNED {
        return None;
    }
    found.rate = rate;
    found.confidence = share;
    let PathFacts { base, merged, .. } = path;
    let seen = QueueView { rate, clocked: false, base, floor: f64::NEG_INFINITY, merged };
    found.burst = bucket(bucket_before_queue(arrivals, seen), rate);
    found.kind = kind(found.burst);
    (share > PINNED).then_some(found)
}

/// What passes without waiting, unless it is so little that a link without bucket lets it pass.
fn bucket(passes: Option<f64>, rate: f64) -> Option<f64> {
    passes.filter(|b| *b > LEAST_BUCKET.max(HOST * rate))
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
    let burst = bucket(Some(g.burst), rate);
    let delays = DelayFit { most: g.most, left: 1.0, ..DelayFit::default() };
    FoundLimiter {
        kind: kind(burst),
        rate,
        burst,
        queue: g.most * rate,
        delay: g.most,
        interval: Some(g.interval),
        delay_fit: straightest(arrivals, rate, path).or(Some(delays)),
        confidence: g.sure,
        ..found
    }
}

/// Finds a queue that drains at one rate.
pub(super) fn limiter_by_delays(
    arrivals: &[PacketArrival],
    path: PathFacts,
    floor: f64,
    mut found: FoundLimiter,
) -> Option<FoundLimiter> {
    let width = (0.5 * path.rtt).max(0.02);
    let clocked = path.base == 0.0;
    let departures = Departures::new(arrivals, path.behind || clocked, path.base);
    found.drain = drain(&departures, floor, width);
    let PathFacts { base, merged, .. } = path;
    let size = largest(arrivals);
    let noise = if clocked { TICK } else { NOISE };
    let link = found.drain.map_or(f64::INFINITY, |d| d.rate);
    let at_intervals =
        find_ticks(departures, floor, link, noise, size).map(|g| at_intervals(arrivals, g, path, found));
    // Ticks of which the delays know nothing are a window's.
    if let Some(g) = at_intervals.filter(|g| g.delay_fit.is_some_and(|a| a.left < 1.0)) {
        return Some(g);
    }
    let d = found.drain.filter(|d| d.busy > 0.1 && d.spread <= 0.15)?;
    found.rate = d.rate;
    let a = straightest(arrivals, d.rate, path)?;
    found.delay_fit = Some(a);
    // Where all windows agree, fewer will do.
    let alike = d.spread < 0.03 && d.busy > 0.5 || d.spread < 0.005 && d.busy > 0.25;
    let steady = alike && a.most > 3.0 * floor;
    let delays = SPANS.map(|span| LimiterDelays::since_pauses(arrivals, d.rate, (span, merged), base, noise));
    found.fair =
        path.behind && SPANS.iter().zip(&delays).any(|(span, d)| d.is_fair(arrivals, (*span, merged)));
    let who = match steady || queues(&a) {
        true => LimiterDelays::who_waits_of_some,
        false => LimiterDelays::who_waits,
    };
    let (waits, posterior) = if found.fair { (Waits::All, FAIR) } else { delays.iter().find_map(who)? };
    found.burst = match waits {
        Waits::Nobody => return None,
        // What a bucket lacks shows best where packets leave.
        _ if !path.behind => {
            let seen = QueueView { rate: d.rate, clocked, base, floor, merged };
            bucket(bucket_before_queue(arrivals, seen), d.rate)
        }
        Waits::Behind(passes) => bucket(Some(passes), d.rate),
        Waits::All => None,
    };
    found.delay = a.most;
    found.queue = a.most * d.rate;
    found.kind = kind(found.burst);
    // That it drains at one rate, and that delays follow the backlog; and then who waits.
    found.confidence = posterior * ((1.0 - d.spread / 0.15) * (1.0 - a.left)).clamp(0.3, 0.99);
    Some(found)
}
