//! Learns which of the proposed limiters is there, or none (`crates/evidence/diagnosis/src/limiter/posterior.rs`), and says how well that does.
//!
//! What is right of those that are proposed to some flows: whichever is what the truth names of one of them (`truth.rs`), by kind and
//! rate. Where none is, what dropped or was full all the same; where the truth names none, that, or none.
//!
//! The weights make what is right as likely as they can: Newton's method, each weight drawn to nothing as by a normal distribution of
//! deviation [`DEVIATION`]. A case counts once for its flows together, and once for each alone.

use crate::judge::{played, read_tracks};
use crate::lab::{self, Kept};
use crate::logit::solved;
use crate::play::variant;
use crate::seen::Seen;
use crate::truth::{LEAST_BUCKET, POLICED_DROPS};
use crate::{Case, FlowTruth, Truth, draw, each, world};
use capture::CaptureReader;
use diagnosis::posterior::{self, LIMITER_SIGNS, LimiterSign, LimiterSource, LimiterWeights, SignWeight};
use diagnosis::{ProposedLimiter, proposed_limiters};
use result::diagnosis::LimiterKind;
use scenario::Scenario;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use track::Track;

/// Of what a weight is thought to be before anything is learned.
const DEVIATION: f64 = 1.0;
/// Least probability of what happened whose logarithm counts.
const LEAST: f64 = 1e-12;
/// Steps of Newton's method, at most; and the share of what is to be made small below which a step gains nothing.
const STEPS: usize = 40;
const GAIN: f64 = 1e-6;
/// A rate is right within this share.
const NEAR: f64 = 0.03;
/// What drops is what loses this share of all losses at least; what is full is it for this share of the time.
const ACTS: f64 = 0.05;

/// What was proposed for some packets, and which of them is right.
pub struct LabelledLimiters {
    /// The case, and how many flows were asked together.
    pub case: (u64, usize),
    /// What was proposed.
    pub proposed: Vec<ProposedLimiter>,
    /// What of it tells the same.
    pub hypotheses: Vec<Vec<usize>>,
    /// Whether each of these is right.
    pub right: Vec<bool>,
    /// Whether it is right to say none.
    pub none: bool,
    /// How much it counts.
    pub weight: f64,
}

/// A limiter as it is: kind, rate in Mbit/s, bucket in bytes.
type IsThere = (LimiterKind, f64, Option<f64>);

fn kind(name: &str) -> Option<LimiterKind> {
    match name {
        "policer" => Some(LimiterKind::Policer),
        "shaper" => Some(LimiterKind::Shaper),
        "link" | "bottleneck" => Some(LimiterKind::Bottleneck),
        _ => None,
    }
}

/// Whether a proposal is right of what is there.
fn is(p: &ProposedLimiter, (kind, rate, burst): &IsThere) -> bool {
    let near = (p.rates_mbps.0 * (1.0 - NEAR)..=p.rates_mbps.1 * (1.0 + NEAR)).contains(rate);
    let small = |burst: Option<f64>| burst.is_none_or(|b| b < LEAST_BUCKET);
    let link = |kind: LimiterKind, burst| {
        kind == LimiterKind::Bottleneck || kind == LimiterKind::Shaper && small(burst)
    };
    let as_link = link(p.kind, p.burst) && link(*kind, *burst);
    near && (p.kind == *kind || as_link)
}

/// Those of a case that the simulator plays.
fn of_case(case: &Case) -> Result<Vec<LabelledLimiters>, String> {
    let (truth, tracks, _) = played(case)?;
    Ok(of_tracks(&truth, &tracks, &variant(case)?.scenario))
}

/// Those of a run on the kernel that `lab --out` kept.
fn of_kept(folder: &Path) -> Result<Vec<LabelledLimiters>, String> {
    let Kept { truth, scenario, capture } = Kept::read(folder)?;
    let reader = CaptureReader::open(&capture).map_err(|e| e.to_string())?;
    Ok(of_tracks(&truth, &read_tracks(reader).0, &scenario))
}

