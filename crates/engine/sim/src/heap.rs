//! An indexed binary heap with at most one deadline per slot, the earliest first, ties in the order in which
//! they were set.

use units::Time;

/// Deadlines of slots `0..n`.
#[derive(Debug)]
pub struct DeadlineHeap {
    /// (deadline, order of setting, slot), a binary heap.
    heap: Vec<(Time, u64, u32)>,
    /// Last known position of each slot's entry in the heap; the slot has a deadline if the entry there is
    /// still its own.
    position: Vec<u32>,
}

impl DeadlineHeap {
    /// No deadlines for `n` slots.
    pub fn new(n: usize) -> DeadlineHeap {
        DeadlineHeap { heap: Vec::with_capacity(n), position: vec![0; n] }
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<(Time, u64, u32)> {
        self.heap.first().copied()
    }

    /// The deadline of a slot.
    #[inline]
    pub fn deadline(&self, slot: u32) -> Option<Time> {
        self.entry(slot).map(|at| self.heap[at].0)
    }

    /// Position of a slot's entry in the heap; `None` without a deadline.
    #[inline]
    fn entry(&self, slot: u32) -> Option<usize> {
        let at = self.position[slot as usize] as usize;
        self.heap.get(at).is_some_and(|entry| entry.2 == slot).then_some(at)
    }

    /// Sets or clears the deadline of a slot. `order` breaks ties and must increase from call to call.
    #[inline]
    pub fn set(&mut self, slot: u32, deadline: Option<Time>, order: u64) {
        match (deadline, self.entry(slot)) {
            (Some(t), None) => {
                self.heap.push((t, order, slot));
                self.up(self.heap.len() - 1);
            }
            (Some(t), Some(at)) => {
                let old = self.heap[at].0;
                if old == t {
                    return;
                }
                self.heap[at] = (t, order, slot);
                if t < old { self.up(at) } else { self.down(at) }
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
            if (self.heap[parent].0, self.heap[parent].1) <= (entry.0, entry.1) {
                break;
            }
            self.heap[at] = self.heap[parent];
            self.position[self.heap[at].2 as usize] = at as u32;
            at = parent;
        }
        self.heap[at] = entry;
        self.position[entry.2 as usize] = at as u32;
    }

    fn down(&mut self, mut at: usize) {
        let entry = self.heap[at];
        let n = self.heap.len();
        loop {
            let mut child = 2 * at + 1;
            if child >= n {
                break;
            }
            if child + 1 < n
                && (self.heap[child + 1].0, self.heap[child + 1].1) < (self.heap[child].0, self.heap[child].1)
            {
                child += 1;
            }
            if (entry.0, entry.1) <= (self.heap[child].0, self.heap[child].1) {
                break;
            }
            self.heap[at] = self.heap[child];
            self.position[self.heap[at].2 as usize] = at as u32;
            at = child;
        }
        self.heap[at] = entry;
        self.position[entry.2 as usize] = at as u32;
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
        while let Some((_, _, slot)) = a.first() {
            served.push(slot);
            a.set(slot, None, 9);
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
            a.set(slot as u32, deadline, order);
            slow[slot] = match (deadline, slow[slot]) {
                (Some(t), Some((old, o))) if t == old => Some((old, o)),
                (d, _) => d.map(|t| (t, order)),
            };
            let want = slow.iter().enumerate().filter_map(|(i, e)| e.map(|(t, o)| (t, o, i as u32))).min();
            assert_eq!(a.first(), want);
        }
    }
}
