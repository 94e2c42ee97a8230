//! How likely each cause of a round trip is, from which claims are made on it.
//!
//! 1. Causes claim parts of a round trip (`crates/engine/result/src/cause`), and the order of claims gives each part to one of them.
//!    Here is asked how often that is so where these claims stand beside each other.
//! 2. Each cause that claims some of the round trip has a score, and so has that it is none of them. The score is a sum: for each claim
//!    that is made, by whichever cause, the share of the round trip that it is made on times a weight, and a weight for each
//!    thing that was measured ([`RoundSigns`]). What the order of claims gives the cause of this round trip, and of the flow, counts for all
//!    causes alike: so a claim that was never met is as likely right as others are.
//! 3. The probabilities are proportional to the scores' exponentials (conditional logit: McFadden 1974, "Conditional logit analysis of
//!    qualitative choice behavior"). Weights are learned on drawn cases (`tests/diagnose`, bin `calibrate`, prints `claims/weights.rs`).
//! 4. How well they keep their word on cases that they were not learned on stands in `docs/how-diagnosis-works.md`.

mod weights;

use result::cause::{ClaimOrder, RoundEvidence};
use result::diagnosis::Cause;
use std::sync::LazyLock;

/// Causes, with [`Cause::Unknown`], which stands for none of those that claim.
pub const CAUSES: usize = Cause::ALL.len();

/// A number for each cause, in the order of [`Cause::ALL`]: probabilities, or shares of time.
pub type OfCauses = [f64; CAUSES];

/// What was measured of a round trip that makes a claim on it more or less likely right.
const MEASURED: [fn(&RoundEvidence) -> bool; 4] =
    [|e| e.limiter.is_some(), |e| e.limiter_queues, |e| e.limiter_full, |e| e.share_taken];

/// Signs that count for the cause that they are of, whichever it is.
pub const OWN: usize = 2;
/// Signs that count for each cause differently: 1; every claim that a cause can make; and what was measured.
pub const SIGNS: usize = FIRST_MEASURED + MEASURED.len();
/// The place of the first of what was measured.
const FIRST_MEASURED: usize = 1 + CAUSES * ClaimOrder::ALL.len();

/// A round trip of a flow, and the claims on it.
#[derive(Clone, Debug)]
pub struct ClaimedRound {
    /// Begin, seconds since 1970.
    pub from_s: f64,
    /// Length, seconds.
    pub width_s: f64,
    /// What the order of claims says: the cause of its greatest part.
    pub said: Cause,
    /// What speaks for each cause.
    pub signs: RoundSigns,
}

/// What speaks for and against each cause of a round trip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundSigns {
    /// Which may be it: those that claim some of the round trip, and [`Cause::Unknown`].
    pub candidates: Vec<Cause>,
    /// By their place, and how much of them there is, 0 to 1: of a claim, the share of the round trip that it is made on.
    pub signs: Vec<(usize, f64)>,
    /// What the order of claims gives each candidate, as shares 0 to 1: of the round trip, and of the flow's time.
    pub own: Vec<[f64; OWN]>,
}

impl RoundSigns {
    /// Adds a claim on a share of the round trip.
    pub fn claim(&mut self, cause: Cause, order: ClaimOrder, share: f64) {
        let place = RoundSign::Claim(cause, order).place();
        match self.signs.iter_mut().find(|s| s.0 == place) {
            Some(sign) => sign.1 += share,
            None => self.signs.push((place, share)),
        }
        if !self.candidates.contains(&cause) {
            self.candidates.push(cause);
        }
    }

    /// All claims are made: adds the rest. `given` is what the order of claims gives each cause of the round trip, `of_flow` what of
    /// the flow's time, as shares 0 to 1.
    pub fn end(&mut self, evidence: &RoundEvidence, given: &OfCauses, of_flow: &OfCauses) {
        self.candidates.push(Cause::Unknown);
        self.signs.push((0, 1.0));
        let is = MEASURED.iter().enumerate().filter(|(_, is)| is(evidence));
        self.signs.extend(is.map(|(i, _)| (FIRST_MEASURED + i, 1.0)));
        let own = |c: &Cause| [given[*c as usize], of_flow[*c as usize]];
        self.own = self.candidates.iter().map(own).collect();
    }

