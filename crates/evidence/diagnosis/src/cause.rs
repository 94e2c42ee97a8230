//! The rules of each cause, one file each: the parts of a round trip that it claims, the bound that it must
//! meet, and its remedies. Names and meanings are in `crates/engine/result/src/cause.rs`, words in the blocks
//! `cause.NAME` of `crates/answers/report/strings.json`.

mod ack_path;
mod affected;
mod application;
mod black_hole;
mod bottleneck;
mod congestion;
mod evidence;
mod fragmented;
mod nagle;
mod outage;
mod packet_too_big;
mod policed;
mod random_loss;
mod receive_window;
mod receiver_stalled;
mod remedies;
mod send_buffer;
mod setup_failed;
mod shaped;
mod slow_start;
mod unknown;

pub use affected::{AffectedFlows, remedies, remedies_of};
pub use evidence::ClaimOrder;
pub(crate) use evidence::{RoundEvidence, RoundPart};

use result::{Cause, Change};

/// A condition that a flow must meet for a cause to be named (checked in
/// `crates/evidence/diagnosis/src/verdict/bounds.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CauseBound {
    /// No condition.
    Nothing,
    /// About one window of data was acknowledged in each round trip.
    Window,
    /// The cause took no more round trips than exponential growth needs.
    Growth,
    /// Packets were lost, while no queue stood.
    LossWithoutQueue,
    /// Packets were lost.
    Loss,
}

/// The rules of a cause.
pub(crate) struct CauseRules {
    /// The condition for naming it.
    pub bound: CauseBound,
    /// Causes that look the same where a capture shows little, the commonest first.
    pub looks_like: &'static [Cause],
    /// Returns the strength of the cause's claim on a part of a round trip; `None` for no claim.
    pub claim: fn(RoundPart, &RoundEvidence) -> Option<ClaimOrder>,
    /// Returns the remedies for flows with this cause.
    pub remedies: fn(&AffectedFlows) -> Vec<Change>,
}

/// Returns the rules of a cause.
pub(crate) const fn rules(cause: Cause) -> &'static CauseRules {
    match cause {
        Cause::Application => &application::RULES,
        Cause::ReceiveWindow => &receive_window::RULES,
        Cause::ReceiverStalled => &receiver_stalled::RULES,
        Cause::SendBuffer => &send_buffer::RULES,
        Cause::SlowStart => &slow_start::RULES,
        Cause::RandomLoss => &random_loss::RULES,
        Cause::Congestion => &congestion::RULES,
        Cause::Bottleneck => &bottleneck::RULES,
        Cause::Policed => &policed::RULES,
        Cause::Shaped => &shaped::RULES,
        Cause::Outage => &outage::RULES,
        Cause::PacketTooBig => &packet_too_big::RULES,
        Cause::BlackHole => &black_hole::RULES,
        Cause::Fragmented => &fragmented::RULES,
        Cause::SetupFailed => &setup_failed::RULES,
        Cause::Nagle => &nagle::RULES,
        Cause::AckPath => &ack_path::RULES,
        Cause::Unknown => &unknown::RULES,
    }
}

/// Returns the cause of a part of a round trip: the one with the strongest claim that is not `refuted`, or
/// [`Cause::Unknown`].
pub(crate) fn of_part(part: RoundPart, evidence: &RoundEvidence, refuted: &[Cause]) -> Cause {
    let claims = Cause::ALL.into_iter().filter(|c| !refuted.contains(c));
    let claims = claims.filter_map(|c| Some(((rules(c).claim)(part, evidence)?, c)));
    claims.min_by_key(|(order, _)| *order).map_or(Cause::Unknown, |(_, cause)| cause)
}

#[cfg(test)]
mod tests;
