//! Queues that drop, because they are full or early: as deep a queue as it needs instead.

use super::{Removal, Suspect};
use crate::holders::case::{Case, SeenStage};
use crate::holders::change::{deep, queues};
use path::Stage;
use result::HolderKind;

pub(super) struct QueueLimit;

impl Suspect for QueueLimit {
    fn kind(&self) -> HolderKind {
        HolderKind::QueueLimit
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let deepen = |stage: &mut Stage| queues(stage).into_iter().for_each(|q| *q = deep(q));
        let drops = |s: &SeenStage<'_>| s.element.dropped_packets + s.element.marked_packets > 0;
        // Of outages their own suspect says what they cost.
        let queued = |s: &SeenStage<'_>| {
            !matches!(s.stage, Stage::Outage(_)) && !queues(&mut s.stage.clone()).is_empty()
        };
        let stages = case.stages().into_iter().filter(|s| drops(s) && queued(s));
        stages.map(|s| Removal::of_stage(self.kind(), &s, deepen)).collect()
    }
}
