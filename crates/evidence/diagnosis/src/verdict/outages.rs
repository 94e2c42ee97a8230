//! Times in which nothing passed between two hosts.
//!
//! Losses do not stop ACKs, because the packets after a lost one are acknowledged. Where a queue or a policer
//! drops all outstanding packets of one flow, other flows go on. So the path had an outage where no flow
//! between the hosts got an ACK although enough was outstanding, and the lost data was retransmitted at the
//! end. A sender retransmits data that is not acknowledged (RFC 6298 section 5); if none did, the capture
//! lacks the ACKs. Behind the outage a capture sees nothing outstanding. There an outage differs from an idle
//! sender by packets that are as late as the outage is long, or by packets that are missing when traffic
//! resumes.

use super::UNKNOWN_RTT;
use super::gaps::lacks_acks;
use super::measures::is_one_way;
use crate::limiter::{micros, seconds};
use std::ops::Range;
use track::{LoggedPacket, PacketFate, PauseKind, Track, WaitReason};

/// Least time without ACKs that counts as a silence, seconds: delayed ACKs take as long (Linux'
/// `TCP_DELACK_MAX`).
const MIN_SILENCE_S: f64 = 0.2;

/// A time without any ACK between two hosts, seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSilence {
    from: f64,
    to: f64,
    /// One of the flows shows that the path had an outage.
    gone: bool,
}
impl AckSilence {
    /// Returns start and end, seconds since `first`.
    pub fn since(&self, first: f64) -> (f64, f64) {
        (self.from - first, self.to - first)
    }
}

/// A sender that returns from a timeout sends fewer segments at once than this: its window is one segment
/// (RFC 5681 section 3.1).
const MIN_BURST_SEGMENTS: usize = 2;
/// Longest first timeout, in seconds and in round trips (RFC 6298 section 2). A shorter silence that one
/// timeout ends may be a lost tail.
const FIRST_TIMEOUT: (f64, f64) = (1.0, 3.0);

/// Returns the longest first timeout of a sender with this RTT, seconds.
pub(super) fn first_timeout(rtt: f64) -> f64 {
    FIRST_TIMEOUT.0.max(FIRST_TIMEOUT.1 * rtt)
}

/// Least number of unanswered timeouts that cannot be a lost tail.
const MIN_UNANSWERED_TIMEOUTS: usize = 2;

/// Returns the times without any ACK of these tracks.
pub(crate) fn silences(tracks: &[&Track]) -> Vec<AckSilence> {
    let mut heard: Vec<(f64, f64)> = Vec::new();
    // A capture of one direction does not show what arrived.
    let two_way: Vec<&Track> = tracks.iter().copied().filter(|t| !is_one_way(t) && !lacks_acks(t)).collect();
    let tracks = &two_way[..];
    for t in tracks {
        let (first, width) = (seconds(t.first), t.bin.as_secs_f64());
        let with = t.bins.iter().filter(|b| b.acks > 0);
        heard.extend(with.map(|b| {
            let from = first + b.index as f64 * width;
            (from, from + width)
        }));
    }
    heard.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out = Vec::new();
    // From the first data on a sender waits for an ACK.
    let first = tracks.iter().filter_map(|t| t.first_data).map(seconds).fold(f64::INFINITY, f64::min);
    let mut end = if heard.is_empty() { f64::INFINITY } else { first };
    for (from, to) in heard {
        if from - end > MIN_SILENCE_S {
            out.push(AckSilence { from: end, to: from, gone: false });
        }
        end = if end.is_finite() { end.max(to) } else { to };
    }
    for t in tracks {
        let (rtt, within) = (rtt(t), within(t, &out));
        for s in &mut out[within] {
            s.gone = s.gone || is_long(s, rtt) && gone(t, rtt, (s.from, s.to));
        }
    }
    remove_chance_losses(tracks, &mut out);
    // The time after the last ACK.
    if end.is_finite() {
        out.push(AckSilence { from: end, to: f64::INFINITY, gone: false });
    }
    out
}

/// Returns when the bin of a track's last ACK begins, seconds since 1970.
fn last_ack(t: &Track) -> Option<f64> {
    let last = t.bins.iter().rev().find(|b| b.acks > 0)?;
    Some(seconds(t.first) + f64::from(last.index) * t.bin.as_secs_f64())
}

