//! The shares and the timeline of a flow's causes.

use super::evidence::RoundSplit;
use super::round_trips::RoundTripSpan;
use result::diagnosis::{Cause, CauseShare, CauseSpan};
use std::collections::BTreeMap;

/// Greatest number of spans in a timeline.
pub(crate) const MAX_SPANS: usize = 400;

/// Returns the causes of a flow with their shares, the greatest first.
pub(super) fn shares(splits: &[RoundSplit]) -> Vec<CauseShare> {
    let mut seconds: BTreeMap<Cause, f64> = BTreeMap::new();
    for (cause, s) in splits.iter().flatten() {
        *seconds.entry(*cause).or_default() += s;
    }
    let total: f64 = seconds.values().sum();
    let share = |s: f64| if total > 0.0 { s / total } else { 0.0 };
    let mut out: Vec<CauseShare> = seconds
        .into_iter()
        .filter(|(_, s)| *s > 0.0)
        .map(|(cause, seconds)| CauseShare { cause, share: share(seconds), seconds })
        .collect();
    out.sort_by(|a, b| b.share.total_cmp(&a.share));
    if out.is_empty() {
        out.push(CauseShare { share: 1.0, ..CauseShare::default() });
    }
    out
}

/// Returns the cause of the greatest part of a round trip.
fn greatest(split: &RoundSplit) -> Cause {
    split.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(Cause::Unknown, |part| part.0)
}

/// Returns the timeline: spans of the main cause of each round trip. Neighbours with the same cause are
/// joined, and short spans are absorbed until there are at most [`MAX_SPANS`].
pub(super) fn timeline(rounds: &[RoundTripSpan], splits: &[RoundSplit], start: f64) -> Vec<CauseSpan> {
    let mut out: Vec<CauseSpan> = Vec::new();
    for (r, split) in rounds.iter().zip(splits) {
        let cause = greatest(split);
        let (from_s, to_s) = (start + r.from, start + r.from + r.width);
        match out.last_mut() {
            Some(last) if last.cause == cause => last.to_s = to_s,
            _ => out.push(CauseSpan { from_s, to_s, cause }),
        }
    }
    let mut least = 0.0;
    while out.len() > MAX_SPANS {
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
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::RoundPart;

    /// Round trips of a second, each with one cause.
    fn flow(causes: &[Cause]) -> (Vec<RoundTripSpan>, Vec<RoundSplit>) {
        let round = |i: usize| RoundTripSpan { from: i as f64, width: 1.0, ..RoundTripSpan::default() };
        let split = |cause: &Cause| {
            let mut split = RoundPart::ALL.map(|_| (Cause::Unknown, 0.0));
            split[RoundPart::Moving as usize] = (*cause, 1.0);
            split
        };
        ((0..causes.len()).map(round).collect(), causes.iter().map(split).collect())
    }

    #[test]
    fn neighbours_of_one_cause_are_one_span() {
        let (rounds, splits) = flow(&[Cause::Policed, Cause::Policed, Cause::Outage]);
        let spans = timeline(&rounds, &splits, 10.0);
        let spans: Vec<_> = spans.iter().map(|s| (s.cause, s.from_s, s.to_s)).collect();
        assert_eq!(spans, [(Cause::Policed, 10.0, 12.0), (Cause::Outage, 12.0, 13.0)]);
    }

    #[test]
    fn shares_are_in_falling_order() {
        let (_, splits) = flow(&[Cause::Outage, Cause::Policed, Cause::Policed, Cause::Policed]);
        let shares: Vec<_> = shares(&splits).iter().map(|s| (s.cause, s.share, s.seconds)).collect();
        assert_eq!(shares, [(Cause::Policed, 0.75, 3.0), (Cause::Outage, 0.25, 1.0)]);
    }
}
