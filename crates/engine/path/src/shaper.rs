//! A shaper: packets that exceed its token bucket wait in a queue.
//!
//! | `refill` | source | the bucket |
//! |---|---|---|
//! | `continuous` | Linux `tc … tbf` | holds `burst`, refilled continuously; optionally a second bucket for `peak_rate` |
//! | `interval` | Cisco `shape average CIR Bc Be` | holds Bc + Be, gets Bc every Tc = Bc / CIR |
//!
//! A packet leaves at the exact nanosecond at which the tokens suffice. A packet larger than the bucket could
//! never leave and is dropped on arrival, as in Linux (`max_size`). Buckets start full. The packet that waits
//! for tokens counts towards the queue's limit (Linux: `qdisc_peek_head`).

use crate::bucket::{BYTE, Bucket};
use crate::config::{Config, DisplayNames, StageLimit, misplaced, rate_above_zero};
use crate::problem::Problem;
use crate::queue::{Fifo, QueueConfig};
use crate::server::{Gate, Server};
use crate::{Body, Element, SizeLimit};
use serde::{Deserialize, Serialize};
use units::{Bytes, Choices, Label, Rate, Span, Time};

/// How a shaper's bucket is refilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Refill {
    /// Continuously (Linux TBF).
    #[default]
    Continuous,
    /// Bc bits every Tc = Bc / CIR (Cisco).
    Interval,
}

/// A shaper: a token bucket with a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// `continuous` (default, Linux TBF) or `interval` (Cisco).
    #[serde(default)]
    pub refill: Refill,
    /// Bits per second (Cisco: CIR).
    pub rate: Rate,
    /// Bucket size in bytes (Linux: burst; Cisco: Bc, which is given in bits there: 80000 bit = 10kB).
    /// Default: 4 ms of the rate, at least 1514 B (`interval`) or 3028 B (`continuous`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// `interval` only: additional bucket size that idle time fills (Cisco Be), bytes. Default: `burst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess_burst: Option<Bytes>,
    /// `continuous` only: maximum rate at which a full bucket is emptied, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<Rate>,
    /// `continuous` only: bucket of the peak rate in bytes (tc: mtu/minburst). Default 1514 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_burst: Option<Bytes>,
    /// Maximum waiting time as in tc: a queue of rate * latency + burst bytes. Instead of `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Span>,
    /// Queue of packets that wait for tokens. Default: FIFO of 1000 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueConfig>,
}

impl Shaper {
    /// A continuous shaper with default settings.
    pub fn new(rate: Rate) -> Shaper {
        Shaper {
            refill: Refill::Continuous,
            rate,
            burst: None,
            excess_burst: None,
            peak_rate: None,
            peak_burst: None,
            latency: None,
            queue: None,
        }
    }

    /// The effective bucket size.
    pub fn burst(&self) -> Bytes {
        let least = if self.refill == Refill::Interval { 1514 } else { 3028 };
        let four_ms = self.rate.bytes_in(Span::from_millis(4)).get();
        self.burst.unwrap_or(Bytes::new(four_ms.max(least)))
    }

    /// The largest packet for which a full bucket has tokens. The bucket of a peak rate may still block it,
    /// see [`Shaper::largest_by_key`].
    pub fn largest(&self) -> Bytes {
        match self.refill {
            Refill::Continuous => self.burst(),
            Refill::Interval => {
                let excess = self.excess_burst.unwrap_or(self.burst());
                Bytes::new(self.burst().get().saturating_add(excess.get()))
            }
        }
    }

    /// The effective bucket size of the peak rate; `None` without a peak rate.
    pub fn peak_burst(&self) -> Option<Bytes> {
        self.peak_rate.map(|_| self.peak_burst.unwrap_or(Bytes::new(1514)))
    }

    /// The bucket that limits the size of packets that can pass, by its key, with its size.
    pub fn largest_by_key(&self) -> (&'static str, Bytes) {
        match self.peak_burst() {
            Some(peak) if peak < self.largest() => ("peak_burst", peak),
            _ => ("burst", self.largest()),
        }
    }

    /// The effective queue.
    pub fn queue(&self) -> QueueConfig {
        let Some(latency) = self.latency else { return self.queue.clone().unwrap_or_default() };
        let bytes = self.rate.bytes_in(latency).get().saturating_add(self.burst().get());
        QueueConfig::Fifo(Fifo { packets: None, bytes: Some(Bytes::new(bytes)) })
    }
}

impl Config for Shaper {
    const WORDS: DisplayNames = DisplayNames {
        label: Label::new("shaper", "流量整形 shaper"),
        one: Label::new("a shaper", "流量整形"),
        dropper: Label::new("the shaper's queue", "流量整形队列"),
    };

