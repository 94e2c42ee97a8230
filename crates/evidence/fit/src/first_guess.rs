//! From the diagnosis to paths that may be the true one.

mod summary_guess;

use crate::cross::{CrossSpan, cross};
use crate::observed::{BUCKET_KNOWN, ObservedPath, ProposedBucket, RATE_KNOWN};
use crate::path_model::{
    A_NUMBER, FULL_PACKET, FitParameter, FittedLimiter, FittedPath, FittedQueue, PolicerScope,
};
use crate::policers;
use crate::signature::{CameThrough, SignatureFrame};
use result::Cause;
use result::diagnosis::{Limiter, LimiterKind};

/// How often a shaper refills its bucket steadily, about: Linux does (tc-tbf(8), tc-htb(8)), Cisco IOS does each Tc.
const STEADY: f64 = 0.7;
/// How often a queue that the diagnosis says is managed is: of 38 flows of three drawn sets 36 (docs/diagnosis-accuracy.md has it anew).
const MANAGED: f64 = 36.0 / 38.0;
/// How well the spacing of a burst tells a line's rate.
const LINE_KNOWN: f64 = 0.02;
/// How well a train of packets tells a line's rate.
const TRAIN_KNOWN: f64 = 0.15;
/// How well rate and bucket are known that losses propose and no verdict names.
const PROPOSED: f64 = 0.1;
/// How well a queue is known of which the diagnosis says nothing.
const UNKNOWN: f64 = 1.5;
/// A queue in which nobody waits long, packets.
const SHORT_QUEUE: f64 = 10.0;
/// Share of the time from which on a cause is played.
const PLAYED: f64 = 0.1;

/// Paths that may be the true one, the likeliest first.
pub fn guesses(seen: &ObservedPath, listening: Option<&SignatureFrame>) -> Vec<FittedPath> {
    let base = base(seen);
    if seen.summary {
        return summary_guess::of_summary(seen, &base);
    }
    let flows: Vec<_> = seen.flows.iter().filter(|f| !f.backward).map(|f| &f.facts.packets[..]).collect();
    let curve = listening.and_then(|frame| CameThrough::of(&flows, frame));
    let mut all = match &seen.limiter {
        Some(limiter) if seen.policers.len() < 2 => named(seen, &base, limiter, curve.as_ref()),
        Some(limiter) => several(seen, &base, limiter, curve.as_ref()),
        None => open(seen, &base),
    };
    if let Some(curve) = curve {
        let lost = seen.flows.iter().any(|f| f.flow.measures.lost_up + f.flow.measures.lost_down > 0);
        if lost {
            let handicap = rarity(seen.limiter.as_ref().map(|l| l.kind), LimiterKind::Bottleneck);
            let short = short_queue(seen, &base, &curve);
            all.push(FittedPath { handicap, ..short });
        }
        if seen.limiter.is_none() {
            unnamed(seen, &base, &curve, lost, &mut all);
            all.extend(proposed(seen, &base));
        }
    }
    all.extend(summary_guess::of_capture(seen, &base));
    // Others begin while the flows are played.
    let played = listening.map(|frame| SignatureFrame { seconds: frame.seconds.min(seen.span_s), ..*frame });
    if let Some((rate, spans)) = played.and_then(|frame| cross(&flows, &frame)) {
        all.push(shared(seen, &base, rate, spans));
    }
    all
}

/// Twice the logarithm of how much less likely what holds with `sure` makes its contrary.
fn odds(sure: f64) -> f64 {
    2.0 * (sure / (1.0 - sure)).ln()
}

/// 200 drawn cases by what the diagnosis named (nothing, a line, a policer, a shaper) and what was true (a line, a policer, a shaper),
/// half a case more each, so that none is impossible.
const CASES: [[f64; 3]; 4] = [[37.5, 7.5, 0.5], [58.5, 3.5, 12.5], [2.5, 58.5, 0.5], [2.5, 2.5, 19.5]];

