//! A greedy sender with the contract pacer before the policer of the simulator and the lab, in virtual time.
//!
//! 1. The sender's loop wakes when something is due, delayed by its [`Stalls`], handles feedback and sends.
//! 2. The library's pacer hands out packets at the rate that it is given, up to ten at once when it is late;
//!    the link holds each until it may be sent (`link.rs`).
//! 3. The uplink to the policer has its own stalls: what is sent in one arrives at its end, all at once.
//! 4. Before terms are known, the sender doubles its rate each round trip, then varies it around what came
//!    through, as BBR does.

use super::super::*;
use path::{Config, Ecn, Element, Outbox, Packet, Policer};
use std::collections::VecDeque;
use units::{Bytes, Rate, Stream};

/// The bytes of every packet.
pub const PACKET: u32 = 1480;
/// How early the link sends a packet, and the burst of the library's pacer ([`crate::link`], noq-proto's
/// `rate_capacity`).
const SEND_SLACK: Span = Span::from_micros(100);
const LIBRARY_BURST: f64 = 10.0;

/// How often and how long nothing moves, at random.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stalling {
    /// The mean time between two stalls; zero for none.
    pub every: Span,
    /// The longest stall; lengths are uniform up to that.
    pub most: Span,
}

/// The stalls of a run.
struct Stalls {
    how: Stalling,
    random: Stream,
    from: Time,
    to: Time,
}

impl Stalls {
    fn new(how: Stalling, seed: u64, name: &str) -> Stalls {
        let mut stalls = Stalls { how, random: Stream::new(seed, name), from: Time::ZERO, to: Time::ZERO };
        stalls.next();
        stalls
    }

    fn next(&mut self) {
        self.from = self.to + self.random.exponential(self.how.every);
        self.to = self.from + Span::from_secs_f64(self.how.most.as_secs_f64() * self.random.unit());
    }

    /// When something due at `at` happens. Times rise.
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

/// The path and host of a run.
#[derive(Clone, Copy, Debug)]
pub struct TestPath {
    pub rate: u64,
    pub bucket: u64,
    pub rtt: Span,
    /// Random loss behind the policer.
    pub loss: f64,
    /// Stalls of the sender's loop.
    pub host: Stalling,
    /// Stalls of the uplink to the policer.
    pub uplink: Stalling,
}

impl TestPath {
    /// A path without random loss and stalls.
    pub fn of(rate: u64, bucket: u64, rtt: Span) -> TestPath {
        let never = Stalling::default();
        TestPath { rate, bucket, rtt, loss: 0.0, host: never, uplink: never }
    }
}

/// The result of a run, counted from a start time on.
#[derive(Debug, Default)]
pub struct PacerResult {
    pub sent: u64,
    pub passed: u64,
    pub policed: u64,
    pub first_terms: Option<Time>,
    pub terms: Option<ContractTerms>,
    /// The share believed to be lost at any speed: at the end of the run, and the largest at any time.
    pub lossy: (Option<f64>, f64),
}

impl PacerResult {
    /// The throughput as a share of what the policer lets through in this time, and the dropped share of what
    /// was sent.
    pub fn shares(&self, path: &TestPath, seconds: u64) -> (f64, f64) {
        let most = path.rate as f64 / 8.0 * seconds as f64;
        (self.passed as f64 / most, self.policed as f64 / self.sent as f64)
    }
}

/// The feedback on one packet: when it comes, its number, whether it passed, when it was sent.
struct Feedback {
    at: Time,
    number: u64,
    passed: bool,
    left: Time,
}

/// A stand-in for the sender's congestion control.
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

    fn on_feedback(&mut self, passed: bool) {
        self.delivered += u64::from(passed) * u64::from(PACKET);
        self.lossy |= !passed;
    }

