//! First guesses: from the diagnosis to candidate paths.

mod summary_guess;

use crate::cross::{CrossSpan, cross};
use crate::observed::{BUCKET_STDERR, ObservedPath, ProposedBucket, RATE_STDERR};
use crate::path_model::{
    FULL_PACKET, FitParameter, FittedLimiter, FittedPath, FittedQueue, MAX_LOSS_RUN, PolicerScope,
};
use crate::policers;
use crate::signature::{CameThrough, SignatureFrame, known_rtt};
use result::Cause;
use result::diagnosis::{Limiter, LimiterKind};
use track::{LoggedPacket, PacketFate};

/// Rough share of shapers that refill their bucket continuously: Linux does (tc-tbf(8), tc-htb(8)), Cisco IOS
/// refills each Tc.
const CONTINUOUS_REFILL: f64 = 0.7;
/// Share of queues that are managed where the diagnosis says so: 36 of 38 flows of three drawn sets
/// (docs/measured/diagnosis-accuracy.md measures it again).
const MANAGED_QUEUE_SHARE: f64 = 36.0 / 38.0;
// Standard deviations of the logarithm of a first guess:
/// A link's rate from the spacing of a burst.
const BURST_RATE_STDERR: f64 = 0.02;
/// A link's rate from trains of packets.
const TRAIN_RATE_STDERR: f64 = 0.15;
/// Rate and bucket that losses propose without a verdict.
const PROPOSED_STDERR: f64 = 0.1;
/// A queue that the diagnosis does not mention.
const UNKNOWN_QUEUE_STDERR: f64 = 1.5;
/// A queue too short for long waits, packets.
const SHORT_QUEUE: f64 = 10.0;
/// A range of rates whose ends differ by more than this factor is searched from [`RATE_STARTS`] rates, up to
/// `MAX_RATE_RATIO` times its low end.
const OPEN_RATE_RATIO: f64 = 1.5;
const MAX_RATE_RATIO: f64 = 10.0;
const RATE_STARTS: u32 = 6;
/// Trains of packets that are faster than the limiter by less than this factor show no further line.
const FASTER_LINE: f64 = 1.2;
/// Least share of the time of a cause that the scenario reproduces.
const MIN_CAUSE_SHARE: f64 = 0.1;

/// Candidate paths, the one of the diagnosis first.
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
    let measured = |path: &FittedPath| {
        let exact = |l: &Limiter| l.burst_bytes.is_some() && fitted_limiter(l.kind) == path.limiter;
        seen.limiter.as_ref().is_some_and(exact)
    };
    all.extend(summary_guess::of_capture(seen, &base).into_iter().filter(|path| !measured(path)));
    // Cross traffic is searched only in the time that is simulated.
    let played = listening.map(|frame| SignatureFrame { seconds: frame.seconds.min(seen.span_s), ..*frame });
    if let Some((rate, spans)) = played.and_then(|frame| cross(&flows, &frame)) {
        all.push(shared(seen, &base, rate, spans));
    }
    let named = seen.limiter.as_ref().map(|l| fitted_limiter(l.kind));
    let may_have_line = |p: &&FittedPath| {
        p.limiter == FittedLimiter::Policer || p.limiter == FittedLimiter::Shaper && named == Some(p.limiter)
    };
    let buckets = all
        .iter()
        .filter(|p| p.access.is_none() && !p.refilled_at_once && !has_open_rate(p))
        .filter(may_have_line);
    let with_lines: Vec<FittedPath> = buckets.flat_map(|p| with_line(p, curve.as_ref())).collect();
    all.extend(with_lines);
    all.into_iter().map(hold_measured).collect()
}

/// Fixes the numbers that single packets show for any limiter: the base round trip, and the losses outside of
/// the limiter.
fn hold_measured(path: FittedPath) -> FittedPath {
    path.hold(|p| p == FitParameter::Rtt || is_loss(p))
}

/// Fixes the rate and the bucket that the diagnosis states for this limiter.
fn hold_stated(path: FittedPath, limiter: &Limiter) -> FittedPath {
    path.hold(|p| match p {
        FitParameter::Rate => limiter.rate_range_mbps.is_none(),
        FitParameter::Bucket => limiter.burst_bytes.is_some(),
        _ => false,
    })
}

