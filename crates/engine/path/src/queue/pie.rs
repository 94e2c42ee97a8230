//! PIE, proportional integral controller enhanced (RFC 8033): a newcomer is dropped or marked with a probability
//! that is moved every `update` by how far the wait is from `target`, and by how it has changed:
//!
//! ```text
//! p += alpha (wait - target) + beta (wait - wait at the last update)      section 4.2
//! ```
//!
//! Below 10 % both gains are smaller, in proportion to the probability (the table of section 4.2). A burst passes:
//! after a time without a queue nothing is dropped for `burst` (section 4.4). Drops are spread: none until the
//! probabilities of the packets since the last add up to 0.85, certainly one at 8.5 (section 5.4).
//!
//! | where | RFC 8033 | Linux `sch_pie` | here |
//! |---|---|---|---|
//! | the wait | backlog over the measured departure rate (5.2), or timestamps | timestamps: that of the last packet that left, 0 if nothing was left behind it | as Linux |
//! | the burst's time runs | at each update | at each departure, by the time since the one before | as Linux |
//! | spread drops (5.4) | optional | always | as Linux; the sum begins anew at every drop and mark (Linux keeps it when it marks at 8.5) |
//! | "two packets left" (4.1) | twice the mean packet size | below twice the device's MTU and header | below 3028 bytes |
//! | ECN (5.1) | marks while p is below 10 % | up to 10 % | as Linux |
//! | steps of p (5.5) | at most 2 % from 10 % on | the same, and 2 % more for waits above 250 ms | as Linux |
//! | p when nothing waited at two updates | times 0.98 | times 63/64, unless something waits now | as Linux |
//! | first update | – | half a second after the queue was made | with the others, at multiples of `update` since time began |
//! | numbers | real | 2^-56 of probability, ticks of 64 ns | 64-bit floating point, nanoseconds |
//! | turning it off below a third of the buffer (5.3), probability by packet size | optional | no; an option that is off | no |

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
    /// Most packets queued. Default 1000 (Linux).
    pub packets: u64,
    /// The wait it aims at. Default 15 ms (RFC 8033 section 4.2).
    pub target: Span,
    /// From one update of the probability to the next. Default 15 ms (RFC 8033 section 4.2).
    pub update: Span,
    /// What a second above the target adds to the probability at each update. Default 0.125 (RFC 8033
    /// section 4.2; tc: 2, in 1/16).
    pub alpha: f64,
    /// What each second that the wait has grown adds. Default 1.25 (RFC 8033 section 4.2; tc: 20).
    pub beta: f64,
    /// How long a burst into an idle queue is spared. Default 150 ms (RFC 8033 section 4.4).
    pub burst: Span,
    /// Mark ECN-capable packets instead of dropping them, while the probability is up to 10 %. Default false
    /// (Linux).
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

/// Fewer bytes than two packets of 1500 with their Ethernet headers: nothing is dropped (section 4.1).
const FEW_BYTES: u64 = 2 * 1514;
/// Above this probability ECN-capable packets are dropped too (section 5.1), gains are whole (4.2) and steps are
/// bounded (5.5).
const HIGH: f64 = 0.1;
/// The largest step from there on, and what long waits add (section 5.5; Linux).
const STEP: f64 = 0.02;
const LONG_WAIT: Span = Span::from_millis(250);
/// The sum of probabilities below which nothing, and from which on certainly one is dropped (section 5.4).
const SURE_PASS: f64 = 0.85;
const SURE_DROP: f64 = 8.5;

/// By how much the gains are divided at a probability (the table of section 4.2).
fn divisor(probability: f64) -> f64 {
    let table = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (HIGH, 2.0)];
    table.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| *divisor)
}

pub(crate) struct PieQueue<B> {
    config: Pie,
    stream: Stream,
    packets: VecDeque<(Time, Packet<B>)>,
    load: QueueLoad,
    next_update: Time,
    probability: f64,
    /// Probabilities of the packets since the last drop or mark.
    sum: f64,
    /// How long the last packet that left had waited, and what that was at the last update.
    wait: Span,
    wait_before: Span,
    /// What is left of the time in which a burst is spared.
    burst: Span,
    /// When a packet last left.
    last_left: Option<Time>,
}