/// Those of the tracks of a capture whose truth and path are known.
fn of_tracks(truth: &Truth, tracks: &[Track], scenario: &Scenario) -> Vec<LabelledLimiters> {
    let stages = Seen::new(scenario).stages;
    let mut out = Vec::new();
    // Hosts of whose flows together something was right.
    let mut known = BTreeSet::new();
    for asked in proposed_limiters(tracks) {
        let hosts = (tracks[asked.members[0]].sender.addr, tracks[asked.members[0]].receiver.addr);
        // Alone they are asked where nothing is told of them together.
        if known.contains(&hosts) {
            continue;
        }
        let ends = |m: &usize| (tracks[*m].sender.to_string(), tracks[*m].receiver.to_string());
        let of = |m: &usize| truth.flows.iter().find(|f| (f.from.clone(), f.to.clone()) == ends(m));
        let flows: Vec<&FlowTruth> = asked.members.iter().filter_map(of).collect();
        if flows.is_empty() {
            continue;
        }
        let named = flows.iter().filter_map(|f| f.limiter.as_ref());
        let named: Vec<IsThere> =
            named.filter_map(|l| Some((kind(&l.kind)?, l.rate_mbps, l.burst_bytes))).collect();
        let lost = |kind: &str| flows.iter().filter_map(|f| f.lost.get(kind)).sum::<u64>();
        let whole: u64 = flows.iter().flat_map(|f| f.lost.values()).sum();
        let full = |cause: &str| flows.iter().any(|f| f.shares.iter().any(|s| s.0 == cause && s.1 > ACTS));
        let acts = |name: &str| match name {
            "policer" => lost(name) >= POLICED_DROPS,
            "shaper" => full("shaped") || lost(name) as f64 > ACTS * whole as f64,
            _ => full("bottleneck") || lost(name) as f64 > ACTS * whole as f64,
        };
        let acting = stages.iter().filter(|s| acts(s.kind));
        let acting: Vec<IsThere> =
            acting.filter_map(|s| Some((kind(s.kind)?, s.rate? * 1e-6, s.burst))).collect();
        for proposed in asked.sides.into_iter().filter(|side| !side.is_empty()) {
            let among = |there: &[IsThere]| -> Vec<bool> {
                proposed.iter().map(|p| there.iter().any(|l| is(p, l))).collect()
            };
            let mut right = among(&named);
            let mut none = named.is_empty();
            if !right.contains(&true) {
                right = among(&acting);
                none |= !right.contains(&true);
            }
            let count = asked.members.len();
            let weight = if count > 1 || tracks.len() <= 2 { 1.0 } else { 1.0 / truth.flows.len() as f64 };
            let told = right.contains(&true);
            out.push(LabelledLimiters::new(proposed, &right, none, weight, (truth.number, count)));
            // The other side is asked where nothing is told of this one.
            if told {
                known.insert(hosts);
                break;
            }
        }
    }
    out
}

/// What was proposed in the runs on the kernel that `lab --out` kept in a folder.
///
/// # Errors
/// What cannot be read, with its file.
pub fn kept_labelled(folder: &Path) -> Result<Vec<LabelledLimiters>, String> {
    let cases = lab::kept_cases(folder)?;
    let all = each(0..cases.len() as u64, |n| of_kept(&cases[n as usize]))?;
    Ok(all.into_iter().flatten().collect())
}

/// What was proposed in so many cases of a seed's set, and in a third as many of its set of receivers that do not read.
///
/// # Errors
/// As [`crate::play`].
pub fn labelled(seed: u64, cases: u64) -> Result<Vec<LabelledLimiters>, String> {
    let all = each(0..cases + cases / 3, |n| {
        of_case(&if n < cases { draw::case(seed, n) } else { world::case(seed, n - cases) })
    })?;
    Ok(all.into_iter().flatten().collect())
}

impl LabelledLimiters {
    fn new(
        proposed: Vec<ProposedLimiter>,
        right: &[bool],
        none: bool,
        weight: f64,
        case: (u64, usize),
    ) -> LabelledLimiters {
        let told: Vec<(LimiterKind, f64)> = proposed.iter().map(|p| (p.kind, p.rate_mbps)).collect();
        let hypotheses = posterior::hypotheses(&told);
        let right = hypotheses.iter().map(|h| h.iter().any(|i| right[*i])).collect();
        LabelledLimiters { case, proposed, hypotheses, right, none, weight }
    }

    /// Of each hypothesis, and of none.
    fn probabilities(&self, weights: &LimiterWeights) -> (Vec<f64>, f64) {
        let of = |i: &usize| posterior::score(self.proposed[*i].source, &self.proposed[*i].signs, weights);
        let scores: Vec<f64> = self.hypotheses.iter().map(|h| h.iter().map(of).sum()).collect();
        let p = posterior::probabilities(&scores);
        let none = 1.0 - p.iter().sum::<f64>();
        (p, none)
    }

