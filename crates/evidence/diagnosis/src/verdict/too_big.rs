//! When packets did not pass because of their size, and whether the sender was told.

use crate::limiter::seconds;
use result::diagnosis::Cause;
use track::{LoggedPacket, PacketFate, TooBigSpan, Track};

/// Who shrinks segments after so many timeouts was not told: a message comes within a round trip.
const TIMEOUTS: u32 = 2;

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
    /// Those of a track that smaller packets came through meanwhile, of its own or of those `beside` it, which go the same
    /// way.
    pub(crate) fn all(t: &Track, beside: &[&Track]) -> Vec<SizeStall> {
        let since = |at| seconds(at) - seconds(t.first);
        let stall = |s: &TooBigSpan| SizeStall {
            from: since(s.from),
            to: since(s.to),
            cause: if s.timeouts >= TIMEOUTS { Cause::BlackHole } else { Cause::PacketTooBig },
            size: (s.size + t.header) as f64,
        };
        let passed = |s: &&TooBigSpan| s.smaller_passed || only_smaller_passed(s, t.header, beside);
        t.too_big.iter().filter(passed).map(stall).collect()
    }

    /// It lies, in part, between these.
    pub(crate) fn meets(&self, (from, to): (f64, f64)) -> bool {
        self.from < to && self.to >= from
    }

    /// A packet lost then, `since` the connection's first, was of that size.
    pub(crate) fn explains(&self, s: &LoggedPacket, since: f64) -> bool {
        let size = s.bytes as f64 / f64::from(s.segments.max(1));
        // A segment of the old size may be counted as two of the new.
        let whole = s.bytes as f64 >= self.size || size >= self.size;
        (self.from - 1e-6..=self.to).contains(&since) && whole
    }
}

/// Packets of other flows came through in the span, none of which was as large as those that did not.
fn only_smaller_passed(span: &TooBigSpan, header: u32, beside: &[&Track]) -> bool {
    let size = f64::from(span.size + header);
    let sizes = beside.iter().flat_map(|t| {
        let begin = t.log.partition_point(|s| s.time <= span.from);
        let within = t.log[begin..].iter().take_while(|s| s.time < span.to);
        within.filter(|s| s.fate == PacketFate::Passed && s.rtt.is_known())
    });
    let mut sizes = sizes.map(|s| f64::from(s.bytes) / f64::from(s.segments.max(1))).peekable();
    sizes.peek().is_some() && sizes.all(|passed| passed < size)
}

/// Whether the sender found out by itself, or never did: then the size it fell to says little of the path's.
pub(crate) fn is_untold(t: &Track) -> bool {
    SizeStall::all(t, &[]).iter().any(|s| s.cause == Cause::BlackHole)
}