impl<B> PieQueue<B> {
    /// Makes the updates that are due by `now`. Nothing they depend on changes between two packets, so making
    /// them late gives the same.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now && self.next_update < Time::from_nanos(u64::MAX) {
            let before = (self.probability, self.wait_before);
            self.update();
            let mut steps = 1;
            if before == (self.probability, self.wait_before) {
                // So will all others be.
                steps += now.since(self.next_update).as_nanos() / self.config.update.as_nanos();
            }
            self.next_update += self.config.update * steps;
        }
    }

    /// Section 4.2, with Linux's departures.
    fn update(&mut self) {
        let seconds = |a: Span, b: Span| (a.as_nanos() as f64 - b.as_nanos() as f64) / 1e9;
        let Pie { target, alpha, beta, .. } = self.config;
        let (wait, before) = (self.wait, self.wait_before);
        let gains = alpha * seconds(wait, target) + beta * seconds(wait, before);
        let mut step = gains / divisor(self.probability);
        if self.probability >= HIGH {
            step = step.min(STEP);
        }
        if wait > LONG_WAIT {
            step += STEP;
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

    /// Whether a newcomer is to be dropped or marked.
    fn chooses(&mut self) -> bool {
        let p = self.probability;
        let calm = self.wait < self.config.target / 2 && p < 0.2;
        if !self.burst.is_zero() || calm || self.load.bytes < FEW_BYTES {
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
        mut packet: Packet<B>,
        head: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        self.catch_up(now);
        if self.load.packets + head.packets >= self.config.packets {
            self.sum = 0.0;
            return account.lose(out, now, packet, DropCause::Overflow);
        }
        if self.chooses() {
            let may_mark = self.config.ecn && self.probability <= HIGH;
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
    ) -> Option<(Time, Packet<B>)> {
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

    /// A queue in mid-life: the wait, the one before, and the probability are given.
    fn at(wait_ms: u64, before_ms: u64, probability: f64) -> PieQueue<()> {
        let mut q = queue(Pie::default());
        (q.wait, q.wait_before) = (Span::from_millis(wait_ms), Span::from_millis(before_ms));
        q.probability = probability;
        q
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12
    }

    /// Section 4.2: 0.125 * (30 - 15 ms) + 1.25 * (30 - 15 ms) = 0.020625, divided by what the table says.
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

    /// Section 5.5: from 10 % on at most 2 % a step up, but down as it comes: 0.125 * (0 - 15 ms) + 1.25 * (0 - 100
    /// ms) = -0.126875. Above 250 ms 2 % more: 0.02 + 0.02; and at 5 % 0.125 * 285 ms / 2 + 0.02.
    #[test]
    fn steps_are_bounded_upwards_and_long_waits_add_to_them() {
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

    /// Nothing waited at two updates: 0.5 - 0.125 * 15 ms = 0.498125, times 63/64.
    #[test]
    fn without_a_queue_the_probability_decays() {
        let mut q = at(0, 0, 0.5);
        q.update();
        assert!(near(q.probability, 0.498125 * 63.0 / 64.0), "{}", q.probability);
        // Not while something waits that has not left yet.
        let mut q = at(0, 0, 0.5);
        q.load.add(1500);
        q.update();
        assert!(near(q.probability, 0.498125), "{}", q.probability);
    }

    /// Packets come at `now` until `q` has `depth` of them, or one is dropped.
    fn fill(q: &mut PieQueue<()>, now: Time, depth: u64, all: &mut (Account, Outbox<()>)) {
        while q.load.packets < depth && all.1.dropped.is_empty() {
            all.0.enter();
            q.enqueue(now, packet(1, 1500), QueueLoad::default(), &mut all.0, &mut all.1);
        }
    }

    /// Section 4.4, at a probability of 1. A queue of 100 is served once per ms from 0 ms on: the allowance of 150 ms
    /// is used up by the packet that leaves at 150 ms, so the first is dropped at 151 ms. Without an allowance it is
    /// the fourth of all: three packets are more than 3028 bytes (section 4.1).
    #[test]
    fn a_burst_is_spared_for_its_time() {
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
                let (since, p) = q.dequeue(now, &mut all.0, &mut all.1).expect("full");
                all.0.send(&mut all.1, since, now, p);
                assert_eq!(q.burst.is_zero(), ms >= burst, "{ms}");
            }
            panic!("no drop");
        };
        assert_eq!((first_drop(150), first_drop(0)), ((151, 99), (0, 3)));
    }

    /// Section 4.4: two updates below half the target and no probability bring the allowance back; 8 ms is not below.
    #[test]
    fn the_allowance_returns_when_the_queue_has_gone() {
        for (wait, before, p, back) in
            [(7, 7, 0.0, true), (8, 7, 0.0, false), (7, 8, 0.0, false), (7, 7, 0.5, false)]
        {
            let mut q = at(wait, before, p);
            q.burst = Span::ZERO;
            q.update();
            assert_eq!(!q.burst.is_zero(), back, "{wait} {before} {p}");
        }
    }

    /// Gaps between the packets chosen of so many, at a probability that is kept.
    fn gaps(p: f64, n: u64) -> Vec<u64> {
        let mut q = at(30, 30, p);
        q.burst = Span::ZERO;
        q.load = QueueLoad { packets: 10, bytes: 15_000 };
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..n {
            gap += 1;
            if q.chooses() {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        gaps
    }

    /// Section 5.4 at 10 %: the sum is 0.9 at the ninth packet, so gaps are 9 at least; then one in ten, so the mean
    /// is 8 + 10 = 18 (one in 3000 lives to see 8.5). At 1/64: 55 at least, and the 544th is sure, where the sum is
    /// 8.5: 54 + 64 (1 - (63/64)^490) = 117.97.
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

    /// Section 4.1: below half the target and 20 %, and below two packets, nothing is chosen whatever came before.
    #[test]
    fn small_queues_are_left_alone() {
        for (wait, p, bytes, may) in [
            (7, 0.19, 15_000, false),
            (7, 0.2, 15_000, true),
            (8, 0.19, 15_000, true),
            (30, 0.5, 3027, false),
        ] {
            let mut q = at(wait, wait, p);
            (q.burst, q.sum) = (Span::ZERO, 8.5);
            q.load = QueueLoad { packets: 10, bytes };
            assert_eq!(q.chooses(), may, "{wait} {p} {bytes}");
        }
    }

    /// Section 5.1: up to 10 % capable packets are marked, above that dropped; others are always dropped.
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
                Packet { ecn, ..packet(1, 1500) },
                QueueLoad::default(),
                &mut account,
                &mut out,
            );
            assert_eq!((account.marked, account.dropped), (marked as u64, !marked as u64), "{p} {ecn:?}");
            assert_eq!(q.sum, 0.0);
        }
    }

    /// Where 1.2 packets come for each that leaves, whatever is dropped, the probability can only rest where drops
    /// are 1 - 1/1.2 = 16.7 % of the packets, one in 6, and the wait is the target, 15 ms. Spread drops (section 5.4)
    /// are 2 + 1/p packets apart while 3 p >= 0.85, 3 + 1/p below: 5.53 and 6.53 at p = 0.85/3, so it stays there.
    #[test]
    fn an_overload_settles_at_the_target() {
        let mut q = queue(Pie::default());
        let (mut account, mut out) = (Account::default(), Outbox::default());
        let (mut arrival, mut waits, mut sum) = (0, 0u64, Span::ZERO);
        let (mut came, mut lost) = (0, 0);
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
                came += (ms >= 20_000) as u64;
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
        let (mean, share) = (sum.as_millis_f64() / waits as f64, lost as f64 / came as f64);
        assert!((mean - 15.0).abs() < 1.0, "{mean} ms");
        assert!((share - 1.0 / 6.0).abs() < 0.003, "{share}");
        assert!((q.probability - 0.85 / 3.0).abs() < 0.02, "{}", q.probability);
    }

    /// However late, updates come to the same.
    #[test]
    fn updates_that_are_made_late_are_the_same() {
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
    fn what_makes_no_sense_is_said() {
        let wrong = |pie: Pie| pie.check().unwrap_err().key;
        assert_eq!(wrong(Pie { packets: 0, ..Pie::default() }), "packets");
        assert_eq!(wrong(Pie { target: Span::ZERO, ..Pie::default() }), "target");
        assert_eq!(wrong(Pie { update: Span::from_nanos(1), ..Pie::default() }), "update");
        assert_eq!(wrong(Pie { alpha: f64::NAN, ..Pie::default() }), "alpha");
        assert_eq!(wrong(Pie { beta: -1.0, ..Pie::default() }), "beta");
    }
}
