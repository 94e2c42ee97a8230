//! Queues that stay long: the same rate with CoDel instead.

use super::{Removal, Suspect};
use crate::holders::case::{Case, SeenStage};
use crate::holders::change::{queues, short};
use path::Stage;
use result::HolderKind;

/// What waits less is no standing queue: CoDel's target (RFC 8289 section 4.2), ms.
const NOTICED_MS: f64 = 5.0;

pub(super) struct StandingQueue;

/// The part of the time inside a stage that is no waiting, ms.
fn travel_ms(stage: &Stage) -> f64 {
    let delay = match stage {
        Stage::Link(s) => s.delay,
        Stage::RateTrace(s) => s.delay,
        Stage::Handover(s) => s.delay,
        Stage::Train(s) => s.delay,
        _ => return 0.0,
    };
    delay.as_millis_f64()
}

impl Suspect for StandingQueue {
    fn kind(&self) -> HolderKind {
        HolderKind::StandingQueue
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let stands = |s: &SeenStage<'_>| {
            !matches!(s.stage, Stage::Outage(_))
                && s.element.max_queue_packets > 1
                && s.element.delay_ms.max - travel_ms(s.stage) >= NOTICED_MS
                && !queues(&mut s.stage.clone()).is_empty()
        };
        let rtt = case.rtt;
        let shorten = move |stage: &mut Stage| queues(stage).into_iter().for_each(|q| *q = short(q, rtt));
        let stages = case.stages().into_iter().filter(stands);
        stages.map(|s| Removal::of_stage(self.kind(), &s, shorten)).collect()
    }
}
