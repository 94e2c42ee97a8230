//! First in, first out. A packet that would exceed a limit is dropped (tail drop), as in Linux `pfifo` and
//! `bfifo`; with both limits set, both apply.

use super::{Discipline, Queue, QueueLoad, at_least_one};
use crate::problem::Problem;
use crate::{Account, DropCause, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Choices, Label, Time};

/// First in, first out; a full queue drops the arriving packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Fifo {
    /// Maximum number of queued packets, without the one in transmission. Default: 1000 (Linux
    /// `txqueuelen`), or no limit if `bytes` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Maximum number of queued bytes. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

impl Discipline for Fifo {
    type Queue<B: Send + 'static> = FifoQueue<B>;
    const LABEL: Label = Label::same("FIFO");

    fn limits(&self) -> QueueLoad {
        let packets = self.packets.unwrap_or(if self.bytes.is_none() { 1000 } else { u64::MAX });
        QueueLoad { packets, bytes: self.bytes.map_or(u64::MAX, Bytes::get) }
    }

    fn check(&self) -> Result<(), Problem> {
        at_least_one("packets", self.packets.unwrap_or(1))?;
        at_least_one("bytes", self.bytes.map_or(1, Bytes::get))
    }

    fn build<B: Send + 'static>(&self, _seed: u64, _name: &str) -> Self::Queue<B> {
        FifoQueue { limits: self.limits(), load: QueueLoad::default(), packets: VecDeque::new() }
    }

    fn draw(choices: &mut Choices) -> Fifo {
        Fifo { packets: choices.maybe(Choices::packets), bytes: choices.maybe(Choices::bytes) }
    }
}

pub(crate) struct FifoQueue<B> {
    limits: QueueLoad,
    load: QueueLoad,
    packets: VecDeque<(Time, Box<Packet<B>>)>,
}

impl<B: Send> Queue<B> for FifoQueue<B> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        let bytes = self.load.bytes + in_service.bytes + packet.size as u64;
        if self.load.packets + in_service.packets >= self.limits.packets || bytes > self.limits.bytes {
            return account.lose(out, now, packet, DropCause::Overflow);
        }
        self.load.add(packet.size);
        self.packets.push_back((now, packet));
    }

    fn dequeue(
        &mut self,
        _now: Time,
        _account: &mut Account,
        _out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)> {
        let next = self.packets.pop_front()?;
        self.load.remove(next.1.size);
        Some(next)
    }

    fn load(&self) -> QueueLoad {
        self.load
    }
}
