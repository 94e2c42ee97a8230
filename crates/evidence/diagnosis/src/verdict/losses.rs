//! What each loss of a flow was: a policer's drop, a full queue, the path gone, or nothing that shows.

use super::limiters::MOST_ASKED;
use super::outages::reach;
use super::too_big::SizeStall;
use super::vantage::are_waits_unseen;
use crate::limiter::loss_delay::delay_at_losses;
use crate::limiter::loss_gaps::all_gaps_closed;
use crate::limiter::{LimiterPackets, micros, micros32, seconds};
use result::diagnosis::Cause;
use std::collections::BTreeSet;
use track::{LoggedPacket, PacketFate, Track};

/// A queue is full when the delay is at least this share of what it usually is at losses.
const LONG: f32 = 0.5;
/// Shorter delays, seconds, jitter makes too, however short the path ([`super::evidence`] holds delays against the same).
const STANDS: f64 = super::evidence::LEAST_STANDING;
/// A queue that never delayed packets by so much, seconds and share of the path's round trip, shows in no capture: what they wait for is
/// as well the line in front of a policer.
const VISIBLE: (f64, f64) = (1e-3, 0.02);
/// Where half of the packets are cut in two and each fragment is lost alike, two of three lost packets were cut.
const MOSTLY_FRAGMENTS: f64 = 0.5;
/// A delay measured this share of a round trip ago still holds, and losses within it are of one queue.
const FRESH: f64 = 0.5;

