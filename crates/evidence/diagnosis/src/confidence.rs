//! The confidence of a flow's main cause: the probability that it is right.
//!
//! 1. The signs ([`signs`]) come from the finished diagnosis: the main cause, its lead over the second, the
//!    probability of its limiter, the number of round trips, and the gaps in the capture.
//! 2. Logistic regression turns signs into a probability, which is capped where another cause would produce
//!    the same signs. Its weights are learned where the truth is known: on drawn cases, whole and cut, and on
//!    labelled real captures (`tests/diagnose`, task `calibrate`, prints `confidence/weights.rs`).
//! 3. `docs/measured/diagnosis-accuracy.md` compares confidence and success on other cases.

mod weights;

use result::Cause;
use result::diagnosis::{FlowDiagnosis, Limiter, LimiterKind, UNDECIDED};
use std::sync::LazyLock;

/// A sign that every verdict has, for any cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneralSign {
    /// The intercept, always 1.
    One,
    /// The main cause's share of the time less the second's.
    Lead,
    /// 1 if the main cause is a limiter.
    OfLimiter,
    /// Log-odds of that limiter, in nats.
    LimiterOdds,
    /// Natural logarithm of the number of round trips plus one.
    RoundTrips,
    /// 1 if no SYN is in the capture.
    NoHandshake,
    /// 1 if the snap length cut TCP options off.
    OptionsCut,
    /// 1 if only one direction is in the capture.
    OneWay,
    /// Log-odds of the most probable limiter where none is reported, in nats above those of
    /// [`NEGLIGIBLE_PROBABILITY`].
    RejectedLimiter,
}

impl GeneralSign {
    /// All signs, in the order of their weights.
    pub const ALL: [GeneralSign; 9] = [
        GeneralSign::One,
        GeneralSign::Lead,
        GeneralSign::OfLimiter,
        GeneralSign::LimiterOdds,
        GeneralSign::RoundTrips,
        GeneralSign::NoHandshake,
        GeneralSign::OptionsCut,
        GeneralSign::OneWay,
        GeneralSign::RejectedLimiter,
    ];
}

/// Number of signs that every verdict has.
pub const GENERAL: usize = GeneralSign::ALL.len();
/// Number of all signs: the general ones, and one for each cause that is 1 for the main cause.
pub const SIGNS: usize = GENERAL + Cause::ALL.len();

/// Returns the signs of a flow's main cause.
pub fn signs(flow: &FlowDiagnosis, limiters: &[Limiter]) -> [f64; SIGNS] {
    let share = |i: usize| flow.causes.get(i).map_or(0.0, |c| c.share);
    let noted = |code: &str| f64::from(flow.has_note(code));
    let of_limiter = flow.cause.is_of_limiter();
    let found = flow.limiter.and_then(|i| limiters.get(i)).filter(|_| of_limiter);
    let general = |sign| match sign {
        GeneralSign::One => 1.0,
        GeneralSign::Lead => share(0) - share(1),
        GeneralSign::OfLimiter => f64::from(of_limiter),
        GeneralSign::LimiterOdds => found.map_or(0.0, |l| log_odds(l.confidence)),
        GeneralSign::RoundTrips => libm::log1p(flow.round_trips().unwrap_or(0.0).max(0.0)),
        GeneralSign::NoHandshake => noted("no-handshake"),
        GeneralSign::OptionsCut => noted("options-cut"),
        GeneralSign::OneWay => noted("one-way"),
        GeneralSign::RejectedLimiter => flow
            .rejected_limiter
            .map_or(0.0, |l| (log_odds(l.probability) - log_odds(NEGLIGIBLE_PROBABILITY)).max(0.0)),
    };
    std::array::from_fn(|i| match i.checked_sub(GENERAL) {
        None => general(GeneralSign::ALL[i]),
        Some(cause) => f64::from(Cause::ALL[cause] == flow.cause),
    })
}

/// Greatest probability of a limiter that counts.
const MAX_LIMITER_PROBABILITY: f64 = 0.99;
/// A rejected limiter with a probability up to this does not affect the confidence.
const NEGLIGIBLE_PROBABILITY: f64 = 0.05;

fn log_odds(p: f64) -> f64 {
    let p = p.clamp(1.0 - MAX_LIMITER_PROBABILITY, MAX_LIMITER_PROBABILITY);
    libm::log(p / (1.0 - p))
}

/// Returns the probability of signs under these weights.
pub fn probability<const N: usize>(signs: &[f64; N], weights: &[f64; N]) -> f64 {
    let sum: f64 = signs.iter().zip(weights).map(|(s, w)| s * w).sum();
    1.0 / (1.0 + libm::exp(-sum))
}

/// Returns the confidence of a flow's main cause, 0 to 1.
pub(crate) fn confidence(flow: &FlowDiagnosis, limiters: &[Limiter]) -> f64 {
    if flow.cause == Cause::Unknown {
        return 0.0;
    }
    probability(&signs(flow, limiters), &LEARNED).min(undecidable(flow, limiters))
}

