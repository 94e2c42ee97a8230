//! An indexed binary heap with at most one deadline per slot, the earliest first, ties in the order in which
//! they were set.

use units::Time;

/// Bits of a key for the slot.
const SLOT_BITS: u32 = 24;

/// Deadline, order of setting and slot in one number, which sorts in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key(u128);

impl Key {
    #[inline]
    fn new(deadline: Time, order: u64, slot: u32) -> Key {
        Key(u128::from(deadline.as_nanos()) << 64 | u128::from(order << SLOT_BITS | u64::from(slot)))
    }
    #[inline]
    pub fn deadline(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }
    #[inline]
    pub fn slot(self) -> u32 {
        self.0 as u32 & ((1 << SLOT_BITS) - 1)
    }
}

/// Deadlines of slots `0..n`.
#[derive(Debug)]
pub struct DeadlineHeap {
    /// A binary heap.
    heap: Vec<Key>,
    /// Last known position of each slot's entry in the heap; the slot has a deadline if the entry there is
    /// still its own.
    position: Vec<u32>,
}

impl DeadlineHeap {
    /// No deadlines for `n` slots.
    pub fn new(n: usize) -> DeadlineHeap {
        assert!(n < 1 << SLOT_BITS, "more than 2^{SLOT_BITS} deadlines");
        DeadlineHeap { heap: Vec::with_capacity(n), position: vec![0; n] }
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<Key> {
        self.heap.first().copied()
    }

    /// The deadline of a slot.
    #[inline]
    pub fn deadline(&self, slot: u32) -> Option<Time> {
        self.entry(slot).map(|at| self.heap[at].deadline())
    }

    /// Position of a slot's entry in the heap; `None` without a deadline.
    #[inline]
    fn entry(&self, slot: u32) -> Option<usize> {
        let at = self.position[slot as usize] as usize;
        self.heap.get(at).is_some_and(|entry| entry.slot() == slot).then_some(at)
    }

    /// Sets or clears the deadline of a slot. `order` breaks ties and must increase from call to call. The
    /// same deadline keeps its position among ties.
    #[inline]
    pub fn set(&mut self, slot: u32, deadline: Option<Time>, order: u64) {
        if deadline.is_none() || deadline != self.deadline(slot) {
            self.renew(slot, deadline, order);
        }
    }

    /// Sets or clears the deadline of a slot as if it had none.
    #[inline]
    pub fn renew(&mut self, slot: u32, deadline: Option<Time>, order: u64) {
        let key = deadline.map(|deadline| Key::new(deadline, order, slot));
        match (key, self.entry(slot)) {
            (Some(key), None) => {
                self.heap.push(key);
                self.up(self.heap.len() - 1);
            }
            (Some(key), Some(at)) => {
                let old = std::mem::replace(&mut self.heap[at], key);
                if key < old { self.up(at) } else { self.down(at) }
            }
            (None, Some(at)) => {
                self.heap.swap_remove(at);
                if at < self.heap.len() {
                    self.down(at);
                    self.up(at);
                }
            }
            (None, None) => {}
        }
    }

    fn up(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            let above = self.heap[parent];
            if above <= entry {
                break;
            }
            self.place(at, above);
            at = parent;
        }
        self.place(at, entry);
    }

    fn down(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let mut child = 2 * at + 1;
            let Some(&(mut below)) = self.heap.get(child) else { break };
            if let Some(&other) = self.heap.get(child + 1)
                && other < below
            {
                (child, below) = (child + 1, other);
            }
            if entry <= below {
                break;
            }
            self.place(at, below);
            at = child;
        }
        self.place(at, entry);
    }

    #[inline]
    fn place(&mut self, at: usize, entry: Key) {
        self.heap[at] = entry;
        self.position[entry.slot() as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    #[test]
    fn serves_earliest_first_and_ties_in_order() {
        let t = Time::from_nanos;
        let mut a = DeadlineHeap::new(4);
        a.set(2, Some(t(5)), 0);
        a.set(0, Some(t(5)), 1);
        a.set(1, Some(t(3)), 2);
        a.set(3, Some(t(9)), 3);
        a.set(3, Some(t(1)), 4);
        a.set(1, None, 5);
        let mut served = Vec::new();
        while let Some(first) = a.first() {
            served.push(first.slot());
            a.set(first.slot(), None, 9);
        }
        assert_eq!(served, [3, 2, 0]);
    }

    #[test]
    fn agrees_with_a_sorted_list_under_random_changes() {
        let mut s = Stream::new(1, "agenda");
        let mut a = DeadlineHeap::new(50);
        let mut slow: Vec<Option<(Time, u64)>> = vec![None; 50];
        for order in 0..20_000u64 {
            let slot = s.below(50) as usize;
            let deadline = s.chance(0.8).then(|| Time::from_nanos(s.below(100)));
            let renews = s.chance(0.2);
            if renews {
                a.renew(slot as u32, deadline, order);
            } else {
                a.set(slot as u32, deadline, order);
            }
            slow[slot] = match (deadline, slow[slot]) {
                (Some(t), Some((old, o))) if t == old && !renews => Some((old, o)),
                (d, _) => d.map(|t| (t, order)),
            };
            let want = slow.iter().enumerate().filter_map(|(i, e)| e.map(|(t, o)| (t, o, i as u32))).min();
            assert_eq!(a.first(), want.map(|(t, order, slot)| Key::new(t, order, slot)));
        }
    }
}
