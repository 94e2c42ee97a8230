//! Rate limiters: policers, shapers, bottleneck links.
//!
//! 1. Searches propose candidates: by losses, which an overflowing virtual queue explains ([`by_losses`]),
//!    and by delays, which a queue that drains at one rate explains ([`by_delays`]). Bytes that pass before
//!    packets wait are a shaper's bucket ([`shaper_bucket`]); packets that leave at ticks have passed a
//!    shaper that is refilled at intervals ([`refill_ticks`]).
//! 2. The posterior probabilities of all candidates, and of no limiter, decide ([`posterior`]).

mod by_delays;
mod by_losses;
mod candidate_rates;
mod corrected;
pub(crate) mod delay_fit;
mod departures;
mod evidence;
pub(crate) mod loss_delay;
pub(crate) mod loss_gaps;
mod model;
pub mod posterior;
mod rate_lanes;
pub(crate) mod rate_search;
mod refill_ticks;
mod sender_line;
mod several_queues;
mod shaper_bucket;
mod sort;
pub(crate) mod virtual_queue;

use by_delays::{limiters_by_delays, limiters_by_rate, pinned_rate};
use by_losses::limiters_by_losses;
use delay_fit::{DelayFit, DrainRate};
use evidence::LimiterStatement;
use posterior::{LimiterCandidate, Proposal};
use result::diagnosis::LimiterKind;
use track::{LoggedPacket, PacketFate, Track};
use units::{Span, Time};
pub(crate) use virtual_queue::PackedSeconds;
use virtual_queue::{PacketArrival, TokenBucketFit};

/// A limiter that a search found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FoundLimiter {
    pub kind: LimiterKind,
    /// IP bytes a second.
    pub rate: f64,
    /// Bucket, bytes; `None` where there is none or it does not show.
    pub burst: Option<f64>,
    /// Seconds between refills of the bucket; `None` where it fills continuously.
    pub interval: Option<f64>,
    /// Each flow has a queue of its own.
    pub fair: bool,
    /// The queue drops by CoDel's control law.
    pub aqm: bool,
    /// Longest queue, bytes.
    pub queue: f64,
    /// Longest delay, seconds.
    pub delay: f64,
    /// The limiter is between capture and receiver.
    pub behind: bool,
    /// Share of packets lost.
    pub lost: f64,
    /// Posterior probability, 0 to 1.
    pub confidence: f64,
    /// Log likelihood ratio of the losses against chance, nats, less the penalty for two fitted parameters
    /// (rate and limit).
    pub loss_gain: f64,
    /// Loss episodes behind `loss_gain`.
    pub episodes: f64,
    /// The bucket that explains the losses.
    pub bucket: Option<TokenBucketFit>,
    /// The fit of delays to the backlog at the rate.
    pub delay_fit: Option<DelayFit>,
    /// The rate of departures while packets wait.
    pub drain: Option<DrainRate>,
}

impl FoundLimiter {
    /// Returns the lowest and highest rate, Mbit/s, that explain the losses equally well; `None` where they
    /// are close together, or where delays show the rate.
    pub(crate) fn rate_range_mbps(&self) -> Option<[f64; 2]> {
        let by_losses = self.bucket.filter(|b| b.rate == self.rate)?;
        by_losses.equivalent_rates.map(|(least, most)| [least * 8e-6, most * 8e-6])
    }
}

/// The path that the flows through a limiter share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathFacts {
    /// RTprop, seconds.
    pub base: f64,
    /// Mean RTT, seconds.
    pub rtt: f64,
    /// The search is for a limiter between capture and receiver, else for one before the capture.
    pub behind: bool,
    /// Some packets were merged into one arrival.
    pub merged: bool,
    /// The capture was taken at the sender, where nothing delays packets before it.
    pub sender: bool,
}

impl PathFacts {
    /// Returns the length of a loss episode, seconds: half a round trip.
    fn episode(&self) -> f64 {
        0.5 * self.rtt
    }
}

/// The `entry` of packets that are in no log: ACKs.
const ACK_ENTRY: u32 = u32::MAX;
/// A limiter is refuted if its rate is below this share of the rate that passed.
const MIN_RATE_SHARE: f64 = 0.85;
/// Delays up to this share of the round trip, and up to a millisecond, do not count as waiting.
const MIN_WAIT_SHARE: f64 = 0.05;
/// Rates that differ by less than this share are the same.
const SAME_RATE: f64 = 0.03;
/// Delays by timestamps below this, seconds, may come from the clock's granularity.
const MIN_CLOCK_DELAY_S: f64 = 0.0025;

