//! RED, random early detection (Floyd and Jacobson 1993) with the gentle variant (Floyd 2000): arriving
//! packets are dropped or marked with a probability that grows with the *average* queue.
//!
//! Between `min` and `max` packets it grows from 0 to `max_probability`, between `max` and twice `max` from
//! there to 1 (gentle); above that every packet is dropped, ECN-capable or not (RFC 3168 section 7). Drops
//! are spread evenly: p / (1 - count p) (section 7 of the paper). While the queue is idle the average decays
//! as if small packets had passed at `bandwidth`, as in tc.

use super::{Discipline, Queue, QueueLoad, at_least_one, mark};
use crate::config::probability;
use crate::problem::Problem;
use crate::{Account, DropCause, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Choices, Label, Rate, Stream, Time};

/// Random early detection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Red {
    /// Maximum number of queued packets. Default 1000.
    pub packets: u64,
    /// Average queue in packets up to which nothing is dropped. Default 20.
    pub min: u64,
    /// Average queue in packets at which the probability is `max_probability`. Default 60 (three times
    /// `min`, as Floyd recommends).
    pub max: u64,
    /// Probability at `max`. Default 0.1 (Floyd 1997).
    pub max_probability: f64,
    /// Weight of the newest sample in the average. Default 0.002.
    pub weight: f64,
    /// Let the probability grow up to twice `max` instead of dropping everything above `max`. Default true.
    pub gentle: bool,
    /// Mark ECN-capable packets instead of dropping them. Default false.
    pub ecn: bool,
    /// Rate of the line, for the decay of the average while idle (packets of 1000 B, as tc). Default 10
    /// Mbit/s (tc).
    pub bandwidth: Rate,
}

impl Default for Red {
    fn default() -> Self {
        Red {
            packets: 1000,
            min: 20,
            max: 60,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            ecn: false,
            bandwidth: Rate::from_bps(10_000_000),
        }
    }
}

impl Discipline for Red {
    type Queue<B: Send + 'static> = RedQueue<B>;
    const LABEL: Label = Label::same("RED");
    const DROPS_EARLY: bool = true;

    fn limits(&self) -> QueueLoad {
        QueueLoad { packets: self.packets, bytes: u64::MAX }
    }

    fn check(&self) -> Result<(), Problem> {
        at_least_one("packets", self.packets)?;
        probability("max_probability", self.max_probability)?;
        probability("weight", self.weight)?;
        crate::config::rate_above_zero("bandwidth", Some(self.bandwidth))?;
        if self.min >= self.max {
            return Err(Problem::new("min", "must be below `max` (a third of it is usual)"));
        }
        Ok(())
    }

    fn build<B: Send + 'static>(&self, seed: u64, name: &str) -> Self::Queue<B> {
        RedQueue {
            config: self.clone(),
            stream: Stream::new(seed, name),
            packets: VecDeque::new(),
            load: QueueLoad::default(),
            average: 0.0,
            since_last: None,
            idle: Some(Time::ZERO),
        }
    }

    fn draw(choices: &mut Choices) -> Red {
        Red {
            packets: choices.packets(),
            min: 2,
            max: 6,
            weight: choices.one(&[0.5, 0.01]),
            ecn: choices.coin(),
            gentle: choices.coin(),
            ..Red::default()
        }
    }
}

pub(crate) struct RedQueue<B> {
    config: Red,
    stream: Stream,
    packets: VecDeque<(Time, Box<Packet<B>>)>,
    load: QueueLoad,
    average: f64,
    /// Packets accepted since the last drop or mark, while the average is above `min`.
    since_last: Option<u64>,
    /// When the queue and the transmitter became idle, if they are.
    idle: Option<Time>,
}

enum Fate {
    Accept,
    Mark,
    Drop,
}

