//! Duplication and reordering, each with a probability per packet.

use crate::config::{Config, Problem, probability};
use crate::line::Line;
use crate::{Account, Body, Element, Outbox, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Span, Stream, Time};

/// Some packets are sent twice; the copy follows at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// The probability that a packet is duplicated, 0 to 1.
    pub probability: f64,
}

impl Config for Duplicate {
    fn check(&self) -> Result<(), Problem> {
        probability("probability", self.probability)
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        Box::new(DuplicateElement {
            probability: self.probability,
            stream: Stream::new(seed, name),
            account: Account::default(),
        })
    }
}

struct DuplicateElement {
    probability: f64,
    stream: Stream,
    account: Account,
}

impl<B: Body + Send> Element<B> for DuplicateElement {
    fn handle_packet(&mut self, now: Time, packet: Packet<B>, out: &mut Outbox<B>) {
        self.account.enter();
        if self.stream.chance(self.probability) {
            self.account.copies += 1;
            self.account.held += 1;
            self.account.send(out, now, now, packet.clone());
        }
        self.account.send(out, now, now, packet);
    }

    fn handle_wake(&mut self, _now: Time, _out: &mut Outbox<B>) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn account(&self) -> Account {
        self.account
    }
}

/// Some packets are held back, so that others overtake them; the rest pass at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// The probability that a packet is held back, 0 to 1.
    pub probability: f64,
    /// For how long.
    pub delay: Span,
}

impl Config for Reorder {
    fn check(&self) -> Result<(), Problem> {
        probability("probability", self.probability)
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        Box::new(ReorderElement {
            config: self.clone(),
            stream: Stream::new(seed, name),
            line: Line::new(),
            account: Account::default(),
        })
    }
}

struct ReorderElement<B> {
    config: Reorder,
    stream: Stream,
    line: Line<B>,
    account: Account,
}

impl<B: Send> Element<B> for ReorderElement<B> {
    fn handle_packet(&mut self, now: Time, packet: Packet<B>, out: &mut Outbox<B>) {
        self.line.catch_up(now, &mut self.account, out);
        self.account.enter();
        if self.stream.chance(self.config.probability) && !self.config.delay.is_zero() {
            self.line.push(now, now + self.config.delay, packet);
        } else {
            self.account.send(out, now, now, packet);
        }
    }

    fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>) {
        self.line.catch_up(now, &mut self.account, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.line.next()
    }

    fn account(&self) -> Account {
        self.account
    }
}
