//! The cause of each loss of a flow: a policer's drop, a full queue, an outage, the packet's size, or chance.

use super::limiters::MAX_SEARCHED;
use super::outages::reach;
use super::too_big::SizeStall;
use super::vantage::are_waits_unseen;
use crate::limiter::loss_delay::delay_at_losses;
use crate::limiter::loss_gaps::{ClosedGaps, closed_gaps};
use crate::limiter::virtual_queue::{quantile, quantiles};
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
/// Least number of packets in an episode of losses that counts by itself as a queue's overflow: independent
/// losses do not come in such numbers.
const MIN_OVERFLOW_PACKETS: u64 = 10;
/// Least share of the packets with less delay than at such an episode: other losses meet such a delay once in
/// fifty times.
const MIN_OVERFLOW_RANK: f64 = 0.98;
/// Packets within this share of a round trip are one burst.
const BURST_SHARE: f64 = 0.1;
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

/// Returns the number of loss episodes: losses less than a round trip after the one before belong to one. The
/// `episodes` of a [`PacketProof`](result::diagnosis::PacketProof) are round trips, of which one such episode
/// may have several. `losses`: times, seconds, in order.
fn episodes(losses: impl Iterator<Item = f64>, rtt: f64) -> usize {
    let (mut count, mut until) = (0, f64::NEG_INFINITY);
    for at in losses {
        count += usize::from(at > until);
        until = at + rtt;
    }
    count
}

/// Up to this many episodes, the losses of a full queue, a policer and chance look alike: the bucket that was
/// full at first, the queue that slow start overfilled, and chance lose packets once each.
const FEW_EPISODES: usize = 2;

/// Returns the codes that say why the losses do not determine their cause, for
/// [`FlowDiagnosis::notes`](result::FlowDiagnosis::notes). `losses` as from [`losses`].
pub(super) fn notes(t: &Track, cause: Cause, losses: &[(f64, Cause)], of_all: QueueLossSigns) -> Vec<String> {
    let of_cause = losses.iter().filter(|loss| loss.1 == cause).map(|loss| loss.0);
    let rtt = t.rtt.mean().unwrap_or_default().as_secs_f64();
    let few =
        matches!(cause, Cause::RandomLoss | Cause::Congestion) && episodes(of_cause, rtt) <= FEW_EPISODES;
    // The waits of packets distinguish a queue, a policer and chance.
    let is_before = t.counts.lost_up > t.counts.lost_down;
    let waits_decide = matches!(cause, Cause::RandomLoss | Cause::Policed | Cause::Shaped);
    let unseen = waits_decide && is_before && are_waits_unseen(t);
    // A burst leaves the gaps of a full queue, too, where chance loses some of its packets.
    let in_front = matches!(cause, Cause::RandomLoss | Cause::Congestion);
    let too_short = in_front && is_before && of_all.too_short;
    let known = [(few, "few-loss-episodes"), (unseen, "waits-unseen"), (too_short, "waits-too-short")];
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
    /// Packets were lost in front of a link, as gaps show, at no longer delay than others: a queue there is
    /// shorter than the tick of the timestamps, or chance lost them.
    too_short: bool,
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
        (LossDelay::of(&mut losses, &mut passed, base), losses, passed)
    };
    let behind = delays_of(PacketFate::LostDown).0;
    let (before, mut losses, passed) = delays_of(PacketFate::LostUp);
    let known = !losses.is_empty();
    if before.is_some() || known && was_longer(&mut losses, &passed) {
        return QueueLossSigns { behind, before, too_short: false };
    }
    let gaps = gaps_before(tracks, known);
    let at_queues = LossDelay { delay: f32::NEG_INFINITY, all: true };
    let before = (gaps == Some(ClosedGaps::All)).then_some(at_queues);
    QueueLossSigns { behind, before, too_short: known && gaps.is_some() }
}

/// Whether the queue was clearly longer than at losses while packets passed, so that it was not full then.
/// Delays by timestamps spread evenly over a tick, of which the lower half of the delays shows a half.
fn was_longer(losses: &mut [f32], passed: &[f32]) -> bool {
    let [least, usual, longest] = quantiles(passed, [0.02, 0.5, 0.98]);
    longest > quantile(losses, 0.5) + 2.0 * (usual - least) + MIN_VISIBLE_DELAY.0 as f32
}

