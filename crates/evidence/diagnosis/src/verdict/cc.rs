//! A guess at the sender's congestion control.
//!
//! Each control predicts the share of its window that a loss leaves, and the growth of the window between
//! losses (`candidate.rs`). The bytes in flight from loss to loss (`stretch.rs`) give each a likelihood
//! (`likelihood.rs`); BBR also has its own signs (`probing.rs`). Priors are equal, and the posterior
//! probability is the confidence of the guess. There is no guess where the congestion window is not the
//! limit, or behaves as it would without any control.

mod candidate;
mod likelihood;
mod loss_law;
mod probing;
mod stretch;

pub(crate) use likelihood::median;
#[cfg(test)]
mod tests;

use super::evidence::FlowFacts;
use super::round_trips::RoundTripSpan;
use candidate::{CANDIDATES, OTHER};
use likelihood::ObservedStretches;
use result::Cause;
use result::diagnosis::Guess;
use std::collections::BTreeMap;
use track::Track;

/// Least confidence of a guess that is reported.
const MIN_CONFIDENCE: f64 = 0.5;
/// Prior of all controls without a name here, and of no control, relative to the prior of each named control.
/// Twelve of the 17 controls of Linux 6.18 have no name here, but are rarely used (Mishra et al., "The Great
/// Internet TCP Congestion Control Census", 2019).
const OTHERS_PRIOR: f64 = 2.0;
/// Probability that BBR shows one of its signs, measured on the build half of Nebby's traces
/// (`tests/diagnose/src/nebby.rs`).
const BBR_MARK_PROBABILITY: f64 = 0.9;
/// Probability that another control shows something like it, from the same traces.
const FALSE_MARK_PROBABILITY: f64 = 0.03;
/// Losses that are needed to measure the fall of the bytes in flight.
const MIN_LOSSES: usize = 2;

/// Dates from which Linux has BBR (4.9, 2016-12-11) and CUBIC (2.6.13, 2005-08-29), seconds since 1970. Older
/// captures cannot show them.
const AVAILABLE_SINCE: [(&str, f64); 2] = [("bbr", 1_481_414_400.0), ("cubic", 1_125_273_600.0)];

/// 1988-01-01, the year of the first tcpdump. Earlier times have no date, such as those of a simulator.
const EARLIEST_DATE: f64 = 567_993_600.0;

/// The bytes in flight fall below this share at a loss to which the sender responds: halfway between CUBIC's
/// share and 1.
const RESPONSE_SHARE: f64 = 0.85;

/// Returns the seconds after which CUBIC is back at the window (segments) that it had at a loss.
pub(super) fn cubic_plateau(window: f64) -> f64 {
    candidate::cubic_regains(window * (1.0 - candidate::CUBIC_BETA))
}

/// Whether the sender keeps its bytes in flight at losses.
pub(crate) fn are_losses_unanswered(rounds: &[RoundTripSpan], mss: f64) -> bool {
    median_fall(rounds, mss).is_some_and(|share| share > RESPONSE_SHARE)
}

/// Returns the median share of the bytes in flight that losses leave; `None` where too few losses show it.
fn median_fall(rounds: &[RoundTripSpan], mss: f64) -> Option<f64> {
    let mut falls = falls(rounds, mss);
    falls.sort_by(f64::total_cmp);
    (falls.len() >= MIN_LOSSES).then(|| falls[falls.len() / 2])
}

/// Guesses the control of a flow with the main cause `cause`. A flow that something other than the congestion
/// window limits shows none.
pub(crate) fn guess(t: &Track, rounds: &[RoundTripSpan], facts: &FlowFacts, cause: Cause) -> Guess {
    use Cause::{AckPath, Application, Outage, ReceiveWindow, ReceiverStalled, SendBuffer};
    let is_limited_otherwise =
        matches!(cause, Application | ReceiverStalled | ReceiveWindow | SendBuffer | AckPath | Outage);
    if is_limited_otherwise || facts.inflight_unknown {
        return none();
    }
    let start = t.first.as_secs_f64();
    let handshake = t.handshake.rtt.map(|r| r.as_secs_f64());
    let guess = guess_by_window(rounds, facts, handshake);
    let too_old = AVAILABLE_SINCE
        .iter()
        .any(|(name, since)| guess.name == *name && (EARLIEST_DATE..*since).contains(&start));
    if too_old { none() } else { guess }
}

/// Returns the guess that names no control.
pub(super) fn none() -> Guess {
    Guess { name: OTHER.into(), confidence: 0.0 }
}

