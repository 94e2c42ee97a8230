//! Reordering: each packet is delayed with a given probability, so that others overtake it; the others pass
//! at once.

use crate::config::{Config, DisplayNames, probability};
use crate::line::DelayLine;
use crate::problem::Problem;
use crate::{Account, Body, Element, Outbox, Packet};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Span, Stream, Time};

/// Delays random packets, so that others overtake them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// The probability that a packet is delayed, 0 to 1.
    pub probability: f64,
    /// The delay.
    pub delay: Span,
}

impl Config for Reorder {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("reorder", "乱序 reorder"),
        one: Label::new("reordering", "乱序"),
        dropper: Label::new("the reordering", "乱序"),
    };

    fn check(&self) -> Result<(), Problem> {
        probability("probability", self.probability)
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        Box::new(ReorderElement {
            config: self.clone(),
            stream: Stream::new(seed, name),
            line: DelayLine::new(),
            account: Account::default(),
        })
    }

    fn draw(choices: &mut Choices) -> Reorder {
        Reorder { probability: choices.probability(), delay: choices.span() }
    }
}

struct ReorderElement<B> {
    config: Reorder,
    stream: Stream,
    line: DelayLine<B>,
    account: Account,
}

impl<B: Send> Element<B> for ReorderElement<B> {
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
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
