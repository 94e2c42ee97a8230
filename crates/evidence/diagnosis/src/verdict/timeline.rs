//! Which cause held a flow for which share of its time, and when.

use super::evidence::RoundSplit;
use super::round_trips::RoundTripSpan;
use crate::claims::{CAUSES, OfCauses};
use result::diagnosis::{Cause, CauseShare, CauseSpan};
use std::collections::BTreeMap;

/// Stretches of a flow's time told at most.
pub(crate) const MOST_SPANS: usize = 400;

/// All causes of a flow, greatest first.
pub(super) fn shares(splits: &[RoundSplit]) -> Vec<CauseShare> {
    let mut seconds: BTreeMap<Cause, f64> = BTreeMap::new();
    for (cause, s) in splits.iter().flatten() {
        *seconds.entry(*cause).or_default() += s;
    }
    let whole: f64 = seconds.values().sum();
    let share = |s: f64| if whole > 0.0 { s / whole } else { 0.0 };
    let mut out: Vec<CauseShare> = seconds
        .into_iter()
        .filter(|(_, s)| *s > 0.0)
        .map(|(cause, seconds)| CauseShare { cause, share: share(seconds), seconds, expected_share: None })
        .collect();
    out.sort_by(|a, b| b.share.total_cmp(&a.share));
    if out.is_empty() {
        out.push(CauseShare { share: 1.0, ..CauseShare::default() });
    }
    out
}

/// The same with the share of the flow's time that each is expected to have: the mean of its probabilities.
pub(super) fn expected(
    mut shares: Vec<CauseShare>,
    rounds: &[RoundTripSpan],
    probabilities: &[OfCauses],
) -> Vec<CauseShare> {
    if let Some(mean) = mean(rounds, probabilities) {
        shares.iter_mut().for_each(|s| s.expected_share = Some(mean[s.cause as usize]));
    }
    shares
}

/// The mean of each cause's probabilities over the time of these rounds; `None` where that is no time.
fn mean(rounds: &[RoundTripSpan], probabilities: &[OfCauses]) -> Option<OfCauses> {
    let mut sum = [0.0; CAUSES];
    for (r, p) in rounds.iter().zip(probabilities) {
        sum.iter_mut().zip(p).for_each(|(s, p)| *s += r.width * p);
    }
    let whole: f64 = rounds.iter().map(|r| r.width).sum();
    (whole > 0.0).then(|| sum.map(|s| s / whole))
}

/// The cause of the greatest part of a round.
pub(super) fn greatest(split: &RoundSplit) -> Cause {
    split.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(Cause::Unknown, |part| part.0)
}

/// Rounds as stretches of their greatest cause, neighbours of one cause joined, and short ones swallowed until
/// there are not too many.
pub(super) fn timeline(
    rounds: &[RoundTripSpan],
    splits: &[RoundSplit],
    probabilities: &[OfCauses],
    start: f64,
) -> Vec<CauseSpan> {
    let mut out: Vec<CauseSpan> = Vec::new();
    for (r, split) in rounds.iter().zip(splits) {
        let cause = greatest(split);
        let (from_s, to_s) = (start + r.from, start + r.from + r.width);
        match out.last_mut() {
            Some(last) if last.cause == cause => last.to_s = to_s,
            _ => out.push(CauseSpan { from_s, to_s, cause, probability: None }),
        }
    }
    let mut least = 0.0;
    while out.len() > MOST_SPANS {
        least = if least == 0.0 { rounds.first().map_or(1e-3, |r| r.width.max(1e-6)) } else { least * 2.0 };
        let mut kept: Vec<CauseSpan> = Vec::with_capacity(out.len());
        for span in out {
            match kept.last_mut() {
                Some(last) if last.cause == span.cause || span.to_s - span.from_s < least => {
                    last.to_s = span.to_s
                }
                _ => kept.push(span),
            }
        }
        out = kept;
    }
    let mut first = 0;
    for span in &mut out {
        // By its middle: where one round ends and the next begins may differ by a rounding.
        let within =
            rounds[first..].iter().take_while(|r| start + r.from + r.width / 2.0 < span.to_s).count();
        let (begin, end) = (first, first + within);
        let mean = mean(&rounds[begin..end], &probabilities[begin..end]);
        span.probability = mean.map(|of| of[span.cause as usize]);
        first = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::cause::RoundPart;

    /// Rounds of a second each, one of a cause, with what it is told to be sure of.
    fn flow(of: &[(Cause, f64)]) -> (Vec<RoundTripSpan>, Vec<RoundSplit>, Vec<OfCauses>) {
        let round = |i: usize| RoundTripSpan { from: i as f64, width: 1.0, ..RoundTripSpan::default() };
        let split = |cause| {
            let mut split = RoundPart::ALL.map(|_| (Cause::Unknown, 0.0));
            split[RoundPart::Moving as usize] = (cause, 1.0);
            split
        };
        let sure = |(cause, p): (Cause, f64)| {
            let mut all = [0.0; CAUSES];
            (all[cause as usize], all[Cause::Unknown as usize]) = (p, 1.0 - p);
            all
        };
        let (splits, probabilities) = of.iter().map(|o| (split(o.0), sure(*o))).unzip();
        ((0..of.len()).map(round).collect(), splits, probabilities)
    }

    #[test]
    fn a_stretch_is_as_sure_as_its_round_trips_are_in_the_mean() {
        let (rounds, splits, probabilities) =
            flow(&[(Cause::Policed, 1.0), (Cause::Policed, 0.5), (Cause::Outage, 0.625)]);
        let spans = timeline(&rounds, &splits, &probabilities, 10.0);
        let told: Vec<_> = spans.iter().map(|s| (s.cause, s.from_s, s.to_s, s.probability)).collect();
        assert_eq!(
            told,
            [(Cause::Policed, 10.0, 12.0, Some(0.75)), (Cause::Outage, 12.0, 13.0, Some(0.625))]
        );
    }

    #[test]
    fn what_is_expected_is_the_mean_over_the_flows_time() {
        let (rounds, splits, probabilities) = flow(&[
            (Cause::Policed, 1.0),
            (Cause::Policed, 0.5),
            (Cause::Policed, 0.75),
            (Cause::Outage, 0.5),
        ]);
        let told = expected(shares(&splits), &rounds, &probabilities);
        let told: Vec<_> = told.iter().map(|s| (s.cause, s.share, s.expected_share)).collect();
        assert_eq!(told, [(Cause::Policed, 0.75, Some(0.5625)), (Cause::Outage, 0.25, Some(0.125))]);
        assert_eq!(expected(shares(&[]), &[], &[])[0].expected_share, None);
    }
}
