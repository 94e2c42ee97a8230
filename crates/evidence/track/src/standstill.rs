//! A capture that was silent: the path stood still, or the capture's clock was set ahead.
//!
//! Either way the first packet after it may say, by its sender's timestamps, that hardly any time has passed: it was sent before the
//! silence and waited on a path that stood still, or the silence never was. What comes next tells. On a path that stood still the
//! receiver's answers say that the time passed, and so does what the sender sends once its queue has drained. After a step of the
//! clock nobody ever says so. Packets are held back until one of them is seen.

use crate::between::PacketBeyond;
use crate::timestamp_clock::SilenceJudgement;
use capture::{Endpoint, TcpPacket};
use units::{Span, Time};

/// Packets held back, at most.
const MOST_HELD: usize = 1024;

/// A packet, its sign, and what a capture at the other end says of it.
pub type HeldPacket = (TcpPacket, u64, PacketBeyond);

/// A silence that is not yet judged, and the packets since.
#[derive(Debug)]
pub struct Standstill {
    /// How long the capture was silent.
    pub silence: Span,
    /// When it ended, by the capture's clock.
    end: Time,
    last: Time,
    /// Senders that said that less time had passed.
    less: Vec<Endpoint>,
    pub held: Vec<HeldPacket>,
}

/// What a silence was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Time that passed.
    Passed,
    /// A step of the capture's clock.
    ClockStep,
}

impl Standstill {
    /// A silence of `silence` that ended at `end`.
    pub fn new(silence: Span, end: Time) -> Standstill {
        Standstill { silence, end, last: end, less: Vec::new(), held: Vec::new() }
    }

    /// Holds a packet back, seen at `now`; says what the silence was once that is known.
    pub fn hold(&mut self, packet: HeldPacket, now: Time, judgement: SilenceJudgement) -> Option<Silence> {
        let (from, to) = (packet.0.src, packet.0.dst);
        // Long enough for the sender's queue to drain.
        let over = now.since(self.end) > self.silence || self.held.len() >= MOST_HELD;
        self.last = now;
        self.held.push(packet);
        match judgement {
            SilenceJudgement::Passed => return Some(Silence::Passed),
            SilenceJudgement::Less if !self.less.contains(&from) => self.less.push(from),
            _ => {}
        }
        // Both ends of a connection say so.
        let both = judgement == SilenceJudgement::Less && self.less.contains(&to);
        (both || over).then(|| self.so_far())
    }

    /// By what has been seen: some said that less time had passed, and none that it did.
    pub fn so_far(&self) -> Silence {
        if self.less.is_empty() { Silence::Passed } else { Silence::ClockStep }
    }

    /// When the last packet was held back.
    pub fn last(&self) -> Time {
        self.last
    }
}
