//! Self-clocked weighted fair queueing (Golestani 1994): a packet's finish tag is max(last tag of its flow,
//! tag of the packet in service) + size / weight; the packet with the smallest tag is sent next.
//!
//! The limit is shared by all flows. On overflow the packet with the largest finish tag is dropped (Cisco
//! WFQ's hold-queue): the tail of the queue that is longest for its weight, possibly the arriving packet.
//! Departures from Cisco: no congestive discard threshold per flow, and the user sets the weights.

use super::flows::{Queued, QueuedFlows};
use super::{Discipline, Queue, QueueLoad, at_least_one};
use crate::problem::Problem;
use crate::{Account, DropCause, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use units::{Choices, Label, Time};

/// A flow's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// The flow's number.
    pub flow: u32,
    /// Share relative to flows of weight 1; 1 to 65535.
    pub weight: u16,
}

/// Weighted fair queueing, self-clocked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Wfq {
    /// Maximum number of queued packets of all flows together. Default 1000 (Cisco's hold-queue).
    pub packets: u64,
    /// Flows with a weight other than 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<Weight>,
}

impl Default for Wfq {
    fn default() -> Self {
        Wfq { packets: 1000, weights: Vec::new() }
    }
}

impl Discipline for Wfq {
    type Queue<B: Send + 'static> = WfqQueue<B>;
    const LABEL: Label = Label::same("WFQ");

    fn limits(&self) -> QueueLoad {
        QueueLoad { packets: self.packets, bytes: u64::MAX }
    }

    fn check(&self) -> Result<(), Problem> {
        at_least_one("packets", self.packets)?;
        if self.weights.iter().any(|w| w.weight == 0) {
            return Err(Problem::new("weights", "a weight must be at least 1"));
        }
        Ok(())
    }

    fn build<B: Send + 'static>(&self, _seed: u64, _name: &str) -> Self::Queue<B> {
        WfqQueue {
            limit: self.packets,
            weights: self.weights.iter().map(|w| (w.flow, w.weight.max(1))).collect(),
            flows: QueuedFlows::new(),
            heads: BinaryHeap::new(),
            virtual_time: 0,
            serial: 0,
        }
    }

    fn draw(choices: &mut Choices) -> Wfq {
        let weights = vec![Weight { flow: 1, weight: 1 + choices.below(9) as u16 }];
        Wfq { packets: choices.packets(), weights }
    }
}

/// Finish tags count in 1/65536 byte, so that the division by a weight is precise enough.
const BYTE: u128 = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tag {
    finish: u128,
    /// Breaks ties: first come, first served.
    serial: u64,
}

struct FlowState {
    weight: u16,
    finish: u128,
}

pub(crate) struct WfqQueue<B> {
    limit: u64,
    weights: BTreeMap<u32, u16>,
    flows: QueuedFlows<B, Tag, FlowState>,
    /// Tag and flow of every backlogged flow's head packet. Entries of dropped heads are stale.
    heads: BinaryHeap<Reverse<(Tag, usize)>>,
    virtual_time: u128,
    serial: u64,
}

impl<B> WfqQueue<B> {
    fn cost(weight: u16, size: u32) -> u128 {
        size as u128 * BYTE / weight as u128
    }

    /// Removes the packet with the largest finish tag.
    fn steal(&mut self) -> Option<Box<Packet<B>>> {
        let tails = self.flows.all.iter().enumerate();
        let (_, victim) = tails.filter_map(|(i, flow)| flow.packets.back().map(|q| (q.tag, i))).max()?;
        let stolen = self.flows.pop_back(victim)?;
        let state = &mut self.flows.all[victim].state;
        state.finish = stolen.tag.finish - Self::cost(state.weight, stolen.packet.size);
        Some(stolen.packet)
    }
}

impl<B: Send> Queue<B> for WfqQueue<B> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        let weights = &self.weights;
        let id = packet.flow;
        let flow =
            self.flows.find(id, || FlowState { weight: weights.get(&id).copied().unwrap_or(1), finish: 0 });
        let state = &mut self.flows.all[flow].state;
        state.finish = state.finish.max(self.virtual_time) + Self::cost(state.weight, packet.size);
        let tag = Tag { finish: state.finish, serial: self.serial };
        self.serial += 1;
        if self.flows.all[flow].packets.is_empty() {
            self.heads.push(Reverse((tag, flow)));
        }
        self.flows.push(flow, Queued { since: now, tag, packet });
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
        while let Some(Reverse((tag, flow))) = self.heads.pop() {
            if self.flows.all[flow].packets.front().is_none_or(|q| q.tag != tag) {
                continue;
            }
            let next = self.flows.pop_front(flow)?;
            if let Some(head) = self.flows.all[flow].packets.front() {
                self.heads.push(Reverse((head.tag, flow)));
            }
            self.virtual_time = tag.finish;
            return Some((next.since, next.packet));
        }
        None
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
    fn flows_share_the_rate_by_weight() {
        // Flow 1 has weight 2: it sends two packets for each of flow 2.
        let weights = vec![Weight { flow: 1, weight: 2 }];
        let mut q = Wfq { packets: 1000, weights }.build(0, "");
        fill(&mut q, 1, 1000, 20);
        fill(&mut q, 2, 1000, 20);
        assert_eq!(drain_flows(&mut q, 6), [1, 1, 2, 1, 1, 2]);
    }

    #[test]
    fn a_new_flow_does_not_wait_for_the_backlog_of_others() {
        let mut q = Wfq::default().build(0, "");
        fill(&mut q, 1, 1500, 100);
        assert_eq!(drain_flows(&mut q, 50), [1; 50]);
        fill(&mut q, 2, 100, 2);
        assert_eq!(drain_flows(&mut q, 4), [2, 2, 1, 1]);
    }

    #[test]
    fn the_longest_queue_loses_its_tail() {
        let mut q = Wfq { packets: 10, weights: vec![] }.build(0, "");
        let mut lost = fill(&mut q, 1, 1500, 12);
        lost.extend(fill(&mut q, 2, 1500, 2));
        assert_eq!(lost, [1, 1, 1, 1]);
        assert_eq!(drain_flows(&mut q, 12), [1, 2, 1, 2, 1, 1, 1, 1, 1, 1]);
    }
}
