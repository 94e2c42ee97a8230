//! The rate of a limiter that flows use almost fully, or that ACKs wait for.

use super::{Removal, Suspect};
use crate::limitations::HELD_SHARE;
use crate::limitations::case::{Case, SeenStage};
use crate::limitations::change::double_rate;
use result::{Carried, LimitationKind};
use units::Rate;

pub(super) struct RateSuspect;

impl Suspect for RateSuspect {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Rate
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let full = |s: &SeenStage<'_>| match s.carries {
            Carried::Acks => s.element.max_queue_packets > 1 || s.element.dropped_packets > 0,
            Carried::Data | Carried::Both => case.reached(s).is_some_and(|share| share >= HELD_SHARE),
        };
        let faster = |s: SeenStage<'_>| {
            let rate_mbps = Some(case.rate(s.stage).map(Rate::as_mbps)?);
            Some(Removal { rate_mbps, ..Removal::of_stage(self.kind(), &s, double_rate) })
        };
        case.stages().into_iter().filter(full).filter_map(faster).collect()
    }
}
