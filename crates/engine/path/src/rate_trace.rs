//! A link whose rate follows a trace.
//!
//! | key | format | a packet leaves |
//! |---|---|---|
//! | `opportunities` | mahimahi: times in ms of delivery opportunities of 1504 bytes, repeated at the end | with the opportunity that carries its last byte; opportunities that an empty queue does not use are lost |
//! | `steps` | times and rates, constant in between; repeated with `period` | when the rates since its start add up to its size |
//!
//! `file` names a text in either format: one whole number per line (mahimahi), or a time and a rate per line
//! (`2.5s 20Mbit/s`); `#` begins a comment. Source: mahimahi `link_queue.cc` (Netravali et al. 2015).

use crate::config::{Config, DisplayNames, StageLimit};
use crate::events::{RateStep, Steps};
use crate::problem::Problem;
use crate::queue::QueueConfig;
use crate::server::{Gate, Server};
use crate::{Body, Element, SizeLimit, size_limit};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Rate, Span, Time};

/// A link whose rate follows a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RateTrace {
    /// A trace file: mahimahi's format or lines with time and rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Times of delivery opportunities of 1504 bytes in ms, non-decreasing; after the last one the trace
    /// repeats (mahimahi).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opportunities: Vec<u64>,
    /// Rates, each from a given time on; the first at 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RateStep>,
    /// With `steps`: the time after which they repeat. Default: the last rate applies to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// One-way propagation delay. Default 0.
    pub delay: Span,
    /// Largest IP packet in bytes. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether senders of larger packets get ICMP "fragmentation needed" (RFC 1191). Default true. False
    /// models a path MTU black hole, as behind `no ip unreachables` or a firewall that blocks ICMP (RFC 2923
    /// section 2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp: Option<bool>,
    /// Queue before the transmitter. Default: FIFO of 1000 packets.
    pub queue: QueueConfig,
}

/// Maximum time in a trace, ms: repeats must not overflow a time in nanoseconds.
const MAX_MS: u64 = 1_000_000_000;

impl RateTrace {
    fn check_opportunities(&self) -> Result<(), Problem> {
        let key = "opportunities";
        if self.opportunities.windows(2).any(|w| w[1] < w[0]) {
            return Err(Problem::new(key, "times must not decrease"));
        }
        match self.opportunities.last() {
            Some(0) => Err(Problem::new(key, "the last must be above 0 ms: it is the period")),
            Some(&last) if last > MAX_MS => Err(Problem::new(key, format!("must not exceed {MAX_MS} ms"))),
            _ if self.period.is_some() => Err(Problem::new("period", "applies only to `steps`")),
            _ => Ok(()),
        }
    }

    fn check_steps(&self) -> Result<(), Problem> {
        let wrong = |message: &str| Err(Problem::new("steps", message));
        if self.steps.first().is_some_and(|s| !s.at.is_zero()) {
            return wrong("the first must be at 0s");
        }
        if self.steps.windows(2).any(|w| w[1].at <= w[0].at) {
            return wrong("times must increase");
        }
        let Some(last) = self.steps.last() else { return wrong("is empty") };
        match self.period {
            Some(period) if period <= last.at => {
                Err(Problem::new("period", "must be longer than the last step's time"))
            }
            Some(_) if self.steps.iter().all(|s| s.rate.as_bps() == 0) => {
                wrong("at least one rate must be above zero")
            }
            None if last.rate.as_bps() == 0 => {
                wrong("the last rate applies to the end and must be above zero (or set `period`)")
            }
            _ => Ok(()),
        }
    }
}

impl RateTrace {
    /// The mean rate over a period, if the trace has one. A run that ends within a period may see a higher or
    /// lower mean.
    pub fn mean_rate(&self) -> Option<Rate> {
        let mean = |bits: f64, seconds: f64| (seconds > 0.0).then(|| Rate::from_bps((bits / seconds) as u64));
        if let Some(&last) = self.opportunities.last() {
            return mean((self.opportunities.len() as u64 * OPPORTUNITY * 8) as f64, last as f64 / 1e3);
        }
        let period = self.period?;
        let ends = self.steps.iter().skip(1).map(|s| s.at).chain([period]);
        let bits = self
            .steps
            .iter()
            .zip(ends)
            .map(|(s, end)| s.rate.as_bps() as f64 * end.saturating_sub(s.at).as_secs_f64());
        mean(bits.sum(), period.as_secs_f64())
    }
}

/// One line of a trace.
enum TraceLine {
    Opportunity(u64),
    Step(RateStep),
}

fn line(text: &str) -> Option<TraceLine> {
    if let Ok(ms) = text.parse() {
        return Some(TraceLine::Opportunity(ms));
    }
    let (at, rate) = text.split_once(char::is_whitespace)?;
    Some(TraceLine::Step(RateStep { at: at.parse().ok()?, rate: rate.trim().parse().ok()? }))
}

impl Config for RateTrace {
    const WORDS: DisplayNames = DisplayNames {
        label: Label::new("rate-trace", "变速率链路 rate-trace"),
        one: Label::new("a link of varying rate", "变速率链路"),
        dropper: Label::new("a queue", "队列"),
    };