/// ACKs of the other direction's data, which pass the same links as the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AckLoad {
    /// Seconds since 1970.
    pub at: f64,
    /// IP bytes.
    pub bytes: f32,
}

/// The packets of several tracks. Lists of arrivals are the most memory that a diagnosis needs, so they are
/// made on demand.
#[derive(Clone, Copy)]
pub(crate) struct LimiterPackets<'a> {
    pub tracks: &'a [&'a Track],
    /// Outages of each track's path, seconds since its connection's first packet. Losses within them are
    /// left out.
    pub gone: &'a [Vec<(f64, f64)>],
    /// ACKs that pass with the data.
    pub ack_load: &'a [AckLoad],
}

impl LimiterPackets<'_> {
    /// Returns the packets in the order of their arrival at a limiter `behind` or before the capture; times
    /// are seconds since the first. With `clocked`, `delay` is that from sender to capture by the
    /// sender's timestamps, and `at` the arrival at a limiter before the capture. Otherwise `delay` is
    /// the RTT and `at` the time of capture.
    pub(crate) fn arrivals(&self, behind: bool, clocked: bool) -> Vec<PacketArrival> {
        let data = self.tracks.iter().zip(self.gone).enumerate().flat_map(move |(flow, (track, gone))| {
            let mut before = None;
            let ack_wait = Self::ack_waits(track);
            track.log.iter().enumerate().filter_map(move |(entry, s)| {
                let lost = match s.fate {
                    PacketFate::Passed => false,
                    PacketFate::LostDown => behind,
                    // A packet that was lost before the capture never reached a limiter behind it.
                    PacketFate::LostUp if behind => return None,
                    PacketFate::LostUp => true,
                };
                let mut delay = PackedSeconds::from(s.rtt);
                if behind {
                    delay = delay.less(ack_wait(s));
                }
                let mut at = seconds(s.time);
                let since = at - seconds(track.first);
                if lost && gone.iter().any(|g| since > g.0 && since < g.1) {
                    return None;
                }
                if clocked {
                    // The packet reached the limiter before it waited there.
                    delay = if lost { PackedSeconds::UNKNOWN } else { s.delay.into() };
                    at -= micros(s.delay.or_zero());
                }
                // The packet was never captured. A limiter drops the end of a burst, so place it right behind
                // its predecessor.
                if s.fate == PacketFate::LostUp {
                    at = before.unwrap_or(at);
                }
                before = Some(at);
                let (bytes, size) = (s.bytes as f32, size(s));
                Some(PacketArrival { at, bytes, size, lost, delay, flow: flow as u16, entry: entry as u32 })
            })
        });
        // ACKs wait as long as the data packet before them.
        let (first, mut next) = (self.tracks.first().map_or(&[][..], |t| &t.log[..]), 0);
        let ack_load = self.ack_load.iter().map_while(move |a| {
            while next + 1 < first.len() && seconds(first[next + 1].time) < a.at {
                next += 1;
            }
            let s = first.get(next)?;
            let late = if clocked { micros(s.delay.or_zero()) } else { 0.0 };
            let (at, bytes) = (a.at - late, a.bytes);
            Some(PacketArrival {
                at,
                bytes,
                size: size(s),
                lost: false,
                delay: PackedSeconds::UNKNOWN,
                flow: 0,
                entry: ACK_ENTRY,
            })
        });
        let max_count = self.tracks.iter().map(|t| t.log.len()).sum::<usize>() + self.ack_load.len();
        let first = self.tracks.iter().filter_map(|t| t.log.first()).map(|s| seconds(s.time));
        let last = self.tracks.iter().filter_map(|t| t.log.last()).map(|s| seconds(s.time));
        let span = (first.fold(f64::INFINITY, f64::min), last.fold(f64::NEG_INFINITY, f64::max));
        let mut out = sort::by_time(data.chain(ack_load), max_count, span, |a| a.at);
        let origin = out.first().map_or(0.0, |a| a.at);
        out.iter_mut().for_each(|a| a.at -= origin);
        out
    }

    /// Whether the sender's timestamps show the delay to the capture of any packet.
    fn are_delays_known(&self) -> bool {
        self.tracks.iter().any(|t| t.log.iter().any(|s| s.delay.is_known()))
    }

    /// Whether [`LimiterPackets::arrivals`] are the same for both sides of the capture: nothing was lost, and
    /// no ACK waited.
    fn are_alike_on_both_sides(&self) -> bool {
        let passed = |t: &Track| t.log.iter().all(|s| s.fate == PacketFate::Passed);
        self.ack_load.is_empty() && self.tracks.iter().all(|t| !Self::has_ack_waits(t) && passed(t))
    }

    /// Whether the receiver's timestamps show that any ACK waited on its path.
    fn has_ack_waits(track: &Track) -> bool {
        track.bins.iter().any(|b| b.ack_delay.get().is_some_and(|delay| micros(delay) > MIN_CLOCK_DELAY_S))
    }

    /// Returns a function for the part of a packet's RTT in which its ACK waited, seconds, as far as the
    /// receiver's timestamps show it. Call it in the order of the log.
    fn ack_waits(track: &Track) -> impl Fn(&LoggedPacket) -> f32 + Clone {
        let (up, bin) =
            (track.rtt_up.min().unwrap_or_default().as_secs_f64(), track.bin.as_secs_f64().max(1e-6));
        // Most tracks have no such waits.
        let has_waits = Self::has_ack_waits(track);
        move |s| {
            let Some(rtt) = s.rtt.get().filter(|_| has_waits) else { return 0.0 };
            let back = s.time.since(track.first).as_secs_f64() + micros(rtt) - up;
            let index = (back / bin) as u32;
            let at = track.bins.binary_search_by_key(&index, |b| b.index).ok();
            let wait = at.and_then(|i| track.bins[i].ack_delay.get()).map_or(0.0, micros);
            if wait > MIN_CLOCK_DELAY_S { wait as f32 } else { 0.0 }
        }
    }
}

