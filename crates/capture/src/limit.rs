//! Rate limiters: policers, shapers, bottleneck links.
//!
//! Losses are explained by a bucket ([`bucket`]), delay by a queue ([`delay`]). A bucket whose level delays
//! packets is a drop-tail queue; one whose level does not is a policer. Without losses, a queue shows by draining at
//! one rate.

pub(crate) mod bucket;
pub(crate) mod delay;
pub(crate) mod lift;

use crate::{Fate, Sample, Track};
use bucket::{Arrival, Bucket, fit};
use delay::{Delay, Drain, against_level, drain};
use lift::{LIFT, lift};
use result::diagnosis::LimiterKind;

/// A limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// What kind.
    pub kind: LimiterKind,
    /// IP bytes a second.
    pub rate: f64,
    /// Bucket, bytes, where it showed.
    pub burst: Option<f64>,
    /// Longest queue, bytes.
    pub queue: f64,
    /// Longest delay, seconds.
    pub delay: f64,
    /// It is behind the capture.
    pub behind: bool,
    /// Share of packets lost.
    pub lost: f64,
    /// 0 to 1.
    pub confidence: f64,
    /// What the losses said.
    pub bucket: Option<Bucket>,
    /// What delays said at the rate.
    pub against: Option<Delay>,
    /// What departures said.
    pub drain: Option<Drain>,
}

/// What the flows through one limiter have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Path {
    /// RTprop, seconds.
    pub base: f64,
    /// Mean RTT, seconds.
    pub rtt: f64,
    /// Losses and queues between capture and receiver are looked at, else those before the capture.
    pub behind: bool,
}

/// A gain above this is no accident: the best of some hundred and fifty rates and five thresholds on losses that know of no
/// bucket stays below.
const SURE: f64 = 9.0;
/// Share of the losses the bucket has to explain.
const EXPLAINED: f64 = 0.7;
/// Slopes of delay against level above this are a queue's. Behind one it is 1, less where other delays add
/// noise; behind a policer 0.
const QUEUE_SLOPE: f64 = 0.4;
/// Slopes above this, with losses at the top of the delay, are a drop-tail queue's.
const STEEP: f64 = 0.6;
/// A knee below this, bytes, is no bucket: the packet on the wire, the capture's own batching.
const LEAST_BUCKET: f64 = 15_000.0;
/// Below this the RTT does not know of the level.
const FLAT: f64 = 0.12;
/// A bucket divides what it drops from what it lets pass with fewer errors than this.
const MOST_WRONG: f64 = 0.4;
/// Or, where packets come so close to the limit that no threshold divides them, the lost ones lie this close together.
const SHARP: f64 = 0.012;
/// A policer behind a queue is this much slower.
const BEHIND: f64 = 0.85;
/// Delay by timestamps below this is the ticks', seconds.
const CLOCK: f64 = 0.0025;

/// Packets of one span of time when those of several tracks are put in order.
const IN_A_SPAN: usize = 8;

