//! Per-flow FIFO queues with one shared limit, for WFQ and DRR.

use super::QueueLoad;
use crate::Packet;
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// A queued packet; `tag` is defined by the discipline.
pub(crate) struct Queued<B, T> {
    pub since: Time,
    pub tag: T,
    pub packet: Box<Packet<B>>,
}

/// The queue of one flow; `state` is defined by the discipline.
pub(crate) struct QueuedFlow<B, T, S> {
    pub packets: VecDeque<Queued<B, T>>,
    pub bytes: u64,
    pub state: S,
}

/// All flows in the order of their first packets.
pub(crate) struct QueuedFlows<B, T, S> {
    index: BTreeMap<u32, usize>,
    pub all: Vec<QueuedFlow<B, T, S>>,
    pub load: QueueLoad,
}

impl<B, T, S> QueuedFlows<B, T, S> {
    pub fn new() -> Self {
        QueuedFlows { index: BTreeMap::new(), all: Vec::new(), load: QueueLoad::default() }
    }

    /// The index of flow `id`; a new flow is added with `state`.
    pub fn find(&mut self, id: u32, state: impl FnOnce() -> S) -> usize {
        *self.index.entry(id).or_insert_with(|| {
            self.all.push(QueuedFlow { packets: VecDeque::new(), bytes: 0, state: state() });
            self.all.len() - 1
        })
    }

    pub fn push(&mut self, flow: usize, queued: Queued<B, T>) {
        self.load.add(queued.packet.size);
        self.all[flow].bytes += queued.packet.size as u64;
        self.all[flow].packets.push_back(queued);
    }

    pub fn pop_front(&mut self, flow: usize) -> Option<Queued<B, T>> {
        let queued = self.all[flow].packets.pop_front()?;
        self.remove(flow, &queued);
        Some(queued)
    }

    pub fn pop_back(&mut self, flow: usize) -> Option<Queued<B, T>> {
        let queued = self.all[flow].packets.pop_back()?;
        self.remove(flow, &queued);
        Some(queued)
    }

    fn remove(&mut self, flow: usize, queued: &Queued<B, T>) {
        self.load.remove(queued.packet.size);
        self.all[flow].bytes -= queued.packet.size as u64;
    }
}