    /// What these probabilities give to what is right.
    fn likelihood(&self, (p, none): &(Vec<f64>, f64)) -> f64 {
        let of = p.iter().zip(&self.right).filter(|(_, right)| **right).map(|(p, _)| p).sum::<f64>();
        (of + if self.none { *none } else { 0.0 }).max(LEAST)
    }

    /// Which hypothesis is said, `None` for none; how likely it is told to be, and whether it is right.
    fn said(&self, weights: &LimiterWeights) -> (Option<usize>, f64, bool) {
        let (p, none) = self.probabilities(weights);
        let best = (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).filter(|i| p[*i] > none);
        best.map_or((None, none, self.none), |i| (best, p[i], self.right[i]))
    }

    /// Which weights a hypothesis' score is made of, by their place in [`values`], and what they are multiplied with.
    fn terms(&self, hypothesis: &[usize], weights: &LimiterWeights) -> Vec<(usize, f64)> {
        let of = |i: &usize| {
            let (of, source) = (&self.proposed[*i].signs.0, self.proposed[*i].source as usize);
            let signs = of.iter().zip(&weights[source]).map(|(x, weight)| (weight, weight.bounded(*x)));
            signs.enumerate().filter(|(_, (_, x))| *x != 0.0).flat_map(move |(sign, (weight, x))| {
                let at = 2 * (source * LIMITER_SIGNS + sign);
                [(at, x), (at + 1, weight.bent(x))]
            })
        };
        hypothesis.iter().flat_map(of).collect()
    }
}

/// Those that are learned, in one row.
fn values(weights: &mut LimiterWeights) -> impl Iterator<Item = &mut f64> {
    weights.iter_mut().flatten().flat_map(|w| [&mut w.of, &mut w.bend])
}

/// The middle and the bounds of each sign, and nothing learned.
fn middles(all: &[LabelledLimiters]) -> LimiterWeights {
    let mut weights = [[SignWeight::default(); LIMITER_SIGNS]; LimiterSource::ALL.len()];
    for source in LimiterSource::ALL {
        let of = || all.iter().flat_map(|l| &l.proposed).filter(|p| p.source == source);
        for (sign, weight) in weights[source as usize].iter_mut().enumerate() {
            let mut signs: Vec<f64> = of().map(|p| p.signs.0[sign]).collect();
            signs.sort_by(f64::total_cmp);
            let of = |i: usize| signs.get(i).map_or(0.0, |sign| hundredths(*sign));
            weight.middle = of(signs.len() / 2);
            weight.bounds = (of(0), of(signs.len().saturating_sub(1)));
        }
    }
    weights
}

/// How much each weight is drawn to nothing: by how large what it is multiplied with is, in the square mean of where that is not nothing.
fn priors(all: &[LabelledLimiters], weights: &LimiterWeights) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); 2 * LimiterSource::ALL.len() * LIMITER_SIGNS];
    for (i, x) in all.iter().flat_map(|l| l.hypotheses.iter().flat_map(|h| l.terms(h, weights))) {
        sums[i] = (sums[i].0 + x * x, sums[i].1 + f64::from(x != 0.0));
    }
    sums.into_iter()
        .map(|(squares, n)| if squares > 0.0 { squares / n } else { 1.0 } / (DEVIATION * DEVIATION))
        .collect()
}

fn cost(all: &[LabelledLimiters], priors: &[f64], weights: &mut LimiterWeights) -> f64 {
    let loss: f64 = all.iter().map(|l| -l.weight * l.likelihood(&l.probabilities(weights)).ln()).sum();
    loss + values(weights).zip(priors).map(|(w, prior)| 0.5 * prior * *w * *w).sum::<f64>()
}

/// The weights that make what is right likeliest.
pub fn learn(all: &[LabelledLimiters]) -> LimiterWeights {
    let mut weights = middles(all);
    let priors = priors(all, &weights);
    let mut last = cost(all, &priors, &mut weights);
    for _ in 0..STEPS {
        let step = newton_step(all, &priors, weights);
        let at = |part: f64| {
            let mut out = weights;
            values(&mut out).zip(&step).for_each(|(w, s)| *w += part * s);
            (cost(all, &priors, &mut out), out)
        };
        // Where several are right the cost is not convex: a step that goes too far is halved.
        let Some((next, better)) = (0..20).map(|n| at(0.5f64.powi(n))).find(|t| t.0 < last) else { break };
        weights = better;
        if last - next < GAIN * last {
            break;
        }
        last = next;
    }
    weights
}

