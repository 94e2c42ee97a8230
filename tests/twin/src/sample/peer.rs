//! The path and the other end, in virtual time: packets of the kernel go in, ACKs that reach it come out.
//!
//! The bottleneck is a drop-tail queue. A late packet leaves it in order and is overtaken afterwards. The
//! receiver follows the RFCs: it acknowledges every few segments, and immediately whatever is out of order,
//! fills a gap or arrives twice (RFC 5681 section 4.2); it reports SACKs with the newest first and D-SACKs
//! (RFC 2018, 2883), and echoes timestamps as in RFC 7323 section 4.3.

use super::log::Ack;
use super::plan::Plan;
use std::collections::{BTreeMap, VecDeque};
use transport::Flags;
use units::{Span, Stream, Time, earliest};

/// A data segment of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Offset of the first byte.
    pub seq: u64,
    pub len: u32,
    pub ts: u32,
}

enum Due {
    Data(Data),
    Ack(Ack),
}

/// The path and the other end.
pub struct Peer {
    plan: Plan,
    chance: Stream,
    /// Segments in flight, by arrival time and number.
    in_flight: BTreeMap<(Time, u64), Due>,
    number: u64,
    /// When the packets in the queue will have left it.
    leaving: VecDeque<Time>,
    losing: bool,
    receiver: Receiver,
    ready: VecDeque<Ack>,
}

struct Receiver {
    next: u64,
    /// Disjoint ranges above it, the most recently changed last.
    held: Vec<(u64, u64)>,
    ts_recent: u32,
    last_ack: u64,
    owed: u32,
    due: Option<Time>,
}

impl Peer {
    /// A peer that has received nothing.
    pub fn new(plan: &Plan) -> Peer {
        Peer {
            plan: plan.clone(),
            chance: Stream::new(plan.seed, "path"),
            in_flight: BTreeMap::new(),
            number: 0,
            leaving: VecDeque::new(),
            losing: false,
            receiver: Receiver { next: 0, held: Vec::new(), ts_recent: 0, last_ack: 0, owed: 0, due: None },
            ready: VecDeque::new(),
        }
    }

    /// Answers the SYN without delay.
    pub fn greet(&mut self, now: Time, ts: u32) -> Ack {
        self.receiver.ts_recent = ts;
        let window = self.plan.window.min(u16::MAX as u32);
        let flags = Flags::SYN.with(Flags::ACK).0;
        let due = now + self.plan.rtt;
        let ts_val = if ts != 0 { clock(due) } else { 0 };
        let ack = Ack { flags, ack: 0, window, ts_val, ts_ecr: ts, sacks: Vec::new() };
        self.put(due, Due::Ack(ack.clone()));
        ack
    }

    fn put(&mut self, at: Time, what: Due) {
        self.number += 1;
        self.in_flight.insert((at, self.number), what);
    }

    /// Processes a segment with payload from the kernel.
    pub fn send(&mut self, now: Time, data: Data) {
        let p = &self.plan;
        let lost = self.chance.chance(if self.losing { p.loss_run } else { p.loss });
        let (late, by) = (self.chance.chance(p.late), self.chance.unit());
        let double = self.chance.chance(p.double);
        self.losing = lost;
        if lost {
            return;
        }
        let mut out = now;
        if let Some(rate) = p.rate {
            while self.leaving.front().is_some_and(|&t| t <= now) {
                self.leaving.pop_front();
            }
            if self.leaving.len() >= p.queue {
                return;
            }
            let begins = self.leaving.back().map_or(now, |&t| t.max(now));
            out = begins + rate.time_for(data.len as u64 + 52);
            self.leaving.push_back(out);
        }
        let extra = if late { Span::from_secs_f64(p.late_by.as_secs_f64() * by) } else { Span::ZERO };
        let at = out + p.rtt / 2 + extra;
        self.put(at, Due::Data(data));
        if double {
            self.put(at + Span::from_micros(20), Due::Data(data));
        }
    }

    /// When [`Peer::take`] will return something.
    pub fn next(&self) -> Option<Time> {
        earliest(self.in_flight.first_key_value().map(|((at, _), _)| *at), self.receiver.due)
    }

    /// Returns the next segment that reaches the kernel by `now`.
    pub fn take(&mut self, now: Time) -> Option<Ack> {
        loop {
            if let Some(ack) = self.ready.pop_front() {
                return Some(ack);
            }
            let next = self.in_flight.first_key_value().map(|((at, _), _)| *at);
            if let Some(due) = self.receiver.due.filter(|&due| due <= now && next.is_none_or(|t| due <= t)) {
                self.acknowledge(due, None);
                continue;
            }
            if next.is_none_or(|t| t > now) {
                return None;
            }
            let ((at, _), what) = self.in_flight.pop_first()?;
            match what {
                Due::Ack(ack) => self.ready.push_back(ack),
                Due::Data(data) => self.arrive(at, data),
            }
        }
    }

    fn arrive(&mut self, now: Time, data: Data) {
        let every = self.plan.ack_every;
        let r = &mut self.receiver;
        let (from, to) = (data.seq, data.seq + data.len as u64);
        if data.ts != 0 && from <= r.last_ack && data.ts.wrapping_sub(r.ts_recent) as i32 >= 0 {
            r.ts_recent = data.ts;
        }
        if let Some(twice) = r.duplicate(from, to) {
            return self.acknowledge(now, Some(twice));
        }
        let hole = !r.held.is_empty();
        r.accept(from, to);
        r.owed += 1;
        if hole || !r.held.is_empty() || r.owed >= every {
            self.acknowledge(now, None);
        } else {
            r.due = r.due.or(Some(now + self.plan.ack_delay));
        }
    }

    fn acknowledge(&mut self, now: Time, twice: Option<(u64, u64)>) {
        let p = &self.plan;
        let r = &mut self.receiver;
        (r.owed, r.due, r.last_ack) = (0, None, r.next);
        let ts = r.ts_recent != 0;
        let mut sacks = Vec::new();
        if p.sack {
            sacks.extend(twice);
            sacks.extend(r.held.iter().rev());
            sacks.truncate(if ts { 3 } else { 4 });
        }
        let ack = Ack {
            flags: Flags::ACK.0,
            ack: r.next,
            window: scaled(p.window),
            ts_val: if ts { clock(now) } else { 0 },
            ts_ecr: r.ts_recent,
            sacks,
        };
        let (lost, late, by) =
            (self.chance.chance(p.ack_loss), self.chance.chance(p.ack_late), self.chance.unit());
        if lost {
            return;
        }
        let extra = if late { Span::from_secs_f64(p.late_by.as_secs_f64() * by) } else { Span::ZERO };
        let due = now + p.rtt / 2 + extra;
        self.put(due, Due::Ack(ack));
    }
}

/// Window scale of the other end.
pub const SCALE: u32 = 7;

/// A window as the header can represent it.
fn scaled(window: u32) -> u32 {
    window >> SCALE << SCALE
}

/// The timestamp clock.
fn clock(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 + 1
}

impl Receiver {
    /// The part of a segment that had been received before, if all of it was.
    fn duplicate(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let held = self.held.iter().any(|h| h.0 <= from && to <= h.1);
        (to <= self.next || held).then_some((from, to))
    }

    fn accept(&mut self, from: u64, to: u64) {
        let (mut from, mut to) = (from, to);
        self.held.retain(|h| {
            let apart = h.1 < from || to < h.0;
            if !apart {
                (from, to) = (from.min(h.0), to.max(h.1));
            }
            apart
        });
        if from <= self.next {
            self.next = self.next.max(to);
        } else {
            self.held.push((from, to));
        }
    }
}
