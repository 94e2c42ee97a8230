//! The largest burst that a stage accepts without a drop.

use crate::{QueueConfig, Stage};
use units::{Rate, Span};

impl QueueConfig {
    /// Capacity in bytes for packets of `size` bytes; `None` if the queue drops or marks before it is full.
    pub fn holds(&self, size: u64) -> Option<u64> {
        let limits = self.limits();
        (!self.drops_early()).then(|| limits.bytes.min(limits.packets.saturating_mul(size)))
    }
}

impl Stage {
    /// The stage's queue and the rate at which it is emptied.
    pub fn queue(&self) -> Option<(Rate, QueueConfig)> {
        match self {
            Stage::Link(link) => Some((link.rate?, link.queue.clone())),
            Stage::Shaper(shaper) => Some((shaper.rate, shaper.queue())),
            Stage::Handover(radio) => Some((radio.rate?, radio.queue.clone())),
            Stage::Train(radio) => Some((radio.rate, radio.queue.clone())),
            _ => None,
        }
    }

    /// The longest burst that the stage accepts. Packets of `size` bytes that arrive on average at the
    /// stage's rate may be held back this long and then arrive at once. After a longer delay the bucket, or
    /// the empty queue, is too small.
    pub fn depth(&self, size: u64) -> Option<Span> {
        if let Stage::Policer(policer) = self {
            return Some(policer.rate.time_for(policer.largest()?.get()));
        }
        let (rate, queue) = self.queue()?;
        Some(rate.time_for(queue.holds(size)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn depth(stage: serde_json::Value) -> Option<Span> {
        serde_json::from_value::<Stage>(stage).unwrap().depth(1500)
    }

    #[test]
    fn depth_is_the_bucket_or_queue_divided_by_the_rate() {
        assert_eq!(
            depth(json!({"kind": "policer", "rate": "8Mbit/s", "burst": "30kB"})),
            Some(Span::from_millis(30))
        );
        let fifo = json!({"kind": "fifo", "packets": 10});
        assert_eq!(
            depth(json!({"kind": "link", "rate": "12Mbit/s", "queue": fifo})),
            Some(Span::from_millis(10))
        );
        assert_eq!(
            depth(json!({"kind": "shaper", "rate": "12Mbit/s", "queue": fifo})),
            Some(Span::from_millis(10))
        );
        let codel = json!({"kind": "codel"});
        assert_eq!(depth(json!({"kind": "link", "rate": "12Mbit/s", "queue": codel})), None);
        assert_eq!(depth(json!({"kind": "delay", "delay": "10ms"})), None);
    }
}
