//! Packets in the order in which they leave a queue.

use super::sort;
use super::virtual_queue::{PackedSeconds, PacketArrival, flows, span};

/// The departure of a packet.
#[derive(Clone, Copy)]
pub(super) struct Departure {
    /// Seconds.
    pub at: f64,
    pub bytes: f64,
    /// Time that the packet waited, seconds, if it is known.
    pub wait: Option<f64>,
    /// The wait was measured for this packet, not for the packet of its flow before it.
    pub own: bool,
}

/// Packets that passed, in the order of their departure. A packet without a sample, such as a retransmission,
/// waits as long as the packet of its flow before it.
pub(super) struct Departures<'a> {
    arrivals: &'a [PacketArrival],
    /// Index of the packet, and its delay, or that of the packet before it in its flow.
    order: Vec<(u32, PackedSeconds)>,
    /// Packets were captured before they waited.
    before: bool,
    /// Delay without waiting, seconds.
    base: f64,
}

impl<'a> Departures<'a> {
    /// Orders the packets whose delay is known, if they were captured `before` they waited; else all packets,
    /// as captured.
    pub fn new(arrivals: &'a [PacketArrival], before: bool, base: f64) -> Departures<'a> {
        let mut last = vec![PackedSeconds::UNKNOWN; flows(arrivals)];
        let passed = (0u32..).zip(arrivals).filter(|(_, a)| !a.lost).map(move |(i, a)| {
            let delay = &mut last[a.flow as usize];
            *delay = a.delay.or(*delay);
            (i, *delay)
        });
        let known = passed.filter(|p| !before || p.1.is_known());
        let at = |p: &(u32, PackedSeconds)| {
            let delay = p.1.get().filter(|_| before);
            arrivals[p.0 as usize].at + delay.map_or(0.0, f64::from)
        };
        Departures { arrivals, order: sort::by_time(known, arrivals.len(), span(arrivals), at), before, base }
    }

    /// Removes the packets whose delay is not known.
    pub fn known(mut self) -> Departures<'a> {
        self.order.retain(|p| p.1.is_known());
        self
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn get(&self, i: usize) -> Departure {
        let (arrival, delay) = self.order[i];
        let a = &self.arrivals[arrival as usize];
        let wait = delay.get().map(|delay| f64::from(delay) - self.base);
        let at = a.at + wait.filter(|_| self.before).unwrap_or(0.0);
        Departure { at, bytes: a.bytes as f64, wait, own: a.delay.is_known() }
    }

    pub fn iter(&self) -> impl Iterator<Item = Departure> {
        (0..self.len()).map(|i| self.get(i))
    }
}
