//! The deadlines of a run: at most one per owner, served in the order of time, ties in the order in which
//! they were set.
//!
//! Each owner has one key, its deadline. If a run has few directions of links, the earliest of them is found
//! by looking at all. Two queues find the earliest of the other owners: packets, and timers that are earlier
//! than all others, are in a short sorted list, the rest in a heap: a thousand connections that wait for
//! their timeouts cost a packet nothing.
//!
//! An entry of a queue is a hint: when it comes up it counts only if it is what its owner has set, so that
//! changing or clearing a deadline touches no queue. Of an owner's deadlines that move later, as a timeout
//! does with each ACK, the heap keeps the first; when it comes up, the one that is then set takes its place.

use crate::end_id::EndId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// Owner of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A direction of a link, by its index in the network.
    Direction(u32),
    /// The time series, for their next sample.
    Sampler,
    /// A host with scheduling jitter, by its index, where packets are queued.
    Host(u32),
    /// A connection end, for its timers.
    End(EndId),
    /// A flow, by its index: its start, its application's next action, or its next datagram.
    Flow(u32),
}

/// Bits of a key for the slot.
const SLOT_BITS: u32 = 24;

/// Length of the sorted list up to which insertion is cheaper than in a heap.
const MAX_SOON: usize = 16;

/// Number of directions of links up to which looking at all is cheaper than keeping them sorted.
const MAX_SCANNED: usize = 16;

/// Deadline, order of setting and the owner's slot in one number, which sorts in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(u128);

impl Key {
    /// No deadline: later than all others.
    const NONE: Key = Key(u128::MAX);

    #[inline]
    fn new(deadline: Time, order: u64, slot: u32) -> Key {
        Key(u128::from(deadline.as_nanos()) << 64 | u128::from(order << SLOT_BITS | u64::from(slot)))
    }
    #[inline]
    fn deadline(self) -> Time {
        Time::from_nanos(self.nanos())
    }
    /// The deadline in nanoseconds, which for [`Key::NONE`] is later than all times.
    #[inline]
    fn nanos(self) -> u64 {
        (self.0 >> 64) as u64
    }
    #[inline]
    fn slot(self) -> usize {
        self.0 as usize & ((1 << SLOT_BITS) - 1)
    }
}

/// What an owner has set, and what the heap holds for it.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The owner's deadline.
    set: Key,
    /// The owner's entry in the heap, at or before its deadline.
    held: Key,
}

/// The deadlines of a run, at most one per owner.
pub struct Agenda {
    /// One slot per owner: those whose deadlines are packets' (directions, the sampler, hosts with jitter),
    /// then those with timers (ends, flows).
    slots: Vec<Slot>,
    /// Number of directions, if they are few: the first slots, which are in no queue.
    scanned: u32,
    /// The earliest entries, the first one last; [`Key::NONE`] at index 0 ends every search.
    soon: Vec<Key>,
    /// The other entries.
    later: BinaryHeap<Reverse<Key>>,
    /// The first entry of `later`.
    first_later: Key,
    /// Slots of the sampler, the first end and the first flow.
    sampler: u32,
    ends: u32,
    flows: u32,
    /// Number of deadlines set, for first-in first-out order of ties.
    settings: u64,
}

impl Agenda {
    /// An agenda without deadlines for these numbers of owners.
    pub fn new(directions: usize, jittery_hosts: usize, ends: usize, flows: usize) -> Agenda {
        let first_end = directions + 1 + jittery_hosts;
        let first_flow = first_end + ends;
        let n = first_flow + flows;
        assert!(n < 1 << SLOT_BITS, "more than 2^{SLOT_BITS} deadlines");
        Agenda {
            slots: vec![Slot { set: Key::NONE, held: Key::NONE }; n],
            scanned: if directions <= MAX_SCANNED { directions as u32 } else { 0 },
            soon: [Key::NONE].into(),
            later: BinaryHeap::new(),
            first_later: Key::NONE,
            sampler: directions as u32,
            ends: first_end as u32,
            flows: first_flow as u32,
            settings: 0,
        }
    }

