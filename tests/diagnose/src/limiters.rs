//! Learns the factors that decide which proposed limiter is real, or none
//! (`crates/evidence/diagnosis/src/limiter/posterior.rs`), and scores them.
//!
//! A proposal is right if it matches the limiter that the truth names for one of its flows (`truth.rs`), by
//! kind and rate. If none does, a limiter that dropped packets or was full is right; where the truth names
//! none, that or no limiter is right.
//!
//! The factors maximise the likelihood of right proposals (Newton's method), with a normal prior around 0 of
//! deviation [`DEVIATION`]. A case counts once for its flows together and once for each flow alone. A kernel
//! run counts [`KERNEL_WEIGHT`] times, and every third is kept back.

use crate::judge::{played, read_tracks};
use crate::lab::{self, Kept};
use crate::logit::solved;
use crate::observations::Observations;
use crate::play::variant;
use crate::truth::{MIN_BUCKET, POLICED_DROPS};
use crate::{Case, FlowTruth, Truth, draw, each, world};
use capture::CaptureReader;
use diagnosis::posterior::{
    self, LEARNED, LimiterEvidence, LimiterHypothesis, LimiterStatement, Proposal, STATEMENTS,
};
use diagnosis::{ProposedLimiter, proposed_limiters};
use result::diagnosis::LimiterKind;
use scenario::Scenario;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use track::Track;

/// Standard deviation of a factor's prior times the usual size of its statement, nats.
const DEVIATION: f64 = 3.0;
/// Weight of a kernel run relative to a drawn case, of which there are many more.
pub const KERNEL_WEIGHT: f64 = 4.0;
/// One in this many kernel runs is kept back.
const KEPT_BACK: u64 = 3;
/// Floor of a probability before its logarithm is taken.
const MIN_PROBABILITY: f64 = 1e-12;
/// Greatest number of steps of Newton's method.
const MAX_STEPS: usize = 40;
/// Relative gain below which the method has converged.
const MIN_RELATIVE_GAIN: f64 = 1e-6;
/// A rate is right within this relative error.
const RATE_TOLERANCE: f64 = 0.03;
/// A bucket is right within this factor.
const BUCKET_FACTOR: f64 = 1.25;
/// A policer is idle if less than this share of its rate is used.
const IDLE_SHARE: f64 = 0.5;
/// Least share of all losses, or of the time, for a stage to count as dropping, or as full.
const MIN_ACTING_SHARE: f64 = 0.05;

/// Proposals for some packets, with the right ones marked.
pub struct LabelledLimiters {
    /// Number of the case, and of the flows that were searched together.
    pub case: (u64, usize),
    pub proposed: Vec<ProposedLimiter>,
    /// Proposals grouped by kind and rate.
    pub hypotheses: Vec<LimiterHypothesis>,
    /// Whether each hypothesis is right.
    pub right: Vec<bool>,
    /// Whether no limiter is right.
    pub none: bool,
    /// Weight of the case.
    pub weight: f64,
}

/// A true limiter: kind, rate in Mbit/s, bucket in bytes.
type TrueLimiter = (LimiterKind, f64, Option<f64>);

fn kind(name: &str) -> Option<LimiterKind> {
    match name {
        "policer" => Some(LimiterKind::Policer),
        "shaper" => Some(LimiterKind::Shaper),
        "link" | "bottleneck" => Some(LimiterKind::Bottleneck),
        _ => None,
    }
}

/// Whether a proposal matches a true limiter. The losses of a policer that is idle most of the time show its
/// bucket and not its rate, so the bucket decides where less than half of the rate is used.
fn is_match(p: &ProposedLimiter, (kind, rate, burst): &TrueLimiter) -> bool {
    let near =
        (p.rates_mbps.0 * (1.0 - RATE_TOLERANCE)..=p.rates_mbps.1 * (1.0 + RATE_TOLERANCE)).contains(rate);
    let small = |burst: Option<f64>| burst.is_none_or(|b| b < MIN_BUCKET);
    let link = |kind: LimiterKind, burst| {
        kind == LimiterKind::Bottleneck || kind == LimiterKind::Shaper && small(burst)
    };
    let as_link = link(p.proposal.kind, p.burst) && link(*kind, *burst);
    let same_bucket = || p.burst.zip(*burst).is_some_and(|(a, b)| (a / b).ln().abs() < BUCKET_FACTOR.ln());
    let is_kind = p.proposal.kind == *kind;
    near && (is_kind || as_link)
        || is_kind && *kind == LimiterKind::Policer && p.used < IDLE_SHARE && same_bucket()
}

