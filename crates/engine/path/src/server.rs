//! The common engine of shapers, outages, and links with a managed queue: queue, gate, line.
//!
//! One packet at a time is taken from the queue as the head. The *gate* determines when it leaves (end of
//! transmission, or enough tokens); the next packet is taken at that moment. Behind the gate is a line of
//! constant delay. All events are processed in order of their due times, so a late call changes nothing.
//! While packets are on the line, only its first packet needs a wake-up.

use crate::queue::{Queue, QueueLoad};
use crate::{Account, DropCause, Element, Gauge, Outbox, Packet, SizeLimit};
use std::collections::VecDeque;
use units::{Span, Time};

/// Determines when packets leave a [`Server`].
pub(crate) trait Gate: Send {
    /// Whether the head packet counts as queued (it waits for tokens) or not (it is in transmission).
    const HEAD_COUNTS: bool;

    /// When a packet of `size` bytes that became the head at `at` leaves; not before `at`.
    fn ready(&mut self, at: Time, size: u32) -> Time;

    /// The head packet leaves.
    fn leave(&mut self, at: Time, size: u32) {
        let _ = (at, size);
    }

    /// The queue is empty.
    fn idle(&mut self) {}

    /// Whether a packet of `size` bytes can ever leave.
    fn fits(&self, size: u32) -> bool {
        let _ = size;
        true
    }

    /// When the head packet is lost together with all packets that are not yet on the line, if that happens
    /// before it `leaves`. It arrived at `since` and became the head at `begun`.
    fn purge(&self, since: Time, begun: Time, leaves: Time) -> Option<Time> {
        let _ = (since, begun, leaves);
        None
    }

    /// Whether the transmission that ends at `at` is damaged. Called once for each transmission, in order.
    fn is_damaged(&mut self, at: Time, size: u32) -> bool {
        let _ = (at, size);
        false
    }

    /// Maximum number of retransmissions of a damaged packet.
    fn repeats(&self) -> u32 {
        0
    }

    /// Whether a packet that arrives at `at` is lost.
    fn is_down(&self, at: Time) -> bool {
        let _ = at;
        false
    }

    /// Additional delay on the line for a packet that leaves at `at`.
    fn extra_delay(&self, at: Time) -> Span {
        let _ = at;
        Span::ZERO
    }

    /// Tokens at `now` in whole bytes; `None` if there is no bucket.
    fn tokens(&self, now: Time) -> Option<u64> {
        let _ = now;
        None
    }
}

/// A constant rate; `None` is infinitely fast.
pub(crate) struct Constant(pub Option<units::Rate>);

impl Gate for Constant {
    const HEAD_COUNTS: bool = false;
    fn ready(&mut self, at: Time, size: u32) -> Time {
        self.0.map_or(at, |rate| at + rate.time_for(size as u64))
    }
}

struct ServedPacket<B> {
    since: Time,
    begun: Time,
    leaves: Time,
    /// Number of damaged transmissions.
    damaged: u32,
    packet: Box<Packet<B>>,
}

struct OnLine<B> {
    due: Time,
    since: Time,
    packet: Box<Packet<B>>,
}

/// A queue, a gate and a line.
pub(crate) struct Server<B, G> {
    queue: Box<dyn Queue<B>>,
    gate: G,
    delay: Span,
    limit: SizeLimit,
    head: Option<ServedPacket<B>>,
    line: VecDeque<OnLine<B>>,
    last_due: Time,
    account: Account,
}

impl<B, G: Gate> Server<B, G> {
    pub fn new(queue: Box<dyn Queue<B>>, gate: G, delay: Span, limit: SizeLimit) -> Self {
        Server {
            queue,
            gate,
            delay,
            limit,
            head: None,
            line: VecDeque::new(),
            last_due: Time::ZERO,
            account: Account::default(),
        }
    }

