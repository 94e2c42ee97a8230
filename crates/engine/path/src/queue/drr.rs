//! Deficit round robin (Shreedhar and Varghese 1996): backlogged flows take turns; each turn adds a quantum
//! of bytes to the flow's deficit, and the flow sends while its head packet fits into the deficit.
//!
//! The limit is shared by all flows. On overflow the flow with the most bytes loses its last packet: the
//! paper's "buffer stealing" (section 3, after McKenney). Linux `drr` leaves this to its children.

use super::flows::{Queued, QueuedFlows};
use super::{Discipline, Queue, QueueLoad, at_least_one};
use crate::problem::Problem;
use crate::{Account, DropCause, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Choices, Label, Time};

/// Deficit round robin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Drr {
    /// Maximum number of queued packets of all flows together. Default 1000.
    pub packets: u64,
    /// Bytes a flow may send per turn, at least 256. Default 1514: one full frame.
    pub quantum: u32,
}

impl Default for Drr {
    fn default() -> Self {
        Drr { packets: 1000, quantum: 1514 }
    }
}

impl Discipline for Drr {
    type Queue<B: Send + 'static> = DrrQueue<B>;
    const LABEL: Label = Label::same("DRR");

    fn limits(&self) -> QueueLoad {
        QueueLoad { packets: self.packets, bytes: u64::MAX }
    }

    fn check(&self) -> Result<(), Problem> {
        at_least_one("packets", self.packets)?;
        quantum(self.quantum)
    }

    fn build<B: Send + 'static>(&self, _seed: u64, _name: &str) -> Self::Queue<B> {
        DrrQueue {
            limit: self.packets,
            quantum: self.quantum.max(1) as u64,
            flows: QueuedFlows::new(),
            active: VecDeque::new(),
            in_turn: false,
        }
    }

    fn draw(choices: &mut Choices) -> Drr {
        Drr { packets: choices.packets(), quantum: 256 + choices.below(2000) as u32 }
    }
}

/// Fails if the quantum is so small that scheduling takes too much CPU time.
pub(super) fn quantum(bytes: u32) -> Result<(), Problem> {
    if bytes < 256 {
        return Err(Problem::new("quantum", "must be at least 256 bytes; 1514 is usual"));
    }
    Ok(())
}

pub(crate) struct DrrQueue<B> {
    limit: u64,
    quantum: u64,
    /// The flows' state is their deficit.
    flows: QueuedFlows<B, (), u64>,
    /// Backlogged flows in the order of their turns.
    active: VecDeque<usize>,
    /// Whether the first of `active` has received its quantum for this turn.
    in_turn: bool,
}

impl<B> DrrQueue<B> {
    fn end_turn(&mut self, keep: bool) {
        self.in_turn = false;
        if let Some(flow) = self.active.pop_front() {
            if keep {
                self.active.push_back(flow);
            } else {
                self.flows.all[flow].state = 0;
            }
        }
    }

    /// Removes the last packet of the flow with the most bytes (ties: the first flow).
    fn steal(&mut self) -> Option<Box<Packet<B>>> {
        let all = &self.flows.all;
        let victim = self.active.iter().copied().max_by_key(|&i| (all[i].bytes, !i))?;
        let stolen = self.flows.pop_back(victim)?.packet;
        if self.flows.all[victim].packets.is_empty() {
            if self.active.front() == Some(&victim) {
                self.end_turn(false);
            } else {
                self.active.retain(|&i| i != victim);
                self.flows.all[victim].state = 0;
            }
        }
        Some(stolen)
    }
}

impl<B: Send> Queue<B> for DrrQueue<B> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        let flow = self.flows.find(packet.flow, || 0);
        if self.flows.all[flow].packets.is_empty() {
            self.active.push_back(flow);
        }
        self.flows.push(flow, Queued { since: now, tag: (), packet });
        if self.flows.load.packets + in_service.packets > self.limit
            && let Some(stolen) = self.steal()
        {
            account.lose(out, now, stolen, DropCause::Overflow);
        }
    }

    fn dequeue(
        &mut self,
        _now: Time,
        _account: &mut Account,
        _out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)> {
        loop {
            let first = *self.active.front()?;
            let flow = &mut self.flows.all[first];
            if !self.in_turn {
                flow.state += self.quantum;
                self.in_turn = true;
            }
            let size = flow.packets.front().map_or(0, |q| q.packet.size as u64);
            if size > flow.state {
                self.end_turn(true);
                continue;
            }
            flow.state -= size;
            let next = self.flows.pop_front(first)?;
            if self.flows.all[first].packets.is_empty() {
                self.end_turn(false);
            }
            return Some((next.since, next.packet));
        }
    }

    fn load(&self) -> QueueLoad {
        self.flows.load
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{drain_flows, fill};
    use super::*;

    #[test]
    fn flows_share_by_bytes_not_by_packets() {
        // Flow 1 sends packets of 1500 B, flow 2 of 500 B: two and six for 3000 B each.
        let mut q = Drr { packets: 1000, quantum: 1500 }.build(0, "");
        fill(&mut q, 1, 1500, 10);
        fill(&mut q, 2, 500, 30);
        assert_eq!(drain_flows(&mut q, 8), [1, 2, 2, 2, 1, 2, 2, 2]);
    }

    #[test]
    fn a_full_buffer_steals_from_the_longest_flow() {
        let mut q = Drr { packets: 10, quantum: 1500 }.build(0, "");
        let mut lost = fill(&mut q, 1, 1500, 10);
        lost.extend(fill(&mut q, 2, 1500, 3));
        assert_eq!(lost, [1, 1, 1]);
        assert_eq!(q.load(), QueueLoad { packets: 10, bytes: 15_000 });
    }
}
