//! The evidence of a round trip on which causes base their claims. The verdict measures it; each cause's file
//! decides on it.

use result::Cause;
use result::diagnosis::LimiterKind;

/// The state of a flow in a part of a round trip. The parts add up to the whole round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundPart {
    /// Nothing was outstanding.
    Idle,
    /// All written data was sent, and some of it was outstanding.
    Drained,
    /// The receive window was full.
    WindowFull,
    /// The receive window had no room for a segment although all data was acknowledged and the sender had
    /// more.
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
    /// All parts.
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

/// The strength of a claim. Where several causes claim a part, the first in this order wins: certain claims
/// come first, and what is left when nothing else fits comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimOrder {
    /// Packets do not pass because of their size, regardless of any other cause.
    TooBig,
    /// The application wrote little.
    Writer,
    /// The receiver does not read, which nothing between the two ends could change.
    WindowShut,
    /// The window is full, but packets queue anyway: a larger window would only lengthen the queue.
    WindowAtQueue,
    /// The window is full because a hole is being repaired.
    WindowAtLoss,
    /// The window is full.
    Window,
    /// A policer drops, and losses have begun.
    Policer,
    /// ACKs wait, data does not.
    AckWait,
    /// Packets wait at a queue that was found.
    Queue,
    /// Packets wait, data flows in both directions, and no limiter was found.
    BothWays,
    /// The bytes in flight grow as in slow start.
    Growth,
    /// The time after a loss.
    AfterLoss,
    /// A queue longer than RTprop stands, and nothing shows where.
    StandingQueue,
    /// A weak sign that nothing stronger contradicts.
    Hint,
    /// Nothing else fits.
    Rest,
}

impl ClaimOrder {
    /// All claims, in order.
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

/// The evidence of one round trip, as `crates/evidence/diagnosis/src/verdict/evidence.rs` measures it. "The
/// round trips around" are the four before, this one and the four after, as far as data was sent in them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RoundEvidence {
    /// At least a twelfth of the packets are small and pushed, and none is a retransmission; or nothing was
    /// sent, and for more than half of the round trip nothing was outstanding; or less than a segment
    /// was in flight although the window had room.
    pub writes_little: bool,
    /// At least two, and at least half, of the round trips around have small pushed packets.
    pub small_writes: bool,
    /// In one of the round trips around nothing was outstanding for a while.
    pub paused: bool,
    /// Whole flow: the application waits for room in the send buffer. After all written data was sent, new
    /// data followed an ACK at once in more than half of the time, and the flow was never idle.
    pub send_buffer_full: bool,
    /// Whole flow: at least three small segments were held back until a delayed ACK came.
    pub nagle_waits: bool,
    /// The bytes in flight differ by at most two segments over the round trips around.
    pub flat: bool,
    /// The bytes in flight are unknown: the capture is far from the sender, and no timestamps are echoed.
    pub inflight_unknown: bool,
    /// The bytes in flight grow by more than an eighth within two round trips, before or after (always in
    /// the first and the last round trip), and have not yet filled a link.
    pub grows: bool,
    /// More is in flight than when delivery stopped growing, and packets wait, so a link is full.
    pub overfills: bool,
    /// The receive window was full at some moment, and the most bytes in flight were within two segments of
    /// the window.
    pub window_full: bool,
    /// The least window of the round trip is below half of the greatest before, so the rest of the buffer
    /// holds unread data. (A sender sends data that fills half of the greatest window at once, RFC 9293
    /// section 3.8.6.2.1, so the window of a receiver that reads at once does not fall below half.)
    pub window_unread: bool,
    /// Losses are repaired one by one: this round trip or a neighbour has a retransmission, and in all three
    /// less than half of the bytes in flight were acknowledged.
    pub repairs_slowly: bool,
    /// The cause of the last loss: [`Cause::Policed`], [`Cause::Congestion`], [`Cause::RandomLoss`],
    /// [`Cause::Outage`], [`Cause::BlackHole`] or [`Cause::Fragmented`]; [`Cause::PacketTooBig`] only in
    /// the round trip of such a loss, to which no congestion control responds.
    pub last_loss: Cause,
    /// The round trip is before that of the first loss.
    pub before_loss: bool,
    /// The round trip has the first loss.
    pub at_first_loss: bool,
    /// The last loss no longer limits the window: the bytes in flight grew again, and then stayed constant
    /// for longer than a congestion control's plateau.
    pub recovered: bool,
    /// Whole flow: the bytes in flight did not fall at losses.
    pub unanswered: bool,
    /// The round trip has a retransmission.
    pub resends: bool,
    /// The capture is at the receiver, nothing was outstanding for a while, and some of the next packets
    /// were missing, as after an outage or a timeout.
    pub back_with_loss: bool,
    pub limiter: Option<LimiterKind>,
    /// Delays show the limiter's queue, not only its rate.
    pub limiter_queues: bool,
    /// The limiter's flows together used its whole rate for more than half of the round trip.
    pub limiter_full: bool,
    /// Data may wait in the queue of a full limiter before the capture: nothing shows the waits there, and
    /// the flow's last data was not the end of what its application had written.
    pub waits_unseen: bool,
    /// The flow used its whole share of the limiter's rate, and its bytes in flight were not constant.
    pub share_taken: bool,
    /// The least RTT of the round trip exceeds RTprop by more than a tenth.
    pub waits: bool,
    /// The least RTT of the round trip is above twice RTprop, and at least 20 ms above it: at least a BDP is
    /// queued, so a link stays full even if a loss halves the window.
    pub queue_stands: bool,
    /// All packets of the round trip waited on the data's path, as timestamps show.
    pub data_waits: bool,
    /// More than half of the RTT above its minimum is spent on the ACKs' path.
    pub acks_wait: bool,
    /// ACKs may wait in the queue of a full link behind a capture at the receiver: nothing shows the waits
    /// there, and the flow's last data was not the end of what its application had written.
    pub acks_wait_unseen: bool,
    /// Data also flows in the other direction, and the ACKs share its queue.
    pub bidirectional_data: bool,
}

impl RoundEvidence {
    /// Returns the claim of a queue of this `kind`: packets wait there, or its whole rate is used.
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

    /// Whether a queue longer than RTprop stands, and no limiter was found.
    pub(super) fn is_unnamed_queue(&self) -> bool {
        self.queue_stands && self.limiter.is_none() && !self.bidirectional_data
    }

    /// Returns the claim of a `cause` that loses packets on the time after such a loss.
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
            // A link behind a queue longer than RTprop is full, regardless of what the queue drops.
            RoundPart::Moving if cause == Cause::Congestion && self.is_unnamed_queue() => None,
            RoundPart::Moving if cause == Cause::Policed && self.recovered && !self.limiter_full => None,
            // Losses do not limit a sender that does not respond to them and writes little.
            RoundPart::Moving if self.unanswered && self.small_writes && cause == Cause::RandomLoss => None,
            RoundPart::Moving if self.limiter == Some(LimiterKind::Policer) => Some(ClaimOrder::Policer),
            RoundPart::Moving => Some(ClaimOrder::AfterLoss),
            _ => None,
        }
    }
}
