//! Posterior probabilities of the proposed limiters, and of no limiter.
//!
//! 1. Each search proposes the limiters that it finds, once for each kind that they may be
//!    ([`LimiterSource`]).
//! 2. Proposals of one kind and rate are one hypothesis, whichever search made them ([`hypotheses`]). Its
//!    evidence is a list of physical statements ([`super::evidence`]). Where two searches make the same
//!    statement, the stronger one counts.
//! 3. The log odds of a hypothesis against no limiter are the sum of its statements, each times its factor.
//!    Probabilities are proportional to their exponentials: a conditional logit (McFadden 1974).
//! 4. The factors are learned where the truth is known (`tests/diagnose`, `calibrate limiters`).
//!
//! The most probable hypothesis is reported if it is more probable than no limiter. Its probability is the
//! confidence.

pub use super::evidence::{LEARNED, LimiterEvidence, LimiterStatement, STATEMENTS, learned};
use super::virtual_queue::PacketArrival;
use super::{FoundLimiter, same_rate};
use result::diagnosis::LimiterKind;

/// The search that proposes a limiter. Searches that show a limiter best come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimiterSource {
    /// Packets leave at the ticks of a refilled shaper ([`super::refill_ticks`]).
    Ticks,
    /// Packets wait in a queue that drains at one rate ([`super::by_delays`]).
    Delays,
    /// A bucket predicts the losses ([`super::by_losses`]).
    Losses,
    /// A bucket predicts the losses among packets as they leave the sender's own line
    /// ([`super::sender_line`]).
    LossesBehindLine,
    /// Packets arrive at one rate, and nothing else is known ([`super::by_delays`]).
    Rate,
}

impl LimiterSource {
    /// Whether the search uses losses. Both searches by losses use the same packets.
    fn is_by_losses(self) -> bool {
        matches!(self, LimiterSource::Losses | LimiterSource::LossesBehindLine)
    }
}

/// A limiter that a search proposes, reduced to what is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposal {
    /// The search that proposes it.
    pub source: LimiterSource,
    pub kind: LimiterKind,
    /// Bytes a second.
    pub rate: f64,
    /// Log likelihood ratio of its losses against chance, nats.
    pub loss_gain: f64,
    pub evidence: LimiterEvidence,
}

/// A candidate limiter.
pub(super) struct LimiterCandidate {
    pub source: LimiterSource,
    pub found: FoundLimiter,
    pub evidence: LimiterEvidence,
    /// Packets as they arrive at it, where they differ from those of the capture.
    pub arrivals: Option<Vec<PacketArrival>>,
}

impl LimiterCandidate {
    pub fn proposal(&self) -> Proposal {
        let LimiterCandidate { source, found, evidence, .. } = self;
        let FoundLimiter { kind, rate, loss_gain, .. } = *found;
        Proposal { source: *source, kind, rate, loss_gain, evidence: *evidence }
    }
}

/// Proposals of one kind and rate, as one hypothesis.
#[derive(Clone, Debug, PartialEq)]
pub struct LimiterHypothesis {
    /// Indices of the proposals.
    pub members: Vec<usize>,
    /// Their joint evidence.
    pub evidence: LimiterEvidence,
}

/// Groups proposals into hypotheses.
pub fn hypotheses(proposals: &[Proposal]) -> Vec<LimiterHypothesis> {
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (i, p) in proposals.iter().enumerate() {
        let same = |h: &&mut Vec<usize>| {
            let first = proposals[h[0]];
            first.kind == p.kind && same_rate(first.rate, p.rate)
        };
        match members.iter_mut().find(same) {
            Some(hypothesis) => hypothesis.push(i),
            None => members.push(vec![i]),
        }
    }
    let hypothesis = |members: Vec<usize>| {
        let mut evidence = together(members.iter().map(|i| &proposals[*i]));
        let first = proposals[members[0]];
        let queues = first.kind != LimiterKind::Policer;
        evidence.flag(LimiterStatement::Agree, queues && searches(proposals, first.rate) > 1);
        LimiterHypothesis { members, evidence }
    };
    members.into_iter().map(hypothesis).collect()
}

/// Returns the joint evidence of proposals of one kind and rate. Of several proposals by losses only the one
/// that predicts them best counts, because they use the same packets, at one end of the sender's line or at
/// the other.
fn together<'a>(members: impl Iterator<Item = &'a Proposal> + Clone) -> LimiterEvidence {
    let by_losses = members.clone().filter(|p| p.source.is_by_losses());
    let best = by_losses.max_by(|a, b| a.loss_gain.total_cmp(&b.loss_gain));
    let others = members.clone().filter(|p| !p.source.is_by_losses());
    others.chain(best).map(|p| p.evidence).reduce(LimiterEvidence::stronger).unwrap_or_default()
}

/// Returns the number of searches that find a limiter of this rate, of any kind. Searches by losses count
/// once.
fn searches(proposals: &[Proposal], rate: f64) -> usize {
    let source = |p: &Proposal| if p.source.is_by_losses() { LimiterSource::Losses } else { p.source };
    let mut sources: Vec<LimiterSource> =
        proposals.iter().filter(|p| same_rate(p.rate, rate)).map(source).collect();
    sources.sort_unstable();
    sources.dedup();
    sources.len()
}

/// Returns the probabilities of hypotheses with these scores. The rest to 1 is the probability of no limiter,
/// whose score is 0.
pub fn probabilities(scores: &[f64]) -> Vec<f64> {
    let max_score = scores.iter().copied().fold(0.0, f64::max);
    let odds = |score: f64| libm::exp(score - max_score);
    let total: f64 = odds(0.0) + scores.iter().copied().map(odds).sum::<f64>();
    scores.iter().map(|score| odds(*score) / total).collect()
}