    fn end_round(&mut self, now: Time) {
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

/// The sender, its path, and the result.
struct Bench<'a> {
    path: &'a TestPath,
    policer: Box<dyn Element<()>>,
    random: Stream,
    host: Stalls,
    uplink: Stalls,
    contract: Contract,
    own: OwnControl,
    feedback: VecDeque<Feedback>,
    held: Option<(Time, u64)>,
    tokens: f64,
    filled: Time,
    number: u64,
    arrived: Time,
    from: Time,
    result: PacerResult,
}

/// Runs a sender whose own control sends at most `most` bytes per second.
pub fn run_to(path: &TestPath, seconds: u64, from: u64, seed: u64, most: f64) -> PacerResult {
    let config = Policer::single(Rate::from_bps(path.rate), Some(Bytes::new(path.bucket)));
    let mut bench = Bench {
        policer: config.build(seed, "policer"),
        random: Stream::new(seed, "loss"),
        host: Stalls::new(path.host, seed, "host"),
        uplink: Stalls::new(path.uplink, seed, "way"),
        contract: Contract::new(PACKET.into()),
        own: OwnControl::new(path.rtt, most),
        feedback: VecDeque::new(),
        held: None,
        tokens: LIBRARY_BURST * f64::from(PACKET),
        filled: Time::ZERO,
        number: 1,
        arrived: Time::ZERO,
        from: Time::ZERO + Span::from_secs(from),
        result: PacerResult::default(),
        path,
    };
    let (end, mut now) = (Time::ZERO + Span::from_secs(seconds), Time::ZERO);
    while now < end {
        let due = bench.advance(now);
        now = bench.host.after(due.max(now));
    }
    bench.result.terms = bench.contract.terms();
    bench.result
}

/// Runs a sender whose own control has no limit.
pub fn run(path: &TestPath, seconds: u64, from: u64, seed: u64) -> PacerResult {
    run_to(path, seconds, from, seed, f64::MAX)
}

impl Bench<'_> {
    /// Does what is due and returns when the next thing is due.
    fn advance(&mut self, now: Time) -> Time {
        while self.feedback.front().is_some_and(|item| item.at <= now) {
            let Some(item) = self.feedback.pop_front() else { break };
            self.own.on_feedback(item.passed);
            match item.passed {
                true => self.contract.on_acked(now, item.number, now.since(item.left)),
                false => self.contract.on_lost(now, item.number),
            }
        }
        self.own.end_round(now);
        let lossy = self.contract.lossy();
        self.result.lossy = (lossy, self.result.lossy.1.max(lossy.unwrap_or(0.0)));
        if self.result.first_terms.is_none() && self.contract.terms().is_some() {
            self.result.first_terms = Some(now);
        }
        if let Some((_, number)) = self.held.take_if(|(at, _)| *at <= now) {
            self.contract.on_left(now);
            self.send(now, number);
        }
        let pace = self.contract.offer().map_or(self.own.rate, |offer| offer as f64);
        let most = LIBRARY_BURST * f64::from(PACKET);
        self.tokens = (self.tokens + pace * now.since(self.filled).as_secs_f64()).min(most);
        self.filled = now;
        while self.held.is_none() && self.tokens >= f64::from(PACKET) {
            self.tokens -= f64::from(PACKET);
            let at = self.contract.on_sent(now, self.number, PACKET.into(), Some(pace as u64));
            if at > now + SEND_SLACK {
                self.held = Some((at, self.number));
            } else {
                self.send(now, self.number);
            }
            self.number += 1;
        }
        let missing = (f64::from(PACKET) - self.tokens).max(1.0) / pace;
        let next = self.held.map_or(now + Span::from_secs_f64(missing), |(at, _)| at);
        let heard = self.feedback.front().map_or(next, |item| item.at);
        next.min(heard).min(self.own.round).max(now + Span::from_micros(1))
    }

    /// Sends a packet to the policer.
    fn send(&mut self, now: Time, number: u64) {
        self.arrived = self.uplink.after(now.max(self.arrived)).max(self.arrived);
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
        self.policer.handle_packet(self.arrived, Box::new(packet), &mut out);
        let policed = out.sent.is_empty();
        let passed = !policed && !self.random.chance(self.path.loss);
        self.feedback.push_back(Feedback { at: self.arrived + self.path.rtt, number, passed, left: now });
        if now >= self.from {
            self.result.sent += u64::from(PACKET);
            self.result.passed += u64::from(PACKET) * u64::from(!policed);
            self.result.policed += u64::from(PACKET) * u64::from(policed);
        }
    }
}