    fn take_up(&mut self, at: Time, out: &mut Outbox<B>) {
        match self.queue.dequeue(at, &mut self.account, out) {
            Some((since, packet)) => {
                let leaves = self.gate.ready(at, packet.size);
                self.head = Some(ServedPacket { since, begun: at, leaves, damaged: 0, packet });
            }
            None => self.gate.idle(),
        }
    }

    /// Drops all packets that are not yet on the line.
    fn lose_all(&mut self, at: Time, out: &mut Outbox<B>) {
        if let Some(head) = self.head.take() {
            self.account.lose(out, at, head.packet, DropCause::Outage);
        }
        while let Some((_, packet)) = self.queue.dequeue(at, &mut self.account, out) {
            self.account.lose(out, at, packet, DropCause::Outage);
        }
        self.gate.idle();
    }

    fn catch_up(&mut self, now: Time, out: &mut Outbox<B>) {
        while let Some(head) = &self.head {
            let lost = self.gate.purge(head.since, head.begun, head.leaves);
            if lost.unwrap_or(head.leaves) > now {
                break;
            }
            if let Some(at) = lost {
                self.lose_all(at, out);
                break;
            }
            let Some(mut head) = self.head.take() else { break };
            if self.gate.is_damaged(head.leaves, head.packet.size) {
                if head.damaged < self.gate.repeats() {
                    head.damaged += 1;
                    head.leaves = self.gate.ready(head.leaves, head.packet.size);
                    self.head = Some(head);
                } else {
                    self.account.lose(out, head.leaves, head.packet, DropCause::Loss);
                    self.take_up(head.leaves, out);
                }
                continue;
            }
            let ServedPacket { since, leaves, packet, .. } = head;
            self.gate.leave(leaves, packet.size);
            let due = leaves + self.delay + self.gate.extra_delay(leaves);
            self.last_due = self.last_due.max(due);
            if self.last_due <= now && self.line.is_empty() {
                self.account.send(out, since, self.last_due, packet);
            } else {
                self.line.push_back(OnLine { due: self.last_due, since, packet });
            }
            self.take_up(leaves, out);
        }
        while self.line.front().is_some_and(|f| f.due <= now) {
            let Some(OnLine { due, since, packet }) = self.line.pop_front() else { break };
            self.account.send(out, since, due, packet);
        }
    }

    fn head_load(&self) -> QueueLoad {
        match &self.head {
            Some(head) if G::HEAD_COUNTS => QueueLoad { packets: 1, bytes: head.packet.size as u64 },
            _ => QueueLoad::default(),
        }
    }
}

impl<B: Send, G: Gate> Element<B> for Server<B, G> {
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
        self.catch_up(now, out);
        self.account.enter();
        if packet.size > self.limit.mtu {
            return self.account.refuse(out, now, packet, self.limit);
        }
        if !self.gate.fits(packet.size) {
            return self.account.lose(out, now, packet, DropCause::TooBig);
        }
        if self.gate.is_down(now) {
            return self.account.lose(out, now, packet, DropCause::Outage);
        }
        self.queue.enqueue(now, packet, self.head_load(), &mut self.account, out);
        if self.head.is_none() {
            self.take_up(now, out);
            self.catch_up(now, out);
        }
        let queued = self.queue.load().packets + self.head_load().packets;
        self.account.max_queue = self.account.max_queue.max(queued);
    }

    fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>) {
        self.catch_up(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        match (self.line.front(), &self.head) {
            (Some(front), _) => Some(front.due),
            (None, Some(head)) => {
                Some(self.gate.purge(head.since, head.begun, head.leaves).unwrap_or(head.leaves))
            }
            (None, None) => None,
        }
    }

    fn least_delay(&self) -> Option<Span> {
        self.limit.is_none().then_some(self.delay)
    }

    fn account(&self) -> Account {
        self.account
    }

    fn gauge(&self, now: Time) -> Gauge {
        let (queue, head) = (self.queue.load(), self.head_load());
        Gauge {
            queue_packets: queue.packets + head.packets,
            queue_bytes: queue.bytes + head.bytes,
            tokens_bytes: self.gate.tokens(now),
        }
    }
}