/// The most probable hypothesis of a limiter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MostProbable {
    /// Index of the candidate that shows it best.
    pub candidate: usize,
    /// Posterior probability of the hypothesis.
    pub probability: f64,
    /// Whether it is more probable than no limiter.
    pub beats_none: bool,
}

/// Returns the most probable hypothesis of a limiter; `None` where there are no candidates.
pub(super) fn most_probable(candidates: &[LimiterCandidate]) -> Option<MostProbable> {
    let proposals: Vec<Proposal> = candidates.iter().map(LimiterCandidate::proposal).collect();
    let hypotheses = hypotheses(&proposals);
    let factors = learned();
    let scores: Vec<f64> = hypotheses.iter().map(|h| h.evidence.score(&factors)).collect();
    let likely = probabilities(&scores);
    let none = 1.0 - likely.iter().sum::<f64>();
    let best = (0..likely.len()).max_by(|a, b| likely[*a].total_cmp(&likely[*b]))?;
    let shows = |i: &usize| {
        let bucket = candidates[*i].found.bucket.map_or(0.0, |b| b.score());
        let source =
            if proposals[*i].source.is_by_losses() { LimiterSource::Losses } else { proposals[*i].source };
        (source, bucket)
    };
    let better = |a: &usize, b: &usize| {
        let (a, b) = (shows(a), shows(b));
        b.0.cmp(&a.0).then(a.1.total_cmp(&b.1))
    };
    let candidate = hypotheses[best].members.iter().copied().max_by(better)?;
    Some(MostProbable { candidate, probability: likely[best], beats_none: likely[best] > none })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(source: LimiterSource, kind: LimiterKind, rate: f64) -> LimiterCandidate {
        let found = FoundLimiter { kind, rate, ..FoundLimiter::default() };
        LimiterCandidate { source, found, evidence: LimiterEvidence::of_any(), arrivals: None }
    }

    fn proposals(list: &[(LimiterSource, LimiterKind, f64)]) -> Vec<Proposal> {
        list.iter().map(|(source, kind, rate)| candidate(*source, *kind, *rate).proposal()).collect()
    }

    #[test]
    fn probabilities_of_all_hypotheses_and_of_no_limiter_add_up_to_one() {
        // Odds of three to one to one.
        let likely = probabilities(&[3f64.ln(), 0.0]);
        assert!((likely[0] - 0.6).abs() < 1e-9 && (likely[1] - 0.2).abs() < 1e-9, "{likely:?}");
        // A large score does not overflow.
        let likely = probabilities(&[2000.0, 0.0]);
        assert!((likely[0] - 1.0).abs() < 1e-9 && likely[1] < 1e-9, "{likely:?}");
        assert!(probabilities(&[]).is_empty());
    }

    #[test]
    fn proposals_of_one_kind_and_rate_are_one_hypothesis() {
        use LimiterKind::{Bottleneck, Policer};
        use LimiterSource::{Delays, Losses};
        let list = [
            (Delays, Bottleneck, 1e6),
            (Losses, Policer, 1e6),
            (Losses, Bottleneck, 1.01e6),
            (Delays, Bottleneck, 2e6),
        ];
        let hypotheses = hypotheses(&proposals(&list));
        let members: Vec<Vec<usize>> = hypotheses.iter().map(|h| h.members.clone()).collect();
        assert_eq!(members, [vec![0, 2], vec![1], vec![3]]);
        let agree: Vec<bool> =
            hypotheses.iter().map(|h| h.evidence.get(LimiterStatement::Agree).is_some()).collect();
        assert_eq!(agree, [true, false, false]);
    }

    #[test]
    fn proposals_by_losses_at_both_ends_of_the_senders_line_count_once() {
        use LimiterSource::{Losses, LossesBehindLine};
        let mut both =
            proposals(&[(Losses, LimiterKind::Policer, 1e6), (LossesBehindLine, LimiterKind::Policer, 1e6)]);
        both[0].evidence.set(LimiterStatement::Strays, 0.8);
        both[1].evidence.set(LimiterStatement::Strays, 0.1);
        both[1].loss_gain = 50.0;
        assert_eq!(hypotheses(&both)[0].evidence.get(LimiterStatement::Strays), Some(0.1));
    }

    #[test]
    fn without_candidates_there_is_no_hypothesis() {
        assert_eq!(most_probable(&[]), None);
    }

    #[test]
    fn a_bucket_beats_no_limiter_only_if_it_predicts_most_losses() {
        use LimiterStatement::{BucketPackets, Losses, LossesByRule, Strays, Waits};
        let mut policer = candidate(LimiterSource::Losses, LimiterKind::Policer, 1e6);
        let clean = [(Losses, 6.0), (BucketPackets, 3.0), (LossesByRule, 5.0), (Strays, 0.0), (Waits, 1.0)];
        clean.into_iter().for_each(|(statement, value)| policer.evidence.set(statement, value));
        let likely = most_probable(std::slice::from_ref(&policer));
        assert!(likely.is_some_and(|m| m.beats_none && m.probability > 0.9), "{likely:?}");
        let blurred = [(LossesByRule, -2.0), (Strays, 1.8), (Waits, -1.0)];
        blurred.into_iter().for_each(|(statement, value)| policer.evidence.set(statement, value));
        assert!(most_probable(&[policer]).is_some_and(|m| !m.beats_none && m.probability < 0.5));
    }
}
