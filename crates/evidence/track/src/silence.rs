//! A capture that contains nothing for a while: either the path stalled, or the capture's clock was set
//! ahead.
//!
//! In both cases the sender's timestamps in the first packet after the silence may show that hardly any time
//! has passed. Either the packet was sent before the silence and waited on a stalled path, or the silence did
//! not happen. The following packets decide. On a stalled path the receiver's answers show that the time
//! passed, and so does what the sender sends once its queue has drained. After a clock step no packet does.
//! So packets are held back until the case is clear.

use crate::between::ExternalFate;
use crate::timestamp_clock::SilenceJudgement;
use capture::{Endpoint, TcpPacket};
use units::{Span, Time};

/// Maximum number of packets held back.
const MAX_HELD: usize = 1024;

/// A packet, its fingerprint, and what another source knows of its fate.
pub type HeldPacket = (TcpPacket, u64, ExternalFate);

/// A silence whose cause is not known yet, and the packets since.
#[derive(Debug)]
pub struct PendingSilence {
    /// Length of the silence in the capture.
    pub silence: Span,
    /// End of the silence, by the capture's clock.
    end: Time,
    last: Time,
    /// Senders whose clocks show that less time passed.
    less: Vec<Endpoint>,
    pub held: Vec<HeldPacket>,
}

/// The cause of a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The time really passed.
    Passed,
    /// The capture's clock was set ahead.
    ClockStep,
}

impl PendingSilence {
    /// Begins with a silence that lasted `silence` and ended at `end`.
    pub fn new(silence: Span, end: Time) -> PendingSilence {
        PendingSilence { silence, end, last: end, less: Vec::new(), held: Vec::new() }
    }

    /// Holds back a packet seen at `now`. Returns the cause of the silence once it is known.
    pub fn hold(&mut self, packet: HeldPacket, now: Time, judgement: SilenceJudgement) -> Option<Silence> {
        let (from, to) = (packet.0.src, packet.0.dst);
        // Long enough for the sender's queue to drain.
        let over = now.since(self.end) > self.silence || self.held.len() >= MAX_HELD;
        self.last = now;
        self.held.push(packet);
        match judgement {
            SilenceJudgement::Passed => return Some(Silence::Passed),
            SilenceJudgement::Less if !self.less.contains(&from) => self.less.push(from),
            _ => {}
        }
        // Both ends of a connection show that less time passed.
        let both = judgement == SilenceJudgement::Less && self.less.contains(&to);
        (both || over).then(|| self.so_far())
    }

    /// The cause according to the packets so far: a clock step if some sender's clock shows that less time
    /// passed and none that it did.
    pub fn so_far(&self) -> Silence {
        if self.less.is_empty() { Silence::Passed } else { Silence::ClockStep }
    }

    /// Time of the last packet that was held back.
    pub fn last(&self) -> Time {
        self.last
    }
}
