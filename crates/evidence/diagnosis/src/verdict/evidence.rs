//! Finds what held a flow back in each round trip.
//!
//! 1. The tracker times waits to the packet: nothing outstanding, all written data sent, window full,
//!    timeout, silence. The rest of a round trip is time in which packets moved.
//! 2. This module measures what happened in each round trip: [`RoundEvidence`].
//! 3. Each part of a round trip goes to the cause with the strongest claim on it
//!    (`crates/evidence/diagnosis/src/cause`).

use super::FULL_SHARE;
use super::bounds::SLOW_START_GROWTH;
use super::cc;
use super::full_link::LinkFills;
use super::round_trips::RoundTripSpan;
use super::too_big::SizeStall;
use crate::cause::{self, RoundEvidence, RoundPart};
use crate::limiter::FoundLimiter;
use result::diagnosis::Cause;

/// Facts about the flow as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowFacts {
    /// RTprop, seconds.
    pub base: f64,
    /// Least RTT of this flow, seconds: the origin of its one-way delays.
    pub min_rtt: f64,
    /// Payload bytes of a full segment.
    pub mss: f64,
    pub limiter: Option<FoundLimiter>,
    /// Spans in which the limiter's whole rate was used, seconds since the connection's first packet.
    pub full: Vec<(f64, f64)>,
    /// Spans in which the whole rate of a limiter in the other direction was used, in the same unit.
    pub reverse_full: Vec<(f64, f64)>,
    /// Share of the limiter's payload bytes that are this flow's, 0 to 1.
    pub share: f64,
    /// When the flow had filled a link.
    pub fills: LinkFills,
    /// Losses: seconds since the connection's first packet, and the cause.
    pub losses: Vec<(f64, Cause)>,
    /// Spans in which packets did not pass because of their size.
    pub stalls: Vec<SizeStall>,
    /// Spans in which nothing passed, seconds since the connection's first packet.
    pub outages: Vec<(f64, f64)>,
    /// Spans in which no ACK of any flow passed between the two hosts, in the same unit.
    pub quiet: Vec<(f64, f64)>,
    /// Times at which a burst of several segments ended a pause, in the same unit: such a pause is the
    /// application's.
    pub bursts: Vec<f64>,
    /// The capture is at the receiver.
    pub near_receiver: bool,
    /// Packets wait mostly between sender and capture.
    pub waits_before_capture: bool,
    /// The bytes in flight are unknown: the capture is far from the sender, and no timestamps are echoed.
    pub inflight_unknown: bool,
    /// Only one direction was captured.
    pub one_way: bool,
    /// The capture has no SYN of the connection.
    pub begun_late: bool,
    /// The scale of the receiver's windows is not known.
    pub window_unknown: bool,
    /// Data also flows in the other direction, and the ACKs share its queue.
    pub bidirectional_data: bool,
    /// The application waits for room in the send buffer.
    pub send_buffer_full: bool,
    /// The bytes in flight do not fall at losses.
    pub unanswered: bool,
    /// Small segments were held back again and again until a delayed ACK came.
    pub nagle_waits: bool,
}

impl FlowFacts {
    /// Whether the bytes in flight are unknown at a capture that may have been taken at the receiver.
    pub fn is_inflight_unseen(&self) -> bool {
        self.inflight_unknown && (self.near_receiver || self.min_rtt < AT_RECEIVER_RTT_S)
    }
}

/// The window of a receiver that reads at once does not fall below this share of the greatest, because a
/// sender sends data at once if it fills that share of the largest window (RFC 9293 section 3.8.6.2.1).
const UNREAD_WINDOW_SHARE: f64 = 0.5;

/// Conservative slow start (HyStart++) grows by this part of slow start's growth (RFC 9406 section 4.3).
const CSS_GROWTH_DIVISOR: f64 = 4.0;

/// Least delay of a standing queue, seconds, on paths of any length: jitter reaches less.
pub(super) const MIN_STANDING_DELAY_S: f64 = 0.02;

