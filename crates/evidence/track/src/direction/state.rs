//! What a direction remembers, by what it is about.

use crate::rtt::RttEstimate;
use crate::{Bursts, LongWait, PackedSpan, SpanHistogram};
use std::num::NonZeroU64;
use units::{Span, Time};

/// Bursts end at gaps of this, or of a tenth of the RTT.
const BURST_GAP: Span = Span::from_millis(1);
/// Of what was in flight, every sender's window has more than this left after a loss.
const LEFT_AFTER_LOSS: f32 = 0.4;

/// The stream's bytes, as sequence numbers without wrap-around.
#[derive(Clone, Copy, Debug)]
pub struct StreamEdges {
    /// The first byte.
    pub start: u64,
    /// Acknowledged up to here.
    pub una: u64,
    /// Seen up to here.
    pub nxt: u64,
    /// Where the stream ends, if that was seen.
    pub fin: Option<u64>,
}

impl StreamEdges {
    /// All is acknowledged: one byte before that is a probe, not data.
    #[inline]
    pub fn is_repeated_byte(&self) -> bool {
        self.una == self.nxt && self.una > self.start
    }
}

/// What ACKs repeated.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckTrail {
    /// SACK blocks of the last ACK.
    pub blocks: [(u64, u64); 4],
    /// Some came without data: those are in the capture.
    pub bare: bool,
    /// The one that passes has a timestamp, which the sender's next data echoes.
    pub stamped: bool,
    /// The last one had been held back by the receiver.
    pub delayed: bool,
    /// Duplicate ACKs in a row.
    pub duplicates: u32,
    /// Segments that the receiver may have beyond what is missing: each sends a duplicate ACK.
    pub beyond: u32,
}

/// The receive window.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveWindow {
    /// The window field of the last ACK.
    pub field: Option<u16>,
    /// How far it is to be shifted (RFC 7323 section 2); `None` where the SYNs were not seen.
    pub scale: Option<u8>,
    /// The sequence number that it reaches to.
    pub end: Option<NonZeroU64>,
    /// The greatest that was announced, bytes.
    pub greatest: u32,
    /// A window of zero was announced then.
    pub zero_since: Option<Time>,
    /// New data that it lets out, and that it does not, packets: see [`ReceiveWindow::held_against`].
    within: u32,
    beyond: u32,
    /// More went beyond it than within: it is larger than its scale says.
    pub refuted: bool,
    /// When it last went from no room for a segment to some.
    pub opened: Option<Time>,
    /// The end of a byte sent to ask whether a window of zero has opened (RFC 9293 section 3.8.6.1): the receiver may take it.
    pub probe_end: Option<NonZeroU64>,
}

impl ReceiveWindow {
    /// Nothing announced yet.
    pub fn new(scale: Option<u8>) -> ReceiveWindow {
        ReceiveWindow { scale, ..ReceiveWindow::default() }
    }

    /// The window announced last, bytes; `None` where its scale is not known. (Zero is zero at any scale.)
    #[inline]
    pub fn bytes(&self) -> Option<u32> {
        let field = self.field?;
        match self.scale {
            Some(scale) => Some(((field as u64) << scale).min(u32::MAX as u64 - 1) as u32),
            None => (field == 0).then_some(0),
        }
    }

    /// New data that ends at `end` passes. No sender sends more than the windows let out that passed the capture (RFC 9293
    /// section 3.8.6), but for less than a step of their field (RFC 7323 section 2.2), and an ACK that the capture missed lets
    /// few packets out: if most are beyond, the scale is not what the SYNs said.
    #[inline]
    pub fn held_against(&mut self, end: u64) {
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

    /// The greatest that was announced; without limit where no scale is known.
    #[inline]
    pub fn greatest(&self) -> u32 {
        if self.scale.is_some() && self.greatest > 0 { self.greatest } else { u32::MAX }
    }

    /// What room there must be for a sender to send: that of a full segment of `mss`, or of half of the greatest window (RFC
    /// 9293 section 3.8.6.2.1).
    #[inline]
    pub fn least_room(&self, mss: u32) -> u64 {
        mss.min(self.greatest / 2).max(1).into()
    }

    /// Whether it says how much may be sent.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.scale.is_some() || self.field == Some(0)
    }
}

