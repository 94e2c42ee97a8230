//! How sure a flow's main cause is: the probability that it is right.
//!
//! 1. What speaks for it is measured on the finished diagnosis ([`signs`]): how far the main cause is ahead of the second, how
//!    sure its limiter is, over how many round trips it was seen, what the capture lacks, and which cause it is.
//! 2. Logistic regression makes a probability of that. Its weights are learned where the truth is known: on drawn cases, whole and
//!    cut, and on real captures with a label (`tests/diagnose`, task `calibrate`, prints `confidence/weights.rs`).
//! 3. How well it keeps its word on cases that it was not learned on stands in `docs/diagnosis-accuracy.md`.

mod weights;

use result::Cause;
use result::diagnosis::{FlowDiagnosis, Limiter};
use std::sync::LazyLock;

/// What every verdict has, whichever its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneralSign {
    /// 1.
    One,
    /// The main cause's share of the time less the second's.
    Lead,
    /// The main cause is a limiter's: 1.
    OfLimiter,
    /// Log-odds of that limiter, in nats.
    LimiterOdds,
    /// Natural logarithm of the round trips and one.
    RoundTrips,
    /// No SYN is in the capture: 1.
    NoHandshake,
    /// The snap length cut TCP options off: 1.
    OptionsCut,
    /// Only one direction is in the capture: 1.
    OneWay,
    /// Losses are the cause, and came in one or two episodes: 1.
    FewEpisodes,
    /// Losses before the capture are the cause, and nothing shows how long packets waited there: 1.
    WaitsUnseen,
    /// A queue is said to lose packets, and the flow's own RTT shows none: 1.
    QueueUnseen,
    /// A link is said to be full, and no limiter shows its rate: 1.
    RateUnseen,
    /// Log-odds of the most probable limiter where none is reported, in nats above those of [`LEAST_ODDS`].
    RejectedLimiter,
}

impl GeneralSign {
    /// All of them, in the order of their numbers.
    pub const ALL: [GeneralSign; 13] = [
        GeneralSign::One,
        GeneralSign::Lead,
        GeneralSign::OfLimiter,
        GeneralSign::LimiterOdds,
        GeneralSign::RoundTrips,
        GeneralSign::NoHandshake,
        GeneralSign::OptionsCut,
        GeneralSign::OneWay,
        GeneralSign::FewEpisodes,
        GeneralSign::WaitsUnseen,
        GeneralSign::QueueUnseen,
        GeneralSign::RateUnseen,
        GeneralSign::RejectedLimiter,
    ];
}

/// How many signs every verdict has.
pub const GENERAL: usize = GeneralSign::ALL.len();
/// All signs: those, and one for each cause that is 1 for the main cause.
pub const SIGNS: usize = GENERAL + Cause::ALL.len();

/// What speaks for the main cause of a flow.
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
        GeneralSign::FewEpisodes => noted("few-loss-episodes"),
        GeneralSign::WaitsUnseen => noted("waits-unseen"),
        GeneralSign::QueueUnseen => {
            let known = flow.measures.rtt_ms.min > 0.0;
            f64::from(flow.cause == Cause::Congestion && known && !flow.measures.shows_queue())
        }
        GeneralSign::RateUnseen => f64::from(flow.cause == Cause::Bottleneck && flow.limiter.is_none()),
        GeneralSign::RejectedLimiter => {
            flow.rejected_limiter.map_or(0.0, |l| (log_odds(l.probability) - log_odds(LEAST_ODDS)).max(0.0))
        }
    };
    std::array::from_fn(|i| match i.checked_sub(GENERAL) {
        None => general(GeneralSign::ALL[i]),
        Some(cause) => f64::from(Cause::ALL[cause] == flow.cause),
    })
}

/// No limiter is surer than this.
const SUREST: f64 = 0.99;
/// A limiter that is less probable than this says nothing of the cause.
const LEAST_ODDS: f64 = 0.05;

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

/// The weight, nats, of a cause that too few captures have for a weight to be learned. Packets of its own show each of them (ICMP,
/// sizes, fragments, timers), as they show an outage, which weighs as much.
const SHOWN_BY_PACKETS: f64 = 2.0;

/// What was learned.
static LEARNED: LazyLock<[f64; SIGNS]> = LazyLock::new(|| {
    let general = |sign: GeneralSign| weights::GENERAL.iter().find(|w| w.0 == sign).map_or(0.0, |w| w.1);
    let of = |cause: Cause| match weights::CAUSES.iter().find(|w| w.0 == cause) {
        Some((_, weight)) => *weight,
        None if cause == Cause::Unknown => 0.0,
        None => SHOWN_BY_PACKETS,
    };
    std::array::from_fn(|i| match i.checked_sub(GENERAL) {
        None => general(GeneralSign::ALL[i]),
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

    #[test]
    fn what_the_capture_lacks_makes_a_cause_less_sure() {
        let whole = flow(Cause::RandomLoss, [0.8, 0.1]);
        for note in ["no-handshake", "options-cut", "one-way"] {
            let lacking = FlowDiagnosis { notes: vec![note.into()], ..whole.clone() };
            assert!(confidence(&lacking, &[]) < confidence(&whole, &[]), "{note}");
        }
    }
}