/// The column of a kind.
fn column(kind: LimiterKind) -> usize {
    match kind {
        LimiterKind::Bottleneck => 0,
        LimiterKind::Policer => 1,
        LimiterKind::Shaper => 2,
    }
}

/// What a kind costs beside the one that the diagnosis names: twice the logarithm of how much rarer it is true.
fn rarity(named: Option<LimiterKind>, kind: LimiterKind) -> f64 {
    let cases = CASES[named.map_or(0, |k| column(k) + 1)];
    let first = column(named.unwrap_or(LimiterKind::Bottleneck));
    2.0 * (cases[first] / cases[column(kind)]).ln()
}

/// The limiter that the diagnosis names, and the other kinds at its rate.
fn named(
    seen: &ObservedPath,
    base: &FittedPath,
    limiter: &Limiter,
    curve: Option<&CameThrough>,
) -> Vec<FittedPath> {
    let mut all = vec![of_kind(seen, base, limiter, limiter.kind)];
    let plain = of_kind(seen, base, limiter, LimiterKind::Bottleneck);
    if limiter.kind != LimiterKind::Policer {
        for queue_kind in [FittedQueue::CoDel, FittedQueue::FqCoDel] {
            let free = plain.free.iter().copied().filter(|(p, _)| *p != FitParameter::Queue).collect();
            let handicap = if limiter.aqm.is_some() { 0.0 } else { 2.0 };
            all.push(FittedPath { queue_kind, free, handicap, ..plain.clone() });
        }
        if limiter.aqm.is_some() {
            all[0].handicap += odds(MANAGED);
        }
    }
    for kind in [LimiterKind::Policer, LimiterKind::Shaper, LimiterKind::Bottleneck] {
        if kind == limiter.kind {
            continue;
        }
        let mut other = of_kind(seen, base, limiter, kind);
        if let Some(curve) = curve {
            other.bucket = curve.bucket(other.rate / 8.0).max(4.0 * FULL_PACKET);
        }
        let handicap = rarity(Some(limiter.kind), kind);
        all.push(FittedPath { handicap: handicap + other.handicap, ..other });
    }
    let shapers = all.iter().filter(|p| p.limiter == FittedLimiter::Shaper);
    let at_once: Vec<FittedPath> = shapers.map(at_once).collect();
    all.extend(at_once);
    // What loses packets may be all of its own.
    let lossy = all.iter().filter(|p| p.loss > 0.0 && p.queue_kind == FittedQueue::Fifo);
    let alone: Vec<FittedPath> = lossy.map(without_loss).collect();
    all.extend(alone);
    all
}

/// Several policers, and each kind as one limiter of them all.
fn several(
    seen: &ObservedPath,
    base: &FittedPath,
    first: &Limiter,
    curve: Option<&CameThrough>,
) -> Vec<FittedPath> {
    let sum: f64 = seen.policers.iter().map(|l| l.rate_mbps * 1e6).sum();
    let base = FittedPath { access: 8.0 * sum, ..base.clone() };
    let each = of_kind(seen, &base, first, LimiterKind::Policer);
    let mut all = vec![FittedPath { scope: policers::scope(seen), ..each }];
    let joint = Limiter { rate_mbps: sum / 1e6, rate_range_mbps: None, burst_bytes: None, ..first.clone() };
    let base = FittedPath { rate: sum, ..base };
    for kind in [LimiterKind::Policer, LimiterKind::Shaper, LimiterKind::Bottleneck] {
        let mut other = of_kind(seen, &base, &joint, kind);
        if let Some(curve) = curve {
            other.bucket = curve.bucket(other.rate / 8.0).max(4.0 * FULL_PACKET);
        }
        // One policer of all was refuted as another kind is.
        let rare = if kind == LimiterKind::Policer { LimiterKind::Shaper } else { kind };
        other.handicap = rarity(Some(first.kind), rare);
        all.push(other);
    }
    all
}

/// The same shaper, its bucket refilled all at once.
fn at_once(path: &FittedPath) -> FittedPath {
    FittedPath { refilled_at_once: true, handicap: path.handicap + odds(STEADY), ..path.clone() }
}

