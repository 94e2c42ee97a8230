//! Queues that stay long. CoDel replaces them at the same rate.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use crate::limitations::change::{managed_queue, queues};
use path::Stage;
use result::LimitationKind;

/// A shorter wait is not a standing queue: CoDel's target (RFC 8289 section 4.2), ms.
const MIN_WAIT_MS: f64 = 5.0;

pub(super) struct StandingQueue;

/// The part of the time in a stage that is not spent waiting, ms.
fn fixed_delay_ms(stage: &Stage) -> f64 {
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
    fn kind(&self) -> LimitationKind {
        LimitationKind::StandingQueue
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let stands = |s: &SeenStage<'_>| {
            !matches!(s.stage, Stage::Outage(_))
                && s.element.max_queue_packets > 1
                && s.element.delay_ms.max - fixed_delay_ms(s.stage) >= MIN_WAIT_MS
                && !queues(&mut s.stage.clone()).is_empty()
        };
        let rtt = case.rtt;
        let shorten =
            move |stage: &mut Stage| queues(stage).into_iter().for_each(|q| *q = managed_queue(q, rtt));
        let stages = case.stages().into_iter().filter(stands);
        stages.map(|s| Removal::of_stage(self.kind(), &s, shorten)).collect()
    }
}
