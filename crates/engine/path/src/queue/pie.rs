//! PIE, proportional integral controller enhanced (RFC 8033): arriving packets are dropped or marked with a
//! probability that changes every `update` with the distance of the delay from `target` and with the change
//! of the delay:
//!
//! ```text
//! p += alpha (delay - target) + beta (delay - delay at the last update)      section 4.2
//! ```
//!
//! Below 10 % both gains are reduced in proportion to the probability (the table of section 4.2). Bursts
//! pass: after a time without a queue nothing is dropped for `burst` (section 4.4). Drops are spread: there
//! is none until the probabilities of the packets since the last drop sum to 0.85, and certainly one at 8.5
//! (section 5.4).
//!
//! | where | RFC 8033 | Linux `sch_pie` | here |
//! |---|---|---|---|
//! | the delay | backlog over the measured departure rate (5.2), or timestamps | timestamps: that of the last departed packet, 0 if the queue was empty behind it | as Linux |
//! | countdown of the burst allowance | at each update | at each departure, by the time since the previous one | as Linux |
//! | spread drops (5.4) | optional | always | as Linux; the sum is reset at every drop and mark (Linux keeps it when it marks at 8.5) |
//! | "two packets left" (4.1) | twice the mean packet size | below twice the device's MTU and header | below 3028 bytes |
//! | ECN (5.1) | marks while p is below 10 % | up to 10 % | as Linux |
//! | steps of p (5.5) | at most 2 % from 10 % on | the same, and 2 % more for waits above 250 ms | as Linux |
//! | p if the delay was 0 at two updates | times 0.98 | times 63/64, unless packets are queued now | as Linux |
//! | first update | – | half a second after the queue was created | at multiples of `update` since the start of the run |
//! | numbers | real | 2^-56 of probability, ticks of 64 ns | 64-bit floating point, nanoseconds |
//! | disabling below a third of the buffer (5.3), probability by packet size | optional | no; an option that is off by default | no |

use super::{Discipline, Queue, QueueLoad, at_least_one, mark};
use crate::problem::Problem;
use crate::{Account, DropCause, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Choices, Label, Span, Stream, Time};

/// Proportional integral controller enhanced (RFC 8033).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Pie {
    /// Maximum number of queued packets. Default 1000 (Linux).
    pub packets: u64,
    /// Target delay. Default 15 ms (RFC 8033 section 4.2).
    pub target: Span,
    /// Interval between updates of the probability. Default 15 ms (RFC 8033 section 4.2).
    pub update: Span,
    /// Added to the probability at each update, per second of delay above the target. Default 0.125 (RFC
    /// 8033 section 4.2; tc: 2, in 1/16).
    pub alpha: f64,
    /// Added to the probability at each update, per second of increase of the delay. Default 1.25 (RFC 8033
    /// section 4.2; tc: 20).
    pub beta: f64,
    /// Burst allowance: how long nothing is dropped after an idle period. Default 150 ms (RFC 8033 section
    /// 4.4).
    pub burst: Span,
    /// Mark ECN-capable packets instead of dropping them while the probability is at most 10 %. Default
    /// false (Linux).
    pub ecn: bool,
}

impl Default for Pie {
    fn default() -> Self {
        Pie {
            packets: 1000,
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Span::from_millis(150),
            ecn: false,
        }
    }
}

impl Discipline for Pie {
    type Queue<B: Send + 'static> = PieQueue<B>;
    const LABEL: Label = Label::same("PIE");
    const DROPS_EARLY: bool = true;

    fn limits(&self) -> QueueLoad {
        QueueLoad { packets: self.packets, bytes: u64::MAX }
    }

    fn check(&self) -> Result<(), Problem> {
        at_least_one("packets", self.packets)?;
        for (key, span) in [("target", self.target), ("update", self.update)] {
            if span < Span::from_micros(10) {
                return Err(Problem::new(key, "must be at least 10us (15ms is usual)"));
            }
        }
        for (key, gain, usual) in [("alpha", self.alpha, 0.125), ("beta", self.beta, 1.25)] {
            if !(0.0..=1e6).contains(&gain) {
                return Err(Problem::new(key, format!("must be a number from 0 up; {usual} is usual")));
            }
        }
        Ok(())
    }

