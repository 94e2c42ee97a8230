//! Limiters proposed by losses: what drops by the rule of a bucket.
//!
//! 1. The token bucket that explains the losses best ([`super::rate_search`]) may be a policer's, the end of a link's queue, or the
//!    bucket and queue of a shaper. All drop by the same rule; who waits, by how full the virtual queue is, tells them apart
//!    ([`super::model::delays`]).
//! 2. Behind the capture the sender's own line may be between it and a policer: at the line's end packets are spaced otherwise, and may
//!    show another bucket ([`super::sender_line`]).
//! 3. What was lost before the capture has no time of its own; it is placed right behind the packet before it. How much of the gain
//!    that placing makes, and what the gaps of losses say ([`super::loss_gaps`]), are signs.

use super::model::delays::{LimiterDelays, NOISE};
use super::posterior::{LimiterCandidate, LimiterSign, LimiterSigns, LimiterSource};
use super::rate_search::fit;
use super::virtual_queue::{self, CHANCE, PacketArrival, TokenBucketFit};
use super::{CLOCK, FoundLimiter, PathFacts, loss_gaps, model, sender_line};
use result::diagnosis::LimiterKind;

/// Rates that differ by less than this share are the same.
const SAME_RATE: f64 = 0.15;
/// A link this many times faster than the bucket's rate is another thing.
const FAR_FASTER: f64 = 4.0;

/// Proposes them; `clocked` are the same packets with their delays to the capture, where timestamps tell them.
pub(super) fn limiters_by_losses(
    arrivals: &[PacketArrival],
    clocked: Option<&[PacketArrival]>,
    path: PathFacts,
) -> Vec<LimiterCandidate> {
    let width = path.episode();
    let Some(bucket) = fit(arrivals, width, path.behind) else { return Vec::new() };
    // Losses that know of no bucket do not make one of more gain.
    if bucket.gain < CHANCE {
        return Vec::new();
    }
    let mut signs = signs_of(&bucket, arrivals, path);
    let lines = if path.behind { sender_line::rates(arrivals) } else { Vec::new() };
    let line = lines.iter().map(|line| line.0).find(|rate| explains_as_well(&bucket, *rate));
    signs.flag(LimiterSign::Line, line.is_some());
    let mut out = kinds(bucket, signs, arrivals, clocked, path);
    if let Some(line) = line {
        let loss_gain = out[0].found.loss_gain;
        let found = queue_of_line(line, FoundLimiter { loss_gain, ..limiter(bucket, path) });
        out.push(LimiterCandidate { source: LimiterSource::QueueOfLine, found, signs, arrivals: None });
        return out;
    }
    for (rate, certain) in lines {
        let after: Vec<PacketArrival> = sender_line::behind_line(arrivals, rate).collect();
        // A line's own queue loses at its rate.
        let Some(b) = fit(&after, width, true).filter(|b| b.gain > CHANCE && b.rate < rate) else { continue };
        let mut signs = signs_of(&b, &after, path);
        signs.set(LimiterSign::Clearer, (b.score().max(1.0) / bucket.score().max(1.0)).ln().clamp(-1.0, 1.0));
        signs.flag(LimiterSign::Certain, certain);
        let policer = kinds(b, signs, &after, None, path);
        let policer = policer.into_iter().find(|c| c.source == LimiterSource::PolicerByLosses);
        out.extend(policer.map(|c| LimiterCandidate {
            source: LimiterSource::PolicerBehindLine,
            arrivals: Some(after),
            ..c
        }));
    }
    out
}

/// Whether the bucket would explain the losses as well at this rate.
fn explains_as_well(b: &TokenBucketFit, rate: f64) -> bool {
    let (least, most) = b.rates();
    rate > least * (1.0 - SAME_RATE) && rate < most * (1.0 + SAME_RATE)
}

/// What looked like a policer drops at the rate of a line that packets wait for: it is the end of the line's queue, which is so
/// short that the wait for it is lost among others.
fn queue_of_line(line: f64, policer: FoundLimiter) -> FoundLimiter {
    let queue = policer.bucket.map_or(0.0, |b| b.burst);
    let delay = queue / line;
    FoundLimiter { kind: LimiterKind::Bottleneck, rate: line, burst: None, queue, delay, ..policer }
}