/// The path with a line before its limiter, and with one behind it; at the rate of trains of packets where
/// that is faster than the limiter.
fn with_line(path: &FittedPath, curve: Option<&CameThrough>) -> [FittedPath; 2] {
    let train = curve.map_or(0.0, |c| 8.0 * c.train);
    let rate = if train > FASTER_LINE * path.rate { train } else { 8.0 * path.rate };
    let mut path = path.with(FitParameter::Access, rate);
    path.free.push((FitParameter::Access, 1.0));
    [false, true].map(|is_line_behind| FittedPath { is_line_behind, ..path.clone() })
}

/// Whether the path is one of several starts over an open rate.
fn has_open_rate(path: &FittedPath) -> bool {
    path.open_rate.is_some_and(|[low, high]| high / low > OPEN_RATE_RATIO)
}

/// Starts of the search for a policer whose rate the losses leave open: the path at rates spread over the
/// range. Goodput does not depend smoothly on the rate there, so a search from one start ends near that
/// start.
fn over_range(path: FittedPath, limiter: &Limiter) -> Vec<FittedPath> {
    let range = limiter.rate_range_mbps.filter(|_| limiter.kind == LimiterKind::Policer);
    let Some([low, high]) = range else { return vec![path] };
    let path = FittedPath { open_rate: Some([1e6 * low, 1e6 * high]), ..path };
    if !has_open_rate(&path) {
        return vec![path];
    }
    let step = (high / low).min(MAX_RATE_RATIO).ln() / f64::from(RATE_STARTS - 1);
    let start = |i: u32| {
        let mut path = path.with(FitParameter::Rate, 1e6 * low * (step * f64::from(i)).exp());
        path.free.iter_mut().filter(|n| n.0 == FitParameter::Rate).for_each(|n| n.1 = step / 2.0);
        path
    };
    (0..RATE_STARTS).map(start).collect()
}

fn fitted_limiter(kind: LimiterKind) -> FittedLimiter {
    match kind {
        LimiterKind::Policer => FittedLimiter::Policer,
        LimiterKind::Shaper => FittedLimiter::Shaper,
        LimiterKind::Bottleneck => FittedLimiter::Link,
    }
}

/// Cost of rejecting a statement that holds with probability `sure`: twice the logarithm of the odds.
fn odds(sure: f64) -> f64 {
    2.0 * (sure / (1.0 - sure)).ln()
}

/// 200 drawn cases by the limiter of the diagnosis (rows: none, link, policer, shaper) and the true one
/// (columns: link, policer, shaper), with half a case added to each so that none is impossible.
const CASE_COUNTS: [[f64; 3]; 4] = [[37.5, 7.5, 0.5], [58.5, 3.5, 12.5], [2.5, 58.5, 0.5], [2.5, 2.5, 19.5]];

/// The column of a kind in [`CASE_COUNTS`].
fn column(kind: LimiterKind) -> usize {
    match kind {
        LimiterKind::Bottleneck => 0,
        LimiterKind::Policer => 1,
        LimiterKind::Shaper => 2,
    }
}

/// Cost of a kind compared with the one that the diagnosis names: twice the logarithm of the factor by which
/// it is more rarely true.
fn rarity(named: Option<LimiterKind>, kind: LimiterKind) -> f64 {
    let cases = CASE_COUNTS[named.map_or(0, |k| column(k) + 1)];
    let first = column(named.unwrap_or(LimiterKind::Bottleneck));
    2.0 * (cases[first] / cases[column(kind)]).ln()
}

/// Cost of a shaper's bucket that the diagnosis does not name: a link has the same queue without it.
fn unnamed_bucket(seen: &ObservedPath, kind: LimiterKind) -> f64 {
    if kind == LimiterKind::Shaper { seen.schwarz(seen.span_s) } else { 0.0 }
}