/// The same path without random loss.
fn without_loss(path: &FittedPath) -> FittedPath {
    let free = path.free.iter().copied().filter(|(p, _)| !is_loss(*p)).collect();
    FittedPath { loss: 0.0, loss_run: 1.0, free, ..path.clone() }
}

/// Where the diagnosis names no limiter, a policer may all the same be what loses packets, and its bucket hide it.
fn unnamed(
    seen: &ObservedPath,
    base: &FittedPath,
    curve: &CameThrough,
    lost: bool,
    all: &mut Vec<FittedPath>,
) {
    let limiter = Limiter { rate_mbps: curve.rate * 8e-6, lost_share: 0.01, ..Limiter::default() };
    let slow = FittedPath { rate: curve.rate * 8.0, access: curve.rate * 64.0, ..without_loss(base) };
    let kinds = [LimiterKind::Policer, LimiterKind::Shaper, LimiterKind::Bottleneck];
    for kind in kinds.into_iter().filter(|k| *k != LimiterKind::Policer || lost) {
        let mut path = of_kind(seen, &slow, &limiter, kind);
        path.bucket = curve.bucket(curve.rate).max(4.0 * FULL_PACKET);
        for (parameter, sure) in &mut path.free {
            if matches!(parameter, FitParameter::Rate | FitParameter::Bucket) {
                *sure = if *parameter == FitParameter::Rate { 0.1 } else { 1.0 };
            }
        }
        path.handicap = rarity(None, kind);
        all.push(path);
    }
    for queue_kind in [FittedQueue::CoDel, FittedQueue::FqCoDel] {
        let mut path = of_kind(seen, &slow, &limiter, LimiterKind::Bottleneck);
        path.free.retain(|(p, _)| *p != FitParameter::Queue);
        all.push(FittedPath { queue_kind, handicap: 2.0, ..path });
    }
}

/// What the losses alone propose: a policer, or a line whose queue is as short as its bucket.
fn proposed(seen: &ObservedPath, base: &FittedPath) -> Vec<FittedPath> {
    let buckets = seen.flows.iter().flat_map(|f| &f.facts.buckets);
    let of = |bucket: &ProposedBucket| {
        let line = FittedPath { rate: bucket.rate, access: 8.0 * bucket.rate, ..without_loss(base) };
        let limiter = Limiter {
            rate_mbps: bucket.rate / 1e6,
            lost_share: 0.01,
            burst_bytes: Some(bucket.bytes),
            ..Limiter::default()
        };
        [LimiterKind::Policer, LimiterKind::Bottleneck].map(|kind| {
            let mut path = of_kind(seen, &line, &limiter, kind);
            if kind == LimiterKind::Bottleneck {
                path.queue = bucket.bytes;
            }
            for (parameter, sure) in &mut path.free {
                match parameter {
                    FitParameter::Rate => *sure = bucket.rate_open.max(PROPOSED),
                    FitParameter::Bucket | FitParameter::Queue => *sure = PROPOSED.max(bucket.rate_open),
                    _ => {}
                }
            }
            FittedPath { handicap: rarity(None, kind), ..path }
        })
    };
    buckets.flat_map(of).collect()
}

/// A line on which others come and go.
fn shared(seen: &ObservedPath, base: &FittedPath, rate: f64, cross: Vec<CrossSpan>) -> FittedPath {
    let whole = FittedPath { rate, access: 8.0 * rate, ..base.clone() };
    let limiter = seen.limiter.clone().unwrap_or_default();
    let limiter = Limiter { rate_mbps: rate / 1e6, rate_range_mbps: None, ..limiter };
    let mut path = of_kind(seen, &whole, &limiter, LimiterKind::Bottleneck);
    for (_, sure) in path.free.iter_mut().filter(|(p, _)| *p == FitParameter::Rate) {
        *sure = 0.03;
    }
    // Two ends and a rate each.
    path.handicap = A_NUMBER * 3.0 * cross.len() as f64;
    FittedPath { cross, ..path }
}

