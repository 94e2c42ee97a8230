//! The contract of a path element, its account and its gauges.

use crate::Packet;
use crate::size_limit::{RefusedSize, SizeLimit};
use units::{Span, Time};

/// Why a packet ended inside an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropCause {
    /// A limiter found too few tokens.
    Policed,
    /// A queue was full.
    Overflow,
    /// A queue's control law (CoDel, RED) chose it.
    Aqm,
    /// Random or scripted loss.
    Loss,
    /// An outage or a handover lost the buffer.
    Outage,
    /// Larger than the MTU and not to be cut, or than a limiter's bucket.
    TooBig,
    /// A fragment whose packet did not come whole.
    Incomplete,
}

/// What leaves an element. The caller empties it after every call.
#[derive(Debug)]
pub struct Outbox<B> {
    /// Handed on, each with the time it was due; times never fall within one outbox.
    pub sent: Vec<(Time, Packet<B>)>,
    /// Ended here.
    pub dropped: Vec<(Time, Packet<B>, DropCause)>,
    /// Too big for so many bytes (third field): the caller tells the sender (RFC 1191, RFC 8201).
    pub bounced: Vec<(Time, Packet<B>, u32)>,
}

impl<B> Default for Outbox<B> {
    fn default() -> Self {
        Outbox { sent: Vec::new(), dropped: Vec::new(), bounced: Vec::new() }
    }
}

impl<B> Outbox<B> {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.sent.clear();
        self.dropped.clear();
        self.bounced.clear();
    }
    /// Whether nothing left.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.dropped.is_empty() && self.bounced.is_empty()
    }
}

/// Conservation: `packets_in + copies == passed + dropped + too_big + joined + held`, always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Packets that arrived.
    pub packets_in: u64,
    /// Packets the element made (duplicates; fragments beyond the first).
    pub copies: u64,
    /// Packets handed on.
    pub passed: u64,
    /// Packets that ended here, for any reason but their size.
    pub dropped: u64,
    /// Packets that ended here because of their size, whether their sender is told or not.
    pub too_big: u64,
    /// What they were too big for, of a limit that has a size.
    pub refused: Option<RefusedSize>,
    /// Fragments that became part of the packet their first one went on as.
    pub joined: u64,
    /// Packets that were cut into fragments.
    pub cut: u64,
    /// Packets held now.
    pub held: u64,
    /// Packets marked: ECN CE set, or DSCP re-marked.
    pub marked: u64,
    /// The most packets ever queued at once.
    pub max_queue: u64,
    /// Sum of the time passed packets spent inside, for the mean.
    pub delay_sum: Span,
    /// The longest time one packet spent inside.
    pub delay_max: Span,
}

impl Account {
    /// Whether the books balance.
    pub fn balances(&self) -> bool {
        self.packets_in + self.copies == self.passed + self.dropped + self.too_big + self.joined + self.held
    }
    /// Books one packet that arrived and is now held.
    #[inline]
    pub fn enter(&mut self) {
        self.packets_in += 1;
        self.held += 1;
    }
    /// Books one held packet handed on after `delay` inside.
    #[inline]
    pub fn pass(&mut self, delay: Span) {
        self.held -= 1;
        self.passed += 1;
        self.delay_sum += delay;
        self.delay_max = self.delay_max.max(delay);
    }
    /// Hands on a held packet that arrived at `since` and was due at `due`.
    #[inline]
    pub fn send<B>(&mut self, out: &mut Outbox<B>, since: Time, due: Time, packet: Packet<B>) {
        self.pass(due.since(since));
        out.sent.push((due, packet));
    }
    /// Ends a held packet at `at`.
    pub fn lose<B>(&mut self, out: &mut Outbox<B>, at: Time, packet: Packet<B>, cause: DropCause) {
        self.held -= 1;
        match cause {
            DropCause::TooBig => self.too_big += 1,
            _ => self.dropped += 1,
        }
        out.dropped.push((at, packet, cause));
    }
    /// Ends a held packet that is too big for `limit`: its sender is told, where the limit's host tells. What is refused inside
    /// a tunnel carries its headers, and the sender's own packet has to be smaller by them: the tunnel's entry translates the
    /// message (RFC 4459 section 3.2, RFC 4301 section 8.2.1).
    pub fn refuse<B>(&mut self, out: &mut Outbox<B>, at: Time, packet: Packet<B>, limit: SizeLimit) {
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

/// What a time series samples of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gauge {
    /// Packets queued (not those in propagation).
    pub queue_packets: u64,
    /// Bytes queued.
    pub queue_bytes: u64,
    /// Tokens in the (first) bucket, bytes; `None` where there is no bucket.
    pub tokens_bytes: Option<u64>,
}

/// One thing on the path. See the crate's head for the order of calls.
pub trait Element<B>: Send {
    /// A packet arrives. `now` never falls from call to call of any verb.
    /// First catches up to `now` as [`Element::handle_wake`] does.
    fn handle_packet(&mut self, now: Time, packet: Packet<B>, out: &mut Outbox<B>);

    /// Catches up: everything due by `now` goes to `out`, stamped with the time it was due.
    fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>);

    /// When the element next has something to hand on, or `None`. May be earlier than needed,
    /// never later than the next packet due out. What an element only has to *decide* in between
    /// (begin a transmission, an AQM drop) it may leave to the next call, with its exact due time.
    fn next_wake(&self) -> Option<Time>;

    /// The least time any packet spends inside; `None` where packets may be bounced. A constant.
    /// What happens before the element need not be acted on until so much later.
    fn least_delay(&self) -> Option<Span> {
        Some(Span::ZERO)
    }

    /// The books.
    fn account(&self) -> Account;

    /// Gauges at `now`, after a `handle_wake(now)`.
    fn gauge(&self, now: Time) -> Gauge {
        let _ = now;
        Gauge::default()
    }
}
