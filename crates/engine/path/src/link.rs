//! A link: a queue, a transmitter with a constant rate, a propagation delay.
//!
//! With a FIFO queue a packet's times are known on arrival: its transmission starts when its predecessor's
//! ends. All packets are therefore kept in one ring with their due times, the queue's length is derived from
//! them, and a packet needs a wake-up only for its delivery. Other queues use the common engine
//! (`server.rs`). The packet in transmission does not count as queued.

use crate::config::{Config, DisplayNames, StageLimit, rate_above_zero};
use crate::problem::Problem;
use crate::queue::{QueueConfig, QueueLoad};
use crate::server::{Constant, Server};
use crate::{Account, Body, DropCause, Element, Gauge, Outbox, Packet, SizeLimit, size_limit};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Choices, Label, Rate, Span, Time};

/// A link: queue, rate and propagation delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// Bits per second. Default: infinitely fast. A packet of n bytes takes 8 n / rate, rounded up to the
    /// next nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One-way propagation delay. Default 0.
    pub delay: Span,
    /// Largest IP packet in bytes; larger ones are bounced ("packet too big", RFC 1191). Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether senders of larger packets get ICMP "fragmentation needed" (RFC 1191). Default true. False
    /// models a path MTU black hole, as behind `no ip unreachables` or a firewall that blocks ICMP (RFC 2923
    /// section 2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp: Option<bool>,
    /// Queue before the transmitter. Default: FIFO of 1000 packets (Linux `txqueuelen`).
    pub queue: QueueConfig,
}

impl Config for Link {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("link", "链路 link"),
        one: Label::new("a link", "链路"),
        dropper: Label::new("a queue", "队列"),
    };

    fn check(&self) -> Result<(), Problem> {
        rate_above_zero("rate", self.rate)?;
        size_limit::check(self.mtu, self.icmp)?;
        self.queue.check().map_err(|p| p.within("queue"))
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        match &self.queue {
            QueueConfig::Fifo(_) => Box::new(FifoLink {
                rate: self.rate,
                last_time: (0, Span::ZERO),
                delay: self.delay,
                limit: SizeLimit::new(self.mtu, self.icmp),
                limits: self.queue.limits(),
                queued: QueueLoad::default(),
                ring: VecDeque::new(),
                next_begins: Time::ZERO,
                free: Time::ZERO,
                account: Account::default(),
            }),
            queue => {
                let queue = queue.build(seed, name);
                Box::new(Server::new(
                    queue,
                    Constant(self.rate),
                    self.delay,
                    SizeLimit::new(self.mtu, self.icmp),
                ))
            }
        }
    }

    fn draw(choices: &mut Choices) -> Link {
        let mtu = choices.maybe(|c| 1000 + c.below(1000) as u32);
        Link {
            rate: choices.maybe(Choices::rate),
            delay: choices.span(),
            mtu,
            icmp: mtu.and_then(|_| choices.maybe(Choices::coin)),
            queue: QueueConfig::draw(choices),
        }
    }

    fn limit(&self) -> StageLimit {
        self.rate.map_or(StageLimit::None, StageLimit::Shared)
    }
}

struct LinkSlot<B> {
    /// Arrival time.
    since: Time,
    /// Time of arrival at the link's far end.
    due: Time,
    /// Size of the packet, so that catching up with a long queue reads no packets.
    size: u32,
    packet: Box<Packet<B>>,
}

struct FifoLink<B> {
    rate: Option<Rate>,
    /// The last packet size and its transmission time: sizes repeat, and divisions are expensive.
    last_time: (u32, Span),
    delay: Span,
    limit: SizeLimit,
    limits: QueueLoad,
    /// Packets whose transmission had not started when the last packet arrived, which are the last ones of
    /// `ring`.
    queued: QueueLoad,
    /// All packets held, in order.
    ring: VecDeque<LinkSlot<B>>,
    /// When the transmission of the first queued packet starts, if there is one.
    next_begins: Time,
    /// When the transmitter has sent all packets.
    free: Time,
    account: Account,
}

impl<B> FifoLink<B> {
    #[inline]
    fn time_for(&mut self, size: u32) -> Span {
        let Some(rate) = self.rate else { return Span::ZERO };
        if self.last_time.0 != size {
            self.last_time = (size, rate.time_for(size as u64));
        }
        self.last_time.1
    }

    /// Packets whose transmission has not started at `now`, and when that of the first one starts.
    #[inline]
    fn queued_at(&self, now: Time) -> (QueueLoad, Time) {
        let (mut queued, mut next_begins) = (self.queued, self.next_begins);
        for slot in self.ring.range(self.ring.len() - queued.packets as usize..) {
            if next_begins > now {
                break;
            }
            queued.remove(slot.size);
            next_begins = slot.due - self.delay;
        }
        (queued, next_begins)
    }

