//! A link with a queue for each flow, which serves all backlogged flows equally (Demers, Keshav, Shenker
//! 1989).
//!
//! A packet that is preceded by x bytes of its own flow waits for the sum of min(q, x) over the queues q of
//! all flows, at the link's rate. Packets that arrive while it waits are not counted: where every flow is
//! backlogged, they replace what has left.

use super::delays::LimiterQueue;

/// The queues of backlogged flows. They drain at `rate` bytes a second in all, at an equal rate each.
pub(super) struct FairQueue {
    rate: f64,
    /// Flow and its backlog in bytes, unordered: few of thousands of flows are backlogged at a time.
    queues: Vec<(u16, f64)>,
}

impl FairQueue {
    /// Creates a link without backlog.
    pub fn new(rate: f64) -> FairQueue {
        FairQueue { rate, queues: Vec::new() }
    }
}

impl LimiterQueue for FairQueue {
    fn drain(&mut self, seconds: f64) {
        let mut bytes = self.rate * seconds;
        // Each pass empties a queue or is the last.
        while !self.queues.is_empty() {
            let count = self.queues.len() as f64;
            let shortest = self.queues.iter().map(|q| q.1).fold(f64::INFINITY, f64::min);
            let each = shortest.min(bytes / count).max(0.0);
            self.queues.iter_mut().for_each(|q| q.1 -= each);
            if each < shortest {
                break;
            }
            self.queues.retain(|q| q.1 > 0.0);
            bytes -= each * count;
        }
    }

    fn backlog(&self) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_drain_equally_and_the_smallest_time_ends() {
        let mut queue = FairQueue::new(1000.0);
        for (flow, bytes) in [(1, 100.0), (2, 300.0), (3, 1000.0)] {
            queue.add(flow, bytes);
        }
        queue.drain(0.45);
        // The first is empty after 0.3 s; the other two share what is left.
        assert_eq!(queue.queues, [(2, 125.0), (3, 825.0)]);
        // A third of the smallest number is zero.
        let mut queue = FairQueue::new(1.0);
        (0..3).for_each(|flow| queue.add(flow, 1.0));
        queue.drain(5e-324);
        assert_eq!(queue.backlog(), 3.0);
        queue.drain(3.0);
        assert_eq!(queue.backlog(), 0.0);
    }
}
