//! Rate limiters: policers, shapers, bottleneck links.
//!
//! Losses are explained by a bucket ([`bucket`]), delay by a queue ([`delay`]). A bucket whose level delays
//! packets is a drop-tail queue; one whose level does not is a policer. Without losses, a queue shows by draining at
//! one rate.

pub(crate) mod bucket;
pub(crate) mod delay;

use crate::{Fate, Track};
use bucket::{Arrival, Bucket, episodes, fit};
use delay::{Delay, Drain, against_level, drain};
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

/// A gain above this is no accident: the best of some eighty rates and five thresholds on losses that know of no
/// bucket stays below.
const SURE: f64 = 9.0;
/// Share of the losses the bucket has to explain.
const EXPLAINED: f64 = 0.7;
/// Slopes of delay against level above this are a queue's. Behind one it is 1, less where other delays add
/// noise; behind a policer 0.
const QUEUE_SLOPE: f64 = 0.4;

/// The packets of several tracks in the order they came.
pub(crate) fn arrivals(tracks: &[&Track], behind: bool) -> Vec<Arrival> {
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
            let rtt = match s.fate {
                Fate::Passed { rtt } if rtt > 0 => rtt as f32 * 1e-6,
                _ => f32::NAN,
            };
            out.push(Arrival {
                at: s.time.as_nanos() as f64 * 1e-9,
                bytes: s.bytes as f32,
                size: s.bytes as f32 / s.segments.max(1) as f32,
                lost,
                rtt,
                flow: flow as u16,
            });
        }
    }
    if let Some(origin) = out.iter().map(|a| a.at).min_by(f64::total_cmp) {
        out.iter_mut().for_each(|a| a.at -= origin);
    }
    out.sort_by(|a, b| a.at.total_cmp(&b.at));
    out
}

/// Finds what limits these packets, if anything does.
pub(crate) fn find(arrivals: &[Arrival], path: Path) -> Option<Found> {
    let mut found = Found { behind: path.behind, ..Found::default() };
    let lost = arrivals.iter().filter(|a| a.lost).map(|a| a.bytes as f64).sum::<f64>();
    found.lost = lost / arrivals.iter().map(|a| a.bytes as f64).sum::<f64>().max(1.0);
    if let Some(queue) = queue(arrivals, path, found) {
        return Some(queue);
    }
    found.bucket = fit(arrivals, (path.rtt / 2.0).max(0.005));
    let b = found.bucket.filter(|b| b.gain > SURE && b.explained > EXPLAINED)?;
    found.against = against_level(arrivals, b.rate, path.base, f64::INFINITY);
    found.rate = b.rate;
    found.confidence = (1.0 - (-b.gain / 8.0).exp()) * b.explained.min(1.0);
    if let Some(d) = found.against.filter(queues) {
        found.kind = LimiterKind::Bottleneck;
        found.queue = b.burst;
        found.delay = d.most;
    } else {
        found.kind = LimiterKind::Policer;
        found.burst = b.emptied.then_some(b.burst);
    }
    Some(found)
}

/// Whether delay goes with the level as behind a queue.
fn queues(d: &Delay) -> bool {
    d.slope > QUEUE_SLOPE && d.left < 0.6
}

/// Finds a queue that drains at one rate.
fn queue(arrivals: &[Arrival], path: Path, mut found: Found) -> Option<Found> {
    let floor = (0.05 * path.base).clamp(0.001, 0.02);
    let width = (0.5 * path.rtt).max(0.02);
    found.drain = drain(arrivals, path.behind, path.base, floor, width);
    let d = found.drain.filter(|d| d.busy > 0.1 && d.spread < 0.15)?;
    found.rate = d.rate;
    let start = against_level(arrivals, d.rate, path.base, 2.0);
    found.against = start.or(found.against);
    let a = found.against?;
    if !queues(&a) {
        return None;
    }
    found.delay = a.most;
    found.queue = a.most * d.rate;
    let size = arrivals[0].size as f64;
    // A link without bucket still lets some bytes pass at once: the packet on the wire and the capture's own batching.
    found.kind = if a.knee > 6.0 * size { LimiterKind::Shaper } else { LimiterKind::Bottleneck };
    found.burst = (found.kind == LimiterKind::Shaper).then_some(a.knee);
    found.confidence = ((1.0 - d.spread / 0.15) * (1.0 - a.left)).clamp(0.3, 0.99);
    Some(found)
}

/// How many round trips had losses.
pub(crate) fn loss_rounds(arrivals: &[Arrival], rtt: f64) -> usize {
    episodes(arrivals, rtt.max(0.005))
}
#[cfg(test)]
mod probe;
