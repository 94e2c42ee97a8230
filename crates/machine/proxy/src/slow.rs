//! Finds which side limits a proxied direction, and why.
//!
//! Model: bytes go source -> proxy -> sink. While the proxy holds bytes that the sink's socket does not
//! accept, or the kernel has unsent bytes, the sink's side is slower than the source's; otherwise the proxy
//! waits for the source. For a slow sink the kernel reports the reason: the shares of its busy time in which
//! the peer's window or the send buffer was full (`TCP_INFO`, `tcp_chrono_stop`, net/ipv4/tcp_output.c), and
//! the retransmissions. For a slow source only the receiver's view is known: segments out of order, which
//! indicate losses on the path. Causes have the names that `diagnose` uses.

/// Measurements of one direction over some time. Times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionEvidence {
    /// Time in which bytes moved or waited.
    pub active_us: u64,
    /// Part of `active_us` in which the proxy waited for the sink.
    pub blocked_us: u64,
    /// Time in which the sink's socket had data outstanding.
    pub busy_us: u64,
    /// Part of `busy_us` with the peer's window full.
    pub rwnd_limited_us: u64,
    /// Part of `busy_us` with the send buffer full.
    pub sndbuf_limited_us: u64,
    /// Payload sent to the sink, including retransmissions.
    pub sent_bytes: u64,
    /// Retransmitted payload.
    pub resent_bytes: u64,
    /// Data segments received from the source.
    pub segments_in: u64,
    /// Data segments received out of order.
    pub out_of_order: u64,
}

/// The side that limits a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowEnd {
    Source,
    Sink,
}

/// Why a side is slow, in the terms of `diagnose`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowCause {
    /// The receive window is full: the application reads slowly, or its buffer is small.
    ReceiveWindow,
    /// The proxy's send buffer is full before the window is: `send_buffer` is too small.
    SendBuffer,
    /// Packets are lost: at least 1 % of the bytes are retransmitted, or 1 % of the segments arrive out of
    /// order.
    Loss,
    /// The path is saturated: the congestion window or the pacing rate limits.
    Path,
    /// None of these: the application at the source, or its path.
    Application,
}

impl SlowCause {
    /// Returns the name that `diagnose` uses.
    pub fn name(self) -> &'static str {
        match self {
            SlowCause::ReceiveWindow => "receive-window",
            SlowCause::SendBuffer => "send-buffer",
            SlowCause::Loss => "loss",
            SlowCause::Path => "bottleneck",
            SlowCause::Application => "application",
        }
    }
}

/// Minimum active time for a verdict: one sample of a loop is a second.
const MIN_ACTIVE_US: u64 = 2_000_000;

/// Returns the slow side and the cause; `None` without enough evidence.
pub fn slow_end(e: &DirectionEvidence) -> Option<(SlowEnd, SlowCause)> {
    if e.active_us < MIN_ACTIVE_US {
        return None;
    }
    // A change helps where most of the time is spent.
    let is_majority = |part: u64, whole: u64| part > whole / 2;
    if !is_majority(e.blocked_us, e.active_us) {
        let is_lossy = e.out_of_order.saturating_mul(100) >= e.segments_in && e.out_of_order > 0;
        return Some((SlowEnd::Source, if is_lossy { SlowCause::Loss } else { SlowCause::Application }));
    }
    let cause = if is_majority(e.rwnd_limited_us, e.busy_us) {
        SlowCause::ReceiveWindow
    } else if is_majority(e.sndbuf_limited_us, e.busy_us) {
        SlowCause::SendBuffer
    } else if e.resent_bytes > 0 && e.resent_bytes.saturating_mul(100) >= e.sent_bytes {
        SlowCause::Loss
    } else {
        SlowCause::Path
    };
    Some((SlowEnd::Sink, cause))
}

impl DirectionEvidence {
    /// Adds further measurements.
    pub fn add(&mut self, more: &DirectionEvidence) {
        self.combine(more, |a, b| a.saturating_add(b));
    }

    /// Halves all measurements, so that recent ones dominate.
    pub fn halve(&mut self) {
        self.combine(&DirectionEvidence::default(), |a, _| a / 2);
    }

    fn combine(&mut self, other: &DirectionEvidence, f: impl Fn(u64, u64) -> u64) {
        for (mine, theirs) in [
            (&mut self.active_us, other.active_us),
            (&mut self.blocked_us, other.blocked_us),
            (&mut self.busy_us, other.busy_us),
            (&mut self.rwnd_limited_us, other.rwnd_limited_us),
            (&mut self.sndbuf_limited_us, other.sndbuf_limited_us),
            (&mut self.sent_bytes, other.sent_bytes),
            (&mut self.resent_bytes, other.resent_bytes),
            (&mut self.segments_in, other.segments_in),
            (&mut self.out_of_order, other.out_of_order),
        ] {
            *mine = f(*mine, theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_and_cause_is_recognised() {
        let s = 1_000_000;
        let base = DirectionEvidence { active_us: 10 * s, segments_in: 1000, ..DirectionEvidence::default() };
        let blocked = DirectionEvidence { blocked_us: 9 * s, busy_us: 10 * s, sent_bytes: 1000, ..base };
        let cases = [
            (base, (SlowEnd::Source, SlowCause::Application)),
            (DirectionEvidence { out_of_order: 10, ..base }, (SlowEnd::Source, SlowCause::Loss)),
            (blocked, (SlowEnd::Sink, SlowCause::Path)),
            (DirectionEvidence { resent_bytes: 10, ..blocked }, (SlowEnd::Sink, SlowCause::Loss)),
            (DirectionEvidence { resent_bytes: 9, ..blocked }, (SlowEnd::Sink, SlowCause::Path)),
            (
                DirectionEvidence { rwnd_limited_us: 6 * s, resent_bytes: 10, ..blocked },
                (SlowEnd::Sink, SlowCause::ReceiveWindow),
            ),
            (
                DirectionEvidence { sndbuf_limited_us: 6 * s, ..blocked },
                (SlowEnd::Sink, SlowCause::SendBuffer),
            ),
            // A window that was full for a third of the time is not the main cause.
            (DirectionEvidence { rwnd_limited_us: 3 * s, ..blocked }, (SlowEnd::Sink, SlowCause::Path)),
        ];
        for (evidence, expected) in cases {
            assert_eq!(slow_end(&evidence), Some(expected), "{evidence:?}");
        }
        let mut little = blocked;
        (0..3).for_each(|_| little.halve());
        assert_eq!(slow_end(&little), None);
        little.add(&blocked);
        assert_eq!(slow_end(&little), Some((SlowEnd::Sink, SlowCause::Path)));
    }
}
