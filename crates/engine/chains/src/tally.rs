//! What a clock counts of a flow while it drives a run.

use result::{RealTime, RttSummary};
use transport::{Asker, ExchangeLog};
use units::{Awaited, Span, Time};

/// What a clock has counted of one flow of the result.
#[derive(Clone, Debug, Default)]
pub struct FlowTally {
    /// Its name.
    pub name: String,
    /// Which of the scenario's flows it is (one of).
    pub of: usize,
    /// Congestion control, or `udp`.
    pub cc: String,
    /// When the scenario has it begin.
    pub start: Time,
    /// When it was done: its last byte was with the receiving application. `None` where it went on to the end of the run.
    pub done: Option<Time>,
    /// Its own time: from when its connection stood, or its first datagram was due, to when it was done or the run ended.
    pub active: Span,
    /// Payload bytes that reached the receiving application, of the direction in which it sends more.
    pub delivered_bytes: u64,
    /// Round-trip times of TCP over time.
    pub rtt_ms: RttSummary,
    /// The same over ACKs.
    pub rtt_acks_ms: RttSummary,
    /// What its datagrams met.
    pub real_time: Option<RealTime>,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Retransmissions.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Exchanges or pages completed, of an application that asks.
    pub completed: Option<u64>,
    /// How long what it asked for took.
    pub exchanges: ExchangeLog,
    /// What it was still waiting for at the end, each since when.
    pub waiting: Vec<(Awaited, Time)>,
    /// Data packets the path dropped, where that is known.
    pub lost_packets: Option<u64>,
    /// Of its datagrams that were due in each fault's time those that did not arrive; empty of other flows.
    pub lost_in_faults: Vec<u64>,
    /// Payload bytes of a full segment, once there is a connection.
    pub mss_bytes: Option<u32>,
}

impl FlowTally {
    /// Takes over what an application that asks has counted.
    pub fn asked(&mut self, asker: &Asker) {
        self.completed = Some(asker.completed);
        self.exchanges = asker.log.clone();
        self.waiting = asker.waiting().collect();
    }
}
