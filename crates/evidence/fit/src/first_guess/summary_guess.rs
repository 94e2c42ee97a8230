//! First guesses from a summary: the paths that the verdict on it leaves open.

use super::{
    CASE_COUNTS, FULL_PACKET, FitParameter, FittedLimiter, FittedPath, column, is_loss, of_kind, rarity,
};
use crate::observed::{ObservedFlow, ObservedPath};
use crate::series::{FlowSeries, SeriesInterval, SummarySeries};
use crate::verdict::{SummaryVerdict, VerdictKind};
use result::diagnosis::{Limiter, LimiterKind};
use track::PacketFate;

/// Cost of a kind without a diagnosis: how much rarer it is than a link among the drawn cases.
fn rarity_of_all(kind: LimiterKind) -> f64 {
    let true_ones = |column: usize| CASE_COUNTS.iter().map(|named| named[column]).sum::<f64>();
    2.0 * (true_ones(0) / true_ones(column(kind))).ln()
}

/// Standard deviation of the logarithm of the limiter's rate if only the greatest rate of the flows is known.
const SEEN_RATE_STDERR: f64 = 0.4;
/// Starting points of the search for a policer with an unknown bucket. The rate is a multiple of the flows'
/// greatest rate, because a small bucket keeps TCP far below the limiter's rate; the bucket is a multiple of
/// the bandwidth-delay product.
const STARTS: [(f64, f64); 8] =
    [(1.0, 0.25), (1.0, 0.5), (1.0, 1.0), (1.0, 2.0), (1.6, 0.25), (1.6, 0.5), (1.6, 1.0), (2.5, 0.25)];

/// The rate of a link that does not limit, as a multiple of the flows' rate.
const OPEN_LINK_FACTOR: f64 = 4.0;
// Standard deviations of the logarithm of a first guess:
/// A window that the summary contains, and random loss by its count.
const WINDOW_STDERR: f64 = 0.1;
const LOSS_STDERR: f64 = 0.3;
/// The limiter's rate from an even rate, and the rate of the line before it from the time before the bucket
/// was empty.
const EVEN_RATE_STDERR: f64 = 0.04;
const LINE_BEFORE_STDERR: f64 = 0.05;

/// Candidate paths of a summary.
pub fn of_summary(seen: &ObservedPath, base: &FittedPath) -> Vec<FittedPath> {
    let sum: f64 = seen.flows.iter().filter(|f| !f.backward).map(|f| f.flow.measures.goodput_mbps).sum();
    let payload = seen.flows.first().map_or(1448.0, |f| f64::from(f.flow.measures.mss_bytes.max(100)));
    let headers = (payload + 52.0) / payload;
    let Some(verdict) = &seen.verdict else {
        return each_kind(seen, base, base.rate.max(sum * 1e6) * headers);
    };
    match verdict.kind {
        VerdictKind::Bucket => bucket(seen, base, verdict, headers),
        VerdictKind::Queue => queue(seen, base, verdict, headers),
        VerdictKind::Window | VerdictKind::ReceiveWindow | VerdictKind::SendBuffer => {
            vec![window(base, verdict, OPEN_LINK_FACTOR * sum * 1e6 * headers)]
        }
        _ => {
            let mut all = each_kind(seen, base, base.rate.max(sum * 1e6) * headers);
            all.extend(random_loss(seen, base, OPEN_LINK_FACTOR * base.rate.max(sum * 1e6) * headers));
            all
        }
    }
}

/// The path with a link that does not limit.
fn open(base: &FittedPath, rate: f64) -> FittedPath {
    let free = base.free.iter().copied().filter(|(p, _)| !is_loss(*p)).collect();
    let line = FittedPath { rate, is_open: true, limiter: FittedLimiter::Link, free, ..base.clone() };
    FittedPath { queue: line.bdp().max(100.0 * FULL_PACKET), ..line }
}

/// The path with a window that limits.
fn window(base: &FittedPath, verdict: &SummaryVerdict, rate: f64) -> FittedPath {
    let mut path = open(base, rate);
    let Some(bytes) = verdict.window_bytes else { return path };
    let (parameter, bytes) = match verdict.kind {
        // Half of it is the kernel's own bookkeeping.
        VerdictKind::SendBuffer => (FitParameter::SendBuffer, 2.0 * bytes),
        _ => (FitParameter::Window, bytes),
    };
    path = path.with(parameter, bytes);
    path.free.retain(|(p, _)| *p != parameter);
    path.free.push((parameter, if parameter == FitParameter::Window { WINDOW_STDERR } else { 0.5 }));
    path
}

