//! Losses: a limiter that drops, a full queue, or random loss.

use super::digest::{SeriesDigest, percent};
use super::{SummaryVerdict, VerdictKind, rate};
use crate::series::SummarySource;

/// Least share of segments sent again of a flow that losses may hold.
const MIN_RESENT_SHARE: f64 = 5e-4;
/// Least share of the intervals with a segment sent again if losses go on all the time.
const MIN_LOSSY_INTERVALS: f64 = 0.3;
/// Losses came in bursts if the packets in flight exceed by this factor those that single losses would leave.
const MIN_BURST_FACTOR: f64 = 3.0;
/// Single losses explain the rate if the packets in flight are at most this many times those that they leave,
/// and there are at least `MIN_LOSSES` losses.
const MAX_EXPLAINED_FACTOR: f64 = 3.0;
const MIN_LOSSES: f64 = 5.0;
/// A model-based congestion control does not slow down for a smaller share of losses.
const MODEL_LOSS: f64 = 0.01;
/// The congestion window holds the flow if at least this share of it is in flight.
const MIN_FULL_SHARE: f64 = 0.85;

/// The verdict if losses hold the flow.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let resent = d.resent.filter(|r| *r > 0.0)?;
    let inflight = d.inflight().map(|bytes| bytes / d.mss());
    let alone = d.rtt_s.map(|rtt| single_losses(resent, rtt));
    let explains =
        inflight.zip(alone).is_some_and(|(packets, alone)| packets <= MAX_EXPLAINED_FACTOR * alone)
            && !d.is_model_based();
    let goes_on = resent >= MIN_RESENT_SHARE
        && (d.resent_bins.is_none_or(|share| share >= MIN_LOSSY_INTERVALS)
            || resent >= 10.0 * MIN_RESENT_SHARE);
    let of_a_model = d.is_model_based() && resent < MODEL_LOSS;
    let count: f64 = d.series.flows.iter().filter_map(|f| f.retransmits).sum();
    if of_a_model || !(goes_on || explains && count >= MIN_LOSSES) {
        return None;
    }
    let mut facts = Vec::new();
    if explains && let Some((packets, alone)) = inflight.zip(alone) {
        facts.push(format!(
            "losses one by one explain the rate: {} leaves CUBIC and Reno about {alone:.0} packets in flight, {packets:.0} were",
            percent(resent)
        ));
    }
    if let Some((packets, alone)) = inflight.zip(alone)
        && !explains
        && !d.is_model_based()
        && packets > MIN_BURST_FACTOR * alone
    {
        facts.push(format!(
            "the losses came in bursts: {} lost one by one would leave CUBIC about {:.0} packets in flight, {packets:.0} were",
            percent(resent),
            alone
        ));
    }
    let full = d.series.flows.first().and_then(|f| f.intervals.last()).and_then(|i| {
        let (unacked, cwnd) = i.unacked_bytes.zip(i.cwnd_bytes)?;
        (unacked >= MIN_FULL_SHARE * cwnd).then_some((unacked, cwnd))
    });
    if let Some((unacked, cwnd)) = full {
        facts.push(format!(
            "{:.0} of {:.0} packets of the congestion window are in flight: the window that losses leave holds the flow",
            unacked / d.mss(),
            cwnd / d.mss()
        ));
    }
    let figures = match (d.rtt_s, d.min_rtt_s) {
        (Some(rtt), Some(least)) => {
            format!(
                "{}, {} retransmitted, RTT {} over {}",
                rate(d.bps),
                percent(resent),
                super::time(rtt),
                super::time(least)
            )
        }
        _ => format!("{}, {} retransmitted", rate(d.bps), percent(resent)),
    };
    let standing = d.queue() == Some(true);
    let delays =
        if d.is_constant() && standing { Some(true) } else { d.queue().filter(|waits| !waits && !explains) };
    let (headline, rates) = if d.series.source == SummarySource::SsOnce {
        let held = if full.is_some() {
            "Probably losses hold the congestion window down"
        } else {
            "Perhaps losses hold the flow"
        };
        (format!("{held} ({figures}); one output of ss does not identify a limiter."), None)
    } else if d.is_constant() && standing {
        (
            format!("Probably a full queue: a line or a shaper of about {} ({figures}).", rate(d.bps)),
            Some([0.97 * d.bps, 1.08 * d.bps]),
        )
    } else if d.is_constant() && !explains {
        let about = rate(d.bps);
        let headline = match d.queue() {
            Some(_) => format!(
                "Perhaps a policer of about {about} or more ({figures}): the rate is constant and no queue shows; random loss is not ruled out."
            ),
            None => format!(
                "Perhaps a limiter of about {about} or more ({figures}): the rate is constant; without RTTs a policer and a full queue look alike."
            ),
        };
        (headline, None)
    } else {
        let why = match explains {
            true => "random loss or a short queue is enough to explain it, no rate limiter shows",
            false => "a policer, a short queue and random loss look alike at first",
        };
        (format!("Probably losses hold the flow ({figures}): {why}."), None)
    };
    Some(SummaryVerdict {
        kind: if standing && rates.is_some() { VerdictKind::Queue } else { VerdictKind::Loss },
        headline,
        facts,
        rate_mbps: rates.map(|r| r.map(|bps| bps / 1e6)),
        delays: delays.filter(|_| d.series.source != SummarySource::SsOnce),
        ..SummaryVerdict::default()
    })
}

/// Packets in flight that single losses leave CUBIC: the larger of its own and Reno's mean window (RFC 9438,
/// sections 5.1 and 5.2, C = 0.4, Reno-friendly).
fn single_losses(share: f64, rtt_s: f64) -> f64 {
    let cubic = 1.054 * (rtt_s / share).powf(0.75);
    let reno = 1.22 / share.sqrt();
    cubic.max(reno)
}
