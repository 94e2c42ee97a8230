//! FQ-CoDel (RFC 8290): flows are hashed to queues, which are served by deficit round robin with new flows
//! first; each queue is managed by CoDel.
//!
//! | where | here | Linux |
//! |---|---|---|
//! | hash | flow number and the run's seed | 5-tuple and boot-time seed |
//! | overflow | drops from the head of the queue with the most bytes: half of it, at most 64 packets | the same |
//! | memory limit | none, only `packets` | 32 MB of buffer memory |

use super::codel::{CoDelState, Law, TimedPackets, times};
use super::drr::quantum;
use super::{Discipline, Queue, QueueLoad, at_least_one};
use crate::problem::Problem;
use crate::{Account, DropCause, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Choices, Label, Span, Stream, Time};

/// Flow queueing with CoDel (RFC 8290).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FqCoDel {
    /// Maximum number of queued packets of all flows together. Default 10240.
    pub packets: u64,
    /// Number of queues that flows are hashed to, 1 to 65536. Default 1024.
    pub flows: u32,
    /// Bytes a queue may send per turn, at least 256. Default 1514.
    pub quantum: u32,
    /// CoDel's target delay. Default 5 ms.
    pub target: Span,
    /// CoDel's interval. Default 100 ms.
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them. Default true.
    pub ecn: bool,
}

impl Default for FqCoDel {
    /// Linux's defaults.
    fn default() -> Self {
        FqCoDel {
            packets: 10_240,
            flows: 1024,
            quantum: 1514,
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: true,
        }
    }
}

impl Discipline for FqCoDel {
    type Queue<B: Send + 'static> = FqCoDelQueue<B>;
    const LABEL: Label = Label::same("FQ-CoDel");
    const DROPS_EARLY: bool = true;

    fn limits(&self) -> QueueLoad {
        QueueLoad { packets: self.packets, bytes: u64::MAX }
    }

    fn check(&self) -> Result<(), Problem> {
        at_least_one("packets", self.packets)?;
        if !(1..=65_536).contains(&self.flows) {
            return Err(Problem::new("flows", "must be a number from 1 to 65536; 1024 is usual"));
        }
        quantum(self.quantum)?;
        times(self.target, self.interval)
    }

    fn build<B: Send + 'static>(&self, seed: u64, name: &str) -> Self::Queue<B> {
        let law = Law { target: self.target, interval: self.interval, ecn: self.ecn, largest: 1514 };
        FqCoDelQueue {
            limit: self.packets,
            quantum: self.quantum.max(1) as i64,
            perturbation: Stream::new(seed, name).bits(),
            law,
            flows: (0..self.flows.max(1)).map(|_| FqFlow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            load: QueueLoad::default(),
        }
    }

    fn draw(choices: &mut Choices) -> FqCoDel {
        FqCoDel {
            packets: choices.packets(),
            flows: 1 + choices.below(8) as u32,
            target: Span::from_micros(500),
            interval: Span::from_millis(2),
            ecn: choices.coin(),
            ..FqCoDel::default()
        }
    }
}

struct FqFlow<B> {
    buffer: TimedPackets<B>,
    state: CoDelState,
    deficit: i64,
    listed: bool,
}

impl<B> Default for FqFlow<B> {
    fn default() -> Self {
        FqFlow { buffer: TimedPackets::default(), state: CoDelState::default(), deficit: 0, listed: false }
    }
}

pub(crate) struct FqCoDelQueue<B> {
    limit: u64,
    quantum: i64,
    perturbation: u64,
    law: Law,
    flows: Vec<FqFlow<B>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    load: QueueLoad,
}

impl<B> FqCoDelQueue<B> {
    /// Hashes a flow to a queue: the finaliser of SplitMix64, scaled to the number of queues.
    fn hash(&self, flow: u32) -> usize {
        let mut x = self.perturbation ^ (flow as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        ((x as u128 * self.flows.len() as u128) >> 64) as usize
    }

    /// Linux `fq_codel_drop`: drops half the bytes of the longest queue, at most 64 packets, from its head.
    fn drop_batch(&mut self, now: Time, account: &mut Account, out: &mut Outbox<B>) {
        let fattest = self.flows.iter_mut().rev().max_by_key(|f| f.buffer.load.bytes);
        let Some(flow) = fattest else { return };
        let half = flow.buffer.load.bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some((_, packet)) = flow.buffer.pop() {
            packets += 1;
            bytes += packet.size as u64;
            self.load.remove(packet.size);
            account.lose(out, now, packet, DropCause::Overflow);
            if packets >= 64 || bytes >= half {
                break;
            }
        }
        flow.state.count += packets;
    }
}

impl<B: Send> Queue<B> for FqCoDelQueue<B> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        let index = self.hash(packet.flow);
        self.law.largest = self.law.largest.max(packet.size);
        self.load.add(packet.size);
        let flow = &mut self.flows[index];
        flow.buffer.push(now, packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
        if self.load.packets + in_service.packets > self.limit {
            self.drop_batch(now, account, out);
        }
    }

    /// RFC 8290 section 4.2.
    fn dequeue(
        &mut self,
        now: Time,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)> {
        loop {
            let is_new = !self.new.is_empty();
            let index = *self.new.front().or(self.old.front())?;
            let flow = &mut self.flows[index];
            let list = if is_new { &mut self.new } else { &mut self.old };
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = flow.buffer.load;
            let next = flow.state.dequeue(&self.law, &mut flow.buffer, now, account, out);
            self.load.packets -= before.packets - flow.buffer.load.packets;
            self.load.bytes -= before.bytes - flow.buffer.load.bytes;
            if let Some((since, packet)) = next {
                flow.deficit -= packet.size as i64;
                return Some((since, packet));
            }
            list.pop_front();
            // An empty new queue moves to the old list once, so that no queue stays "new" forever.
            if is_new && !self.old.is_empty() {
                self.old.push_back(index);
            } else {
                flow.listed = false;
            }
        }
    }

    fn load(&self) -> QueueLoad {
        self.load
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{drain_flows, fill};
    use super::*;

    #[test]
    fn a_sparse_flow_is_served_before_the_backlog() {
        let mut q = FqCoDel::default().build(7, "q");
        fill(&mut q, 1, 1500, 100);
        assert_eq!(drain_flows(&mut q, 3), [1, 1, 1]);
        fill(&mut q, 2, 100, 1);
        assert_eq!(drain_flows(&mut q, 3), [2, 1, 1]);
    }

    #[test]
    fn backlogged_flows_share_evenly() {
        let mut q = FqCoDel::default().build(7, "q");
        fill(&mut q, 1, 1514, 100);
        fill(&mut q, 2, 1514, 100);
        assert_eq!(drain_flows(&mut q, 100).iter().filter(|&&f| f == 1).count(), 50);
    }

    #[test]
    fn overflow_drops_half_of_the_longest_queue() {
        let mut q = FqCoDel { packets: 100, ..FqCoDel::default() }.build(7, "q");
        let mut lost = fill(&mut q, 2, 1000, 20);
        lost.extend(fill(&mut q, 1, 1000, 81));
        assert_eq!(lost, vec![1; 41]);
        assert_eq!(q.load().packets, 60);
    }
}
