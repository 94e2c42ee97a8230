//! A virtual-time fixture, and scripts made of arbitrary bytes with what must hold for them.
//! Shared with the fuzz target.
#![allow(dead_code)]

use path::*;
use units::{Bytes, Length, Rate, Span, Speed, Stream, Time};

/// A plain packet.
pub fn packet(id: u64, size: u32) -> Packet<()> {
    Packet { id, size, overhead: 0, flow: 0, dscp: 0, ecn: Ecn::NotEct, fragment: None, body: () }
}

/// Reads a stage as a scenario would hold it.
pub fn stage(json: serde_json::Value) -> Stage {
    let stage: Stage = serde_json::from_value(json).expect("a stage");
    stage.check().expect("a valid stage");
    stage
}

/// A chain, a clock, and everything that left so far.
pub struct Rig {
    pub chain: Chain<()>,
    pub now: Time,
    pub out: Outbox<()>,
}

impl Rig {
    pub fn new(stages: &[Stage]) -> Rig {
        Rig::seeded(1, stages)
    }

    pub fn seeded(seed: u64, stages: &[Stage]) -> Rig {
        let names: Vec<String> = (0..stages.len()).map(|i| format!("stage{i}")).collect();
        let chain = Chain::build(seed, names.iter().map(String::as_str).zip(stages));
        Rig { chain, now: Time::ZERO, out: Outbox::default() }
    }

    /// A packet arrives at `ns`; all wake-ups before are made when they are due.
    pub fn arrive(&mut self, ns: u64, packet: Packet<()>) -> &mut Rig {
        self.wait_until(ns);
        self.chain.handle_packet(self.now, packet, &mut self.out);
        self
    }

    /// Time passes to `ns`.
    pub fn wait_until(&mut self, ns: u64) -> &mut Rig {
        let end = Time::from_nanos(ns);
        while let Some(at) = self.chain.next_wake().filter(|&at| at <= end) {
            self.wake(at);
        }
        self.now = self.now.max(end);
        self
    }

    fn wake(&mut self, at: Time) {
        self.now = self.now.max(at);
        let before = self.out.sent.len();
        self.chain.handle_wake(self.now, &mut self.out);
        assert!(self.chain.next_wake().is_none_or(|next| next > self.now), "woken for ever");
        assert!(self.out.sent[before..].iter().all(|s| s.0 == self.now), "woken too late");
    }

    /// Time passes until nothing is left to do.
    pub fn finish(&mut self) -> &mut Rig {
        while let Some(at) = self.chain.next_wake() {
            self.wake(at);
        }
        self
    }

    /// Due times in ns and ids of what left.
    pub fn sent(&self) -> Vec<(u64, u64)> {
        self.out.sent.iter().map(|(at, p)| (at.as_nanos(), p.id)).collect()
    }

    /// Times in ns, ids and causes of what was dropped.
    pub fn dropped(&self) -> Vec<(u64, u64, Cause)> {
        self.out.dropped.iter().map(|(at, p, why)| (at.as_nanos(), p.id, *why)).collect()
    }
}