/// Share of a round trip that a good queue may delay: CoDel's target is 5 to 10 % of it (RFC 8289 section
/// 3.2).
const TARGET_DELAY_SHARE: f64 = 0.1;

/// Seconds between two ticks of TCP's timestamps (Linux' `TCP_TS_HZ`).
const TIMESTAMP_TICK_S: f64 = 1e-3;

/// An application limits its flow if at least one packet in this many is the small end of a write.
const SMALL_IS_ONE_IN: u32 = 12;

/// Where the delay between sender and capture is unknown, a round trip to the receiver below this, seconds,
/// means that the capture may have been taken there.
const AT_RECEIVER_RTT_S: f64 = 1e-3;

/// The cause and the seconds of each part of a round trip.
pub(crate) type RoundSplit = [(Cause, f64); RoundPart::ALL.len()];

/// The measured evidence of one round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredRound {
    pub evidence: RoundEvidence,
    /// Seconds of each part, as in [`RoundPart::ALL`].
    pub seconds: [f64; RoundPart::ALL.len()],
}

/// Measures the evidence of every round trip.
pub(crate) fn measured(rounds: &[RoundTripSpan], facts: &FlowFacts) -> Vec<MeasuredRound> {
    let first_loss = first_loss(rounds, facts);
    let recovered = recovered(rounds, facts);
    let mut next_loss = 0;
    let mut greatest = 0.0f64;
    let mut last = facts.losses.iter().find(|l| is_answered(l)).map_or(Cause::RandomLoss, |l| l.1);
    (0..rounds.len())
        .map(|i| {
            let r = &rounds[i];
            // The commonest cause of a round trip's losses represents all of them.
            let from = next_loss;
            let (a, b) = (r.from, r.from + r.width);
            while next_loss < facts.losses.len() && facts.losses[next_loss].0 < b {
                next_loss += 1;
            }
            last = commonest(&facts.losses[from..next_loss]).unwrap_or(last);
            let stall = facts.stalls.iter().find(|s| s.meets((a, b))).map(|s| s.cause);
            last = stall.filter(|c| *c == Cause::BlackHole).unwrap_or(last);
            let out: f64 = facts.outages.iter().map(|o| (o.1.min(b) - o.0.max(a)).max(0.0)).sum();
            let left = if r.width > 0.0 { 1.0 - (out / r.width).min(1.0) } else { 1.0 };
            let after_loss = match stall {
                Some(Cause::PacketTooBig) => Cause::PacketTooBig,
                _ if near_outage(r, facts) => Cause::Outage,
                _ => last,
            };
            let overfilled = facts.fills.is_overfilled(r.from + 0.5 * r.width);
            let unread = r.window.is_some_and(|window| window < UNREAD_WINDOW_SHARE * greatest);
            greatest = greatest.max(r.window.unwrap_or(0.0));
            let evidence = RoundEvidence {
                window_unread: unread,
                recovered: recovered[i],
                ..evidence(rounds, i, first_loss, after_loss, overfilled, facts)
            };
            // Where other flows go on, the path works, and the sender waits for a timeout.
            let quiet = overlap(&facts.quiet, (a, b)) > 0.5 * r.silence;
            let (silence, alone) = if quiet { (r.silence, 0.0) } else { (0.0, r.silence) };
            let seconds = RoundPart::ALL.map(|part| match part {
                RoundPart::Idle => r.idle * left,
                RoundPart::Drained => r.ended * left,
                RoundPart::WindowFull => r.window_full * left,
                RoundPart::WindowShut => r.window_shut * left,
                RoundPart::Held => r.held * left,
                RoundPart::Timeout => (r.timeout + alone) * left,
                RoundPart::Silence => out.min(r.width) + silence * left,
                RoundPart::Moving => r.moving() * left,
            });
            MeasuredRound { evidence, seconds }
        })
        .collect()
}

