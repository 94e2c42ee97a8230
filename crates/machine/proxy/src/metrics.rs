//! Reports of a proxy: Prometheus' text format 0.0.4, JSON, and tables for people. They are rendered from a
//! view of its state.

use crate::exposition::{head, label};
use crate::pair_status::{PairLinkView, StatusTable};
use crate::shared::ProxyShared;
use crate::slow::{DirectionEvidence, SlowEnd, slow_end};
use crate::stats::{COUNTERS, PathStats, ProxyCounter};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

mod link;

#[derive(Clone, Debug, PartialEq)]
pub struct ServerView {
    pub upstream: String,
    pub address: String,
    pub up: bool,
    pub connections: usize,
}

/// A snapshot of a proxy.
#[derive(Clone, Debug, Default)]
pub struct StatusView {
    /// Seconds since the proxy started.
    pub uptime_s: f64,
    /// Counters, in the order of [`COUNTERS`].
    pub counters: Vec<u64>,
    pub servers: Vec<ServerView>,
    /// Statistics by client network and upstream.
    pub paths: Vec<(String, String, PathStats)>,
    /// Links of the pair, if this process is an end of one.
    pub links: Vec<PairLinkView>,
    /// Resident memory, bytes.
    pub resident_bytes: u64,
}

impl StatusView {
    /// Takes a snapshot.
    pub fn of(shared: &ProxyShared) -> StatusView {
        let sum = |counter: ProxyCounter| shared.loops.iter().map(|l| l.get(counter)).sum();
        let running = shared.running();
        let mut servers = Vec::new();
        for (name, upstream) in &running.upstreams {
            servers.extend(upstream.servers().iter().map(|server| ServerView {
                upstream: name.clone(),
                address: server.address.to_string(),
                up: !server.health().is_down(),
                connections: server.connections.load(Relaxed),
            }));
        }
        let paths = shared.paths.snapshot().into_iter();
        StatusView {
            uptime_s: shared.now().as_secs_f64(),
            counters: COUNTERS.iter().map(|(counter, ..)| sum(*counter)).collect(),
            servers,
            paths: paths.map(|((network, upstream), path)| (network.to_string(), upstream, path)).collect(),
            links: shared.pair_status().map_or(Vec::new(), |status| status.read()),
            resident_bytes: linux::process::resident(),
        }
    }
}

/// Names of the sides, by index.
const SIDES: [&str; 2] = ["client", "server"];