/// Arbitrary bytes as a source of choices; when they run out, every choice is the first.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u64 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first as u64
            }
            None => 0,
        }
    }
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        if n <= 256 {
            return self.byte() % n;
        }
        (0..4).fold(0, |sum, _| sum << 8 | self.byte()) % n
    }
    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.coin() { Some(make(self)) } else { None }
    }
    fn rate(&mut self) -> Rate {
        let bps = self.one(&[20_000_000, 64_000, 1_000_000, 7_777_777, 1_000_000_000, 3]);
        Rate::from_bps(bps + self.below(3))
    }
    fn span(&mut self) -> Span {
        let ns = self.one(&[0, 1, 1000, 1_000_000, 10_000_000, 333_333, 500_000_000]);
        Span::from_nanos(ns * self.below(5))
    }
    fn bytes(&mut self) -> Bytes {
        Bytes::new(self.one(&[1500, 3028, 10_000, 625_000, 40]) + self.below(100))
    }
    fn probability(&mut self) -> f64 {
        self.one(&[0.5, 0.0, 1.0, 0.01, 0.9])
    }
    fn packets(&mut self) -> u64 {
        1 + self.below(20)
    }

    fn queue(&mut self) -> QueueConfig {
        use path::queue::*;
        let (target, interval) = (Span::from_micros(500), Span::from_millis(2));
        match self.below(6) {
            0 => {
                let (packets, bytes) = (self.maybe(Self::packets), self.maybe(Self::bytes));
                QueueConfig::Fifo(Fifo { packets, bytes })
            }
            1 => {
                let weights = vec![Weight { flow: 1, weight: 1 + self.below(9) as u16 }];
                QueueConfig::Wfq(Wfq { packets: self.packets(), weights })
            }
            2 => QueueConfig::Drr(Drr { packets: self.packets(), quantum: 256 + self.below(2000) as u32 }),
            3 => QueueConfig::CoDel(CoDel { packets: self.packets(), target, interval, ecn: self.coin() }),
            4 => QueueConfig::FqCoDel(FqCoDel {
                packets: self.packets(),
                flows: 1 + self.below(8) as u32,
                target,
                interval,
                ..FqCoDel::default()
            }),
            _ => QueueConfig::Red(Red {
                packets: self.packets(),
                min: 2,
                max: 6,
                weight: self.one(&[0.5, 0.01]),
                ecn: self.coin(),
                gentle: self.coin(),
                ..Red::default()
            }),
        }
    }

    fn action(&mut self) -> Action {
        self.one(&[Action::Pass, Action::Drop, Action::Dscp(12)])
    }

    fn policer(&mut self) -> Stage {
        let meter = self.one(&[Meter::Single, Meter::Srtcm, Meter::Trtcm]);
        let rate = self.rate();
        let mut p = Policer::single(rate, self.maybe(Self::bytes));
        p.meter = meter;
        p.peak_rate = (meter == Meter::Trtcm).then(|| Rate::from_bps(rate.as_bps() * 2));
        p.yellow = self.action();
        p.red = self.action();
        p.aware = self.coin();
        p.per_flow = self.coin();
        p.into()
    }

    fn shaper(&mut self) -> Stage {
        let mut s = Shaper::new(self.rate());
        s.burst = self.maybe(Self::bytes);
        if self.coin() {
            s.refill = Refill::Interval;
            s.excess_burst = self.maybe(Self::bytes);
        } else {
            s.peak_rate = self.maybe(|c| Rate::from_bps(s.rate.as_bps() * (1 + c.below(3))));
        }
        if self.coin() {
            s.latency = Some(self.span());
        } else {
            s.queue = Some(self.queue());
        }
        s.into()
    }

    fn htb(&mut self) -> Stage {
        let class = |name: &str, parent: Option<&str>, c: &mut Self| Class {
            name: name.into(),
            parent: parent.map(Into::into),
            rate: c.rate(),
            ceil: c.maybe(|_| Rate::from_bps(2_000_000_000)),
            burst: c.maybe(Self::bytes),
            cburst: c.maybe(Self::bytes),
            prio: c.below(3) as u8,
            quantum: None,
            flows: vec![],
            dscp: vec![],
            tunnel: None,
            queue: None,
        };
        let mut classes = vec![class("port", None, self), class("inner", Some("port"), self)];
        for (i, parent) in ["port", "inner", "inner"].into_iter().enumerate() {
            let mut leaf = class(&format!("leaf{i}"), Some(parent), self);
            leaf.queue = self.maybe(Self::queue);
            match self.below(4) {
                0 => leaf.flows = vec![i as u32, 3],
                1 => leaf.dscp = vec![10],
                2 => leaf.tunnel = Some(self.coin()),
                _ => {}
            }
            classes.push(leaf);
        }
        Htb { classes }.into()
    }

    fn rate_trace(&mut self) -> Stage {
        let mut t = RateTrace { delay: self.span(), queue: self.queue(), ..RateTrace::default() };
        if self.coin() {
            let mut ms = self.below(3);
            for _ in 0..=self.below(6) {
                t.opportunities.push(ms);
                ms += self.below(4);
            }
            t.opportunities.push(ms + 1);
        } else {
            let mut at = Span::ZERO;
            for _ in 0..=self.below(4) {
                let rate = if self.coin() { self.rate() } else { Rate::from_bps(0) };
                t.steps.push(Step { at, rate });
                at += Span::from_nanos(1 + self.below(5_000_000));
            }
            t.period = self.maybe(|_| at);
        }
        t.into()
    }

    fn buffer(&mut self) -> Buffer {
        self.one(&[Buffer::Lost, Buffer::Kept, Buffer::LeftBehind])
    }

    /// Nothing that takes thousands of handovers.
    fn fast_rate(&mut self) -> Rate {
        Rate::from_bps(self.one(&[20_000_000, 1_000_000, 300_000]) + self.below(3))
    }

    fn train(&mut self) -> Stage {
        Train {
            rate: self.fast_rate(),
            speed: Speed::from_kmh(300 + self.below(200)),
            cell: Length::from_mm(14_000 + self.below(30_000)),
            start: Length::from_mm(self.below(14_000)),
            residual: self.probability(),
            edge_snr: self.one(&[12.0, 0.0, 25.0]),
            bit_errors: self.one(&[1e-7, 1e-5]),
            repeats: self.below(3) as u32,
            lasts: Span::from_millis(self.below(50)),
            buffer: self.maybe(Self::buffer),
            attempt: Span::from_millis(1 + self.below(20)),
            attempt_failure: self.probability(),
            overlap: Length::from_m(self.below(5)),
            failure_lasts: [Span::ZERO, Span::from_millis(self.below(99))],
            failure_buffer: self.maybe(Self::buffer),
            delay: self.span(),
            mtu: self.maybe(|c| 1000 + c.below(1000) as u32),
            queue: self.queue(),
            ..Train::default()
        }
        .into()
    }

    fn handover(&mut self) -> Stage {
        let (every, fall) = (Span::from_millis(1 + self.below(30)), self.span());
        let listed = self.coin();
        let fails = self.below(4);
        Handover {
            failures: (fails == 1).then(|| self.below(3)),
            among: (fails == 1).then(|| 2 + self.below(3)),
            failed: if fails == 2 { vec![1 + self.below(3), 3] } else { vec![] },
            failure_probability: (fails == 3).then(|| self.probability()),
            failure_lasts: (fails > 0)
                .then(|| [Span::from_nanos(self.below(5)), Span::from_millis(self.below(9))]),
            failure_buffer: if fails > 0 { self.maybe(Self::buffer) } else { None },
            fate: (fails > 0 && self.coin()).then(|| "radio".to_string()),
            at: if listed { vec![every, every * 3] } else { vec![] },
            every: (!listed).then_some(every),
            first: None,
            lasts: self.span(),
            buffer: self.buffer(),
            rate: self.maybe(if fails > 0 { Self::fast_rate } else { Self::rate }),
            fall,
            falling_rate: (!fall.is_zero()).then(|| if fails > 0 { self.fast_rate() } else { self.rate() }),
            extra_delay: self.span(),
            extra_for: None,
            delay: self.span(),
            mtu: None,
            queue: self.queue(),
        }
        .into()
    }

    fn tunnel(&mut self) -> Stage {
        let esp = self.coin();
        let mtu = self.maybe(|c| 576 + c.below(1500) as u32);
        Tunnel {
            overhead: if esp { Overhead::Preset(Preset::EspAesGcm) } else { Overhead::Bytes(24) },
            nat_traversal: esp && self.coin(),
            mtu,
            fragment: mtu.is_some() && self.coin(),
        }
        .into()
    }

    /// A valid stage of any kind.
    pub fn stage(&mut self) -> Stage {
        let kind = self.below(16);
        let stage = match kind {
            0 => Link {
                rate: self.maybe(Self::rate),
                delay: self.span(),
                mtu: self.maybe(|c| 1000 + c.below(1000) as u32),
                queue: self.queue(),
            }
            .into(),
            1 => Delay { delay: self.span() }.into(),
            2 => Jitter {
                delay: self.span(),
                jitter: Some(self.span()),
                distribution: self.one(&[Distribution::Uniform, Distribution::Normal]),
                reorder: self.coin(),
                every: self.maybe(|c| Span::from_nanos(1 + c.below(20_000_000))),
                ..Jitter::default()
            }
            .into(),
            3 => self.rate_trace(),
            4 => Outage {
                at: vec![],
                every: Some(Span::from_millis(7 + self.below(20))),
                first: self.maybe(Self::span),
                lasts: Span::from_nanos(1 + self.below(6_000_000)),
                buffer: self.one(&[Buffer::Lost, Buffer::Kept]),
                queue: self.queue(),
            }
            .into(),
            5 => self.handover(),
            6 => self.policer(),
            7 => self.shaper(),
            8 => self.htb(),
            9 => Loss {
                model: LossModel::GilbertElliott,
                p: Some(self.probability()),
                r: Some(self.probability()),
                ..Loss::default()
            }
            .into(),
            10 => Duplicate { probability: self.probability() }.into(),
            11 => Reorder { probability: self.probability(), delay: self.span() }.into(),
            12 => self.tunnel(),
            14 => self.train(),
            13 => TunnelEnd { timeout: Span::from_millis(1 + self.below(50)) }.into(),
            _ => Jitter {
                distribution: Distribution::Trace,
                delays: (0..=self.below(5)).map(|_| self.span()).collect(),
                ..Jitter::default()
            }
            .into(),
        };
        if stage.check().is_ok() { stage } else { Delay { delay: Span::from_millis(1) }.into() }
    }

    fn arrivals(&mut self) -> Vec<(Time, Packet<()>)> {
        let mut now = Time::ZERO;
        let mut all = Vec::new();
        while !self.0.is_empty() && all.len() < 300 {
            let gap = self.one(&[0, 1, 1000, 100_000, 1_000_000, 4_000_000, 600_000_000]);
            now += Span::from_nanos(gap * self.below(4));
            let mut p = packet(all.len() as u64, self.one(&[1500, 40, 1400, 9000, 577]));
            p.size += self.below(8) as u32;
            p.flow = self.below(4) as u32;
            p.dscp = self.one(&[0, 10, 12, 14]);
            p.ecn = self.one(&[Ecn::NotEct, Ecn::Ect0]);
            all.push((now, p));
        }
        all
    }
}

