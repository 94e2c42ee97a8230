//! The cause of each loss of a flow: a policer's drop, a full queue, an outage, the packet's size, or chance.

use super::limiters::MAX_SEARCHED;
use super::outages::reach;
use super::too_big::SizeStall;
use super::vantage::are_waits_unseen;
use crate::limiter::loss_delay::delay_at_losses;
use crate::limiter::loss_gaps::all_gaps_closed;
use crate::limiter::{LimiterPackets, PackedSeconds, micros, seconds};
use result::diagnosis::Cause;
use std::collections::BTreeSet;
use track::{LoggedPacket, PacketFate, Track};

/// A queue is full when the delay is at least this share of the usual delay at losses.
const FULL_QUEUE_SHARE: f32 = 0.5;
/// Least delay of a standing queue, seconds, on paths of any length: jitter reaches less.
const STANDING_DELAY_S: f64 = super::evidence::MIN_STANDING_DELAY_S;
/// Least delay of a queue that a capture shows, in seconds and as a share of RTprop. Packets also wait as
/// long for the line in front of a policer.
const MIN_VISIBLE_DELAY: (f64, f64) = (1e-3, 0.02);
/// Losses are attributed to fragmentation if at least this share of packets is fragmented: where half of the
/// packets are cut in two and fragments are lost alike, two of three lost packets were cut.
const MOSTLY_FRAGMENTS: f64 = 0.5;
/// Share of a round trip for which a measured delay stays valid, and within which losses belong to one queue.
const VALID_ROUND_TRIPS: f64 = 0.5;

/// Returns the time of each loss, seconds since the connection's first packet, and its cause. `dropped`:
/// places in the log of packets that the limiter dropped, and the cause `by` that they have. `outages` and
/// `stalls` come from [`super::outages`] and [`super::too_big`].
pub(crate) fn losses(
    t: &Track,
    base: f64,
    rtt: f64,
    (dropped, by): (&[u32], Cause),
    (outages, stalls): (&[(f64, f64)], &[SizeStall]),
    of_all: QueueLossSigns,
) -> Vec<(f64, Cause)> {
    let first = seconds(t.first);
    let dropped: BTreeSet<u32> = dropped.iter().copied().collect();
    let full = at_full_queue(t, base, rtt, of_all);
    let gone: Vec<(f64, f64)> = outages.iter().map(|o| reach(*o, rtt)).collect();
    let mut out = Vec::new();
    // Congestion control responds once to the losses of a window (RFC 5681 section 4.3), so the first loss
    // decides for its round trip.
    let mut answered = f64::NEG_INFINITY;
    for (i, s) in t.log.iter().enumerate().filter(|(_, s)| s.fate != PacketFate::Passed) {
        let at = seconds(s.time);
        let since = at - first;
        let cause = if let Some(stall) = stalls.iter().find(|stall| stall.explains(s, since)) {
            stall.cause
        } else if t.lost_probes.contains(&s.time) {
            Cause::PacketTooBig // Congestion control does not respond to a lost probe (RFC 4821 section 7.6.1).
        } else if dropped.contains(&(i as u32)) {
            by
        } else if gone.iter().any(|g| since > g.0 && since < g.1) {
            Cause::Outage
        } else if full[i] {
            answered = since + rtt;
            Cause::Congestion
        } else if since < answered {
            Cause::Congestion
        } else if comes_in_fragments(t, s) {
            Cause::Fragmented
        } else {
            Cause::RandomLoss
        };
        out.push((since, cause));
    }
    out
}

/// Returns the number of loss episodes. Losses within a round trip count once, because congestion control
/// responds to them once (RFC 5681 section 4.3).
fn episodes(t: &Track) -> usize {
    let rtt = t.rtt.mean().unwrap_or_default();
    let (mut count, mut until) = (0, None);
    for s in t.log.iter().filter(|s| s.fate != PacketFate::Passed) {
        count += usize::from(until.is_none_or(|until| s.time > until));
        until = Some(s.time + rtt);
    }
    count
}

/// Up to this many episodes, the losses of a full queue, a policer and chance look alike: the bucket that was
/// full at first, the queue that slow start overfilled, and chance lose packets once each.
const FEW_EPISODES: usize = 2;

/// Returns the codes that say why the losses do not determine their cause, for
/// [`FlowDiagnosis::notes`](result::FlowDiagnosis::notes).
pub(super) fn notes(t: &Track, cause: Cause) -> Vec<String> {
    let few = matches!(cause, Cause::RandomLoss | Cause::Congestion) && episodes(t) <= FEW_EPISODES;
    // The waits of packets distinguish a full queue from a policer and from chance.
    let unseen = matches!(cause, Cause::RandomLoss | Cause::Policed)
        && t.counts.lost_up > t.counts.lost_down
        && are_waits_unseen(t);
    let known = [(few, "few-loss-episodes"), (unseen, "waits-unseen")];
    known.iter().filter(|(holds, _)| *holds).map(|(_, code)| code.to_string()).collect()
}