/// A line with a queue of a few packets, in which nobody waits long.
fn short_queue(seen: &ObservedPath, base: &FittedPath, curve: &CameThrough) -> FittedPath {
    let rate = curve.train * 8.0;
    let limiter = Limiter { rate_mbps: rate / 1e6, lost_share: 0.01, ..Limiter::default() };
    let line = FittedPath { rate, access: 8.0 * rate, ..without_loss(base) };
    let mut path = of_kind(seen, &line, &limiter, LimiterKind::Bottleneck);
    path.queue = SHORT_QUEUE * FULL_PACKET;
    for (_, sure) in path.free.iter_mut().filter(|(p, _)| *p == FitParameter::Rate) {
        *sure = TRAIN_KNOWN;
    }
    path
}

fn is_loss(parameter: FitParameter) -> bool {
    matches!(parameter, FitParameter::Loss | FitParameter::LossRun)
}

/// What all guesses have in common: round trip, losses, windows.
fn base(seen: &ObservedPath) -> FittedPath {
    let rate = seen.limiter.as_ref().map(|l| l.rate_mbps * 1e6).filter(|r| *r > 0.0);
    let delivery: f64 =
        seen.flows.iter().map(|f| f.flow.measures.max_delivery_mbps * 1e6).fold(0.0, f64::max);
    let rate = rate.unwrap_or(delivery.max(1e4) * 1.3);
    let mut path = FittedPath {
        limiter: FittedLimiter::Link,
        queue_kind: FittedQueue::Fifo,
        rate,
        bucket: 2.0 * FULL_PACKET,
        refilled_at_once: false,
        queue: 0.0,
        access: rate * 8.0,
        rtt: base_rtt(seen, rate),
        loss: 0.0,
        loss_run: 1.0,
        jitter: 0.0,
        send_buffer: None,
        window: None,
        scope: PolicerScope::All,
        cross: Vec::new(),
        is_open: false,
        free: vec![(FitParameter::Rtt, 0.01)],
        handicap: 0.0,
    };
    path.queue = path.bdp().max(30.0 * FULL_PACKET);
    losses(seen, &mut path);
    windows(seen, &mut path);
    path
}

/// The least round trip that the empty path has, seconds.
fn base_rtt(seen: &ObservedPath, rate: f64) -> f64 {
    let full = FULL_PACKET * 8.0 / rate;
    let of = |f: &crate::ObservedFlow| {
        let m = &f.flow.measures;
        let data = (m.rtt_ms.min / 1e3 - full).max(m.rtt_ms.min / 2e3);
        m.handshake_rtt_ms.filter(|h| *h > 0.0).map_or(data, |h| data.min(h / 1e3))
    };
    seen.flows.iter().map(of).fold(f64::INFINITY, f64::min).max(1e-5)
}

/// Losses that no limiter explains.
fn losses(seen: &ObservedPath, path: &mut FittedPath) {
    if seen.share(Cause::RandomLoss) < PLAYED {
        return;
    }
    let forward = seen.flows.iter().filter(|f| !f.backward);
    let (mut lost, mut packets, mut runs) = (0.0, 0.0, 0.0);
    for f in forward {
        let m = &f.flow.measures;
        let n = (m.lost_up + m.lost_down) as f64;
        lost += n;
        runs += n / f.facts.loss_run.max(1.0);
        packets += m.data_packets as f64;
    }
    if lost < 1.0 || packets < 1.0 {
        return;
    }
    path.loss = lost / packets;
    path.loss_run = (lost / runs.max(1e-9)).max(1.0);
    path.free.push((FitParameter::Loss, (1.0 / lost).sqrt().clamp(0.05, 0.5)));
    if lost > 10.0 {
        path.free.push((FitParameter::LossRun, 0.3));
    }
}

/// Windows that limit.
fn windows(seen: &ObservedPath, path: &mut FittedPath) {
    let Some(first) = seen.flows.first() else { return };
    let m = &first.flow.measures;
    if seen.share(Cause::SendBuffer) >= PLAYED {
        // Half of it is the kernel's own bookkeeping.
        path.send_buffer = Some(2.0 * m.max_inflight_bytes as f64);
        path.free.push((FitParameter::SendBuffer, 0.5));
    }
    if seen.share(Cause::ReceiveWindow) >= PLAYED {
        let window = m.max_window_bytes.unwrap_or(m.max_inflight_bytes);
        path.window = Some(window as f64);
        path.free.push((FitParameter::Window, 0.05));
    }
}

