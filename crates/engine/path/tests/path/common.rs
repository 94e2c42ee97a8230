//! A virtual-time fixture, and random scripts with the properties that every chain must have.
//! Shared with the fuzz target.

use path::*;
use units::{Choices, Span, Stream, Time};

/// A plain packet.
pub fn packet(id: u64, size: u32) -> Packet<()> {
    Packet { id, size, overhead: 0, flow: 0, dscp: 0, ecn: Ecn::NotEct, fragment: None, body: () }
}

/// Deserialises a stage as a scenario writes it.
pub fn stage(json: serde_json::Value) -> Stage {
    let stage: Stage = serde_json::from_value(json).expect("a stage");
    stage.check().expect("a valid stage");
    stage
}

/// A chain, a clock, and all packets that have left so far.
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

    /// A packet arrives at `ns`; earlier wake-ups are made when they are due.
    pub fn arrive(&mut self, ns: u64, packet: Packet<()>) -> &mut Rig {
        self.wait_until(ns);
        self.chain.handle_packet(self.now, packet, &mut self.out);
        self
    }

    /// Advances the clock to `ns`.
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

    /// Advances the clock until nothing is due any more.
    pub fn finish(&mut self) -> &mut Rig {
        while let Some(at) = self.chain.next_wake() {
            self.wake(at);
        }
        self
    }

    /// Due times in ns and ids of the packets sent.
    pub fn sent(&self) -> Vec<(u64, u64)> {
        self.out.sent.iter().map(|(at, p)| (at.as_nanos(), p.id)).collect()
    }

    /// Times in ns, ids and causes of the packets dropped.
    pub fn dropped(&self) -> Vec<(u64, u64, DropCause)> {
        self.out.dropped.iter().map(|(at, p, why)| (at.as_nanos(), p.id, *why)).collect()
    }
}

/// A random valid stage of a random kind.
pub fn any_stage(choices: &mut Choices) -> Stage {
    let stage = Stage::draw(choices);
    if stage.check().is_ok() { stage } else { Delay::new(Span::from_millis(1)).into() }
}

/// Random packets until the bytes are used up, at most 300.
fn arrivals(choices: &mut Choices) -> Vec<(Time, Packet<()>)> {
    let mut now = Time::ZERO;
    let mut all = Vec::new();
    while !choices.0.is_empty() && all.len() < 300 {
        let gap = choices.one(&[0, 1, 1000, 100_000, 1_000_000, 4_000_000, 600_000_000]);
        now += Span::from_nanos(gap * choices.below(4));
        let mut p = packet(all.len() as u64, choices.one(&[1500, 40, 1400, 9000, 577]));
        p.size += choices.below(8) as u32;
        p.flow = choices.below(4) as u32;
        p.dscp = choices.one(&[0, 10, 12, 14]);
        p.ecn = choices.one(&[Ecn::NotEct, Ecn::Ect0]);
        all.push((now, p));
    }
    all
}

type Seen = (u64, u64, u32, u8, u8, Option<u8>);

fn seen(at: Time, p: &Packet<()>) -> Seen {
    (at.as_nanos(), p.id, p.size, p.dscp, p.ecn as u8, p.fragment.map(|f| f.index))
}

/// Packets sent, dropped (with cause) and bounced (with MTU).
type Summary = (Vec<Seen>, Vec<(Seen, u8)>, Vec<(Seen, u32)>);

/// All packets that left, in a form that does not depend on when losses were reported.
fn summary(out: &Outbox<()>) -> Summary {
    let sent = out.sent.iter().map(|(at, p)| seen(*at, p)).collect();
    let mut dropped: Vec<_> = out.dropped.iter().map(|(at, p, cause)| (seen(*at, p), *cause as u8)).collect();
    let mut bounced: Vec<_> = out.bounced.iter().map(|(at, p, mtu)| (seen(*at, p), *mtu)).collect();
    dropped.sort_unstable();
    bounced.sort_unstable();
    (sent, dropped, bounced)
}

fn check_conservation(rig: &Rig) {
    for i in 0..rig.chain.len() {
        let a = rig.chain.account(i);
        assert!(a.balances(), "element {i}: {a:?}");
    }
    let last_two = rig.out.sent.last_chunk::<2>();
    assert!(last_two.is_none_or(|[a, b]| a.0 <= b.0), "stamps fell");
}

/// When wake-ups are delivered during a script.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Waking {
    Exactly,
    OnlyByPackets,
    AtRandom,
}

/// Sends the packets through the stages.
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
                    check_conservation(&rig);
                }
            }
        }
        rig.now = *at;
        rig.chain.handle_packet(*at, p.clone(), &mut rig.out);
        check_conservation(&rig);
    }
    if how == Waking::Exactly {
        rig.finish();
    }
    rig.chain.catch_up(Time::from_nanos(u64::MAX), &mut rig.out);
    check_conservation(&rig);
    assert!(rig.out.sent.is_sorted_by_key(|s| s.0), "stamps fell");
    rig
}

/// Sends packets of one time through the stages in one call.
fn play_in_bursts(stages: &[Stage], arrivals: &[(Time, Packet<()>)]) -> Rig {
    let mut rig = Rig::seeded(5, stages);
    for burst in arrivals.chunk_by(|a, b| a.0 == b.0) {
        let mut packets = burst.iter().map(|(_, p)| Box::new(p.clone())).collect();
        rig.wait_until(burst[0].0.as_nanos());
        rig.chain.handle_packets(rig.now, &mut packets, &mut rig.out);
        assert!(packets.is_empty(), "packets stay outside");
        check_conservation(&rig);
    }
    rig.finish();
    rig.chain.catch_up(Time::from_nanos(u64::MAX), &mut rig.out);
    rig
}

/// Checks the properties that every chain must have for every script.
pub fn check_script(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let stages: Vec<Stage> = (0..choices.below(5)).map(|_| any_stage(&mut choices)).collect();
    let arrivals = arrivals(&mut choices);
    for stage in &stages {
        stage.check().expect("a valid stage");
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
    let bursts = play_in_bursts(&stages, &arrivals);
    assert_eq!(summary(&exact.out), summary(&bursts.out), "one call for a burst differs");
    for i in 0..stages.len() {
        assert_eq!(exact.chain.account(i).held, 0, "element {i} keeps packets");
    }
}