/// Returns the time at the end of a flow in which the sender only retransmitted, at repeated timeouts. A
/// sender that retransmits got no ACK, so the capture missed none (RFC 6298 section 5). Seconds since 1970,
/// from the last ACK of the track or of another between its hosts (`heard`), or from the first data.
fn never_answered_again(t: &Track, heard: f64) -> Option<(f64, f64)> {
    // A receiver that answers with a reset is reachable.
    if t.reset.is_some_and(|reset| reset.by_opener != t.opened) {
        return None;
    }
    let begin = last_ack(t).or(t.first_data.map(seconds))?.max(heard);
    let behind = |at: f64| at > begin;
    let unanswered = t.waits.iter().filter(|w| w.why == WaitReason::Timeout && behind(seconds(w.to))).count();
    let again = seconds(t.log.iter().find(|s| s.again && behind(seconds(s.time)))?.time);
    let new = seconds(t.log.iter().rev().find(|s| !s.again)?.time);
    (unanswered >= MIN_UNANSWERED_TIMEOUTS && new < again).then_some((begin, seconds(t.last_data?)))
}

/// Whether no data of the track was ever acknowledged although its sender waited for that.
pub(super) fn is_unanswered(t: &Track) -> bool {
    t.counts.acks == 0 && never_answered_again(t, f64::NEG_INFINITY).is_some()
}

/// Returns a track's mean RTT, seconds.
pub(super) fn rtt(t: &Track) -> f64 {
    t.rtt.mean().map_or(UNKNOWN_RTT, |rtt| rtt.as_secs_f64())
}

/// Returns the silences between a track's first data and its last data or ACK.
fn within(t: &Track, silences: &[AckSilence]) -> Range<usize> {
    let (Some(first), Some(last)) = (t.first_data.map(seconds), t.last_data.map(seconds)) else {
        return 0..0;
    };
    let end = last_ack(t).map_or(last, |acked| last.max(acked)) + t.bin.as_secs_f64();
    let begin = silences.partition_point(|s| s.from < first);
    begin..silences.partition_point(|s| s.to <= end).max(begin)
}

fn is_long(s: &AckSilence, rtt: f64) -> bool {
    s.to - s.from > rtt
}

/// Returns the silences that were outages of the path, as this track or another with more in flight shows;
/// seconds since the connection's first packet. For this track each ends when its own data is acknowledged.
pub(crate) fn outages(t: &Track, rtt: f64, silences: &[AckSilence]) -> Vec<(f64, f64)> {
    let since = seconds(t.first);
    let heard = silences.last().filter(|s| s.to.is_infinite()).map_or(f64::NEG_INFINITY, |s| s.from);
    let trailing = never_answered_again(t, heard).map(|(from, to)| (from - since, to - since));
    if is_one_way(t) {
        return trailing.into_iter().collect();
    }
    let long = silences[within(t, silences)].iter().filter(|s| is_long(s, rtt));
    let out = long.filter(|s| s.gone && (outstanding(t, s) || gone(t, rtt, (s.from, s.to))));
    let mut end = 0.0f64;
    let mut out: Vec<(f64, f64)> = out
        .map(|s| {
            // Where none of its data was acknowledged between two silences, they are one.
            let from = s.from.max(end);
            end = if end > s.to { end } else { acked_again(t, s.to) };
            (from - since, end - since)
        })
        .collect();
    match (out.last_mut(), trailing) {
        (Some(last), Some((from, to))) if last.1 >= from => last.1 = last.1.max(to),
        (_, trailing) => out.extend(trailing),
    }
    out
}

/// Removes silences whose losses are as likely to have come by chance ([`is_by_chance`]).
fn remove_chance_losses(tracks: &[&Track], silences: &mut Vec<AckSilence>) {
    let lost = |t: &Track, s: &AckSilence| {
        let (from, to) = reach((s.from, s.to), rtt(t));
        let begin = t.log.partition_point(|p| seconds(p.time) < from);
        let within = t.log[begin..].iter().take_while(|p| seconds(p.time) < to);
        within.filter(|p| p.fate != PacketFate::Passed).map(|p| u64::from(p.segments)).sum::<u64>()
    };
    let sum = |count: fn(&Track) -> u64| tracks.iter().map(|t| count(t)).sum::<u64>();
    let packets = sum(|t| t.counts.data_packets + t.counts.lost_up);
    let losses = sum(|t| t.counts.lost_up + t.counts.lost_down);
    silences.retain(|s| {
        let held = || tracks.iter().any(|t| was_held(t, s.from, s.to) || late(t, s.from, s.to));
        let n = if s.gone { tracks.iter().map(|t| lost(t, s)).sum() } else { 0 };
        !s.gone || n == 0 && held() || !is_by_chance(packets, losses, n)
    });
}

/// Whether `run` losses in a row, among `losses` losses of `all` packets, are as probable if all losses are
/// independent as if this run is correlated. Compares both probabilities, with a uniform prior of the loss
/// rate (Laplace).
fn is_by_chance(packets: u64, losses: u64, run: u64) -> bool {
    let losses = losses.clamp(run, packets.max(run)) as f64;
    let (packets, run) = (packets.max(1) as f64, run.max(1) as f64);
    let in_a_row: f64 =
        (0..run as u64).map(|i| ((packets - i as f64) / (losses - i as f64).max(1.0)).ln()).sum();
    in_a_row + ((packets + 1.0) / (packets - run + 1.0).max(1.0)).ln() - packets.ln() <= 0.0
}

