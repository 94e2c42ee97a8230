//! Which of the limiters that were proposed is there, or none: their posterior probabilities.
//!
//! 1. Each search proposes what it finds, of each kind that it may be ([`LimiterSource`]): a queue by delays, a link by nothing but one
//!    rate, what drops by a bucket's rule as a policer, as a queue and as a shaper.
//! 2. What is measured of each are signs ([`LimiterSign`]): logarithms of likelihood ratios, of losses by its rule and of delays by its
//!    queue ([`super::model`]), and how far what was seen strays from what it foretells.
//! 3. What is of one kind and rate is one hypothesis, whoever proposes it ([`hypotheses`]). Its score is the sum of the signs of all its
//!    proposals, each times its weight for the source; that of none is nothing. The probabilities go with the scores' exponentials: a
//!    conditional logit (McFadden 1974), as if each ratio had its own share of independent evidence.
//! 4. The weights are learned where the truth is known (`tests/diagnose`, bin `calibrate`, prints `posterior/weights.rs`).
//!
//! The likeliest is told, if it is likelier than none; how likely it is is how sure it is.

mod weights;

use super::virtual_queue::PacketArrival;
use super::{FoundLimiter, same_rate};
use result::diagnosis::LimiterKind;
use std::sync::LazyLock;

/// What proposes a limiter, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimiterSource {
    /// A queue that drains at one rate: a link's, by delays.
    LinkByDelays,
    /// The same behind a bucket: a shaper's.
    ShaperByDelays,
    /// A shaper that is refilled at intervals, by its ticks.
    ShaperByTicks,
    /// A link by nothing but packets that come at one rate.
    LinkByRate,
    /// The same behind a bucket.
    ShaperByRate,
    /// What drops by a bucket's rule and delays nobody.
    PolicerByLosses,
    /// The same behind the sender's own line.
    PolicerBehindLine,
    /// What drops by a bucket's rule is the end of a link's queue.
    QueueByLosses,
    /// It is the end of the queue of a line that packets wait for.
    QueueOfLine,
    /// It is a bucket and the queue behind it.
    ShaperByLosses,
    /// The same seen behind the shaper, whose bucket is empty for as long as its queue is not.
    ShaperBeforeCapture,
}

impl LimiterSource {
    /// All of them, in the order of their numbers.
    pub const ALL: [LimiterSource; 11] = {
        use LimiterSource::*;
        [
            LinkByDelays,
            ShaperByDelays,
            ShaperByTicks,
            LinkByRate,
            ShaperByRate,
            PolicerByLosses,
            PolicerBehindLine,
            QueueByLosses,
            QueueOfLine,
            ShaperByLosses,
            ShaperBeforeCapture,
        ]
    };

    /// Of what several tell alike: delays show rate and queue best, then losses, then nothing but a rate.
    fn told_by(self) -> u8 {
        match self {
            LimiterSource::LinkByDelays | LimiterSource::ShaperByDelays | LimiterSource::ShaperByTicks => 0,
            LimiterSource::LinkByRate | LimiterSource::ShaperByRate => 2,
            _ => 1,
        }
    }
}

