//! Learns how likely each cause of a round trip is, from which claims are made on it (`crates/evidence/diagnosis/src/claims.rs`), and says how
//! well that does.
//!
//! What is true of a round trip are the samples of its time (`truth.rs`), moved by the least time from the sender to the capture. A
//! sample counts for the cause that held then; by halves where two held. Where a second cause looks the same in a capture,
//! who says either is right. What no claim names counts for [`Cause::Unknown`].
//!
//! The weights make the samples as likely as they can: Newton's method, each weight drawn to nothing as by a normal distribution of
//! deviation [`DEVIATION`]. Round trips of a flow are much alike, so a case counts once, however many round trips it has.

use crate::judge::played;
use crate::logit::solved;
use crate::{Case, FlowTruth, draw, each, world};
use diagnosis::claims::{CAUSES, ClaimWeights, ClaimedRound, OWN, OfCauses, RoundSign, RoundSigns};
use diagnosis::diagnose_claimed;
use result::Cause;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Of what a weight is thought to be before anything is learned: 1.4 to 2.6 do alike on cases of a third seed.
const DEVIATION: f64 = 2.0;
/// Round trips of a flow that are looked at: those between them are like them.
const MOST_ROUNDS: usize = 60;
/// Steps of Newton's method, at most; and the share of what is to be made small below which a step gains nothing.
const STEPS: usize = 30;
const GAIN: f64 = 1e-7;
/// Least probability of what happened whose logarithm counts.
const LEAST: f64 = 1e-12;

/// Samples of a round trip with the same truth: which causes are right to say, and their share of the samples.
type RightCauses = (Vec<Cause>, f64);

/// A round trip of which the truth is known.
#[derive(Clone, Debug)]
pub struct LabelledRound {
    /// What speaks for each cause.
    pub signs: RoundSigns,
    /// What the order of claims says.
    pub said: Cause,
    /// What is true.
    pub right: Vec<RightCauses>,
    /// How much it counts.
    pub weight: f64,
}

impl LabelledRound {
    /// The same with what no candidate names as [`Cause::Unknown`].
    fn new(signs: RoundSigns, said: Cause, right: &[RightCauses], weight: f64) -> LabelledRound {
        let named = |causes: &Vec<Cause>| -> Vec<Cause> {
            let named: Vec<Cause> = causes.iter().copied().filter(|c| signs.candidates.contains(c)).collect();
            if named.is_empty() { vec![Cause::Unknown] } else { named }
        };
        let right = right.iter().map(|(causes, share)| (named(causes), *share)).collect();
        LabelledRound { signs, said, right, weight }
    }

    /// The share of its samples in which it is right to say this.
    fn right_share(&self, cause: Cause) -> f64 {
        self.right.iter().filter(|r| r.0.contains(&cause)).map(|r| r.1).sum()
    }

    /// Minus the logarithm of what these probabilities give to what is true.
    fn log_loss(&self, p: &OfCauses) -> f64 {
        let of = |causes: &[Cause]| causes.iter().map(|c| p[*c as usize]).sum::<f64>().max(LEAST);
        self.right.iter().map(|(causes, share)| -share * of(causes).ln()).sum()
    }

    /// What is true as shares of causes; where several are right to say, as these probabilities have it.
    fn shares(&self, p: &OfCauses) -> OfCauses {
        let mut out = [0.0; CAUSES];
        for (causes, share) in &self.right {
            let all = causes.iter().map(|c| p[*c as usize]).sum::<f64>().max(LEAST);
            causes.iter().for_each(|c| out[*c as usize] += share * p[*c as usize] / all);
        }
        out
    }
}

/// The round trips of so many cases of a seed's set, and of a third as many of its set of receivers that do not read.
///
/// # Errors
/// As [`crate::play`].
pub fn labelled(seed: u64, cases: u64) -> Result<Vec<LabelledRound>, String> {
    let all = each(0..cases + cases / 3, |n| {
        of_case(&if n < cases { draw::case(seed, n) } else { world::case(seed, n - cases) })
    })?;
    Ok(all.into_iter().flatten().collect())
}

