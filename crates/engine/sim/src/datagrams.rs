//! Datagram flows: their sources, and the statistics of their receivers.

use crate::network::SimNetwork;
use chains::ArrivalMeter;
use result::RealTime;
use std::ops::Range;
use transport::{App, UdpSource};
use units::Time;

pub struct UdpFlow {
    pub source: UdpSource,
    /// Number of the directed flow; answers have the number after it.
    pub number: u32,
    /// Whether the other end returns every datagram.
    pub answered: bool,
    /// Payload that reached the other end, including duplicates, bytes.
    pub received_bytes: u64,
    /// Arrival of the last datagram at the end that measures it; before the first arrival, the time at which
    /// the first is due.
    pub last: Time,
    pub meter: ArrivalMeter,
}

impl UdpFlow {
    /// A flow of an application, with no number assigned yet. Losses among datagrams due in the intervals
    /// `faults` are counted separately.
    pub fn new(app: &App, source: UdpSource, answered: bool, start: Time, faults: &[[Time; 2]]) -> UdpFlow {
        let mut meter = ArrivalMeter::new(app);
        meter.count_separately(chains::due(&source, faults));
        UdpFlow { source, number: 0, answered, received_bytes: 0, last: start, meter }
    }

    /// Numbers of the flow's directed flows.
    pub fn numbers(&self) -> Range<usize> {
        let first = self.number as usize;
        first..first + 1 + self.answered as usize
    }

    /// Delay and loss statistics, and the number of datagrams lost among those due in each fault's interval.
    pub fn summary(&self, network: &SimNetwork) -> (Option<RealTime>, Vec<u64>) {
        let mut meter = self.meter.clone();
        let first = network.datagrams as usize;
        let dropped = &network.dropped[self.numbers().start - first..self.numbers().end - first];
        let lost = |n: &u64| dropped.iter().any(|numbers| numbers.contains(*n));
        (0..self.source.sent).filter(lost).for_each(|n| meter.handle_drop(n));
        (meter.summary(self.source.sent), meter.lost_separately(self.source.sent))
    }
}
