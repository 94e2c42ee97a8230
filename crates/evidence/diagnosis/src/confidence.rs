//! How sure a flow's main cause is: the probability that it is right.
//!
//! 1. What speaks for it is measured on the finished diagnosis ([`signs`]): how far the main cause is ahead of the second, how
//!    sure its limiter is, over how many round trips it was seen, and which cause it is.
//! 2. Logistic regression makes a probability of that. Its weights are learned where the truth is known: on drawn cases and on
//!    real captures with a label (`tests/diagnose`, bin `calibrate`, prints `confidence/weights.rs`).
//! 3. How well it keeps its word on cases that it was not learned on stands in `docs/diagnosis-accuracy.md`.

mod weights;

use result::Cause;
use result::diagnosis::{FlowDiagnosis, Limiter};
use std::sync::LazyLock;

/// Signs that every verdict has.
pub const GENERAL: usize = 5;
/// All signs: those, and one for each cause that is 1 for the main cause.
pub const SIGNS: usize = GENERAL + Cause::ALL.len();

/// What speaks for the main cause of a flow, each without unit: 1; the lead of the main cause's share over the second; whether
/// it is a limiter's; then the log-odds of that limiter; the logarithm of one more than the round trips; and the causes.
pub fn signs(flow: &FlowDiagnosis, limiters: &[Limiter]) -> [f64; SIGNS] {
    let share = |i: usize| flow.causes.get(i).map_or(0.0, |c| c.share);
    let limiter = flow.cause.entry().by_limiter;
    let found = flow.limiter.and_then(|i| limiters.get(i)).filter(|_| limiter);
    let rtt = flow.measures.rtt_ms.mean * 1e-3;
    let round_trips = if rtt > 0.0 { flow.duration_s / rtt } else { 0.0 };
    let general = [
        1.0,
        share(0) - share(1),
        f64::from(limiter),
        found.map_or(0.0, |l| log_odds(l.confidence)),
        libm::log1p(round_trips.max(0.0)),
    ];
    std::array::from_fn(|i| match i.checked_sub(GENERAL) {
        None => general[i],
        Some(cause) => f64::from(Cause::ALL[cause] == flow.cause),
    })
}

/// No limiter is surer than this.
const SUREST: f64 = 0.99;

fn log_odds(p: f64) -> f64 {
    let p = p.clamp(1.0 - SUREST, SUREST);
    libm::log(p / (1.0 - p))
}

/// The probability that goes with signs of these weights.
pub fn probability<const N: usize>(signs: &[f64; N], weights: &[f64; N]) -> f64 {
    let sum: f64 = signs.iter().zip(weights).map(|(s, w)| s * w).sum();
    1.0 / (1.0 + libm::exp(-sum))
}

/// How sure the main cause is, 0 to 1.
pub(crate) fn confidence(flow: &FlowDiagnosis, limiters: &[Limiter]) -> f64 {
    if flow.cause == Cause::Unknown {
        return 0.0;
    }
    probability(&signs(flow, limiters), &LEARNED)
}

/// What was learned: of a cause that was not met, nothing.
static LEARNED: LazyLock<[f64; SIGNS]> = LazyLock::new(|| {
    let of = |cause: Cause| weights::OF_CAUSES.iter().find(|w| w.0 == cause).map_or(0.0, |w| w.1);
    std::array::from_fn(|i| match i.checked_sub(GENERAL) {
        None => weights::OF_GENERAL[i],
        Some(cause) => of(Cause::ALL[cause]),
    })
});

#[cfg(test)]
mod tests {
    use super::*;
    use result::diagnosis::CauseShare;

    fn flow(cause: Cause, shares: [f64; 2]) -> FlowDiagnosis {
        let share = |(cause, share)| CauseShare { cause, share, seconds: share };
        let causes = vec![share((cause, shares[0])), share((Cause::SlowStart, shares[1]))];
        FlowDiagnosis { cause, causes, duration_s: 10.0, ..FlowDiagnosis::default() }
    }

    #[test]
    fn a_clear_lead_is_surer_than_a_narrow_one() {
        for cause in Cause::ALL.into_iter().filter(|c| *c != Cause::Unknown) {
            let clear = confidence(&flow(cause, [0.95, 0.05]), &[]);
            let narrow = confidence(&flow(cause, [0.45, 0.44]), &[]);
            assert!(0.0 < narrow && narrow < clear && clear < 1.0, "{cause:?}: {narrow} {clear}");
        }
    }

    #[test]
    fn no_cause_is_not_sure() {
        assert_eq!(confidence(&flow(Cause::Unknown, [1.0, 0.0]), &[]), 0.0);
    }

    #[test]
    fn a_surer_limiter_makes_its_cause_surer() {
        let limited = FlowDiagnosis { limiter: Some(0), ..flow(Cause::Policed, [0.8, 0.1]) };
        let by = |confidence| [Limiter { confidence, ..Limiter::default() }];
        assert!(confidence(&limited, &by(0.95)) > confidence(&limited, &by(0.4)));
    }
}
