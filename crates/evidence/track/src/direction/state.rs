//! The state of a direction, grouped by subject.

use crate::rtt::RttEstimate;
use crate::{Bursts, LongWait, PackedSpan, SpanHistogram};
use std::num::NonZeroU64;
use units::{Span, Time};

/// A burst ends at a gap of this length, or of a tenth of the RTT.
const BURST_GAP: Span = Span::from_millis(1);
/// After a loss, every sender's window stays above this share of what was in flight.
const MIN_SHARE_AFTER_LOSS: f32 = 0.4;

/// The edges of the stream, as unwrapped sequence numbers.
#[derive(Clone, Copy, Debug)]
pub struct StreamEdges {
    pub start: u64,
    /// Acknowledged up to here.
    pub una: u64,
    /// Seen up to here.
    pub nxt: u64,
    /// End of the stream, if a FIN was seen.
    pub fin: Option<u64>,
}

impl StreamEdges {
    /// Returns whether all data is acknowledged: one byte before that is a probe, not data.
    #[inline]
    pub fn is_repeated_byte(&self) -> bool {
        self.una == self.nxt && self.una > self.start
    }
}

/// State of the receiver's ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckTrail {
    /// SACK blocks of the last ACK.
    pub blocks: [(u64, u64); 4],
    /// Some ACKs came without data, so the capture contains the receiver's ACKs.
    pub bare: bool,
    /// The current ACK has a timestamp, which the sender's next data echoes.
    pub stamped: bool,
    /// The receiver delayed the last ACK.
    pub delayed: bool,
    /// Duplicate ACKs in a row.
    pub duplicates: u32,
    /// Segments that the receiver may have beyond the missing data: each causes a duplicate ACK.
    pub beyond: u32,
}

/// State of the receive window.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveWindow {
    pub field: Option<u16>,
    /// Shift of the window field (RFC 7323 section 2); `None` if the SYNs were not seen.
    pub scale: Option<u8>,
    /// Sequence number at which the window ends.
    pub end: Option<NonZeroU64>,
    /// The largest window announced, bytes.
    pub greatest: u32,
    /// When a window of zero was announced, while it is zero.
    pub zero_since: Option<Time>,
    /// Packets of new data within and beyond the window: see [`ReceiveWindow::check_scale`].
    within: u32,
    beyond: u32,
    /// More packets were beyond the window than within: it is larger than its scale implies.
    pub refuted: bool,
    /// When it last went from no room for a segment to some.
    pub opened: Option<Time>,
    /// End of a byte sent to probe a window of zero (RFC 9293 section 3.8.6.1): the receiver may accept it.
    pub probe_end: Option<NonZeroU64>,
}

impl ReceiveWindow {
    /// A window before the first announcement.
    pub fn new(scale: Option<u8>) -> ReceiveWindow {
        ReceiveWindow { scale, ..ReceiveWindow::default() }
    }

    /// The window announced last, bytes; `None` if its scale is unknown. (Zero is zero at any scale.)
    #[inline]
    pub fn bytes(&self) -> Option<u32> {
        let field = self.field?;
        match self.scale {
            Some(scale) => Some(((field as u64) << scale).min(u32::MAX as u64 - 1) as u32),
            None => (field == 0).then_some(0),
        }
    }

    /// Checks the scale by new data that ends at `end`. A sender exceeds the windows that passed the capture
    /// only by less than a step of their field (RFC 9293 section 3.8.6, RFC 7323 section 2.2). An ACK that
    /// the capture missed permits only a few packets. So if most packets are beyond the window, the scale is
    /// not what the SYNs stated.
    #[inline]
    pub fn check_scale(&mut self, end: u64) {
        let (Some(scale), Some(edge)) = (self.scale, self.end) else { return };
        let beyond = end >= edge.get() + (1 << scale);
        self.within = self.within.saturating_add(u32::from(!beyond));
        self.beyond = self.beyond.saturating_add(u32::from(beyond));
        if self.beyond > self.within {
            self.refute();
        }
    }

    #[cold]
    fn refute(&mut self) {
        self.refuted = true;
        (self.scale, self.greatest) = (None, 0);
    }

    /// The largest window announced; unlimited if no scale is known.
    #[inline]
    pub fn greatest(&self) -> u32 {
        if self.scale.is_some() && self.greatest > 0 { self.greatest } else { u32::MAX }
    }