/// What has this bucket, as a policer.
fn limiter(b: TokenBucketFit, path: PathFacts) -> FoundLimiter {
    FoundLimiter {
        kind: LimiterKind::Policer,
        rate: b.rate,
        burst: b.emptied.then_some(b.burst),
        behind: path.behind,
        bucket: Some(b),
        ..FoundLimiter::default()
    }
}

/// What is measured of a bucket, whatever it is.
fn signs_of(b: &TokenBucketFit, arrivals: &[PacketArrival], path: PathFacts) -> LimiterSigns {
    let (mut signs, size) = (LimiterSigns::new(path.behind), virtual_queue::largest(arrivals).max(1.0));
    let ln = |x: f64| x.max(1e-3).ln();
    signs.set(LimiterSign::Gain, b.gain.ln_1p());
    signs.set(LimiterSign::Apart, ln((b.spread / b.burst).min(1.0)));
    signs.set(LimiterSign::Misclassified, b.misclassified.min(2.0));
    signs.set(LimiterSign::Clean, ln(b.misclassified.clamp(0.01, 2.0)));
    signs.set(LimiterSign::Beyond, virtual_queue::misclassified_beyond_a_packet(arrivals, b).min(2.0));
    signs.set(LimiterSign::Unexplained, 1.0 - b.explained);
    signs.set(LimiterSign::Packets, ln(b.burst / size));
    signs.set(LimiterSign::Seconds, ln(b.burst / b.rate));
    signs.set(LimiterSign::PassedBeyond, virtual_queue::passed_beyond_limit(arrivals, b).ln_1p());
    signs.flag(LimiterSign::Emptied, b.emptied);
    if !path.behind {
        let episodes = virtual_queue::episodes(arrivals, path.episode()) as f64;
        let placed = virtual_queue::gain_without_times(arrivals, b, episodes);
        signs.set(LimiterSign::Placed, ((placed + 1.0) / (b.gain + 1.0)).ln());
        signs.flag(LimiterSign::BackToBack, loss_gaps::back_to_back(arrivals, b));
        if let Some(link) = loss_gaps::link_rate(arrivals) {
            let is = (b.rate / link - 1.0).abs() < SAME_RATE;
            let near = b.rate > link / FAR_FASTER;
            signs.flag(LimiterSign::GapsOfLink, is);
            signs.flag(LimiterSign::GapsOfFaster, !is && near);
            signs.flag(LimiterSign::GapsOfFarFaster, !is && !near);
        }
    }
    signs
}

/// What the bucket may be.
fn kinds(
    b: TokenBucketFit,
    mut signs: LimiterSigns,
    arrivals: &[PacketArrival],
    clocked: Option<&[PacketArrival]>,
    path: PathFacts,
) -> Vec<LimiterCandidate> {
    let (policer, size) = (limiter(b, path), virtual_queue::largest(arrivals).max(1.0));
    // Delay to the capture alone where timestamps tell it; else the RTT's.
    let (delayed, base, noise) = clocked.map_or((arrivals, path.base, NOISE), |c| (c, 0.0, CLOCK));
    let waited = clocked.filter(|c| virtual_queue::has_delays(c)).unwrap_or(arrivals);
    let width = path.episode();
    let loss_gain = model::loss_gain(arrivals, &b, width);
    signs.set(LimiterSign::Second, compressed(loss_gain - model::losses::gain_by_delay(waited, width)));
    let policer = FoundLimiter { loss_gain, ..policer };
    let delays = LimiterDelays::new(delayed, &b, noise);
    let near = delays.at_limit(base);
    let wait = near.filter(|wait| *wait > noise).unwrap_or(0.0);
    signs.set(LimiterSign::WaitAtLimit, (wait * b.rate / size).ln_1p());
    signs.set(LimiterSign::AllAtLimit, -signs.get(LimiterSign::Placed) * signs.get(LimiterSign::WaitAtLimit));
    let told = delays.likelihoods().filter(|told| told.count > 2.0);
    signs.flag(LimiterSign::WaitsKnown, told.is_some());
    let as_kind = |source, found, likely: Option<f64>| {
        let mut signs = signs;
        let than_others = told.as_ref().zip(likely).map(|(told, likely)| told.than_others(likely));
        signs.set(LimiterSign::Waits, than_others.unwrap_or(0.0));
        LimiterCandidate { source, found, signs, arrivals: None }
    };
    let shaper = |bucket, delay| FoundLimiter {
        kind: LimiterKind::Shaper,
        burst: Some(bucket),
        queue: delay * b.rate,
        delay,
        ..policer
    };
    let (queue, delay) = (b.burst, b.burst / b.rate);
    let link = FoundLimiter { kind: LimiterKind::Bottleneck, burst: None, queue, delay, ..policer };
    let behind = told.as_ref().and_then(|told| told.behind);
    let mut out = vec![
        as_kind(LimiterSource::PolicerByLosses, policer, told.as_ref().map(|t| t.nobody)),
        as_kind(LimiterSource::QueueByLosses, link, told.as_ref().map(|t| t.all)),
        as_kind(LimiterSource::ShaperBeforeCapture, shaper(b.burst, near.unwrap_or(0.0).max(0.0)), None),
    ];
    if let Some((bucket, likely)) = behind {
        let bucket = delays.passed_without_wait(bucket);
        let found = shaper(bucket, (b.burst - bucket) / b.rate);
        out.push(as_kind(LimiterSource::ShaperByLosses, found, Some(likely)));
    }
    out
}