/// What is measured of a proposed limiter, without unit. Logarithms are natural.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterSign {
    /// 1.
    One,
    /// It lies between capture and receiver: 1.
    Behind,
    /// The capture is the sender's: 1.
    AtSender,
    /// Logarithm of the packets lost and one.
    Losses,
    /// Logarithm of how many flows are asked together.
    Flows,
    /// Logarithm of the share of its rate that is used.
    Use,
    /// Logarithm of the bytes of its bucket, or of its queue, in packets.
    Packets,
    /// Logarithm of how long its bucket takes to fill, seconds.
    Seconds,
    /// Another search proposes the same rate: 1.
    SameRate,
    /// Another search proposes another rate: 1.
    OtherRate,
    /// Logarithm of the gain and one: how much better than chance its bucket foretells losses ([`super::virtual_queue::gain`]).
    Gain,
    /// Logarithm of how far losses lie from the limit, as a share of it.
    Apart,
    /// Packets on the wrong side of the limit, the logarithm of them, and more than a packet there, as shares, lost and passed together.
    Misclassified,
    /// The logarithm.
    Clean,
    /// More than a packet.
    Beyond,
    /// Share of the losses that it does not explain.
    Unexplained,
    /// Logarithm of the share of the gain that is left if lost packets have no time of their own.
    Placed,
    /// How much better its rule foretells losses than the delay at a queue does: a likelihood ratio's logarithm, compressed.
    Second,
    /// Logarithm of the gain by delay and one: losses come when packets wait long.
    LossesWithDelay,
    /// By delays, those who would wait at it do, rather than others: mean logarithm of the likelihood ratio of a bin of backlog. Not
    /// known: 0.
    Waits,
    /// The same of the whole capture, where the first is of what follows pauses.
    WaitsOfAll,
    /// Whether that is known: 1.
    WaitsKnown,
    /// Logarithm of the packets that wait where packets come near the limit and one.
    WaitAtLimit,
    /// Lost or not, packets come at the limit, and some wait there: what is placed alike times what waits. So a shaper's packets are seen behind
    /// it, whose bucket is empty for as long as its queue is not.
    AllAtLimit,
    /// Gaps of lost packets say that a link of its rate lost them: 1.
    GapsOfLink,
    /// One up to four times as fast.
    GapsOfFaster,
    /// A faster one still.
    GapsOfFarFaster,
    /// It explains the losses as well at the rate of a line that packets wait for: 1.
    Line,
    /// Packets come one right behind the other where the bucket is empty: 1.
    BackToBack,
    /// Logarithm of the packets that pass far beyond the limit to each that is lost, and one.
    PassedBeyond,
    /// The bucket ran from full to empty: 1.
    Emptied,
    /// Logarithm of the spread of the rates at which it drains.
    Spread,
    /// Share of packets that leave while some wait.
    Busy,
    /// How far the rise of delay with the backlog is from a queue's.
    Slope,
    /// Share of the delay's variance that this leaves.
    Left,
    /// Logarithm of its longest delay beside what may be noise.
    Delay,
    /// Each flow has a queue of its own: 1.
    Fair,
    /// The other reading of the same delays is proposed too, with a bucket: 1.
    HasBucket,
    /// Logarithm of the score at the line's end beside that without the line, of which more than e times says no more.
    Clearer,
    /// The sender's line is certain: 1.
    Certain,
    /// Share of the times at which packets come at its rate, less where it is another over short times.
    Pinned,
    /// Share of what other models leave unexplained that ticks leave.
    Ticks,
}

impl LimiterSign {
    /// All of them, in the order of their numbers.
    pub const ALL: [LimiterSign; LIMITER_SIGNS] = {
        use LimiterSign::*;
        [
            One,
            Behind,
            AtSender,
            Losses,
            Flows,
            Use,
            Packets,
            Seconds,
            SameRate,
            OtherRate,
            Gain,
            Apart,
            Misclassified,
            Clean,
            Beyond,
            Unexplained,
            Placed,
            Second,
            LossesWithDelay,
            Waits,
            WaitsOfAll,
            WaitsKnown,
            WaitAtLimit,
            AllAtLimit,
            GapsOfLink,
            GapsOfFaster,
            GapsOfFarFaster,
            Line,
            BackToBack,
            PassedBeyond,
            Emptied,
            Spread,
            Busy,
            Slope,
            Left,
            Delay,
            Fair,
            HasBucket,
            Clearer,
            Certain,
            Pinned,
            Ticks,
        ]
    };
}

/// How many signs there are.
pub const LIMITER_SIGNS: usize = LimiterSign::Ticks as usize + 1;

/// What was measured, by sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimiterSigns(pub [f64; LIMITER_SIGNS]);

impl LimiterSigns {
    /// Those of a limiter of which nothing else is known.
    pub(super) fn new(behind: bool) -> LimiterSigns {
        let mut signs = LimiterSigns([0.0; LIMITER_SIGNS]);
        signs.set(LimiterSign::One, 1.0);
        signs.flag(LimiterSign::Behind, behind);
        signs
    }

    pub(super) fn set(&mut self, sign: LimiterSign, value: f64) {
        self.0[sign as usize] = if value.is_finite() { value } else { 0.0 };
    }

    pub(super) fn get(&self, sign: LimiterSign) -> f64 {
        self.0[sign as usize]
    }

    pub(super) fn flag(&mut self, sign: LimiterSign, is: bool) {
        self.set(sign, f64::from(is));
    }
}

/// A limiter that may be there.
pub(super) struct LimiterCandidate {
    pub source: LimiterSource,
    pub found: FoundLimiter,
    pub signs: LimiterSigns,
    /// Packets as they come to it, where these are not those of the capture.
    pub arrivals: Option<Vec<PacketArrival>>,
}

