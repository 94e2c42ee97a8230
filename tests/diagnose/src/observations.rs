//! The observations behind the truth: which stage lost which packet, how busy each stage was, and what kept
//! each sender from sending. They come from the simulator's tap (`watch.rs`) or from the captures of a kernel
//! run (`kernel.rs`).

use path::Stage;
use scenario::Scenario;
use std::collections::VecDeque;
use transport::Limit;
use units::{Span, Time};

/// A sample of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub at: Time,
    /// The limit that kept the sender from sending.
    pub limit: Limit,
    /// The sender's window grew exponentially.
    pub slow_start: bool,
    /// First unacknowledged byte.
    pub una: u64,
}

/// A stage of the path.
#[derive(Debug)]
pub struct ObservedStage {
    /// `link.direction.stage`.
    pub name: String,
    /// Kind, as scenarios spell it.
    pub kind: &'static str,
    /// The stage is in the direction from `a` to `b`.
    pub forward: bool,
    /// Number of the host before its link, the one nearer to `a`.
    pub link: usize,
    /// bit/s, if it is constant.
    pub rate: Option<f64>,
    /// Bucket, bytes.
    pub burst: Option<f64>,
    /// The stage is the last of its direction.
    last: bool,
    /// Width of a bin, seconds: the time of some forty packets.
    pub bin: f64,
    /// IP bytes that left it, by bin.
    pub passed: Vec<u64>,
    /// Longest time that a packet was inside.
    pub longest: Span,
    /// Packets of each direction that are inside, or lost without a successor that shows it.
    inside: Vec<VecDeque<(u64, Time)>>,
}

/// One direction of a connection. The directions of connection c have the numbers 2 c, from the end that
/// opens, and 2 c + 1 ([`sim::Tap::packet`]).
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Sending and receiving host; `None` if nothing was sent.
    pub hosts: Option<(usize, usize)>,
    /// Sender and receiver as captures show them, `address:port`.
    pub ends: (String, String),
    /// First and last data packet, and their number.
    pub data: (Time, Time, u64),
    /// Last packet at the place of the capture.
    pub shown: Time,
    /// Time and stage of each loss.
    pub losses: Vec<(Time, usize)>,
    /// Samples of the sender.
    pub moments: Vec<Moment>,
    /// Times at which the receiving application began (true) or ceased to have more unread data than its
    /// window has room for.
    pub unread: Vec<(Time, bool)>,
}

/// All observations of a run.
#[derive(Debug)]
pub struct Observations {
    /// Stages in the order in which packets meet them, forward and backward of each link.
    pub stages: Vec<ObservedStage>,
    /// Directions of connections, by number.
    pub directions: Vec<Direction>,
    /// First stages of `l1` forward and backward, and of `l2` forward and backward.
    firsts: Vec<Option<usize>>,
}

fn stage(name: String, stage: &Stage, forward: bool, link: usize) -> ObservedStage {
    let (rate, burst) = match stage {
        Stage::Link(l) => (l.rate, None),
        Stage::Policer(p) => (Some(p.rate), p.burst),
        Stage::Shaper(s) => (Some(s.rate), s.burst),
        _ => (None, None),
    };
    let rate = rate.map(|r| r.as_bps() as f64);
    ObservedStage {
        name,
        kind: stage.kind(),
        forward,
        link,
        rate,
        burst: burst.map(|b| b.get() as f64),
        last: false,
        bin: rate.map_or(0.1, |r| (40.0 * 12_000.0 / r).max(0.1)),
        passed: Vec::new(),
        longest: Span::ZERO,
        inside: Vec::new(),
    }
}

/// Returns element `i` of `v`, which grows as far as needed.
fn at<T: Default>(v: &mut Vec<T>, i: usize) -> &mut T {
    if v.len() <= i {
        v.resize_with(i + 1, T::default);
    }
    &mut v[i]
}

impl Observations {
    /// Prepares the observations of a scenario.
    pub fn new(scenario: &Scenario) -> Observations {
        let (mut stages, mut firsts) = (Vec::<ObservedStage>::new(), Vec::new());
        for (number, link) in scenario.links.iter().enumerate() {
            for (direction, list) in [("forward", &link.forward), ("backward", &link.backward)] {
                let forward = direction == "forward";
                let name = |s: &str| format!("{}.{direction}.{s}", link.name);
                firsts.push((!list.is_empty()).then_some(stages.len()));
                stages.extend(list.iter().map(|s| stage(name(&s.name), &s.stage, forward, number)));
                if let Some(last) = stages.last_mut() {
                    last.last = true;
                }
            }
        }
        Observations { stages, directions: Vec::new(), firsts }
    }

    /// Returns the direction with this number.
    pub fn direction(&mut self, number: usize) -> &mut Direction {
        at(&mut self.directions, number)
    }

    /// Notes that host `from` sent a packet with `len` bytes of payload to `to`.
    pub fn sent(&mut self, now: Time, number: usize, (from, to): (usize, usize), len: u32) {
        let direction = self.direction(number);
        direction.hosts = Some((from, to));
        if len > 0 {
            if direction.data.2 == 0 {
                direction.data.0 = now;
            }
            (direction.data.1, direction.data.2) = (now, direction.data.2 + 1);
        }
    }

    /// Notes a packet at the place of the capture.
    pub fn show(&mut self, now: Time, number: usize) {
        self.direction(number).shown = now;
    }

    /// Notes that packet `id` enters the first stage that it meets from `host` on.
    pub fn enter(&mut self, now: Time, number: usize, host: usize, to: usize, id: u64) {
        let direction = match (host, to > host) {
            (0, _) => 0,
            (1, true) => 2,
            (1, false) => 1,
            _ => 3,
        };
        if let Some(first) = self.firsts[direction] {
            at(&mut self.stages[first].inside, number).push_back((id, now));
        }
    }

    /// Notes that packet `id`, of `size` IP bytes, leaves stage `i`.
    pub fn pass(&mut self, now: Time, i: usize, number: usize, id: u64, size: u64) {
        let s = &mut self.stages[i];
        let bin = (now.as_secs_f64() / s.bin) as usize;
        *at(&mut s.passed, bin) += size;
        // Packets of a direction leave a stage in the order of their arrival, so an overtaken packet was
        // lost.
        let queue = at(&mut s.inside, number);
        if let Some(overtaken) = queue.iter().position(|p| p.0 == id) {
            s.longest = s.longest.max(now.since(queue[overtaken].1));
            queue.drain(..=overtaken);
            let losses = &mut at(&mut self.directions, number).losses;
            losses.extend(std::iter::repeat_n((now, i), overtaken));
        }
        if !s.last {
            at(&mut self.stages[i + 1].inside, number).push_back((id, now));
        }
    }
}
