//! Times in which packets did not pass because of their size, and whether ICMP reported that to the sender.

use crate::limiter::seconds;
use result::diagnosis::Cause;
use track::{LoggedPacket, OversizeSpan, PacketFate, Track};

/// A sender that reduces its segments after this many timeouts got no ICMP message, which comes within a
/// round trip.
const MIN_TIMEOUTS: u32 = 2;

/// A time in which packets of a size did not pass, seconds since the connection's first packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SizeStall {
    pub from: f64,
    pub to: f64,
    /// [`Cause::BlackHole`] or [`Cause::PacketTooBig`].
    pub cause: Cause,
    /// IP bytes of the packets.
    size: f64,
}

impl SizeStall {
    /// Returns the stalls of a track in which smaller packets passed, of its own or of `others` in the same
    /// direction.
    pub(crate) fn all(t: &Track, others: &[&Track]) -> Vec<SizeStall> {
        let since = |at| seconds(at) - seconds(t.first);
        let stall = |s: &OversizeSpan| SizeStall {
            from: since(s.from),
            to: since(s.to),
            cause: if s.timeouts >= MIN_TIMEOUTS { Cause::BlackHole } else { Cause::PacketTooBig },
            size: (s.size + t.header) as f64,
        };
        let passed = |s: &&OversizeSpan| s.smaller_passed || only_smaller_passed(s, t.header, others);
        t.too_big.iter().filter(passed).map(stall).collect()
    }

    /// Whether the stall overlaps this span.
    pub(crate) fn meets(&self, (from, to): (f64, f64)) -> bool {
        self.from < to && self.to >= from
    }

    /// Whether the stall explains a packet that was lost `since` seconds after the connection's first packet,
    /// by its time and size.
    pub(crate) fn explains(&self, s: &LoggedPacket, since: f64) -> bool {
        let size = s.bytes as f64 / f64::from(s.segments.max(1));
        // A segment of the old size may be counted as two of the new size.
        let is_full = s.bytes as f64 >= self.size || size >= self.size;
        (self.from - 1e-6..=self.to).contains(&since) && is_full
    }
}

/// Whether packets of other flows passed in the span, all of them smaller than those that did not pass.
fn only_smaller_passed(span: &OversizeSpan, header: u32, others: &[&Track]) -> bool {
    let size = f64::from(span.size + header);
    let sizes = others.iter().flat_map(|t| {
        let begin = t.log.partition_point(|s| s.time <= span.from);
        let within = t.log[begin..].iter().take_while(|s| s.time < span.to);
        within.filter(|s| s.fate == PacketFate::Passed && s.rtt.is_known())
    });
    let mut sizes = sizes.map(|s| f64::from(s.bytes) / f64::from(s.segments.max(1))).peekable();
    sizes.peek().is_some() && sizes.all(|passed| passed < size)
}

/// Whether the sender got no ICMP message for a stall. The size to which it reduced its segments then says
/// little about the path's.
pub(crate) fn is_unreported(t: &Track) -> bool {
    SizeStall::all(t, &[]).iter().any(|s| s.cause == Cause::BlackHole)
}
