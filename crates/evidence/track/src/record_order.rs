//! Restores the order of a capture's records in time.
//!
//! Several queues of a network card, or several merged interfaces, write records slightly out of order, each
//! with its correct time. A clock that is set back looks the same at first: a record is earlier than the one
//! before. The following records distinguish the two cases. After reordered records, time continues from
//! where it was; after a clock that was set back, record after record is early. So an early record and those
//! that follow it are held back until the case is clear. Reordered records are sorted into place, as far as a
//! few held records reach.

use crate::silence::HeldPacket;
use std::collections::VecDeque;
use units::{Span, Time};

/// How many records a reordered one may be late: the Linux kernel takes at most this many packets from one
/// queue of a network card before it polls the next (`NAPI_POLL_WEIGHT`).
const MAX_LATE_RECORDS: usize = 64;
/// This many early records in a row prove that the clock was set back: a queue that is polled late holds
/// fewer.
const SET_BACK: usize = 2 * MAX_LATE_RECORDS;
/// This many records in order prove that there is only one queue: first at the beginning, second after
/// reordering was seen.
const RECORDS_IN_ORDER: [usize; 2] = [MAX_LATE_RECORDS, 64 * MAX_LATE_RECORDS];
/// No network card delays a record for longer. Two records in a row that are earlier by more than this prove
/// that the clock was set back.
const MAX_REORDERING: Span = Span::from_secs(1);

/// How a record's time compares with the latest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordTime {
    /// The record is the latest.
    Latest,
    /// The record is earlier than the latest one by this much.
    Early(Span),
    /// The clock was set back before the records that [`RecordOrder::take_run`] returns.
    SetBack,
}

/// Records held back until their order is known.
#[derive(Debug)]
pub struct RecordOrder {
    /// In order of time.
    held: VecDeque<(Time, HeldPacket)>,
    /// Records that are all earlier than the latest one, in the capture's order.
    run: Vec<(Time, HeldPacket)>,
    latest: Time,
    /// How many records are held back at least.
    depth: usize,
    /// Number of records in a row that were in order of time.
    in_order: usize,
    /// Once `in_order` exceeds this, none is held back.
    quiet: usize,
}

impl RecordOrder {
    /// The first records are held back, because any of them may be out of order.
    pub fn new() -> RecordOrder {
        RecordOrder {
            held: VecDeque::new(),
            run: Vec::new(),
            latest: Time::ZERO,
            depth: MAX_LATE_RECORDS,
            in_order: 0,
            quiet: RECORDS_IN_ORDER[0],
        }
    }

    /// Returns whether a record of this time can be processed at once: none is held back, and it is not
    /// early.
    #[inline]
    pub fn passes(&mut self, time: Time) -> bool {
        if self.depth > 0 || time < self.latest {
            return false;
        }
        self.latest = time;
        true
    }

    /// Adds a record that [`RecordOrder::passes`] did not accept.
    #[cold]
    pub fn push(&mut self, time: Time, packet: HeldPacket) -> RecordTime {
        self.in_order += 1;
        if time < self.latest {
            let early = self.latest.since(time);
            (self.depth, self.in_order, self.quiet) = (MAX_LATE_RECORDS, 0, RECORDS_IN_ORDER[1]);
            self.run.push((time, packet));
            let first = self.run.first().map_or(time, |r| r.0);
            let most = if self.latest.since(first) > MAX_REORDERING { 2 } else { SET_BACK };
            return if self.run.len() >= most { RecordTime::SetBack } else { RecordTime::Early(early) };
        }
        self.latest = time;
        self.sort_run();
        self.held.push_back((time, packet));
        RecordTime::Latest
    }

    /// Returns the next record in order of time, once none can come before it.
    pub fn pop(&mut self) -> Option<HeldPacket> {
        if self.in_order > self.quiet {
            self.depth = 0;
        }
        (self.held.len() > self.depth).then(|| self.held.pop_front()).flatten().map(|h| h.1)
    }

    /// Returns the early records in the capture's order: the clock was set back before the first of them.
    pub fn take_run(&mut self) -> Vec<HeldPacket> {
        self.run.drain(..).map(|r| r.1).collect()
    }

    /// The latest time of a record.
    pub fn latest(&self) -> Time {
        self.latest
    }

    /// Returns the remaining records in order of time, at the end of the capture.
    pub fn finish(&mut self) -> Vec<HeldPacket> {
        self.sort_run();
        self.held.drain(..).map(|h| h.1).collect()
    }

    /// Sorts the early records into place.
    fn sort_run(&mut self) {
        for (time, packet) in self.run.drain(..) {
            let place = self.held.iter().rposition(|h| h.0 <= time).map_or(0, |i| i + 1);
            self.held.insert(place, (time, packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::between::ExternalFate;
    use capture::TcpPacket;

    fn at(us: u64) -> HeldPacket {
        let time = Time::ZERO + Span::from_micros(us);
        (TcpPacket { time, ..TcpPacket::default() }, 0, ExternalFate::Absent)
    }

    /// Returns the times of these records in output order, µs, and how often a clock set back was detected.
    fn output(times: &[u64]) -> (Vec<u64>, usize) {
        let (mut order, mut out, mut set_back) = (RecordOrder::new(), Vec::new(), 0);
        for us in times {
            let packet = at(*us);
            if order.passes(packet.0.time) {
                out.push(packet);
                continue;
            }
            set_back += usize::from(order.push(packet.0.time, packet) == RecordTime::SetBack);
            out.extend(std::iter::from_fn(|| order.pop()));
        }
        out.extend(order.finish());
        (out.iter().map(|p| p.0.time.as_nanos() / 1000).collect(), set_back)
    }

    #[test]
    fn records_of_two_queues_are_sorted_by_time() {
        // Reordering at the very beginning, and again after a long time in order.
        let mut times: Vec<u64> = (0..20_000).map(|i| 1_000 + i * 10).collect();
        let sorted = times.clone();
        for i in (0..500).step_by(5).chain((15_000..16_000).step_by(7)) {
            times[i..i + 4].rotate_left(1);
        }
        // After a long time in order none is held back, so the first reordered record stays out of place.
        let (out, set_back) = output(&times);
        let misplaced = out.iter().zip(&sorted).filter(|(a, b)| a != b).count();
        assert!(misplaced <= 4, "{misplaced} records are out of place");
        assert_eq!((out.len(), set_back), (times.len(), 0));
    }

    #[test]
    fn a_clock_set_back_is_not_reordering() {
        let with = |back: u64| {
            let time = |i: u64| 10_000_000 + i * 1000 - if i < 400 { 0 } else { back };
            output(&(0..1000).map(time).collect::<Vec<_>>()).1
        };
        assert_eq!(with(0), 0);
        assert!(with(300_000) > 0 && with(5_000_000) > 0);
        // One record from before a long pause that was written after it.
        let mut late: Vec<u64> = (0..200).map(|i| i * 1000).chain([3_000_000, 200_000]).collect();
        late.extend((0..200).map(|i| 3_000_100 + i * 1000));
        assert_eq!(output(&late).1, 0);
    }
}
