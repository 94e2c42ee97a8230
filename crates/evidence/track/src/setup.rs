//! How a connection was set up and reset: SYN, RST, and ICMP errors.

use crate::FirstPackets;
use crate::rtt::RTO_MIN;
use capture::Unreachable;
use units::{Span, Time};

/// A connection's handshake (RFC 9293 section 3.5), as far as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SetupTrace {
    /// SYNs of the opener. A SYN that follows sooner than any retransmission timer is a duplicate record and
    /// does not count.
    pub syns: FirstPackets,
    /// SYN/ACKs of the other end, counted in the same way.
    pub syn_acks: FirstPackets,
    /// Time from the first SYN to the last.
    pub retried: Span,
    /// The ICMP error about the connection, and the number of the packet that carried it.
    pub unreachable: Option<(Unreachable, u32)>,
    /// The opener acknowledged a SYN/ACK, or sent data or a FIN.
    pub complete: bool,
    first: Option<Time>,
    last: Option<Time>,
}

impl SetupTrace {
    /// Adds a SYN; `answer`: it is a SYN/ACK.
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
    /// The opener sent the reset; otherwise the other end did.
    pub by_opener: bool,
    /// When the first reset passed.
    pub time: Time,
    /// All resets. The other fields describe the first one.
    pub packets: FirstPackets,
    /// Payload bytes that the opener and the other end had sent.
    pub sent: [u64; 2],
    /// Some of these bytes were not acknowledged.
    pub outstanding: bool,
    /// An end had sent a FIN before.
    pub after_fin: bool,
}
