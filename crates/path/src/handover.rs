//! Handovers of a mobile or satellite link: before each the rate falls, then nothing passes for a
//! while, and behind it the path may be longer for some time.
//!
//! ```text
//! rate        ───────┐ fall      at   lasts          rate
//! falling_rate       └──────────┐     ┌──────────────────
//! nothing                       └─────┘├─ extra_delay, for extra_for ─┤
//! ```
//! What is queued at `at` or arrives during the gap is lost (hard handover) or kept (forwarded to
//! the new cell). The order of packets is kept when the extra delay ends.

use crate::config::{Config, Problem, misplaced, mtu_of_ip, rate_above_zero};
use crate::events::{INFINITE, Schedule, Step, Steps};
use crate::outage::Buffer;
use crate::queue::QueueConfig;
use crate::server::{Gate, Server};
use crate::{Body, Element};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Rate, Span, Time};

/// A link with handovers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// When handovers begin: a list of times since the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Span>,
    /// Instead of `at`: from begin to begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// With `every`: when the first begins. Default: after one period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Span>,
    /// How long nothing passes.
    pub lasts: Span,
    /// `"lost"` (default) or `"kept"`.
    #[serde(default)]
    pub buffer: Buffer,
    /// Bits per second; left out: infinitely fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// For how long before each handover the rate has fallen. Default 0.
    #[serde(default)]
    pub fall: Span,
    /// Bits per second during `fall`; 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falling_rate: Option<Rate>,
    /// Added to `delay` after each handover. Default 0.
    #[serde(default)]
    pub extra_delay: Span,
    /// For how long. Default: until the next handover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_for: Option<Span>,
    /// Propagation delay, one way. Default 0.
    #[serde(default)]
    pub delay: Span,
    /// Largest IP packet in bytes; left out: any size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// What waits for the transmitter. Default: 1000 packets first in, first out.
    #[serde(default)]
    pub queue: QueueConfig,
}

impl Handover {
    fn schedule(&self) -> Schedule {
        Schedule {
            at: self.at.clone(),
            first: self.first.or(self.every).unwrap_or_default(),
            every: self.every,
            lasts: self.lasts,
        }
    }

    fn gate(&self) -> HandoverGate {
        let rate = self.rate.unwrap_or(INFINITE);
        let falling = self.falling_rate.unwrap_or(rate);
        let mut steps = vec![Step { at: Span::ZERO, rate }];
        let mut event = |at: Span| {
            let begins = at.saturating_sub(self.fall);
            if begins.is_zero() {
                steps.clear();
            }
            for (at, rate) in [(begins, falling), (at, Rate::from_bps(0)), (at + self.lasts, rate)] {
                if steps.last().is_none_or(|s: &Step| s.at < at) {
                    steps.push(Step { at, rate });
                } else if let Some(last) = steps.last_mut() {
                    last.rate = rate;
                }
            }
        };
        match self.every {
            // Counted from the fall before the first handover.
            Some(_) => event(self.fall),
            None => self.at.iter().copied().for_each(&mut event),
        }
        let schedule = self.schedule();
        let start = self.every.map_or(Span::ZERO, |_| schedule.first.saturating_sub(self.fall));
        HandoverGate {
            steps: Steps::new(steps, self.every).starting(start, rate),
            schedule,
            lost: self.buffer == Buffer::Lost,
            extra: (self.extra_delay, self.extra_for.unwrap_or(Span::MAX)),
        }
    }
}

impl Config for Handover {
    fn check(&self) -> Result<(), Problem> {
        self.schedule().check(self.first.is_some(), self.fall)?;
        rate_above_zero("rate", self.rate)?;
        mtu_of_ip(self.mtu)?;
        misplaced("falling_rate", self.falling_rate.is_some() && self.fall.is_zero(), "`fall`")?;
        misplaced("extra_for", self.extra_for.is_some() && self.extra_delay.is_zero(), "`extra_delay`")?;
        if !self.fall.is_zero() && self.falling_rate.is_none() {
            return Err(Problem::new("falling_rate", "which rate during `fall`? (\"2Mbit/s\")"));
        }
        self.queue.check().map_err(|p| p.within("queue"))
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let queue = self.queue.build(seed, name);
        Box::new(Server::new(queue, self.gate(), self.delay, self.mtu))
    }
}

struct HandoverGate {
    steps: Steps,
    schedule: Schedule,
    lost: bool,
    /// Extra delay and for how long after each handover.
    extra: (Span, Span),
}

impl Gate for HandoverGate {
    const HEAD_COUNTS: bool = false;

    fn ready(&mut self, at: Time, size: u32) -> Time {
        self.steps.through(at, size)
    }

    fn purge(&self, from: Time) -> Option<Time> {
        let event = self.schedule.from(from).filter(|_| self.lost);
        event.map(|(begin, _)| begin.max(from))
    }

    fn down(&self, at: Time) -> bool {
        self.lost && self.schedule.from(at).is_some_and(|(begin, _)| begin <= at)
    }

    fn extra_delay(&self, at: Time) -> Span {
        match self.schedule.last_end(at) {
            Some(end) if at.since(end) < self.extra.1 => self.extra.0,
            _ => Span::ZERO,
        }
    }
}