    /// The room that a sender needs to send: a full segment of `mss` bytes, or half of the largest window
    /// (RFC 9293 section 3.8.6.2.1).
    #[inline]
    pub fn least_room(&self, mss: u32) -> u64 {
        mss.min(self.greatest / 2).max(1).into()
    }

    /// Returns whether the window determines how much may be sent.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.scale.is_some() || self.field == Some(0)
    }
}

/// The sender's loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryState {
    /// In fast recovery until this is acknowledged.
    pub fast_until: Option<u64>,
    /// Recovering from a timeout until this is acknowledged.
    pub timeout_until: Option<u64>,
    /// A tail loss probe was sent when everything below this was acknowledged.
    pub probed: Option<u64>,
    /// When the cumulative ACK last advanced.
    pub progress: Option<Time>,
}

impl RecoveryState {
    /// Returns whether the sender is in fast recovery when `una` is acknowledged.
    pub fn is_fast(&self, una: u64) -> bool {
        self.fast_until.is_some_and(|until| una < until)
    }

    /// Returns whether the sender recovers from a timeout when `una` is acknowledged.
    pub fn is_after_timeout(&self, una: u64) -> bool {
        self.timeout_until.is_some_and(|until| una < until)
    }
}

/// Round-trip times of a direction.
#[derive(Debug, Default)]
pub struct RttState {
    /// Data sent before this gives no RTT: the capture's clock was set then.
    pub from: Time,
    /// The sender's own estimate.
    pub estimate: RttEstimate,
    /// Minimum round trip between capture and receiver.
    pub least_down: Option<Span>,
    /// Last round trip between capture and receiver.
    pub last_down: Option<Span>,
    /// Some sample came from an ACK that no delayed-ACK timer can have held back.
    pub prompt: bool,
    /// Round trips between capture and receiver.
    pub down: SpanHistogram,
    /// Round trips between capture and sender.
    pub up: SpanHistogram,
    /// Round trips of the whole path.
    pub total: SpanHistogram,
}

/// Payload of a segment according to the SYNs.
#[derive(Clone, Copy, Debug)]
pub struct AgreedMss {
    /// Likely payload: no more than either end offered.
    pub likely: u32,
    /// Maximum payload that the receiver accepts.
    pub most: u32,
    /// Bytes of it that options take.
    pub options: u32,
}

/// When data passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataTimes {
    pub first: Option<Time>,
    pub last_sent: Option<Time>,
    /// Time between the last two.
    pub spacing: Span,
    /// When the sender last probed a shut window: it had more to send.
    pub last_window_probe: Option<Time>,
}

impl DataTimes {
    /// Time since the last data; infinite before the first.
    #[inline]
    pub fn gap(&self, now: Time) -> Span {
        self.last_sent.map_or(Span::MAX, |last| now.since(last))
    }

    /// Notes data that passes `gap` after the last.
    #[inline]
    pub fn sent(&mut self, now: Time, gap: Span) {
        self.first.get_or_insert(now);
        (self.last_sent, self.spacing) = (Some(now), gap);
    }
}

/// The evidence of new data about the application's writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppState {
    /// The last packet of new data, and the one before it.
    pub last_new: Option<NewData>,
    pub new_before: Option<NewData>,
    pub last_write: Option<LastWrite>,
    /// Maximum of the bytes in flight.
    pub most: u32,
}

/// A packet of new data.
#[derive(Clone, Copy, Debug)]
pub struct NewData {
    /// When it passed.
    pub time: Time,
    /// The packet has PSH set.
    pub pushed: bool,
    /// The packet consists of full segments.
    pub full: bool,
}

impl NewData {
    /// Returns whether the application had written more: the end of its last write has PSH set (RFC 9293
    /// section 3.9.1.2) and is usually not a full segment.
    pub fn more_follows(&self) -> bool {
        self.full && !self.pushed
    }
}

/// The last new data of the stream.
#[derive(Clone, Copy, Debug)]
pub struct LastWrite {
    /// When it left the sender: when it passed, minus its one-way delay above the minimum.
    pub sent: Time,
    /// The application had written no more.
    pub ended: bool,
    /// Every sender's window permits more bytes in flight than this, even after a loss.
    pub low: u32,
    /// Since when less than `low` has been in flight.
    pub low_from: Option<Time>,
}

