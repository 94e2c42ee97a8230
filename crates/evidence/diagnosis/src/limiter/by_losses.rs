//! Limiters that losses propose: those that drop by the rule of a bucket.
//!
//! 1. The token bucket that explains the losses best ([`super::rate_search`]) may be a policer's, the end of
//!    a link's queue, or the bucket and queue of a shaper. All drop by the same rule; the delays at each
//!    depth of the virtual queue distinguish them ([`super::model::delays`]).
//! 2. The sender's own line may be between the capture and a policer. Packets leave the line with other gaps,
//!    which may show another bucket ([`super::sender_line`]).

use super::evidence::{self, LARGE_BUCKET, LimiterEvidence, LimiterStatement, compressed};
use super::model::delays::{FEW_PACKETS, LimiterDelays, NOISE};
use super::posterior::{LimiterCandidate, LimiterSource};
use super::rate_search::fit;
use super::shaper_bucket::{QueueView, bucket_before_queue};
use super::virtual_queue::{self, CHANCE_GAIN, PacketArrival, TokenBucketFit};
use super::{FoundLimiter, MIN_CLOCK_DELAY_S, PathFacts, model, sender_line};
use result::diagnosis::LimiterKind;

/// Rates that differ by less than this share are the same.
const SAME_RATE: f64 = 0.15;

/// A bucket is not a link's queue if more than this share of its bytes has left faster than its rate.
const MOST: f64 = 0.5;

/// Proposes limiters by losses. `clocked` are the same packets with their delays to the capture, where
/// timestamps show these.
pub(super) fn limiters_by_losses(
    arrivals: &[PacketArrival],
    clocked: Option<&[PacketArrival]>,
    path: PathFacts,
) -> Vec<LimiterCandidate> {
    let width = path.episode();
    let Some(bucket) = fit(arrivals, width, path.behind) else { return Vec::new() };
    // Random losses do not gain more.
    if bucket.gain < CHANCE_GAIN {
        return Vec::new();
    }
    let lines = if path.behind { sender_line::rates(arrivals) } else { Vec::new() };
    let line = lines.iter().copied().find(|rate| explains_as_well(&bucket, *rate));
    let mut out = kinds(bucket, arrivals, clocked, path);
    if let Some(line) = line {
        for link in out.iter_mut().filter(|c| c.found.kind == LimiterKind::Bottleneck) {
            // The packets of a burst show a line's rate better than losses do.
            link.found = FoundLimiter { rate: line, delay: link.found.queue / line, ..link.found };
            link.evidence.set(LimiterStatement::Line, 1.0);
        }
        return out;
    }
    for rate in lines {
        let after: Vec<PacketArrival> = sender_line::behind_line(arrivals, rate).collect();
        // Losses at the line's own rate are those of its queue.
        let Some(b) = fit(&after, width, true).filter(|b| b.gain > CHANCE_GAIN && b.rate < rate) else {
            continue;
        };
        let policer = kinds(b, &after, None, path);
        let policer = policer.into_iter().find(|c| c.found.kind == LimiterKind::Policer);
        out.extend(policer.map(|c| LimiterCandidate {
            source: LimiterSource::LossesBehindLine,
            arrivals: Some(after),
            ..c
        }));
    }
    out
}

/// Whether the bucket would explain the losses as well at this rate.
fn explains_as_well(b: &TokenBucketFit, rate: f64) -> bool {
    let (lowest, highest) = b.rates();
    rate > lowest * (1.0 - SAME_RATE) && rate < highest * (1.0 + SAME_RATE)
}

/// Returns the policer with this bucket.
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

