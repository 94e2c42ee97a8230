//! The event queue: at most one deadline per owner, the earliest first, ties in the order in which they were
//! set.

use crate::end_id::EndId;
use crate::heap::DeadlineHeap;
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

/// The deadlines of a run, at most one per owner.
pub struct Agenda {
    /// Deadlines that packets change: of directions, then the sampler's, then those of hosts with jitter.
    busy: DeadlineHeap,
    /// Timers, most of which only wait: of ends, then of flows. In a separate heap, a thousand timers do not
    /// slow down a busy link.
    idle: DeadlineHeap,
    directions: u32,
    ends: u32,
    /// Number of deadlines set, for first-in first-out order of ties.
    settings: u64,
}

impl Agenda {
    /// An agenda without deadlines for these numbers of owners.
    pub fn new(directions: usize, jittery_hosts: usize, ends: usize, flows: usize) -> Agenda {
        Agenda {
            busy: DeadlineHeap::new(directions + 1 + jittery_hosts),
            idle: DeadlineHeap::new(ends + flows),
            directions: directions as u32,
            ends: ends as u32,
            settings: 0,
        }
    }

    /// The earliest deadline and its owner.
    #[inline]
    pub fn first(&self) -> Option<(Time, Owner)> {
        match (self.busy.first(), self.idle.first()) {
            (Some(busy), idle) if idle.is_none_or(|idle| busy < idle) => {
                Some((busy.deadline(), self.busy_owner(busy.slot())))
            }
            (_, Some(idle)) => Some((idle.deadline(), self.idle_owner(idle.slot()))),
            (_, None) => None,
        }
    }

    /// Sets or clears the deadline of an owner. Setting the same deadline again keeps its position among
    /// ties.
    #[inline]
    pub fn set(&mut self, owner: Owner, deadline: Option<Time>) {
        self.settings += 1;
        let order = self.settings;
        let (heap, slot) = self.place(owner);
        heap.set(slot, deadline, order);
    }

    /// Sets or clears the deadline of an owner whose deadline has come: as if it had been cleared before.
    #[inline]
    pub fn renew(&mut self, owner: Owner, deadline: Option<Time>) {
        self.settings += 1;
        let order = self.settings;
        let (heap, slot) = self.place(owner);
        heap.renew(slot, deadline, order);
    }

    /// The heap and the slot of an owner.
    #[inline]
    fn place(&mut self, owner: Owner) -> (&mut DeadlineHeap, u32) {
        match owner {
            Owner::Direction(direction) => (&mut self.busy, direction),
            Owner::Sampler => (&mut self.busy, self.directions),
            Owner::Host(host) => (&mut self.busy, self.directions + 1 + host),
            Owner::End(end) => (&mut self.idle, end.number()),
            Owner::Flow(flow) => (&mut self.idle, self.ends + flow),
        }
    }

    /// The deadline of a connection end.
    #[inline]
    pub fn end_deadline(&self, end: EndId) -> Option<Time> {
        self.idle.deadline(end.number())
    }

    #[inline]
    fn busy_owner(&self, slot: u32) -> Owner {
        match slot.checked_sub(self.directions) {
            None => Owner::Direction(slot),
            Some(0) => Owner::Sampler,
            Some(after) => Owner::Host(after - 1),
        }
    }

    #[inline]
    fn idle_owner(&self, slot: u32) -> Owner {
        match slot.checked_sub(self.ends) {
            None => Owner::End(EndId::of_sender(slot)),
            Some(flow) => Owner::Flow(flow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Side;

    /// One owner of each kind.
    fn owners() -> [Owner; 5] {
        let end = Owner::End(EndId::new(0, Side::Server));
        [Owner::Flow(1), Owner::Direction(1), end, Owner::Sampler, Owner::Host(2)]
    }

    fn served(mut agenda: Agenda) -> Vec<Owner> {
        std::iter::from_fn(|| {
            let (_, owner) = agenda.first()?;
            agenda.set(owner, None);
            Some(owner)
        })
        .collect()
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
        assert_eq!(agenda.end_deadline(EndId::new(0, Side::Server)), Some(Time::from_nanos(2)));
        assert_eq!(served(agenda), [owners[3], owners[2], owners[0], owners[4], owners[1]]);
    }
}