    /// Removes packets whose transmission has started from the queue.
    #[inline(never)]
    fn start_transmissions(&mut self, now: Time) {
        (self.queued, self.next_begins) = self.queued_at(now);
    }

    /// Delivers the packets that have arrived at the far end.
    #[inline(always)]
    fn deliver(&mut self, now: Time, out: &mut Outbox<B>) {
        while self.ring.front().is_some_and(|slot| slot.due <= now) {
            if self.queued.packets as usize == self.ring.len() {
                self.start_transmissions(now);
            }
            if let Some(LinkSlot { since, due, packet, .. }) = self.ring.pop_front() {
                self.account.send(out, since, due, packet);
            }
        }
    }

    /// Delivers what arrives before a packet enters, which seldom coincides.
    #[inline(never)]
    fn deliver_before(&mut self, now: Time, out: &mut Outbox<B>) {
        self.deliver(now, out);
    }
}

impl<B: Send> Element<B> for FifoLink<B> {
    // Inlined into `Element::enter` and `Element::wake`, by which chains call them.
    #[inline(always)]
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
        if self.ring.front().is_some_and(|slot| slot.due <= now) {
            self.deliver_before(now, out);
        }
        if self.queued.packets > 0 && self.next_begins <= now {
            self.start_transmissions(now);
        }
        self.account.enter();
        if packet.size > self.limit.mtu {
            return self.account.refuse(out, now, packet, self.limit);
        }
        let begins = self.free.max(now);
        let bytes = self.queued.bytes + packet.size as u64;
        if self.queued.packets >= self.limits.packets || bytes > self.limits.bytes {
            return self.account.lose(out, now, packet, DropCause::Overflow);
        }
        self.free = begins + self.time_for(packet.size);
        let due = self.free + self.delay;
        if begins > now {
            if self.queued.packets == 0 {
                self.next_begins = begins;
            }
            self.queued.add(packet.size);
            self.account.max_queue = self.account.max_queue.max(self.queued.packets);
        } else if due <= now {
            return self.account.send(out, now, due, packet);
        }
        self.ring.push_back(LinkSlot { since: now, due, size: packet.size, packet });
    }

    #[inline(always)]
    fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>) {
        self.deliver(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.ring.front().map(|slot| slot.due)
    }

    fn least_delay(&self) -> Option<Span> {
        self.limit.is_none().then_some(self.delay)
    }

    fn account(&self) -> Account {
        self.account
    }

    fn gauge(&self, now: Time) -> Gauge {
        let (queued, _) = self.queued_at(now);
        Gauge { queue_packets: queued.packets, queue_bytes: queued.bytes, tokens_bytes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::Fifo;
    use units::{Bytes, Stream};

    /// The ring and the common engine must give identical results.
    #[test]
    fn the_ring_and_the_common_engine_agree() {
        for (seed, fifo) in [
            Fifo::default(),
            Fifo { packets: Some(3), bytes: None },
            Fifo { packets: None, bytes: Some(Bytes::new(4000)) },
        ]
        .into_iter()
        .enumerate()
        {
            let mut s = Stream::new(seed as u64, "agree");
            let (rate, delay) = (Some(Rate::from_bps(10_000_000)), Span::from_micros(1700));
            let queue = QueueConfig::Fifo(fifo);
            let link = Link { rate, delay, mtu: Some(1500), icmp: None, queue: queue.clone() };
            let mut ring = link.build::<()>(0, "");
            let mut engine =
                Server::new(queue.build(0, ""), Constant(rate), delay, SizeLimit::new(Some(1500), None));
            let mut now = Time::ZERO;
            let (mut a, mut b) = (Outbox::default(), Outbox::default());
            for id in 0..5000 {
                now += Span::from_nanos(s.below(2_000_000));
                let size = 40 + s.below(1500) as u32;
                let (flow, ecn) = (0, Ecn::NotEct);
                let p =
                    Box::new(Packet { id, size, overhead: 0, flow, dscp: 0, ecn, fragment: None, body: () });
                ring.handle_packet(now, p.clone(), &mut a);
                engine.handle_packet(now, p, &mut b);
                assert_eq!(ring.next_wake().is_some(), Element::<()>::next_wake(&engine).is_some());
                assert_eq!(ring.account(), Element::<()>::account(&engine));
                assert_eq!(ring.gauge(now), Element::<()>::gauge(&engine, now));
            }
            let times = |o: &Outbox<()>| o.sent.iter().map(|s| (s.0, s.1.id)).collect::<Vec<_>>();
            assert_eq!(times(&a), times(&b));
        }
    }
}