impl<B> RedQueue<B> {
    fn update_average(&mut self, now: Time) {
        let Some(idle) = self.idle.take() else {
            self.average += self.config.weight * (self.load.packets as f64 - self.average);
            return;
        };
        let packet_ns = self.config.bandwidth.time_for(1000).as_nanos().max(1);
        let packets = now.since(idle).as_nanos() as f64 / packet_ns as f64;
        self.average *= libm::pow(1.0 - self.config.weight, packets);
    }

    fn fate(&mut self) -> Fate {
        let c = &self.config;
        let (min, max, p) = (c.min as f64, c.max as f64, c.max_probability);
        let ceiling = if c.gentle { 2.0 * max } else { max };
        if self.average < min {
            self.since_last = None;
            return Fate::Accept;
        }
        if self.average >= ceiling {
            self.since_last = Some(0);
            return Fate::Drop;
        }
        let base = if self.average < max {
            p * (self.average - min) / (max - min)
        } else {
            p + (1.0 - p) * (self.average - max) / max
        };
        let count = self.since_last.unwrap_or(0);
        let spread = 1.0 - count as f64 * base;
        if spread > base && !self.stream.chance(base / spread) {
            self.since_last = Some(count + 1);
            return Fate::Accept;
        }
        self.since_last = Some(0);
        if c.ecn { Fate::Mark } else { Fate::Drop }
    }
}

impl<B: Send> Queue<B> for RedQueue<B> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        self.update_average(now);
        let chosen = match self.fate() {
            Fate::Accept => false,
            Fate::Mark => !mark(&mut packet, account),
            Fate::Drop => true,
        };
        if chosen {
            return account.lose(out, now, packet, DropCause::Aqm);
        }
        if self.load.packets + in_service.packets >= self.config.packets {
            return account.lose(out, now, packet, DropCause::Overflow);
        }
        self.load.add(packet.size);
        self.packets.push_back((now, packet));
    }

    fn dequeue(
        &mut self,
        now: Time,
        _account: &mut Account,
        _out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)> {
        let Some(next) = self.packets.pop_front() else {
            self.idle = self.idle.or(Some(now));
            return None;
        };
        self.load.remove(next.1.size);
        Some(next)
    }

    fn load(&self) -> QueueLoad {
        self.load
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fill;
    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn drops_are_spread_with_the_probability_of_the_average() {
        // weight 1: the average equals the queue. At 40 packets, halfway from 20 to 60, the base probability
        // is 0.05; spreading by p / (1 - count p) makes distances uniform on 1..=1/p (mean 10.5), as section
        // 7 of the paper derives.
        let config = Red { weight: 1.0, gentle: true, ..Red::default() };
        let mut q = config.build::<()>(1, "red");
        let (mut account, mut out) = (Account::default(), Outbox::default());
        q.idle = None;
        while q.load.packets < 40 {
            account.enter();
            q.enqueue(Time::ZERO, packet(1, 1500), QueueLoad::default(), &mut account, &mut out);
        }
        out.clear();
        let n = 100_000;
        for _ in 0..n {
            account.enter();
            q.enqueue(Time::ZERO, packet(1, 1500), QueueLoad::default(), &mut account, &mut out);
            while q.load.packets > 40 {
                let (_, p) = q.dequeue(Time::ZERO, &mut account, &mut out).expect("a queued packet");
                account.send(&mut out, Time::ZERO, Time::ZERO, p);
            }
        }
        let gap = n as f64 / out.dropped.len() as f64;
        assert!((gap - 10.5).abs() < 0.2, "{gap}");
    }

    #[test]
    fn a_burst_into_an_empty_queue_passes() {
        // The average changes slowly: of 100 packets at once none is dropped early.
        assert!(fill(&mut Red::default().build(1, "red"), 1, 1500, 100).is_empty());
    }

    #[test]
    fn without_gentle_everything_above_max_is_dropped() {
        let config = Red { weight: 1.0, gentle: false, max_probability: 0.0, ..Red::default() };
        let lost = fill(&mut config.build(1, "red"), 1, 1500, 100);
        // The first packet finds an idle queue (average 0), then the average is the queue that a packet
        // finds.
        assert_eq!(lost.len(), 40);
    }
}
