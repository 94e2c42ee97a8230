//! Status of a pair's links, for the proxy's metrics and status page.

use std::sync::{Arc, Mutex, PoisonError};

/// Status of a link to a peer. Counters are this end's, since the link came up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairLinkView {
    /// The peer's name.
    pub peer: String,
    pub is_up: bool,
    /// Smoothed RTT, seconds; `None` before the first sample.
    pub rtt_s: Option<f64>,
    /// Smallest RTT, seconds.
    pub min_rtt_s: Option<f64>,
    /// Congestion window, bytes of UDP payload.
    pub cwnd_bytes: Option<u64>,
    /// Outstanding UDP payload, bytes.
    pub in_flight_bytes: Option<u64>,
    /// Pacing rate, bytes of UDP payload per second.
    pub pacing_rate: Option<u64>,
    /// Delivery rate of the newest sample, bytes of UDP payload per second.
    pub delivery_rate: Option<u64>,
    /// Estimated rate of a policer, bytes of IP packets per second.
    pub contract_rate: Option<f64>,
    /// Estimated burst size of the policer, bytes of IP packets.
    pub contract_bucket: Option<f64>,
    /// Estimated share of packets that the path loses at any rate.
    pub own_loss: Option<f64>,
    /// QUIC packets sent.
    pub sent_packets: u64,
    /// QUIC packets lost.
    pub lost_packets: u64,
    /// UDP payload sent, bytes.
    pub sent_bytes: u64,
    /// UDP payload received, bytes.
    pub received_bytes: u64,
    /// Datagrams of clients and servers sent to the peer.
    pub sent_datagrams: u64,
    /// Datagrams of clients and servers received from the peer.
    pub received_datagrams: u64,
    /// Open connections.
    pub streams: u64,
    /// Active flows of datagrams.
    pub flows: u64,
}

/// Shared status: an end of a pair writes it, the proxy reads it.
#[derive(Clone, Debug, Default)]
pub struct PairBoard(Arc<Mutex<Vec<PairLinkView>>>);

impl PairBoard {
    /// Replaces the status.
    pub fn write(&self, links: Vec<PairLinkView>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = links;
    }

    /// Returns the latest status.
    pub fn read(&self) -> Vec<PairLinkView> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A table of the status page. The program that runs the proxy renders the page ([`StatusPage`]).
#[derive(Clone, Debug, PartialEq)]
pub struct StatusTable {
    pub title: &'static str,
    /// Column heads, and the unit of numeric columns, empty for a count; `None` for text columns.
    pub columns: Vec<(&'static str, Option<&'static str>)>,
    /// One text per column.
    pub rows: Vec<Vec<String>>,
}

/// Renders the status page from a sentence and tables, as HTML.
pub type StatusPage = fn(&str, &[StatusTable]) -> String;