/// Returns the proposals of a simulated case.
fn label_case(case: &Case) -> Result<Vec<LabelledLimiters>, String> {
    let (truth, tracks, _) = played(case)?;
    Ok(label_tracks(&truth, &tracks, &variant(case)?.scenario))
}

/// Returns the proposals of a kernel run that `lab --out` kept.
fn label_kept(folder: &Path) -> Result<Vec<LabelledLimiters>, String> {
    let Kept { truth, scenario, capture } = Kept::read(folder)?;
    let reader = CaptureReader::open(&capture).map_err(|e| e.to_string())?;
    Ok(label_tracks(&truth, &read_tracks(reader).0, &scenario))
}

/// Returns the proposals for tracks with known truth and path.
fn label_tracks(truth: &Truth, tracks: &[Track], scenario: &Scenario) -> Vec<LabelledLimiters> {
    let stages = Observations::new(scenario).stages;
    let mut out = Vec::new();
    // Pairs of hosts with a right proposal for their flows together.
    let mut known = BTreeSet::new();
    for search in proposed_limiters(tracks) {
        let hosts = (tracks[search.members[0]].sender.addr, tracks[search.members[0]].receiver.addr);
        // Flows are searched alone where no joint limiter is reported.
        if known.contains(&hosts) {
            continue;
        }
        let ends = |m: &usize| (tracks[*m].sender.to_string(), tracks[*m].receiver.to_string());
        let flow_truth = |m: &usize| truth.flows.iter().find(|f| (f.from.clone(), f.to.clone()) == ends(m));
        let flows: Vec<&FlowTruth> = search.members.iter().filter_map(flow_truth).collect();
        if flows.is_empty() {
            continue;
        }
        let named = flows.iter().filter_map(|f| f.limiter.as_ref());
        let named: Vec<TrueLimiter> =
            named.filter_map(|l| Some((kind(&l.kind)?, l.rate_mbps, l.burst_bytes))).collect();
        let lost = |kind: &str| flows.iter().filter_map(|f| f.lost.get(kind)).sum::<u64>();
        let all_lost: u64 = flows.iter().flat_map(|f| f.lost.values()).sum();
        let full = |cause: &str| {
            flows.iter().any(|f| f.shares.iter().any(|s| s.0 == cause && s.1 > MIN_ACTING_SHARE))
        };
        let acts = |name: &str| match name {
            "policer" => lost(name) >= POLICED_DROPS,
            "shaper" => full("shaped") || lost(name) as f64 > MIN_ACTING_SHARE * all_lost as f64,
            _ => full("bottleneck") || lost(name) as f64 > MIN_ACTING_SHARE * all_lost as f64,
        };
        let acting = stages.iter().filter(|s| acts(s.kind));
        let acting: Vec<TrueLimiter> =
            acting.filter_map(|s| Some((kind(s.kind)?, s.rate? * 1e-6, s.burst))).collect();
        for proposed in search.sides.into_iter().filter(|side| !side.is_empty()) {
            let matches_any = |limiters: &[TrueLimiter]| -> Vec<bool> {
                proposed.iter().map(|p| limiters.iter().any(|l| is_match(p, l))).collect()
            };
            let mut right = matches_any(&named);
            let mut none = named.is_empty();
            if !right.contains(&true) {
                right = matches_any(&acting);
                none |= !right.contains(&true);
            }
            let count = search.members.len();
            let weight = if count > 1 || tracks.len() <= 2 { 1.0 } else { 1.0 / truth.flows.len() as f64 };
            let has_right = right.contains(&true);
            out.push(LabelledLimiters::new(proposed, &right, none, weight, (truth.number, count)));
            // The other side is searched where this one reports no limiter.
            if has_right {
                known.insert(hosts);
                break;
            }
        }
    }
    out
}