/// What the sender repairs, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryState {
    /// In fast recovery until this is acknowledged.
    pub fast_until: Option<u64>,
    /// In recovery from a timeout until this is acknowledged.
    pub timeout_until: Option<u64>,
    /// A tail loss probe was sent with all below this acknowledged.
    pub probed: Option<u64>,
    /// When an ACK last moved forward.
    pub progress: Option<Time>,
}

impl RecoveryState {
    /// Whether the sender, `una` being acknowledged, is in fast recovery.
    pub fn is_fast(&self, una: u64) -> bool {
        self.fast_until.is_some_and(|until| una < until)
    }

    /// Whether it recovers from a timeout.
    pub fn is_after_timeout(&self, una: u64) -> bool {
        self.timeout_until.is_some_and(|until| una < until)
    }
}

/// Round-trip times.
#[derive(Debug, Default)]
pub struct RttState {
    /// What was sent before gives no RTT: the capture's clock was set then.
    pub from: Time,
    /// The sender's own.
    pub estimate: RttEstimate,
    /// The least from capture to receiver and back.
    pub least_down: Option<Span>,
    /// The last one.
    pub last_down: Option<Span>,
    /// Some sample is of an ACK that no timer of delayed ACKs can have held back.
    pub prompt: bool,
    /// From capture to receiver and back.
    pub down: SpanHistogram,
    /// From capture to sender and back.
    pub up: SpanHistogram,
    /// Both together.
    pub total: SpanHistogram,
}

/// The likely and the greatest payload of a segment, as the SYNs said.
#[derive(Clone, Copy, Debug)]
pub struct AgreedMss {
    /// No more than either end offered.
    pub likely: u32,
    /// What the receiver takes.
    pub most: u32,
    /// Of that, what options take.
    pub options: u32,
}

/// When data passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataTimes {
    /// The first.
    pub first: Option<Time>,
    /// The last.
    pub last_sent: Option<Time>,
    /// Between the last two.
    pub spacing: Span,
    /// When the sender asked last whether a shut window has opened: it had more to send.
    pub asked: Option<Time>,
}

impl DataTimes {
    /// Since the last data; before the first there was endless silence.
    #[inline]
    pub fn gap(&self, now: Time) -> Span {
        self.last_sent.map_or(Span::MAX, |last| now.since(last))
    }

    /// Data passes, `gap` after the last.
    #[inline]
    pub fn sent(&mut self, now: Time, gap: Span) {
        self.first.get_or_insert(now);
        (self.last_sent, self.spacing) = (Some(now), gap);
    }
}

/// What new data says of the application's writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppState {
    /// The last packet of new data, and the one before.
    pub last_new: Option<NewData>,
    pub new_before: Option<NewData>,
    /// The last of the stream.
    pub last_write: Option<LastWrite>,
    /// The most bytes that were in flight.
    pub most: u32,
}

/// A packet of new data.
#[derive(Clone, Copy, Debug)]
pub struct NewData {
    /// When it passed.
    pub time: Time,
    /// It ended in PSH.
    pub pushed: bool,
    /// It was made of full segments.
    pub full: bool,
}

impl NewData {
    /// The application had more at hand: what it wrote last ends in PSH (RFC 9293 section 3.9.1.2), and in what is left of it.
    pub fn more_follows(&self) -> bool {
        self.full && !self.pushed
    }
}

