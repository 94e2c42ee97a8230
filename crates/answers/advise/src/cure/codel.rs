//! CoDel at the slowest line: packets that have waited too long are dropped early, so that no queue stands.

use super::tune::{self, QueuedAt};
use super::{Cure, CureOption, Lever};
use crate::situation::{self, StagePlace};
use crate::{CommandSet, Situation};
use path::QueueConfig;
use path::queue::CoDel;
use units::Bytes;

/// CoDel.
pub struct CoDelQueueing;

/// A bucket of HTB below which Linux's timers no longer keep the rate.
pub const HTB_BURST: Bytes = Bytes::new(15_000);

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
                commands(at, &leaf, "Linux 3.5 with sch_codel")
            })
        })
    }
}

/// HTB at the line's rate with this queue discipline below it.
pub fn commands(at: &QueuedAt<'_>, leaf: &str, needs: &str) -> Vec<CommandSet> {
    let Some(rate) = at.rate() else { return vec![tune::root_commands(at, leaf, needs)] };
    // A little below the line's own rate: else packets wait in its queue and not in this one.
    let rate = tune::share(rate, if matches!(at.stage, path::Stage::Link(_)) { 0.98 } else { 1.0 });
    let [apply, undo] = tune::htb_over(rate, HTB_BURST, leaf);
    vec![CommandSet::linux(at.at, &format!("{needs} and sch_htb"), apply, undo).towards(at.towards)]
}
