use super::{one_decimal, state};
use crate::exposition::{head, label};
use crate::pair_status::{PairLinkView, StatusTable};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A metric of a link: name, type, description, and value if known.
type LinkMetric = (&'static str, &'static str, &'static str, fn(&PairLinkView) -> Option<f64>);

const LINK_METRICS: [LinkMetric; 18] = [
    ("up", "gauge", "Whether the link to the peer is up.", |l| Some(f64::from(u8::from(l.is_up)))),
    ("rtt_seconds", "gauge", "Smoothed RTT.", |l| l.rtt_s),
    ("min_rtt_seconds", "gauge", "Smallest RTT.", |l| l.min_rtt_s),
    ("cwnd_bytes", "gauge", "Congestion window, UDP payload.", |l| l.cwnd_bytes.map(|n| n as f64)),
    ("in_flight_bytes", "gauge", "UDP payload outstanding.", |l| l.in_flight_bytes.map(|n| n as f64)),
    ("pacing_rate_bytes_per_second", "gauge", "Pacing rate, UDP payload.", |l| {
        l.pacing_rate.map(|n| n as f64)
    }),
    ("delivery_rate_bytes_per_second", "gauge", "Delivery rate of the newest sample, UDP payload.", |l| {
        l.delivery_rate.map(|n| n as f64)
    }),
    ("contract_rate_bytes_per_second", "gauge", "Estimated rate of a policer, bytes of IP packets.", |l| {
        l.contract_rate
    }),
    ("contract_bucket_bytes", "gauge", "Estimated burst size of the policer.", |l| l.contract_bucket),
    ("own_loss_share", "gauge", "Estimated share of packets that the path loses at any rate.", |l| {
        l.own_loss
    }),
    ("sent_packets_total", "counter", "QUIC packets sent since the link came up.", |l| {
        Some(l.sent_packets as f64)
    }),
    ("lost_packets_total", "counter", "QUIC packets lost.", |l| Some(l.lost_packets as f64)),
    ("sent_bytes_total", "counter", "UDP payload sent.", |l| Some(l.sent_bytes as f64)),
    ("received_bytes_total", "counter", "UDP payload received.", |l| Some(l.received_bytes as f64)),
    ("sent_datagrams_total", "counter", "Datagrams of UDP flows sent.", |l| Some(l.sent_datagrams as f64)),
    ("received_datagrams_total", "counter", "Datagrams of UDP flows received.", |l| {
        Some(l.received_datagrams as f64)
    }),
    ("streams", "gauge", "Connections open now.", |l| Some(l.streams as f64)),
    ("datagram_flows", "gauge", "UDP flows now.", |l| Some(l.flows as f64)),
];

/// Appends the metrics of all links.
pub fn metrics(out: &mut String, links: &[PairLinkView]) {
    for (name, kind, help, value) in LINK_METRICS.iter().filter(|_| !links.is_empty()) {
        let name = format!("longfat_pair_link_{name}");
        head(out, &name, kind, help);
        for link in links {
            let Some(value) = value(link) else { continue };
            let _ = writeln!(out, "{name}{{peer=\"{}\"}} {value}", label(&link.peer));
        }
    }
}

/// Returns a link as JSON.
pub fn json(l: &PairLinkView) -> Value {
    let mbps = |bytes: f64| bytes * 8e-6;
    json!({
        "peer": l.peer,
        "up": l.is_up,
        "rtt_ms": l.rtt_s.map(|s| s * 1e3),
        "min_rtt_ms": l.min_rtt_s.map(|s| s * 1e3),
        "cwnd_bytes": l.cwnd_bytes,
        "in_flight_bytes": l.in_flight_bytes,
        "pacing_rate_mbps": l.pacing_rate.map(|r| mbps(r as f64)),
        "delivery_rate_mbps": l.delivery_rate.map(|r| mbps(r as f64)),
        "contract_rate_mbps": l.contract_rate.map(mbps),
        "contract_bucket_bytes": l.contract_bucket,
        "own_loss_share": l.own_loss,
        "sent_packets": l.sent_packets,
        "lost_packets": l.lost_packets,
        "sent_bytes": l.sent_bytes,
        "received_bytes": l.received_bytes,
        "sent_datagrams": l.sent_datagrams,
        "received_datagrams": l.received_datagrams,
        "streams": l.streams,
        "datagram_flows": l.flows,
    })
}

/// Returns the table of links for the status page.
pub fn table(links: &[PairLinkView]) -> StatusTable {
    let row = |l: &PairLinkView| {
        let mbps = |bytes: Option<u64>| one_decimal(bytes.map(|b| b as f64 * 8e-6));
        let contract = l.contract_rate.zip(l.contract_bucket).map_or("–".into(), |(rate, bucket)| {
            format!("{:.2} Mbit/s, {:.1} kB", rate * 8e-6, bucket * 1e-3)
        });
        vec![
            l.peer.clone(),
            state(l.is_up),
            one_decimal(l.rtt_s.map(|s| s * 1e3)),
            one_decimal(l.cwnd_bytes.map(|n| n as f64 * 1e-3)),
            mbps(l.pacing_rate),
            mbps(l.delivery_rate),
            format!("{:.2}", l.lost_packets as f64 * 100.0 / l.sent_packets.max(1) as f64),
            contract,
            l.streams.to_string(),
            l.flows.to_string(),
        ]
    };
    StatusTable {
        title: "Pair",
        columns: vec![
            ("peer", None),
            ("state", None),
            ("RTT", Some("ms")),
            ("cwnd", Some("kB")),
            ("pacing", Some("Mbit/s")),
            ("delivered", Some("Mbit/s")),
            ("lost", Some("%")),
            ("contract", None),
            ("connections", Some("")),
            ("UDP flows", Some("")),
        ],
        rows: links.iter().map(row).collect(),
    }
}