    /// The earliest deadline up to `end` and its owner, whose deadline is cleared.
    #[inline]
    pub fn take_next(&mut self, end: Time) -> Option<(Time, Owner)> {
        loop {
            let key = *self.soon.last()?;
            let directions = self.slots[..self.scanned as usize].iter().map(|slot| slot.set);
            let direction = directions.fold(Key::NONE, Key::min);
            if direction < key && direction < self.first_later {
                if direction.nanos() > end.as_nanos() {
                    return None;
                }
                self.slots[direction.slot()].set = Key::NONE;
                return Some((direction.deadline(), Owner::Direction(direction.slot() as u32)));
            }
            if key >= self.first_later {
                if self.first_later == Key::NONE || self.first_later.nanos() > end.as_nanos() {
                    return None;
                }
                if let Some(key) = self.take_later() {
                    return Some((key.deadline(), self.owner(key.slot() as u32)));
                }
                continue;
            }
            if key.nanos() > end.as_nanos() {
                return None;
            }
            self.soon.pop();
            let slot = &mut self.slots[key.slot()];
            if slot.set == key {
                slot.set = Key::NONE;
                return Some((key.deadline(), self.owner(key.slot() as u32)));
            }
        }
    }

    /// Removes the first entry of the heap; returns it if it is what its owner has set, and clears that.
    #[inline(never)]
    fn take_later(&mut self) -> Option<Key> {
        let Reverse(key) = self.later.pop()?;
        self.first_later = self.later.peek().map_or(Key::NONE, |first| first.0);
        let slot = &mut self.slots[key.slot()];
        if slot.held != key {
            return None; // replaced by an earlier one
        }
        slot.held = Key::NONE;
        let set = slot.set;
        if set == key {
            slot.set = Key::NONE;
            return Some(key);
        }
        if set != Key::NONE {
            self.insert(set);
        }
        None
    }

    /// Sets or clears the deadline of an owner. Setting the same deadline again keeps its position among
    /// ties.
    #[inline]
    pub fn set(&mut self, owner: Owner, deadline: Option<Time>) {
        if deadline != self.deadline(owner) {
            self.renew(owner, deadline);
        }
    }

    /// Sets or clears the deadline of an owner as if it had none.
    #[inline]
    pub fn renew(&mut self, owner: Owner, deadline: Option<Time>) {
        let slot = self.slot(owner);
        let key = match deadline {
            Some(deadline) => {
                self.settings += 1;
                Key::new(deadline, self.settings, slot)
            }
            None => Key::NONE,
        };
        self.slots[slot as usize].set = key;
        if key != Key::NONE && slot >= self.scanned {
            self.insert(key);
        }
    }

    /// Moves the deadline of an owner to `deadline` if that is earlier.
    #[inline]
    pub fn advance(&mut self, owner: Owner, deadline: Time) {
        if deadline.as_nanos() < self.slots[self.slot(owner) as usize].set.nanos() {
            self.renew(owner, Some(deadline));
        }
    }

    /// The deadline of an owner.
    #[inline]
    pub fn deadline(&self, owner: Owner) -> Option<Time> {
        let set = self.slots[self.slot(owner) as usize].set;
        (set != Key::NONE).then(|| set.deadline())
    }

    /// Adds an entry to the queue in which it belongs.
    #[inline]
    fn insert(&mut self, key: Key) {
        let is_timer = key.slot() >= self.ends as usize;
        if is_timer && self.first_later < key {
            return self.postpone(key);
        }
        self.soon.push(key);
        let soon = &mut self.soon[..];
        for at in (1..soon.len()).rev() {
            if soon[at - 1] >= key {
                break;
            }
            (soon[at], soon[at - 1]) = (soon[at - 1], key);
        }
        if soon.len() > MAX_SOON + 1 {
            self.postpone_last();
        }
    }

    /// Moves the last entry of the sorted list to the heap.
    #[cold]
    fn postpone_last(&mut self) {
        let last = self.soon.remove(1);
        self.postpone(last);
    }

    /// Adds an entry to the heap, unless the owner has an earlier one there.
    #[inline]
    fn postpone(&mut self, key: Key) {
        let slot = &mut self.slots[key.slot()];
        if key < slot.held {
            slot.held = key;
            self.later.push(Reverse(key));
            self.first_later = self.first_later.min(key);
        }
    }

