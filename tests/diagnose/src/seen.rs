//! What the truth is made of, whoever looked on: the simulator's tap (`watch.rs`) or the captures of a run on the
//! kernel (`kernel.rs`). Which stage lost which packet, how busy each stage was, and what kept each sender from
//! sending.

use path::Stage;
use scenario::Scenario;
use std::collections::VecDeque;
use transport::Limit;
use units::{Span, Time};

/// The sender of a way at a sample.
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
#[derive(Debug)]
pub struct Watched {
    /// `link.direction.stage`.
    pub name: String,
    /// As the scenario spells it.
    pub kind: &'static str,
    /// From a to b.
    pub forward: bool,
    /// Number of the host before its link, the one nearer to `a`.
    pub link: usize,
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
    /// Packets of each way that are inside, or lost without a successor that shows it.
    inside: Vec<VecDeque<(u64, Time)>>,
}

/// One direction of a connection. The directions of connection c have the numbers 2 c, from the end that opens,
/// and 2 c + 1 ([`sim::Tap::packet`]).
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Host that sends, and the one that it sends to; `None`: nothing was sent.
    pub hosts: Option<(usize, usize)>,
    /// The same as captures show them, `address:port`.
    pub ends: (String, String),
    /// First and last data packet, with the count.
    pub data: (Time, Time, u64),
    /// The last packet where the capture is taken.
    pub shown: Time,
    /// When, and the stage's index.
    pub losses: Vec<(Time, usize)>,
    /// Samples of the sender.
    pub moments: Vec<Moment>,
    /// The receiving application does not read at once; since when, and until when, it had left more unread than its window
    /// had room for.
    pub unread: Vec<(Time, bool)>,
}

/// What was seen.
#[derive(Debug)]
pub struct Seen {
    /// In the order packets meet them, forward and backward of each link.
    pub stages: Vec<Watched>,
    /// By number.
    pub ways: Vec<Way>,
    /// First stages of l1 forward and backward, l2 forward and backward.
    firsts: Vec<Option<usize>>,
}

fn stage(name: String, stage: &Stage, forward: bool, link: usize) -> Watched {
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

/// Element `i` of `v`, which grows as far as needed.
fn at<T: Default>(v: &mut Vec<T>, i: usize) -> &mut T {
    if v.len() <= i {
        v.resize_with(i + 1, T::default);
    }
    &mut v[i]
}

impl Seen {
    /// Nothing yet, of a case's scenario.
    pub fn new(scenario: &Scenario) -> Seen {
        let (mut stages, mut firsts) = (Vec::<Watched>::new(), Vec::new());
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
        Seen { stages, ways: Vec::new(), firsts }
    }

    /// The way with this number.
    pub fn way(&mut self, number: usize) -> &mut Way {
        at(&mut self.ways, number)
    }

    /// Host `from` sent a packet with `len` bytes of payload to `to`.
    pub fn sent(&mut self, now: Time, number: usize, (from, to): (usize, usize), len: u32) {
        let way = self.way(number);
        way.hosts = Some((from, to));
        if len > 0 {
            if way.data.2 == 0 {
                way.data.0 = now;
            }
            (way.data.1, way.data.2) = (now, way.data.2 + 1);
        }
    }

    /// A packet passes where the capture is taken.
    pub fn show(&mut self, now: Time, number: usize) {
        self.way(number).shown = now;
    }

    /// Packet `id` of a way enters the first stage that it meets from `host` on.
    pub fn enter(&mut self, now: Time, number: usize, host: usize, to: usize, id: u64) {
        let way = match (host, to > host) {
            (0, _) => 0,
            (1, true) => 2,
            (1, false) => 1,
            _ => 3,
        };
        if let Some(first) = self.firsts[way] {
            at(&mut self.stages[first].inside, number).push_back((id, now));
        }
    }

    /// Packet `id` of a way, of `size` IP bytes, leaves stage `i`.
    pub fn pass(&mut self, now: Time, i: usize, number: usize, id: u64, size: u64) {
        let s = &mut self.stages[i];
        let bin = (now.as_secs_f64() / s.bin) as usize;
        *at(&mut s.passed, bin) += size;
        // A way's packets leave a stage in the order they came; who was overtaken was lost.
        let queue = at(&mut s.inside, number);
        if let Some(overtaken) = queue.iter().position(|p| p.0 == id) {
            s.longest = s.longest.max(now.since(queue[overtaken].1));
            queue.drain(..=overtaken);
            let losses = &mut at(&mut self.ways, number).losses;
            losses.extend(std::iter::repeat_n((now, i), overtaken));
        }
        if !s.last {
            at(&mut self.stages[i + 1].inside, number).push_back((id, now));
        }
    }
}