/// The path with random loss on a link that does not limit.
fn random_loss(seen: &ObservedPath, base: &FittedPath, rate: f64) -> Option<FittedPath> {
    let first = seen.flows.iter().find(|f| !f.backward)?;
    let loss = Some(first.resent()).filter(|share| *share > 0.0)?;
    let mut path = FittedPath { loss, ..open(base, rate) };
    path.free.push((FitParameter::Loss, LOSS_STDERR));
    Some(path)
}

/// The middle of a range, and half its width as a logarithm, no less than `least`.
fn middle([low, high]: [f64; 2], least: f64) -> (f64, f64) {
    ((low * high).sqrt(), ((high / low).ln() / 2.0).max(least))
}

/// Number of intervals of a capture, and their least length in round trips and seconds.
const CAPTURE_BINS: f64 = 40.0;
const BIN_ROUND_TRIPS: f64 = 4.0;
const MIN_BIN_S: f64 = 0.1;

/// Limiters with a bucket that was full at first, from the rates of a capture over time: the limiter's rate
/// is the one after the bucket is empty.
pub fn of_capture(seen: &ObservedPath, base: &FittedPath) -> Vec<FittedPath> {
    let flows: Vec<FlowSeries> =
        seen.flows.iter().filter(|f| !f.backward).filter_map(|f| series_of(seen, f)).collect();
    let series = SummarySeries { counts_arrivals: true, flows, ..SummarySeries::default() }.ordered();
    let verdict = SummaryVerdict::of(&series);
    if verdict.kind != VerdictKind::Bucket {
        return Vec::new();
    }
    let payload = seen.flows.first().map_or(1448.0, |f| f64::from(f.flow.measures.mss_bytes.max(100)));
    let named = seen.limiter.as_ref().map(|l| l.kind);
    let mut all = bucket(seen, base, &verdict, (payload + 52.0) / payload);
    for path in &mut all {
        let kind =
            if path.limiter == FittedLimiter::Policer { LimiterKind::Policer } else { LimiterKind::Shaper };
        path.handicap = if named == Some(kind) { 0.0 } else { rarity(named, kind) };
    }
    all
}

/// The series of a captured flow.
fn series_of(seen: &ObservedPath, f: &ObservedFlow) -> Option<FlowSeries> {
    let m = &f.flow.measures;
    let first = f.facts.packets.first()?.time;
    let width = (seen.span_s / CAPTURE_BINS).max(BIN_ROUND_TRIPS * m.rtt_ms.min / 1e3).max(MIN_BIN_S);
    let count = (f.flow.duration_s / width).floor() as usize;
    let begin = f.flow.start_s - seen.start_s;
    let interval = |i: usize| SeriesInterval {
        start_s: begin + i as f64 * width,
        end_s: begin + (i + 1) as f64 * width,
        retransmits: Some(0.0),
        cwnd_bytes: Some(m.max_inflight_bytes as f64),
        ..SeriesInterval::default()
    };
    let mut intervals: Vec<SeriesInterval> = (0..count).map(interval).collect();
    for p in f.facts.packets.iter() {
        let Some(bin) = intervals.get_mut((p.time.since(first).as_secs_f64() / width) as usize) else {
            break;
        };
        bin.bytes += if p.fate == PacketFate::Passed { f64::from(p.payload) } else { 0.0 };
        bin.retransmits = bin.retransmits.map(|r| r + f64::from(u8::from(p.again)));
        bin.rtt_s = p.rtt.get().map(|rtt| rtt.as_secs_f64()).or(bin.rtt_s);
    }
    let min_rtt_s = Some(m.rtt_ms.min / 1e3).filter(|r| *r > 0.0);
    Some(FlowSeries { mss: Some(f64::from(m.mss_bytes)), min_rtt_s, intervals, ..FlowSeries::default() })
}

/// Limiters with a bucket that was full at first.
fn bucket(seen: &ObservedPath, base: &FittedPath, verdict: &SummaryVerdict, headers: f64) -> Vec<FittedPath> {
    let (Some(rates), Some(buckets)) = (verdict.rate_mbps, verdict.bucket_bytes) else { return Vec::new() };
    let ((rate, rate_known), (bytes, bucket_known)) = (middle(rates, 0.01), middle(buckets, 0.02));
    let hosts = if seen.host_rate().is_some() { OPEN_LINK_FACTOR } else { 1.0 };
    let fast = verdict.fast_bps.unwrap_or(8.0 * rate * 1e6) * headers * hosts;
    let limiter =
        Limiter { rate_mbps: rate, burst_bytes: Some(bytes), lost_share: 0.01, ..Limiter::default() };
    let path = |kind: LimiterKind| {
        let base = FittedPath { rate: rate * 1e6, access: Some(fast), ..base.clone() };
        let mut path = of_kind(seen, &base, &limiter, kind);
        path.bucket = bytes;
        for (parameter, sure) in &mut path.free {
            match parameter {
                FitParameter::Rate => *sure = rate_known,
                FitParameter::Bucket => *sure = bucket_known,
                _ => {}
            }
        }
        if kind == LimiterKind::Policer {
            path.free.push((FitParameter::Access, LINE_BEFORE_STDERR));
        }
        not_overflown(seen, path)
    };
    let mut kinds = vec![LimiterKind::Shaper, LimiterKind::Policer];
    kinds.retain(|k| verdict.delays.is_none_or(|delays| delays == (*k == LimiterKind::Shaper)));
    kinds.into_iter().map(path).collect()
}

