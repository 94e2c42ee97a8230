//! A constant delay without a rate or a queue. Packets are lost only if `packets` limits the number in
//! transit.

use crate::config::{Config, DisplayNames, packets_above_zero};
use crate::jitter::Jitter;
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
    /// Delay of every packet.
    pub delay: Span,
    /// Maximum number of packets in transit; further ones are dropped (Linux `netem limit`). Default: no
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
}

impl Delay {
    /// A delay without a limit of packets.
    pub fn new(delay: Span) -> Delay {
        Delay { delay, packets: None }
    }
}

impl Config for Delay {
    const WORDS: DisplayNames = DisplayNames {
        label: Label::new("delay", "固定时延 delay"),
        one: Label::new("a delay", "固定时延"),
        dropper: Label::new("the delay", "固定时延"),
    };

    fn check(&self) -> Result<(), Problem> {
        packets_above_zero(self.packets)
    }

    /// Builds an infinitely fast link, or, with a limit of packets, jitter of width zero.
    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        if self.packets.is_some() {
            let (delay, packets) = (self.delay, self.packets);
            return Jitter { delay, packets, jitter: Some(Span::ZERO), ..Jitter::default() }
                .build(seed, name);
        }
        let queue = QueueConfig::Fifo(Fifo { packets: Some(1), bytes: None });
        Link { rate: None, delay: self.delay, mtu: None, icmp: None, queue }.build(seed, name)
    }

    fn draw(choices: &mut Choices) -> Delay {
        Delay { delay: choices.span(), packets: choices.maybe(|c| 1 + c.below(50)) }
    }
}