    fn build<B: Send + 'static>(&self, seed: u64, name: &str) -> Self::Queue<B> {
        PieQueue {
            config: self.clone(),
            stream: Stream::new(seed, name),
            packets: VecDeque::new(),
            load: QueueLoad::default(),
            next_update: Time::ZERO + self.update,
            probability: 0.0,
            sum: 0.0,
            wait: Span::ZERO,
            wait_before: Span::ZERO,
            burst: self.burst,
            last_left: None,
        }
    }

    fn draw(choices: &mut Choices) -> Pie {
        Pie {
            packets: choices.packets(),
            target: Span::from_micros(choices.one(&[500, 15_000])),
            update: Span::from_millis(1 + choices.below(20)),
            alpha: choices.one(&[0.125, 20.0, 0.0]),
            beta: choices.one(&[1.25, 200.0]),
            burst: Span::from_millis(choices.below(3)),
            ecn: choices.coin(),
        }
    }
}

/// Nothing is dropped below this number of queued bytes: two packets of 1500 bytes with Ethernet headers
/// (section 4.1).
const MIN_BACKLOG: u64 = 2 * 1514;
/// At this probability and above, gains are not reduced (4.2) and steps are bounded (5.5); above it
/// ECN-capable packets are dropped too (5.1).
const HIGH_PROBABILITY: f64 = 0.1;
/// The maximum step at or above [`HIGH_PROBABILITY`], which is also added for long delays (section 5.5;
/// Linux).
const MAX_STEP: f64 = 0.02;
const LONG_DELAY: Span = Span::from_millis(250);
/// No packet is dropped while the sum of probabilities is below the first value, one certainly is at the
/// second value (section 5.4).
const SURE_PASS: f64 = 0.85;
const SURE_DROP: f64 = 8.5;

/// Divisor of the gains at a probability (the table of section 4.2).
fn gain_divisor(probability: f64) -> f64 {
    let table =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (HIGH_PROBABILITY, 2.0)];
    table.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| *divisor)
}

pub(crate) struct PieQueue<B> {
    config: Pie,
    stream: Stream,
    packets: VecDeque<(Time, Box<Packet<B>>)>,
    load: QueueLoad,
    next_update: Time,
    probability: f64,
    /// Sum of the probabilities of the packets since the last drop or mark.
    sum: f64,
    /// Delay of the last departed packet, now and at the last update.
    wait: Span,
    wait_before: Span,
    /// Remaining burst allowance.
    burst: Span,
    /// When the last packet departed.
    last_left: Option<Time>,
}

impl<B> PieQueue<B> {
    /// Makes the updates that are due by `now`. Their inputs do not change between packets, so late updates
    /// give the same result.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now && self.next_update < Time::from_nanos(u64::MAX) {
            let before = (self.probability, self.wait_before);
            self.update();
            let mut steps = 1;
            if before == (self.probability, self.wait_before) {
                // All further updates change nothing either.
                steps += now.since(self.next_update).as_nanos() / self.config.update.as_nanos();
            }
            self.next_update += self.config.update * steps;
        }
    }

    /// Section 4.2 with Linux's departures.
    fn update(&mut self) {
        let seconds = |a: Span, b: Span| (a.as_nanos() as f64 - b.as_nanos() as f64) / 1e9;
        let Pie { target, alpha, beta, .. } = self.config;
        let (wait, before) = (self.wait, self.wait_before);
        let gains = alpha * seconds(wait, target) + beta * seconds(wait, before);
        let mut step = gains / gain_divisor(self.probability);
        if self.probability >= HIGH_PROBABILITY {
            step = step.min(MAX_STEP);
        }
        if wait > LONG_DELAY {
            step += MAX_STEP;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if wait.is_zero() && before.is_zero() && self.load.packets == 0 {
            self.probability -= self.probability / 64.0;
        }
        let low = target / 2;
        if wait < low && before < low && self.probability == 0.0 {
            (self.burst, self.last_left, self.sum) = (self.config.burst, None, 0.0);
        }
        self.wait_before = wait;
    }

    /// Whether an arriving packet is to be dropped or marked.
    fn selects(&mut self) -> bool {
        let p = self.probability;
        let calm = self.wait < self.config.target / 2 && p < 0.2;
        if !self.burst.is_zero() || calm || self.load.bytes < MIN_BACKLOG {
            return false;
        }
        self.sum = if p == 0.0 { 0.0 } else { self.sum + p };
        let chosen = self.sum >= SURE_PASS && (self.sum >= SURE_DROP || self.stream.chance(p));
        if chosen {
            self.sum = 0.0;
        }
        chosen
    }
}