/// The packets of several tracks in the order they came.
/// With `clocked`, delay is that from sender to capture by the sender's timestamps, and `at` when a packet came to a
/// limiter before the capture; else it is the RTT, and `at` when it was seen.
/// Times are seconds since the first, which is given in seconds since 1970.
pub(crate) fn arrivals(tracks: &[&Track], behind: bool, clocked: bool) -> (f64, Vec<Arrival>) {
    let all = || {
        let flows = tracks.iter().enumerate();
        flows.flat_map(move |(flow, t)| {
            t.log.iter().filter_map(move |s| arrival(s, flow as u16, behind, clocked))
        })
    };
    let (mut origin, mut last, mut count) = (f64::INFINITY, 0.0f64, 0);
    for a in all() {
        (origin, last, count) = (origin.min(a.at), last.max(a.at), count + 1);
    }
    if count == 0 {
        return (0.0, Vec::new());
    }
    let since = || all().map(|a| Arrival { at: a.at - origin, ..a });
    let mut out: Vec<Arrival> = Vec::with_capacity(count);
    if tracks.len() == 1 {
        out.extend(since());
    } else {
        spread(since, last - origin, &mut out);
    }
    if !out.is_sorted_by(|a, b| a.at <= b.at) {
        out.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    (origin, out)
}

/// A packet as an arrival, unless it never came to the limiter; `at` in seconds since 1970.
#[inline]
fn arrival(s: &Sample, flow: u16, behind: bool, clocked: bool) -> Option<Arrival> {
    let lost = match s.fate {
        Fate::Passed { .. } => false,
        Fate::LostDown => behind,
        // What was lost before the capture never came to a limiter behind it.
        Fate::LostUp if behind => return None,
        Fate::LostUp => true,
    };
    let mut rtt = match s.fate {
        Fate::Passed { rtt } if rtt > 0 => rtt as f32 * 1e-6,
        _ => f32::NAN,
    };
    let mut at = s.time.as_nanos() as f64 * 1e-9;
    if clocked {
        // It came to the limiter before it waited there.
        rtt = if lost || s.delay == u32::MAX { f32::NAN } else { s.delay as f32 * 1e-6 };
        at -= if s.delay == u32::MAX { 0.0 } else { s.delay as f64 * 1e-6 };
    }
    let size = s.bytes as f32 / s.segments.max(1) as f32;
    Some(Arrival { at, bytes: s.bytes as f32, size, lost, rtt, flow })
}

/// Fills `out` with what `all` tells, up to the time `last`: spread over spans of time, the few in each sorted.
fn spread<I: Iterator<Item = Arrival>>(all: impl Fn() -> I, last: f64, out: &mut Vec<Arrival>) {
    let spans = out.capacity() / IN_A_SPAN + 1;
    let of = |a: &Arrival| ((a.at / last.max(1e-9) * spans as f64) as usize).min(spans - 1);
    let mut begins = vec![0usize; spans + 1];
    all().for_each(|a| begins[of(&a) + 1] += 1);
    for i in 0..spans {
        begins[i + 1] += begins[i];
    }
    let Some(any) = all().next() else { return };
    out.resize(begins[spans], any);
    for a in all() {
        let place = &mut begins[of(&a)];
        out[*place] = a;
        *place += 1;
    }
    // Each has moved to its span's end.
    let mut from = 0;
    for to in &begins[..spans] {
        out[from..*to].sort_by(|a, b| a.at.total_cmp(&b.at));
        from = *to;
    }
}

/// Finds what limits these packets, if anything does.
///
/// `clocked`, for limiters before the capture: the same packets with one-way delays, where timestamps tell them.
pub(crate) fn find(arrivals: &[Arrival], clocked: Option<&[Arrival]>, path: Path) -> Option<Found> {
    let mut found = Found { behind: path.behind, ..Found::default() };
    let lost = arrivals.iter().filter(|a| a.lost).map(|a| a.bytes as f64).sum::<f64>();
    found.lost = lost / arrivals.iter().map(|a| a.bytes as f64).sum::<f64>().max(1.0);
    let by_clock = || {
        let alone = Path { base: 0.0, rtt: path.rtt, behind: path.behind };
        queue(clocked?, alone, (0.05 * path.base).clamp(CLOCK, 0.02), found)
    };
    let floor = (0.05 * path.base).clamp(0.001, 0.02);
    let unclocked = || {
        pinned(arrivals, path, found).filter(|_| clocked.is_some_and(|c| c.iter().all(|a| a.rtt.is_nan())))
    };
    let queue = by_clock().or_else(|| queue(arrivals, path, floor, found)).or_else(unclocked);
    let policer = policer(arrivals, clocked, path, found);
    match (queue, policer) {
        // A policer behind a queue has the lower rate; a queue that overflows would be taken for one of its own rate.
        (Some(q), Some(p))
            if q.against.is_some() && (p.kind != LimiterKind::Policer || p.rate > BEHIND * q.rate) =>
        {
            Some(q)
        }
        (_, Some(p)) => Some(p),
        (q, None) => q,
    }
}

/// Finds the policer that explains the losses, or the drop-tail queue.
fn policer(arrivals: &[Arrival], clocked: Option<&[Arrival]>, path: Path, mut found: Found) -> Option<Found> {
    found.bucket = fit(arrivals, (path.rtt / 2.0).max(0.005));
    let b = found.bucket.filter(|b| b.gain > SURE && b.explained > EXPLAINED)?;
    // Delay to the capture alone where timestamps tell it; else the RTT's.
    let (delayed, base) = clocked.map_or((arrivals, path.base), |c| (c, 0.0));
    found.against = against_level(delayed, b.rate, base, f64::INFINITY);
    found.rate = b.rate;
    found.confidence = (1.0 - (-b.gain / 8.0).exp()) * b.explained.min(1.0) * (1.0 - 0.5 * b.wrong.min(1.0));
    let lift = lift_of(delayed, base);
    let steep = found.against.is_some_and(|d| d.slope > STEEP && d.left < 0.6);
    if steep && lift > LIFT {
        let d = found.against.unwrap_or_default();
        found.kind = LimiterKind::Bottleneck;
        (found.queue, found.delay) = (b.burst, d.most);
        return Some(found);
    }
    found.kind = LimiterKind::Policer;
    found.burst = b.emptied.then_some(b.burst);
    (is_flat(&b, found.against, lift) && is_sharp(&b, arrivals[0].size as f64)).then_some(found)
}

/// The RTT does not know of the bucket's level.
fn is_flat(b: &Bucket, against: Option<Delay>, lift: f64) -> bool {
    let drains = b.burst / b.rate;
    // A queue so short shows in nothing but losses at its top.
    if lift > 0.9 && drains < 0.002 {
        return false;
    }
    let known = b.gain > 200.0 && b.wrong < 0.1 && lift < 0.2;
    known || against.is_none_or(|d| d.rise < FLAT && !(d.slope > 0.8 && d.most > 0.2 * drains))
}

/// The bucket divides what is lost from what passes: cleanly; or, where packets come so close to the limit that
/// no threshold does, the lost ones lie close together, and there is much evidence.
fn is_sharp(b: &Bucket, size: f64) -> bool {
    let near = |share: f64| b.spread < share * b.burst;
    let clean = b.wrong < MOST_WRONG && (b.explained > 0.85 || b.gain > 40.0);
    clean
        || near(SHARP) && b.gain > 25.0
        || near(0.1) && b.gain > 150.0 && b.wrong < 0.65 && b.burst > 20.0 * size
}

/// [`lift::Lift::share`] of these packets, each with the last delay of its flow; 0 where there is no delay to speak of.
fn lift_of(arrivals: &[Arrival], base: f64) -> f64 {
    let mut last: Vec<f32> = Vec::new();
    let (mut losses, mut passed) = (Vec::new(), Vec::new());
    for a in arrivals {
        if last.len() <= a.flow as usize {
            last.resize(a.flow as usize + 1, f32::NAN);
        }
        let now = &mut last[a.flow as usize];
        if !a.lost && a.rtt.is_finite() {
            *now = (a.rtt as f64 - base) as f32;
        }
        if now.is_finite() {
            if a.lost { losses.push(*now) } else { passed.push(*now) }
        }
    }
    lift(&mut losses, &mut passed, base).map_or(0.0, |l| l.share)
}

/// Whether delay goes with the level as behind a queue.
fn queues(d: &Delay) -> bool {
    d.slope > QUEUE_SLOPE && d.left < 0.6
}

/// How far RTT against level is from a queue's line.
fn crooked(d: &Delay) -> f64 {
    d.left + (d.slope - 1.0).abs()
}

/// Finds a link before the capture by nothing but packets that come at one rate, where no clock tells their delay.
fn pinned(arrivals: &[Arrival], path: Path, mut found: Found) -> Option<Found> {
    let (rate, share) = delay::commonest_rate(arrivals, (0.5 * path.rtt).max(0.02))?;
    found.kind = LimiterKind::Bottleneck;
    found.rate = rate;
    found.confidence = share;
    (share > 0.35).then_some(found)
}

/// Finds a queue that drains at one rate.
fn queue(arrivals: &[Arrival], path: Path, floor: f64, mut found: Found) -> Option<Found> {
    let width = (0.5 * path.rtt).max(0.02);
    let leave = path.behind || path.base == 0.0;
    found.drain = drain(arrivals, leave, path.base, floor, width);
    let d = found.drain.filter(|d| d.busy > 0.1 && d.spread < 0.15)?;
    found.rate = d.rate;
    // The rate is known well enough to add up for a while after the start; or, with luck, for all of the time.
    let fits = [2.0, f64::INFINITY].map(|span| against_level(arrivals, d.rate, path.base, span));
    let best = fits.into_iter().flatten().min_by(|a, b| crooked(a).total_cmp(&crooked(b)));
    let a = best?;
    found.against = best;
    let steady = d.spread < 0.03 && d.busy > 0.5 && a.most > 3.0 * floor;
    if !queues(&a) && !steady {
        return None;
    }
    found.delay = a.most;
    found.queue = a.most * d.rate;
    // A link without bucket still lets some bytes pass at once: the packet on the wire and the capture's own batching.
    found.kind = if a.knee > LEAST_BUCKET { LimiterKind::Shaper } else { LimiterKind::Bottleneck };
    found.burst = (found.kind == LimiterKind::Shaper).then_some(a.knee);
    found.confidence = ((1.0 - d.spread / 0.15) * (1.0 - a.left)).clamp(0.3, 0.99);
    Some(found)
}

/// The flow and time of each packet that the bucket dropped.
pub(crate) fn dropped(arrivals: &[Arrival], bucket: &Bucket) -> Vec<(u16, f64)> {
    let lost = arrivals.iter().filter(|a| a.lost);
    lost.zip(bucket::explained(arrivals, bucket)).filter(|(_, is)| *is).map(|(a, _)| (a.flow, a.at)).collect()
}
