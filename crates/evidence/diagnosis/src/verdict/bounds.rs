//! Refuting causes by measurements: a cause whose bound does not hold while it limits the flow is dropped,
//! and its time goes to the cause with the next claim.

use super::evidence::{FlowFacts, MeasuredRound, RoundSplit, split};
use super::round_trips::RoundTripSpan;
use crate::cause::{CauseBound, rules};
use result::diagnosis::Cause;

/// Least share of a window that its sender uses (RFC 9293 section 3.8.6.2.1: a sender may wait for half of
/// the greatest window).
const MIN_USED_SHARE: f64 = 0.5;
/// Growth of slow start a round trip where every second segment is acknowledged (RFC 5681 sections 3.1 and
/// 4.2).
pub(super) const SLOW_START_GROWTH: f64 = 1.5;
/// A queue stands if the RTT is at least this many times RTprop: see
/// [`crate::cause::RoundEvidence::queue_stands`].
const STANDING_RTT_FACTOR: f64 = 2.0;

/// Causes that only data and ACKs together show: whether a queue stands, and what an ACK releases.
const NEED_ACKS: [Cause; 5] =
    [Cause::RandomLoss, Cause::Congestion, Cause::SendBuffer, Cause::ReceiveWindow, Cause::AckPath];

/// Causes that only a flow from its beginning shows: constant bytes in flight may be the result of losses
/// before the capture.
const NEED_BEGINNING: [Cause; 1] = [Cause::SendBuffer];

/// Causes that only a known receive window shows: constant bytes in flight may be that window.
const NEED_WINDOW: [Cause; 1] = [Cause::SendBuffer];

/// Splits every round trip among the causes that the measurements do not refute. `refuted`: causes that
/// something else refutes.
pub(crate) fn consistent_split(
    rounds: &[RoundTripSpan],
    measured: &[MeasuredRound],
    facts: &FlowFacts,
    median_rtt: f64,
    mut refuted: Vec<Cause>,
) -> Vec<RoundSplit> {
    if facts.one_way {
        refuted.extend(NEED_ACKS);
    }
    if facts.begun_late {
        refuted.extend(NEED_BEGINNING);
    }
    if facts.window_unknown {
        refuted.extend(NEED_WINDOW);
    }
    loop {
        let splits = split(measured, &refuted);
        let is_kept = |c: &Cause| holds(*c, rounds, &splits, facts, median_rtt);
        let wrong = Cause::ALL.into_iter().filter(|c| !refuted.contains(c)).find(|c| !is_kept(c));
        match wrong {
            Some(cause) => refuted.push(cause),
            None => return splits,
        }
    }
}

/// Whether the cause's bound holds over the time that it has; true where it has none.
fn holds(
    cause: Cause,
    rounds: &[RoundTripSpan],
    splits: &[RoundSplit],
    facts: &FlowFacts,
    median_rtt: f64,
) -> bool {
    let seconds = |split: &RoundSplit| split.iter().filter(|s| s.0 == cause).map(|s| s.1).sum::<f64>();
    let with = || rounds.iter().zip(splits).map(|(r, split)| (r, seconds(split))).filter(|(_, s)| *s > 0.0);
    if with().next().is_none() {
        return true;
    }
    match rules(cause).bound {
        CauseBound::Nothing => true,
        CauseBound::Loss => !facts.losses.is_empty(),
        CauseBound::LossWithoutQueue => {
            !facts.losses.is_empty() && median_rtt < STANDING_RTT_FACTOR * facts.base
        }
        CauseBound::Window => {
            let (mut carried, mut allowed) = (0.0, 0.0);
            for (r, s) in with() {
                let Some(window) = r.window else { continue };
                carried += r.acked * s / r.width.max(1e-9);
                allowed += window * s / r.rtt.unwrap_or(median_rtt).max(facts.base);
            }
            carried >= MIN_USED_SHARE * allowed
        }
        CauseBound::Growth => {
            let max_inflight = rounds.iter().map(|r| r.inflight).fold(facts.mss, f64::max);
            let needs = 1.0 + (max_inflight / facts.mss).ln() / SLOW_START_GROWTH.ln();
            // Slow start begins again after each pause (RFC 5681 section 4.1).
            let pauses = rounds.windows(2).filter(|w| w[0].idle <= 0.0 && w[1].idle > 0.0).count();
            let took: f64 = with().map(|(r, s)| s / r.width.max(1e-9)).sum();
            took <= needs * (1 + pauses) as f64
        }
    }
}