/// A path with this limiter, as a kind.
fn of_kind(seen: &ObservedPath, base: &FittedPath, l: &Limiter, kind: LimiterKind) -> FittedPath {
    let mut path = base.clone();
    let same = kind == l.kind;
    let wide = l.rate_range_mbps.map(|[low, high]| ((high / low).ln() / 2.0).max(0.01));
    path.free.push((FitParameter::Rate, wide.unwrap_or(if same { RATE_KNOWN } else { 0.03 })));
    let bucket = l.burst_bytes.filter(|b| *b > 0.0);
    let bucket_sure = if same && bucket.is_some() { BUCKET_KNOWN } else { 1.0 };
    let queue = l.queue_bytes.filter(|q| *q > 0.0);
    match kind {
        LimiterKind::Policer => {
            path.limiter = FittedLimiter::Policer;
            path.bucket = bucket.unwrap_or(path.rate / 32.0);
            path.free.push((FitParameter::Bucket, bucket_sure));
            path.free.push((FitParameter::Access, 1.0));
        }
        LimiterKind::Shaper => {
            path.limiter = FittedLimiter::Shaper;
            path.bucket = bucket.unwrap_or(10.0 * FULL_PACKET);
            path.free.push((FitParameter::Bucket, bucket_sure));
        }
        LimiterKind::Bottleneck => path.limiter = FittedLimiter::Link,
    }
    if kind != LimiterKind::Policer {
        // A queue that overflowed is known; one that did not is as long as it was seen at least.
        let full = l.lost_share > 0.0 || seen.share(Cause::Congestion) > 0.02;
        let longest = seen.flows.iter().map(|f| f.flow.measures.rtt_ms.max / 1e3).fold(0.0, f64::max);
        let waited = (longest - path.rtt).max(0.0) * path.rate / 8.0;
        let (bytes, sure) = match queue {
            Some(q) if full => (q, 0.2),
            Some(q) => (q.max(path.bdp()), 1.0),
            None => (waited.max(SHORT_QUEUE * FULL_PACKET), UNKNOWN),
        };
        path.queue = bytes.max(4.0 * FULL_PACKET);
        if l.fair_queue {
            path.queue_kind = FittedQueue::Fair;
        }
        path.free.push((FitParameter::Queue, sure));
    }
    path
}

/// Paths without a limiter that shows: a line that is never full for long, whose losses are its short queue's or none of its own.
fn open(seen: &ObservedPath, base: &FittedPath) -> Vec<FittedPath> {
    let line = seen.flows.iter().filter(|f| !f.backward).filter_map(|f| f.facts.line_rate);
    // Packets of others are between those of one of several flows.
    let line = line.reduce(f64::max);
    let mut path = base.clone();
    path.rate = line.unwrap_or(path.rate);
    path.access = 8.0 * path.rate;
    path.free.push((FitParameter::Rate, if line.is_some() { LINE_KNOWN } else { 1.0 }));
    if line.is_none() {
        if seen.share(Cause::Congestion) + seen.share(Cause::Bottleneck) >= PLAYED {
            path.free.push((FitParameter::Queue, 1.0));
        }
        return vec![path];
    }
    path.queue = path.bdp().max(30.0 * FULL_PACKET);
    let longest = seen.flows.iter().map(|f| f.flow.measures.rtt_ms.max / 1e3).fold(0.0, f64::max);
    let queue = ((longest - path.rtt).max(0.0) * path.rate / 8.0).clamp(2.0 * FULL_PACKET, path.queue);
    let mut short = FittedPath { queue, ..without_loss(&path) };
    short.free.push((FitParameter::Queue, 1.0));
    if path.loss > 0.0 { vec![path, short] } else { vec![short] }
}
