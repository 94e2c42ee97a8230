//! Flows of datagrams: who sends, and what the receiver notes.

use crate::network::SimNetwork;
use chains::ArrivalMeter;
use result::RealTime;
use std::ops::Range;
use transport::{App, UdpSource};
use units::Time;

/// A datagram flow.
pub struct UdpFlow {
    pub source: UdpSource,
    /// Its directed flow number; the next is that of answers.
    pub number: u32,
    /// The other end sends every datagram back.
    pub answered: bool,
    /// Payload that reached the other end, copies included.
    pub received_bytes: u64,
    /// When the last datagram reached the end that notes it; before that when the first is due.
    pub last: Time,
    pub meter: ArrivalMeter,
}

impl UdpFlow {
    /// Of an application, without a number yet.
    /// Losses of what is due in `faults` are counted apart.
    pub fn new(app: &App, source: UdpSource, answered: bool, start: Time, faults: &[[Time; 2]]) -> UdpFlow {
        let mut meter = ArrivalMeter::new(app);
        meter.count_apart(chains::due(&source, faults));
        UdpFlow { source, number: 0, answered, received_bytes: 0, last: start, meter }
    }

    /// Its directed flow numbers.
    pub fn numbers(&self) -> Range<usize> {
        let first = self.number as usize;
        first..first + 1 + self.answered as usize
    }

    /// What its datagrams met, and how many of those due in each fault's time did not arrive.
    pub fn heard(&self, network: &SimNetwork) -> (Option<RealTime>, Vec<u64>) {
        let mut meter = self.meter.clone();
        let first = network.datagrams as usize;
        let dropped = &network.dropped[self.numbers().start - first..self.numbers().end - first];
        let lost = |n: &u64| dropped.iter().any(|numbers| numbers.contains(*n));
        (0..self.source.sent).filter(lost).for_each(|n| meter.handle_drop(n));
        (meter.summary(self.source.sent), meter.lost_apart(self.source.sent))
    }
}
