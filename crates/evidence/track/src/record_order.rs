//! The order of a capture's records, which is not always that of time.
//!
//! Several queues of a network card, or several interfaces merged, write records a little out of order, each with its right time.
//! A clock that is set back shows itself in the same way at first: by a record that is earlier than the one before. What follows
//! tells them apart. Behind records out of order, time goes on from where it was; behind a clock that was set back, record after
//! record is earlier. So a record that is too early, and those that follow it, are held back until that is known. Records out of
//! order are put back in the order of time, as far as a few records reach.

use crate::standstill::HeldPacket;
use std::collections::VecDeque;
use units::{Span, Time};

/// Records that one out of order may be behind its place: the Linux kernel takes at most as many from one queue of a network card
/// before it turns to the next (`NAPI_POLL_WEIGHT`).
const DEPTH: usize = 64;
/// So many early records in a row show a clock that was set back: a queue that is handed on late has fewer.
const SET_BACK: usize = 2 * DEPTH;
/// So many records in a row in the order of time show that there is one queue only: at first, and once some were not.
const QUIET: [usize; 2] = [DEPTH, 64 * DEPTH];
/// No network card holds a record back for longer: of early records by more than that, two in a row are enough.
const LONGEST_DISORDER: Span = Span::from_secs(1);

/// The place in time of a record, as [`RecordOrder::push`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordTime {
    /// The record is the latest.
    Latest,
    /// It is earlier than the latest one by so much.
    Early(Span),
    /// The clock was set back before the records that [`RecordOrder::take_run`] returns.
    SetBack,
}

/// Records that are held back until their order is known.
#[derive(Debug)]
pub struct RecordOrder {
    /// In the order of time.
    held: VecDeque<(Time, HeldPacket)>,
    /// Records that are all earlier than the latest one, as they came.
    run: Vec<(Time, HeldPacket)>,
    latest: Time,
    /// How many records are held back.
    depth: usize,
    /// Records in a row in the order of time.
    in_order: usize,
    /// So many of them are enough to hold none back.
    quiet: usize,
}

impl RecordOrder {
    /// The first records are held back: one of them may be out of order.
    pub fn new() -> RecordOrder {
        RecordOrder {
            held: VecDeque::new(),
            run: Vec::new(),
            latest: Time::ZERO,
            depth: DEPTH,
            in_order: 0,
            quiet: QUIET[0],
        }
    }

    /// Whether a record of that time can be taken at once: none is held back, and it is not early.
    #[inline]
    pub fn passes(&mut self, time: Time) -> bool {
        if self.depth > 0 || time < self.latest {
            return false;
        }
        self.latest = time;
        true
    }

    /// Takes a record.
    #[cold]
    pub fn push(&mut self, time: Time, packet: HeldPacket) -> RecordTime {
        self.in_order += 1;
        if time < self.latest {
            let early = self.latest.since(time);
            (self.depth, self.in_order, self.quiet) = (DEPTH, 0, QUIET[1]);
            self.run.push((time, packet));
            let first = self.run.first().map_or(time, |r| r.0);
            let most = if self.latest.since(first) > LONGEST_DISORDER { 2 } else { SET_BACK };
            return if self.run.len() >= most { RecordTime::SetBack } else { RecordTime::Early(early) };
        }
        self.latest = time;
        self.sort_run();
        self.held.push_back((time, packet));
        RecordTime::Latest
    }

    /// The next record in the order of time, once nothing can come before it.
    pub fn pop(&mut self) -> Option<HeldPacket> {
        if self.in_order > self.quiet {
            self.depth = 0;
        }
        (self.held.len() > self.depth).then(|| self.held.pop_front()).flatten().map(|h| h.1)
    }

    /// The early records in a row, as they came: the clock was set back before the first of them.
    pub fn take_run(&mut self) -> Vec<HeldPacket> {
        self.run.drain(..).map(|r| r.1).collect()
    }

    /// The latest time of a record.
    pub fn latest(&self) -> Time {
        self.latest
    }

    /// The end of the capture: the rest, in the order of time.
    pub fn finish(&mut self) -> Vec<HeldPacket> {
        self.sort_run();
        self.held.drain(..).map(|h| h.1).collect()
    }

    /// Puts the early records in their places.
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
    use crate::between::PacketBeyond;
    use capture::TcpPacket;

    fn at(us: u64) -> HeldPacket {
        let time = Time::ZERO + Span::from_micros(us);
        (TcpPacket { time, ..TcpPacket::default() }, 0, PacketBeyond::Unasked)
    }

    /// The times of these records as they are handed on, µs; and how many showed that the clock had been set back.
    fn handed_on(times: &[u64]) -> (Vec<u64>, usize) {
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
    fn records_of_two_queues_are_put_back_in_the_order_of_time() {
        // From the very beginning on, and again behind a long time in order.
        let mut times: Vec<u64> = (0..20_000).map(|i| 1_000 + i * 10).collect();
        let sorted = times.clone();
        for i in (0..500).step_by(5).chain((15_000..16_000).step_by(7)) {
            times[i..i + 4].rotate_left(1);
        }
        // The first behind a long time in order was followed by none that could be held back for it.
        let (out, set_back) = handed_on(&times);
        let astray = out.iter().zip(&sorted).filter(|(a, b)| a != b).count();
        assert!(astray <= 4, "{astray} records are not in their places");
        assert_eq!((out.len(), set_back), (times.len(), 0));
    }

    #[test]
    fn a_clock_that_was_set_back_is_no_disorder() {
        let with = |back: u64| {
            let time = |i: u64| 10_000_000 + i * 1000 - if i < 400 { 0 } else { back };
            handed_on(&(0..1000).map(time).collect::<Vec<_>>()).1
        };
        assert_eq!(with(0), 0);
        assert!(with(300_000) > 0 && with(5_000_000) > 0);
        // One record of before a long pause that stands behind it.
        let mut late: Vec<u64> = (0..200).map(|i| i * 1000).chain([3_000_000, 200_000]).collect();
        late.extend((0..200).map(|i| 3_000_100 + i * 1000));
        assert_eq!(handed_on(&late).1, 0);
    }
}
