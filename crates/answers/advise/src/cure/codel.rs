//! CoDel at the slowest link: packets that have waited too long are dropped early, so that no queue builds
//! up.

use super::tune;
use super::{Cure, CureOption, Lever};
use crate::Situation;
use crate::situation::{self, StagePlace};
use path::QueueConfig;
use path::queue::CoDel;

pub struct CoDelQueueing;

impl Cure for CoDelQueueing {
    fn name(&self) -> &'static str {
        "codel"
    }
    fn about(&self) -> &'static str {
        "CoDel in the queue of the slowest link: it drops early, so that no standing queue builds up."
    }
    fn applies(&self) -> &'static str {
        "where the slowest link of a direction has a queue that is neither CoDel nor FQ-CoDel"
    }
    fn hurts(&self) -> &'static str {
        "With a round-trip time above 100 ms it drops before the window is full, unless its interval is raised."
    }
    fn lever(&self) -> Lever {
        Lever::Queue
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let is_other = |p: StagePlace| {
            !matches!(situation::queue(s.stage(p)), Some(QueueConfig::CoDel(_) | QueueConfig::FqCoDel(_)))
        };
        tune::at_depths(s, CoDel::default().packets, |depth| {
            let new = |p| {
                let packets = depth(p).filter(|_| is_other(p))?;
                Some(QueueConfig::CoDel(CoDel { packets, ..CoDel::default() }))
            };
            tune::queue(self, s, "CoDel", new, |at| {
                let leaf = format!("codel limit {}", at.queue.limits().packets);
                let commands = tune::queue_commands(at, &leaf, "Linux 3.5 with sch_codel");
                tune::queue_management("codel").by([commands])
            })
        })
    }
}