/// What the sender sent last of the stream.
#[derive(Clone, Copy, Debug)]
pub struct LastWrite {
    /// When it left the sender: when it passed, less its one-way delay above the least.
    pub sent: Time,
    /// The application had written no more.
    pub ended: bool,
    /// Every sender's window, after a loss too, lets more than this be in flight, bytes.
    pub low: u32,
    /// Since when less was in flight.
    pub low_from: Option<Time>,
}

impl AppState {
    /// New data passes.
    #[inline]
    pub fn sent_new(&mut self, new: NewData) {
        self.new_before = self.last_new.replace(new);
    }

    /// The new data before the packet that passes at `now`.
    #[inline]
    pub fn before(&self, now: Time) -> Option<NewData> {
        if self.last_new.is_some_and(|new| new.time == now) { self.new_before } else { self.last_new }
    }

    /// So many bytes are in flight with the last write.
    #[inline]
    pub fn in_flight(&mut self, bytes: u32) {
        self.most = self.most.max(bytes);
        if let Some(write) = &mut self.last_write {
            write.low = (bytes as f32 * LEFT_AFTER_LOSS) as u32;
        }
    }
}

/// Pauses that have not ended, and those that took long.
#[derive(Debug, Default)]
pub struct PauseState {
    /// Nothing is outstanding from here on, as the sender sees it.
    pub idle_from: Option<Time>,
    /// The RTT between sender and capture was not known then.
    pub rtt_unknown: bool,
    /// The shortest pause with an unknown RTT in which the sender had more at hand: it waited for ACKs.
    pub window_wait: Option<Span>,
    /// The receive window is full since then.
    pub full_from: Option<Time>,
    /// It was, or is, though nothing was outstanding; whether the sender had more to send what follows shows.
    pub shut: Option<ShutWindow>,
    /// The time before this has its reason: the end of the last silence, timeout or full window.
    pub explained_until: Option<Time>,
    /// A long pause that is either idleness or a timeout.
    pub unexplained: Option<UnexplainedPause>,
    /// A silence with data outstanding: the path's, if something is sent again behind it.
    pub silence: Option<(Time, Time)>,
    /// Long waits.
    pub waits: Vec<LongWait>,
}

impl PauseState {
    /// Pauses before `to` have their reason.
    #[inline]
    pub fn explain(&mut self, to: Time) {
        self.explained_until = self.explained_until.max(Some(to));
    }

    /// Since when nothing explains a pause that began at `from`.
    pub fn unexplained_from(&self, from: Time) -> Time {
        self.explained_until.map_or(from, |until| from.max(until))
    }
}

/// A long pause, and the data that ended it. Either the application was idle and the data is new; or, if a jump of the
/// sequence follows, the data is a retransmission after a timeout whose first transmission was lost before the capture.
#[derive(Clone, Copy, Debug)]
pub struct UnexplainedPause {
    /// Last packet before the pause.
    pub last: Time,
    /// Where it begins if it was a timeout.
    pub silent_from: Time,
    /// Where it begins if it was idleness.
    pub idle_from: Time,
    /// When the data ended it.
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
    /// When it opened, or was seen to be shut last.
    pub to: Time,
    /// The sender asked whether it has opened: it had more to send.
    pub asked: bool,
}

/// Bursts: data back to back.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstMeter {
    /// Those that ended.
    pub done: Bursts,
    /// Bytes of the one that goes on.
    current: u32,
}

impl BurstMeter {
    /// Data passes, `gap` after the last.
    #[inline]
    pub fn add(&mut self, len: u32, gap: Span, rtt: Option<Span>) {
        if gap > rtt.map_or(Span::ZERO, |rtt| BURST_GAP.min(rtt / 10)) {
            self.end();
        }
        self.current = self.current.saturating_add(len);
    }

    /// The burst is over.
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

/// RTTs of what an ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSamples {
    /// When the oldest segment was sent, and the RTT between capture and sender then in force.
    pub oldest: Option<(Time, PackedSpan)>,
    /// When the newest was sent.
    pub newest: Option<Time>,
    /// Bytes.
    pub acked: u64,
}
