//! FQ-CoDel at the slowest line: each flow has a queue of its own, and none stands.

use super::{Cure, CureOption, Lever, tune, tune::QueuedAt};
use crate::Situation;
use crate::situation::{self, StagePlace};
use path::QueueConfig;
use path::queue::FqCoDel;
use result::Change;
use result::sizes::SHAPED_SHARE;

/// FQ-CoDel.
pub struct FqCoDelQueueing;

impl Cure for FqCoDelQueueing {
    fn name(&self) -> &'static str {
        "fq-codel"
    }
    fn about(&self) -> &'static str {
        "FQ-CoDel where packets wait for the slowest line: flows take turns, and each flow's queue is kept short."
    }
    fn applies(&self) -> &'static str {
        "where packets wait for the slowest line of a direction in a queue that is not FQ-CoDel already"
    }
    fn hurts(&self) -> &'static str {
        "A single flow on a long path loses a little rate; inside a tunnel all flows look like one."
    }
    fn lever(&self) -> Lever {
        Lever::Queue
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let is_other = |p: StagePlace| !matches!(situation::queue(s.stage(p)), Some(QueueConfig::FqCoDel(_)));
        let remedy = |at: &QueuedAt<'_>| -> Change {
            let leaf = format!("fq_codel limit {}", at.queue.limits().packets);
            let commands = tune::queue_commands(at, &leaf, "Linux 3.5 with sch_fq_codel");
            let cake =
                at.rate().map(|rate| tune::cake(at.at, tune::share(rate, SHAPED_SHARE)).towards(at.towards));
            tune::queue_management("fq_codel").by(std::iter::once(commands).chain(cake))
        };
        tune::at_depths(s, FqCoDel::default().packets, |depth| {
            let new = |p| {
                let packets = depth(p).filter(|_| is_other(p))?;
                Some(QueueConfig::FqCoDel(FqCoDel { packets, ..FqCoDel::default() }))
            };
            tune::queue(self, s, "FQ-CoDel", new, remedy)
        })
    }
}