/// Those of a case; together they count once.
fn of_case(case: &Case) -> Result<Vec<LabelledRound>, String> {
    let (truth, tracks, info) = played(case)?;
    let mut out = Vec::new();
    diagnose_claimed(tracks, info, &mut |flow, rounds| {
        let is = |f: &&FlowTruth| f.from == flow.from && f.to == flow.to;
        let Some(truth) = truth.flows.iter().find(is) else { return };
        let way = flow.vantage.to_sender_ms.unwrap_or(0.0) * 1e-3 / 2.0;
        let every = rounds.len().div_ceil(MOST_ROUNDS).max(1);
        for round in rounds.iter().skip(every / 2).step_by(every) {
            let right = right_causes(truth, round, way);
            if !right.is_empty() {
                let weight = round.width_s * every as f64;
                out.push(LabelledRound::new(round.signs.clone(), round.said, &right, weight));
            }
        }
    });
    let whole: f64 = out.iter().map(|r| r.weight).sum();
    out.iter_mut().for_each(|r| r.weight /= whole);
    Ok(out)
}

/// What held in a round trip that the capture sees `way` seconds behind the sender.
fn right_causes(truth: &FlowTruth, round: &ClaimedRound, way: f64) -> Vec<RightCauses> {
    let place = |at: f64| truth.samples.partition_point(|s| s.at_s < at - way);
    let samples = &truth.samples[place(round.from_s)..place(round.from_s + round.width_s)];
    let mut shares = BTreeMap::<Vec<Cause>, f64>::new();
    for sample in samples {
        let held: Vec<Cause> = sample.causes.iter().flatten().copied().collect();
        let share = 1.0 / samples.len() as f64;
        if held.is_empty() {
            *shares.entry(vec![Cause::Unknown]).or_default() += share;
        }
        for cause in &held {
            let alike = truth.alike.iter().filter(|a| a[0] == *cause).map(|a| a[1]);
            let causes = [*cause].into_iter().chain(alike).collect();
            *shares.entry(causes).or_default() += share / held.len() as f64;
        }
    }
    shares.into_iter().collect()
}

/// A weight's place: of a sign for a cause, or of [`RoundSigns::own`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WeightPlace {
    Own(usize),
    OfSign(usize, Cause),
}

/// The weights that are met, each with its number.
struct WeightPlaces(BTreeMap<WeightPlace, usize>);

impl WeightPlaces {
    fn new(rounds: &[LabelledRound]) -> WeightPlaces {
        let mut places: BTreeMap<WeightPlace, usize> = (0..OWN).map(|i| (WeightPlace::Own(i), 0)).collect();
        for signs in rounds.iter().map(|r| &r.signs) {
            for cause in &signs.candidates {
                places.extend(signs.signs.iter().map(|(sign, _)| (WeightPlace::OfSign(*sign, *cause), 0)));
            }
        }
        places.values_mut().enumerate().for_each(|(i, number)| *number = i);
        WeightPlaces(places)
    }

    fn number(&self, place: WeightPlace) -> usize {
        self.0[&place]
    }

    fn weights(&self, values: &[f64]) -> ClaimWeights {
        let mut weights = ClaimWeights::default();
        for (place, number) in &self.0 {
            match *place {
                WeightPlace::Own(i) => weights.own[i] = values[*number],
                WeightPlace::OfSign(sign, cause) => weights.of_signs[sign][cause as usize] = values[*number],
            }
        }
        weights
    }

    /// Which weights the score of each candidate is made of, and what they are multiplied with.
    fn terms(&self, signs: &RoundSigns) -> ScoreTerms {
        let of = |(cause, own): (&Cause, &[f64; OWN])| {
            let own = own.iter().enumerate().map(|(i, x)| (self.number(WeightPlace::Own(i)), *x));
            let of_signs = signs.signs.iter();
            let of_signs = of_signs.map(|(sign, x)| (self.number(WeightPlace::OfSign(*sign, *cause)), *x));
            own.chain(of_signs).collect()
        };
        signs.candidates.iter().zip(&signs.own).map(of).collect()
    }
}

/// Which weights the score of each candidate is made of, and what they are multiplied with.
type ScoreTerms = Vec<Vec<(usize, f64)>>;

/// What is to be made small: the log loss of these weights, and how far they are from nothing.
fn cost(rounds: &[LabelledRound], places: &WeightPlaces, values: &[f64]) -> f64 {
    let weights = places.weights(values);
    let loss: f64 = rounds.iter().map(|r| r.weight * r.log_loss(&r.signs.probabilities(&weights))).sum();
    loss + values.iter().map(|w| w * w).sum::<f64>() / (2.0 * DEVIATION * DEVIATION)
}

