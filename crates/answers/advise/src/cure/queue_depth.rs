//! The depth of the queue at the slowest line: the bandwidth-delay product keeps the line busy while a window halves
//! (Villamizar and Song 1994), and the initial windows of many connections fit; more only adds delay, less costs rate.

use super::{Cure, CureOption, Lever, codel, tune};
use crate::command::lines;
use crate::{CommandSet, Platform, Situation, situation};
use path::QueueConfig;
use path::queue::Fifo;

/// A queue of one bandwidth-delay product, or of all initial windows.
pub struct QueueDepth;

/// Not worth a change: within this factor of what is right.
const FACTOR: f64 = 1.5;

impl Cure for QueueDepth {
    fn name(&self) -> &'static str {
        "queue-depth"
    }
    fn about(&self) -> &'static str {
        "A queue of one bandwidth-delay product, or of all connections' initial windows, at the slowest line: no shallower and no deeper."
    }
    fn applies(&self) -> &'static str {
        "where a FIFO at the slowest line of a direction holds less than two thirds or more than one and a half of what it should"
    }
    fn hurts(&self) -> &'static str {
        "A shorter queue drops more of what comes in bursts; a longer one makes everybody wait."
    }
    fn lever(&self) -> Lever {
        Lever::Queue
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let right = |place| {
            let queue = situation::queue(s.stage(place))?;
            let now = matches!(queue, QueueConfig::Fifo(_)).then(|| situation::depth(&queue))?;
            let packets = s.right_depth(place)?;
            let factor = packets as f64 / now as f64;
            let far = !(1.0 / FACTOR..=FACTOR).contains(&factor);
            far.then_some(QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None }))
        };
        tune::queue(self, s, "FIFO as deep as the path needs", right, |at| {
            let packets = at.queue.limits().packets;
            let mut all = codel::commands(at, &format!("pfifo limit {packets}"), "Linux 2.6");
            // The port's own queue, without a shaper: what a provider's router has.
            let apply = format!("interface INTERFACE\n hold-queue {packets} out");
            let now = situation::queue(at.stage).map_or(0, |q| situation::depth(&q));
            let undo = format!("interface INTERFACE\n hold-queue {now} out");
            let needs = "IOS 12.2; a port without a policy of its own, else queue-limit in its class";
            all.push(
                CommandSet::on(Platform::CiscoIos, at.at, needs, lines(&apply), lines(&undo))
                    .towards(at.towards),
            );
            all
        })
    }
}
