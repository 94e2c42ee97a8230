//! A link with a queue for each flow: all that have something there are served alike (Demers, Keshav, Shenker 1989).
//!
//! A packet with x bytes of its flow before it waits until of each other flow as much has left, or all it has: for the sum of
//! min(q, x) over the flows' queues q, at the link's rate. What comes meanwhile is not counted; where all flows have a queue, it makes up
//! for what has left.

use super::delays::LimiterQueue;

/// What waits of each flow that has something there; the link carries off `rate` bytes a second, the same of each.
pub(super) struct FairQueue {
    rate: f64,
    /// Flow and bytes, in no order. Of thousands of flows few wait at a time.
    queues: Vec<(u16, f64)>,
}

impl FairQueue {
    /// Nothing waits.
    pub fn new(rate: f64) -> FairQueue {
        FairQueue { rate, queues: Vec::new() }
    }
}

impl LimiterQueue for FairQueue {
    fn drain(&mut self, seconds: f64) {
        let mut bytes = self.rate * seconds;
        while bytes > 0.0 && !self.queues.is_empty() {
            let count = self.queues.len() as f64;
            let least = self.queues.iter().map(|q| q.1).fold(f64::INFINITY, f64::min);
            let each = least.min(bytes / count);
            self.queues.iter_mut().for_each(|q| q.1 -= each);
            self.queues.retain(|q| q.1 > 0.0);
            bytes -= each * count;
        }
    }

    fn all(&self) -> f64 {
        self.queues.iter().map(|q| q.1).sum()
    }

    fn before(&self, flow: u16, own: f64) -> f64 {
        let until = own + self.queues.iter().find(|q| q.0 == flow).map_or(0.0, |q| q.1);
        let others = self.queues.iter().filter(|q| q.0 != flow);
        until + others.map(|q| q.1.min(until)).sum::<f64>()
    }

    fn add(&mut self, flow: u16, bytes: f64) {
        match self.queues.iter_mut().find(|q| q.0 == flow) {
            Some(queue) => queue.1 += bytes,
            None => self.queues.push((flow, bytes)),
        }
    }
}