/// The limiter that the diagnosis names, and the other kinds of limiter at its rate.
fn named(
    seen: &ObservedPath,
    base: &FittedPath,
    limiter: &Limiter,
    curve: Option<&CameThrough>,
) -> Vec<FittedPath> {
    let mut all = over_range(of_kind(seen, base, limiter, limiter.kind), limiter);
    let plain = of_kind(seen, base, limiter, LimiterKind::Bottleneck);
    if limiter.kind != LimiterKind::Policer {
        for queue_kind in [FittedQueue::CoDel, FittedQueue::FqCoDel] {
            let free = plain.free.iter().copied().filter(|(p, _)| *p != FitParameter::Queue).collect();
            let handicap = if limiter.aqm.is_some() { 0.0 } else { 2.0 };
            let managed = FittedPath { queue_kind, free, handicap, ..plain.clone() };
            all.push(without_loss(&managed));
        }
        if limiter.aqm.is_some() {
            all[0].handicap += odds(MANAGED_QUEUE_SHARE);
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
        let handicap = rarity(Some(limiter.kind), kind) + unnamed_bucket(seen, kind);
        all.push(FittedPath { handicap: handicap + other.handicap, ..other });
    }
    let shapers = all.iter().filter(|p| p.limiter == FittedLimiter::Shaper);
    let at_once: Vec<FittedPath> = shapers.map(|p| at_once(&without_loss(p))).collect();
    all.extend(at_once);
    // The limiter may have dropped all lost packets.
    let lossy = all.iter().filter(|p| p.loss > 0.0 && p.queue_kind == FittedQueue::Fifo);
    let alone: Vec<FittedPath> = lossy.map(without_loss).collect();
    all.extend(alone);
    let is_stated = |p: &FittedPath| p.limiter == fitted_limiter(limiter.kind);
    all.into_iter().map(|p| if is_stated(&p) { hold_stated(p, limiter) } else { p }).collect()
}

/// Several policers, and each kind of limiter as one for all flows.
fn several(
    seen: &ObservedPath,
    base: &FittedPath,
    first: &Limiter,
    curve: Option<&CameThrough>,
) -> Vec<FittedPath> {
    let sum: f64 = seen.policers.iter().map(|l| l.rate_mbps * 1e6).sum();
    let each = hold_stated(of_kind(seen, base, first, LimiterKind::Policer), first);
    let mut all = vec![FittedPath { scope: policers::scope(seen), ..each }];
    let joint = Limiter { rate_mbps: sum / 1e6, rate_range_mbps: None, burst_bytes: None, ..first.clone() };
    let base = FittedPath { rate: sum, ..base.clone() };
    for kind in [LimiterKind::Policer, LimiterKind::Shaper, LimiterKind::Bottleneck] {
        let mut other = of_kind(seen, &base, &joint, kind);
        if let Some(curve) = curve {
            other.bucket = curve.bucket(other.rate / 8.0).max(4.0 * FULL_PACKET);
        }
        // The diagnosis refuted one policer for all flows as it refutes another kind.
        let rare = if kind == LimiterKind::Policer { LimiterKind::Shaper } else { kind };
        other.handicap = rarity(Some(first.kind), rare);
        all.push(other);
    }
    all
}

/// The shaper with a bucket that is refilled at once at the end of each interval.
fn at_once(path: &FittedPath) -> FittedPath {
    FittedPath { refilled_at_once: true, handicap: path.handicap + odds(CONTINUOUS_REFILL), ..path.clone() }
}

/// The path without random loss.
fn without_loss(path: &FittedPath) -> FittedPath {
    let but_loss = |all: &[(FitParameter, f64)]| all.iter().copied().filter(|(p, _)| !is_loss(*p)).collect();
    FittedPath {
        loss: 0.0,
        loss_run: 1.0,
        known: but_loss(&path.known),
        free: but_loss(&path.free),
        ..path.clone()
    }
}

/// Adds limiters where the diagnosis names none: a large bucket may hide one.
fn unnamed(
    seen: &ObservedPath,
    base: &FittedPath,
    curve: &CameThrough,
    lost: bool,
    all: &mut Vec<FittedPath>,
) {
    let limiter = Limiter { rate_mbps: curve.rate * 8e-6, lost_share: 0.01, ..Limiter::default() };
    let slow = FittedPath { rate: curve.rate * 8.0, ..without_loss(base) };
    let kinds = [LimiterKind::Policer, LimiterKind::Shaper, LimiterKind::Bottleneck];
    for kind in kinds.into_iter().filter(|k| *k != LimiterKind::Policer || lost) {
        let mut path = of_kind(seen, &slow, &limiter, kind);
        path.bucket = curve.bucket(curve.rate).max(4.0 * FULL_PACKET);
        for (parameter, sure) in &mut path.free {
            if matches!(parameter, FitParameter::Rate | FitParameter::Bucket) {
                *sure = if *parameter == FitParameter::Rate { 0.1 } else { 1.0 };
            }
        }
        path.handicap = rarity(None, kind) + unnamed_bucket(seen, kind);
        all.push(path);
    }
    for queue_kind in [FittedQueue::CoDel, FittedQueue::FqCoDel] {
        let mut path = of_kind(seen, &slow, &limiter, LimiterKind::Bottleneck);
        path.free.retain(|(p, _)| *p != FitParameter::Queue);
        all.push(FittedPath { queue_kind, handicap: 2.0, ..path });
    }
}

/// Limiters that the losses alone propose: a policer, or a link with a queue as long as that policer's
/// bucket.
fn proposed(seen: &ObservedPath, base: &FittedPath) -> Vec<FittedPath> {
    let buckets = seen.flows.iter().flat_map(|f| &f.facts.buckets);
    let paths = |bucket: &ProposedBucket| {
        let line = FittedPath { rate: bucket.rate, ..without_loss(base) };
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
                    FitParameter::Rate => *sure = bucket.rate_open.max(PROPOSED_STDERR),
                    FitParameter::Bucket | FitParameter::Queue => {
                        *sure = PROPOSED_STDERR.max(bucket.rate_open)
                    }
                    _ => {}
                }
            }
            FittedPath { handicap: rarity(None, kind), ..path }
        })
    };
    buckets.flat_map(paths).collect()
}

