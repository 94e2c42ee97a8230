//! Rate limiters: policers, shapers, bottleneck links.
//!
//! Losses are explained by a bucket ([`bucket`]), delay by a queue ([`delay`]). A bucket whose level delays
//! packets is a drop-tail queue; one whose level does not is a policer. Without losses, a queue shows by draining at
//! one rate.

pub(crate) mod brink;
pub(crate) mod bucket;
pub(crate) mod delay;
pub(crate) mod hole;
mod knee;
pub(crate) mod lift;
mod queue;

use crate::{Fate, Track};
use brink::{Waits, brink};
use bucket::{Arrival, Bucket, fit};
use delay::{Delay, Drain, against_level};
use queue::{overflows, pinned, queue};
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
    /// Delays leave no doubt of a policer.
    pub sure: bool,
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
const EXPLAINED: f64 = 0.35;
/// RTTs differ by so much for no reason that concerns us, seconds.
const NOISE: f64 = 0.0002;
/// Slopes above this, with losses at the top of the delay, are a drop-tail queue's.
const STEEP: f64 = 0.6;
/// Below this the RTT does not know of the level.
const FLAT: f64 = 0.12;
/// A bucket divides what it drops from what it lets pass with fewer errors than this.
const MOST_WRONG: f64 = 0.4;
/// Or, where packets come so close to the limit that no threshold divides them, the lost ones lie this close together.
const SHARP: f64 = 0.012;
/// Share of the losses explained that leaves none to others.
const NEARLY_ALL: f64 = 0.85;
/// Packets in a bucket to which it matters where within a burst a packet was lost.
const PLACED: f64 = 20.0;
/// A policer behind a queue is this much slower.
const BEHIND: f64 = 0.85;
/// Delay by timestamps below this is the ticks', seconds.
const CLOCK: f64 = 0.0025;