/// A link or a shaper with a full queue.
fn queue(seen: &ObservedPath, base: &FittedPath, verdict: &SummaryVerdict, headers: f64) -> Vec<FittedPath> {
    let Some((rate, known)) = verdict.rate_mbps.map(|r| middle(r, EVEN_RATE_STDERR)) else {
        return Vec::new();
    };
    let mut all = each_kind(seen, base, rate * 1e6 * headers);
    // The rate is known, so starting points at other rates are dropped.
    all.retain(|p| p.limiter != FittedLimiter::Policer && p.rate == rate * 1e6 * headers);
    let mut kinds = Vec::new();
    all.retain(|p| {
        !kinds.contains(&p.limiter) && {
            kinds.push(p.limiter);
            true
        }
    });
    for path in &mut all {
        for (_, sure) in path.free.iter_mut().filter(|(p, _)| *p == FitParameter::Rate) {
            *sure = known;
        }
        *path = not_overflown(seen, path.clone());
    }
    all
}

/// The path with a window instead of an overflowing queue if nothing was sent again: the window ended in the
/// queue.
fn not_overflown(seen: &ObservedPath, mut path: FittedPath) -> FittedPath {
    let forward = || seen.flows.iter().filter(|f| !f.backward);
    if path.limiter == FittedLimiter::Policer || forward().any(|f| f.flow.measures.retransmitted_packets > 0)
    {
        return path;
    }
    let rtt = forward().map(|f| f.flow.measures.rtt_ms.max / 1e3).fold(path.rtt, f64::max);
    let flows = forward().count().max(1) as f64;
    path = path.with(FitParameter::Window, path.rate * rtt / 8.0 / flows);
    path.queue = path.queue.max(2.0 * flows * path.window.unwrap_or(0.0));
    path.free.retain(|(p, _)| ![FitParameter::Queue, FitParameter::Window].contains(p));
    path.free.push((FitParameter::Window, WINDOW_STDERR));
    path
}

/// Each kind of limiter, at the greatest rate of the flows.
fn each_kind(seen: &ObservedPath, base: &FittedPath, most: f64) -> Vec<FittedPath> {
    let limiter = Limiter { rate_mbps: most / 1e6, lost_share: 0.01, ..Limiter::default() };
    let rtt = seen.flows.first().map(|f| f.flow.measures.rtt_ms).unwrap_or_default();
    let queue = ((rtt.max - rtt.min) / 1e3 * most / 8.0).max(10.0 * FULL_PACKET);
    let base = FittedPath { rate: most, queue, ..base.clone() };
    // A policer that drops nothing does not limit.
    let lost = seen.flows.iter().any(|f| f.flow.measures.retransmitted_packets > 0);
    let mut all = Vec::new();
    for kind in [LimiterKind::Bottleneck, LimiterKind::Policer, LimiterKind::Shaper] {
        // A shaper without a queue is a policer.
        let waits = seen.verdict.as_ref().is_none_or(|v| v.delays != Some(false));
        if kind == LimiterKind::Policer && !lost || kind == LimiterKind::Shaper && !waits {
            continue;
        }
        let mut path = of_kind(seen, &base, &limiter, kind);
        path.handicap = rarity_of_all(kind);
        if !lost {
            // The queue was never full.
            path.queue = path.queue.max(path.bdp() + path.window.unwrap_or(0.0));
            path.free.retain(|(p, _)| *p != FitParameter::Queue);
        }
        for (parameter, sure) in &mut path.free {
            *sure = if *parameter == FitParameter::Rtt { 0.05 } else { sure.max(SEEN_RATE_STDERR) };
        }
        let begins = if kind != LimiterKind::Bottleneck && lost { &STARTS[..] } else { &[] };
        all.extend(begins.iter().map(|&(times, share)| {
            let faster = path.with(FitParameter::Rate, path.rate * times);
            let handicap = path.handicap + (times.ln() / SEEN_RATE_STDERR).powi(2);
            FittedPath { handicap, ..faster.with(FitParameter::Bucket, share * faster.bdp()) }
        }));
        all.push(path);
    }
    all
}