/// Returns the proposals of all kernel runs that `lab --out` kept in a folder.
///
/// # Errors
/// Names the file that cannot be read.
pub fn kept_labelled(folder: &Path) -> Result<Vec<LabelledLimiters>, String> {
    let cases = lab::kept_cases(folder)?;
    let all = each(0..cases.len() as u64, |n| label_kept(&cases[n as usize]))?;
    Ok(all.into_iter().flatten().collect())
}

/// Returns the proposals of this many cases of a seed's set, and of a third as many of its set of receivers
/// that do not read.
///
/// # Errors
/// Fails as [`crate::play`] does.
pub fn labelled(seed: u64, cases: u64) -> Result<Vec<LabelledLimiters>, String> {
    let all = each(0..cases + cases / 3, |n| {
        label_case(&if n < cases { draw::case(seed, n) } else { world::case(seed, n - cases) })
    })?;
    Ok(all.into_iter().flatten().collect())
}

/// Factors in the order of [`LEARNED`].
pub type Factors = [f64; STATEMENTS];

/// Splits kernel runs into those to learn from and those kept back.
pub fn halves(kernel: Vec<LabelledLimiters>) -> (Vec<LabelledLimiters>, Vec<LabelledLimiters>) {
    kernel.into_iter().partition(|l| l.case.0 % KEPT_BACK != KEPT_BACK - 1)
}

impl LabelledLimiters {
    fn new(
        proposed: Vec<ProposedLimiter>,
        right: &[bool],
        none: bool,
        weight: f64,
        case: (u64, usize),
    ) -> LabelledLimiters {
        let proposals: Vec<Proposal> = proposed.iter().map(|p| p.proposal).collect();
        let hypotheses = posterior::hypotheses(&proposals);
        let right = hypotheses.iter().map(|h| h.members.iter().any(|i| right[*i])).collect();
        LabelledLimiters { case, proposed, hypotheses, right, none, weight }
    }

    /// Returns the probability of each hypothesis, and of no limiter.
    fn probabilities(&self, factors: &Factors) -> (Vec<f64>, f64) {
        let scores: Vec<f64> = self.hypotheses.iter().map(|h| h.evidence.score(factors)).collect();
        let p = posterior::probabilities(&scores);
        let none = 1.0 - p.iter().sum::<f64>();
        (p, none)
    }

    /// Returns the total probability of the right hypotheses.
    fn likelihood(&self, (p, none): &(Vec<f64>, f64)) -> f64 {
        let sum = p.iter().zip(&self.right).filter(|(_, right)| **right).map(|(p, _)| p).sum::<f64>();
        (sum + if self.none { *none } else { 0.0 }).max(MIN_PROBABILITY)
    }

    /// Returns the reported hypothesis (`None` for no limiter), its probability, and whether it is right.
    fn verdict(&self, factors: &Factors) -> (Option<usize>, f64, bool) {
        let (p, none) = self.probabilities(factors);
        let best = (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).filter(|i| p[*i] > none);
        best.map_or((None, none, self.none), |i| (best, p[i], self.right[i]))
    }

    /// Whether a policer is reported that does not exist.
    fn is_false_policer(&self, factors: &Factors) -> bool {
        let (best, _, right) = self.verdict(factors);
        let kind = best.map(|i| self.proposed[self.hypotheses[i].members[0]].proposal.kind);
        !right && kind == Some(LimiterKind::Policer)
    }
}

/// Returns the statements of a hypothesis, by their indices.
fn terms(evidence: &LimiterEvidence) -> Vec<(usize, f64)> {
    evidence.known().map(|(statement, x)| (statement as usize, x)).collect()
}