/// A metric of a side of a path: name, type, description, and value if known.
type SideMetric = (&'static str, &'static str, &'static str, fn(&PathStats, usize) -> Option<f64>);

const SIDE_METRICS: [SideMetric; 12] = [
    ("rtt_seconds", "gauge", "Smoothed RTT of the connection sampled last.", |p, s| {
        p.sides[s].rtt_us.map(|us| us as f64 / 1e6)
    }),
    ("min_rtt_seconds", "gauge", "Minimum RTT of the connection sampled last.", |p, s| {
        p.sides[s].min_rtt_us.map(|us| us as f64 / 1e6)
    }),
    (
        "cwnd_bytes",
        "gauge",
        "Congestion window towards this side, of the connection sampled last.",
        |p, s| Some(p.sides[s].cwnd_bytes as f64),
    ),
    (
        "delivery_rate_bytes_per_second",
        "gauge",
        "Delivery rate towards this side, of the connection sampled last.",
        |p, s| p.sides[s].delivery_rate.map(|r| r as f64),
    ),
    ("sent_bytes_total", "counter", "Payload sent to this side, including retransmissions.", |p, s| {
        Some(p.total[s].sent_bytes as f64)
    }),
    ("retransmitted_bytes_total", "counter", "Payload retransmitted to this side.", |p, s| {
        Some(p.total[s].resent_bytes as f64)
    }),
    (
        "active_seconds_total",
        "counter",
        "Connection time in which bytes moved or waited towards this side.",
        |p, s| Some(p.total[s].active_us as f64 / 1e6),
    ),
    (
        "blocked_seconds_total",
        "counter",
        "Part of active_seconds in which the proxy waited for this side.",
        |p, s| Some(p.total[s].blocked_us as f64 / 1e6),
    ),
    (
        "busy_seconds_total",
        "counter",
        "Time with data outstanding towards this side (tcpi_busy_time).",
        |p, s| Some(p.total[s].busy_us as f64 / 1e6),
    ),
    (
        "rwnd_limited_seconds_total",
        "counter",
        "Part of busy_seconds with this side's receive window full.",
        |p, s| Some(p.total[s].rwnd_limited_us as f64 / 1e6),
    ),
    (
        "sndbuf_limited_seconds_total",
        "counter",
        "Part of busy_seconds with the proxy's send buffer full.",
        |p, s| Some(p.total[s].sndbuf_limited_us as f64 / 1e6),
    ),
    (
        "out_of_order_segments_total",
        "counter",
        "Segments received out of order from the other side.",
        |p, s| Some(p.total[s].out_of_order as f64),
    ),
];

/// Renders the metrics for Prometheus.
pub fn metrics_text(view: &StatusView) -> String {
    let mut out = String::new();
    for ((_, name, kind, help), n) in COUNTERS.iter().zip(&view.counters) {
        head(&mut out, name, kind, help);
        let _ = writeln!(out, "{name} {n}");
    }
    head(&mut out, "longfat_proxy_uptime_seconds", "gauge", "Time since the proxy started.");
    let _ = writeln!(out, "longfat_proxy_uptime_seconds {}", view.uptime_s);
    head(&mut out, "longfat_proxy_resident_bytes", "gauge", "Resident memory.");
    let _ = writeln!(out, "longfat_proxy_resident_bytes {}", view.resident_bytes);
    let server =
        |s: &ServerView| format!("upstream=\"{}\",server=\"{}\"", label(&s.upstream), label(&s.address));
    head(&mut out, "longfat_proxy_server_up", "gauge", "Whether a server is up.");
    for s in &view.servers {
        let _ = writeln!(out, "longfat_proxy_server_up{{{}}} {}", server(s), u8::from(s.up));
    }
    head(&mut out, "longfat_proxy_server_connections", "gauge", "Connections of a server.");
    for s in &view.servers {
        let _ = writeln!(out, "longfat_proxy_server_connections{{{}}} {}", server(s), s.connections);
    }
    for (name, kind, help, value) in &SIDE_METRICS {
        let name = format!("longfat_proxy_path_{name}");
        head(&mut out, &name, kind, help);
        for (network, upstream, path) in &view.paths {
            for (i, side) in SIDES.iter().enumerate() {
                let Some(value) = value(path, i) else { continue };
                let (network, upstream) = (label(network), label(upstream));
                let labels = format!("client=\"{network}\",upstream=\"{upstream}\",side=\"{side}\"");
                let _ = writeln!(out, "{name}{{{labels}}} {value}");
            }
        }
    }
    let name = "longfat_proxy_path_slow";
    head(&mut out, name, "gauge", "1 for the side that has recently limited a direction, with the cause.");
    for (network, upstream, path) in &view.paths {
        for (direction, side, why) in slow_directions(path) {
            let (network, upstream) = (label(network), label(upstream));
            let _ = writeln!(
                out,
                "{name}{{client=\"{network}\",upstream=\"{upstream}\",direction=\"{direction}\",side=\"{side}\",\
                 cause=\"{why}\"}} 1"
            );
        }
    }
    link::metrics(&mut out, &view.links);
    out
}

/// Returns, for each direction with enough recent evidence: its name, the slow side, the cause.
fn slow_directions(path: &PathStats) -> Vec<(&'static str, &'static str, &'static str)> {
    let line = |(to, direction): (usize, &'static str)| {
        let (end, cause) = slow_end(&path.recent[to])?;
        let side = if end == SlowEnd::Sink { to } else { 1 - to };
        Some((direction, SIDES[side], cause.name()))
    };
    [(0, "down"), (1, "up")].into_iter().filter_map(line).collect()
}

fn evidence(e: &DirectionEvidence) -> Value {
    json!({
        "active_s": e.active_us as f64 / 1e6,
        "blocked_s": e.blocked_us as f64 / 1e6,
        "busy_s": e.busy_us as f64 / 1e6,
        "rwnd_limited_s": e.rwnd_limited_us as f64 / 1e6,
        "sndbuf_limited_s": e.sndbuf_limited_us as f64 / 1e6,
        "sent_bytes": e.sent_bytes,
        "retransmitted_bytes": e.resent_bytes,
        "segments_in": e.segments_in,
        "out_of_order": e.out_of_order,
    })
}

/// Renders the status as JSON.
pub fn json_text(view: &StatusView) -> String {
    let short = |name: &str| name.trim_start_matches("longfat_proxy_").trim_end_matches("_total").to_string();
    let counters: serde_json::Map<String, Value> =
        COUNTERS.iter().zip(&view.counters).map(|((_, name, ..), n)| (short(name), (*n).into())).collect();
    let server = |s: &ServerView| json!({ "upstream": s.upstream, "server": s.address, "up": s.up, "connections": s.connections });
    let path = |(network, upstream, p): &(String, String, PathStats)| {
        let side = |i: usize| {
            let g = &p.sides[i];
            json!({
                "rtt_ms": g.rtt_us.map(|us| us as f64 / 1e3),
                "min_rtt_ms": g.min_rtt_us.map(|us| us as f64 / 1e3),
                "cwnd_bytes": g.cwnd_bytes,
                "delivery_rate_mbps": g.delivery_rate.map(|r| r as f64 * 8e-6),
                "sent_to": evidence(&p.total[i]),
            })
        };
        let slow: Vec<Value> = slow_directions(p)
            .into_iter()
            .map(|(direction, side, cause)| json!({ "direction": direction, "side": side, "cause": cause }))
            .collect();
        json!({
            "client": network, "upstream": upstream, "connections": p.connections,
            "client_side": side(0), "server_side": side(1), "slow": slow,
        })
    };
    let value = json!({
        "schema": "longfat-proxy-status/1",
        "uptime_s": view.uptime_s,
        "resident_bytes": view.resident_bytes,
        "counters": counters,
        "servers": view.servers.iter().map(server).collect::<Vec<_>>(),
        "paths": view.paths.iter().map(path).collect::<Vec<_>>(),
        "links": view.links.iter().map(link::json).collect::<Vec<_>>(),
    });
    value.to_string() + "\n"
}

/// Returns the state of a server or a peer; capitals need attention.
fn state(is_up: bool) -> String {
    if is_up { "up" } else { "DOWN" }.into()
}

/// Formats a number with one decimal.
fn one_decimal(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{v:.1}"))
}

/// Returns the sentence above the tables.
pub fn summary(view: &StatusView) -> String {
    format!(
        "Up for {:.0} s, {:.1} MB resident. /metrics is for Prometheus, /status.json for programs.",
        view.uptime_s,
        view.resident_bytes as f64 / 1e6
    )
}

/// Returns the tables of the status page, without empty ones.
pub fn tables(view: &StatusView) -> Vec<StatusTable> {
    let mut paths = Vec::new();
    for (network, upstream, p) in &view.paths {
        let words = |(direction, side, cause): (&str, &str, &str)| {
            format!("{direction}: the {side}'s side ({cause})")
        };
        let slow: Vec<String> = slow_directions(p).into_iter().map(words).collect();
        for (i, name) in SIDES.iter().enumerate() {
            let (side, total) = (&p.sides[i], &p.total[i]);
            // Values that both sides share are in the first row only.
            let first_row = |text: String| if i == 0 { text } else { String::new() };
            paths.push(vec![
                first_row(network.clone()),
                first_row(upstream.clone()),
                first_row(p.connections.to_string()),
                (*name).into(),
                one_decimal(side.rtt_us.map(|us| us as f64 / 1e3)),
                format!("{:.1}", side.cwnd_bytes as f64 / 1e3),
                one_decimal(side.delivery_rate.map(|r| r as f64 * 8e-6)),
                format!("{:.1}", total.sent_bytes as f64 / 1e6),
                format!("{:.2}", total.resent_bytes as f64 * 100.0 / total.sent_bytes.max(1) as f64),
                first_row(slow.join("; ")),
            ]);
        }
    }
    let server =
        |s: &ServerView| vec![s.upstream.clone(), s.address.clone(), state(s.up), s.connections.to_string()];
    let counters = COUNTERS.iter().zip(&view.counters);
    let mut all = vec![
        StatusTable {
            title: "Which side is slow",
            columns: vec![
                ("clients", None),
                ("upstream", None),
                ("connections", Some("")),
                ("side", None),
                ("RTT", Some("ms")),
                ("cwnd", Some("kB")),
                ("delivery rate", Some("Mbit/s")),
                ("sent", Some("MB")),
                ("retransmitted", Some("%")),
                ("recently slow", None),
            ],
            rows: paths,
        },
        StatusTable {
            title: "Servers",
            columns: vec![("upstream", None), ("server", None), ("state", None), ("connections", Some(""))],
            rows: view.servers.iter().map(server).collect(),
        },
        link::table(&view.links),
        StatusTable {
            title: "Counters",
            columns: vec![("counter", None), ("value", Some(""))],
            rows: counters.map(|((_, _, _, help), n)| vec![(*help).into(), n.to_string()]).collect(),
        },
    ];
    all.retain(|table| !table.rows.is_empty());
    all
}

#[cfg(test)]
mod tests;