/// The packets of several tracks in the order they came.
/// With `clocked`, delay is that from sender to capture by the sender's timestamps, and `at` when a packet came to a
/// limiter before the capture; else it is the RTT, and `at` when it was seen.
/// What was lost while the path was `gone` (of each track, seconds since its connection's first packet) is left out.
/// Times are seconds since the first.
pub(crate) fn arrivals(tracks: &[&Track], gone: &[Vec<(f64, f64)>], behind: bool, clocked: bool) -> Vec<Arrival> {
    let mut out = Vec::with_capacity(tracks.iter().map(|t| t.log.len()).sum());
    for (flow, track) in tracks.iter().enumerate() {
        let mut before = None;
        for (entry, s) in track.log.iter().enumerate() {
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
            let since = at - track.first.as_nanos() as f64 * 1e-9;
            if lost && gone[flow].iter().any(|g| since > g.0 && since < g.1) {
                continue;
            }
            if clocked {
                // It came to the limiter before it waited there.
                rtt = if lost || s.delay == u32::MAX { f32::NAN } else { s.delay as f32 * 1e-6 };
                at -= if s.delay == u32::MAX { 0.0 } else { s.delay as f64 * 1e-6 };
            }
            // It was never seen: as a limiter drops the end of a burst, right behind the packet before it.
            if s.fate == Fate::LostUp {
                at = before.unwrap_or(at);
            }
            before = Some(at);
            out.push(Arrival {
                at,
                bytes: s.bytes as f32,
                size: s.bytes as f32 / s.segments.max(1) as f32,
                lost,
                rtt,
                flow: flow as u16,
                entry: entry as u32,
            });
        }
    }
    let origin = out.iter().map(|a| a.at).min_by(f64::total_cmp).unwrap_or(0.0);
    out.iter_mut().for_each(|a| a.at -= origin);
    // Each log is in order; the sort finds such runs.
    if !out.is_sorted_by(|a: &Arrival, b| a.at <= b.at) {
        out.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    out
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
    let policer = overflow(arrivals, clocked, path, found);
    match (queue, policer) {
        // A queue that overflows shows its rate and bucket better by its delays.
        (Some(q), Some(p)) if p.kind != LimiterKind::Policer && q.against.is_some() => Some(q),
        (Some(q), Some(p)) if !p.sure && is_same(&q, &p) => Some(q),
        (_, Some(p)) => Some(p),
        (q, None) => q,
    }
}

/// The queue delays as long as it takes to fill the bucket, at the same rate.
fn is_same(queue: &Found, policer: &Found) -> bool {
    let alike = policer.rate > BEHIND * queue.rate && policer.rate * BEHIND < queue.rate;
    let drains = policer.burst.unwrap_or(0.0) / policer.rate;
    alike && queue.against.is_some() && queue.delay > 0.6 * drains
}

/// Finds what drops by the level of a bucket: a policer, or a queue that overflows.
fn overflow(arrivals: &[Arrival], clocked: Option<&[Arrival]>, path: Path, mut found: Found) -> Option<Found> {
    let width = (path.rtt / 2.0).max(0.005);
    found.bucket = fit(arrivals, width);
    if std::env::var("LF_DBG").is_ok() { dbg_fit(arrivals, clocked, path, found.bucket); }
    let b = found.bucket.filter(|b| b.gain > SURE && b.explained > EXPLAINED && is_sharp(b, arrivals))?;
    // What was lost before the capture has no time of its own: its place must not be what explains it.
    let size = arrivals.iter().map(|a| a.size).fold(0.0, f32::max) as f64;
    let small = b.burst < PLACED * size;
    let placed = !path.behind && bucket::neutral(arrivals, &b, bucket::episodes(arrivals, width) as f64) < SURE;
    if placed && (small || b.gain < 4.0 * SURE) {
        return None;
    }
    // Lost before a link that spaced what came through: most often at its queue.
    if !path.behind && hole::closed(arrivals).is_some_and(|rate| !is_clean(&b) || (b.rate / rate - 1.0).abs() < 0.15) {
        return None;
    }
    // Delay to the capture alone where timestamps tell it; else the RTT's.
    let (delayed, base, noise) = clocked.map_or((arrivals, path.base, NOISE), |c| (c, 0.0, CLOCK));
    found.rate = b.rate;
    found.burst = b.emptied.then_some(b.burst);
    found.confidence = (1.0 - (-b.gain / 8.0).exp()) * (1.0 - 0.5 * b.wrong.min(1.0));
    let kind = match brink::delays(delayed, &b, base) {
        // Seen behind it, a shaper's bucket is empty for as long as its queue is not.
        Some(d) if placed && d.median > noise && d.median * b.rate > brink::QUEUED * size => Some(Waits::Behind(d.median)),
        _ => brink(delayed, &b, base, noise),
    };
    if std::env::var("LF_DBG").is_ok() { eprintln!("  KIND {kind:?} hole {:?}", hole::closed(arrivals)); }
    match kind {
        Some(Waits::Not(sure)) => (found.kind, found.sure) = (LimiterKind::Policer, sure),
        Some(Waits::All(delay)) => {
            found.kind = LimiterKind::Bottleneck;
            (found.burst, found.queue, found.delay) = (None, b.burst, delay);
        }
        Some(Waits::Some(delay)) => {
            found.kind = LimiterKind::Shaper;
            found.burst = Some(b.burst - delay * b.rate);
            (found.queue, found.delay) = (delay * b.rate, delay);
        }
        Some(Waits::Behind(delay)) => {
            found.kind = LimiterKind::Shaper;
            (found.queue, found.delay) = (delay * b.rate, delay);
        }
        Some(Waits::Unclear) => return None,
        Some(Waits::Longer) => {
            found.kind = LimiterKind::Bottleneck;
            (found.burst, found.queue, found.delay) = (None, b.burst, b.burst / b.rate);
        }
        None if path.behind => return None,
        None => found.kind = LimiterKind::Policer,
    }
    // Seen as well: a queue of another rate that delays so much and would lose the same packets.
    Some(found)
}

/// Nearly all losses come with the bucket empty, and hardly a packet passes then; or they lie very close together.
fn is_clean(b: &Bucket) -> bool {
    b.wrong < 0.2 && b.explained > 0.85 || b.gain > 110.0 && b.spread < 0.03 * b.burst || b.gain > 500.0
}

/// The bucket divides what is lost from what passes: cleanly; or, where packets come so close to the limit that
/// no threshold does, the lost ones lie close together, and there is much evidence.
fn is_sharp(b: &Bucket, arrivals: &[Arrival]) -> bool {
    let size = arrivals[0].size as f64;
    let near = |share: f64| b.spread < share * b.burst;
    b.wrong < MOST_WRONG && b.gain * (1.0 - b.wrong).powi(2) > 8.5
        || near(SHARP) && b.gain > 15.0
        || near(0.03) && b.gain > 100.0 && b.wrong < 0.65
        || near(0.1) && b.gain > 150.0 && b.wrong < 0.65 && b.burst > 4.0 * size
}

/// The flow, and the place in its log, of each packet that the bucket dropped. Where it explains nearly all losses, the
/// few others with the bucket more than half empty are more likely its own, at times not known well enough, than another's.
pub(crate) fn dropped(arrivals: &[Arrival], bucket: &Bucket) -> Vec<(u16, u32)> {
    let lost = arrivals.iter().filter(|a| a.lost);
    let least = (bucket.explained > NEARLY_ALL).then_some(0.5 * bucket.burst);
    let theirs = bucket::explained(arrivals, bucket, least);
    lost.zip(theirs).filter(|(_, is)| *is).map(|(a, _)| (a.flow, a.entry)).collect()
}

fn dbg_fit(arrivals: &[Arrival], clocked: Option<&[Arrival]>, path: Path, got: Option<Bucket>) {
    let (delayed, base) = clocked.map_or((arrivals, path.base), |c| (c, 0.0));
    let say = |name: &str, b: Bucket| {
        let lift = 0.0;
        eprintln!("  {name}: rate {:.4} burst {:.0} gain {:.1} expl {:.2} chance {:.4} wrong {:.2} spread/burst {:.4} emptied {} | lift {lift:.2} flat {} sharp {} . neutral {:.1} followed {} ", b.rate*8e-6, b.burst, b.gain, b.explained, b.chance, b.wrong, b.spread/b.burst, b.emptied, 0, is_sharp(&b, arrivals), bucket::neutral(arrivals, &b, bucket::episodes(arrivals, (path.rtt/2.0).max(0.005)) as f64), b.followed);
        if let Some(k) = brink::delays(delayed, &b, base) { eprintln!("  more: {k:?}"); }
    };
    eprintln!(" FIT behind {} n {} lost {} episodes {} clocked {:?} base {:.4} rtt {:.4}", path.behind, arrivals.len(), arrivals.iter().filter(|a| a.lost).count(), bucket::episodes(arrivals, (path.rtt/2.0).max(0.005)), clocked.map(|c| c.iter().filter(|a| a.rtt.is_finite()).count()), path.base, path.rtt);
    if let Some(b) = got { say("got", b); }
    if let Some(r) = std::env::var("LF_RATE").ok().and_then(|s| s.parse::<f64>().ok()) {
        say("true", bucket::probe(arrivals, r / 8e-6, (path.rtt/2.0).max(0.005)));
    }
}