/// Splits every round trip among the causes that were not `refuted`. A part without time has no cause, except
/// the last part: the timeline names that of a round trip without any time.
pub(crate) fn split(measured: &[MeasuredRound], refuted: &[Cause]) -> Vec<RoundSplit> {
    let split_round = |m: &MeasuredRound| {
        RoundPart::ALL.map(|part| {
            let seconds = m.seconds[part as usize];
            let cause = match seconds > 0.0 || part == RoundPart::Moving {
                true => cause::of_part(part, &m.evidence, refuted),
                false => Cause::Unknown,
            };
            (cause, seconds)
        })
    };
    measured.iter().map(split_round).collect()
}

/// Returns the evidence of round trip `i`.
fn evidence(
    rounds: &[RoundTripSpan],
    i: usize,
    first_loss: usize,
    last_loss: Cause,
    overfilled: bool,
    facts: &FlowFacts,
) -> RoundEvidence {
    let r = &rounds[i];
    let limiter_full = limiter_is_full(r, facts);
    RoundEvidence {
        writes_little: writes_little(rounds, i) || less_than_a_segment(r, facts),
        small_writes: small_writes(rounds, i),
        paused: paused(rounds, i),
        send_buffer_full: facts.send_buffer_full,
        nagle_waits: facts.nagle_waits,
        flat: flat(rounds, i, facts),
        inflight_unknown: facts.is_inflight_unseen(),
        grows: grows(rounds, i) && !overfilled,
        overfills: overfilled && r.rtt.is_some_and(|rtt| rtt > facts.base + least_queue_delay(facts)),
        window_full: window_is_full(r, facts),
        repairs_slowly: repairs_slowly(rounds, i),
        last_loss,
        before_loss: i < first_loss,
        at_first_loss: i == first_loss,
        resends: r.resent > 0.0,
        back_with_loss: back_with_loss(rounds, i, facts),
        limiter: facts.limiter.map(|l| l.kind),
        // If the queue is improbable, delayed ACKs may look like it.
        limiter_queues: facts.limiter.is_some_and(|l| l.delay_fit.is_some() && l.confidence > 0.5),
        limiter_full,
        waits_unseen: waits_unseen(rounds, i, facts),
        share_taken: share_is_taken(rounds, i, facts) || waits_for_refill(r, facts),
        waits: waits(rounds, i, facts),
        queue_stands: queue_stands(rounds, i, facts),
        unanswered: facts.unanswered,
        data_waits: data_waits(r, facts),
        acks_wait: acks_wait(r, facts),
        acks_wait_unseen: acks_wait_unseen(rounds, i, facts),
        bidirectional_data: facts.bidirectional_data,
        window_unread: false,
        recovered: false,
    }
}

/// Whether the capture sees nothing outstanding, and then missing packets. Behind an outage both are seen.
fn back_with_loss(rounds: &[RoundTripSpan], i: usize, facts: &FlowFacts) -> bool {
    let r = &rounds[i];
    let came_back = || rounds[i + 1..].iter().find(|n| n.packets > 0);
    facts.near_receiver
        && r.idle > 0.0
        && came_back().is_some_and(|n| (n.lost > 0 || n.resent > 0.0) && !burst_ends_pause(r.from, n, facts))
}

/// Whether congestion control responds to the loss. It does not where ICMP reported a packet as too big (RFC
/// 1191 section 6.4).
fn is_answered(loss: &(f64, Cause)) -> bool {
    loss.1 != Cause::PacketTooBig
}

/// Returns the round trip of the first loss that congestion control responds to.
fn first_loss(rounds: &[RoundTripSpan], facts: &FlowFacts) -> usize {
    let first = match facts.losses.iter().all(is_answered) {
        true => rounds.iter().position(|r| r.lost > 0 || r.resent > 0.0),
        false => {
            let at = facts.losses.iter().find(|l| is_answered(l)).map(|l| l.0);
            at.and_then(|at| rounds.iter().position(|r| r.from + r.width > at))
        }
    };
    first.unwrap_or(rounds.len())
}

/// Round trips without growth since the last loss after which something else may hold the window: a
/// congestion control adds a segment in each (RFC 5681 section 3.1), which in sum exceeds what [`flat`]
/// tolerates.
const ROUNDS_WITHOUT_GROWTH: usize = 9;
/// Times the duration of CUBIC's plateau, K = cbrt(W (1 - beta) / C) seconds for a window of W segments (RFC
/// 9438 section 4.2), for which a window must have been constant: after the plateau CUBIC grows again.
const PLATEAU_FACTOR: f64 = 2.0;

