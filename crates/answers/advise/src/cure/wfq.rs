//! Weighted fair queueing at the slowest line: flows share the rate alike, and one that sends little never waits long.

use super::{Cure, CureOption, Lever, codel, tune, tune::QueuedAt};
use crate::command::lines;
use crate::situation::{self, StagePlace};
use crate::{CommandSet, Platform, Situation};
use path::QueueConfig;
use path::queue::Wfq;

/// WFQ.
pub struct WfqQueueing;

impl Cure for WfqQueueing {
    fn name(&self) -> &'static str {
        "wfq"
    }
    fn about(&self) -> &'static str {
        "Weighted fair queueing where packets wait for the slowest line: each flow gets the same share."
    }
    fn applies(&self) -> &'static str {
        "where packets wait for the slowest line of a direction in a queue that is not WFQ already"
    }
    fn hurts(&self) -> &'static str {
        "A flow that fills its own queue waits as long as before; a user with many connections gets many shares."
    }
    fn lever(&self) -> Lever {
        Lever::Queue
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let is_other = |p: StagePlace| !matches!(situation::queue(s.stage(p)), Some(QueueConfig::Wfq(_)));
        let commands = |at: &QueuedAt<'_>| {
            let packets = at.queue.limits().packets;
            let leaf = format!("sfq limit {} perturb 10", packets.min(127 * 128));
            let mut all = codel::commands(at, &leaf, "Linux 2.6.39 with sch_sfq, which serves flows in turn");
            let Some(rate) = at.rate().map(|r| tune::share(r, 0.98).as_bps()) else { return all };
            for (platform, needs) in
                [(Platform::CiscoIos, "IOS 12.4(20)T"), (Platform::CiscoIosXe, "IOS-XE 2.1")]
            {
                let apply = format!(
                    "policy-map LONGFAT\n class class-default\n  shape average {rate}\n  fair-queue\n  \
                     queue-limit {packets} packets\ninterface INTERFACE\n service-policy output LONGFAT"
                );
                let undo = "interface INTERFACE\n no service-policy output LONGFAT\nno policy-map LONGFAT";
                let set = CommandSet::on(platform, at.at, needs, lines(&apply), lines(undo));
                all.push(set.towards(at.towards));
            }
            all
        };
        tune::at_depths(s, Wfq::default().packets, |depth| {
            let new = |p| {
                let packets = depth(p).filter(|_| is_other(p))?;
                Some(QueueConfig::Wfq(Wfq { packets, ..Wfq::default() }))
            };
            tune::queue(self, s, "WFQ", new, commands)
        })
    }
}
