//! Elements in series, driven as one.
//!
//! A packet that leaves element i at its due time t enters element i + 1 at t. Packets only move forward, so
//! the elements can be advanced to `now` one after another, each fed with the output of its predecessor, in
//! order. The result is the same as if all events were handled in order of time (ties: earlier element
//! first), however late the call. The chain has one deadline: the earliest time at which something may come
//! out. For example, a shaper before a delay of 10 ms need not be called until 10 ms after each departure. An
//! element without input and without anything due is not called.

use crate::{Account, Body, Element, Gauge, Outbox, Packet, Stage};
use units::{Span, Time, earliest};

struct ChainPart<B> {
    name: String,
    element: Box<dyn Element<B>>,
    /// The element's `next_wake` after its last call.
    wake: Option<Time>,
    /// Minimum delay of the later elements: the chain may act this much later than `wake`.
    slack: Span,
    /// Whether a later element may bounce packets; `slack` counts only the elements before that one.
    bounded: bool,
}

impl<B> ChainPart<B> {
    /// When the chain must act for this element.
    fn acts(&self) -> Option<Time> {
        self.wake.map(|t| t + self.slack)
    }
}

/// A path: elements in series. A chain without elements sends packets on at once.
pub struct Chain<B> {
    parts: Vec<ChainPart<B>>,
    wake: Option<Time>,
    /// Packets that enter the first element.
    entering: Vec<Box<Packet<B>>>,
    /// Input of the current element, other than the first.
    feed: Vec<(Time, Box<Packet<B>>)>,
    /// Output of the current element.
    scratch: Outbox<B>,
    watch: Option<Watch<B>>,
}

/// Copies of the packets that left each element.
struct Watch<B> {
    copy: fn(&Packet<B>) -> Packet<B>,
    seen: Vec<Passage<B>>,
}

/// Index of an element, the time at which the packet left it, and a copy of the packet at that time.
pub type Passage<B> = (usize, Time, Packet<B>);

impl<B> Default for Chain<B> {
    fn default() -> Self {
        Chain {
            parts: Vec::new(),
            wake: None,
            entering: Vec::new(),
            feed: Vec::new(),
            scratch: Outbox::default(),
            watch: None,
        }
    }
}

impl<B: Body + Send + 'static> Chain<B> {
    /// Builds the named stages in order. A stage's random stream is determined by its name.
    pub fn build<'a>(seed: u64, stages: impl IntoIterator<Item = (&'a str, &'a Stage)>) -> Self {
        let mut chain = Chain::default();
        for (name, stage) in stages {
            chain.push(name, stage.build(seed, name));
        }
        chain
    }
}

impl<B: Clone> Chain<B> {
    /// Starts to keep a copy of every packet that leaves an element, for [`Chain::drain_seen`].
    pub fn watch(&mut self) {
        self.watch = Some(Watch { copy: Packet::clone, seen: Vec::new() });
    }
}

impl<B> Chain<B> {
    /// Whether [`Chain::watch`] was called.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// The packets that have left the elements of a watched chain since the last call. Within one call of an
    /// input method they are ordered by element; for each element times are in order.
    pub fn drain_seen(&mut self) -> impl Iterator<Item = Passage<B>> {
        self.watch.iter_mut().flat_map(|w| w.seen.drain(..))
    }

    /// Appends an element. Must be called before the first packet.
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

    pub fn len(&self) -> usize {
        self.parts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The elements' names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.name.as_str())
    }

    /// A packet enters the first element at `now`, after everything that is due by then.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: impl Into<Box<Packet<B>>>, out: &mut Outbox<B>) {
        let mut entering = std::mem::take(&mut self.entering);
        entering.push(packet.into());
        self.handle_packets(now, &mut entering, out);
        self.entering = entering;
    }

    /// Packets enter the first element at `now`, one after the other, after everything that is due by then.
    /// `packets` is empty afterwards.
    #[inline]
    pub fn handle_packets(&mut self, now: Time, packets: &mut Vec<Box<Packet<B>>>, out: &mut Outbox<B>) {
        match self.parts.as_mut_slice() {
            [] => out.sent.extend(packets.drain(..).map(|packet| (now, packet))),
            [only] if self.watch.is_none() => {
                self.wake = only.element.enter(now, packets, out);
            }
            // A watched packet is shown at all elements before the next one.
            _ if self.watch.is_some() => {
                packets.drain(..).for_each(|p| self.run(now, &mut vec![p], false, out))
            }
            _ => self.run(now, packets, false, out),
        }
    }

    /// Catches up: everything that is due by `now` goes to `out` with its due time.
    #[inline]
    pub fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>) {
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        match self.parts.as_mut_slice() {
            [only] if self.watch.is_none() => {
                self.wake = only.element.wake(now, out);
            }
            _ => self.run(now, &mut Vec::new(), false, out),
        }
    }

    /// Like [`Chain::handle_wake`], but calls every element whether it has something due or not. Required
    /// before [`Chain::gauge`] at the same `now`.
    pub fn catch_up(&mut self, now: Time, out: &mut Outbox<B>) {
        match self.parts.as_mut_slice() {
            [only] if self.watch.is_none() => {
                self.wake = only.element.wake(now, out);
            }
            _ => self.run(now, &mut Vec::new(), true, out),
        }
    }

    /// When the chain next may have something to send, or `None`.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    pub fn account(&self, i: usize) -> Account {
        self.parts[i].element.account()
    }

    /// The gauges of element `i`, directly after [`Chain::catch_up`] at the same `now`.
    pub fn gauge(&self, i: usize, now: Time) -> Gauge {
        self.parts[i].element.gauge(now)
    }

    #[inline(never)]
    fn run(&mut self, now: Time, packets: &mut Vec<Box<Packet<B>>>, all: bool, out: &mut Outbox<B>) {
        let lost = (out.dropped.len(), out.bounced.len());
        let last = self.parts.len().saturating_sub(1);
        let mut unordered = false;
        self.wake = None;
        for (i, part) in self.parts.iter_mut().enumerate() {
            if all
                || !self.feed.is_empty()
                || !packets.is_empty()
                || part.wake.is_some_and(|wake| wake <= now)
            {
                // The last element writes to the caller's outbox.
                let target: &mut Outbox<B> = if i == last { out } else { &mut self.scratch };
                let before = target.sent.len();
                if !packets.is_empty() {
                    part.wake = part.element.enter(now, packets, target);
                }
                for (at, packet) in self.feed.drain(..) {
                    self.entering.push(packet);
                    part.wake = part.element.enter(at, &mut self.entering, target);
                }
                if all || part.wake.is_some_and(|wake| wake <= now) {
                    part.wake = part.element.wake(now, target);
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
            // A stable sort: ties keep the order of the elements.
            out.dropped[lost.0..].sort_by_key(|drop| drop.0);
            out.bounced[lost.1..].sort_by_key(|bounce| bounce.0);
        }
    }
}