/// Returns seconds since 1970.
pub(crate) fn seconds(time: Time) -> f64 {
    time.as_secs_f64()
}

/// Returns a span of whole microseconds as seconds.
pub(crate) fn micros(span: Span) -> f64 {
    span.as_micros() as f64 * 1e-6
}

/// Returns the bytes of one of the merged packets.
fn size(s: &LoggedPacket) -> f32 {
    s.bytes as f32 / s.segments.max(1) as f32
}

/// The outcome of a search for a limiter.
pub(crate) enum LimiterSearch {
    /// No limiter is even proposed.
    Nothing,
    /// The most probable limiter is no more probable than no limiter; its `confidence` is its probability.
    Unlikely(FoundLimiter),
    /// A limiter, and the packets that it dropped, by flow and place in its log ([`dropped`]).
    Found(FoundLimiter, Vec<(u16, u32)>),
}

/// Searches for a limiter of these packets on one side of the capture. `kept`: the packets in order, where
/// they are the same on the other side of the capture; they are left there for the next search.
pub(crate) fn find(
    packets: &LimiterPackets,
    path: PathFacts,
    kept: &mut Option<Vec<PacketArrival>>,
) -> LimiterSearch {
    let arrivals = kept.take().unwrap_or_else(|| packets.arrivals(path.behind, false));
    let (mut candidates, arrivals) = candidates(packets, arrivals, path);
    let best = posterior::most_probable(&candidates);
    let Some(best) = best.filter(|best| best.beats_none) else {
        *kept = packets.are_alike_on_both_sides().then_some(arrivals);
        return best.map_or(LimiterSearch::Nothing, |best| {
            let found = candidates.swap_remove(best.candidate).found;
            LimiterSearch::Unlikely(FoundLimiter { confidence: best.probability, ..found })
        });
    };
    let confidence = best.probability;
    let LimiterCandidate { found, arrivals: at_line, .. } = candidates.swap_remove(best.candidate);
    let lost = arrivals.iter().filter(|a| a.lost).map(|a| a.bytes as f64).sum::<f64>();
    let lost = lost / arrivals.iter().map(|a| a.bytes as f64).sum::<f64>().max(1.0);
    let arrivals = at_line.unwrap_or(arrivals);
    let mut dropped =
        found.bucket.map_or_else(Vec::new, |b| dropped(&arrivals, &b, 0.5 * path.rtt, path.behind));
    let managed = managed_by(packets, &arrivals, path, &found);
    let aqm = managed.is_some();
    dropped.extend(managed.into_iter().flatten());
    let episodes = virtual_queue::episodes(&arrivals, path.episode()) as f64;
    LimiterSearch::Found(FoundLimiter { lost, aqm, confidence, episodes, ..found }, dropped)
}

