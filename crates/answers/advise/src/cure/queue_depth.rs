//! The depth of the queue at the slowest line: the bandwidth-delay product keeps the line busy while a window halves
//! (Villamizar and Song 1994); more only adds delay, less costs rate.

use super::{Cure, CureOption, Lever, codel, tune};
use crate::Situation;
use path::QueueConfig;
use path::queue::Fifo;

/// A queue of one bandwidth-delay product.
pub struct QueueDepth;

/// Packets that a queue holds at least: two initial windows.
const LEAST: u64 = 20;
/// Not worth a change: within this factor of what is right.
const FACTOR: f64 = 1.5;

impl Cure for QueueDepth {
    fn name(&self) -> &'static str {
        "queue-depth"
    }
    fn about(&self) -> &'static str {
        "A queue of one bandwidth-delay product at the slowest line: deep enough to keep it busy, and no deeper."
    }
    fn applies(&self) -> &'static str {
        "where the queue of the slowest line is not about the bandwidth-delay product"
    }
    fn hurts(&self) -> &'static str {
        "A shorter queue drops more of what comes in bursts; a longer one makes everybody wait."
    }
    fn lever(&self) -> Lever {
        Lever::Queue
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let right = |place| {
            let now = match crate::situation::queue(s.stage(place))? {
                QueueConfig::Fifo(Fifo { packets: Some(now), bytes: None }) => now,
                QueueConfig::Fifo(Fifo { packets: None, bytes }) => bytes.map_or(1000, |b| b.get() / 1500),
                _ => return None,
            };
            let rate = s.through(place).filter_map(|w| w.rate).min()?;
            let packets = tune::packets_for(rate, s.longest_rtt(place)).max(LEAST);
            let factor = packets as f64 / now.max(1) as f64;
            let far = !(1.0 / FACTOR..=FACTOR).contains(&factor);
            far.then_some(QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None }))
        };
        tune::queue(self, s, "queue of one bandwidth-delay product", right, |at| {
            codel::commands(at, &format!("pfifo limit {}", at.queue.limits().packets), "Linux 2.6")
        })
    }
}
