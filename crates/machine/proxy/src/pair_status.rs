//! What the end of a pair tells of its links, for the metrics and status page that the proxy has.

use std::sync::{Arc, Mutex, PoisonError};

/// A link to a peer at one moment. Counts are of what this end has done since the link came up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairLinkView {
    /// The peer's name.
    pub peer: String,
    /// Whether it is there.
    pub is_up: bool,
    /// Smoothed RTT, seconds; `None` before one is known.
    pub rtt_s: Option<f64>,
    /// Smallest RTT, seconds.
    pub min_rtt_s: Option<f64>,
    /// Congestion window, bytes of UDP payload.
    pub cwnd_bytes: Option<u64>,
    /// Bytes of UDP payload outstanding.
    pub in_flight_bytes: Option<u64>,
    /// Pacing rate, bytes of UDP payload per second.
    pub pacing_rate: Option<u64>,
    /// Delivery rate of the newest sample, likewise.
    pub delivery_rate: Option<u64>,
    /// A policer's rate as it is believed, bytes of IP packets per second.
    pub contract_rate: Option<f64>,
    /// Its bucket, bytes of IP packets.
    pub contract_bucket: Option<f64>,
    /// The share of packets that the path is believed to lose at any speed.
    pub own_loss: Option<f64>,
    /// Packets of QUIC sent.
    pub sent_packets: u64,
    /// Of them lost.
    pub lost_packets: u64,
    /// UDP payload sent, bytes.
    pub sent_bytes: u64,
    /// UDP payload received, bytes.
    pub received_bytes: u64,
    /// Datagrams of clients and servers sent to the peer.
    pub sent_datagrams: u64,
    /// And received from it.
    pub received_datagrams: u64,
    /// Connections open now.
    pub streams: u64,
    /// Flows of datagrams now.
    pub flows: u64,
}

/// Where an end of a pair writes what its links are, and the proxy reads it.
#[derive(Clone, Debug, Default)]
pub struct PairBoard(Arc<Mutex<Vec<PairLinkView>>>);

impl PairBoard {
    /// What there is now, in place of what was there.
    pub fn write(&self, links: Vec<PairLinkView>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = links;
    }

    /// What was written last.
    pub fn read(&self) -> Vec<PairLinkView> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A table of the status page. The page itself is made by the program that runs the proxy ([`StatusPage`]).
#[derive(Clone, Debug, PartialEq)]
pub struct StatusTable {
    /// What it is about.
    pub title: &'static str,
    /// Heads, and the unit of a column of numbers, empty for a count; `None` for one of names.
    pub columns: Vec<(&'static str, Option<&'static str>)>,
    /// From top to bottom, a text for each column.
    pub rows: Vec<Vec<String>>,
}

/// Makes the status page of a sentence and tables: HTML.
pub type StatusPage = fn(&str, &[StatusTable]) -> String;