fn guess_by_window(rounds: &[RoundTripSpan], facts: &FlowFacts, handshake: Option<f64>) -> Guess {
    let stretches = stretch::stretches(rounds, facts);
    // A control with another law may keep the same amount in flight, but reduces it at a loss.
    let responds = median_fall(rounds, facts.mss).is_some_and(|share| share <= RESPONSE_SHARE);
    let beyond_losses = !responds && loss_law::holds_more(rounds, facts.mss);
    if stretches.is_empty() && !beyond_losses {
        return none();
    }
    let observed = ObservedStretches::new(&stretches, facts.min_rtt, handshake);
    let dips = probing::probe_rtts(rounds, facts.mss, observed.path.max_rtt);
    let cycles = probing::is_cycling(rounds, facts.mss, observed.path.min_rtt);
    let marks = dips.min(2) + usize::from(cycles);
    let logs = CANDIDATES.map(|c| {
        let marked = match c.name {
            Some("bbr") if marks > 0 || beyond_losses => BBR_MARK_PROBABILITY,
            Some("bbr") => 1.0 - BBR_MARK_PROBABILITY,
            _ => FALSE_MARK_PROBABILITY.powi(marks as i32),
        };
        // A limit other than the congestion window does not respond to losses either.
        let allowed = if beyond_losses && c.name.is_some_and(|name| name != "bbr") {
            FALSE_MARK_PROBABILITY
        } else {
            1.0
        };
        let queue =
            observed.standing_queue(c.own_rtt.map_or(observed.path.min_rtt, |own| own(observed.path)));
        let kept =
            queue.map_or(1.0, |q| if c.own_rtt.is_some() { kept_by_vegas(q) } else { kept_by_others(q) });
        (c.name, observed.log_likelihood(&c) + marked.ln() + allowed.ln() + kept.ln())
    });
    let max_log = logs.iter().map(|l| l.1).fold(f64::NEG_INFINITY, f64::max);
    let mut weights = BTreeMap::<&'static str, (f64, f64)>::new();
    let mut no_control = 0.0;
    for (name, log) in logs {
        let likelihood = (log - max_log).exp();
        let (sum, count) = weights.entry(name.unwrap_or(OTHER)).or_default();
        (*sum, *count) = (*sum + likelihood, *count + 1.0);
        no_control += if name.is_none() { likelihood } else { 0.0 };
    }
    // Excluding all named controls does not prove that another control is there.
    let certainty = |name: &str, sum: f64| if name == OTHER { (sum - no_control) / sum } else { 1.0 };
    let prior = |name: &str| if name == OTHER { OTHERS_PRIOR } else { 1.0 };
    let total: f64 = weights.iter().map(|(name, (sum, count))| prior(name) * sum / count).sum();
    let posterior = |(name, (sum, count)): (&'static str, (f64, f64))| {
        let weight = prior(name) * sum / count;
        (name, weight, certainty(name, sum) * weight / total)
    };
    let best = weights.into_iter().map(posterior).max_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|b| b.2 >= MIN_CONFIDENCE)
        .map_or_else(none, |(name, _, confidence)| Guess { name: name.into(), confidence })
}

/// Returns the likelihood that Vegas keeps this many segments queued while its window is constant: from
/// `alpha` to `beta`, known to half a segment.
fn kept_by_vegas(queue: f64) -> f64 {
    let (alpha, beta) = candidate::VEGAS_QUEUED;
    let within = (alpha - 0.5..=beta + 0.5).contains(&queue);
    (1.0 - likelihood::OUTLIER_SHARE) * if within { 1.0 / (beta - alpha + 1.0) } else { 0.0 }
        + likelihood::OUTLIER_SHARE * kept_by_others(queue)
}

/// Returns the likelihood of this many queued segments for a control that ignores delay: log-uniform from a
/// third of a segment to a few hundred.
fn kept_by_others(queue: f64) -> f64 {
    1.0 / (queue.max(1.0 / 3.0) * 1000f64.ln())
}

/// Returns the share of the bytes in flight that each loss without a timeout left.
fn falls(rounds: &[RoundTripSpan], mss: f64) -> Vec<f64> {
    let mut out = Vec::new();
    let mut i = 1;
    while i < rounds.len() {
        if rounds[i].lost == 0 {
            i += 1;
            continue;
        }
        let end = (i..rounds.len()).find(|j| rounds[*j].lost == 0 && rounds[*j].resent == 0.0);
        let Some(end) = end else { break };
        let before = rounds[i - 1].inflight.max(rounds[i].inflight);
        let after =
            rounds[end..(end + 3).min(rounds.len())].iter().map(|r| r.inflight).fold(f64::INFINITY, f64::min);
        let waited = rounds[i..end].iter().any(|r| r.timeout > 0.0 || r.silence > 0.0);
        if !waited && before > 8.0 * mss && after.is_finite() {
            out.push((after / before).min(1.5));
        }
        i = end + 1;
    }
    out
}