impl AppState {
    /// Notes a packet of new data.
    #[inline]
    pub fn sent_new(&mut self, new: NewData) {
        self.new_before = self.last_new.replace(new);
    }

    /// The new data before the packet that passes at `now`.
    #[inline]
    pub fn before(&self, now: Time) -> Option<NewData> {
        if self.last_new.is_some_and(|new| new.time == now) { self.new_before } else { self.last_new }
    }

    /// Notes the bytes in flight after the last write.
    #[inline]
    pub fn in_flight(&mut self, bytes: u32) {
        self.most = self.most.max(bytes);
        if let Some(write) = &mut self.last_write {
            write.low = (bytes as f32 * MIN_SHARE_AFTER_LOSS) as u32;
        }
    }
}

/// Pauses that have not ended, and long ones that have.
#[derive(Debug, Default)]
pub struct PauseState {
    /// Since when nothing has been outstanding, as the sender sees it.
    pub idle_from: Option<Time>,
    /// The RTT between sender and capture was unknown at that time.
    pub rtt_unknown: bool,
    /// The shortest pause with an unknown RTT during which the sender had more to send: it waited for ACKs.
    pub window_wait: Option<Span>,
    /// Since when the receive window has been full.
    pub full_from: Option<Time>,
    /// A window that was shut although nothing was outstanding. What follows shows whether the sender had
    /// more to send.
    pub shut: Option<ShutWindow>,
    /// The time before this is explained: the end of the last silence, timeout or full window.
    pub explained_until: Option<Time>,
    /// A long pause that is either idleness or a timeout.
    pub unexplained: Option<UnexplainedPause>,
    /// A silence with data outstanding. It is the path's if a retransmission follows.
    pub silence: Option<(Time, Time)>,
    pub waits: Vec<LongWait>,
}

impl PauseState {
    /// Marks the time before `to` as explained.
    #[inline]
    pub fn explain(&mut self, to: Time) {
        self.explained_until = self.explained_until.max(Some(to));
    }

    /// Returns the beginning of the unexplained part of a pause that began at `from`.
    pub fn unexplained_from(&self, from: Time) -> Time {
        self.explained_until.map_or(from, |until| from.max(until))
    }
}

/// A long pause, and the data that ended it. Either the application was idle and the data is new; or, if a
/// jump in the sequence follows, the data is a retransmission after a timeout, and its first transmission was
/// lost before the capture.
#[derive(Clone, Copy, Debug)]
pub struct UnexplainedPause {
    pub last: Time,
    /// Beginning of the pause if it was a timeout.
    pub silent_from: Time,
    /// Beginning of the pause if it was idleness.
    pub idle_from: Time,
    pub to: Time,
    /// End of the data.
    pub end: u64,
    pub segments: u64,
    pub bytes: u64,
    /// The data is one full segment, seen at a distance from the sender.
    pub alone: bool,
}

/// A time in which the window had no room for a segment although nothing was outstanding.
#[derive(Clone, Copy, Debug)]
pub struct ShutWindow {
    pub from: Time,
    /// When it opened, or was last seen to be shut.
    pub to: Time,
    /// The sender probed the window, so it had more to send.
    pub probed: bool,
}

/// Measures bursts: data sent back to back.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstMeter {
    /// Finished bursts.
    pub done: Bursts,
    /// Bytes of the current burst.
    current: u32,
}

impl BurstMeter {
    /// Adds data that passes `gap` after the last.
    #[inline]
    pub fn add(&mut self, len: u32, gap: Span, rtt: Option<Span>) {
        if gap > rtt.map_or(Span::ZERO, |rtt| BURST_GAP.min(rtt / 10)) {
            self.end();
        }
        self.current = self.current.saturating_add(len);
    }

    /// Ends the current burst.
    #[inline]
    pub fn end(&mut self) {
        if self.current > 0 {
            self.done.count += 1;
            self.done.bytes += self.current as u64;
            self.done.largest = self.done.largest.max(self.current);
            self.current = 0;
        }
    }
}

/// RTT samples of the data that an ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSamples {
    /// When the oldest segment was sent, and the RTT between capture and sender then in force.
    pub oldest: Option<(Time, PackedSpan)>,
    /// When the newest segment was sent.
    pub newest: Option<Time>,
    /// Bytes newly acknowledged.
    pub acked: u64,
}
