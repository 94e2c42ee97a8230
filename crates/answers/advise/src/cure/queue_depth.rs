//! The depth of the queue at the slowest link. The bandwidth-delay product keeps the link busy while a window
//! halves (Villamizar and Song 1994), and holds the initial windows of many connections. More only adds
//! delay, less costs goodput.

use super::{Cure, CureOption, Lever, tune};
use crate::{Situation, situation};
use path::QueueConfig;
use path::queue::Fifo;
use result::command::lines;
use result::{Change, ChangeKind, ChangePlace, ChangeUnit, CommandSet, Platform};

pub struct QueueDepth;

/// Factor by which a depth must be wrong to justify a change.
const MIN_FACTOR: f64 = 1.5;

impl Cure for QueueDepth {
    fn name(&self) -> &'static str {
        "queue-depth"
    }
    fn about(&self) -> &'static str {
        "A queue of one bandwidth-delay product, or of all connections' initial windows, at the slowest link: no shallower and no deeper."
    }
    fn applies(&self) -> &'static str {
        "where a FIFO at the slowest link of a direction holds less than two thirds or more than one and a half times of what it should"
    }
    fn hurts(&self) -> &'static str {
        "A shorter queue drops more of each burst; a longer one delays all packets."
    }
    fn lever(&self) -> Lever {
        Lever::Queue
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let corrected = |place| {
            let queue = situation::queue(s.stage(place))?;
            let now = matches!(queue, QueueConfig::Fifo(_)).then(|| situation::depth(&queue))?;
            let packets = s.right_depth(place)?;
            let factor = packets as f64 / now as f64;
            let far = !(1.0 / MIN_FACTOR..=MIN_FACTOR).contains(&factor);
            far.then_some(QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None }))
        };
        tune::queue(self, s, "a FIFO", corrected, |at| {
            let packets = at.queue.limits().packets;
            let own = tune::queue_commands(at, &format!("pfifo limit {packets}"), "Linux 2.6");
            // The port's own queue, without a shaper, as in a provider's router.
            let now = situation::queue(at.stage).map(|q| situation::depth(&q));
            let hold = |n: u64| lines(&format!("interface INTERFACE\n hold-queue {n} out"));
            let needs = "IOS 12.2; a port without its own policy, else queue-limit in its class";
            let undo = hold(now.unwrap_or_default());
            let cisco =
                CommandSet::on(Platform::CiscoIos, at.at, needs, hold(packets), undo).towards(at.towards);
            let bytes = |packets: u64| packets as f64 * 1500.0;
            Change::new(ChangeKind::QueueLength, ChangePlace::Limiter, "")
                .set(now.map(bytes), bytes(packets), ChangeUnit::Bytes)
                .by([own, cisco])
        })
    }
}