type Seen = (u64, u64, u32, u8, u8, Option<u8>);

fn seen(at: Time, p: &Packet<()>) -> Seen {
    (at.as_nanos(), p.id, p.size, p.dscp, p.ecn as u8, p.fragment.map(|f| f.index))
}

/// What was sent, dropped (and why), bounced (and for which MTU).
type Summary = (Vec<Seen>, Vec<(Seen, u8)>, Vec<(Seen, u32)>);

/// All that left, in a form that does not depend on when losses were told.
fn summary(out: &Outbox<()>) -> Summary {
    let sent = out.sent.iter().map(|(at, p)| seen(*at, p)).collect();
    let mut dropped: Vec<_> = out.dropped.iter().map(|(at, p, cause)| (seen(*at, p), *cause as u8)).collect();
    let mut bounced: Vec<_> = out.bounced.iter().map(|(at, p, mtu)| (seen(*at, p), *mtu)).collect();
    dropped.sort_unstable();
    bounced.sort_unstable();
    (sent, dropped, bounced)
}

fn check_books(rig: &Rig) {
    for i in 0..rig.chain.len() {
        let a = rig.chain.account(i);
        assert!(a.balances(), "element {i}: {a:?}");
    }
    let last_two = rig.out.sent.last_chunk::<2>();
    assert!(last_two.is_none_or(|[a, b]| a.0 <= b.0), "stamps fell");
}