/// What a sign adds to a score: `of` times the sign, and `bend` times how far it is from `middle`, less what that is of none. So it counts
/// otherwise below the middle than beyond it; and beyond its `bounds` no more, as nothing was learned there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SignWeight {
    /// Of the sign.
    pub of: f64,
    /// Of its distance from the middle.
    pub bend: f64,
    /// The median of all that were proposed.
    pub middle: f64,
    /// The least and the greatest of them.
    pub bounds: (f64, f64),
}

impl SignWeight {
    /// The sign, or what is nearest to it of what was proposed.
    pub fn bounded(&self, sign: f64) -> f64 {
        sign.max(self.bounds.0).min(self.bounds.1)
    }

    /// What the distance from the middle is, less what it is of none.
    pub fn bent(&self, sign: f64) -> f64 {
        (sign - self.middle).abs() - self.middle.abs()
    }
}

/// Weights by source and sign.
pub type LimiterWeights = [[SignWeight; LIMITER_SIGNS]; LimiterSource::ALL.len()];

/// What tells the same, by kind and rate: indexes of each hypothesis.
pub fn hypotheses(told: &[(LimiterKind, f64)]) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = Vec::new();
    for (i, (kind, rate)) in told.iter().enumerate() {
        let same = |h: &&mut Vec<usize>| told[h[0]].0 == *kind && same_rate(told[h[0]].1, *rate);
        match out.iter_mut().find(same) {
            Some(hypothesis) => hypothesis.push(i),
            None => out.push(vec![i]),
        }
    }
    out
}

/// What signs of a source add to a hypothesis' score.
pub fn score(source: LimiterSource, signs: &LimiterSigns, weights: &LimiterWeights) -> f64 {
    let adds = |(sign, w): (&f64, &SignWeight)| {
        let sign = w.bounded(*sign);
        w.of * sign + w.bend * w.bent(sign)
    };
    signs.0.iter().zip(&weights[source as usize]).map(adds).sum()
}

/// The probabilities that go with scores of hypotheses, whose rest is that of none.
pub fn probabilities(scores: &[f64]) -> Vec<f64> {
    let most = scores.iter().copied().fold(0.0, f64::max);
    let of = |score: f64| libm::exp(score - most);
    let whole: f64 = of(0.0) + scores.iter().copied().map(of).sum::<f64>();
    scores.iter().map(|score| of(*score) / whole).collect()
}

/// The likeliest hypothesis, by the one of its proposals that shows it best, and its probability; `None` where nothing is likelier.
pub(super) fn likeliest(candidates: &[LimiterCandidate]) -> Option<(usize, f64)> {
    let told: Vec<(LimiterKind, f64)> = candidates.iter().map(|c| (c.found.kind, c.found.rate)).collect();
    let each: Vec<f64> = candidates.iter().map(|c| score(c.source, &c.signs, &LEARNED)).collect();
    let hypotheses = hypotheses(&told);
    let scores: Vec<f64> = hypotheses.iter().map(|h| h.iter().map(|i| each[*i]).sum()).collect();
    let likely = probabilities(&scores);
    let none = 1.0 - likely.iter().sum::<f64>();
    let best = (0..likely.len()).max_by(|a, b| likely[*a].total_cmp(&likely[*b]))?;
    let better = |a: &usize, b: &usize| {
        let told_by = |i: usize| candidates[i].source.told_by();
        let explains = |i: usize| candidates[i].found.bucket.map_or(0.0, |b| b.score());
        told_by(*b)
            .cmp(&told_by(*a))
            .then(explains(*a).total_cmp(&explains(*b)))
            .then(each[*a].total_cmp(&each[*b]))
    };
    let first = hypotheses[best].iter().copied().max_by(better)?;
    (likely[best] > none).then_some((first, likely[best]))
}