/// Returns what the gaps of packets show that were lost before the capture. Where delays are `known`, a queue
/// there is too short to show in them, and only gaps between packets that are not merged count.
fn gaps_before(tracks: &[&Track], known: bool) -> Option<ClosedGaps> {
    let lost = tracks.iter().any(|t| t.counts.lost_up > 0) && tracks.len() <= MAX_SEARCHED;
    let none = vec![Vec::new(); tracks.len()];
    let packets = LimiterPackets { tracks, gone: &none, ack_load: &[] };
    lost.then(|| closed_gaps(&packets.arrivals(false, false), known)).flatten()
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
        passed.sort_unstable_by(f32::total_cmp);
        for i in overflow(t, fate, &delay, &passed, (base, rtt)) {
            full[i] = true;
        }
        let Some(usual) = LossDelay::of(&mut losses, &mut passed, base).or(of_all) else { continue };
        for (i, s) in t.log.iter().enumerate() {
            full[i] |= s.fate == fate && usual.is_full(delay[i]);
        }
    }
    full
}

/// Returns the places of the losses that a queue's overflow explains even where most episodes of losses have
/// another cause: each is part of an episode of many losses, either at a delay that hardly any packet had, or
/// at the end of a burst. `passed`: the delays of packets that passed, sorted.
fn overflow(
    t: &Track,
    fate: PacketFate,
    delay: &[PackedSeconds],
    passed: &[f32],
    (base, rtt): (f64, f64),
) -> Vec<usize> {
    let visible = MIN_VISIBLE_DELAY.0.max(MIN_VISIBLE_DELAY.1 * base);
    let rank = |d: f32| passed.partition_point(|p| *p < d) as f64 / passed.len().max(1) as f64;
    let is_long = |d: f32| f64::from(d) >= visible && rank(d) >= MIN_OVERFLOW_RANK;
    let lost: Vec<usize> = (0..t.log.len()).filter(|i| t.log[*i].fate == fate).collect();
    let since = |from: usize, to: usize| seconds(t.log[to].time) - seconds(t.log[from].time);
    let overflows = lost.chunk_by(|a, b| since(*a, *b) < VALID_ROUND_TRIPS * rtt).filter(|episode| {
        let count: u64 = episode.iter().map(|i| u64::from(t.log[*i].segments)).sum();
        count >= MIN_OVERFLOW_PACKETS
            && (delay[episode[0]].get().is_some_and(is_long) || ends_burst(&t.log, episode, count, rtt))
    });
    overflows.flatten().copied().collect()
}