    /// The probability of each cause by these weights; they add up to 1.
    pub fn probabilities(&self, weights: &ClaimWeights) -> OfCauses {
        let mut out = [0.0; CAUSES];
        let mut greatest = f64::NEG_INFINITY;
        for (cause, own) in self.candidates.iter().zip(&self.own) {
            let cause = *cause as usize;
            let of_signs: f64 = self.signs.iter().map(|(s, x)| weights.of_signs[*s][cause] * x).sum();
            let of_own: f64 = own.iter().zip(&weights.own).map(|(x, w)| w * x).sum();
            out[cause] = of_signs + of_own;
            greatest = greatest.max(out[cause]);
        }
        let mut whole = 0.0;
        for cause in &self.candidates {
            let p = &mut out[*cause as usize];
            *p = libm::exp(*p - greatest);
            whole += *p;
        }
        out.iter_mut().for_each(|p| *p /= whole);
        out
    }
}

/// How much each sign counts for each cause.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimWeights {
    /// By sign and cause.
    pub of_signs: Vec<OfCauses>,
    /// Of [`RoundSigns::own`].
    pub own: [f64; OWN],
}

impl Default for ClaimWeights {
    fn default() -> Self {
        ClaimWeights { of_signs: vec![[0.0; CAUSES]; SIGNS], own: [0.0; OWN] }
    }
}

/// What a sign says: 1, a claim, or what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundSign {
    /// Always there.
    One,
    /// A cause claims some of the round trip.
    Claim(Cause, ClaimOrder),
    /// By its number: there is a limiter, it shows its queue, it is full, the flow takes its share.
    Measured(usize),
}

impl RoundSign {
    /// The one at this place.
    pub fn at(place: usize) -> RoundSign {
        match place.checked_sub(1) {
            None => RoundSign::One,
            Some(_) if place >= FIRST_MEASURED => RoundSign::Measured(place - FIRST_MEASURED),
            Some(claim) => {
                let orders = ClaimOrder::ALL.len();
                RoundSign::Claim(Cause::ALL[claim / orders], ClaimOrder::ALL[claim % orders])
            }
        }
    }

    /// Its place among the signs.
    pub const fn place(self) -> usize {
        match self {
            RoundSign::One => 0,
            RoundSign::Claim(cause, order) => 1 + cause as usize * ClaimOrder::ALL.len() + order as usize,
            RoundSign::Measured(i) => FIRST_MEASURED + i,
        }
    }
}

/// The probability of each cause of a round trip, by what was learned; they add up to 1.
pub fn probabilities(signs: &RoundSigns) -> OfCauses {
    signs.probabilities(&LEARNED)
}

/// What was learned: of a claim that was not met, nothing.
static LEARNED: LazyLock<ClaimWeights> = LazyLock::new(|| {
    let mut learned = ClaimWeights { own: weights::OF_OWN, ..ClaimWeights::default() };
    for (sign, causes) in weights::OF_SIGNS {
        causes.iter().for_each(|(cause, weight)| learned.of_signs[sign.place()][*cause as usize] = *weight);
    }
    learned
});

#[cfg(test)]
mod tests {
    use super::*;
    use result::cause::RoundPart;

    /// A round trip that is all this part.
    fn whole(part: RoundPart, evidence: &RoundEvidence) -> RoundSigns {
        let mut given = [0.0; CAUSES];
        given[Cause::of_part(part, evidence) as usize] = 1.0;
        let mut signs = RoundSigns::default();
        Cause::claims(part, evidence).for_each(|(order, cause)| signs.claim(cause, order, 1.0));
        signs.end(evidence, &given, &given);
        signs
    }