/// Greatest confidence of a full link where a shaper with an empty bucket would look the same: the bucket may
/// have been emptied before the capture began, or nothing shows the limiter. Of flows that began before the
/// capture, such a verdict was right for 7 of 14 (`longfat-diagnose-test cuts build 60`).
const MAX_LINK_OR_SHAPER: f64 = 0.55;
/// Greatest confidence of a shaper where a link would look the same: the capture began later, and packets
/// that waited from the first one on hide how much passes without a wait.
const MAX_SHAPER_OR_LINK: f64 = 0.75;
/// Greatest confidence of a loss's cause where other causes lose the same packets: in one or two episodes, or
/// before a capture that does not show the waits there (the notes that say so), at a short bucket, or where a
/// policer explains them that was rejected, but not as negligible. Of sure verdicts of the last kind 3 of 9
/// were right (`longfat-diagnose-test corpus write`, sets 20261211 and 20261212).
const MAX_SAME_LOSSES: f64 = 0.75;
const SAME_LOSSES: [&str; 3] = ["few-loss-episodes", "waits-unseen", "waits-too-short"];

/// A queue that empties sooner than this, s, drops as a policer's bucket does, and its waits are lost in the
/// noise: network cards gather their interrupts for about as long.
const SHORT_BUCKET_S: f64 = 250e-6;

/// Greatest confidence of an application whose pauses may be those of a full window: of flows that began
/// before a capture at the receiver, such a verdict was wrong for all 4 (`longfat-diagnose-test cuts` with
/// the sets `build` and 20261201, 60 cases each).
const MAX_PAUSES: f64 = 0.45;

/// Returns the greatest confidence that the capture allows for the main cause, because another cause would
/// produce the same signs. A cause that is a limiter is no more certain than the limiter's kind, and a limiter
/// that is reported is at least as probable as none.
fn undecidable(flow: &FlowDiagnosis, limiters: &[Limiter]) -> f64 {
    let limiter = flow.limiter.and_then(|i| limiters.get(i));
    let of_kind = limiter.filter(|_| flow.cause.is_of_limiter()).map_or(1.0, |l| l.confidence.max(UNDECIDED));
    let empties_s = limiter.and_then(|l| Some(8e-6 * l.burst_bytes? / l.rate_mbps));
    let bucket_unseen = flow.limiter.is_none() || flow.has_note("no-handshake");
    let of_policer = flow
        .rejected_limiter
        .is_some_and(|l| l.kind == LimiterKind::Policer && l.probability >= NEGLIGIBLE_PROBABILITY);
    let of_cause = match flow.cause {
        Cause::Bottleneck if bucket_unseen => MAX_LINK_OR_SHAPER,
        Cause::Shaped if flow.has_note("no-handshake") => MAX_SHAPER_OR_LINK,
        Cause::Application if flow.has_note("pauses-ambiguous") => MAX_PAUSES,
        Cause::Policed if empties_s.is_some_and(|s| s < SHORT_BUCKET_S) => MAX_SAME_LOSSES,
        Cause::RandomLoss | Cause::Congestion if of_policer => MAX_SAME_LOSSES,
        _ if SAME_LOSSES.iter().any(|note| flow.has_note(note)) => MAX_SAME_LOSSES,
        _ => 1.0,
    };
    of_cause.min(of_kind)
}

/// Weight, nats, of causes that occur in too few captures to learn a weight. Characteristic packets show each
/// of them (ICMP, sizes, fragments, timers), as they show an outage, whose weight is about as high.
const DEFAULT_WEIGHT: f64 = 2.0;

/// The learned weights.
static LEARNED: LazyLock<[f64; SIGNS]> = LazyLock::new(|| {
    let general = |sign: GeneralSign| weights::GENERAL.iter().find(|w| w.0 == sign).map_or(0.0, |w| w.1);
    let of_cause = |cause: Cause| match weights::CAUSES.iter().find(|w| w.0 == cause) {
        Some((_, weight)) => *weight,
        None if cause == Cause::Unknown => 0.0,
        None => DEFAULT_WEIGHT,
    };
    std::array::from_fn(|i| match i.checked_sub(GENERAL) {
        None => general(GeneralSign::ALL[i]),
        Some(cause) => of_cause(Cause::ALL[cause]),
    })
});

#[cfg(test)]
mod tests {
    use super::*;
    use result::diagnosis::{CauseShare, RejectedLimiter};

    fn flow(cause: Cause, shares: [f64; 2]) -> FlowDiagnosis {
        let share = |(cause, share)| CauseShare { cause, share, seconds: share };
        let causes = vec![share((cause, shares[0])), share((Cause::SlowStart, shares[1]))];
        FlowDiagnosis { cause, causes, duration_s: 10.0, ..FlowDiagnosis::default() }
    }