/// Returns which round trips come so long after a loss that it no longer limits the window: the bytes in
/// flight grew again, and then stayed constant for much longer.
fn recovered(rounds: &[RoundTripSpan], facts: &FlowFacts) -> Vec<bool> {
    let mut recovered = vec![false; rounds.len()];
    let is_loss = |r: &RoundTripSpan| r.lost > 0 || r.resent > 0.0;
    let mut from = rounds.iter().position(is_loss).unwrap_or(rounds.len());
    while from < rounds.len() {
        let begin = rounds[from..].iter().position(|r| !is_loss(r)).map_or(rounds.len(), |n| from + n);
        let end = rounds[begin..].iter().position(is_loss).map_or(rounds.len(), |n| begin + n);
        let lost_at = rounds[from.saturating_sub(1)].inflight.max(rounds[from].inflight) / facts.mss;
        let plateau = cc::cubic_plateau(lost_at);
        let (mut largest, mut grew) = (0.0, begin);
        for (i, r) in rounds.iter().enumerate().take(end).skip(begin) {
            if r.inflight > largest + 2.0 * facts.mss {
                (largest, grew) = (r.inflight, i);
            }
        }
        let stood = rounds[grew.min(end - 1)..end].iter().map(|r| r.width).sum::<f64>();
        if end - grew > ROUNDS_WITHOUT_GROWTH && stood > PLATEAU_FACTOR * plateau {
            recovered[grew + 1..end].fill(true);
        }
        from = end;
    }
    recovered
}

/// Returns the commonest cause.
fn commonest(losses: &[(f64, Cause)]) -> Option<Cause> {
    let count = |c: Cause| losses.iter().filter(|l| l.1 == c).count();
    use Cause::*;
    [BlackHole, Policed, Outage, Congestion, Fragmented, RandomLoss]
        .into_iter()
        .filter(|c| count(*c) > 0)
        .max_by_key(|c| count(*c))
}

/// Whether an outage touches this round trip or the one before, so that its losses are being repaired.
fn near_outage(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    facts.outages.iter().any(|o| o.1 > r.from - r.width && o.0 < r.from + r.width)
}

/// Returns the least delay that counts as a queue, seconds.
fn least_queue_delay(facts: &FlowFacts) -> f64 {
    least_queue(facts.base)
}

/// Returns the least delay that counts as a queue on a path with an RTprop of `base` seconds, in seconds.
pub(crate) fn least_queue(base: f64) -> f64 {
    (TARGET_DELAY_SHARE * base).max(TIMESTAMP_TICK_S)
}

/// Whether most of the RTT above its minimum is spent on the ACKs' path.
fn acks_wait(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    // Where both wait, the data's path is full.
    if data_waits(r, facts) || link_full(r, facts) {
        return false;
    }
    let Some(rtt) = (if facts.waits_before_capture { r.rtt_min } else { r.rtt }) else { return false };
    let over = rtt - facts.min_rtt;
    if over <= least_queue_delay(facts).max(2.0 * TIMESTAMP_TICK_S) {
        return false;
    }
    // Without timestamps: the other direction is full, and this one is not.
    if r.ack_delay.or(r.data_wait).or(r.data_delay).is_none() {
        return mostly_full(&facts.reverse_full, r) && !limiter_is_full(r, facts);
    }
    let back = match facts.waits_before_capture {
        false => r.ack_delay,
        true => r.data_delay.map(|delay| over - delay),
    };
    back.is_some_and(|back| back > 0.5 * over)
}

/// Whether the link before the capture, whose queue the sender's clock shows, was full for most of the round
/// trip.
fn link_full(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    let busy = |l: FoundLimiter| !l.behind && l.drain.is_some_and(|d| d.busy > 0.5);
    facts.limiter.is_some_and(busy) && limiter_is_full(r, facts)
}