/// The weights that make what is true likeliest.
pub fn learn(rounds: &[LabelledRound]) -> ClaimWeights {
    let places = WeightPlaces::new(rounds);
    let mut values = vec![0.0; places.0.len()];
    let terms: Vec<ScoreTerms> = rounds.iter().map(|r| places.terms(&r.signs)).collect();
    let mut last = cost(rounds, &places, &values);
    for _ in 0..STEPS {
        let step = newton_step(rounds, &terms, &places.weights(&values), &values);
        // Where causes share a sample the cost is not convex: a step that goes too far is halved.
        let at = |part: f64| -> Vec<f64> { values.iter().zip(&step).map(|(v, s)| v + part * s).collect() };
        let tried = (0..20).map(|n| at(0.5f64.powi(n))).map(|v| (cost(rounds, &places, &v), v));
        let Some((next, better)) = tried.into_iter().find(|t| t.0 < last) else { break };
        values = better;
        if last - next < GAIN * last {
            break;
        }
        last = next;
    }
    places.weights(&values)
}

/// The gradient, through the inverse of the expected curvature (Fisher scoring).
fn newton_step(
    rounds: &[LabelledRound],
    terms: &[ScoreTerms],
    weights: &ClaimWeights,
    values: &[f64],
) -> Vec<f64> {
    let n = values.len();
    let prior = 1.0 / (DEVIATION * DEVIATION);
    let mut slope: Vec<f64> = values.iter().map(|w| -prior * w).collect();
    let mut curve = vec![vec![0.0; n]; n];
    (0..n).for_each(|i| curve[i][i] = prior);
    for (r, terms) in rounds.iter().zip(terms) {
        let p = r.signs.probabilities(weights);
        let shares = r.shares(&p);
        let mut mean = Vec::new();
        for (cause, terms) in r.signs.candidates.iter().zip(terms) {
            let (p, share) = (p[*cause as usize], shares[*cause as usize]);
            for &(i, x) in terms {
                slope[i] += r.weight * (share - p) * x;
                terms.iter().for_each(|&(j, y)| curve[i][j] += r.weight * p * x * y);
                mean.push((i, p * x));
            }
        }
        for &(i, x) in &mean {
            mean.iter().for_each(|&(j, y)| curve[i][j] -= r.weight * x * y);
        }
    }
    solved(curve, slope)
}

/// Decimals of a weight that are kept.
const HUNDREDTHS: f64 = 100.0;

/// The weights as they are kept, and the file that keeps them, `crates/evidence/diagnosis/src/claims/weights.rs`.
pub fn kept(weights: &ClaimWeights, cases: u64) -> (ClaimWeights, String) {
    let round = |w: f64| (w * HUNDREDTHS).round() / HUNDREDTHS;
    let own = weights.own.map(round);
    let of_signs: Vec<OfCauses> = weights.of_signs.iter().map(|of| of.map(round)).collect();
    let rows = of_signs.iter().enumerate().filter(|(_, of)| of.iter().any(|w| *w != 0.0));
    let rows: String = rows.map(|(place, of)| row(RoundSign::at(place), of)).collect();
    let file = format!(
        "//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate rounds {cases} SEED`.\n\n\
         use super::{{OWN, RoundSign}};\nuse result::cause::ClaimOrder;\nuse result::diagnosis::Cause;\n\n\
         /// Of what the order of claims gives a cause of the round trip, and of the flow.\n\
         pub(super) const OF_OWN: [f64; OWN] = {own:?};\n\n\
         /// Of each sign for each cause; none for what was not met.\n#[rustfmt::skip]\n\
         pub(super) const OF_SIGNS: &[(RoundSign, &[(Cause, f64)])] = &[\n{rows}];\n"
    );
    (ClaimWeights { of_signs, own }, file)
}