    fn check(&self) -> Result<(), Problem> {
        rate_above_zero("rate", Some(self.rate))?;
        rate_above_zero("peak_rate", self.peak_rate)?;
        let interval = self.refill == Refill::Interval;
        let (here, there) = ("refill = \"interval\"", "refill = \"continuous\"");
        misplaced("excess_burst", self.excess_burst.is_some() && !interval, here)?;
        misplaced("peak_rate", self.peak_rate.is_some() && interval, there)?;
        misplaced("peak_burst", self.peak_burst.is_some() && self.peak_rate.is_none(), "`peak_rate`")?;
        if self.burst == Some(Bytes::new(0)) {
            return Err(Problem::new("burst", "must hold at least one packet (\"1514B\" or more)"));
        }
        if self.peak_rate.is_some_and(|peak| peak < self.rate) {
            return Err(Problem::new("peak_rate", "must not be below `rate`"));
        }
        if self.latency.is_some() && self.queue.is_some() {
            return Err(Problem::new(
                "latency",
                "sets the size of the queue: cannot be combined with `queue`",
            ));
        }
        self.queue().check().map_err(|p| p.within("queue"))
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let queue = self.queue().build(seed, name);
        match self.refill {
            Refill::Continuous => {
                let peak =
                    self.peak_rate.zip(self.peak_burst()).map(|(rate, burst)| Bucket::new(rate, burst));
                let gate = Continuous { bucket: Bucket::new(self.rate, self.burst()), peak };
                Box::new(Server::new(queue, gate, Span::ZERO, SizeLimit::NONE))
            }
            Refill::Interval => {
                let excess = self.excess_burst.unwrap_or(self.burst());
                let gate = Interval::new(self.rate, self.burst(), excess);
                Box::new(Server::new(queue, gate, Span::ZERO, SizeLimit::NONE))
            }
        }
    }

    fn draw(choices: &mut Choices) -> Shaper {
        let mut shaper = Shaper { burst: choices.maybe(Choices::bytes), ..Shaper::new(choices.rate()) };
        if choices.coin() {
            shaper.refill = Refill::Interval;
            shaper.excess_burst = choices.maybe(Choices::bytes);
        } else {
            let times = |c: &mut Choices| Rate::from_bps(shaper.rate.as_bps() * (1 + c.below(3)));
            shaper.peak_rate = choices.maybe(times);
        }
        if choices.coin() {
            shaper.latency = Some(choices.span());
        } else {
            shaper.queue = Some(QueueConfig::draw(choices));
        }
        shaper
    }

    fn limit(&self) -> StageLimit {
        StageLimit::Shared(self.peak_rate.map_or(self.rate, |peak| peak.min(self.rate)))
    }
}

struct Continuous {
    bucket: Bucket,
    peak: Option<Bucket>,
}

impl Gate for Continuous {
    const HEAD_COUNTS: bool = true;

    fn ready(&mut self, at: Time, size: u32) -> Time {
        let ready = self.bucket.ready(at, size);
        self.peak.as_ref().map_or(ready, |peak| peak.ready(ready, size))
    }

    fn leave(&mut self, at: Time, size: u32) {
        for bucket in std::iter::once(&mut self.bucket).chain(&mut self.peak) {
            bucket.refill(at);
            bucket.take(size);
        }
    }

    fn fits(&self, size: u32) -> bool {
        self.bucket.fits(size) && self.peak.as_ref().is_none_or(|peak| peak.fits(size))
    }

    fn tokens(&self, now: Time) -> Option<u64> {
        Some(self.bucket.level(now))
    }
}

/// Cisco's refill: tick number k (from 1) is at k * Tc, rounded up to the nanosecond without drift.
struct Interval {
    /// Token units per nanosecond: bits per second.
    rate: u128,
    /// Token units of Bc.
    committed: u128,
    /// Token units of Bc + Be.
    capacity: u128,
    tokens: u128,
    /// Number of ticks already included in `tokens`.
    ticks: u128,
}

impl Interval {
    fn new(rate: Rate, committed: Bytes, excess: Bytes) -> Interval {
        let committed = committed.get() as u128 * BYTE;
        let capacity = committed + excess.get() as u128 * BYTE;
        Interval { rate: rate.as_bps() as u128, committed, capacity, tokens: capacity, ticks: 0 }
    }

    /// The number of ticks up to `at`.
    fn ticks_by(&self, at: Time) -> u128 {
        at.as_nanos() as u128 * self.rate / self.committed
    }

    fn tokens_at(&self, at: Time) -> u128 {
        let ticks = self.ticks_by(at).saturating_sub(self.ticks);
        self.tokens.saturating_add(ticks.saturating_mul(self.committed)).min(self.capacity)
    }
}

impl Gate for Interval {
    const HEAD_COUNTS: bool = true;

    fn ready(&mut self, at: Time, size: u32) -> Time {
        let missing = (size as u128 * BYTE).saturating_sub(self.tokens_at(at));
        if missing == 0 {
            return at;
        }
        let tick = self.ticks_by(at) + missing.div_ceil(self.committed);
        let ns = tick.saturating_mul(self.committed).div_ceil(self.rate);
        Time::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn leave(&mut self, at: Time, size: u32) {
        self.tokens = self.tokens_at(at).saturating_sub(size as u128 * BYTE);
        self.ticks = self.ticks_by(at);
    }

    fn fits(&self, size: u32) -> bool {
        self.capacity >= size as u128 * BYTE
    }

    fn tokens(&self, now: Time) -> Option<u64> {
        Some((self.tokens_at(now) / BYTE) as u64)
    }
}
