//! Weighted fair queueing at the slowest link: flows share the rate equally, and a flow that sends little
//! never waits long.

use super::{Cure, CureOption, Lever, tune, tune::QueuedAt};
use crate::Situation;
use crate::situation::{self, StagePlace};
use path::QueueConfig;
use path::queue::Wfq;
use result::Change;
use result::sizes::SHAPED_SHARE;

pub struct WfqQueueing;

impl Cure for WfqQueueing {
    fn name(&self) -> &'static str {
        "wfq"
    }
    fn about(&self) -> &'static str {
        "Weighted fair queueing in the queue of the slowest link: each flow gets the same share."
    }
    fn applies(&self) -> &'static str {
        "where the slowest link of a direction has a queue that is not WFQ"
    }
    fn hurts(&self) -> &'static str {
        "A flow that fills its own queue waits as long as before; a user with many connections gets many shares."
    }
    fn lever(&self) -> Lever {
        Lever::Queue
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let is_other = |p: StagePlace| !matches!(situation::queue(s.stage(p)), Some(QueueConfig::Wfq(_)));
        let remedy = |at: &QueuedAt<'_>| -> Change {
            let packets = at.queue.limits().packets;
            let leaf = format!("sfq limit {} perturb 10", packets.min(127 * 128));
            let needs = "Linux 2.6.39 with sch_sfq, which serves flows in turn";
            let own = tune::queue_commands(at, &leaf, needs);
            let average = at.rate().map(|r| tune::share(r, SHAPED_SHARE).as_bps().to_string());
            let cisco = average
                .map(|a| tune::cisco_shapers(at.at, &a, true, packets, "").map(|c| c.towards(at.towards)));
            tune::queue_management("wfq").by(std::iter::once(own).chain(cisco.into_iter().flatten()))
        };
        tune::at_depths(s, Wfq::default().packets, |depth| {
            let new = |p| {
                let packets = depth(p).filter(|_| is_other(p))?;
                Some(QueueConfig::Wfq(Wfq { packets, ..Wfq::default() }))
            };
            tune::queue(self, s, "WFQ", new, remedy)
        })
    }
}