/// Whether a shaper that is refilled at intervals was full for most of the round trip. Packets wait there for
/// a part of each interval.
fn waits_for_refill(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    facts.limiter.is_some_and(|l| l.interval.is_some()) && limiter_is_full(r, facts)
}

/// Whether a burst ended a pause between `from` and the end of `r`.
fn burst_ends_pause(from: f64, r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    let next = facts.bursts.partition_point(|b| *b < from);
    facts.bursts.get(next).is_some_and(|b| *b < r.from + r.width)
}

/// Whether the limiter's flows together used its whole rate for most of the round trip.
fn limiter_is_full(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    mostly_full(&facts.full, r)
}

/// Whether data may wait in the queue of a full limiter before the capture, although nothing is outstanding
/// at the capture: the delay to the capture is unknown, and the application had written more than the flow's
/// last data.
fn waits_unseen(rounds: &[RoundTripSpan], i: usize, facts: &FlowFacts) -> bool {
    let before_capture = facts.inflight_unknown && facts.limiter.is_some_and(|l| !l.behind);
    before_capture && limiter_is_full(&rounds[i], facts) && has_more_to_send(rounds, i)
}

/// Whether ACKs may wait in the queue of a full link behind a capture at the receiver. Only the flows of the
/// other direction show it: without timestamps, nothing shows how long an ACK takes to the sender.
fn acks_wait_unseen(rounds: &[RoundTripSpan], i: usize, facts: &FlowFacts) -> bool {
    let r = &rounds[i];
    let full = || mostly_full(&facts.reverse_full, r) && !limiter_is_full(r, facts);
    facts.is_inflight_unseen() && full() && has_more_to_send(rounds, i)
}

/// Whether the application had written more than the last data before the end of round trip `i`: that did not
/// end with a small segment.
fn has_more_to_send(rounds: &[RoundTripSpan], i: usize) -> bool {
    rounds[..=i].iter().rev().find(|r| r.packets > 0).is_some_and(|r| r.short == 0)
}

fn mostly_full(full: &[(f64, f64)], r: &RoundTripSpan) -> bool {
    overlap(full, (r.from, r.from + r.width)) > 0.5 * r.width
}

/// Returns the seconds between `from` and `to` that lie in one of `spans`, which are in order.
fn overlap(spans: &[(f64, f64)], (from, to): (f64, f64)) -> f64 {
    let begin = spans.partition_point(|s| s.1 <= from);
    let within = spans[begin..].iter().take_while(|s| s.0 < to);
    within.map(|s| s.1.min(to) - s.0.max(from)).sum()
}

/// Whether all packets of the round trip waited on the data's path, by more than the ticks of both ends'
/// timestamps.
fn data_waits(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    let wait = if facts.waits_before_capture { r.data_delay } else { r.data_wait };
    wait.is_some_and(|wait| wait > least_queue_delay(facts).max(2.0 * TIMESTAMP_TICK_S))
}

/// Whether less than a segment was in flight although the window had room. Congestion control always allows a
/// segment (RFC 5681 section 3.1: the loss window is one full segment), so the sender had no more data.
fn less_than_a_segment(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    r.packets > 0 && r.resent == 0.0 && r.inflight < facts.mss && r.window.is_none_or(|w| w >= facts.mss)
}

/// Whether the sender had no more to send: it was idle, or wrote little.
fn writes_little(rounds: &[RoundTripSpan], i: usize) -> bool {
    let r = &rounds[i];
    r.packets == 0 && r.idle > 0.5 * r.width || has_small_writes(r)
}

/// Whether at least a twelfth of the packets are small and pushed, and none is a retransmission.
fn has_small_writes(r: &RoundTripSpan) -> bool {
    r.short > 0 && r.short * SMALL_IS_ONE_IN >= r.packets && r.resent == 0.0
}

/// Whether the receive window was full in the round trip, and the bytes in flight reached it.
fn window_is_full(r: &RoundTripSpan, facts: &FlowFacts) -> bool {
    r.window.is_some_and(|window| r.window_full > 0.0 && r.inflight + 2.0 * facts.mss > window)
}