/// Returns the precision of each factor's prior around 0: the mean square of its statement, or infinity for a
/// factor that is left `out`.
fn priors(all: &[&LabelledLimiters], out: Option<usize>) -> Factors {
    let mut sums = [(0.0, 0.0); STATEMENTS];
    for (i, x) in all.iter().flat_map(|l| l.hypotheses.iter().flat_map(|h| terms(&h.evidence))) {
        sums[i] = (sums[i].0 + x * x, sums[i].1 + f64::from(x != 0.0));
    }
    std::array::from_fn(|i| match sums[i] {
        _ if out == Some(i) => 1e12,
        (squares, n) if squares > 0.0 => squares / n / (DEVIATION * DEVIATION),
        _ => 1.0,
    })
}

fn cost(all: &[&LabelledLimiters], priors: &Factors, factors: &Factors) -> f64 {
    let loss: f64 = all.iter().map(|l| -l.weight * l.likelihood(&l.probabilities(factors)).ln()).sum();
    loss + factors.iter().zip(priors).map(|(w, prior)| 0.5 * prior * *w * *w).sum::<f64>()
}

/// Returns the most likely factors, with one of them left `out`, and their cost, nats.
fn learn_without(all: &[&LabelledLimiters], out: Option<usize>) -> (Factors, f64) {
    let priors = priors(all, out);
    let mut factors = [0.0; STATEMENTS];
    let mut last = cost(all, &priors, &factors);
    for _ in 0..MAX_STEPS {
        let step = newton_step(all, &priors, &factors);
        let at = |part: f64| {
            let next: Factors = std::array::from_fn(|i| factors[i] + part * step[i]);
            (cost(all, &priors, &next), next)
        };
        // With several right hypotheses the cost is not convex, so a step that goes too far is halved.
        let Some((next, better)) = (0..20).map(|n| at(0.5f64.powi(n))).find(|t| t.0 < last) else { break };
        factors = better;
        if last - next < MIN_RELATIVE_GAIN * last {
            break;
        }
        last = next;
    }
    (factors, last)
}

/// Returns the most likely factors, rounded to hundredths.
pub fn learn(all: &[&LabelledLimiters]) -> Factors {
    learn_without(all, None).0.map(hundredths)
}

/// Returns the step of Fisher scoring: the gradient through the inverse of the expected curvature.
fn newton_step(all: &[&LabelledLimiters], priors: &Factors, factors: &Factors) -> Vec<f64> {
    let mut slope: Vec<f64> = factors.iter().zip(priors).map(|(w, prior)| -prior * *w).collect();
    let n = slope.len();
    let mut curve = vec![vec![0.0; n]; n];
    (0..n).for_each(|i| curve[i][i] = priors[i]);
    for l in all {
        let known = l.probabilities(factors);
        let likely = l.likelihood(&known);
        let mut mean = vec![0.0; n];
        for ((hypothesis, p), right) in l.hypotheses.iter().zip(&known.0).zip(&l.right) {
            let share = if *right { p / likely } else { 0.0 };
            let terms = terms(&hypothesis.evidence);
            for &(i, x) in &terms {
                slope[i] += l.weight * (share - p) * x;
                terms.iter().for_each(|&(j, y)| curve[i][j] += l.weight * p * x * y);
                mean[i] += p * x;
            }
        }
        for i in 0..n {
            for j in 0..n {
                curve[i][j] -= l.weight * mean[i] * mean[j];
            }
        }
    }
    solved(curve, slope)
}