/// Whether the packet is larger than those that arrive unfragmented, in a flow with mostly fragmented
/// packets.
fn comes_in_fragments(t: &Track, s: &LoggedPacket) -> bool {
    let is_fragmented = t.counts.fragmented_packets as f64 > MOSTLY_FRAGMENTS * t.counts.data_packets as f64;
    is_fragmented && t.fragment_fits.is_some_and(|fits| s.bytes / u32::from(s.segments.max(1)) > fits)
}

/// The delays just before losses, for either side of the capture; `None` where losses do not come with delay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueLossSigns {
    behind: Option<LossDelay>,
    before: Option<LossDelay>,
}

#[derive(Clone, Copy, Debug)]
struct LossDelay {
    /// Median, seconds.
    delay: f32,
    /// Most losses came with a long queue, so those without a known delay probably did too.
    all: bool,
}

impl LossDelay {
    /// Tests whether losses come with delay, on a path with an RTprop of `base` seconds.
    fn of(losses: &mut [f32], passed: &mut [f32], base: f64) -> Option<LossDelay> {
        let visible = MIN_VISIBLE_DELAY.0.min(MIN_VISIBLE_DELAY.1 * base);
        let delay = delay_at_losses(losses, passed).filter(|d| f64::from(*d) >= visible)?;
        let long = losses.iter().filter(|d| **d > FULL_QUEUE_SHARE * delay).count();
        Some(LossDelay { delay, all: 2 * long > losses.len() })
    }

    /// Whether a packet lost at this delay was lost at a full queue.
    fn is_full(&self, delay: PackedSeconds) -> bool {
        delay.get().map_or(self.all, |delay| delay > FULL_QUEUE_SHARE * self.delay)
    }
}

/// Tests whether losses come with delay over all flows of a direction, which share its queues. A single flow
/// may have lost too little.
pub(super) fn full(tracks: &[&Track], base: f64) -> QueueLossSigns {
    let mut some: Vec<&Track> =
        tracks.iter().copied().filter(|t| t.counts.retransmitted_packets > 0).collect();
    some.sort_by_key(|t| std::cmp::Reverse(t.counts.retransmitted_packets));
    some.truncate(MAX_SEARCHED);
    let delays_of = |fate| {
        let (mut losses, mut passed) = (Vec::new(), Vec::new());
        for t in &some {
            let delay = delays(t, fate, base);
            collect_delays(
                t,
                fate,
                &delay,
                t.rtt.mean().unwrap_or_default().as_secs_f64(),
                &mut losses,
                &mut passed,
            );
        }
        (LossDelay::of(&mut losses, &mut passed, base), !losses.is_empty())
    };
    let (before, known) = delays_of(PacketFate::LostUp);
    QueueLossSigns {
        behind: delays_of(PacketFate::LostDown).0,
        before: before.or_else(|| by_gaps(tracks, known)),
    }
}

/// Tests the gaps of packets that were lost before the capture: if no gap took time, all were lost at full
/// queues. Where delays are `known`, such a queue is too short to show in them, and only gaps between packets
/// that are not merged count.
fn by_gaps(tracks: &[&Track], known: bool) -> Option<LossDelay> {
    let lost = tracks.iter().any(|t| t.counts.lost_up > 0) && tracks.len() <= MAX_SEARCHED;
    let none = vec![Vec::new(); tracks.len()];
    let all_at_queues = lost
        && all_gaps_closed(
            &LimiterPackets { tracks, gone: &none, ack_load: &[] }.arrivals(false, false),
            known,
        );
    all_at_queues.then_some(LossDelay { delay: f32::NEG_INFINITY, all: all_at_queues })
}

/// Returns which packets of the log were lost at a full queue: those that came when it was long, if losses
/// come with long queues.
fn at_full_queue(t: &Track, base: f64, rtt: f64, of_all: QueueLossSigns) -> Vec<bool> {
    let mut full = vec![false; t.log.len()];
    for (fate, of_all) in [(PacketFate::LostDown, of_all.behind), (PacketFate::LostUp, of_all.before)] {
        // Most flows lost nothing, or only on one side.
        if !t.log.iter().any(|s| s.fate == fate) {
            continue;
        }
        let (mut losses, mut passed) = (Vec::new(), Vec::new());
        let delay = delays(t, fate, base);
        collect_delays(t, fate, &delay, rtt, &mut losses, &mut passed);
        // A packet that waits longer than RTprop waits in a full link's queue, even if every packet waits as
        // long.
        for (i, s) in t.log.iter().enumerate() {
            let is_long = |delay: f32| f64::from(delay) > base.max(STANDING_DELAY_S);
            let stands = fate == PacketFate::LostDown && delay[i].get().is_some_and(is_long);
            full[i] |= s.fate == fate && stands;
        }
        let Some(usual) = LossDelay::of(&mut losses, &mut passed, base).or(of_all) else { continue };
        for (i, s) in t.log.iter().enumerate() {
            full[i] |= s.fate == fate && usual.is_full(delay[i]);
        }
    }
    full
}