/// Whether lost packets are repaired one by one, which keeps the window full: without SACK, congestion
/// control retransmits one segment a round trip (RFC 6582 section 3.2).
fn repairs_slowly(rounds: &[RoundTripSpan], i: usize) -> bool {
    let near = &rounds[i.saturating_sub(1)..(i + 2).min(rounds.len())];
    near.iter().any(|r| r.resent > 0.0) && near.iter().all(|r| r.acked < 0.5 * r.inflight)
}

/// Returns the round trips around `i` in which data was sent.
fn around(rounds: &[RoundTripSpan], i: usize) -> impl Iterator<Item = &RoundTripSpan> {
    let (from, to) = (i.saturating_sub(4), (i + 5).min(rounds.len()));
    rounds[from..to].iter().filter(|r| r.packets > 0)
}

/// Whether half of the round trips around `i` have small pushed packets: each time all written data was sent.
/// A sender that fills a buffer or a window sends none.
fn small_writes(rounds: &[RoundTripSpan], i: usize) -> bool {
    let with = around(rounds, i).filter(|r| r.short > 0 && r.resent == 0.0).count();
    with >= 2 && with * 2 >= around(rounds, i).count()
}

/// Returns the code that says why the application's pauses may be those of a full window, for
/// [`FlowDiagnosis::notes`](result::FlowDiagnosis::notes). Without the SYNs, a capture at the receiver shows
/// the RTT only with timestamps, and never the window. An application's writes end with a small segment; here
/// fewer than a twelfth of the round trips have one.
pub(super) fn notes(rounds: &[RoundTripSpan], facts: &FlowFacts, cause: Cause) -> Vec<String> {
    let unseen = facts.is_inflight_unseen() || facts.near_receiver && facts.window_unknown;
    let count = |f: fn(&RoundTripSpan) -> bool| rounds.iter().filter(|r| f(r)).count();
    let hidden = cause == Cause::Application
        && facts.begun_late
        && unseen
        && count(has_small_writes) * (SMALL_IS_ONE_IN as usize) < count(|r| r.packets > 0);
    hidden.then(|| "pauses-ambiguous".to_string()).into_iter().collect()
}

/// Whether the sender had nothing to send for a while.
fn paused(rounds: &[RoundTripSpan], i: usize) -> bool {
    around(rounds, i).any(|r| r.idle > 0.0)
}

/// Whether packets waited in this round trip.
fn waits(rounds: &[RoundTripSpan], i: usize, facts: &FlowFacts) -> bool {
    let waits = |rtt: f64| rtt > facts.base + least_queue_delay(facts);
    // A round trip without a sample is taken as the one before.
    let before = || i.checked_sub(1).and_then(|i| rounds[i].rtt_min);
    rounds[i].rtt_min.or_else(before).is_some_and(waits)
}

/// Whether all packets of the round trip waited longer than RTprop.
fn queue_stands(rounds: &[RoundTripSpan], i: usize, facts: &FlowFacts) -> bool {
    rounds[i].rtt_min.is_some_and(|rtt| rtt > facts.base + facts.base.max(MIN_STANDING_DELAY_S))
}

/// Whether the flow used its whole share of the limiter's rate. Where neither delays nor losses show the
/// limiter, its rate is only the rate at which packets arrive. That may be a window's, and then the bytes in
/// flight do not change.
fn share_is_taken(rounds: &[RoundTripSpan], i: usize, facts: &FlowFacts) -> bool {
    let r = &rounds[i];
    facts.limiter.is_some_and(|l| {
        let flat = flat(rounds, i, facts);
        r.acked / r.width.max(1e-9) > FULL_SHARE * l.rate * facts.share
            && (l.delay_fit.is_some() || facts.inflight_unknown || !flat)
            || limiter_is_full(r, facts)
                && (l.delay > least_queue_delay(facts) || l.bucket.is_some() || !flat)
    })
}