/// A link with cross traffic.
fn shared(seen: &ObservedPath, base: &FittedPath, rate: f64, cross: Vec<CrossSpan>) -> FittedPath {
    let whole = FittedPath { rate, ..base.clone() };
    let limiter = seen.limiter.clone().unwrap_or_default();
    let limiter = Limiter { rate_mbps: rate / 1e6, rate_range_mbps: None, ..limiter };
    let mut path = of_kind(seen, &whole, &limiter, LimiterKind::Bottleneck);
    for (_, sure) in path.free.iter_mut().filter(|(p, _)| *p == FitParameter::Rate) {
        *sure = 0.03;
    }
    FittedPath { cross, ..path }
}

/// A link with a queue of a few packets.
fn short_queue(seen: &ObservedPath, base: &FittedPath, curve: &CameThrough) -> FittedPath {
    let rate = curve.train * 8.0;
    let limiter = Limiter { rate_mbps: rate / 1e6, lost_share: 0.01, ..Limiter::default() };
    let line = FittedPath { rate, ..without_loss(base) };
    let mut path = of_kind(seen, &line, &limiter, LimiterKind::Bottleneck);
    path.queue = SHORT_QUEUE * FULL_PACKET;
    for (_, sure) in path.free.iter_mut().filter(|(p, _)| *p == FitParameter::Rate) {
        *sure = TRAIN_RATE_STDERR;
    }
    path
}

fn is_loss(parameter: FitParameter) -> bool {
    matches!(parameter, FitParameter::Loss | FitParameter::LossRun)
}

/// The part that all guesses share: round trip, random loss, windows.
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
        access: None,
        is_line_behind: false,
        rtt: base_rtt(seen, rate),
        loss: 0.0,
        loss_run: 1.0,
        jitter: 0.0,
        send_buffer: None,
        window: None,
        scope: PolicerScope::All,
        cross: Vec::new(),
        is_open: false,
        open_rate: None,
        known: Vec::new(),
        free: vec![(FitParameter::Rtt, 0.01)],
        handicap: 0.0,
    };
    path.queue = path.bdp().max(30.0 * FULL_PACKET);
    losses(seen, &mut path);
    windows(seen, &mut path);
    path
}

