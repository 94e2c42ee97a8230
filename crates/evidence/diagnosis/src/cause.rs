//! The rules of each cause, one file each: which parts of a round trip it claims, what must hold if it is named, what would help.
//! Names and meanings are in `crates/engine/result/src/cause.rs`, words in the blocks `cause.NAME` of
//! `crates/answers/report/strings.json`.

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

/// What must hold of a flow if a cause is named (checked in `crates/evidence/diagnosis/src/verdict/bounds.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CauseBound {
    /// Nothing.
    Nothing,
    /// About a window was acknowledged in each round trip.
    Window,
    /// It took no more round trips than exponential growth needs.
    Growth,
    /// Packets were lost, while no queue stood.
    LossWithoutQueue,
    /// Packets were lost.
    Loss,
}

/// What decides about a cause.
pub(crate) struct CauseRules {
    /// What must hold if it is named.
    pub bound: CauseBound,
    /// Causes that leave the same marks where a capture shows little, the commonest first.
    pub looks_like: &'static [Cause],
    /// Whether a part of a round trip is the cause's, and how strong that claim is.
    pub claim: fn(RoundPart, &RoundEvidence) -> Option<ClaimOrder>,
    /// What would help the flows that it holds.
    pub remedies: fn(&AffectedFlows) -> Vec<Change>,
}

/// The rules of a cause.
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

/// The cause of a part of a round trip: the first of those that claim it and are not `refuted`, [`Cause::Unknown`] where none
/// does.
pub(crate) fn of_part(part: RoundPart, evidence: &RoundEvidence, refuted: &[Cause]) -> Cause {
    let claims = Cause::ALL.into_iter().filter(|c| !refuted.contains(c));
    let claims = claims.filter_map(|c| Some(((rules(c).claim)(part, evidence)?, c)));
    claims.min_by_key(|(order, _)| *order).map_or(Cause::Unknown, |(_, cause)| cause)
}

#[cfg(test)]
mod tests;
