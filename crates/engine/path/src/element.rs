//! The interface of a path element, its account and its gauges.

use crate::Packet;
use crate::size_limit::{RefusedSize, SizeLimit};
use units::{Span, Time};

/// Why an element dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropCause {
    /// A limiter had too few tokens.
    Policed,
    /// A queue was full.
    Overflow,
    /// A queue's control law (CoDel, RED) selected it.
    Aqm,
    /// Random or scripted loss.
    Loss,
    /// The buffer was lost in an outage or a handover.
    Outage,
    /// Larger than the MTU and not to be fragmented, or larger than a limiter's bucket.
    TooBig,
    /// A fragment of a packet that was not received completely.
    Incomplete,
}

/// The packets that leave an element. The caller empties it after every call.
#[derive(Debug)]
pub struct Outbox<B> {
    /// Packets sent, each with its due time; times are non-decreasing within one outbox.
    pub sent: Vec<(Time, Box<Packet<B>>)>,
    /// Packets dropped, each with its time and cause.
    pub dropped: Vec<(Time, Box<Packet<B>>, DropCause)>,
    /// Packets that exceed an MTU, each with its time and the MTU in bytes. The caller notifies the sender
    /// (RFC 1191, RFC 8201).
    pub bounced: Vec<(Time, Box<Packet<B>>, u32)>,
}

impl<B> Default for Outbox<B> {
    fn default() -> Self {
        Outbox { sent: Vec::new(), dropped: Vec::new(), bounced: Vec::new() }
    }
}

impl<B> Outbox<B> {
    /// Empties the outbox but keeps its memory.
    pub fn clear(&mut self) {
        self.sent.clear();
        self.dropped.clear();
        self.bounced.clear();
    }
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.dropped.is_empty() && self.bounced.is_empty()
    }
}

/// Packet counters. Conservation: `packets_in + copies == passed + dropped + too_big + joined + held` at all
/// times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Packets that arrived.
    pub packets_in: u64,
    /// Packets that the element created: duplicates, and fragments beyond the first.
    pub copies: u64,
    /// Packets sent on.
    pub passed: u64,
    /// Packets dropped for any reason except their size.
    pub dropped: u64,
    /// Packets dropped or bounced because of their size.
    pub too_big: u64,
    /// The size limit that packets exceeded, if it is an MTU, and the largest such packet.
    pub refused: Option<RefusedSize>,
    /// Fragments merged into the packet that was sent on in place of the first one.
    pub joined: u64,
    /// Packets that were fragmented.
    pub cut: u64,
    /// Packets held now.
    pub held: u64,
    /// Packets with ECN CE set or DSCP re-marked.
    pub marked: u64,
    /// Maximum queue length in packets.
    pub max_queue: u64,
    /// Sum of the delays of all passed packets, for the mean.
    pub delay_sum: Span,
    /// Maximum delay of a packet.
    pub delay_max: Span,
}

impl Account {
    /// Whether packets are conserved.
    pub fn balances(&self) -> bool {
        self.packets_in + self.copies == self.passed + self.dropped + self.too_big + self.joined + self.held
    }
    /// Counts a packet that arrived and is now held.
    #[inline]
    pub fn enter(&mut self) {
        self.packets_in += 1;
        self.held += 1;
    }
    /// Counts a held packet that is sent on after `delay`.
    #[inline]
    pub fn pass(&mut self, delay: Span) {
        self.held -= 1;
        self.passed += 1;
        self.delay_sum += delay;
        self.delay_max = self.delay_max.max(delay);
    }
    /// Sends on a held packet that arrived at `since` and was due at `due`.
    #[inline]
    pub fn send<B>(&mut self, out: &mut Outbox<B>, since: Time, due: Time, packet: Box<Packet<B>>) {
        self.pass(due.since(since));
        out.sent.push((due, packet));
    }
    /// Drops a held packet at `at`.
    pub fn lose<B>(&mut self, out: &mut Outbox<B>, at: Time, packet: Box<Packet<B>>, cause: DropCause) {
        self.held -= 1;
        match cause {
            DropCause::TooBig => self.too_big += 1,
            _ => self.dropped += 1,
        }
        out.dropped.push((at, packet, cause));
    }
    /// Bounces a held packet that exceeds `limit`, or drops it if the limit sends no ICMP. A packet inside a
    /// tunnel carries the tunnel's headers and the sender's own packet must be smaller by them, as if the
    /// tunnel's entry had translated the ICMP message (RFC 4459 section 3.2, RFC 4301 section 8.2.1).
    pub fn refuse<B>(&mut self, out: &mut Outbox<B>, at: Time, packet: Box<Packet<B>>, limit: SizeLimit) {
        let largest = self.refused.map_or(packet.size, |r| r.largest.max(packet.size));
        self.refused = Some(RefusedSize { limit, largest });
        if !limit.icmp {
            return self.lose(out, at, packet, DropCause::TooBig);
        }
        self.held -= 1;
        self.too_big += 1;
        let inner = limit.mtu.saturating_sub(packet.overhead);
        out.bounced.push((at, packet, inner));
    }
}

/// Sampled state of an element, for time series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gauge {
    /// Packets queued, without those in propagation.
    pub queue_packets: u64,
    /// Bytes queued.
    pub queue_bytes: u64,
    /// Tokens in the (first) bucket, bytes; `None` if there is no bucket.
    pub tokens_bytes: Option<u64>,
}

/// An element of a path. The crate's documentation describes the order of calls.
pub trait Element<B>: Send {
    /// A packet arrives. `now` is non-decreasing over the calls of all methods. The element first catches up
    /// to `now` as in [`Element::handle_wake`].
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>);

    /// Catches up: everything that is due by `now` goes to `out` with its due time.
    fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>);

    /// When the element next has something to send, or `None`. The time may be earlier than necessary, but
    /// never later than the next packet's due time. Internal decisions before that time (start of a
    /// transmission, an AQM drop) may be deferred to the next call, with their exact due times.
    fn next_wake(&self) -> Option<Time>;

    /// Calls [`Element::handle_packet`] for each packet, then [`Element::next_wake`]. Chains need both with
    /// each packet; within an element's own type they are one call, and the compiler inlines them.
    fn enter(&mut self, now: Time, packets: &mut Vec<Box<Packet<B>>>, out: &mut Outbox<B>) -> Option<Time> {
        for packet in packets.drain(..) {
            self.handle_packet(now, packet, out);
        }
        self.next_wake()
    }

    /// Calls [`Element::handle_wake`], then [`Element::next_wake`].
    fn wake(&mut self, now: Time, out: &mut Outbox<B>) -> Option<Time> {
        self.handle_wake(now, out);
        self.next_wake()
    }

    /// The constant minimum time that a packet spends in the element; `None` if packets may be bounced. The
    /// elements before this one may be called later by this much.
    fn least_delay(&self) -> Option<Span> {
        Some(Span::ZERO)
    }

    fn account(&self) -> Account;

    /// Gauges at `now`, after `handle_wake(now)`.
    fn gauge(&self, now: Time) -> Gauge {
        let _ = now;
        Gauge::default()
    }
}