    #[inline]
    fn slot(&self, owner: Owner) -> u32 {
        match owner {
            Owner::Direction(direction) => direction,
            Owner::Sampler => self.sampler,
            Owner::Host(host) => self.sampler + 1 + host,
            Owner::End(end) => self.ends + end.number(),
            Owner::Flow(flow) => self.flows + flow,
        }
    }

    #[inline]
    fn owner(&self, slot: u32) -> Owner {
        match slot {
            _ if slot < self.sampler => Owner::Direction(slot),
            _ if slot == self.sampler => Owner::Sampler,
            _ if slot < self.ends => Owner::Host(slot - self.sampler - 1),
            _ if slot < self.flows => Owner::End(EndId::of_sender(slot - self.ends)),
            _ => Owner::Flow(slot - self.flows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Side;
    use units::Stream;

    /// One owner of each kind.
    fn owners() -> [Owner; 5] {
        let end = Owner::End(EndId::new(0, Side::Server));
        [Owner::Flow(1), Owner::Direction(1), end, Owner::Sampler, Owner::Host(2)]
    }

    fn served(mut agenda: Agenda) -> Vec<Owner> {
        std::iter::from_fn(|| agenda.take_next(Time::MAX).map(|(_, owner)| owner)).collect()
    }

    #[test]
    fn ties_are_served_in_the_order_they_were_set_across_kinds_of_owners() {
        let owners = owners();
        for first in 0..owners.len() {
            let mut agenda = Agenda::new(2, 3, 2, 2);
            let order: Vec<Owner> = owners.iter().cycle().skip(first).take(owners.len()).copied().collect();
            order.iter().for_each(|&owner| agenda.set(owner, Some(Time::from_nanos(5))));
            assert_eq!(served(agenda), order);
        }
    }

    #[test]
    fn the_earliest_deadline_is_served_first_across_kinds_of_owners() {
        let owners = owners();
        let mut agenda = Agenda::new(2, 3, 2, 2);
        for (&owner, nanos) in owners.iter().zip([3, 5, 2, 1, 4]) {
            agenda.set(owner, Some(Time::from_nanos(nanos)));
        }
        assert_eq!(agenda.deadline(owners[2]), Some(Time::from_nanos(2)));
        assert_eq!(served(agenda), [owners[3], owners[2], owners[0], owners[4], owners[1]]);
    }

    #[test]
    fn agrees_with_a_sorted_list_under_random_changes() {
        agrees_with_a_sorted_list(MAX_SCANNED);
        agrees_with_a_sorted_list(MAX_SCANNED + 1);
    }

    fn agrees_with_a_sorted_list(directions: usize) {
        let mut s = Stream::new(1, "agenda");
        let mut agenda = Agenda::new(directions, 29 - directions, 30, 40);
        let mut list: Vec<Option<(Time, u64)>> = vec![None; 100];
        let mut now = 0;
        for order in 0..100_000u64 {
            let slot = s.below(100) as usize;
            let owner = agenda.owner(slot as u32);
            assert_eq!(agenda.deadline(owner), list[slot].map(|(t, _)| t));
            match s.below(4) {
                0 => {
                    let want = (0..).zip(&list).filter_map(|(i, e)| e.map(|(t, o)| (t, o, i))).min();
                    let end = Time::from_nanos(now + s.below(20));
                    let want = want.filter(|&(t, ..)| t <= end);
                    let got = agenda.take_next(end);
                    assert_eq!(got, want.map(|(t, _, slot)| (t, agenda.owner(slot))));
                    if let Some((t, _, slot)) = want {
                        (list[slot as usize], now) = (None, t.as_nanos());
                    }
                }
                action => {
                    let ahead = if s.chance(0.5) { 10 } else { 1000 };
                    let deadline = s.chance(0.8).then(|| Time::from_nanos(now + s.below(ahead)));
                    if action == 1 {
                        agenda.renew(owner, deadline);
                    } else {
                        agenda.set(owner, deadline);
                    }
                    if action == 1 || deadline != list[slot].map(|(t, _)| t) {
                        list[slot] = deadline.map(|t| (t, order));
                    }
                }
            }
        }
        assert!(now > 10_000, "{now}");
    }
}
