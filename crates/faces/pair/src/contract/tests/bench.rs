//! A greedy sender with the contract pacer before the policer that the simulator and the lab use, in virtual time.
//!
//! 1. The sender's loop wakes when something is due, late by as much as [`Stalls`] says, hears what has come back, and sends.
//! 2. The library's pacer hands packets on at the rate that it is told, ten at once when it is late; the link holds one until it
//!    may leave (`link.rs`).
//! 3. The way to the policer has stalls of its own: what is sent in one comes at its end, all at once.
//! 4. Before terms are known the sender doubles each round trip, then swings about what came through, as BBR does.

use super::super::*;
use path::{Config, Ecn, Element, Outbox, Packet, Policer};
use std::collections::VecDeque;
use units::{Bytes, Rate, Stream};

/// Bytes of every packet.
pub const PACKET: u32 = 1480;
/// What the link lets go at once, and the library's pacer ([`crate::link`], noq-proto's `rate_capacity`).
const GRAIN: Span = Span::from_micros(100);
const LIBRARY_BURST: f64 = 10.0;

/// When nothing moves: at random, so often, for at most so long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    /// Between two on average; zero: never.
    pub every: Span,
    /// The longest; evenly up to that.
    pub most: Span,
}

/// Times at which one cannot act.
struct Stalls {
    how: Lateness,
    random: Stream,
    from: Time,
    to: Time,
}

impl Stalls {
    fn new(how: Lateness, seed: u64, name: &str) -> Stalls {
        let mut stalls = Stalls { how, random: Stream::new(seed, name), from: Time::ZERO, to: Time::ZERO };
        stalls.next();
        stalls
    }

    fn next(&mut self) {
        self.from = self.to + self.random.exponential(self.how.every);
        self.to = self.from + Span::from_secs_f64(self.how.most.as_secs_f64() * self.random.unit());
    }

    /// When what is due at a time happens. Times rise.
    fn after(&mut self, at: Time) -> Time {
        if self.how.every.is_zero() {
            return at;
        }
        while self.to <= at {
            self.next();
        }
        if self.from <= at { self.to } else { at }
    }
}

/// One run's path and host.
#[derive(Clone, Copy, Debug)]
pub struct TestPath {
    pub rate: u64,
    pub bucket: u64,
    pub rtt: Span,
    /// Random loss behind the policer.
    pub loss: f64,
    /// Of the sender's loop.
    pub host: Lateness,
    /// Of the way to the policer.
    pub way: Lateness,
}

impl TestPath {
    /// Without random loss, and nothing late.
    pub fn of(rate: u64, bucket: u64, rtt: Span) -> TestPath {
        let never = Lateness::default();
        TestPath { rate, bucket, rtt, loss: 0.0, host: never, way: never }
    }
}

/// What a run came to, counted from `from` on.
#[derive(Debug, Default)]
pub struct PacerCount {
    pub sent: u64,
    pub passed: u64,
    pub policed: u64,
    pub first_terms: Option<Time>,
    pub terms: Option<ContractTerms>,
    /// The share that is believed to be lost at any speed, at the end; the largest that was, of any time.
    pub lossy: (Option<f64>, f64),
}

impl PacerCount {
    /// Of what the policer lets through in so many seconds, and of what was sent: what passed, what was dropped.
    pub fn shares(&self, path: &TestPath, seconds: u64) -> (f64, f64) {
        let most = path.rate as f64 / 8.0 * seconds as f64;
        (self.passed as f64 / most, self.policed as f64 / self.sent as f64)
    }
}

/// What comes back of a packet: when, its number, whether it passed, when it left.
struct PacketEcho {
    at: Time,
    number: u64,
    passed: bool,
    left: Time,
}

/// What the sender's own control would do.
struct OwnControl {
    rate: f64,
    most: f64,
    rtt: Span,
    round: Time,
    rounds: u64,
    delivered: u64,
    lossy: bool,
}

impl OwnControl {
    fn new(rtt: Span, most: f64) -> OwnControl {
        let rate = f64::from(10 * PACKET) / rtt.as_secs_f64();
        OwnControl { rate, most, rtt, round: Time::ZERO + rtt, rounds: 0, delivered: 0, lossy: false }
    }

    fn hear(&mut self, passed: bool) {
        self.delivered += u64::from(passed) * u64::from(PACKET);
        self.lossy |= !passed;
    }

    fn turn(&mut self, now: Time) {
        if now < self.round {
            return;
        }
        let came = self.delivered as f64 / self.rtt.as_secs_f64();
        self.rounds += 1;
        let swing = [1.25, 0.9, 1.0, 1.0][(self.rounds % 4) as usize];
        let next = if self.lossy { came * swing } else { self.rate * 2.0 };
        self.rate = next.clamp(f64::from(PACKET) * 4.0, self.most);
        (self.round, self.delivered) = (now + self.rtt, 0);
    }
}

