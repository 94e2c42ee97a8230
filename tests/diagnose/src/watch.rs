//! Looks on while a scenario is played: hands the capture to whoever wants it, and notes what the truth is
//! made of: which stage lost which packet, how busy each stage was, and
//! what each sender said kept it from sending.

use crate::{Case, wire};
use capture::Packet;
use path::Stage;
use scenario::Scenario;
use sim::{Passage, Tap};
use std::collections::VecDeque;
use transport::{Limit, Segment, Tcp};
use units::{Span, Time};

/// Takes the packets of a capture, in the order of time.
pub trait Sink {
    /// The next.
    fn packet(&mut self, packet: &Packet);
}

/// Packets of one burst that a receiver hands on as one arrive within this time.
const GATHER: Span = Span::from_micros(20);

/// An end of a connection at a sample.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When.
    pub at: Time,
    /// What kept it from sending.
    pub limit: Limit,
    /// Its window grew exponentially.
    pub slow_start: bool,
    /// First byte not acknowledged.
    pub una: u64,
}

/// A stage of the path.
pub struct Watched {
    /// `link.direction.stage`.
    pub name: String,
    /// As the scenario spells it.
    pub kind: &'static str,
    /// From a to b.
    pub forward: bool,
    /// bit/s, if it has a constant one.
    pub rate: Option<f64>,
    /// Bucket, bytes.
    pub burst: Option<f64>,
    /// The last of its way.
    last: bool,
    /// Width of a bin, seconds: some forty packets.
    pub bin: f64,
    /// IP bytes that left it, by bin.
    pub passed: Vec<u64>,
    /// The longest that a packet was inside.
    pub longest: Span,
    /// Packets of each number that are inside, or lost without a successor that shows it.
    inside: Vec<VecDeque<(u64, Time)>>,
}

/// What was seen.
pub struct Watch<'a> {
    /// In the order packets meet them, forward and backward of each link.
    pub stages: Vec<Watched>,
    /// Losses by number: when, and the stage's index.
    pub losses: Vec<Vec<(Time, usize)>>,
    /// Samples by number.
    pub moments: Vec<Vec<Moment>>,
    /// First and last data packet by number, with the count.
    pub data: Vec<(Time, Time, u64)>,
    /// Hosts of each number.
    pub hosts: Vec<(usize, usize)>,
    /// First stages of l1 forward and backward, l2 forward and backward.
    firsts: Vec<Option<usize>>,
    wire: wire::Wire,
    vantage: usize,
    offload: bool,
    pending: Option<(Packet, Time)>,
    sink: &'a mut dyn Sink,
}

fn stage(name: String, stage: &Stage, forward: bool) -> Watched {
    let (rate, burst) = match stage {
        Stage::Link(l) => (l.rate, None),
        Stage::Policer(p) => (Some(p.rate), p.burst),
        Stage::Shaper(s) => (Some(s.rate), s.burst),
        _ => (None, None),
    };
    let rate = rate.map(|r| r.as_bps() as f64);
    Watched {
        name,
        kind: stage.kind(),
        forward,
        rate,
        burst: burst.map(|b| b.get() as f64),
        last: false,
        bin: rate.map_or(0.1, |r| (40.0 * 12_000.0 / r).max(0.1)),
        passed: Vec::new(),
        longest: Span::ZERO,
        inside: Vec::new(),
    }
}

/// Element `i` of `v`, which grows as far as needed.
fn at<T: Default>(v: &mut Vec<T>, i: usize) -> &mut T {
    if v.len() <= i {
        v.resize_with(i + 1, T::default);
    }
    &mut v[i]
}