impl<B: Send> Queue<B> for PieQueue<B> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        self.catch_up(now);
        if self.load.packets + in_service.packets >= self.config.packets {
            self.sum = 0.0;
            return account.lose(out, now, packet, DropCause::Overflow);
        }
        if self.selects() {
            let may_mark = self.config.ecn && self.probability <= HIGH_PROBABILITY;
            if !(may_mark && mark(&mut packet, account)) {
                return account.lose(out, now, packet, DropCause::Aqm);
            }
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
        self.catch_up(now);
        let (since, packet) = self.packets.pop_front()?;
        self.load.remove(packet.size);
        self.wait = if self.packets.is_empty() { Span::ZERO } else { now.since(since) };
        if let Some(last) = self.last_left.replace(now) {
            self.burst = self.burst.saturating_sub(now.since(last));
        }
        Some((since, packet))
    }

    fn load(&self) -> QueueLoad {
        self.load
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;
    use crate::Ecn;

    const MS: u64 = 1_000_000;

    fn queue(config: Pie) -> PieQueue<()> {
        config.check().unwrap();
        config.build(1, "pie")
    }

    /// A queue with a given delay, previous delay and probability.
    fn at(wait_ms: u64, before_ms: u64, probability: f64) -> PieQueue<()> {
        let mut q = queue(Pie::default());
        (q.wait, q.wait_before) = (Span::from_millis(wait_ms), Span::from_millis(before_ms));
        q.probability = probability;
        q
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12
    }

    /// Section 4.2: 0.125 * (30 - 15 ms) + 1.25 * (30 - 15 ms) = 0.020625, divided by the value in the table.
    #[test]
    fn gains_follow_the_table() {
        for (p, divisor) in [
            (0.0, 2048.0),
            (0.99e-6, 2048.0),
            (1e-6, 512.0),
            (0.99e-5, 512.0),
            (1e-5, 128.0),
            (0.99e-4, 128.0),
            (1e-4, 32.0),
            (0.99e-3, 32.0),
            (1e-3, 8.0),
            (0.0099, 8.0),
            (0.01, 2.0),
            (0.099, 2.0),
        ] {
            let mut q = at(30, 15, p);
            q.update();
            assert!(near(q.probability, p + 0.020625 / divisor), "{p}: {}", q.probability);
            assert_eq!(q.wait_before, Span::from_millis(30));
        }
    }

    /// Section 5.5: at 10 % and above, steps are at most 2 %, but decreases are unbounded: 0.125 * (0 - 15
    /// ms) + 1.25 * (0 - 100 ms) = -0.126875. Above 250 ms 2 % are added: 0.02 + 0.02; and at 5 % 0.125 * 285
    /// ms / 2 + 0.02.
    #[test]
    fn increases_are_bounded_and_long_delays_add_to_them() {
        for (wait, before, p, next) in [
            (100, 15, 0.1, 0.12),
            (0, 100, 0.5, 0.5 - 0.126875),
            (250, 15, 0.1, 0.12),
            (251, 15, 0.1, 0.14),
            (300, 300, 0.05, 0.05 + 0.0178125 + 0.02),
            (300, 15, 0.99, 1.0),
            (0, 100, 0.1, 0.0),
        ] {
            let mut q = at(wait, before, p);
            q.update();
            assert!(near(q.probability, next), "{wait} {before} {p}: {}", q.probability);
        }
    }

    /// No delay at two updates: 0.5 - 0.125 * 15 ms = 0.498125, times 63/64.
    #[test]
    fn without_a_queue_the_probability_decays() {
        let mut q = at(0, 0, 0.5);
        q.update();
        assert!(near(q.probability, 0.498125 * 63.0 / 64.0), "{}", q.probability);
        // No decay while a packet is queued that has not departed yet.
        let mut q = at(0, 0, 0.5);
        q.load.add(1500);
        q.update();
        assert!(near(q.probability, 0.498125), "{}", q.probability);
    }

    /// Packets arrive at `now` until `q` holds `depth` of them, or one is dropped.
    fn fill(q: &mut PieQueue<()>, now: Time, depth: u64, all: &mut (Account, Outbox<()>)) {
        while q.load.packets < depth && all.1.dropped.is_empty() {
            all.0.enter();
            q.enqueue(now, packet(1, 1500), QueueLoad::default(), &mut all.0, &mut all.1);
        }
    }

    /// Section 4.4, at a probability of 1. A queue of 100 packets is served once per ms from 0 ms on: the
    /// allowance of 150 ms is used up by the packet that departs at 150 ms, so the first drop is at 151 ms.
    /// Without an allowance the fourth packet is dropped, because three packets are more than 3028 bytes
    /// (section 4.1).
    #[test]
    fn nothing_is_dropped_during_the_burst_allowance() {
        let first_drop = |burst: u64| {
            let mut q = queue(Pie { burst: Span::from_millis(burst), ..Pie::default() });
            let mut all = (Account::default(), Outbox::default());
            for ms in 0..400 {
                let now = Time::from_nanos(ms * MS);
                q.catch_up(now);
                q.probability = 1.0;
                fill(&mut q, now, 100, &mut all);
                if !all.1.dropped.is_empty() {
                    return (ms, all.0.packets_in - all.0.dropped - all.0.passed);
                }
                let (since, p) = q.dequeue(now, &mut all.0, &mut all.1).expect("a queued packet");
                all.0.send(&mut all.1, since, now, p);
                assert_eq!(q.burst.is_zero(), ms >= burst, "{ms}");
            }
            panic!("no drop");
        };
        assert_eq!((first_drop(150), first_drop(0)), ((151, 99), (0, 3)));
    }

    /// Section 4.4: two updates with a delay below half the target and probability 0 restore the allowance; 8
    /// ms is not below.
    #[test]
    fn the_burst_allowance_is_restored_when_the_delay_is_low() {
        for (wait, before, p, back) in
            [(7, 7, 0.0, true), (8, 7, 0.0, false), (7, 8, 0.0, false), (7, 7, 0.5, false)]
        {
            let mut q = at(wait, before, p);
            q.burst = Span::ZERO;
            q.update();
            assert_eq!(!q.burst.is_zero(), back, "{wait} {before} {p}");
        }
    }

    /// Distances between the chosen packets among `n`, at a constant probability.
    fn gaps(p: f64, n: u64) -> Vec<u64> {
        let mut q = at(30, 30, p);
        q.burst = Span::ZERO;
        q.load = QueueLoad { packets: 10, bytes: 15_000 };
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..n {
            gap += 1;
            if q.selects() {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        gaps
    }

    /// Section 5.4 at 10 %: the sum is 0.9 at the ninth packet, so distances are at least 9; then one packet
    /// in ten is chosen, so the mean is 8 + 10 = 18 (one in 3000 reaches the sum 8.5). At 1/64: at least 55,
    /// and the 544th is certain, where the sum is 8.5: 54 + 64 (1 - (63/64)^490) = 117.97.
    #[test]
    fn drops_are_spread() {
        for (p, least, mean, most) in [(0.1, 9, 18.0, 86), (1.0 / 64.0, 55, 117.97, 544)] {
            let gaps = gaps(p, 1_000_000);
            assert_eq!(gaps.iter().min(), Some(&least), "{p}");
            assert!(gaps.iter().all(|&gap| gap <= most), "{p}");
            let found = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.02, "{p}: {found}");
        }
    }

    /// Section 4.1: with a delay below half the target and a probability below 20 %, or below two packets,
    /// nothing is chosen.
    #[test]
    fn nothing_is_dropped_from_small_queues() {
        for (wait, p, bytes, may) in [
            (7, 0.19, 15_000, false),
            (7, 0.2, 15_000, true),
            (8, 0.19, 15_000, true),
            (30, 0.5, 3027, false),
        ] {
            let mut q = at(wait, wait, p);
            (q.burst, q.sum) = (Span::ZERO, 8.5);
            q.load = QueueLoad { packets: 10, bytes };
            assert_eq!(q.selects(), may, "{wait} {p} {bytes}");
        }
    }

    /// Section 5.1: up to 10 % ECN-capable packets are marked, above that dropped; other packets are always
    /// dropped.
    #[test]
    fn ecn_capable_packets_are_marked_up_to_ten_per_cent() {
        for (p, ecn, marked) in [
            (0.1, Ecn::Ect0, true),
            (0.1, Ecn::NotEct, false),
            (0.11, Ecn::Ect0, false),
            (0.05, Ecn::Ect1, true),
        ] {
            let mut q = at(30, 30, p);
            q.config.ecn = true;
            (q.burst, q.sum) = (Span::ZERO, 8.5);
            q.load = QueueLoad { packets: 10, bytes: 15_000 };
            let (mut account, mut out) = (Account::default(), Outbox::default());
            account.enter();
            q.enqueue(
                Time::ZERO,
                Box::new(Packet { ecn, ..*packet(1, 1500) }),
                QueueLoad::default(),
                &mut account,
                &mut out,
            );
            assert_eq!((account.marked, account.dropped), (marked as u64, !marked as u64), "{p} {ecn:?}");
            assert_eq!(q.sum, 0.0);
        }
    }

    /// If 1.2 packets arrive for each departure, the probability is stable only where 1 - 1/1.2 = 16.7 % of
    /// the packets, one in 6, are dropped, at the target delay of 15 ms. Spread drops (section 5.4) are 2 +
    /// 1/p packets apart while 3 p >= 0.85, 3 + 1/p below: 5.53 and 6.53 at p = 0.85/3, so the probability
    /// stays there.
    #[test]
    fn the_delay_converges_to_the_target_under_overload() {
        let mut q = queue(Pie::default());
        let (mut account, mut out) = (Account::default(), Outbox::default());
        let (mut arrival, mut waits, mut sum) = (0, 0u64, Span::ZERO);
        let (mut arrived, mut lost) = (0, 0);
        for ms in 0..60_000 {
            let now = ms * MS;
            while arrival <= now {
                account.enter();
                q.enqueue(
                    Time::from_nanos(arrival),
                    packet(1, 1500),
                    QueueLoad::default(),
                    &mut account,
                    &mut out,
                );
                arrival += MS * 5 / 6;
                arrived += (ms >= 20_000) as u64;
            }
            lost += if ms >= 20_000 { out.dropped.len() as u64 } else { 0 };
            out.clear();
            if let Some((since, p)) = q.dequeue(Time::from_nanos(now), &mut account, &mut out) {
                if ms >= 20_000 {
                    waits += 1;
                    sum += Time::from_nanos(now).since(since);
                }
                account.send(&mut out, since, Time::from_nanos(now), p);
                out.sent.clear();
            }
        }
        let (mean, share) = (sum.as_millis_f64() / waits as f64, lost as f64 / arrived as f64);
        assert!((mean - 15.0).abs() < 1.0, "{mean} ms");
        assert!((share - 1.0 / 6.0).abs() < 0.003, "{share}");
        assert!((q.probability - 0.85 / 3.0).abs() < 0.02, "{}", q.probability);
    }

    /// Late updates give the same result as punctual ones.
    #[test]
    fn late_updates_equal_punctual_ones() {
        for (wait, before, p) in [(0, 0, 0.9), (40, 0, 0.0), (14, 14, 1e-7), (15, 15, 0.3)] {
            let (mut late, mut exact) = (at(wait, before, p), at(wait, before, p));
            for ms in (0..300_000).step_by(15) {
                exact.catch_up(Time::from_nanos(ms * MS));
            }
            late.catch_up(Time::from_nanos(299_999 * MS));
            exact.catch_up(Time::from_nanos(299_999 * MS));
            let state = |q: &PieQueue<()>| (q.probability, q.wait_before, q.next_update, q.burst, q.sum);
            assert_eq!(state(&late), state(&exact), "{wait} {before} {p}");
        }
    }

    #[test]
    fn invalid_values_are_refused() {
        let wrong = |pie: Pie| pie.check().unwrap_err().key;
        assert_eq!(wrong(Pie { packets: 0, ..Pie::default() }), "packets");
        assert_eq!(wrong(Pie { target: Span::ZERO, ..Pie::default() }), "target");
        assert_eq!(wrong(Pie { update: Span::from_nanos(1), ..Pie::default() }), "update");
        assert_eq!(wrong(Pie { alpha: f64::NAN, ..Pie::default() }), "alpha");
        assert_eq!(wrong(Pie { beta: -1.0, ..Pie::default() }), "beta");
    }
}