/// Returns the limiters that the bucket may be: a policer, the end of a link's queue, or a shaper with its
/// queue.
fn kinds(
    b: TokenBucketFit,
    arrivals: &[PacketArrival],
    clocked: Option<&[PacketArrival]>,
    path: PathFacts,
) -> Vec<LimiterCandidate> {
    use LimiterStatement::{BucketPackets, LossesByRule, PassedBeyond, Strays, WaitAtLimit, Waits};
    let size = virtual_queue::largest(arrivals).max(1.0);
    // The delay is that to the capture where timestamps show it, else the RTT.
    let (delayed, base, noise) =
        clocked.map_or((arrivals, path.base, NOISE), |c| (c, 0.0, MIN_CLOCK_DELAY_S));
    let clocked = clocked.filter(|c| virtual_queue::has_delays(c));
    let waited = clocked.unwrap_or(arrivals);
    let width = path.episode();
    let loss_gain = model::loss_gain(arrivals, &b, width);
    let by_rule = compressed(loss_gain - model::losses::gain_by_delay(waited, width));
    let policer = FoundLimiter { loss_gain, ..limiter(b, path) };
    let passed_beyond = virtual_queue::passed_beyond_limit(arrivals, &b).ln_1p();
    let delays = LimiterDelays::new(delayed, &b, noise);
    let waiting = delays.at_limit(base).map(|wait| if wait > noise { wait * b.rate / size } else { 0.0 });
    let likely = delays.likelihoods().filter(|likely| likely.count > 2.0);
    let as_kind = |found: FoundLimiter, own: Option<f64>| {
        let mut evidence = LimiterEvidence::of_any();
        evidence.set(PassedBeyond, passed_beyond);
        let waits = likely.as_ref().zip(own).map(|(likely, own)| likely.than_others(own));
        evidence.set(Waits, waits);
        let waiting = waiting.map(f64::ln_1p);
        match found.kind {
            LimiterKind::Policer => {
                evidence.set(LossesByRule, by_rule);
                evidence.set(Strays, b.misclassified.min(2.0) + (1.0 - b.explained));
                evidence.set(WaitAtLimit, waiting.map(|waiting| -waiting));
                evidence.set(BucketPackets, (b.burst / size).clamp(1.0, LARGE_BUCKET).ln());
            }
            LimiterKind::Shaper => evidence.set(WaitAtLimit, waiting),
            LimiterKind::Bottleneck => {}
        }
        LimiterCandidate { source: LimiterSource::Losses, found, evidence, arrivals: None }
    };
    let (queue, delay) = (b.burst, b.burst / b.rate);
    let link = FoundLimiter { kind: LimiterKind::Bottleneck, burst: None, queue, delay, ..policer };
    let mut out = vec![as_kind(policer, likely.as_ref().map(|l| l.no_wait))];
    if clocked.is_some() || path.behind || !has_left_faster(arrivals, &b, path) {
        out.push(as_kind(link, likely.as_ref().map(|l| l.all)));
    }
    if let Some((bucket, own)) = likely.as_ref().and_then(|l| l.behind) {
        let bucket = delays.passed_without_wait(bucket);
        let (queue, delay) = (b.burst - bucket, (b.burst - bucket) / b.rate);
        let shaper = FoundLimiter { kind: LimiterKind::Shaper, burst: Some(bucket), queue, delay, ..policer };
        // A queue of less than a packet delays nothing.
        out.extend(evidence::holds_a_packet(&shaper, size).then(|| as_kind(shaper, Some(own))));
    }
    out
}

/// Whether packets, captured as they leave, came faster than the bucket's rate for most of its bytes, as no
/// link of that rate lets them pass.
fn has_left_faster(arrivals: &[PacketArrival], b: &TokenBucketFit, path: PathFacts) -> bool {
    let PathFacts { base, merged, .. } = path;
    let view = QueueView { rate: b.rate, clocked: false, base, floor: None, merged };
    let least = (FEW_PACKETS * virtual_queue::largest(arrivals)).max(MOST * b.burst);
    bucket_before_queue(arrivals, view).is_some_and(|passed| passed > least)
}

#[cfg(test)]
mod tests {
    use super::super::{PackedSeconds, observe, posterior::most_probable};
    use super::*;

    const RATE: f64 = 2.5e6;

    /// Growing bursts, captured before a shaper with a bucket and a queue of these sizes in bytes.
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
            let delay = 0.02 + (backlog - bucket).max(0.0) / RATE;
            out.push(PacketArrival::full(at, delay, lost, i));
        }
        out
    }

    /// The packets of [`bursts`] as they leave the shaper, without a known wait.
    fn leaving(bucket: f64, queue: f64) -> Vec<PacketArrival> {
        let mut last = 0.0f64;
        let leave = |mut a: PacketArrival| {
            let wait = if a.lost { 0.0 } else { a.delay.get().map_or(0.0, f64::from) - 0.02 };
            last = last.max(a.at + wait);
            (a.at, a.delay) = (last, PackedSeconds::UNKNOWN);
            a
        };
        bursts(bucket, queue).into_iter().map(leave).collect()
    }

    #[test]
    fn what_leaves_faster_than_its_rate_was_no_links_queue() {
        let path = PathFacts { base: 0.02, rtt: 0.05, behind: false, merged: false, sender: false };
        let found = limiters_by_losses(&leaving(60e3, 150e3), None, path);
        let kinds: Vec<LimiterKind> = found.iter().map(|c| c.found.kind).collect();
        assert_eq!(kinds, [LimiterKind::Policer]);
    }

    #[test]
    fn a_bucket_explains_losses_at_any_rate_in_its_range() {
        let bucket = TokenBucketFit { rate: 70e6, burst: 12e3, ..TokenBucketFit::default() };
        assert!(explains_as_well(&bucket, 72e6) && !explains_as_well(&bucket, 140e6));
        let open = TokenBucketFit { equivalent_rates: Some((60e6, 150e6)), ..bucket };
        assert!(explains_as_well(&open, 140e6) && !explains_as_well(&open, 200e6));
    }

    #[test]
    fn losses_and_delays_distinguish_shaper_link_and_policer() {
        let path = PathFacts { base: 0.02, rtt: 0.05, behind: true, merged: false, sender: true };
        let found = |bucket, queue| {
            let arrivals = bursts(bucket, queue);
            let mut candidates = limiters_by_losses(&arrivals, None, path);
            candidates.iter_mut().for_each(|c| observe(c, &arrivals, None));
            let best = most_probable(&candidates).map(|best| candidates[best.candidate].found);
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