/// A difference of logarithms of likelihoods, of which great ones say little more.
fn compressed(x: f64) -> f64 {
    x.abs().ln_1p().copysign(x)
}

#[cfg(test)]
mod tests {
    use super::super::posterior::likeliest;
    use super::*;

    const RATE: f64 = 2.5e6;

    /// Growing bursts each 100 ms to a shaper of `bucket` bytes and a queue of `queue` bytes behind it, seen before both.
    fn bursts(bucket: f64, queue: f64) -> Vec<PacketArrival> {
        let (mut backlog, mut last, mut out) = (0.0f64, 0.0, Vec::new());
        for i in 0..12_000u32 {
            let (burst, k) = (i / 300, i % 300);
            if k > 150 + 3 * (burst * 7 % 40) {
                continue;
            }
            let at = burst as f64 * 0.15 + k as f64 * 1e-4;
            backlog = (backlog - RATE * (at - last)).max(0.0);
            last = at;
            let lost = backlog + 1500.0 > bucket + queue;
            backlog += if lost { 0.0 } else { 1500.0 };
            let rtt = (0.02 + (backlog - bucket).max(0.0) / RATE) as f32;
            out.push(PacketArrival { at, bytes: 1500.0, size: 1500.0, lost, rtt, flow: 0, entry: i });
        }
        out
    }

    #[test]
    fn what_drops_at_the_rate_of_a_line_that_packets_wait_for_is_its_queue() {
        let bucket = TokenBucketFit { rate: 70e6, burst: 12e3, ..TokenBucketFit::default() };
        assert!(explains_as_well(&bucket, 72e6) && !explains_as_well(&bucket, 140e6));
        let open = TokenBucketFit { as_good: Some((60e6, 150e6)), ..bucket };
        assert!(explains_as_well(&open, 140e6) && !explains_as_well(&open, 200e6));
        let policer =
            FoundLimiter { rate: 70e6, burst: Some(12e3), bucket: Some(bucket), ..FoundLimiter::default() };
        let queue = queue_of_line(72e6, policer);
        assert_eq!((queue.kind, queue.rate, queue.burst), (LimiterKind::Bottleneck, 72e6, None));
        assert!((queue.delay - 12e3 / 72e6).abs() < 1e-9, "{queue:?}");
    }

    #[test]
    fn a_bucket_is_what_is_lacking_at_the_end_of_the_queue_behind_it() {
        let path = PathFacts { base: 0.02, rtt: 0.05, behind: true, merged: false, sender: true };
        let found = |bucket, queue| {
            let candidates = limiters_by_losses(&bursts(bucket, queue), None, path);
            let best = likeliest(&candidates).map(|(best, _)| candidates[best].found);
            best.unwrap_or_default()
        };
        let shaper = found(60e3, 150e3);
        assert_eq!(shaper.kind, LimiterKind::Shaper, "{shaper:?}");
        assert!(shaper.burst.is_some_and(|b| (b / 60e3 - 1.0).abs() < 0.1), "{shaper:?}");
        assert!((shaper.rate / RATE - 1.0).abs() < 0.02, "{shaper:?}");
        let link = found(0.0, 210e3);
        assert!(link.kind == LimiterKind::Bottleneck && link.burst.is_none(), "{link:?}");
        let policer = found(210e3, 0.0);
        assert!(policer.kind == LimiterKind::Policer, "{policer:?}");
    }
}
