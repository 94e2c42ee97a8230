//! Duplication: each packet is sent twice with a given probability; the copy follows immediately.

use crate::config::{Config, DisplayNames, probability};
use crate::problem::Problem;
use crate::{Account, Body, Element, Outbox, Packet};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Stream, Time};

/// Duplicates packets at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// The probability that a packet is duplicated, 0 to 1.
    pub probability: f64,
}

impl Config for Duplicate {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("duplicate", "重复包 duplicate"),
        one: Label::new("duplicates", "重复包"),
        dropper: Label::new("the duplication", "重复包"),
    };

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

    fn draw(choices: &mut Choices) -> Duplicate {
        Duplicate { probability: choices.probability() }
    }
}

struct DuplicateElement {
    probability: f64,
    stream: Stream,
    account: Account,
}

impl<B: Body + Send> Element<B> for DuplicateElement {
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
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