/// Returns the delay at each packet with which losses are compared: the RTT behind the capture, the delay to
/// the capture before it.
fn delays(t: &Track, fate: PacketFate, base: f64) -> Vec<PackedSeconds> {
    if fate == PacketFate::LostDown { round_trips(t, base) } else { delays_to_capture(t) }
}

/// Collects the delays at losses and those of packets that passed. Losses of one queue count once.
fn collect_delays(
    t: &Track,
    fate: PacketFate,
    delay: &[PackedSeconds],
    rtt: f64,
    losses: &mut Vec<f32>,
    passed: &mut Vec<f32>,
) {
    let mut until = f64::NEG_INFINITY;
    for (s, delay) in t.log.iter().zip(delay).filter_map(|(s, delay)| Some((s, delay.get()?))) {
        if s.rtt.is_known() {
            passed.push(delay);
        } else if s.fate == fate && seconds(s.time) > until {
            losses.push(delay);
            until = seconds(s.time) + VALID_ROUND_TRIPS * rtt;
        }
    }
}

/// Returns each packet's RTT above the least, seconds, or the last known one. The lesser of two neighbours
/// counts, because ACKs are occasionally delayed.
fn round_trips(t: &Track, base: f64) -> Vec<PackedSeconds> {
    let (mut last, mut least, mut until) = (None, PackedSeconds::UNKNOWN, f64::INFINITY);
    let rtt_at = |s: &LoggedPacket| {
        let at = seconds(s.time);
        if let Some(rtt) = s.rtt.get() {
            let now = (micros(rtt) - base) as f32;
            least = PackedSeconds::known(last.map_or(now, |last| now.min(last)));
            (last, until) = (Some(now), at + VALID_ROUND_TRIPS * (base + now as f64));
        }
        if at < until { least } else { PackedSeconds::UNKNOWN }
    };
    t.log.iter().map(rtt_at).collect()
}

/// Returns each packet's delay to the capture above the least, seconds, or the last known one.
fn delays_to_capture(t: &Track) -> Vec<PackedSeconds> {
    let mut last = PackedSeconds::UNKNOWN;
    let delay_at = |s: &LoggedPacket| {
        if s.fate == PacketFate::Passed {
            last = PackedSeconds::from(s.delay).or(last);
        }
        last
    };
    t.log.iter().map(delay_at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use track::PackedSpan;
    use units::{Span, Time};

    /// Bursts of ten packets on a path of 11 ms. Each packet waits for its predecessors, and the last one is
    /// lost.
    fn bursts(each: Span) -> Track {
        let packet = |i: u64| {
            let (burst, place) = (i / 10, i % 10);
            let rtt = Span::from_millis(11) + each * place;
            LoggedPacket {
                time: Time::ZERO + Span::from_millis(100 * burst) + Span::from_micros(place),
                bytes: 1500,
                rtt: if place < 9 { PackedSpan::known(rtt) } else { PackedSpan::UNKNOWN },
                segments: 1,
                fate: if place < 9 { PacketFate::Passed } else { PacketFate::LostDown },
                ..LoggedPacket::default()
            }
        };
        Track { log: (0..400).map(packet).collect(), ..Track::default() }
    }

    #[test]
    fn losses_are_congestion_only_if_the_delay_exceeds_that_of_a_line() {
        let causes = |each: Span| {
            let t = bursts(each);
            let all = losses(&t, 0.011, 0.011, (&[], Cause::Congestion), (&[], &[]), full(&[&t], 0.011));
            all.into_iter().map(|l| l.1).collect::<BTreeSet<Cause>>()
        };
        assert_eq!(causes(Span::from_micros(200)), BTreeSet::from([Cause::Congestion]));
        // The line in front of a policer: 12 us a packet.
        assert_eq!(causes(Span::from_micros(12)), BTreeSet::from([Cause::RandomLoss]));
    }

    #[test]
    fn losses_within_a_round_trip_are_one_episode() {
        let mut t = bursts(Span::ZERO);
        t.rtt.record(Span::from_millis(50));
        assert_eq!(episodes(&t), 40);
        t.rtt.record(Span::from_millis(350));
        assert_eq!(episodes(&t), 1);
    }
}