/// The weights of a sign, as Rust.
fn row(sign: RoundSign, of: &OfCauses) -> String {
    let sign = match sign {
        RoundSign::One => "RoundSign::One".into(),
        RoundSign::Claim(cause, order) => {
            format!("RoundSign::Claim(Cause::{cause:?}, ClaimOrder::{order:?})")
        }
        RoundSign::Measured(i) => format!("RoundSign::Measured({i})"),
    };
    let weights = Cause::ALL.into_iter().zip(of).filter(|(_, w)| **w != 0.0);
    let weights: Vec<String> = weights.map(|(cause, w)| format!("(Cause::{cause:?}, {w:.2})")).collect();
    format!("    ({sign}, &[{}]),\n", weights.join(", "))
}

/// What was told of causes, and how much of that was right, each as heavy as its time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeTold {
    /// Time.
    pub weight: f64,
    /// Probabilities that were told, times the time.
    pub told: f64,
    /// What was right, likewise.
    pub right: f64,
}

impl TimeTold {
    fn add(&mut self, weight: f64, told: f64, right: f64) {
        self.weight += weight;
        self.told += weight * told;
        self.right += weight * right;
    }

    /// What was told and what was right, in percent.
    fn percent(&self) -> String {
        let of = |sum: f64| 100.0 * sum / self.weight;
        format!("{:.1} % | {:.1} %", of(self.told), of(self.right))
    }
}

/// How well probabilities keep their word.
#[derive(Clone, Debug, Default)]
pub struct RoundFigures {
    rounds: usize,
    log_loss: f64,
    /// What the order of claims says, and what is likeliest.
    said: TimeTold,
    likeliest: TimeTold,
    /// What the order says by tenths of its probability, and by cause.
    tenths: [TimeTold; 10],
    causes: BTreeMap<Cause, TimeTold>,
}

impl RoundFigures {
    /// Of these round trips by these weights.
    pub fn of(rounds: &[LabelledRound], weights: &ClaimWeights) -> RoundFigures {
        let mut out = RoundFigures { rounds: rounds.len(), ..RoundFigures::default() };
        for r in rounds {
            let p = r.signs.probabilities(weights);
            let of = |cause: Cause| (p[cause as usize], r.right_share(cause));
            let likeliest = Cause::ALL.into_iter().max_by(|a, b| p[*a as usize].total_cmp(&p[*b as usize]));
            let (told, right) = of(likeliest.unwrap_or_default());
            out.likeliest.add(r.weight, told, right);
            let (told, right) = of(r.said);
            out.said.add(r.weight, told, right);
            out.tenths[((told * 10.0) as usize).min(9)].add(r.weight, told, right);
            out.causes.entry(r.said).or_default().add(r.weight, told, right);
            out.log_loss += r.weight * r.log_loss(&p);
        }
        out
    }

    /// Expected calibration error of what the order of claims says: the mean distance of what was told and what was right, each tenth as
    /// heavy as its time; percent points.
    pub fn calibration_error(&self) -> f64 {
        let apart: f64 = self.tenths.iter().map(|t| (t.told - t.right).abs()).sum();
        100.0 * apart / self.said.weight
    }

    /// As a row below [`HEAD`].
    pub fn row(&self, name: &str) -> String {
        let percent = |t: &TimeTold| 100.0 * t.right / t.weight;
        format!(
            "| {name} | {:.0} | {} | {:.1} % | {:.1} % | {:.3} | {:.1} |\n",
            self.said.weight,
            self.rounds,
            percent(&self.said),
            percent(&self.likeliest),
            self.log_loss / self.said.weight,
            self.calibration_error(),
        )
    }

    /// By tenths of what was told, and by cause.
    pub fn tables(&self) -> String {
        let share = |t: &TimeTold| format!("{:.1} % | {}", 100.0 * t.weight / self.said.weight, t.percent());
        let mut out =
            String::from("| told | of the time | told in the mean | right |\n|---|---:|---:|---:|\n");
        for (i, tenth) in self.tenths.iter().enumerate().filter(|(_, t)| t.weight > 0.0) {
            let _ = writeln!(out, "| {} to {} % | {} |", i * 10, i * 10 + 10, share(tenth));
        }
        out += "\n| cause | of the time | told in the mean | right |\n|---|---:|---:|---:|\n";
        for (cause, told) in &self.causes {
            let _ = writeln!(out, "| {} | {} |", cause.name(), share(told));
        }
        out
    }
}

/// What rows of figures say.
pub const HEAD: &str = "| cases | | round trips | the order of claims is right | the likeliest is | log loss | calibration error, points |\n\
                        |---|---:|---:|---:|---:|---:|---:|\n";

