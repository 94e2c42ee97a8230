//! Handovers of a mobile or satellite link: before each the rate falls, then nothing passes for a while, and
//! afterwards the path may be longer for some time.
//!
//! ```text
//! rate        ───────┐ fall      at   lasts          rate
//! falling_rate       └──────────┐     ┌──────────────────
//! nothing                       └─────┘├─ extra_delay, for extra_for ─┤
//! ```
//!
//! | `buffer` | packets queued at the start of the gap | packets that arrive in the gap |
//! |---|---|---|
//! | `lost` (default) | lost | lost: there is no receiver |
//! | `kept` | wait | wait: LTE forwards them to the new cell (3GPP TS 36.300, 10.1.2.3) |
//! | `left-behind` | lost with the old cell's buffer | wait for the new cell |
//!
//! Some handovers may *fail*: they last longer (`failure_lasts`, uniformly distributed between minimum and
//! maximum) and have a separate buffer (`failure_buffer`, default `left-behind`: the terminal finds the new
//! cell by itself and the old cell does not know where to forward packets). Failures are drawn from the seed
//! (`failures` of every `among`, or `failure_probability`) or listed (`failed`). Elements with the same
//! `fate` draw the same failures: set it on both directions of a link.
//!
//! A gap is a delay: a packet that arrives s after its start waits `lasts` - s, so the extra delay falls from
//! `lasts` to zero during the gap, plus the time that the queue then takes to drain. At the end hosts this is
//! what a field study reports as "a handover adds 100 ms". An equal delay for every packet in the gap would
//! hold the last one back until `lasts` *after* the gap, which no cell does. The order of packets is kept
//! when the extra delay ends.

use crate::cells::{CellGate, Handovers, Which};
use crate::config::{Config, DisplayNames, StageLimit, misplaced, rate_above_zero};
use crate::events::{INFINITE, RateStep, Schedule, Steps};
use crate::outage::Buffer;
use crate::problem::Problem;
use crate::queue::QueueConfig;
use crate::server::Server;
use crate::{Body, Element, SizeLimit, size_limit};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Rate, Span};

/// A link with handovers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// Start times of handovers since the start of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Span>,
    /// Instead of `at`: time between the starts of two handovers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// With `every`: start of the first handover. Default: after one period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Span>,
    /// Length of the gap in which nothing passes.
    pub lasts: Span,
    /// `"lost"` (default), `"kept"` or `"left-behind"` (packets queued at the start of the gap are lost,
    /// later ones wait).
    #[serde(default)]
    pub buffer: Buffer,
    /// How many of every `among` handovers fail; the seed determines which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// With `failures`: size of the group. Default: all handovers in `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub among: Option<u64>,
    /// Instead of `failures`: the numbers of the handovers that fail; the first handover is 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u64>,
    /// Instead of `failures`: the probability that a handover fails, independently of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_probability: Option<f64>,
    /// Gap of a failed handover: minimum and maximum of a uniform distribution. Default 1s to 2s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_lasts: Option<[Span; 2]>,
    /// The `buffer` of failed handovers. Default `"left-behind"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_buffer: Option<Buffer>,
    /// Elements with the same text draw the same failures. Default: each element draws separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fate: Option<String>,
    /// Bits per second. Default: infinitely fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How long before each handover the rate falls. Default 0.
    #[serde(default)]
    pub fall: Span,
    /// Bits per second during `fall`; 0 for an interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falling_rate: Option<Rate>,
    /// Added to `delay` after each handover. Default 0.
    #[serde(default)]
    pub extra_delay: Span,
    /// How long `extra_delay` applies. Default: until the next handover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_for: Option<Span>,
    /// One-way propagation delay. Default 0.
    #[serde(default)]
    pub delay: Span,
    /// Largest IP packet in bytes. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether senders of larger packets get ICMP "fragmentation needed" (RFC 1191). Default true. False
    /// models a path MTU black hole, as behind `no ip unreachables` or a firewall that blocks ICMP (RFC 2923
    /// section 2.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp: Option<bool>,
    /// Queue before the transmitter. Default: FIFO of 1000 packets.
    #[serde(default)]
    pub queue: QueueConfig,
}

/// Gap of a failed handover: over a second (2019 study of BBR on Chinese high-speed rail).
pub(crate) const FAILURE_LASTS: [Span; 2] = [Span::from_secs(1), Span::from_secs(2)];

impl Handover {
    fn schedule(&self) -> Schedule {
        Schedule {
            at: self.at.clone(),
            first: self.first.or(self.every).unwrap_or_default(),
            every: self.every,
            lasts: self.lasts,
        }
    }

    fn which(&self) -> Result<Which, Problem> {
        let listed = self.failures.and(u64::try_from(self.at.len()).ok()).filter(|&n| n > 0);
        let some = (self.failures, self.among.or(listed));
        Which::read(&self.failed, some, self.failure_probability)
    }