/// Whether an episode of `count` lost packets is the end of a burst of which the beginning passed, as where a
/// burst fills a queue or empties a bucket.
fn ends_burst(log: &[LoggedPacket], episode: &[usize], count: u64, rtt: f64) -> bool {
    let (from, to) = (episode[0], episode[episode.len() - 1]);
    let is_near = |a: &LoggedPacket, b: &LoggedPacket| seconds(b.time) - seconds(a.time) < BURST_SHARE * rtt;
    let passed = |p: &LoggedPacket| if p.fate == PacketFate::Passed { u64::from(p.segments) } else { 0 };
    let head: u64 = log[..from].iter().rev().take_while(|p| is_near(p, &log[from])).map(passed).sum();
    let tail: u64 = log[to..].iter().take_while(|p| is_near(&log[to], p)).map(passed).sum();
    is_near(&log[from], &log[to]) && head >= MIN_OVERFLOW_PACKETS && tail < count / 10
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
        let lost = bursts(Span::ZERO).log.into_iter().filter(|s| s.fate != PacketFate::Passed);
        let at: Vec<f64> = lost.map(|s| seconds(s.time)).collect();
        assert_eq!(episodes(at.iter().copied(), 0.05), 40);
        assert_eq!(episodes(at.iter().copied(), 0.2), 1);
    }

    #[test]
    fn without_waits_before_the_capture_a_policer_and_a_shaper_look_alike() {
        let told = |delays: bool, cause| {
            let mut t = lost_in_front(3, Span::ZERO);
            if delays {
                t.rtt_up.record(Span::from_millis(1));
            }
            notes(&t, cause, &[], QueueLossSigns::default()).contains(&"waits-unseen".to_string())
        };
        for cause in [Cause::Policed, Cause::Shaped, Cause::RandomLoss] {
            assert!(told(false, cause) && !told(true, cause), "{cause:?}");
        }
        assert!(!told(false, Cause::Bottleneck));
    }

    #[test]
    fn a_cause_of_two_moments_is_noted_whatever_else_was_lost() {
        let t = bursts(Span::ZERO);
        let few = |first: usize| {
            let cause = |i: usize| if i < first { Cause::RandomLoss } else { Cause::Policed };
            let losses: Vec<(f64, Cause)> = (0..40).map(|i| (0.1 * i as f64, cause(i))).collect();
            notes(&t, Cause::RandomLoss, &losses, QueueLossSigns::default())
                .contains(&"few-loss-episodes".to_string())
        };
        assert!(few(2) && !few(3));
    }

    /// Bursts of ten packets leave a link back to back. Of each burst one is lost in front of it, and leaves no
    /// gap but for one burst in `open`. Delays are known to a tick of 1 ms. In one burst of 20 without a loss
    /// all packets wait for `wait`.
    fn lost_in_front(open: u64, wait: Span) -> Track {
        let packet = |i: u64| {
            let (burst, place) = (i / 10, i % 10);
            let waits = burst % 20 == 10;
            let is_lost = place == 5 && !waits;
            let after = if place > 5 && !is_lost && burst % open != 0 { place - 1 } else { place };
            let delay = Span::from_micros(i * 37 % 1000) + if waits { wait } else { Span::ZERO };
            LoggedPacket {
                time: Time::ZERO + Span::from_millis(100 * burst) + Span::from_micros(20 * after),
                bytes: 1500,
                segments: 1,
                rtt: if is_lost { PackedSpan::UNKNOWN } else { PackedSpan::known(Span::from_millis(11)) },
                delay: PackedSpan::known(delay),
                fate: if is_lost { PacketFate::LostUp } else { PacketFate::Passed },
                number: i as u32,
                ..LoggedPacket::default()
            }
        };
        let mut t = Track { log: (0..4000).map(packet).collect(), ..Track::default() };
        t.counts.lost_up = 380;
        t.counts.retransmitted_packets = 380;
        t
    }

    #[test]
    fn a_queue_shorter_than_a_tick_is_not_sure() {
        let told = |open: u64, wait: Span| {
            let t = lost_in_front(open, wait);
            let signs = full(&[&t], 0.011);
            let all = losses(&t, 0.011, 0.011, (&[], Cause::Congestion), (&[], &[]), signs);
            let cause = all[0].1;
            assert!(all.iter().all(|loss| loss.1 == cause), "{all:?}");
            (cause, notes(&t, cause, &all, signs).contains(&"waits-too-short".to_string()))
        };
        assert_eq!(told(1000, Span::ZERO), (Cause::Congestion, true));
        assert_eq!(told(3, Span::ZERO), (Cause::RandomLoss, true));
        // The queue was longer while nothing was lost.
        assert_eq!(told(1000, Span::from_millis(5)), (Cause::RandomLoss, false));
    }

    /// A packet each `spacing` on a path of 100 ms, of which every 997th is lost. From the 1000th on `count`
    /// more are lost in a row, at a delay that has risen by `delay` over the 50 packets before.
    fn episode(spacing: Span, count: u64, delay: Span) -> Track {
        let packet = |i: u64| {
            let is_lost = i % 997 == 500 || (1000..1000 + count).contains(&i);
            let waited = if (950..1000).contains(&i) { delay * (i - 949) / 50 } else { Span::ZERO };
            let rtt = PackedSpan::known(Span::from_millis(100) + waited);
            // Without a spacing a hundred packets leave at once.
            let since = if spacing.is_zero() { Span::from_millis(200) * (i / 100) } else { spacing * i };
            LoggedPacket {
                time: Time::ZERO + since,
                bytes: 1500,
                rtt: if is_lost { PackedSpan::UNKNOWN } else { rtt },
                segments: 1,
                fate: if is_lost { PacketFate::LostDown } else { PacketFate::Passed },
                number: i as u32,
                ..LoggedPacket::default()
            }
        };
        Track { log: (0..10_000).map(packet).collect(), ..Track::default() }
    }

    fn counted(t: &Track) -> (usize, usize) {
        let all = losses(t, 0.1, 0.1, (&[], Cause::Congestion), (&[], &[]), full(&[t], 0.1));
        let by = |cause: Cause| all.iter().filter(|l| l.1 == cause).count();
        (by(Cause::Congestion), by(Cause::RandomLoss))
    }

    #[test]
    fn one_overflow_among_random_losses_shows_by_its_delay() {
        let spacing = Span::from_millis(1);
        assert_eq!(counted(&episode(spacing, 40, Span::from_millis(25))), (40, 10));
        // Without delay, or of a few packets, it is one of the random losses.
        assert_eq!(counted(&episode(spacing, 40, Span::ZERO)), (0, 50));
        assert_eq!(counted(&episode(spacing, 5, Span::from_millis(25))), (0, 15));
    }

    #[test]
    fn the_lost_end_of_a_burst_is_an_overflow() {
        // Bursts of a hundred packets: of one the last forty are lost, of another forty in the middle.
        let end = |from: u64| {
            let mut t = episode(Span::ZERO, 0, Span::ZERO);
            for p in &mut t.log[from as usize..from as usize + 40] {
                (p.fate, p.rtt) = (PacketFate::LostDown, PackedSpan::UNKNOWN);
            }
            counted(&t)
        };
        assert_eq!(end(2060), (40, 10));
        assert_eq!(end(2030), (0, 50));
    }
}
