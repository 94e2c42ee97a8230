//! How a connection came about, and how it was broken off: SYN, RST, and what ICMP says of them.

use crate::FirstPackets;
use crate::rtt::RTO_MIN;
use capture::Unreachable;
use units::{Span, Time};

/// What was seen of a connection's setup (RFC 9293 section 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SetupTrace {
    /// SYNs of the end that opens it. One that follows sooner than any timer fires is a double and does not count.
    pub syns: FirstPackets,
    /// SYN/ACKs of the other, likewise.
    pub syn_acks: FirstPackets,
    /// From the first SYN to the last.
    pub retried: Span,
    /// What ICMP said of it, and in which packet.
    pub unreachable: Option<(Unreachable, u32)>,
    /// The end that opens it acknowledged a SYN/ACK, or sent data or a FIN.
    pub complete: bool,
    first: Option<Time>,
    last: Option<Time>,
}

impl SetupTrace {
    /// A SYN passes; `answer`: it is a SYN/ACK.
    pub fn syn(&mut self, answer: bool, number: u32, now: Time) {
        let again = self.last.is_some_and(|last| now.since(last) < RTO_MIN);
        let list = if answer { &mut self.syn_acks } else { &mut self.syns };
        if list.total() > 0 && again {
            return;
        }
        list.add(number);
        if !answer {
            let first = *self.first.get_or_insert(now);
            self.retried = now.since(first);
        }
        self.last = Some(now);
    }
}

/// A reset of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetTrace {
    /// Who opened the connection sent it; else the other end did.
    pub by_opener: bool,
    /// When.
    pub time: Time,
    /// Resets; the first is what the rest is about.
    pub packets: FirstPackets,
    /// Payload bytes that who opened it had sent, and the other.
    pub sent: [u64; 2],
    /// Of them some were not acknowledged.
    pub outstanding: bool,
    /// One of the ends had ended its stream.
    pub after_fin: bool,
}
