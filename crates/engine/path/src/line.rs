//! Packets in transit with individual due times: the earliest is sent first, ties in order of arrival.

use crate::{Account, Outbox, Packet};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use units::Time;

struct Waiting<B> {
    due: Time,
    serial: u64,
    since: Time,
    packet: Box<Packet<B>>,
}

impl<B> Waiting<B> {
    fn key(&self) -> (Time, u64) {
        (self.due, self.serial)
    }
}

impl<B> PartialEq for Waiting<B> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<B> Eq for Waiting<B> {}
impl<B> PartialOrd for Waiting<B> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<B> Ord for Waiting<B> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// A delay line on which packets may overtake each other.
pub(crate) struct DelayLine<B> {
    heap: BinaryHeap<Reverse<Waiting<B>>>,
    serial: u64,
}

impl<B> DelayLine<B> {
    pub fn new() -> Self {
        DelayLine { heap: BinaryHeap::new(), serial: 0 }
    }

    pub fn push(&mut self, since: Time, due: Time, packet: Box<Packet<B>>) {
        self.heap.push(Reverse(Waiting { due, serial: self.serial, since, packet }));
        self.serial += 1;
    }

    /// Number of packets in transit.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Sends on all packets that are due by `now`.
    pub fn catch_up(&mut self, now: Time, account: &mut Account, out: &mut Outbox<B>) {
        while self.next().is_some_and(|due| due <= now) {
            let Some(Reverse(w)) = self.heap.pop() else { break };
            account.send(out, w.since, w.due, w.packet);
        }
    }

    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(w)| w.due)
    }
}