/// The gradient, through the inverse of the expected curvature (Fisher scoring).
fn newton_step(all: &[LabelledLimiters], priors: &[f64], mut weights: LimiterWeights) -> Vec<f64> {
    let mut slope: Vec<f64> = values(&mut weights).zip(priors).map(|(w, prior)| -prior * *w).collect();
    let n = slope.len();
    let mut curve = vec![vec![0.0; n]; n];
    (0..n).for_each(|i| curve[i][i] = priors[i]);
    for l in all {
        let known = l.probabilities(&weights);
        let likely = l.likelihood(&known);
        let mut mean = vec![0.0; n];
        for ((hypothesis, p), right) in l.hypotheses.iter().zip(&known.0).zip(&l.right) {
            let share = if *right { p / likely } else { 0.0 };
            let terms = l.terms(hypothesis, &weights);
            for &(i, x) in &terms {
                slope[i] += l.weight * (share - p) * x;
                terms.iter().for_each(|&(j, y)| curve[i][j] += l.weight * p * x * y);
                mean[i] += p * x;
            }
        }
        let met: Vec<usize> = (0..n).filter(|i| mean[*i] != 0.0).collect();
        for &i in &met {
            met.iter().for_each(|&j| curve[i][j] -= l.weight * mean[i] * mean[j]);
        }
    }
    solved(curve, slope)
}

