//! Counters of a flow during a run.

use result::{RealTime, RttSummary};
use transport::{ExchangeLog, Requester};
use units::{ExchangeKind, Span, Time};

/// Counters of one flow of the result.
#[derive(Clone, Debug, Default)]
pub struct FlowTally {
    pub name: String,
    /// Index of the scenario's flow. With `count`, several tallies have the same one.
    pub of: usize,
    /// Congestion control, or `udp`.
    pub cc: String,
    /// Start time according to the scenario.
    pub start: Time,
    /// When the last byte reached the receiving application; `None` if the flow lasted until the end of the
    /// run.
    pub done: Option<Time>,
    /// Active time: from the established connection, or the first datagram's due time, until the flow was
    /// done or the run ended.
    pub active: Span,
    /// Payload bytes that reached the receiving application, in the direction that carries most of the data.
    pub delivered_bytes: u64,
    /// TCP round-trip times, weighted by time.
    pub rtt_ms: RttSummary,
    /// TCP round-trip times, one sample per ACK.
    pub rtt_acks_ms: RttSummary,
    /// Delay, jitter and loss of datagrams.
    pub real_time: Option<RealTime>,
    /// Data packets sent, including retransmissions.
    pub sent_packets: u64,
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Completed exchanges or pages, for an application that makes requests.
    pub completed: Option<u64>,
    /// Durations of the completed exchanges.
    pub exchanges: ExchangeLog,
    /// Exchanges that were incomplete at the end of the run, with their start times.
    pub waiting: Vec<(ExchangeKind, Time)>,
    /// Data packets that the path dropped, if known.
    pub lost_packets: Option<u64>,
    /// For each fault the number of datagrams that were due in its span and did not arrive; empty for other
    /// flows.
    pub lost_in_faults: Vec<u64>,
    /// Payload bytes of a full segment, once the connection is established.
    pub mss_bytes: Option<u32>,
}

impl FlowTally {
    /// Takes over the counters of an application that makes requests.
    pub fn record_requests(&mut self, requester: &Requester) {
        self.completed = Some(requester.completed);
        self.exchanges = requester.log.clone();
        self.waiting = requester.waiting().collect();
    }
}