/// Whether the sender waited for ACKs in most of the silence.
fn outstanding(t: &Track, s: &AckSilence) -> bool {
    idle(t, s.from, s.to) <= 0.5 * (s.to - s.from)
}

/// Returns when data of the track is next acknowledged from `at` on, while its sender waits for that.
fn acked_again(t: &Track, at: f64) -> f64 {
    let (first, width) = (seconds(t.first), t.bin.as_secs_f64());
    let begin = t.bins.partition_point(|b| first + (b.index as f64 + 1.0) * width <= at);
    let waits = t.bins[begin..].iter().take_while(|b| b.acked == 0 && b.paused(PauseKind::Idle).is_zero());
    waits.last().map_or(at, |b| first + (b.index as f64 + 1.0) * width).max(at)
}

/// Returns the span in which packets were lost to the outage: from just before it until a sender notices its
/// end.
pub(crate) fn reach(outage: (f64, f64), rtt: f64) -> (f64, f64) {
    (outage.0 - 2.0 * rtt, outage.1 + 0.5 * rtt)
}

/// Whether the silence was an outage of the path.
fn gone(t: &Track, rtt: f64, (from, to): (f64, f64)) -> bool {
    if !is_repaired(t, rtt, from, to) && !was_held(t, from, to) && !late(t, from, to) {
        return false;
    }
    if idle(t, from, to) > 0.5 * (to - from) {
        let middle = t.log.partition_point(|s| seconds(s.time) < 0.5 * (from + to));
        return late(t, from, to) || back_with_loss(t, rtt, to) && !at_once(t, middle);
    }
    let begin = t.waits.partition_point(|w| seconds(w.to) <= from);
    let within = t.waits[begin..].iter().take_while(|w| seconds(w.from) < to);
    let waits = within.filter(|w| w.why != WaitReason::ZeroWindow).count();
    waits > 1 || to - from > first_timeout(rtt) || unanswered(t, rtt, from, to)
}

/// Whether a packet was lost in the silence, just before it, or at its end. A retransmission alone is weaker
/// evidence, because the ACK may have been lost instead of the data.
fn is_repaired(t: &Track, rtt: f64, from: f64, to: f64) -> bool {
    let edge = t.bin.as_secs_f64();
    let begin = t.log.partition_point(|s| seconds(s.time) < reach((from, to), rtt).0 - edge);
    let mut until = t.log[begin..].iter().take_while(|s| seconds(s.time) < to + edge + rtt);
    until.any(|s| s.fate != PacketFate::Passed)
}

/// Whether the end of the silence shows by itself that packets were held up.
fn was_held(t: &Track, from: f64, to: f64) -> bool {
    let begin = t.waits.partition_point(|w| seconds(w.to) <= from);
    let within = t.waits[begin..].iter().take_while(|w| seconds(w.from) < to);
    within.into_iter().any(|w| w.why == WaitReason::Silence)
}

/// Returns the seconds of a span in which the sender seems to have had nothing outstanding.
fn idle(t: &Track, from: f64, to: f64) -> f64 {
    let (first, width) = (seconds(t.first), t.bin.as_secs_f64());
    let begin = t.bins.partition_point(|b| first + (b.index as f64 + 1.0) * width <= from);
    let bins = t.bins[begin..].iter().take_while(|b| first + (b.index as f64) * width < to);
    bins.map(|b| micros(b.paused(PauseKind::Idle))).sum()
}

/// Whether packets that were sent over a while should have been acknowledged in the silence.
fn unanswered(t: &Track, rtt: f64, from: f64, to: f64) -> bool {
    let begin = t.log.partition_point(|s| seconds(s.time) + rtt <= from);
    let mut due = t.log[begin..].iter().take_while(|s| seconds(s.time) < to).filter(|s| !s.again);
    due.next().zip(due.last()).is_some_and(|(a, b)| seconds(b.time) - seconds(a.time) > 0.5 * rtt)
}

/// Packets after a silence that may be late.
const FIRST_PACKETS: usize = 4;

/// Whether the packets after the silence had been sent within it, by the sender's clock. If all later ones
/// are as late, the capture's clock was set forward.
fn late(t: &Track, from: f64, to: f64) -> bool {
    let begin = t.log.partition_point(|s| seconds(s.time) < to - t.bin.as_secs_f64());
    let (next, later) = t.log[begin..].split_at(FIRST_PACKETS.min(t.log.len() - begin));
    let delay = |s: &LoggedPacket| s.delay.get().map(micros);
    let excess = next.iter().filter_map(delay).fold(0.0, f64::max) - 0.5 * (to - from);
    if excess <= 0.0 {
        return false; // most silences: the later packets need no look
    }
    let mut later = later.iter().filter_map(delay).peekable();
    later.peek().is_none() || later.any(|usual| usual < excess)
}

