//! FQ-CoDel at the slowest line: each flow has a queue of its own, and none stands.

use super::{Cure, CureOption, Lever, codel, shaper_instead::networkd_rate, tune, tune::QueuedAt};
use crate::command::lines;
use crate::situation::{self, StagePlace};
use crate::{CommandSet, Platform, Situation};
use path::QueueConfig;
use path::queue::FqCoDel;

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
        let commands = |at: &QueuedAt<'_>| {
            let leaf = format!("fq_codel limit {}", at.queue.limits().packets);
            let mut all = codel::commands(at, &leaf, "Linux 3.5 with sch_fq_codel");
            if let Some(rate) = at.rate() {
                let rate = networkd_rate(tune::share(rate, 0.98));
                all.push(
                    CommandSet::on(
                        Platform::Networkd,
                        at.at,
                        "systemd 246; Linux 4.19 with sch_cake",
                        lines(&format!(
                            "# the .network file of the interface\n[CAKE]\nParent=root\nBandwidth={rate}"
                        )),
                        lines("remove the section\nnetworkctl reload"),
                    )
                    .towards(at.towards),
                );
            }
            all
        };
        tune::at_depths(s, FqCoDel::default().packets, |depth| {
            let new = |p| {
                let packets = depth(p).filter(|_| is_other(p))?;
                Some(QueueConfig::FqCoDel(FqCoDel { packets, ..FqCoDel::default() }))
            };
            tune::queue(self, s, "FQ-CoDel", new, commands)
        })
    }
}