/// Returns the candidate limiters of these packets, and the arrivals without ACKs.
fn candidates(
    packets: &LimiterPackets,
    mut arrivals: Vec<PacketArrival>,
    path: PathFacts,
) -> (Vec<LimiterCandidate>, Vec<PacketArrival>) {
    let alone = if path.behind { path } else { PathFacts { base: 0.0, ..path } };
    // Where the sender's clock shows the waits before the capture, the RTT adds nothing: it also contains the
    // ACKs' path.
    let mut clocked = (!path.behind).then(|| match packets.are_delays_known() {
        true => packets.arrivals(false, true),
        // Without delays only the search by losses uses the list.
        false if rate_search::are_too_few(&arrivals) => Vec::new(),
        false => arrivals.iter().map(|a| PacketArrival { delay: PackedSeconds::UNKNOWN, ..*a }).collect(),
    });
    let timed = clocked.as_ref().filter(|c| virtual_queue::has_delays(c));
    let mut out = timed.map_or_else(Vec::new, |c| limiters_by_delays(c, alone, MIN_CLOCK_DELAY_S));
    if path.behind || !path.sender && timed.is_none() {
        out.extend(limiters_by_delays(&arrivals, path, (MIN_WAIT_SHARE * path.base).max(0.001)));
    }
    let waits_known = timed.is_some();
    // The times of ACKs are not known well enough to follow packets one by one.
    if !packets.ack_load.is_empty() {
        arrivals.retain(|a| a.entry != ACK_ENTRY);
        clocked.iter_mut().for_each(|c| c.retain(|a| a.entry != ACK_ENTRY));
    }
    // Behind a queue packets arrive at its rate, which shows a queue where no delays are known. At the sender
    // the host's own window and pacing make rates.
    let pinned = clocked.as_ref().and_then(|_| pinned_rate(&arrivals, path));
    if let Some((rate, _)) = pinned.filter(|_| !path.sender && !waits_known) {
        out.extend(limiters_by_rate(&arrivals, rate, path));
    }
    out.extend(limiters_by_losses(&arrivals, clocked.as_deref(), path));
    relate(&mut out);
    out.retain(|c| !passes_too_much(&c.found, c.arrivals.as_ref().unwrap_or(&arrivals)));
    out.iter_mut().for_each(|c| observe(c, &arrivals, pinned));
    (out, arrivals)
}

/// Adds the statements that hold for limiters of any search: the number of losses, the used share of the
/// rate, and whether packets arrive at a queue's rate. `pinned`: the rate at which packets arrive, bytes a
/// second, and the share of the time.
fn observe(c: &mut LimiterCandidate, arrivals: &[PacketArrival], pinned: Option<(f64, f64)>) {
    use LimiterStatement::{Losses, Pinned, UnusedQueue};
    c.evidence.set(Losses, (arrivals.iter().filter(|a| a.lost).count() as f64).ln_1p());
    if c.found.kind == LimiterKind::Policer {
        return;
    }
    c.evidence.set(UnusedQueue, used_share(&c.found, arrivals).ln().min(0.0));
    if let Some((_, share)) = pinned.filter(|(rate, _)| same_rate(*rate, c.found.rate)) {
        c.evidence.set(Pinned, share);
    }
}

/// Returns the share of a limiter's rate that packets use, more than 0. Where losses leave the rate open, the
/// least rate counts.
fn used_share(found: &FoundLimiter, arrivals: &[PacketArrival]) -> f64 {
    let passed: f64 = arrivals.iter().filter(|a| !a.lost).map(|a| a.bytes as f64).sum();
    let (first, last) = virtual_queue::span(arrivals);
    let rate = found.rate_range_mbps().map_or(found.rate, |[least, _]| least / 8e-6);
    passed.max(1.0) / (rate * (last - first)).max(1.0)
}

/// Gives a shaper that was found by its losses the rate and queue that delays show, which are more exact.
fn relate(candidates: &mut [LimiterCandidate]) {
    let found: Vec<FoundLimiter> = candidates.iter().map(|c| c.found).collect();
    let by_losses = |c: &&mut LimiterCandidate| {
        c.found.bucket.is_some() && c.found.behind && c.found.kind == LimiterKind::Shaper
    };
    for c in candidates.iter_mut().filter(by_losses) {
        let queue = found.iter().find(|q| {
            q.bucket.is_none()
                && q.delay_fit.is_some()
                && q.burst.is_none()
                && same_rate(q.rate, c.found.rate)
        });
        if let Some(queue) = queue {
            c.found = FoundLimiter { kind: c.found.kind, burst: c.found.burst, ..*queue };
        }
    }
}

