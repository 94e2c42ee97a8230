//! Outages: nothing passes for a while. Packets that arrive meanwhile are lost, or wait in a queue and leave
//! at once, in order, when the outage ends (the next link spaces them). At other times packets pass without
//! delay.

use crate::config::{Config, DisplayNames};
use crate::events::Schedule;
use crate::problem::Problem;
use crate::queue::QueueConfig;
use crate::server::{Gate, Server};
use crate::{Body, Element, SizeLimit};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Span, Time};

/// What happens to packets that are queued when an outage or a handover begins, or that arrive during it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// The packets are lost.
    #[default]
    Lost,
    /// The packets wait.
    Kept,
    /// Handovers only: packets queued at the start stay in the old cell and are lost; later ones wait for the
    /// new cell.
    LeftBehind,
}

impl Buffer {
    pub(crate) fn draw(choices: &mut Choices) -> Buffer {
        choices.one(&[Buffer::Lost, Buffer::Kept, Buffer::LeftBehind])
    }
}

/// An outage: nothing passes for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Start times of outages since the start of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Span>,
    /// Instead of `at`: time between the starts of two outages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// With `every`: start of the first outage. Default: after one period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Span>,
    /// Duration of each outage.
    pub lasts: Span,
    /// `"lost"` (default) or `"kept"`.
    #[serde(default)]
    pub buffer: Buffer,
    /// The queue for `"kept"`. Default: FIFO of 1000 packets.
    #[serde(default)]
    pub queue: QueueConfig,
}

impl Outage {
    fn schedule(&self) -> Schedule {
        Schedule {
            at: self.at.clone(),
            first: self.first.or(self.every).unwrap_or_default(),
            every: self.every,
            lasts: self.lasts,
        }
    }
}

impl Config for Outage {
    const WORDS: DisplayNames = DisplayNames {
        label: Label::new("outage", "中断 outage"),
        one: Label::new("outages", "中断"),
        dropper: Label::new("the outages", "中断"),
    };

    fn check(&self) -> Result<(), Problem> {
        self.schedule().check(self.first.is_some(), Span::ZERO)?;
        if self.lasts.is_zero() {
            return Err(Problem::new("lasts", "must be above 0 (for example \"200ms\")"));
        }
        if self.buffer == Buffer::LeftBehind {
            return Err(Problem::new(
                "buffer",
                "\"left-behind\" applies only to handovers; use \"lost\" or \"kept\"",
            ));
        }
        self.queue.check().map_err(|p| p.within("queue"))
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let gate = OutageGate { schedule: self.schedule(), lost: self.buffer == Buffer::Lost };
        Box::new(Server::new(self.queue.build(seed, name), gate, Span::ZERO, SizeLimit::NONE))
    }

    fn draw(choices: &mut Choices) -> Outage {
        Outage {
            at: vec![],
            every: Some(Span::from_millis(7 + choices.below(20))),
            first: choices.maybe(Choices::span),
            lasts: Span::from_nanos(1 + choices.below(6_000_000)),
            buffer: choices.one(&[Buffer::Lost, Buffer::Kept]),
            queue: QueueConfig::draw(choices),
        }
    }
}

struct OutageGate {
    schedule: Schedule,
    lost: bool,
}

impl OutageGate {
    /// The end of the outage at `at`, if there is one.
    fn end(&self, at: Time) -> Option<Time> {
        self.schedule.from(at).filter(|&(begin, _)| begin <= at).map(|(_, end)| end)
    }
}

impl Gate for OutageGate {
    const HEAD_COUNTS: bool = true;

    fn ready(&mut self, at: Time, _size: u32) -> Time {
        self.end(at).unwrap_or(at)
    }

    fn is_down(&self, at: Time) -> bool {
        self.lost && self.end(at).is_some()
    }
}
