//! A constant delay: no rate, no queue, nothing lost.

use crate::config::{Config, Words};
use crate::link::Link;
use crate::problem::Problem;
use crate::queue::{Fifo, QueueConfig};
use crate::{Body, Element};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Span};

/// A constant delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// How long every packet takes.
    pub delay: Span,
}

impl Config for Delay {
    const WORDS: Words = Words {
        label: Label::new("delay", "固定时延 delay"),
        one: Label::new("a delay", "固定时延"),
        dropper: Label::new("the delay", "固定时延"),
    };

    fn check(&self) -> Result<(), Problem> {
        Ok(())
    }

    /// An infinitely fast link is just that.
    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let queue = QueueConfig::Fifo(Fifo { packets: Some(1), bytes: None });
        Link { rate: None, delay: self.delay, mtu: None, icmp: None, queue }.build(seed, name)
    }

    fn draw(choices: &mut Choices) -> Delay {
        Delay { delay: choices.span() }
    }
}