    fn check(&self) -> Result<(), Problem> {
        let given = [self.file.is_some(), !self.opportunities.is_empty(), !self.steps.is_empty()];
        match given {
            [true, false, false] => return Err(Problem::new("file", "is not loaded")),
            [false, true, false] => self.check_opportunities()?,
            [false, false, true] => self.check_steps()?,
            _ => {
                let message = "set exactly one of `file`, `opportunities`, `steps`";
                return Err(Problem::new("steps", message));
            }
        }
        size_limit::check(self.mtu, self.icmp)?;
        self.queue.check().map_err(|p| p.within("queue"))
    }

    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    fn load(&mut self, text: &str) -> Result<(), Problem> {
        for (number, raw) in text.lines().enumerate() {
            let content = raw.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            match line(content) {
                Some(TraceLine::Opportunity(ms)) if self.steps.is_empty() => self.opportunities.push(ms),
                Some(TraceLine::Step(step)) if self.opportunities.is_empty() => self.steps.push(step),
                _ => {
                    let what = "expected a number of ms (mahimahi) or a time and a rate \
                                (\"2.5s 20Mbit/s\"), in the same format on every line";
                    return Err(Problem::new("file", format!("line {}: {what}", number + 1)));
                }
            }
        }
        if self.opportunities.is_empty() && self.steps.is_empty() {
            return Err(Problem::new("file", "contains no line of a trace"));
        }
        self.file = None;
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let queue = self.queue.build(seed, name);
        if self.opportunities.is_empty() {
            let mut steps = self.steps.clone();
            if steps.is_empty() {
                steps.push(RateStep { at: Span::ZERO, rate: Rate::from_bps(0) });
            }
            let gate = RateTable(Steps::new(steps, self.period));
            return Box::new(Server::new(queue, gate, self.delay, SizeLimit::new(self.mtu, self.icmp)));
        }
        let gate = Mahimahi { ms: self.opportunities.clone(), next: 0, left: 0, at: Time::ZERO, fresh: true };
        Box::new(Server::new(queue, gate, self.delay, SizeLimit::new(self.mtu, self.icmp)))
    }

    fn draw(choices: &mut Choices) -> RateTrace {
        let (delay, queue) = (choices.span(), QueueConfig::draw(choices));
        let mut trace = RateTrace { delay, queue, ..RateTrace::default() };
        if choices.coin() {
            let mut ms = choices.below(3);
            for _ in 0..=choices.below(6) {
                trace.opportunities.push(ms);
                ms += choices.below(4);
            }
            trace.opportunities.push(ms + 1);
            return trace;
        }
        let mut at = Span::ZERO;
        for _ in 0..=choices.below(4) {
            let rate = if choices.coin() { choices.rate() } else { Rate::from_bps(0) };
            trace.steps.push(RateStep { at, rate });
            at += Span::from_nanos(1 + choices.below(5_000_000));
        }
        trace.period = choices.maybe(|_| at);
        trace
    }

    /// The mean over a period; steps without a period have none.
    fn limit(&self) -> StageLimit {
        self.mean_rate().map_or(StageLimit::Varies, StageLimit::Shared)
    }
}

struct RateTable(Steps);

impl Gate for RateTable {
    const HEAD_COUNTS: bool = false;
    fn ready(&mut self, at: Time, size: u32) -> Time {
        self.0.through(at, size)
    }
}

/// Bytes per opportunity: an Ethernet frame as mahimahi's TUN device sees it.
const OPPORTUNITY: u64 = 1504;

struct Mahimahi {
    ms: Vec<u64>,
    /// The next unused opportunity, counted over all repeats.
    next: u64,
    /// Bytes left of the previous opportunity.
    left: u64,
    /// When the last packet left.
    at: Time,
    /// Whether the queue was empty: opportunities up to now are lost.
    fresh: bool,
}

impl Mahimahi {
    fn time_of(&self, opportunity: u64) -> Time {
        let n = self.ms.len() as u64;
        let period = self.ms[self.ms.len() - 1];
        let ms = (opportunity / n).saturating_mul(period);
        let ms = ms.saturating_add(self.ms[(opportunity % n) as usize]);
        Time::from_nanos(ms.saturating_mul(1_000_000))
    }

    /// The first opportunity after `at`.
    fn after(&self, at: Time) -> u64 {
        let ms = at.as_nanos() / 1_000_000;
        let period = self.ms[self.ms.len() - 1].max(1);
        // An opportunity at exactly k periods may belong to repeat k - 1.
        let repeat = (ms / period).saturating_sub(1);
        let within = ms - repeat * period;
        let n = self.ms.len() as u64;
        let first = self.ms.partition_point(|&t| t <= within) as u64;
        if first < n {
            return repeat * n + first;
        }
        let first = self.ms.partition_point(|&t| t <= within.saturating_sub(period)) as u64;
        (repeat + 1) * n + first
    }
}

impl Gate for Mahimahi {
    const HEAD_COUNTS: bool = false;

    fn ready(&mut self, at: Time, size: u32) -> Time {
        if self.fresh {
            self.fresh = false;
            self.left = 0;
            self.next = self.next.max(self.after(at));
            self.at = at;
        }
        let missing = (size as u64).saturating_sub(self.left);
        let wanted = missing.div_ceil(OPPORTUNITY);
        self.left = self.left + wanted * OPPORTUNITY - size as u64;
        if wanted > 0 {
            self.next = self.next.saturating_add(wanted);
            self.at = self.time_of(self.next - 1).max(self.at);
        }
        self.at
    }

    fn idle(&mut self) {
        self.fresh = true;
    }
}
