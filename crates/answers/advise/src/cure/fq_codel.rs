//! FQ-CoDel at the slowest link: each flow has its own queue, and none of them builds up.

use super::{Cure, CureOption, Lever, tune, tune::QueuedAt};
use crate::Situation;
use crate::situation::{self, StagePlace};
use path::QueueConfig;
use path::queue::FqCoDel;
use result::Change;
use result::sizes::SHAPED_SHARE;

pub struct FqCoDelQueueing;

impl Cure for FqCoDelQueueing {
    fn name(&self) -> &'static str {
        "fq-codel"
    }
    fn about(&self) -> &'static str {
        "FQ-CoDel in the queue of the slowest link: flows are served in turn, and each flow's queue is kept short."
    }
    fn applies(&self) -> &'static str {
        "where the slowest link of a direction has a queue that is not FQ-CoDel"
    }
    fn hurts(&self) -> &'static str {
        "A single flow on a long path loses a little goodput; in a tunnel all flows look like one."
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