/// The sender, its path, and what came of it.
struct Bench<'a> {
    path: &'a TestPath,
    policer: Box<dyn Element<()>>,
    random: Stream,
    host: Stalls,
    way: Stalls,
    contract: Contract,
    own: OwnControl,
    echoes: VecDeque<PacketEcho>,
    held: Option<(Time, u64)>,
    tokens: f64,
    filled: Time,
    number: u64,
    arrived: Time,
    from: Time,
    counted: PacerCount,
}

/// Runs it, with a control of its own that wants at most so many bytes a second.
pub fn run_to(path: &TestPath, seconds: u64, from: u64, seed: u64, most: f64) -> PacerCount {
    let config = Policer::single(Rate::from_bps(path.rate), Some(Bytes::new(path.bucket)));
    let mut bench = Bench {
        policer: config.build(seed, "policer"),
        random: Stream::new(seed, "loss"),
        host: Stalls::new(path.host, seed, "host"),
        way: Stalls::new(path.way, seed, "way"),
        contract: Contract::new(PACKET.into()),
        own: OwnControl::new(path.rtt, most),
        echoes: VecDeque::new(),
        held: None,
        tokens: LIBRARY_BURST * f64::from(PACKET),
        filled: Time::ZERO,
        number: 1,
        arrived: Time::ZERO,
        from: Time::ZERO + Span::from_secs(from),
        counted: PacerCount::default(),
        path,
    };
    let (end, mut now) = (Time::ZERO + Span::from_secs(seconds), Time::ZERO);
    while now < end {
        let due = bench.work(now);
        now = bench.host.after(due.max(now));
    }
    bench.counted.terms = bench.contract.terms();
    bench.counted
}

/// The same, whose control wants as much as there is.
pub fn run(path: &TestPath, seconds: u64, from: u64, seed: u64) -> PacerCount {
    run_to(path, seconds, from, seed, f64::MAX)
}

impl Bench<'_> {
    /// Does what is due; when the next is.
    fn work(&mut self, now: Time) -> Time {
        while self.echoes.front().is_some_and(|echo| echo.at <= now) {
            let Some(echo) = self.echoes.pop_front() else { break };
            self.own.hear(echo.passed);
            match echo.passed {
                true => self.contract.on_acked(now, echo.number, now.since(echo.left)),
                false => self.contract.on_lost(now, echo.number),
            }
        }
        self.own.turn(now);
        let lossy = self.contract.lossy();
        self.counted.lossy = (lossy, self.counted.lossy.1.max(lossy.unwrap_or(0.0)));
        if self.counted.first_terms.is_none() && self.contract.terms().is_some() {
            self.counted.first_terms = Some(now);
        }
        if let Some((_, number)) = self.held.take_if(|(at, _)| *at <= now) {
            self.contract.on_left(now);
            self.leave(now, number);
        }
        let pace = self.contract.offer().map_or(self.own.rate, |offer| offer as f64);
        let most = LIBRARY_BURST * f64::from(PACKET);
        self.tokens = (self.tokens + pace * now.since(self.filled).as_secs_f64()).min(most);
        self.filled = now;
        while self.held.is_none() && self.tokens >= f64::from(PACKET) {
            self.tokens -= f64::from(PACKET);
            let at = self.contract.on_sent(now, self.number, PACKET.into(), Some(pace as u64));
            if at > now + GRAIN {
                self.held = Some((at, self.number));
            } else {
                self.leave(now, self.number);
            }
            self.number += 1;
        }
        let missing = (f64::from(PACKET) - self.tokens).max(1.0) / pace;
        let next = self.held.map_or(now + Span::from_secs_f64(missing), |(at, _)| at);
        let heard = self.echoes.front().map_or(next, |echo| echo.at);
        next.min(heard).min(self.own.round).max(now + Span::from_micros(1))
    }

    /// A packet leaves, and meets the policer.
    fn leave(&mut self, now: Time, number: u64) {
        self.arrived = self.way.after(now.max(self.arrived)).max(self.arrived);
        let mut out = Outbox::default();
        let packet = Packet {
            id: number,
            size: PACKET,
            overhead: 0,
            flow: 0,
            dscp: 0,
            ecn: Ecn::NotEct,
            fragment: None,
            body: (),
        };
        self.policer.handle_packet(self.arrived, packet, &mut out);
        let policed = out.sent.is_empty();
        let passed = !policed && !self.random.chance(self.path.loss);
        self.echoes.push_back(PacketEcho { at: self.arrived + self.path.rtt, number, passed, left: now });
        if now >= self.from {
            self.counted.sent += u64::from(PACKET);
            self.counted.passed += u64::from(PACKET) * u64::from(!policed);
            self.counted.policed += u64::from(PACKET) * u64::from(policed);
        }
    }
}
