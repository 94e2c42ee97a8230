//! The claims on each round trip of a flow, as its probabilities are made of ([`crate::claims`]).

use super::evidence::{MeasuredRound, RoundSplit};
use super::round_trips::RoundTripSpan;
use super::timeline::greatest;
use crate::claims::{CAUSES, ClaimedRound, OfCauses, RoundSigns};
use result::cause::RoundPart;
use result::diagnosis::{Cause, CauseShare};

/// Of every round: its `splits`, the causes that are `refuted` and claim nothing, and what the flow's time is shared into. `first` is
/// when the connection began, seconds since 1970.
pub(super) fn rounds(
    first: f64,
    rounds: &[RoundTripSpan],
    measured: &[MeasuredRound],
    (splits, refuted): (&[RoundSplit], &[Cause]),
    shares: &[CauseShare],
) -> Vec<ClaimedRound> {
    let mut of_flow = [0.0; CAUSES];
    shares.iter().for_each(|s| of_flow[s.cause as usize] = s.share);
    let of = |((r, m), split): ((&RoundTripSpan, &MeasuredRound), &RoundSplit)| {
        let mut signs = RoundSigns::default();
        let mut given: OfCauses = [0.0; CAUSES];
        for (part, (cause, seconds)) in RoundPart::ALL.into_iter().zip(split) {
            if *seconds <= 0.0 {
                continue;
            }
            let share = seconds / r.width;
            given[*cause as usize] += share;
            let claims = Cause::claims(part, &m.evidence).filter(|(_, c)| !refuted.contains(c));
            claims.for_each(|(order, cause)| signs.claim(cause, order, share));
        }
        signs.end(&m.evidence, &given, &of_flow);
        ClaimedRound { from_s: first + r.from, width_s: r.width, said: greatest(split), signs }
    };
    rounds.iter().zip(measured).zip(splits).map(of).collect()
}
