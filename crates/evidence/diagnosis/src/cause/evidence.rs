//! What is known of a round trip when causes claim it. The diagnosis measures these; a cause's file decides on them.

use result::Cause;
use result::diagnosis::LimiterKind;

/// What a flow did in a part of a round trip. The parts add up to the whole round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundPart {
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

/// What was measured of one round trip of a flow; how, is in `crates/evidence/diagnosis/src/verdict/evidence.rs`. "The rounds
/// around" are the four before, this one and the four after, as far as data was sent in them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RoundEvidence {
    /// At least a twelfth of its packets are small and pushed, and none was sent again; or nothing was sent, and for more than
    /// half of it nothing was outstanding; or less than a segment was in flight although the window had room.
    pub writes_little: bool,
    /// At least two, and at least half, of the rounds around have small pushed packets.
    pub small_writes: bool,
    /// In one of the rounds around nothing was outstanding for a while.
    pub paused: bool,
    /// Of the whole flow: after all written data was sent, the next followed an ACK at once in more than half of the time, and
    /// nothing was ever idle: the application waits for room in the send buffer.
    pub send_buffer_full: bool,
    /// Of the whole flow: at least three small segments were held back until a delayed ACK came.
    pub held_again: bool,
    /// The bytes in flight differ by at most two segments over the rounds around.
    pub flat: bool,
    /// Nothing shows the bytes in flight: the capture is far from the sender, and no timestamps are echoed.
    pub inflight_unknown: bool,
    /// The bytes in flight grow by more than an eighth within two round trips, before or after (always in the first and the last
    /// round trip), and have not yet filled a link.
    pub grows: bool,
    /// More is in flight than when delivery stopped growing, and packets wait: they have filled a link.
    pub overfills: bool,
    /// The receive window was full at some moment of the round, and its most in flight was within two segments of the window.
    pub window_full: bool,
    /// The least window of the round is less than half of the greatest before: the rest of the buffer holds what the
    /// receiver has not read. (Half: a sender sends what fills half of the greatest window at once, RFC 9293 section
    /// 3.8.6.2.1, so a receiver that reads at once does not let it fall so low.)
    pub window_unread: bool,
    /// In this round or a neighbour something was sent again, and in all three less than half of what was in flight was
    /// acknowledged: losses are repaired one by one.
    pub repairs_slowly: bool,
    /// The cause of the last loss: [`Cause::Policed`], [`Cause::Congestion`], [`Cause::RandomLoss`], [`Cause::Outage`],
    /// [`Cause::BlackHole`] or [`Cause::Fragmented`]; [`Cause::PacketTooBig`] only in the round trip of such a loss, to which no
    /// congestion control responds.
    pub last_loss: Cause,
    /// Before the round trip of the first loss.
    pub before_loss: bool,
    /// The round trip of the first loss.
    pub at_first_loss: bool,
    /// Since the last loss the bytes in flight grew again, and then stood for longer than a congestion control's plateau: the loss
    /// holds the window down no more.
    pub recovered: bool,
    /// Of the whole flow: the bytes in flight did not fall at losses.
    pub unanswered: bool,
    /// Something was sent again in it.
    pub resends: bool,
    /// The capture is at the receiver, nothing was outstanding for a while, and of the packets that came next some were missing:
    /// an outage or a timeout.
    pub back_with_loss: bool,
    /// The flow's limiter.
    pub limiter: Option<LimiterKind>,
    /// Delays show the limiter's queue, not its rate alone.
    pub limiter_queues: bool,
    /// For more than half of the round the limiter's flows together took all of its rate.
    pub limiter_full: bool,
    /// The limiter is before the capture and was full, nothing shows how long packets wait there, and what the flow sent last was not the
    /// end of what its application had written: what is not outstanding at the capture may wait in that queue.
    pub waits_unseen: bool,
    /// The flow took its whole share of the limiter's rate, and did not keep the same amount in flight by itself.
    pub share_taken: bool,
    /// The least RTT of the round is above the path's by more than a tenth.
    pub waits: bool,
    /// The least RTT of the round is more than twice the path's, and at least 20 ms above it: at least a bandwidth-delay product
    /// is queued, and a link is full whatever is lost, even if the window is halved.
    pub queue_stands: bool,
    /// All packets of the round waited on the data's way, as timestamps show.
    pub data_waits: bool,
    /// More than half of what the round trip takes above its least is the ACKs' way.
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
            RoundPart::Idle => self.waits_unseen.then_some(ClaimOrder::Queue),
            RoundPart::WindowFull => queues.then_some(ClaimOrder::WindowAtQueue),
            RoundPart::Timeout => {
                (self.last_loss != Cause::Outage && self.limiter_full).then_some(ClaimOrder::Queue)
            }
            RoundPart::Moving if self.window_full && queues => Some(ClaimOrder::WindowAtQueue),
            RoundPart::Moving => {
                (self.waits || self.share_taken || self.overfills).then_some(ClaimOrder::Queue)
            }
            _ => None,
        }
    }

    /// A queue stands that is longer than the path, and no limiter was found.
    pub(super) fn is_unnamed_queue(&self) -> bool {
        self.queue_stands && self.limiter.is_none() && !self.both_ways
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
            // A link behind a queue that is longer than the path is full, whatever its end loses.
            RoundPart::Moving if cause == Cause::Congestion && self.is_unnamed_queue() => None,
            RoundPart::Moving if cause == Cause::Policed && self.recovered && !self.limiter_full => None,
            // Losses do not hold back who does not answer them and writes no more.
            RoundPart::Moving if self.unanswered && self.small_writes && cause == Cause::RandomLoss => None,
            RoundPart::Moving if self.limiter == Some(LimiterKind::Policer) => Some(ClaimOrder::Policer),
            RoundPart::Moving => Some(ClaimOrder::AfterLoss),
            _ => None,
        }
    }
}