    /// The rate over time; with the gaps if they all have the same length.
    fn steps(&self, gaps: bool) -> Steps {
        let rate = self.rate.unwrap_or(INFINITE);
        let falling = self.falling_rate.unwrap_or(rate);
        let mut steps = vec![RateStep { at: Span::ZERO, rate }];
        let mut event = |at: Span| {
            let begins = at.saturating_sub(self.fall);
            if begins.is_zero() {
                steps.clear();
            }
            let (inside, lasts) = if gaps { (Rate::from_bps(0), self.lasts) } else { (rate, Span::ZERO) };
            for (at, rate) in [(begins, falling), (at, inside), (at + lasts, rate)] {
                if steps.last().is_none_or(|s: &RateStep| s.at < at) {
                    steps.push(RateStep { at, rate });
                } else if let Some(last) = steps.last_mut() {
                    last.rate = rate;
                }
            }
        };
        match self.every {
            // Times count from the fall before the first handover.
            Some(_) => event(self.fall),
            None => self.at.iter().copied().for_each(&mut event),
        }
        let first = self.schedule().first;
        let start = self.every.map_or(Span::ZERO, |_| first.saturating_sub(self.fall));
        Steps::new(steps, self.every).starting(start, rate)
    }

    fn gate(&self, seed: u64, name: &str) -> CellGate {
        let which = self.which().unwrap_or(Which::Never);
        let gaps_in_steps = which == Which::Never;
        let name = self.fate.as_ref().map_or_else(|| name.to_string(), |fate| format!("fate {fate}"));
        CellGate {
            steps: self.steps(gaps_in_steps),
            gaps_in_steps,
            handovers: Handovers {
                schedule: self.schedule(),
                works: self.buffer,
                fails: (
                    self.failure_lasts.unwrap_or(FAILURE_LASTS),
                    self.failure_buffer.unwrap_or(Buffer::LeftBehind),
                ),
                which,
                drawn: (seed, name),
            },
            extra: (self.extra_delay, self.extra_for.unwrap_or(Span::MAX)),
            errors: None,
        }
    }
}

/// A rate for tests that is not so slow that a packet spans thousands of handovers.
pub(crate) fn fast_rate(choices: &mut Choices) -> Rate {
    Rate::from_bps(choices.one(&[20_000_000, 1_000_000, 300_000]) + choices.below(3))
}

impl Config for Handover {
    const WORDS: DisplayNames = DisplayNames {
        label: Label::new("handover", "切换 handover"),
        one: Label::new("handovers", "切换"),
        dropper: Label::new("the handovers", "切换"),
    };

    fn check(&self) -> Result<(), Problem> {
        let none = self.which()? == Which::Never;
        misplaced("failure_lasts", self.failure_lasts.is_some() && none, "handovers that fail")?;
        misplaced("failure_buffer", self.failure_buffer.is_some() && none, "handovers that fail")?;
        misplaced("fate", self.fate.is_some() && none, "handovers that fail")?;
        let mut schedule = self.schedule();
        if !none {
            let [least, most] = self.failure_lasts.unwrap_or(FAILURE_LASTS);
            if least > most {
                return Err(Problem::new("failure_lasts", "the minimum must not exceed the maximum"));
            }
            schedule.lasts = schedule.lasts.max(most);
        }
        schedule.check(self.first.is_some(), self.fall)?;
        rate_above_zero("rate", self.rate)?;
        size_limit::check(self.mtu, self.icmp)?;
        misplaced("falling_rate", self.falling_rate.is_some() && self.fall.is_zero(), "`fall`")?;
        misplaced("extra_for", self.extra_for.is_some() && self.extra_delay.is_zero(), "`extra_delay`")?;
        if !self.fall.is_zero() && self.falling_rate.is_none() {
            return Err(Problem::new("falling_rate", "required with `fall` (for example \"2Mbit/s\")"));
        }
        self.queue.check().map_err(|p| p.within("queue"))
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let queue = self.queue.build(seed, name);
        Box::new(Server::new(queue, self.gate(seed, name), self.delay, SizeLimit::new(self.mtu, self.icmp)))
    }

    fn draw(choices: &mut Choices) -> Handover {
        let (every, fall) = (Span::from_millis(1 + choices.below(30)), choices.span());
        let listed = choices.coin();
        let fails = choices.below(4);
        let rate = |c: &mut Choices| if fails > 0 { fast_rate(c) } else { c.rate() };
        Handover {
            failures: (fails == 1).then(|| choices.below(3)),
            among: (fails == 1).then(|| 2 + choices.below(3)),
            failed: if fails == 2 { vec![1 + choices.below(3), 3] } else { vec![] },
            failure_probability: (fails == 3).then(|| choices.probability()),
            failure_lasts: (fails > 0)
                .then(|| [Span::from_nanos(choices.below(5)), Span::from_millis(choices.below(9))]),
            failure_buffer: if fails > 0 { choices.maybe(Buffer::draw) } else { None },
            fate: (fails > 0 && choices.coin()).then(|| "radio".to_string()),
            at: if listed { vec![every, every * 3] } else { vec![] },
            every: (!listed).then_some(every),
            first: None,
            lasts: choices.span(),
            buffer: Buffer::draw(choices),
            rate: choices.maybe(rate),
            fall,
            falling_rate: (!fall.is_zero()).then(|| rate(choices)),
            extra_delay: choices.span(),
            extra_for: None,
            delay: choices.span(),
            mtu: None,
            icmp: None,
            queue: QueueConfig::draw(choices),
        }
    }

    fn limit(&self) -> StageLimit {
        if self.rate.is_some() || self.falling_rate.is_some() { StageLimit::Varies } else { StageLimit::None }
    }
}