fn hundredths(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// Returns the text of `crates/evidence/diagnosis/src/limiter/evidence/factors.rs`.
pub fn as_rust(factors: &Factors) -> String {
    let line = |((statement, _), factor): (&(LimiterStatement, f64), &f64)| {
        format!("        ({statement:?}, {factor:.2}),\n")
    };
    let lines: String = LEARNED.iter().zip(factors).map(line).collect();
    format!(
        "//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate limiters CASES SEED DIR`.\n\n\
         use super::{{LimiterStatement, STATEMENTS}};\n\n\
         /// Statements, each with the nats that a unit of it adds.\n\
         #[allow(clippy::approx_constant, reason = \"a factor may be near any\")]\n\
         pub const LEARNED: [(LimiterStatement, f64); STATEMENTS] = {{\n    use LimiterStatement::*;\n    [\n{lines}    ]\n}};\n"
    )
}

/// Returns a table of each factor's contribution: the increase of the cost (nats) if it is left out and the
/// others are learned again, and the number of additional wrong verdicts on the learned cases and on those
/// kept back.
pub fn removals(own: &[&LabelledLimiters], back: &[&LabelledLimiters]) -> String {
    let (factors, least) = learn_without(own, None);
    let wrong =
        |all: &[&LabelledLimiters], w: &Factors| all.iter().filter(|l| !l.verdict(w).2).count() as i64;
    let (own_wrong, back_wrong) = (wrong(own, &factors), wrong(back, &factors));
    let mut out =
        String::from("| statement | factor | nats | wrong | wrong, kept back |\n|---|---:|---:|---:|---:|\n");
    for (i, (statement, _)) in LEARNED.iter().enumerate() {
        let (without, cost) = learn_without(own, Some(i));
        let _ = writeln!(
            out,
            "| {statement:?} | {:.2} | {:+.1} | {:+} | {:+} |",
            factors[i],
            cost - least,
            wrong(own, &without) - own_wrong,
            wrong(back, &without) - back_wrong
        );
    }
    out
}

/// Returns a row of scores: share of right verdicts, calibration of probabilities, and number of false
/// policers.
pub fn figures(name: &str, all: &[&LabelledLimiters], factors: &Factors) -> String {
    let total: f64 = all.iter().map(|l| l.weight).sum();
    let loss: f64 = all.iter().map(|l| -l.weight * l.likelihood(&l.probabilities(factors)).ln()).sum();
    // Sums of probability and of right verdicts, by tenths of probability.
    let mut tenths = [(0.0f64, 0.0f64); 10];
    let mut right = 0.0;
    for l in all {
        let (_, probability, is_right) = l.verdict(factors);
        let tenth = &mut tenths[((probability * 10.0) as usize).min(9)];
        *tenth = (tenth.0 + l.weight * probability, tenth.1 + l.weight * f64::from(is_right));
        right += l.weight * f64::from(is_right);
    }
    let error: f64 = tenths.iter().map(|t| (t.0 - t.1).abs()).sum();
    format!(
        "| {name} | {} | {:.1} % | {:.3} | {:.1} | {} |",
        all.len(),
        100.0 * right / total,
        loss / total,
        100.0 * error / total,
        all.iter().filter(|l| l.is_false_policer(factors)).count()
    )
}

/// Lists wrong verdicts with all proposals, to study while building.
pub fn wrong(all: &[&LabelledLimiters], factors: &Factors) -> String {
    let mut out = String::new();
    for l in all.iter().filter(|l| !l.verdict(factors).2) {
        let (p, none) = l.probabilities(factors);
        let right = if l.none { ", which is right" } else { "" };
        let _ = writeln!(out, "case {}, {} flows: none {none:.3}{right}", l.case.0, l.case.1);
        for ((hypothesis, p), right) in l.hypotheses.iter().zip(p).zip(&l.right) {
            let right = if *right { ", which is right" } else { "" };
            let first = &l.proposed[hypothesis.members[0]];
            let sources: Vec<_> = hypothesis.members.iter().map(|i| l.proposed[*i].proposal.source).collect();
            let adds = hypothesis.evidence.known().map(|(s, x)| (s, x * factors[s as usize]));
            let adds: Vec<String> = adds.map(|(s, nats)| format!("{s:?} {nats:+.1}")).collect();
            let Proposal { kind, rate, .. } = first.proposal;
            let _ = writeln!(
                out,
                "    {p:.3}{right}: {kind:?} {:.3} {:?} by {sources:?}: {}",
                rate * 8e-6,
                first.burst,
                adds.join(", ")
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnosis::posterior::{LimiterSource, LimiterStatement};

    fn proposed(by_rule: f64, rate_mbps: f64) -> ProposedLimiter {
        let mut evidence = LimiterEvidence::default();
        evidence.set(LimiterStatement::Limiter, 1.0);
        evidence.set(LimiterStatement::LossesByRule, by_rule);
        let (source, kind) = (LimiterSource::Losses, LimiterKind::Policer);
        let proposal = Proposal { source, kind, rate: rate_mbps / 8e-6, loss_gain: 0.0, evidence };
        ProposedLimiter { proposal, rates_mbps: (rate_mbps, rate_mbps), burst: Some(3e4), used: 1.0 }
    }

    /// Cases in which policers exist exactly if their rule predicts losses by more than 4 nats.
    fn toy() -> Vec<LabelledLimiters> {
        let case = |i: u64| {
            let by_rule = 2.0 + 0.01 * i as f64;
            let exists = by_rule > 4.0;
            LabelledLimiters::new(vec![proposed(by_rule, 10.0)], &[exists], !exists, 1.0, (i, 1))
        };
        (0..400).map(case).collect()
    }

    #[test]
    fn learning_weighs_the_statement_that_shows_a_limiter() {
        let toy = toy();
        let all: Vec<&LabelledLimiters> = toy.iter().collect();
        let factors = learn(&all);
        let verdict = |by_rule| {
            let one = LabelledLimiters::new(vec![proposed(by_rule, 10.0)], &[true], false, 1.0, (0, 1));
            one.verdict(&factors)
        };
        let (sure, unsure) = (verdict(6.0), verdict(2.5));
        assert!(sure.0 == Some(0) && sure.1 > 0.75 && sure.2, "{sure:?}");
        assert!(unsure.0.is_none() && unsure.1 > 0.75 && !unsure.2, "{unsure:?}");
        let file = as_rust(&factors);
        assert_eq!(file.lines().filter(|line| line.starts_with("        (")).count(), STATEMENTS, "{file}");
        let figures = figures("toy", &all, &factors);
        assert!(figures.starts_with("| toy | 400 | 9"), "{figures}");
        let removals = removals(&all, &[]);
        let costs =
            |name: &str| removals.lines().find(|l| l.contains(name)).map(str::to_string).unwrap_or_default();
        assert!(
            costs("| LossesByRule ").contains("| +1") && costs("| Ticks ").contains("+0.0 | +0 |"),
            "{removals}"
        );
    }

    #[test]
    fn every_third_kernel_run_is_kept_back() {
        let (own, back) = halves(toy());
        assert!(own.iter().all(|l| l.case.0 % 3 != 2) && back.iter().all(|l| l.case.0 % 3 == 2));
        assert_eq!(own.len() + back.len(), 400);
    }

    #[test]
    fn proposals_of_the_same_kind_and_rate_are_one_hypothesis() {
        let proposals = vec![proposed(5.0, 10.0), proposed(5.0, 10.1), proposed(5.0, 20.0)];
        let one = LabelledLimiters::new(proposals, &[false, true, false], false, 1.0, (0, 1));
        let members: Vec<Vec<usize>> = one.hypotheses.into_iter().map(|h| h.members).collect();
        assert_eq!((members, one.right), (vec![vec![0, 1], vec![2]], vec![true, false]));
    }

    #[test]
    fn a_proposal_is_right_by_kind_and_rate() {
        let policer = proposed(5.0, 10.0);
        assert!(is_match(&policer, &(LimiterKind::Policer, 10.2, None)));
        assert!(!is_match(&policer, &(LimiterKind::Policer, 10.5, None)));
        assert!(!is_match(&policer, &(LimiterKind::Bottleneck, 10.0, None)));
        let proposal = Proposal { kind: LimiterKind::Bottleneck, ..policer.proposal };
        let link = ProposedLimiter { proposal, ..policer };
        assert!(is_match(&link, &(LimiterKind::Shaper, 10.0, Some(5e3))));
        assert!(!is_match(&link, &(LimiterKind::Shaper, 10.0, Some(5e4))));
        let open = ProposedLimiter { rates_mbps: (5.0, 50.0), ..proposed(5.0, 10.0) };
        assert!(is_match(&open, &(LimiterKind::Policer, 40.0, None)));
    }
}
