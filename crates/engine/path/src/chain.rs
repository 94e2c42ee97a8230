//! Elements one after another, driven as one.
//!
//! A packet that leaves element i at its due time t enters element i + 1 at t. Packets only ever
//! go forward, so element after element may be caught up to `now`, each fed with what its
//! predecessor sent, in order: the result is that of handling all events earliest first (ties:
//! earlier element first), however late the call. The chain has one deadline: the earliest time at
//! which something may come out. A shaper before a delay of 10 ms need not be looked at until 10 ms
//! after each departure. An element that is fed nothing and has nothing due is not called.

use crate::{Account, Body, Element, Gauge, Outbox, Packet, Stage};
use units::{Span, Time, earliest};

struct ChainPart<B> {
    name: String,
    element: Box<dyn Element<B>>,
    /// The element's `next_wake`, as of its last call.
    wake: Option<Time>,
    /// How much later than that the chain may act: nothing comes out earlier.
    slack: Span,
    /// A later element may bounce: slack ends before it.
    bounded: bool,
}

impl<B> ChainPart<B> {
    /// When the chain must act for this element.
    fn acts(&self) -> Option<Time> {
        self.wake.map(|t| t + self.slack)
    }
}

/// A path: elements in series. No element at all passes packets at once.
pub struct Chain<B> {
    parts: Vec<ChainPart<B>>,
    wake: Option<Time>,
    /// What enters the element at hand.
    feed: Vec<(Time, Packet<B>)>,
    /// What leaves it.
    scratch: Outbox<B>,
    watch: Option<Watch<B>>,
}

/// Copies of what left each element.
struct Watch<B> {
    copy: fn(&Packet<B>) -> Packet<B>,
    seen: Vec<Passage<B>>,
}

/// The element's index, when the packet left it, and the packet as it was then.
pub type Passage<B> = (usize, Time, Packet<B>);

impl<B> Default for Chain<B> {
    fn default() -> Self {
        Chain { parts: Vec::new(), wake: None, feed: Vec::new(), scratch: Outbox::default(), watch: None }
    }
}

impl<B: Body + Send + 'static> Chain<B> {
    /// Builds the named stages, first to last. A stage's random stream is that of its name.
    pub fn build<'a>(seed: u64, stages: impl IntoIterator<Item = (&'a str, &'a Stage)>) -> Self {
        let mut chain = Chain::default();
        for (name, stage) in stages {
            chain.push(name, stage.build(seed, name));
        }
        chain
    }
}

impl<B: Clone> Chain<B> {
    /// From now on keeps a copy of every packet that leaves an element, for [`Chain::drain_seen`].
    pub fn watch(&mut self) {
        self.watch = Some(Watch { copy: Packet::clone, seen: Vec::new() });
    }
}

impl<B> Chain<B> {
    /// What left the elements of a watched chain since the last call, element by element within
    /// one call of a verb; never the times of one element out of order.
    pub fn drain_seen(&mut self) -> impl Iterator<Item = Passage<B>> {
        self.watch.iter_mut().flat_map(|w| w.seen.drain(..))
    }

    /// Adds an element at the end, before the first packet.
    pub fn push(&mut self, name: impl Into<String>, element: Box<dyn Element<B>>) {
        let (wake, least) = (element.next_wake(), element.least_delay());
        for part in self.parts.iter_mut().filter(|p| !p.bounded) {
            match least {
                Some(delay) => part.slack += delay,
                None => part.bounded = true,
            }
        }
        self.parts.push(ChainPart { name: name.into(), element, wake, slack: Span::ZERO, bounded: false });
        self.wake = self.parts.iter().fold(None, |t, p| earliest(t, p.acts()));
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The elements' names, first to last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.name.as_str())
    }

    /// A packet enters the first element at `now`, after everything due by then.
    pub fn handle_packet(&mut self, now: Time, packet: Packet<B>, out: &mut Outbox<B>) {
        match self.parts.as_mut_slice() {
            [] => out.sent.push((now, packet)),
            [only] if self.watch.is_none() => {
                only.element.handle_packet(now, packet, out);
                self.wake = only.element.next_wake();
            }
            _ => {
                self.feed.push((now, packet));
                self.run(now, false, out);
            }
        }
    }

    /// Catches up: everything due by `now` goes to `out`, stamped with the time it was due.
    pub fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>) {
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        match self.parts.as_mut_slice() {
            [only] if self.watch.is_none() => {
                only.element.handle_wake(now, out);
                self.wake = only.element.next_wake();
            }
            _ => self.run(now, false, out),
        }
    }

    /// As [`Chain::handle_wake`], but calls every element, due or not: before a
    /// [`Chain::gauge`] at the same `now`.
    pub fn catch_up(&mut self, now: Time, out: &mut Outbox<B>) {
        match self.parts.as_mut_slice() {
            [only] if self.watch.is_none() => {
                only.element.handle_wake(now, out);
                self.wake = only.element.next_wake();
            }
            _ => self.run(now, true, out),
        }
    }

    /// When the chain next may have something to hand on, or `None`.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    /// The books of element `i`.
    pub fn account(&self, i: usize) -> Account {
        self.parts[i].element.account()
    }

    /// The gauges of element `i`, right after [`Chain::catch_up`] at the same `now`.
    pub fn gauge(&self, i: usize, now: Time) -> Gauge {
        self.parts[i].element.gauge(now)
    }

    fn run(&mut self, now: Time, all: bool, out: &mut Outbox<B>) {
        let lost = (out.dropped.len(), out.bounced.len());
        let last = self.parts.len().saturating_sub(1);
        let mut unordered = false;
        self.wake = None;
        for (i, part) in self.parts.iter_mut().enumerate() {
            if all || !self.feed.is_empty() || part.wake.is_some_and(|wake| wake <= now) {
                // The last writes to the caller.
                let target: &mut Outbox<B> = if i == last { out } else { &mut self.scratch };
                let before = target.sent.len();
                for (at, packet) in self.feed.drain(..) {
                    part.element.handle_packet(at, packet, target);
                }
                part.wake = part.element.next_wake();
                if all || part.wake.is_some_and(|wake| wake <= now) {
                    part.element.handle_wake(now, target);
                    part.wake = part.element.next_wake();
                }
                if let Some(watch) = &mut self.watch {
                    let passed = target.sent[before..].iter();
                    watch.seen.extend(passed.map(|(t, p)| (i, *t, (watch.copy)(p))));
                }
                if i != last {
                    std::mem::swap(&mut self.feed, &mut self.scratch.sent);
                    if !self.scratch.dropped.is_empty() || !self.scratch.bounced.is_empty() {
                        out.dropped.append(&mut self.scratch.dropped);
                        out.bounced.append(&mut self.scratch.bounced);
                        unordered = true;
                    }
                }
            }
            self.wake = earliest(self.wake, part.acts());
        }
        if unordered {
            // Stable: ties stay in order of the elements.
            out.dropped[lost.0..].sort_by_key(|drop| drop.0);
            out.bounced[lost.1..].sort_by_key(|bounce| bounce.0);
        }
    }
}
