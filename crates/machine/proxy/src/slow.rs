//! Which side of a proxied direction is the slow one, and why.
//!
//! Model: bytes go source -> proxy -> sink. While the proxy holds bytes that the sink's socket does not take, or the kernel
//! has some unsent, the sink's side is slower than the source's; else the proxy waits for the source. Why the sink is slow,
//! the kernel tells: the shares of its busy time in which the peer's window or the send buffer was full (`TCP_INFO`,
//! `tcp_chrono_stop`, net/ipv4/tcp_output.c), and what it had to send again. Of a slow source only what a receiver sees is
//! known: segments that came out of order, which is what losses on the way leave. Causes are called as `diagnose` calls them.

/// What was seen of one direction over some time. Times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionEvidence {
    /// Time in which bytes moved or waited.
    pub active_us: u64,
    /// Of it, the time in which the sink was waited for.
    pub blocked_us: u64,
    /// Of the sink's socket: time with data outstanding.
    pub busy_us: u64,
    /// Of it, with the peer's window full.
    pub rwnd_limited_us: u64,
    /// Of it, with the send buffer full.
    pub sndbuf_limited_us: u64,
    /// Payload sent to the sink, retransmissions among it.
    pub sent_bytes: u64,
    /// Payload of retransmissions.
    pub resent_bytes: u64,
    /// Data segments that came from the source.
    pub segments_in: u64,
    /// Of them, out of order.
    pub out_of_order: u64,
}

/// Which side the bytes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowEnd {
    /// Where they come from.
    Source,
    /// Where they go to.
    Sink,
}

/// Why it is slow, in the words of `diagnose`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowCause {
    /// The receiver's window is full: its program reads slowly, or its buffer is small.
    ReceiveWindow,
    /// The proxy's send buffer is full before the window is: `send_buffer` is set too small.
    SendBuffer,
    /// Packets are lost: at least one byte in a hundred is sent again, or one segment in a hundred comes out of order.
    Loss,
    /// The path carries no more: the congestion window or the pacing rate is in use.
    Path,
    /// Nothing of that is seen: the program at the source, or its path.
    Application,
}

impl SlowCause {
    /// As `diagnose` calls it.
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

/// Less active time than this and nothing is said: one sample of a loop is a second.
const LEAST_US: u64 = 2_000_000;

/// The slow side and why; `None` where too little was seen.
pub fn slow_end(e: &DirectionEvidence) -> Option<(SlowEnd, SlowCause)> {
    if e.active_us < LEAST_US {
        return None;
    }
    // What takes most of the time is what a change would help.
    let most = |part: u64, whole: u64| part > whole / 2;
    if !most(e.blocked_us, e.active_us) {
        let is_lossy = e.out_of_order.saturating_mul(100) >= e.segments_in && e.out_of_order > 0;
        return Some((SlowEnd::Source, if is_lossy { SlowCause::Loss } else { SlowCause::Application }));
    }
    let cause = if most(e.rwnd_limited_us, e.busy_us) {
        SlowCause::ReceiveWindow
    } else if most(e.sndbuf_limited_us, e.busy_us) {
        SlowCause::SendBuffer
    } else if e.resent_bytes > 0 && e.resent_bytes.saturating_mul(100) >= e.sent_bytes {
        SlowCause::Loss
    } else {
        SlowCause::Path
    };
    Some((SlowEnd::Sink, cause))
}

impl DirectionEvidence {
    /// Adds what was seen since.
    pub fn add(&mut self, more: &DirectionEvidence) {
        self.each(more, |a, b| a.saturating_add(b));
    }

    /// Lets half of it go, so that what is said is of lately.
    pub fn halve(&mut self) {
        self.each(&DirectionEvidence::default(), |a, _| a / 2);
    }

    fn each(&mut self, other: &DirectionEvidence, f: impl Fn(u64, u64) -> u64) {
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
    fn each_side_and_cause() {
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
            // A window that was full for a third of the time is not what most of it went to.
            (DirectionEvidence { rwnd_limited_us: 3 * s, ..blocked }, (SlowEnd::Sink, SlowCause::Path)),
        ];
        for (evidence, told) in cases {
            assert_eq!(slow_end(&evidence), Some(told), "{evidence:?}");
        }
        let mut little = blocked;
        (0..3).for_each(|_| little.halve());
        assert_eq!(slow_end(&little), None);
        little.add(&blocked);
        assert_eq!(slow_end(&little), Some((SlowEnd::Sink, SlowCause::Path)));
    }
}
