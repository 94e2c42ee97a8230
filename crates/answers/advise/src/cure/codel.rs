//! CoDel at the slowest line: packets that have waited too long are dropped early, so that no queue stands.

use super::tune;
use super::{Cure, CureOption, Lever};
use crate::Situation;
use crate::situation::{self, StagePlace};
use path::QueueConfig;
use path::queue::CoDel;

/// CoDel.
pub struct CoDelQueueing;

impl Cure for CoDelQueueing {
    fn name(&self) -> &'static str {
        "codel"
    }
    fn about(&self) -> &'static str {
        "CoDel where packets wait for the slowest line: it drops early so that no queue stands for long."
    }
    fn applies(&self) -> &'static str {
        "where packets wait for the slowest line of a direction in a queue that is neither CoDel nor FQ-CoDel already"
    }
    fn hurts(&self) -> &'static str {
        "Beyond 100 ms of round trip it drops before a window is full, unless its interval is raised."
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
