//! What is known of a round trip when causes claim it. The diagnosis measures these; a cause's file decides on them.

use super::Cause;
use crate::diagnosis::LimiterKind;

/// What a flow did in a part of a round trip. The parts add up to the whole round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundPart {
    /// Nothing was outstanding.
    Idle,
    /// All that the application had written was sent.
    Drained,
    /// The receive window was full.
    WindowFull,
    /// The receive window had no room for a segment although all was acknowledged, and the sender had more.
    WindowShut,
    /// A small segment was held back until a delayed ACK came.
    Held,
    /// The sender waited for a retransmission timeout.
    Timeout,
    /// Nothing passed in either direction.
    Silence,
    /// Packets moved; no wait explains the time.
    Moving,
}

impl RoundPart {
    /// All of them.
    pub const ALL: [RoundPart; 8] = [
        RoundPart::Idle,
        RoundPart::Drained,
        RoundPart::WindowFull,
        RoundPart::WindowShut,
        RoundPart::Held,
        RoundPart::Timeout,
        RoundPart::Silence,
        RoundPart::Moving,
    ];
}

/// Which claim goes before which: where several causes claim a part, the least stands. What is certain comes first,
/// what is left when nothing else fits comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimOrder {
    /// Packets do not pass because of their size: whatever else holds, they would not.
    TooBig,
    /// The application wrote little.
    Writer,
    /// The receiver does not read: nothing that is between the two ends could change that.
    WindowShut,
    /// The window is full, but packets queue anyway: a larger window would only lengthen the queue.
    WindowAtQueue,
    /// The window is full because a hole is being repaired.
    WindowAtLoss,
    /// The window is full.
    Window,
    /// A policer drops, and losses have begun.
    Policer,
    /// The ACKs wait, the data does not.
    AckWait,
    /// Packets wait at a queue that was found.
    Queue,
    /// Packets wait, data goes both ways, and no limiter was found.
    BothWays,
    /// The amount in flight grows as in slow start.
    Growth,
    /// What came after a loss.
    AfterLoss,
    /// A queue stands that is longer than the path, and nothing says whose it is.
    StandingQueue,
    /// A weak sign that nothing stronger contradicts.
    Hint,
    /// What is left.
    Rest,
}

impl ClaimOrder {
    /// All of them, the first first.
    pub const ALL: [ClaimOrder; 15] = [
        ClaimOrder::TooBig,
        ClaimOrder::Writer,
        ClaimOrder::WindowShut,
        ClaimOrder::WindowAtQueue,
        ClaimOrder::WindowAtLoss,
        ClaimOrder::Window,
        ClaimOrder::Policer,
        ClaimOrder::AckWait,
        ClaimOrder::Queue,
        ClaimOrder::BothWays,
        ClaimOrder::Growth,
        ClaimOrder::AfterLoss,
        ClaimOrder::StandingQueue,
        ClaimOrder::Hint,
        ClaimOrder::Rest,
    ];
}

/// What is known of one round trip of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundEvidence {
    /// The sender ended what it sent in small pushed packets, or sent nothing.
    pub writes_little: bool,
    /// Small pushed packets end most of the round trips around.
    pub small_writes: bool,
    /// Nothing was outstanding for a tenth of a round trip near this one.
    pub paused: bool,
    /// The application waits for room in the sender's buffer: what it writes next goes out with an ACK.
    pub send_buffer_full: bool,
    /// Small segments were held back until a delayed ACK came, again and again.
    pub held_again: bool,
    /// The amount in flight stays the same over the round trips around.
    pub flat: bool,
    /// The amount in flight grows by more than an eighth a round trip.
    pub grows: bool,
    /// The receive window was full for a good part of the time.
    pub window_full: bool,
    /// The least window of the round trip is less than half of the greatest before: the rest of the buffer holds what the
    /// receiver has not read. (Half: a sender sends what fills half of the greatest window at once, RFC 9293 section
    /// 3.8.6.2.1, so a receiver that reads at once does not let it fall so low.)
    pub window_unread: bool,
    /// Holes are repaired one by one while the window stays full.
    pub repairs_slowly: bool,
    /// What the last loss was: [`Cause::Policed`], [`Cause::Congestion`], [`Cause::RandomLoss`], [`Cause::Outage`],
    /// [`Cause::BlackHole`] or [`Cause::Fragmented`]; [`Cause::PacketTooBig`] only in the round trip of such a loss, which nothing answers.
    pub last_loss: Cause,
    /// Before the round trip of the first loss.
    pub before_loss: bool,
    /// The round trip of the first loss.
    pub at_first_loss: bool,
    /// The amount in flight did not fall at losses.
    pub unanswered: bool,
    /// Something was sent again.
    pub resends: bool,
    /// When packets came again after nothing was outstanding, some were missing: an outage or a timeout, seen from behind.
    pub back_with_loss: bool,
    /// The flow's limiter.
    pub limiter: Option<LimiterKind>,
    /// Delays show the limiter's queue, not its rate alone.
    pub limiter_queues: bool,
    /// All flows of the limiter together took its whole rate.
    pub limiter_full: bool,
    /// The flow took its whole share of the limiter's rate.
    pub share_taken: bool,
    /// Packets had to wait: the least RTT is above the path's.
    pub waits: bool,
    /// All of them waited longer than the path is long: at least a bandwidth-delay product is queued, and a link is full
    /// whatever is lost, even if the window is halved.
    pub queue_stands: bool,
    /// Packets had to wait on the data's way, as timestamps tell.
    pub data_waits: bool,
    /// Most of what the round trip takes too long is the ACKs'.
    pub acks_wait: bool,
    /// Data goes the other way too, through whose queue the ACKs must pass.
    pub both_ways: bool,
}

impl RoundEvidence {
    /// The claim of a cause that is a queue of this `kind`: packets wait there, or all of its rate is used.
    pub(super) fn claim_of_queue(&self, part: RoundPart, kind: LimiterKind) -> Option<ClaimOrder> {
        if self.limiter != Some(kind) {
            return None;
        }
        let queues = self.limiter_queues && self.waits;
        match part {
            RoundPart::WindowFull => queues.then_some(ClaimOrder::WindowAtQueue),
            RoundPart::Timeout => {
                (self.last_loss != Cause::Outage && self.limiter_full).then_some(ClaimOrder::Queue)
            }
            RoundPart::Moving if self.window_full && queues => Some(ClaimOrder::WindowAtQueue),
            RoundPart::Moving => (self.waits || self.share_taken).then_some(ClaimOrder::Queue),
            _ => None,
        }
    }

    /// The claim of a `cause` that loses packets on what came after such a loss.
    pub(super) fn claim_after_loss(&self, part: RoundPart, cause: Cause) -> Option<ClaimOrder> {
        if self.last_loss != cause {
            return None;
        }
        match part {
            RoundPart::WindowFull => self.repairs_slowly.then_some(ClaimOrder::WindowAtLoss),
            RoundPart::Timeout => Some(ClaimOrder::AfterLoss),
            RoundPart::Idle => self.back_with_loss.then_some(ClaimOrder::AfterLoss),
            RoundPart::Moving if self.window_full && self.repairs_slowly => Some(ClaimOrder::WindowAtLoss),
            RoundPart::Moving if self.before_loss => None,
            // Losses do not hold back who does not answer them and writes no more.
            RoundPart::Moving if self.unanswered && self.small_writes && cause == Cause::RandomLoss => None,
            RoundPart::Moving if self.limiter == Some(LimiterKind::Policer) => Some(ClaimOrder::Policer),
            RoundPart::Moving => Some(ClaimOrder::AfterLoss),
            _ => None,
        }
    }
}
