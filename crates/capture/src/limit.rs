//! Rate limiters: policers, shapers, bottleneck links.
//!
//! Losses are explained by a bucket ([`bucket`]), delay by a queue ([`delay`]). A bucket whose level delays
//! packets is a drop-tail queue; one whose level does not is a policer. Without losses, a queue shows by draining at
//! one rate.

pub(crate) mod bucket;
pub(crate) mod delay;
mod knee;
pub(crate) mod lift;
mod queue;

use crate::{Fate, Track};
use bucket::{Arrival, Bucket, fit};
use delay::{Delay, Drain, against_level};
use lift::LIFT;
use queue::{lift_of, overflows, pinned, queue};
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
    /// Some packets were merged to one arrival.
    pub merged: bool,
}

/// A gain above this is no accident: the best of some hundred and fifty rates and five thresholds on losses that know of no
/// bucket stays below.
const SURE: f64 = 9.0;
/// Share of the losses the bucket has to explain.
const EXPLAINED: f64 = 0.7;
/// Slopes above this, with losses at the top of the delay, are a drop-tail queue's.
const STEEP: f64 = 0.6;
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

/// The packets of several tracks in the order they came.
/// With `clocked`, delay is that from sender to capture by the sender's timestamps, and `at` when a packet came to a
/// limiter before the capture; else it is the RTT, and `at` when it was seen.
/// Times are seconds since the first, which is given in seconds since 1970.
pub(crate) fn arrivals(tracks: &[&Track], behind: bool, clocked: bool) -> (f64, Vec<Arrival>) {
    let mut out = Vec::new();
    for (flow, track) in tracks.iter().enumerate() {
        for s in &track.log {
            let lost = match s.fate {
                Fate::Passed { .. } => false,
                Fate::LostDown => behind,
                // What was lost before the capture never came to a limiter behind it.
                Fate::LostUp if behind => continue,
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
            out.push(Arrival {
                at,
                bytes: s.bytes as f32,
                size: s.bytes as f32 / s.segments.max(1) as f32,
                lost,
                rtt,
                flow: flow as u16,
            });
        }
    }
    let origin = out.iter().map(|a| a.at).min_by(f64::total_cmp).unwrap_or(0.0);
    out.iter_mut().for_each(|a| a.at -= origin);
    out.sort_by(|a, b| a.at.total_cmp(&b.at));
    (origin, out)
}

/// Finds what limits these packets, if anything does.
///
/// `clocked`, for limiters before the capture: the same packets with one-way delays, where timestamps tell them.
pub(crate) fn find(arrivals: &[Arrival], clocked: Option<&[Arrival]>, path: Path) -> Option<Found> {
    let mut found = Found { behind: path.behind, ..Found::default() };
    let lost = arrivals.iter().filter(|a| a.lost).map(|a| a.bytes as f64).sum::<f64>();
    found.lost = lost / arrivals.iter().map(|a| a.bytes as f64).sum::<f64>().max(1.0);
    let by_clock = || {
        let alone = Path { base: 0.0, ..path };
        queue(clocked?, alone, (0.05 * path.base).clamp(CLOCK, 0.02), found)
    };
    let floor = (0.05 * path.base).clamp(0.001, 0.02);
    let unclocked =
        || pinned(arrivals, path, found).filter(|_| clocked.is_some_and(|c| overflows(c, path.rtt)));
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

/// The flow and time of each packet that the bucket dropped.
pub(crate) fn dropped(arrivals: &[Arrival], bucket: &Bucket) -> Vec<(u16, f64)> {
    let lost = arrivals.iter().filter(|a| a.lost);
    lost.zip(bucket::explained(arrivals, bucket)).filter(|(_, is)| *is).map(|(a, _)| (a.flow, a.at)).collect()
}