    #[test]
    fn a_clear_lead_gives_more_confidence_than_a_narrow_one() {
        for cause in Cause::ALL.into_iter().filter(|c| *c != Cause::Unknown) {
            let clear = confidence(&flow(cause, [0.95, 0.05]), &[]);
            let narrow = confidence(&flow(cause, [0.45, 0.44]), &[]);
            assert!(0.0 < narrow && narrow < clear && clear < 1.0, "{cause:?}: {narrow} {clear}");
        }
    }

    #[test]
    fn an_unknown_cause_has_no_confidence() {
        assert_eq!(confidence(&flow(Cause::Unknown, [1.0, 0.0]), &[]), 0.0);
    }

    #[test]
    fn a_more_probable_limiter_gives_its_cause_more_confidence() {
        let limited = FlowDiagnosis { limiter: Some(0), ..flow(Cause::Policed, [0.8, 0.1]) };
        let by = |confidence| [Limiter { confidence, ..Limiter::default() }];
        assert!(confidence(&limited, &by(0.95)) > confidence(&limited, &by(0.4)));
    }

    #[test]
    fn a_cause_is_no_more_certain_than_its_limiter() {
        let limited = FlowDiagnosis { limiter: Some(0), duration_s: 1e4, ..flow(Cause::Policed, [1.0, 0.0]) };
        let by = |p| undecidable(&limited, &[Limiter { confidence: p, ..Limiter::default() }]);
        assert_eq!((by(0.6), by(0.4)), (0.6, UNDECIDED));
        let elsewhere = FlowDiagnosis { cause: Cause::Application, ..limited };
        assert_eq!(undecidable(&elsewhere, &[Limiter { confidence: 0.6, ..Limiter::default() }]), 1.0);
    }

    #[test]
    fn a_narrowly_rejected_limiter_lowers_the_confidence() {
        let by = |probability| {
            let rejected = RejectedLimiter { kind: LimiterKind::Policer, rate_mbps: 20.0, probability };
            let lossy = flow(Cause::RandomLoss, [0.9, 0.1]);
            confidence(&FlowDiagnosis { rejected_limiter: Some(rejected), ..lossy }, &[])
        };
        let none = confidence(&flow(Cause::RandomLoss, [0.9, 0.1]), &[]);
        assert!(by(0.48) < by(0.2) && by(0.2) < none && by(0.01) == none, "{} {} {none}", by(0.48), by(0.2));
    }

    #[test]
    fn causes_that_leave_the_same_marks_are_not_certain() {
        use result::diagnosis::{SURE, UNDECIDED};
        // Buckets of 1 ms and 0.1 ms.
        let limiters = [12_500.0, 1250.0].map(|bytes| Limiter {
            kind: LimiterKind::Policer,
            rate_mbps: 100.0,
            burst_bytes: Some(bytes),
            confidence: 1.0,
            ..Limiter::default()
        });
        let most = |cause, limiter, note: &str| {
            let notes = vec![note.into()];
            undecidable(
                &FlowDiagnosis { limiter, notes, duration_s: 1e4, ..flow(cause, [1.0, 0.0]) },
                &limiters,
            )
        };
        assert!(most(Cause::Bottleneck, Some(0), "") == 1.0);
        assert!(most(Cause::Bottleneck, Some(0), "no-handshake") < SURE);
        assert!(most(Cause::Bottleneck, None, "") < SURE);
        assert!(most(Cause::Shaped, Some(0), "no-handshake") < SURE);
        assert!(most(Cause::Congestion, None, "few-loss-episodes") < SURE);
        assert!(most(Cause::Policed, Some(0), "") == 1.0);
        assert!(most(Cause::Policed, Some(0), "waits-unseen") < SURE);
        assert!(most(Cause::Policed, Some(1), "") < SURE);
        assert!(most(Cause::Congestion, None, "waits-too-short") < SURE);
        assert!(most(Cause::Application, None, "pauses-ambiguous") < UNDECIDED);
        let beside = |kind, probability| {
            let rejected = RejectedLimiter { kind, rate_mbps: 20.0, probability };
            let lossy = flow(Cause::RandomLoss, [1.0, 0.0]);
            undecidable(&FlowDiagnosis { rejected_limiter: Some(rejected), ..lossy }, &[])
        };
        assert!(beside(LimiterKind::Policer, 0.06) < SURE && beside(LimiterKind::Policer, 0.04) == 1.0);
        assert_eq!(beside(LimiterKind::Bottleneck, 0.2), 1.0);
    }

    #[test]
    fn an_incomplete_capture_lowers_the_confidence() {
        let whole = flow(Cause::RandomLoss, [0.8, 0.1]);
        for note in ["no-handshake", "options-cut", "one-way"] {
            let lacking = FlowDiagnosis { notes: vec![note.into()], ..whole.clone() };
            assert!(confidence(&lacking, &[]) < confidence(&whole, &[]), "{note}");
        }
    }
}