/// Whether the bytes in flight grow at least as in conservative slow start, over this round trip and the next
/// two. The first window always counts as slow start (RFC 5681 section 3.1).
fn grows(rounds: &[RoundTripSpan], i: usize) -> bool {
    let now = rounds[i].inflight;
    let next = rounds[i + 1..].iter().take(2).map(|r| r.inflight).fold(0.0, f64::max);
    let before = rounds[..i].iter().rev().take(2).map(|r| r.inflight).fold(f64::INFINITY, f64::min);
    let min_growth = 1.0 + (SLOW_START_GROWTH - 1.0) / CSS_GROWTH_DIVISOR;
    i == 0
        || next > min_growth * now
        || before.is_finite() && now > min_growth * before
        || i + 1 == rounds.len()
}

/// Whether the bytes in flight stay within two segments over the round trips around `i`, so that something
/// holds them there. A window that nothing limits grows, and an application with a pace of its own makes it
/// vary.
fn flat(rounds: &[RoundTripSpan], i: usize, facts: &FlowFacts) -> bool {
    let around = || around(rounds, i).map(|r| r.inflight);
    let (low, high) = (around().fold(f64::INFINITY, f64::min), around().fold(0.0, f64::max));
    high > 0.0 && high - low <= 2.0 * facts.mss
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::diagnosis::LimiterKind;

    const MSS: f64 = 1448.0;

    /// Round trips with a full window of a thousand segments, of which `resent` are retransmitted and `acked`
    /// acknowledged.
    fn full_windows(resent: f64, acked: f64) -> Vec<RoundTripSpan> {
        let round = |i: usize| RoundTripSpan {
            from: i as f64 * 0.1,
            width: 0.1,
            packets: 1,
            resent: resent * MSS,
            acked: acked * MSS,
            inflight: 1000.0 * MSS,
            window: Some(1000.0 * MSS),
            window_full: 0.1,
            ..RoundTripSpan::default()
        };
        (0..20).map(round).collect()
    }

    fn has_only(rounds: &[RoundTripSpan], cause: Cause) -> bool {
        let facts = FlowFacts { mss: MSS, losses: vec![(0.0, Cause::Congestion)], ..FlowFacts::default() };
        let splits = split(&measured(rounds, &facts), &[]);
        splits.iter().flatten().all(|s| s.1 <= 0.0 || s.0 == cause)
    }

    #[test]
    fn a_receive_window_kept_full_by_losses_is_not_the_receivers() {
        assert!(has_only(&full_windows(1.0, 1.0), Cause::Congestion));
        assert!(has_only(&full_windows(0.0, 1000.0), Cause::ReceiveWindow));
        // Occasional losses do not limit a window that moves on.
        assert!(has_only(&full_windows(1.0, 1000.0), Cause::ReceiveWindow));
    }

    /// A policer drops the overshoot of slow start; the window grows again to 40 segments, where something
    /// else holds it.
    #[test]
    fn a_loss_limits_a_window_only_while_the_window_recovers() {
        let share = |flights: &dyn Fn(usize) -> (f64, f64)| {
            let round = |i: usize| RoundTripSpan {
                from: i as f64 * 0.1,
                width: 0.1,
                packets: 10,
                inflight: flights(i).0 * MSS,
                resent: flights(i).1 * MSS,
                acked: 10.0 * MSS,
                ..RoundTripSpan::default()
            };
            let rounds: Vec<RoundTripSpan> = (0..100).map(round).collect();
            let facts = FlowFacts { mss: MSS, losses: vec![(0.35, Cause::Policed)], ..FlowFacts::default() };
            let splits = split(&measured(&rounds, &facts), &[]);
            let policed = |s: &(Cause, f64)| if s.0 == Cause::Policed { s.1 } else { 0.0 };
            splits.iter().flatten().map(policed).sum::<f64>() / 10.0
        };
        let loss = |i: usize| if i == 3 { 9.0 } else { 0.0 };
        let once = share(&|i| (if i < 4 { 80.0 } else { (20.0 + 2.0 * i as f64).min(40.0) }, loss(i)));
        assert!(once < 0.25, "{once}");
        // The window grows until the end.
        let grows = share(&|i| (if i < 4 { 80.0 } else { 20.0 + i as f64 }, loss(i)));
        assert!(grows > 0.9, "{grows}");
        // A sawtooth loses again as soon as it has grown.
        let saw = share(&|i| (20.0 + (i % 20) as f64, if i % 20 == 3 { 3.0 } else { 0.0 }));
        assert!(saw > 0.9, "{saw}");
    }

    #[test]
    fn a_drained_sender_is_the_applications_unless_losses_or_the_buffer_explain_it() {
        let round = |i: usize, resent| RoundTripSpan {
            from: i as f64 * 0.1,
            width: 0.1,
            packets: 9,
            ended: 0.1,
            resent,
            ..RoundTripSpan::default()
        };
        let main = |resent, loss, send_buffer_full| {
            let rounds: Vec<RoundTripSpan> = (0..9).map(|i| round(i, resent)).collect();
            let facts =
                FlowFacts { mss: MSS, losses: vec![(0.0, loss)], send_buffer_full, ..FlowFacts::default() };
            let largest =
                split(&measured(&rounds, &facts), &[])[5].into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
            largest.map(|s| s.0)
        };
        assert_eq!(main(0.0, Cause::Policed, false), Some(Cause::Application));
        assert_eq!(
            main(MSS, Cause::Policed, false),
            Some(Cause::Policed),
            "the sender repairs a policer's drops"
        );
        assert_eq!(main(MSS, Cause::Congestion, false), Some(Cause::Application));
        assert_eq!(main(0.0, Cause::RandomLoss, true), Some(Cause::SendBuffer));
    }

    /// Bursts of 40 packets, of which `short` are small, each followed by three idle round trips.
    fn bursts(short: u32) -> Vec<RoundTripSpan> {
        let round = |i: usize| {
            let burst = i.is_multiple_of(4);
            RoundTripSpan {
                from: i as f64 * 0.1,
                width: 0.1,
                packets: if burst { 40 } else { 0 },
                short: if burst { short } else { 0 },
                idle: if burst { 0.0 } else { 0.1 },
                ..RoundTripSpan::default()
            }
        };
        (0..20).map(round).collect()
    }

    /// A download in bursts, seen at its receiver without timestamps, beside an upload that fills its link.
    #[test]
    fn pauses_beside_a_full_link_of_the_acks_may_be_theirs() {
        let main = |short: u32, reverse_full: bool| {
            let rounds = bursts(short);
            let facts = FlowFacts {
                mss: MSS,
                reverse_full: if reverse_full { vec![(0.0, 2.0)] } else { Vec::new() },
                inflight_unknown: true,
                ..FlowFacts::default()
            };
            split(&measured(&rounds, &facts), &[])[6][RoundPart::Idle as usize].0
        };
        assert_eq!(main(0, true), Cause::AckPath);
        assert_eq!(main(4, true), Cause::Application, "the application had written no more");
        assert_eq!(main(0, false), Cause::Application);
    }

    /// Four flows fill a link before a capture without timestamps. Each comes in bursts, between which
    /// nothing of it is outstanding.
    #[test]
    fn a_pause_at_a_capture_behind_a_full_link_may_be_the_links() {
        let main = |short: u32, behind: bool, full: bool| {
            let rounds = bursts(short);
            let link =
                FoundLimiter { kind: LimiterKind::Bottleneck, rate: 1e6, behind, ..FoundLimiter::default() };
            let facts = FlowFacts {
                mss: MSS,
                limiter: Some(link),
                full: if full { vec![(0.0, 2.0)] } else { Vec::new() },
                inflight_unknown: true,
                near_receiver: true,
                ..FlowFacts::default()
            };
            split(&measured(&rounds, &facts), &[])[6][RoundPart::Idle as usize].0
        };
        assert_eq!(main(0, false, true), Cause::Bottleneck);
        assert_eq!(main(1, false, true), Cause::Application, "the application had written no more");
        assert_eq!(
            main(0, true, true),
            Cause::Application,
            "a link behind the capture delays only what was captured"
        );
        assert_eq!(
            main(0, false, false),
            Cause::Application,
            "packets do not wait at a link that is not full"
        );
    }
}
