//! A link with a queue for each flow: all that have something there are served alike (Demers, Keshav, Shenker 1989).
//!
//! A packet with x bytes of its flow before it waits until of each other flow as much has left, or all it has: for the sum of
//! min(q, x) over the flows' queues q, at the link's rate. What comes meanwhile is not counted; where all flows have a queue, it makes up
//! for what has left.

use super::super::virtual_queue::PacketArrival;
use super::delays::LimiterQueue;

/// Bytes of each flow's queue; the link carries off `rate` bytes a second, the same of each flow that has some.
pub(super) struct FairQueue {
    rate: f64,
    queues: Vec<f64>,
}

impl FairQueue {
    /// Of as many flows as `arrivals` have.
    pub fn new(arrivals: &[PacketArrival], rate: f64) -> FairQueue {
        FairQueue { rate, queues: vec![0.0; flows(arrivals)] }
    }
}

/// How many flows there are.
pub(super) fn flows(arrivals: &[PacketArrival]) -> usize {
    arrivals.iter().map(|a| a.flow).max().map_or(0, |f| f as usize + 1)
}

impl LimiterQueue for FairQueue {
    fn drain(&mut self, seconds: f64) {
        let mut bytes = self.rate * seconds;
        loop {
            let waiting = self.queues.iter().copied().filter(|q| *q > 0.0);
            let (least, count) = waiting.fold((f64::INFINITY, 0.0), |s, q| (q.min(s.0), s.1 + 1.0));
            if count == 0.0 || bytes <= 0.0 {
                return;
            }
            let each = least.min(bytes / count);
            self.queues.iter_mut().for_each(|q| *q = (*q - each).max(0.0));
            bytes -= each * count;
        }
    }

    fn all(&self) -> f64 {
        self.queues.iter().sum()
    }

    fn before(&self, flow: u16, own: f64) -> f64 {
        let until = self.queues[flow as usize] + own;
        let others = self.queues.iter().enumerate().filter(|(f, _)| *f != flow as usize);
        until + others.map(|(_, q)| q.min(until)).sum::<f64>()
    }

    fn add(&mut self, flow: u16, bytes: f64) {
        self.queues[flow as usize] += bytes;
    }
}