fn hundredths(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// The weights as they are kept, and the file that keeps them, `crates/evidence/diagnosis/src/limiter/posterior/weights.rs`.
pub fn kept(weights: &LimiterWeights, cases: u64) -> (LimiterWeights, String) {
    let kept =
        weights.map(|of| of.map(|w| SignWeight { of: hundredths(w.of), bend: hundredths(w.bend), ..w }));
    let mut file = format!(
        "//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate limiters {cases} SEED`.\n\n\
         use super::{{LimiterSign, LimiterSource, OfSource}};\n\n\
         /// Of each source; none for what was not met.\n\
         #[allow(clippy::approx_constant, reason = \"a weight may be near any\")]\n\
         #[rustfmt::skip]\n\
         pub(super) const OF_SOURCES: &[OfSource] = &[\n"
    );
    for (source, of) in LimiterSource::ALL.into_iter().zip(&kept) {
        let _ = writeln!(file, "    (LimiterSource::{source:?}, &[");
        for (sign, w) in LimiterSign::ALL.into_iter().zip(of).filter(|(_, w)| w.of != 0.0 || w.bend != 0.0) {
            let _ = writeln!(
                file,
                "        (LimiterSign::{sign:?}, [{:.2}, {:.2}, {:.2}, {:.2}, {:.2}]),",
                w.of, w.bend, w.middle, w.bounds.0, w.bounds.1
            );
        }
        file += "    ]),\n";
    }
    file += "];\n";
    (kept, file)
}

/// How often what is said is right, and how well probabilities keep their word: a row of a table.
pub fn figures(name: &str, all: &[LabelledLimiters], weights: &LimiterWeights) -> String {
    let whole: f64 = all.iter().map(|l| l.weight).sum();
    let loss: f64 = all.iter().map(|l| -l.weight * l.likelihood(&l.probabilities(weights)).ln()).sum();
    // Told and right by tenths of what was told.
    let mut tenths = [(0.0f64, 0.0f64); 10];
    let mut right = 0.0;
    for l in all {
        let (_, told, is) = l.said(weights);
        let tenth = &mut tenths[((told * 10.0) as usize).min(9)];
        *tenth = (tenth.0 + l.weight * told, tenth.1 + l.weight * f64::from(is));
        right += l.weight * f64::from(is);
    }
    let off: f64 = tenths.iter().map(|t| (t.0 - t.1).abs()).sum();
    format!(
        "| {name} | {} | {:.1} % | {:.3} | {:.1} |",
        all.len(),
        100.0 * right / whole,
        loss / whole,
        100.0 * off / whole
    )
}

/// What is said wrongly of the cases, with all that was proposed: to look at while building.
pub fn wrong(all: &[LabelledLimiters], weights: &LimiterWeights) -> String {
    let mut out = String::new();
    for l in all.iter().filter(|l| !l.said(weights).2) {
        let (p, none) = l.probabilities(weights);
        let right = if l.none { ", which is right" } else { "" };
        let _ = writeln!(out, "case {}, {} flows: none {none:.3}{right}", l.case.0, l.case.1);
        for ((hypothesis, p), right) in l.hypotheses.iter().zip(p).zip(&l.right) {
            let right = if *right { ", which is right" } else { "" };
            for proposed in hypothesis.iter().map(|i| &l.proposed[*i]) {
                let signs = LimiterSign::ALL.into_iter().zip(proposed.signs.0).filter(|s| s.1 != 0.0);
                let signs: Vec<String> = signs.map(|(s, x)| format!("{s:?} {x:.2}")).collect();
                let ProposedLimiter { source, rate_mbps, burst, .. } = proposed;
                let _ = writeln!(
                    out,
                    "    {p:.3}{right}: {source:?} {rate_mbps:.3} {burst:?}: {}",
                    signs.join(", ")
                );
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnosis::posterior::LimiterSigns;

    fn proposed(gain: f64, rate_mbps: f64) -> ProposedLimiter {
        let mut signs = LimiterSigns([0.0; LIMITER_SIGNS]);
        signs.0[LimiterSign::One as usize] = 1.0;
        signs.0[LimiterSign::Gain as usize] = gain;
        let (source, kind) = (LimiterSource::PolicerByLosses, LimiterKind::Policer);
        ProposedLimiter {
            source,
            kind,
            rates_mbps: (rate_mbps, rate_mbps),
            rate_mbps,
            burst: Some(3e4),
            signs,
        }
    }

    /// Policers that gain more than 4 are there, those that gain less are not.
    fn toy() -> Vec<LabelledLimiters> {
        let of = |i: u64| {
            let gain = 2.0 + 0.01 * i as f64;
            let is = gain > 4.0;
            LabelledLimiters::new(vec![proposed(gain, 10.0)], &[is], !is, 1.0, (i, 1))
        };
        (0..400).map(of).collect()
    }

    #[test]
    fn what_tells_limiters_from_none_is_learned() {
        let (weights, file) = kept(&learn(&toy()), 400);
        let said = |gain| {
            let one = LabelledLimiters::new(vec![proposed(gain, 10.0)], &[true], false, 1.0, (0, 1));
            one.said(&weights)
        };
        let (sure, unsure) = (said(6.0), said(2.5));
        assert!(sure.0 == Some(0) && sure.1 > 0.75 && sure.2, "{sure:?}");
        assert!(unsure.0.is_none() && unsure.1 > 0.75 && !unsure.2, "{unsure:?}");
        assert!(
            file.contains("LimiterSource::PolicerByLosses") && file.contains("LimiterSign::Gain"),
            "{file}"
        );
        assert!(
            figures("toy", &toy(), &weights).starts_with("| toy | 400 | 9"),
            "{}",
            figures("toy", &toy(), &weights)
        );
    }

    #[test]
    fn proposals_of_one_kind_and_rate_are_right_together() {
        let both = vec![proposed(5.0, 10.0), proposed(5.0, 10.1), proposed(5.0, 20.0)];
        let one = LabelledLimiters::new(both, &[false, true, false], false, 1.0, (0, 1));
        assert_eq!((one.hypotheses, one.right), (vec![vec![0, 1], vec![2]], vec![true, false]));
    }

    #[test]
    fn a_proposal_is_right_by_kind_and_rate_and_a_small_bucket_is_a_link() {
        let policer = proposed(5.0, 10.0);
        assert!(is(&policer, &(LimiterKind::Policer, 10.2, None)));
        assert!(!is(&policer, &(LimiterKind::Policer, 10.5, None)));
        assert!(!is(&policer, &(LimiterKind::Bottleneck, 10.0, None)));
        let link = ProposedLimiter { kind: LimiterKind::Bottleneck, ..policer };
        assert!(is(&link, &(LimiterKind::Shaper, 10.0, Some(5e3))));
        assert!(!is(&link, &(LimiterKind::Shaper, 10.0, Some(5e4))));
        let open = ProposedLimiter { rates_mbps: (5.0, 50.0), ..proposed(5.0, 10.0) };
        assert!(is(&open, &(LimiterKind::Policer, 40.0, None)));
    }
}