    fn probability(signs: &RoundSigns, cause: Cause) -> f64 {
        probabilities(signs)[cause as usize]
    }

    #[test]
    fn probabilities_add_up_to_one_and_only_those_that_claim_have_any() {
        let losses = [Cause::Policed, Cause::Congestion, Cause::RandomLoss, Cause::Outage, Cause::BlackHole];
        for bits in 0u32..1 << 8 {
            let is = |bit: u32| bits >> bit & 1 == 1;
            let evidence = RoundEvidence {
                last_loss: losses[bits as usize % losses.len()],
                window_full: is(0),
                waits: is(1),
                acks_wait: is(2),
                limiter: is(3).then_some(result::diagnosis::LimiterKind::Bottleneck),
                limiter_queues: is(3) && is(4),
                limiter_full: is(3) && is(5),
                grows: is(6),
                before_loss: is(7),
                ..RoundEvidence::default()
            };
            for part in RoundPart::ALL {
                let signs = whole(part, &evidence);
                let p = probabilities(&signs);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{part:?} {evidence:?}: {p:?}");
                for cause in Cause::ALL {
                    assert_eq!(p[cause as usize] > 0.0, signs.candidates.contains(&cause), "{cause:?}");
                }
            }
        }
    }

    #[test]
    fn who_alone_claims_is_likely() {
        let window = whole(RoundPart::WindowFull, &RoundEvidence::default());
        assert!(probability(&window, Cause::ReceiveWindow) > 0.8, "{:?}", probabilities(&window));
        let silence = whole(RoundPart::Silence, &RoundEvidence::default());
        assert!(probability(&silence, Cause::Outage) > 0.8, "{:?}", probabilities(&silence));
        // No drawn case has this cause: its claim is as good as others are.
        let lost = RoundEvidence { last_loss: Cause::BlackHole, ..RoundEvidence::default() };
        let hole = whole(RoundPart::Timeout, &lost);
        assert!(probability(&hole, Cause::BlackHole) > 0.6, "{:?}", probabilities(&hole));
    }

    #[test]
    fn claims_that_contradict_each_other_share() {
        let alone = whole(RoundPart::WindowFull, &RoundEvidence::default());
        let queue = RoundEvidence {
            limiter: Some(result::diagnosis::LimiterKind::Bottleneck),
            limiter_queues: true,
            waits: true,
            ..RoundEvidence::default()
        };
        let both = whole(RoundPart::WindowFull, &queue);
        let [window, link] = [Cause::ReceiveWindow, Cause::Bottleneck].map(|c| probability(&both, c));
        assert!(window < probability(&alone, Cause::ReceiveWindow), "{window}");
        assert!(window > 0.01 && link > 0.01 && window + link > 0.8, "{window} {link}");
    }

    #[test]
    fn a_claim_on_more_of_the_round_trip_counts_for_more() {
        let mut weights = ClaimWeights::default();
        let sign = RoundSign::Claim(Cause::Outage, ClaimOrder::AfterLoss);
        weights.of_signs[sign.place()][Cause::Outage as usize] = 2.0;
        let of = |share| {
            let mut signs = RoundSigns::default();
            signs.claim(Cause::Outage, ClaimOrder::AfterLoss, share / 2.0);
            signs.claim(Cause::Outage, ClaimOrder::AfterLoss, share / 2.0);
            signs.end(&RoundEvidence::default(), &[0.0; CAUSES], &[0.0; CAUSES]);
            signs.probabilities(&weights)[Cause::Outage as usize]
        };
        let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
        assert!((of(1.0) - logistic(2.0)).abs() < 1e-12 && (of(0.25) - logistic(0.5)).abs() < 1e-12);
    }

    #[test]
    fn each_sign_has_a_place_of_its_own() {
        for place in 0..SIGNS {
            assert_eq!(RoundSign::at(place).place(), place);
        }
    }
}