/// Round trip of the empty path, seconds: that of the handshake, or the least one of data less the time that
/// a full packet takes at `rate`.
fn base_rtt(seen: &ObservedPath, rate: f64) -> f64 {
    let full = FULL_PACKET * 8.0 / rate;
    let flow_rtt = |f: &crate::ObservedFlow| {
        let m = &f.flow.measures;
        let data = (m.rtt_ms.min / 1e3 - full).max(m.rtt_ms.min / 2e3);
        m.handshake_rtt_ms.filter(|h| *h > 0.0).map_or(data, |h| data.min(h / 1e3))
    };
    seen.flows.iter().map(flow_rtt).fold(f64::INFINITY, f64::min).max(1e-5)
}

/// Losses that no limiter explains: of packets that found its queue less than half full, or of all packets
/// where no wait shows and the diagnosis blames random loss.
fn losses(seen: &ObservedPath, path: &mut FittedPath) {
    let (lost, packets, runs) = match waits(seen) {
        Some(waits) => lost_before_half_full(seen, waits),
        None if seen.share(Cause::RandomLoss) >= MIN_CAUSE_SHARE => lost_of_all(seen),
        None => return,
    };
    if lost < 1.0 || packets < 1.0 {
        return;
    }
    path.loss = lost / packets;
    path.loss_run = (lost / runs.max(1.0)).clamp(1.0, MAX_LOSS_RUN);
    path.free.push((FitParameter::Loss, (1.0 / lost).sqrt().clamp(0.05, 0.5)));
    if lost > 10.0 {
        path.free.push((FitParameter::LossRun, 0.3));
    }
}

/// The shortest and the longest round trip, seconds, where their difference is the wait in a queue that may
/// overflow; `None` where a policer limits, or nothing waits.
fn waits(seen: &ObservedPath) -> Option<[f64; 2]> {
    if seen.limiter.as_ref().is_some_and(|l| l.kind == LimiterKind::Policer) {
        return None;
    }
    let rtts = || forward_packets(seen).flatten().filter(|p| !p.again).filter_map(known_rtt);
    let (least, longest) = (rtts().fold(f64::INFINITY, f64::min), rtts().fold(0.0, f64::max));
    (longest > QUEUE_THRESHOLD.0 * least + QUEUE_THRESHOLD.1).then_some([least, longest])
}

/// A queue shows where a round trip exceeds the shortest by this factor and by this many seconds.
const QUEUE_THRESHOLD: (f64, f64) = (1.05, 1e-3);

fn forward_packets(seen: &ObservedPath) -> impl Iterator<Item = &[LoggedPacket]> {
    seen.flows.iter().filter(|f| !f.backward).map(|f| &f.facts.packets[..])
}

/// Packets lost, packets and runs of losses among those that found the queue less than half full: the wait of
/// a packet is that of the one before it in its flow.
fn lost_before_half_full(seen: &ObservedPath, [least, longest]: [f64; 2]) -> (f64, f64, f64) {
    let half = (least + longest) / 2.0;
    let (mut lost, mut packets, mut runs) = (0.0, 0.0, 0.0);
    for flow in forward_packets(seen) {
        let (mut rtt, mut was_lost) = (None, false);
        for p in flow {
            rtt = known_rtt(p).or(rtt);
            let is_lost = p.fate != PacketFate::Passed;
            if rtt.is_some_and(|rtt| rtt < half) {
                packets += f64::from(p.segments);
                lost += if is_lost { f64::from(p.segments) } else { 0.0 };
                runs += f64::from(u8::from(is_lost && !was_lost));
            }
            was_lost = is_lost;
        }
    }
    (lost, packets, runs)
}

/// Packets lost, packets and runs of losses of all flows.
fn lost_of_all(seen: &ObservedPath) -> (f64, f64, f64) {
    let (mut lost, mut packets, mut runs) = (0.0, 0.0, 0.0);
    for f in seen.flows.iter().filter(|f| !f.backward) {
        let m = &f.flow.measures;
        let n = (m.lost_up + m.lost_down) as f64;
        lost += n;
        runs += n / f.facts.loss_run.max(1.0);
        packets += m.data_packets as f64;
    }
    (lost, packets, runs)
}