#[cfg(test)]
mod tests {
    use super::*;
    use result::cause::{ClaimOrder, RoundEvidence};

    /// A round trip that these claim, each all of it, the first by the order; and what is true.
    fn round(claims: &[(Cause, ClaimOrder)], right: Cause) -> LabelledRound {
        let mut signs = RoundSigns::default();
        claims.iter().for_each(|(cause, order)| signs.claim(*cause, *order, 1.0));
        let mut given = [0.0; CAUSES];
        given[claims[0].0 as usize] = 1.0;
        signs.end(&RoundEvidence::default(), &given, &given);
        LabelledRound::new(signs, claims[0].0, &[(vec![right], 1.0)], 1.0)
    }

    const WINDOW: (Cause, ClaimOrder) = (Cause::ReceiveWindow, ClaimOrder::Window);
    const LOSS: (Cause, ClaimOrder) = (Cause::RandomLoss, ClaimOrder::AfterLoss);

    /// Where both claim, the window is right three times of four; alone it always is.
    fn toy() -> Vec<LabelledRound> {
        let both = |n: usize| round(&[WINDOW, LOSS], if n.is_multiple_of(4) { LOSS.0 } else { WINDOW.0 });
        (0..400).map(both).chain((0..400).map(|_| round(&[WINDOW], WINDOW.0))).collect()
    }

    #[test]
    fn how_often_a_claim_is_right_beside_another_is_learned() {
        let toy = toy();
        let weights = learn(&toy);
        let both = toy[0].signs.probabilities(&weights);
        assert!((both[WINDOW.0 as usize] - 0.75).abs() < 0.01, "{both:?}");
        assert!((both[LOSS.0 as usize] - 0.25).abs() < 0.01, "{both:?}");
        let alone = toy[400].signs.probabilities(&weights);
        assert!(alone[WINDOW.0 as usize] > 0.98, "{alone:?}");
    }

    #[test]
    fn a_step_ends_where_nothing_is_gained() {
        let toy = toy();
        let places = WeightPlaces::new(&toy);
        let learned = learn(&toy);
        let values: Vec<f64> = places
            .0
            .keys()
            .map(|place| match *place {
                WeightPlace::Own(i) => learned.own[i],
                WeightPlace::OfSign(sign, cause) => learned.of_signs[sign][cause as usize],
            })
            .collect();
        let least = cost(&toy, &places, &values);
        for i in 0..values.len() {
            for by in [-0.1, 0.1] {
                let mut other = values.clone();
                other[i] += by;
                assert!(cost(&toy, &places, &other) > least, "{i} {by}");
            }
        }
    }

    #[test]
    fn figures_tell_what_was_said_and_what_was_right() {
        let toy = toy();
        let even = RoundFigures::of(&toy, &ClaimWeights::default());
        // Of two candidates and none of them a third each, of one and none a half.
        assert!((even.said.told - (400.0 / 3.0 + 200.0)).abs() < 1e-9, "{even:?}");
        assert_eq!(even.said.right, 300.0 + 400.0);
        let apart = (300.0 - 400.0 / 3.0 + 200.0) / 800.0 * 100.0;
        assert!((even.calibration_error() - apart).abs() < 1e-9, "{}", even.calibration_error());
        assert!((even.log_loss - (400.0 * 3.0f64.ln() + 400.0 * 2.0f64.ln())).abs() < 1e-9);
        assert!(RoundFigures::of(&toy, &learn(&toy)).calibration_error() < 2.0);
        assert!(
            even.tables().contains("| receive-window | 100.0 % | 41.7 % | 87.5 % |"),
            "{}",
            even.tables()
        );
    }

    #[test]
    fn the_file_holds_what_is_kept() {
        let (kept, file) = kept(&learn(&toy()), 7);
        let weight = kept.of_signs[RoundSign::Claim(LOSS.0, LOSS.1).place()][WINDOW.0 as usize];
        assert!(weight != 0.0);
        let row =
            "    (RoundSign::Claim(Cause::RandomLoss, ClaimOrder::AfterLoss), &[(Cause::ReceiveWindow, ";
        assert!(file.contains(&format!("{row}{weight:.2})")), "{file}");
        assert!(file.contains("rounds 7 SEED"));
    }
}