/// When packets were lost, seconds since the connection's first packet, and to what. `dropped`: places in the log of what
/// a limiter dropped, and what that makes of them; `outages` as [`super::outages`] says, `stalls` as [`super::too_big`].
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
    // What else is lost in the round trip changes nothing: congestion control answers a window's losses once (RFC 5681
    // section 4.3), and the first of them speaks for all.
    let mut answered = f64::NEG_INFINITY;
    for (i, s) in t.log.iter().enumerate().filter(|(_, s)| s.fate != PacketFate::Passed) {
        let at = seconds(s.time);
        let since = at - first;
        let cause = if let Some(stall) = stalls.iter().find(|stall| stall.explains(s, since)) {
            stall.cause
        } else if t.lost_probes.contains(&s.time) {
            Cause::PacketTooBig // Congestion control does not answer it (RFC 4821 section 7.6.1).
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

/// How many times packets were lost, those within a round trip of each other counted once: congestion control answers them once (RFC
/// 5681 section 4.3).
fn episodes(t: &Track) -> usize {
    let rtt = t.rtt.mean().unwrap_or_default();
    let (mut count, mut until) = (0, None);
    for s in t.log.iter().filter(|s| s.fate != PacketFate::Passed) {
        count += usize::from(until.is_none_or(|until| s.time > until));
        until = Some(s.time + rtt);
    }
    count
}

/// The losses of a full queue, a policer and chance look alike up to so many episodes: a bucket that was full at first, a queue that slow
/// start overfilled, and chance lose packets once each.
const FEW_EPISODES: usize = 2;

/// What the losses leave open of their cause: codes of [`FlowDiagnosis::notes`](result::FlowDiagnosis::notes).
pub(super) fn notes(t: &Track, cause: Cause) -> Vec<String> {
    let few = matches!(cause, Cause::RandomLoss | Cause::Congestion) && episodes(t) <= FEW_EPISODES;
    // How long packets waited tells a full queue from a policer and from chance.
    let unseen = matches!(cause, Cause::RandomLoss | Cause::Policed)
        && t.counts.lost_up > t.counts.lost_down
        && are_waits_unseen(t);
    let known = [(few, "few-loss-episodes"), (unseen, "waits-unseen")];
    known.iter().filter(|(holds, _)| *holds).map(|(_, code)| code.to_string()).collect()
}

/// A packet of the log is larger than those that come whole, of a flow most of whose packets come in fragments.
fn comes_in_fragments(t: &Track, s: &LoggedPacket) -> bool {
    let most = t.counts.fragmented_packets as f64 > MOSTLY_FRAGMENTS * t.counts.data_packets as f64;
    most && t.fragment_fits.is_some_and(|fits| s.bytes / u32::from(s.segments.max(1)) > fits)
}

/// What delays just before losses say, behind the capture and before it, where losses go with delay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueLossSigns {
    behind: Option<LossDelay>,
    before: Option<LossDelay>,
}

#[derive(Clone, Copy, Debug)]
struct LossDelay {
    /// Their median, seconds.
    delay: f32,
    /// Most came with a long queue: so did those that have no delay, most likely.
    all: bool,
}

impl LossDelay {
    /// On a path of a round trip of `base` seconds.
    fn of(losses: &mut [f32], passed: &mut [f32], base: f64) -> Option<LossDelay> {
        let visible = VISIBLE.0.min(VISIBLE.1 * base);
        let delay = delay_at_losses(losses, passed).filter(|d| f64::from(*d) >= visible)?;
        let long = losses.iter().filter(|d| **d > LONG * delay).count();
        Some(LossDelay { delay, all: 2 * long > losses.len() })
    }

    /// Whether a packet lost at this delay was lost at a full queue.
    fn is_full(&self, delay: f32) -> bool {
        if delay.is_finite() { delay > LONG * self.delay } else { self.all }
    }
}

/// The same of all flows of a way, which share its queues: each alone may have lost too little to tell.
pub(super) fn full(tracks: &[&Track], base: f64) -> QueueLossSigns {
    let mut some: Vec<&Track> =
        tracks.iter().copied().filter(|t| t.counts.retransmitted_packets > 0).collect();
    some.sort_by_key(|t| std::cmp::Reverse(t.counts.retransmitted_packets));
    some.truncate(MOST_ASKED);
    let of = |fate| {
        let (mut losses, mut passed) = (Vec::new(), Vec::new());
        for t in &some {
            let delay = delays(t, fate, base);
            beside(t, fate, &delay, t.rtt.mean().unwrap_or_default().as_secs_f64(), &mut losses, &mut passed);
        }
        (LossDelay::of(&mut losses, &mut passed, base), !losses.is_empty())
    };
    let (before, told) = of(PacketFate::LostUp);
    QueueLossSigns { behind: of(PacketFate::LostDown).0, before: before.or_else(|| by_gaps(tracks, told)) }
}

/// What was lost before the capture and does not go with delays: all at full queues if no gap took time. Where delays are
/// `told`, the queue would have to be too short to show in them, and only gaps that are known to the packet say so.
fn by_gaps(tracks: &[&Track], told: bool) -> Option<LossDelay> {
    let lost = tracks.iter().any(|t| t.counts.lost_up > 0) && tracks.len() <= MOST_ASKED;
    let none = vec![Vec::new(); tracks.len()];
    let all = lost
        && all_gaps_closed(
            &LimiterPackets { tracks, gone: &none, ack_load: &[] }.arrivals(false, false),
            told,
        );
    all.then_some(LossDelay { delay: f32::NEG_INFINITY, all })
}

/// Which packets of the log were lost at a full queue: those that came when it was long, where losses go with that.
fn at_full_queue(t: &Track, base: f64, rtt: f64, of_all: QueueLossSigns) -> Vec<bool> {
    let mut full = vec![false; t.log.len()];
    for (fate, of_all) in [(PacketFate::LostDown, of_all.behind), (PacketFate::LostUp, of_all.before)] {
        // Of most flows nothing was lost, or on one side only.
        if !t.log.iter().any(|s| s.fate == fate) {
            continue;
        }
        let (mut losses, mut passed) = (Vec::new(), Vec::new());
        let delay = delays(t, fate, base);
        beside(t, fate, &delay, rtt, &mut losses, &mut passed);
        // Who waits longer than the path is long stands in a full link's queue, be it always as long.
        for (i, s) in t.log.iter().enumerate() {
            let stands = fate == PacketFate::LostDown && f64::from(delay[i]) > base.max(STANDS);
            full[i] |= s.fate == fate && stands;
        }
        let Some(usual) = LossDelay::of(&mut losses, &mut passed, base).or(of_all) else { continue };
        for (i, s) in t.log.iter().enumerate() {
            full[i] |= s.fate == fate && usual.is_full(delay[i]);
        }
    }
    full
}

/// What losses are held against: behind the capture the delay of the round trip, before it that of the way to it.
fn delays(t: &Track, fate: PacketFate, base: f64) -> Vec<f32> {
    if fate == PacketFate::LostDown { round_trips(t, base) } else { ways(t) }
}

/// Adds the delay beside losses, and that of what passed. Losses of one queue say it once.
fn beside(
    t: &Track,
    fate: PacketFate,
    delay: &[f32],
    rtt: f64,
    losses: &mut Vec<f32>,
    passed: &mut Vec<f32>,
) {
    let mut until = f64::NEG_INFINITY;
    for (s, d) in t.log.iter().zip(delay).filter(|(_, d)| d.is_finite()) {
        if s.rtt.is_known() {
            passed.push(*d);
        } else if s.fate == fate && seconds(s.time) > until {
            losses.push(*d);
            until = seconds(s.time) + FRESH * rtt;
        }
    }
}

/// Delay of the round trip above the least, seconds, of each packet or (where it has none) of the last before it; the
/// lesser of two, because now and then an ACK is held back.
fn round_trips(t: &Track, base: f64) -> Vec<f32> {
    let (mut last, mut least, mut until) = (f32::NAN, f32::NAN, f64::INFINITY);
    let of = |s: &LoggedPacket| {
        let at = seconds(s.time);
        if let Some(rtt) = s.rtt.get() {
            let now = (micros(rtt) - base) as f32;
            (last, least, until) = (now, now.min(last), at + FRESH * (base + now as f64));
        }
        if at < until { least } else { f32::NAN }
    };
    t.log.iter().map(of).collect()
}

/// Delay on the way to the capture above the least, seconds, likewise.
fn ways(t: &Track) -> Vec<f32> {
    let mut last = f32::NAN;
    let of = |s: &LoggedPacket| {
        if s.fate == PacketFate::Passed && s.delay.is_known() {
            last = micros32(s.delay.get());
        }
        last
    };
    t.log.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use track::PackedSpan;
    use units::{Span, Time};

    /// Bursts of ten packets on a path of 11 ms: each waits for those before it, and the last one is lost.
    fn bursts(each: Span) -> Track {
        let packet = |i: u64| {
            let (burst, place) = (i / 10, i % 10);
            let rtt = Span::from_millis(11) + each * place;
            LoggedPacket {
                time: Time::ZERO + Span::from_millis(100 * burst) + Span::from_micros(place),
                bytes: 1500,
                rtt: if place < 9 { PackedSpan::known(rtt) } else { PackedSpan::UNKNOWN },
                segments: 1,
                again: false,
                delay: PackedSpan::UNKNOWN,
                fate: if place < 9 { PacketFate::Passed } else { PacketFate::LostDown },
                number: i as u32,
            }
        };
        Track { log: (0..400).map(packet).collect(), ..Track::default() }
    }

    #[test]
    fn losses_go_with_a_queue_only_if_it_delays_more_than_a_line_does() {
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
