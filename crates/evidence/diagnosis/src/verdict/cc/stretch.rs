//! Stretches: the segments in flight from one loss to the next, which show how a control grows its window and
//! how far a loss reduces it.

use super::super::evidence::FlowFacts;
use super::super::round_trips::RoundTripSpan;

/// A round trip in which the congestion window alone limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CleanRound {
    /// Most segments in flight.
    pub flight: f64,
    /// Length, seconds.
    pub seconds: f64,
    /// Least RTT, seconds; that of the round trip before where it has no sample.
    pub min_rtt: f64,
    /// Mean RTT, seconds; that of the round trip before where it has no sample.
    pub rtt: f64,
}

/// The flow when a loss came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BeforeLoss {
    /// Segments in flight when the sender noticed it.
    pub flight: f64,
    /// Segments a second that were acknowledged before it.
    pub rate: f64,
    /// RTT, seconds.
    pub rtt: f64,
}

/// Round trips without loss, idling, or another limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FlightStretch {
    pub rounds: Vec<CleanRound>,
    /// The loss before it; `None` where that loss ended a slow start or a wait, because the window is not
    /// known then.
    pub before: Option<BeforeLoss>,
    /// Whether there was a loss before it.
    pub after_loss: bool,
}

/// Least number of round trips of a stretch.
const MIN_ROUNDS: usize = 3;
/// Round trips before a loss over which the rate is measured: the memory of Westwood's filter (a coefficient
/// of 7/8, `westwood_do_filter` in Linux's `tcp_westwood.c`).
const RATE_ROUNDS: usize = 8;
/// A window that grows by more than half in two round trips is in slow start (RFC 5681 section 3.1: it
/// doubles in one).
const SLOW_START_GROWTH: f64 = 1.5;
/// Ratio of the bytes in flight to those of the next round trip that shows a remainder of recovery.
const RECOVERY_RATIO: f64 = 1.15;

/// Whether nothing was lost or waited for, and nothing but the congestion window limited.
fn is_clean(r: &RoundTripSpan) -> bool {
    r.resent == 0.0 && r.timeout == 0.0 && r.silence == 0.0 && r.inflight > 0.0 && !is_held(r)
}

/// Whether something other than the congestion window held the sender back.
fn is_held(r: &RoundTripSpan) -> bool {
    r.idle + r.ended + r.window_full + r.window_shut > 0.2 * r.width
}

/// Returns all stretches of a flow.
pub(super) fn stretches(spans: &[RoundTripSpan], facts: &FlowFacts) -> Vec<FlightStretch> {
    let (mut min_rtt, mut rtt) = (facts.min_rtt, facts.min_rtt);
    let rounds: Vec<CleanRound> = spans
        .iter()
        .map(|r| {
            (min_rtt, rtt) = (r.rtt_min.unwrap_or(min_rtt), r.rtt.unwrap_or(rtt));
            CleanRound { flight: r.inflight / facts.mss, seconds: r.width, min_rtt, rtt }
        })
        .collect();
    let mut out = Vec::new();
    let mut from = 0;
    while from < spans.len() {
        let count = spans[from..].iter().take_while(|r| is_clean(r)).count();
        if count == 0 {
            from += 1;
            continue;
        }
        let mut own = steady(&rounds[from..from + count]);
        // The last round trip is cut short by the end of the flow.
        if from + count == spans.len() && own.len() > 1 {
            own = &own[..own.len() - 1];
        }
        if own.len() >= MIN_ROUNDS {
            let before = before_loss(spans, &rounds, from, facts.mss);
            out.push(FlightStretch { rounds: own.to_vec(), before, after_loss: from > 0 });
        }
        from += count;
    }
    out
}

/// Returns the round trips without the remainder of recovery at the beginning, without slow start, and
/// without its overshoot.
fn steady(mut rounds: &[CleanRound]) -> &[CleanRound] {
    let sinks = |from: &CleanRound, to: &CleanRound| from.flight > RECOVERY_RATIO * to.flight + 1.0;
    let jumps = |from: &CleanRound, to: &CleanRound| {
        to.flight > (SLOW_START_GROWTH * from.flight).max(from.flight + 3.0)
    };
    while rounds.len() > 1 && sinks(&rounds[0], &rounds[1]) {
        rounds = &rounds[1..];
    }
    while rounds.len() > MIN_ROUNDS && jumps(&rounds[0], &rounds[2]) {
        rounds = &rounds[1..];
    }
    while rounds.len() > MIN_ROUNDS && (sinks(&rounds[0], &rounds[1]) || sinks(&rounds[0], &rounds[2])) {
        rounds = &rounds[1..];
    }
    rounds
}

/// Returns the loss whose recovery ends before round trip `from`.
fn before_loss(spans: &[RoundTripSpan], rounds: &[CleanRound], from: usize, mss: f64) -> Option<BeforeLoss> {
    let last = spans[..from].iter().rposition(is_clean)?;
    let recovery = &spans[last + 1..from];
    if last < 2 || recovery.iter().any(|r| r.timeout > 0.0 || r.silence > 0.0 || is_held(r)) {
        return None;
    }
    let (flight, before) = (rounds[last].flight, rounds[last - 1].flight);
    // The window grew until the sender noticed the loss, half a round trip later on average.
    let flight = flight + 0.5 * (flight - before).max(0.0);
    let grows_slowly = rounds[last - 2].flight.min(before) * SLOW_START_GROWTH > flight;
    let near = &spans[(last + 1).saturating_sub(RATE_ROUNDS)..=last];
    let seconds: f64 = near.iter().map(|r| r.width).sum();
    let acked: f64 = near.iter().map(|r| r.acked).sum();
    grows_slowly.then(|| BeforeLoss { flight, rate: acked / mss / seconds, rtt: rounds[last].min_rtt })
}