/// Returns the times, seconds since 1970, at which a burst ended a pause longer than `rtt`. A sender that
/// returns from a timeout has a window of one segment (RFC 5681 section 3.1), so these pauses were the
/// application's.
pub(crate) fn bursts(t: &Track, rtt: f64) -> Vec<f64> {
    let paused = |i: &usize| seconds(t.log[*i].time) - seconds(t.log[i - 1].time) > rtt;
    (1..t.log.len()).filter(paused).filter(|i| at_once(t, *i)).map(|i| seconds(t.log[i].time)).collect()
}

/// Whether a burst begins at this packet, or at the next that the capture has: several segments arrive long
/// before any of them can have been acknowledged. The capture does not show when a packet was sent that was
/// lost before it.
fn at_once(t: &Track, begin: usize) -> bool {
    let least = t.rtt.min().unwrap_or_default().as_secs_f64();
    if t.rtt.samples() == 0 || t.merged.as_secs_f64() > 0.5 * least {
        return false;
    }
    let mut seen = t.log[begin..].iter().filter(|s| s.fate != PacketFate::LostUp).peekable();
    let until = seen.peek().map_or(0.0, |s| seconds(s.time)) + 0.5 * least;
    let burst = seen.take_while(|s| seconds(s.time) < until);
    burst.map(|s| s.segments as usize).sum::<usize>() >= MIN_BURST_SEGMENTS
}

/// Whether packets are missing where traffic resumed.
fn back_with_loss(t: &Track, rtt: f64, to: f64) -> bool {
    let edge = t.bin.as_secs_f64();
    let begin = t.log.partition_point(|s| seconds(s.time) < to - edge);
    let mut next = t.log[begin..].iter().take_while(|s| seconds(s.time) < to + edge + rtt);
    next.any(|s| s.fate == PacketFate::LostUp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use track::PackedSpan;
    use units::{Span, Time};

    /// A silence from 2 s to 7 s. The packet that ends it is 5 s late by the sender's clock.
    #[test]
    fn packets_are_late_only_if_later_ones_are_not() {
        let late_with = |later_ms: &[u64]| {
            let packet = |(i, ms): (u64, u64)| LoggedPacket {
                time: Time::ZERO + Span::from_millis(7000 + i),
                delay: PackedSpan::known(Span::from_millis(ms)),
                ..LoggedPacket::default()
            };
            let delays = [5000; FIRST_PACKETS].iter().chain(later_ms).copied();
            let log = (0..).zip(delays).map(packet).collect();
            late(&Track { log, ..Track::default() }, 2.0, 7.0)
        };
        assert!(late_with(&[3000, 10, 0]), "a queue drains after an outage");
        assert!(!late_with(&[5000, 5010, 5000]), "the capture's clock was set forward");
        assert!(late_with(&[]), "nothing follows");
    }

    /// Ten segments at 5 s, behind a packet that was lost before the capture some time in the pause.
    #[test]
    fn a_packet_lost_before_the_capture_does_not_begin_a_burst() {
        let packet = |(ms, fate): (u64, PacketFate)| LoggedPacket {
            time: Time::ZERO + Span::from_millis(ms),
            segments: 1,
            fate,
            ..LoggedPacket::default()
        };
        let ends_with = |segments: u64| {
            let after = (0..segments).map(|i| (5000 + i, PacketFate::Passed));
            let log = [(4000, PacketFate::Passed), (4700, PacketFate::LostUp)].into_iter().chain(after);
            let mut t = Track { log: log.map(packet).collect(), ..Track::default() };
            t.rtt.record(Span::from_millis(100));
            at_once(&t, 1)
        };
        assert!(ends_with(10), "the application had paused");
        assert!(!ends_with(1), "one segment, as after a timeout");
    }

    #[test]
    fn a_run_of_losses_may_be_chance_where_many_packets_are_lost() {
        // One in a thousand of a hundred thousand packets is lost; a run of three is rare, a run of one is
        // not.
        assert!(is_by_chance(100_000, 100, 1) && !is_by_chance(100_000, 100, 3));
        // Where more than half is lost, a run of six is common.
        assert!(is_by_chance(1000, 600, 6) && !is_by_chance(1000, 600, 30));
        // All except the first of six packets; no other losses.
        assert!(!is_by_chance(6, 5, 5) && !is_by_chance(0, 0, 0));
        assert!(is_by_chance(20, 10, 2));
    }
}