/// Of a source what each sign is multiplied with, what its distance from the middle is, that middle, and the bounds.
type OfSource = (LimiterSource, &'static [(LimiterSign, [f64; 5])]);

/// What was learned.
pub static LEARNED: LazyLock<LimiterWeights> = LazyLock::new(|| {
    let mut all = [[SignWeight::default(); LIMITER_SIGNS]; LimiterSource::ALL.len()];
    for (source, of) in weights::OF_SOURCES {
        for (sign, [of, bend, middle, least, most]) in of.iter().copied() {
            all[*source as usize][sign as usize] = SignWeight { of, bend, middle, bounds: (least, most) };
        }
    }
    all
});

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(source: LimiterSource, kind: LimiterKind, rate: f64) -> LimiterCandidate {
        let found = FoundLimiter { kind, rate, ..FoundLimiter::default() };
        LimiterCandidate { source, found, signs: LimiterSigns::new(true), arrivals: None }
    }

    #[test]
    fn signs_and_sources_have_the_places_of_their_numbers() {
        assert!(LimiterSign::ALL.iter().enumerate().all(|(i, sign)| *sign as usize == i));
        assert!(LimiterSource::ALL.iter().enumerate().all(|(i, source)| *source as usize == i));
    }

    #[test]
    fn probabilities_with_that_of_none_are_one_in_all() {
        let mut weights = [[SignWeight::default(); LIMITER_SIGNS]; LimiterSource::ALL.len()];
        let one = &mut weights[LimiterSource::LinkByDelays as usize][LimiterSign::One as usize];
        *one = SignWeight { of: 3f64.ln(), bounds: (1.0, 1.0), ..SignWeight::default() };
        let signs = LimiterSigns::new(true);
        let sources = [LimiterSource::LinkByDelays, LimiterSource::PolicerByLosses];
        let scores = |weights: &LimiterWeights| sources.map(|source| score(source, &signs, weights));
        let likely = probabilities(&scores(&weights));
        // Three to one to one.
        assert!((likely[0] - 0.6).abs() < 1e-9 && (likely[1] - 0.2).abs() < 1e-9, "{likely:?}");
        // However great a score is.
        weights[LimiterSource::LinkByDelays as usize][LimiterSign::One as usize].of = 2000.0;
        let likely = probabilities(&scores(&weights));
        assert!((likely[0] - 1.0).abs() < 1e-9 && likely[1] < 1e-9, "{likely:?}");
        assert!(probabilities(&[]).is_empty());
    }

    #[test]
    fn a_sign_counts_otherwise_beyond_its_middle() {
        let w = SignWeight { of: 2.0, bend: 1.0, middle: 3.0, bounds: (0.0, 5.0) };
        let mut weights = [[SignWeight::default(); LIMITER_SIGNS]; LimiterSource::ALL.len()];
        weights[LimiterSource::LinkByRate as usize][LimiterSign::Use as usize] = w;
        let adds = |x: f64| {
            let mut signs = LimiterSigns([0.0; LIMITER_SIGNS]);
            signs.set(LimiterSign::Use, x);
            score(LimiterSource::LinkByRate, &signs, &weights)
        };
        // Beyond its bounds it adds no more.
        assert_eq!([0.0, 1.0, 3.0, 4.0, 5.0, 9.0].map(adds), [0.0, 1.0, 3.0, 6.0, 9.0, 9.0]);
    }

    #[test]
    fn what_is_of_one_kind_and_rate_is_one_hypothesis() {
        use LimiterKind::{Bottleneck, Policer};
        let told = [(Bottleneck, 1e6), (Policer, 1e6), (Bottleneck, 1.01e6), (Bottleneck, 2e6)];
        assert_eq!(hypotheses(&told), [vec![0, 2], vec![1], vec![3]]);
        assert!(hypotheses(&[]).is_empty());
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert_eq!(likeliest(&[]), None);
    }

    #[test]
    fn a_bucket_that_foretells_all_losses_is_told_and_one_that_foretells_few_is_not() {
        let mut policer = candidate(LimiterSource::PolicerByLosses, LimiterKind::Policer, 1e6);
        let clean = [
            (LimiterSign::Losses, 6.0),
            (LimiterSign::Packets, 3.0),
            (LimiterSign::Seconds, -3.0),
            (LimiterSign::Gain, 6.0),
            (LimiterSign::Apart, -4.0),
            (LimiterSign::Clean, -4.6),
            (LimiterSign::Second, 5.0),
            (LimiterSign::Waits, 1.0),
            (LimiterSign::WaitsKnown, 1.0),
            (LimiterSign::Emptied, 1.0),
        ];
        clean.into_iter().for_each(|(sign, value)| policer.signs.set(sign, value));
        let told = likeliest(std::slice::from_ref(&policer));
        assert!(told.is_some_and(|(_, sure)| sure > 0.9), "{told:?}");
        let blurred = [
            (LimiterSign::Gain, 2.4),
            (LimiterSign::Apart, -0.5),
            (LimiterSign::Misclassified, 1.2),
            (LimiterSign::Clean, 0.2),
            (LimiterSign::Beyond, 1.0),
            (LimiterSign::Unexplained, 0.6),
            (LimiterSign::Second, -2.0),
            (LimiterSign::Waits, -1.0),
        ];
        blurred.into_iter().for_each(|(sign, value)| policer.signs.set(sign, value));
        assert_eq!(likeliest(&[policer]), None);
    }
}