/// Sets the windows that limit.
fn windows(seen: &ObservedPath, path: &mut FittedPath) {
    let Some(first) = seen.flows.first() else { return };
    let m = &first.flow.measures;
    if seen.share(Cause::SendBuffer) >= MIN_CAUSE_SHARE {
        // Half of it is the kernel's own bookkeeping.
        path.send_buffer = Some(2.0 * m.max_inflight_bytes as f64);
        path.free.push((FitParameter::SendBuffer, 0.5));
    }
    if seen.share(Cause::ReceiveWindow) >= MIN_CAUSE_SHARE {
        let window = m.max_window_bytes.unwrap_or(m.max_inflight_bytes);
        path.window = Some(window as f64);
        path.free.push((FitParameter::Window, 0.05));
    }
}

/// The path with a limiter of this kind, at the rate of the base path; `l` is the limiter that the diagnosis
/// names.
fn of_kind(seen: &ObservedPath, base: &FittedPath, l: &Limiter, kind: LimiterKind) -> FittedPath {
    let mut path = base.clone();
    let same = kind == l.kind;
    let wide = l.rate_range_mbps.map(|[low, high]| ((high / low).ln() / 2.0).max(0.01));
    path.free.push((FitParameter::Rate, wide.unwrap_or(if same { RATE_STDERR } else { 0.03 })));
    let bucket = l.burst_bytes.filter(|b| *b > 0.0);
    let bucket_sure = if same && bucket.is_some() { BUCKET_STDERR } else { 1.0 };
    let queue = l.queue_bytes.filter(|q| *q > 0.0);
    if kind != LimiterKind::Bottleneck && !seen.summary {
        // A token bucket passes a packet at once.
        path.rtt = base_rtt(seen, f64::INFINITY);
    }
    match kind {
        LimiterKind::Policer => {
            path.limiter = FittedLimiter::Policer;
            path.bucket = bucket.unwrap_or(path.rate / 32.0);
            path.free.push((FitParameter::Bucket, bucket_sure));
        }
        LimiterKind::Shaper => {
            path.limiter = FittedLimiter::Shaper;
            path.bucket = bucket.unwrap_or(10.0 * FULL_PACKET);
            path.free.push((FitParameter::Bucket, bucket_sure));
        }
        LimiterKind::Bottleneck => path.limiter = FittedLimiter::Link,
    }
    if kind != LimiterKind::Policer {
        // The longest wait is the length of a queue that overflowed, and a lower bound for any other.
        let full = l.lost_share > 0.0 || seen.share(Cause::Congestion) > 0.02;
        let longest = seen.flows.iter().map(|f| f.flow.measures.rtt_ms.max / 1e3).fold(0.0, f64::max);
        let waited = (longest - path.rtt).max(0.0) * path.rate / 8.0;
        let (bytes, sure) = match queue {
            Some(q) if full => (q, 0.2),
            Some(q) => (q.max(path.bdp()), 1.0),
            None => (waited.max(SHORT_QUEUE * FULL_PACKET), UNKNOWN_QUEUE_STDERR),
        };
        path.queue = bytes.max(4.0 * FULL_PACKET);
        if l.fair_queue {
            path.queue_kind = FittedQueue::Fair;
        }
        path.free.push((FitParameter::Queue, sure));
    }
    path
}

/// Paths without a visible limiter: a link that is never full for long, whose losses are random or drops of
/// its short queue.
fn open(seen: &ObservedPath, base: &FittedPath) -> Vec<FittedPath> {
    let line = seen.flows.iter().filter(|f| !f.backward).filter_map(|f| f.facts.line_rate);
    // The packets of several flows mix, which makes the rate of each look smaller.
    let line = line.reduce(f64::max);
    let mut path = base.clone();
    path.rate = line.unwrap_or(path.rate);
    path.free.push((FitParameter::Rate, if line.is_some() { BURST_RATE_STDERR } else { 1.0 }));
    if line.is_none() {
        if seen.share(Cause::Congestion) + seen.share(Cause::Bottleneck) >= MIN_CAUSE_SHARE {
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
