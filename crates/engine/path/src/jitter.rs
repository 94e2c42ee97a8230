//! A delay that varies from packet to packet (as Linux `netem delay`) or slowly over time.
//!
//! | distribution | delay of one packet |
//! |---|---|
//! | `uniform` | uniformly distributed from `delay` - `jitter` to `delay` + `jitter` |
//! | `normal` | normally distributed with mean `delay`, standard deviation `jitter` |
//! | `trace` | `delay` + the next of `delays`, which repeat |
//!
//! The delay is never below zero. Without `reorder` a packet waits for its predecessor, so departure times do
//! not decrease; with it packets overtake, as in netem.
//!
//! With `every` the delay is a property of the path instead of the packet: it is drawn at each multiple of
//! `every` and interpolated linearly. Independent draws for packets that are much closer than the jitter are
//! of little use in order: every packet waits for the slowest of those before it, and the delay stays near
//! its maximum.

use crate::config::{Config, DisplayNames, misplaced, packets_above_zero};
use crate::line::DelayLine;
use crate::problem::Problem;
use crate::{Account, Body, DropCause, Element, Outbox, Packet};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Span, Stream, Time};

/// Distribution of the delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Uniform around the mean.
    #[default]
    Uniform,
    /// Normal.
    Normal,
    /// Taken from a list.
    Trace,
}

/// A delay that varies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Jitter {
    /// Mean delay. Default 0.
    pub delay: Span,
    /// Half the width (`uniform`) or the standard deviation (`normal`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
    /// `uniform` (default), `normal` or `trace`.
    pub distribution: Distribution,
    /// `trace`: the delays of consecutive packets, repeated at the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<Span>,
    /// `trace`: a file with one delay per line (`12.5ms`) instead of `delays`; `#` begins a comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// `uniform`, `normal`: interval at which the path's delay is drawn, with linear interpolation between
    /// draws. Default: one draw per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// Whether packets may overtake. Default false.
    pub reorder: bool,
    /// Maximum number of packets in transit; further ones are dropped (Linux `netem limit`). Default: no
    /// limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
}

impl Config for Jitter {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("jitter", "抖动 jitter"),
        one: Label::new("jitter", "抖动"),
        dropper: Label::new("the jitter", "抖动"),
    };

    fn check(&self) -> Result<(), Problem> {
        let trace = self.distribution == Distribution::Trace;
        let here = "distribution = \"trace\"";
        misplaced("delays", !self.delays.is_empty() && !trace, here)?;
        misplaced("file", self.file.is_some() && !trace, here)?;
        misplaced("jitter", self.jitter.is_some() && trace, "\"uniform\" and \"normal\"")?;
        misplaced("every", self.every.is_some() && trace, "\"uniform\" and \"normal\"")?;
        if self.every.is_some_and(Span::is_zero) {
            return Err(Problem::new("every", "must be above zero (for example \"200ms\")"));
        }
        packets_above_zero(self.packets)?;
        if self.file.is_some() {
            return Err(Problem::new("file", "is not loaded"));
        }
        if trace && self.delays.is_empty() {
            return Err(Problem::new("delays", "missing: give a list of delays or a `file`"));
        }
        if !trace && self.jitter.is_none() {
            return Err(Problem::new("jitter", "missing (for example \"5ms\")"));
        }
        Ok(())
    }

    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    fn load(&mut self, text: &str) -> Result<(), Problem> {
        for (number, raw) in text.lines().enumerate() {
            let content = raw.split('#').next().unwrap_or_default().trim();
            if !content.is_empty() {
                let wrong = |e| Problem::new("file", format!("line {}: {e}", number + 1));
                self.delays.push(content.parse().map_err(wrong)?);
            }
        }
        if self.delays.is_empty() {
            return Err(Problem::new("file", "contains no delay"));
        }
        self.file = None;
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        Box::new(JitterElement {
            config: self.clone(),
            stream: Stream::new(seed, name),
            drawn: (seed, name.to_string()),
            line_from: None,
            last: Time::ZERO,
            line: DelayLine::new(),
            account: Account::default(),
        })
    }

    fn draw(choices: &mut Choices) -> Jitter {
        if choices.below(4) == 3 {
            let delays = (0..=choices.below(5)).map(|_| choices.span()).collect();
            let packets = choices.maybe(|c| 1 + c.below(50));
            return Jitter { distribution: Distribution::Trace, delays, packets, ..Jitter::default() };
        }
        Jitter {
            delay: choices.span(),
            jitter: Some(choices.span()),
            distribution: choices.one(&[Distribution::Uniform, Distribution::Normal]),
            reorder: choices.coin(),
            every: choices.maybe(|c| Span::from_nanos(1 + c.below(20_000_000))),
            ..Jitter::default()
        }
    }
}

struct JitterElement<B> {
    config: Jitter,
    stream: Stream,
    /// Seed and name of the draws with `every`.
    drawn: (u64, String),
    /// With `every`: the number of the last draw, its value, and the next value.
    line_from: Option<(u64, Span, Span)>,
    /// The latest departure time so far.
    last: Time,
    line: DelayLine<B>,
    account: Account,
}

impl<B> JitterElement<B> {
    /// The delay of a packet that arrives at `now`.
    fn delay(&mut self, now: Time) -> Span {
        let Some(every) = self.config.every.map(Span::as_nanos) else { return self.draw() };
        let (k, into) = (now.as_nanos() / every, now.as_nanos() % every);
        let (from, to) = match self.line_from {
            Some((same, from, to)) if same == k => (from, to),
            _ => (self.draw_number(k), self.draw_number(k + 1)),
        };
        self.line_from = Some((k, from, to));
        let (from, to) = (from.as_nanos() as u128, to.as_nanos() as u128);
        let (into, every) = (into as u128, every as u128);
        Span::from_nanos(((from * (every - into) + to * into) / every) as u64)
    }

    /// Draw number `k` of `every`, independent of the order of calls.
    fn draw_number(&mut self, k: u64) -> Span {
        self.stream = Stream::new(self.drawn.0, &format!("{}/{k}", self.drawn.1));
        self.draw()
    }

    fn draw(&mut self) -> Span {
        let c = &self.config;
        let jitter = c.jitter.unwrap_or_default();
        match c.distribution {
            Distribution::Trace => {
                let i = (self.account.packets_in - 1) % c.delays.len().max(1) as u64;
                c.delay + c.delays.get(i as usize).copied().unwrap_or_default()
            }
            Distribution::Uniform => {
                let width = jitter.as_nanos().saturating_mul(2).saturating_add(1);
                let up = Span::from_nanos(self.stream.below(width));
                (c.delay + up).saturating_sub(jitter)
            }
            Distribution::Normal => {
                let offset = self.stream.normal() * jitter.as_nanos() as f64;
                if offset < 0.0 {
                    c.delay.saturating_sub(Span::from_nanos((-offset + 0.5) as u64))
                } else {
                    c.delay + Span::from_nanos((offset + 0.5) as u64)
                }
            }
        }
    }
}

impl<B: Send> Element<B> for JitterElement<B> {
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
        self.line.catch_up(now, &mut self.account, out);
        self.account.enter();
        if self.config.packets.is_some_and(|most| self.line.len() as u64 >= most) {
            self.account.lose(out, now, packet, DropCause::Overflow);
            return;
        }
        let mut due = now + self.delay(now);
        if !self.config.reorder {
            due = due.max(self.last);
            self.last = due;
        }
        self.line.push(now, due, packet);
        self.line.catch_up(now, &mut self.account, out);
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