/// Returns the losses of a managed queue ([`model::aqm`]), by flow and place in its log; `None` where the
/// limiter has no managed queue.
fn managed_by(
    packets: &LimiterPackets,
    arrivals: &[PacketArrival],
    path: PathFacts,
    found: &FoundLimiter,
) -> Option<Vec<(u16, u32)>> {
    let queues = found.kind != LimiterKind::Policer && found.delay_fit.is_some();
    if !queues || !arrivals.iter().any(|a| a.lost) {
        return None;
    }
    let width = path.episode();
    let managed = match path.behind {
        true => model::aqm::managed_queue(arrivals, found.rate, path.base, width),
        false => model::aqm::managed_queue(&packets.arrivals(false, true), found.rate, 0.0, width),
    };
    (managed.gain > model::SURE_LEAD).then_some(managed.dropped)
}

/// A proposed limiter with its evidence, for learning where the truth is known.
#[derive(Clone, Debug)]
pub struct ProposedLimiter {
    /// Kind, rate and evidence.
    pub proposal: Proposal,
    /// Least and greatest rate, Mbit/s.
    pub rates_mbps: (f64, f64),
    /// Bucket, bytes: the limiter's own, or the bucket that explains the losses.
    pub burst: Option<f64>,
    /// The share of the rate that packets use.
    pub used: f64,
}

/// Returns all candidate limiters of these packets.
pub(crate) fn proposed(packets: &LimiterPackets, path: PathFacts) -> Vec<ProposedLimiter> {
    let (candidates, arrivals) = candidates(packets, packets.arrivals(path.behind, false), path);
    let proposed = |c: LimiterCandidate| {
        let open = c.found.rate_range_mbps().unwrap_or([c.found.rate * 8e-6; 2]);
        let burst = c.found.burst.or(c.found.bucket.map(|b| b.burst));
        let used = used_share(&c.found, &arrivals);
        ProposedLimiter { proposal: c.proposal(), rates_mbps: (open[0], open[1]), burst, used }
    };
    candidates.into_iter().map(proposed).collect()
}

/// Whether more passed than the limiter lets through, which refutes it.
fn passes_too_much(found: &FoundLimiter, arrivals: &[PacketArrival]) -> bool {
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else { return false };
    let passed: f64 = arrivals.iter().filter(|a| !a.lost).map(|a| a.bytes as f64).sum();
    let bucket = found.burst.unwrap_or(0.0) + found.queue;
    passed > 1.0 / MIN_RATE_SHARE * found.rate * (last.at - first.at) + bucket
}

/// Whether two rates are one within the error of their measurement.
pub(crate) fn same_rate(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < SAME_RATE
}

/// Returns the packets that the bucket dropped, by flow and place in its log.
///
/// Dropped packets are the losses with the virtual queue at least half full. Losses before the capture all
/// count, because their times are uncertain. Losses within `width` (seconds, about half a round trip) of a
/// loss that the bucket explains count too.
fn dropped(arrivals: &[PacketArrival], bucket: &TokenBucketFit, width: f64, behind: bool) -> Vec<(u16, u32)> {
    let least_depth = if behind { 0.5 * bucket.burst } else { 0.0 };
    let depths = arrivals.iter().zip(virtual_queue::depths_of(arrivals, bucket)).filter(|(a, _)| a.lost);
    let theirs = depths.filter(|(_, depth)| f64::from(*depth) > least_depth);
    let times: Vec<f64> = theirs.map(|(a, _)| a.at).collect();
    let near = |at: f64| {
        let next = times.partition_point(|t| *t < at - width);
        times.get(next).is_some_and(|t| *t <= at + width)
    };
    arrivals.iter().filter(|a| a.lost && near(a.at)).map(|a| (a.flow, a.entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limiter_is_refuted_by_packets_beyond_its_rate() {
        // 1 MB/s for ten seconds.
        let arrival = |i: u32| PacketArrival {
            at: i as f64 * 1e-3,
            bytes: 1000.0,
            size: 1000.0,
            lost: false,
            delay: PackedSeconds::UNKNOWN,
            flow: 0,
            entry: i,
        };
        let arrivals: Vec<PacketArrival> = (0..10_000).map(arrival).collect();
        let at = |rate: f64| FoundLimiter { rate, ..FoundLimiter::default() };
        assert!(!passes_too_much(&at(1e6), &arrivals));
        assert!(passes_too_much(&at(0.5e6), &arrivals));
        // A bucket passes its content in addition.
        assert!(!passes_too_much(&FoundLimiter { burst: Some(5e6), ..at(0.5e6) }, &arrivals));
        assert!(!passes_too_much(&at(1.0), &[]));
    }
}