/// How a script's wake-ups are made.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Waking {
    Exactly,
    OnlyByPackets,
    AtRandom,
}

/// Plays the packets through the stages.
fn play(stages: &[Stage], arrivals: &[(Time, Packet<()>)], how: Waking) -> Rig {
    let mut rig = Rig::seeded(5, stages);
    let mut random = Stream::new(9, "wakes");
    for (at, p) in arrivals {
        match how {
            Waking::Exactly => {
                rig.wait_until(at.as_nanos());
            }
            Waking::OnlyByPackets => {}
            Waking::AtRandom => {
                for _ in 0..random.below(4) {
                    let to = at.since(rig.now).as_nanos() + 1;
                    rig.now += Span::from_nanos(random.below(to));
                    if random.below(2) == 0 {
                        rig.chain.catch_up(rig.now, &mut rig.out);
                        for i in 0..rig.chain.len() {
                            let _ = rig.chain.gauge(i, rig.now);
                        }
                    } else {
                        rig.chain.handle_wake(rig.now, &mut rig.out);
                    }
                    check_books(&rig);
                }
            }
        }
        rig.now = *at;
        rig.chain.handle_packet(*at, p.clone(), &mut rig.out);
        check_books(&rig);
    }
    if how == Waking::Exactly {
        rig.finish();
    }
    rig.chain.catch_up(Time::from_nanos(u64::MAX), &mut rig.out);
    check_books(&rig);
    assert!(rig.out.sent.is_sorted_by_key(|s| s.0), "stamps fell");
    rig
}

/// What must hold for every chain and every script.
pub fn check_script(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let stages: Vec<Stage> = (0..choices.below(5)).map(|_| choices.stage()).collect();
    let arrivals = choices.arrivals();
    for stage in &stages {
        stage.check().expect("only valid stages are made");
        let json = serde_json::to_value(stage).expect("writes");
        let back: Stage = serde_json::from_value(json).expect("reads");
        assert_eq!(&back, stage);
    }
    let exact = play(&stages, &arrivals, Waking::Exactly);
    let again = play(&stages, &arrivals, Waking::Exactly);
    assert_eq!(summary(&exact.out), summary(&again.out), "a replay differs");
    for how in [Waking::OnlyByPackets, Waking::AtRandom] {
        let late = play(&stages, &arrivals, how);
        assert_eq!(summary(&exact.out), summary(&late.out), "{how:?} moved the schedule");
        for i in 0..stages.len() {
            assert_eq!(exact.chain.account(i), late.chain.account(i), "{how:?}, element {i}");
        }
    }
    for i in 0..stages.len() {
        assert_eq!(exact.chain.account(i).held, 0, "element {i} keeps packets");
    }
}