impl<'a> Watch<'a> {
    /// Of a case's scenario; the capture goes to `sink`.
    pub fn new(case: &Case, scenario: &Scenario, sink: &'a mut dyn Sink) -> Watch<'a> {
        let (mut stages, mut firsts) = (Vec::<Watched>::new(), Vec::new());
        for link in &scenario.links {
            for (direction, list) in [("forward", &link.forward), ("backward", &link.backward)] {
                let forward = direction == "forward";
                let name = |s: &str| format!("{}.{direction}.{s}", link.name);
                firsts.push((!list.is_empty()).then_some(stages.len()));
                stages.extend(list.iter().map(|s| stage(name(&s.name), &s.stage, forward)));
                if let Some(last) = stages.last_mut() {
                    last.last = true;
                }
            }
        }
        Watch {
            stages,
            firsts,
            losses: Vec::new(),
            moments: Vec::new(),
            data: Vec::new(),
            hosts: Vec::new(),
            wire: wire::Wire::new(scenario),
            vantage: case.vantage.host(),
            offload: case.offload,
            pending: None,
            sink,
        }
    }

    /// The last packets of the capture.
    pub fn flush(&mut self) {
        if let Some((packet, _)) = self.pending.take() {
            self.sink.packet(&packet);
        }
    }

    fn capture(&mut self, packet: Packet) {
        if !self.offload {
            return self.sink.packet(&packet);
        }
        let gather = if self.vantage == 0 { Span::ZERO } else { GATHER };
        if let Some((first, last)) = &mut self.pending
            && packet.time.since(*last) <= gather
            && wire::offload(first, &packet)
        {
            *last = packet.time;
            return;
        }
        self.flush();
        self.pending = Some((packet, packet.time));
    }

    /// A packet enters the first stage of the way it takes from `host`.
    fn enter(&mut self, now: Time, host: usize, to: usize, p: &path::Packet<Segment>) {
        let way = match (host, to > host) {
            (0, _) => 0,
            (1, true) => 2,
            (1, false) => 1,
            _ => 3,
        };
        if let Some(first) = self.firsts[way] {
            at(&mut self.stages[first].inside, p.flow as usize).push_back((p.id, now));
        }
    }
}

impl Tap for Watch<'_> {
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        outgoing: bool,
        p: &path::Packet<Segment>,
        from: usize,
        to: usize,
    ) {
        let number = p.flow as usize;
        if outgoing {
            *at(&mut self.hosts, number) = (from, to);
            if p.body.len > 0 {
                let seen = at(&mut self.data, number);
                if seen.2 == 0 {
                    seen.0 = now;
                }
                (seen.1, seen.2) = (now, seen.2 + 1);
            }
        }
        if host == self.vantage {
            let packet = self.wire.packet(now, p, from, to);
            self.capture(packet);
        }
        if outgoing || host != to {
            self.enter(now, host, to, p);
        }
    }

    fn watches_stages(&self) -> bool {
        true
    }

    fn stage(&mut self, p: Passage<'_>) {
        let Some(i) = self.stages.iter().position(|s| s.name == p.stage) else { return };
        let number = p.packet.flow as usize;
        let s = &mut self.stages[i];
        let bin = (p.now.as_secs_f64() / s.bin) as usize;
        *at(&mut s.passed, bin) += p.packet.size as u64;
        // A flow's packets leave a stage in the order they came; who was overtaken was lost.
        let queue = at(&mut s.inside, number);
        while let Some((id, since)) = queue.pop_front() {
            if id == p.packet.id {
                s.longest = s.longest.max(p.now.since(since));
                break;
            }
            at(&mut self.losses, number).push((p.now, i));
        }
        if !s.last {
            at(&mut self.stages[i + 1].inside, number).push_back((p.packet.id, p.now));
        }
    }

    fn end(&mut self, now: Time, number: u32, end: &Tcp) {
        if !end.is_established() {
            return;
        }
        let slow_start = matches!(end.tx.state_name(), "slow start" | "STARTUP");
        let moment = Moment { at: now, limit: end.tx.limit(), slow_start, una: end.tx.s.snd_una };
        at(&mut self.moments, number as usize).push(moment);
    }
}
