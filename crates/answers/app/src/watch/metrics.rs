//! Metrics of live connections in Prometheus' text format.
//!
//! The number of time series is bounded: labels are a process's name, of which the first
//! [`MAX_PROCESSES`] have their own, and what limited the sender. Addresses are not among them.

use proxy::exposition::{head, label};
use result::watch::{SenderLimit, WatchReport, WatchedConnection};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Number of process names with series of their own; the others are summed up as [`OTHER`].
pub const MAX_PROCESSES: usize = 50;
/// Label of the processes beyond [`MAX_PROCESSES`].
const OTHER: &str = "other";
/// Label of connections whose process is unknown.
const UNKNOWN: &str = "unknown";
/// Upper bounds of the RTT histogram's buckets, s.
const RTT_BOUNDS_S: [f64; 12] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];

/// A metric: its name, type and description.
#[derive(Clone, Copy, Debug)]
pub struct WatchMetric {
    /// Name.
    pub name: &'static str,
    /// Prometheus' type.
    pub kind: &'static str,
    /// Description.
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: &'static str, help: &'static str) -> WatchMetric {
    WatchMetric { name, kind, help }
}

/// All metrics, in the order of the output.
pub const METRICS: [WatchMetric; 11] = [
    metric(
        "longfat_watch_limit_seconds_total",
        "counter",
        "Time of all connections, by what limited the sender according to its kernel's counters.",
    ),
    metric("longfat_watch_sent_bytes_total", "counter", "Payload sent and acknowledged."),
    metric("longfat_watch_received_bytes_total", "counter", "Payload received in order."),
    metric("longfat_watch_sent_segments_total", "counter", "Data segments sent, retransmissions included."),
    metric("longfat_watch_retransmitted_segments_total", "counter", "Segments retransmitted."),
    metric(
        "longfat_watch_dropped_packets_total",
        "counter",
        "Packets that the kernel dropped at a socket after their arrival, duplicates included.",
    ),
    metric("longfat_watch_connections", "gauge", "Connections now."),
    metric(
        "longfat_watch_rtt_seconds",
        "histogram",
        "Smoothed RTT, once a second for each connection whose sent data was acknowledged in it.",
    ),
    metric("longfat_watch_processes", "gauge", "Process names with series of their own."),
    metric(
        "longfat_watch_omitted_connections_total",
        "counter",
        "Connections that the other metrics lack because there were too many, added up over the seconds.",
    ),
    metric("longfat_watch_resident_bytes", "gauge", "Resident memory of longfat."),
];

/// Sums of the connections of one process name.
#[derive(Clone, Copy, Debug, Default)]
struct ProcessTotals {
    limit_s: [f64; SenderLimit::ALL.len()],
    sent_bytes: u64,
    received_bytes: u64,
    sent_segments: u64,
    retransmitted: u64,
    dropped: u64,
    connections: u64,
}

/// Sums since the start.
#[derive(Clone, Debug, Default)]
pub struct WatchTotals {
    processes: BTreeMap<String, ProcessTotals>,
    /// Number of RTTs in each bucket; the last one is above all bounds.
    rtts: [u64; RTT_BOUNDS_S.len() + 1],
    rtt_sum_s: f64,
    omitted: u64,
}

impl WatchTotals {
    /// Adds a report that contains all connections.
    pub fn add(&mut self, report: &WatchReport) {
        self.processes.values_mut().for_each(|totals| totals.connections = 0);
        self.omitted += report.omitted;
        report.connections.iter().for_each(|connection| self.add_connection(connection));
    }

    fn add_connection(&mut self, c: &WatchedConnection) {
        let a = &c.last_second;
        let totals = self.totals_of(c.process.as_ref().map_or(UNKNOWN, |process| &process.name));
        totals.limit_s.iter_mut().zip(a.seconds_of_limits()).for_each(|(sum, s)| *sum += s);
        totals.sent_bytes += a.sent_bytes;
        totals.received_bytes += a.received_bytes;
        totals.sent_segments += a.sent_packets.unwrap_or(0);
        totals.retransmitted += a.retransmitted_packets;
        totals.dropped += a.dropped_packets.unwrap_or(0);
        totals.connections += u64::from(!c.ended);
        if let Some(rtt_s) = c.rtt_ms.filter(|_| a.sent_bytes > 0).map(|ms| ms / 1e3) {
            self.rtts[RTT_BOUNDS_S.partition_point(|bound| *bound < rtt_s)] += 1;
            self.rtt_sum_s += rtt_s;
        }
    }

    /// Returns the sums that a process name belongs to.
    fn totals_of(&mut self, name: &str) -> &mut ProcessTotals {
        let is_special = name == OTHER || name == UNKNOWN;
        let others = self.processes.keys().filter(|own| *own != OTHER && *own != UNKNOWN).count();
        let has_room = is_special || others < MAX_PROCESSES || self.processes.contains_key(name);
        self.processes.entry(if has_room { name } else { OTHER }.into()).or_default()
    }

    /// Renders the metrics; `resident_bytes` is this process's memory.
    pub fn text(&self, resident_bytes: u64) -> String {
        let mut out = String::new();
        for metric in METRICS {
            head(&mut out, metric.name, metric.kind, metric.help);
            let by_process = |out: &mut String, value: fn(&ProcessTotals) -> u64| {
                for (process, totals) in &self.processes {
                    let process = label(process);
                    let _ = writeln!(out, "{}{{process=\"{process}\"}} {}", metric.name, value(totals));
                }
            };
            let single = |out: &mut String, value: u64| {
                let _ = writeln!(out, "{} {value}", metric.name);
            };
            match metric.name.strip_prefix("longfat_watch_").unwrap_or_default() {
                "limit_seconds_total" => self.limits(&mut out, metric.name),
                "sent_bytes_total" => by_process(&mut out, |p| p.sent_bytes),
                "received_bytes_total" => by_process(&mut out, |p| p.received_bytes),
                "sent_segments_total" => by_process(&mut out, |p| p.sent_segments),
                "retransmitted_segments_total" => by_process(&mut out, |p| p.retransmitted),
                "dropped_packets_total" => by_process(&mut out, |p| p.dropped),
                "connections" => by_process(&mut out, |p| p.connections),
                "rtt_seconds" => self.histogram(&mut out, metric.name),
                "processes" => single(&mut out, self.processes.len() as u64),
                "omitted_connections_total" => single(&mut out, self.omitted),
                "resident_bytes" => single(&mut out, resident_bytes),
                name => unreachable!("the metric {name} has no value"),
            }
        }
        out
    }

    fn limits(&self, out: &mut String, name: &str) {
        for (process, totals) in &self.processes {
            let process = label(process);
            for (limit, seconds) in SenderLimit::ALL.iter().zip(totals.limit_s) {
                let cause = limit.name();
                let _ = writeln!(out, "{name}{{process=\"{process}\",cause=\"{cause}\"}} {seconds:.6}");
            }
        }
    }

    fn histogram(&self, out: &mut String, name: &str) {
        let mut below = 0;
        for (bound, n) in RTT_BOUNDS_S.iter().zip(self.rtts) {
            below += n;
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let all: u64 = self.rtts.iter().sum();
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {all}");
        let _ = writeln!(out, "{name}_sum {:.6}\n{name}_count {all}", self.rtt_sum_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::diagnosis::SenderTime;
    use result::watch::{Activity, SocketProcess};
    use serde_json::Value;
    use std::collections::BTreeSet;
    use std::net::SocketAddr;

    fn connection(name: Option<&str>, rtt_ms: f64, ended: bool) -> WatchedConnection {
        let sender_s = SenderTime { receive_window: 0.75, network: 0.25, ..SenderTime::default() };
        let last_second = Activity {
            seconds: 1.0,
            sent_bytes: 1000,
            received_bytes: 10,
            sent_packets: Some(5),
            retransmitted_packets: 1,
            dropped_packets: Some(2),
            sender_s,
            limit: SenderLimit::ReceiveWindow,
            ..Activity::default()
        };
        let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
        WatchedConnection {
            local: end(1),
            remote: end(2),
            process: name.map(|name| SocketProcess { pid: 7, name: name.into() }),
            control: None,
            cwnd_packets: None,
            rtt_ms: Some(rtt_ms),
            min_rtt_ms: None,
            receiver_rtt_ms: None,
            ended,
            last_second,
            last_minute: last_second,
        }
    }

    fn report(connections: Vec<WatchedConnection>) -> WatchReport {
        WatchReport { connections, ..WatchReport::default() }
    }

    /// Returns the metric's name in each line with a value.
    fn names(text: &str) -> Vec<&str> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split(['{', ' ']).next().unwrap_or_default()).collect()
    }

    #[test]
    fn connections_are_summed_by_process() {
        let mut totals = WatchTotals::default();
        let odd = "a\"b\\c\nd";
        let first = [connection(Some("curl"), 40.0, true), connection(Some("curl"), 0.4, false)];
        totals.add(&report(first.to_vec()));
        totals.add(&report(vec![connection(Some(odd), 9_000.0, false), connection(None, 40.0, false)]));
        let text = totals.text(4096);
        for line in [
            "longfat_watch_limit_seconds_total{process=\"curl\",cause=\"receive-window\"} 1.500000",
            "longfat_watch_limit_seconds_total{process=\"curl\",cause=\"network\"} 0.500000",
            "longfat_watch_sent_bytes_total{process=\"curl\"} 2000",
            "longfat_watch_received_bytes_total{process=\"unknown\"} 10",
            "longfat_watch_sent_segments_total{process=\"a\\\"b\\\\c\\nd\"} 5",
            "longfat_watch_retransmitted_segments_total{process=\"curl\"} 2",
            "longfat_watch_dropped_packets_total{process=\"curl\"} 4",
            "longfat_watch_connections{process=\"curl\"} 0",
            "longfat_watch_connections{process=\"unknown\"} 1",
            "longfat_watch_rtt_seconds_bucket{le=\"0.0005\"} 1",
            "longfat_watch_rtt_seconds_bucket{le=\"0.05\"} 3",
            "longfat_watch_rtt_seconds_bucket{le=\"+Inf\"} 4",
            "longfat_watch_rtt_seconds_sum 9.080400",
            "longfat_watch_rtt_seconds_count 4",
            "longfat_watch_processes 3",
            "longfat_watch_resident_bytes 4096",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("10.0.0.1"));
    }

    /// A histogram's lines have suffixes.
    #[test]
    fn every_line_follows_the_text_format() {
        let mut totals = WatchTotals::default();
        totals.add(&report(vec![connection(Some("curl"), 40.0, false)]));
        let text = totals.text(0);
        let suffixes = ["", "_bucket", "_sum", "_count"];
        let known: BTreeSet<String> =
            METRICS.iter().flat_map(|m| suffixes.map(|suffix| format!("{}{suffix}", m.name))).collect();
        for (name, line) in names(&text).iter().zip(text.lines().filter(|line| !line.starts_with('#'))) {
            assert!(known.contains(*name), "{line}");
            assert!(line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok()), "{line}");
        }
        assert!(METRICS.iter().all(|m| text.contains(&format!("# TYPE {} {}\n", m.name, m.kind))));
    }

    #[test]
    fn the_number_of_series_does_not_grow_with_names() {
        let mut totals = WatchTotals::default();
        let names_of = |from: usize| (from..from + 200).map(|n| format!("p{n}")).collect::<Vec<_>>();
        for name in names_of(0) {
            totals.add(&report(vec![connection(Some(&name), 1.0, false)]));
        }
        let lines = totals.text(0).lines().count();
        for name in names_of(1000) {
            totals.add(&report(vec![connection(Some(&name), 1.0, false), connection(None, 1.0, false)]));
        }
        assert_eq!(totals.processes.len(), MAX_PROCESSES + 2);
        assert_eq!(totals.processes[OTHER].sent_bytes, (400 - MAX_PROCESSES as u64) * 1000);
        assert!(totals.text(0).lines().count() <= lines + 13, "one more: unknown");
    }

    /// Collects the texts of a key in a JSON value.
    fn texts<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get(key).and_then(Value::as_str));
                fields.values().for_each(|value| texts(value, key, found));
            }
            Value::Array(items) => items.iter().for_each(|value| texts(value, key, found)),
            _ => {}
        }
    }

    /// A metric in a query, with the names of its labels that the query uses and the values it compares them
    /// with. Metrics without braces have no labels here.
    type Selector<'a> = (&'a str, Vec<(&'a str, Vec<&'a str>)>);

    /// Returns the selectors of a query, such as `name{label="value",label=~"one|other"}`.
    fn selectors(query: &str) -> Vec<Selector<'_>> {
        let mut found = Vec::new();
        for (at, _) in query.match_indices("longfat_watch_") {
            let name = query[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
            let name = name.unwrap_or_default();
            let braced = query[at + name.len()..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let matchers = braced.map_or("", |(matchers, _)| matchers).split(',').filter(|m| !m.is_empty());
            let labels = matchers.map(|matcher| {
                let (label, value) = matcher.split_once(['=', '!']).expect("a matcher");
                let value = value.trim_start_matches(['=', '~']).trim_matches('"');
                (label.trim(), value.split('|').collect())
            });
            found.push((name, labels.collect()));
        }
        found
    }

    /// Returns the labels by which a query groups.
    fn grouping(query: &str) -> impl Iterator<Item = &str> {
        let lists = ["by (", "by(", "on (", "on("].into_iter().flat_map(move |word| {
            query.match_indices(word).filter_map(move |(at, _)| query[at + word.len()..].split_once(')'))
        });
        lists.flat_map(|(list, _)| list.split(',')).map(str::trim)
    }

    /// Labels that a scrape adds.
    const OF_SCRAPE: [&str; 2] = ["instance", "job"];

    /// Checks that the exporter writes each metric, label and label value of a query. Returns its metrics.
    fn checked(query: &str, text: &str) -> Vec<String> {
        let selectors = selectors(query);
        assert!(!selectors.is_empty(), "{query}: no metric");
        let has = |name: &str, label: &str| {
            let lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
            lines.clone().count() > 0 && lines.clone().all(|line| line.contains(&format!("{label}=\"")))
        };
        for (name, labels) in &selectors {
            let is_written = |line: &str| {
                line.starts_with(&[name, "{"].concat()) || line.starts_with(&[name, " "].concat())
            };
            assert!(text.lines().any(is_written), "{query}: no metric {name}");
            for (label, values) in labels.iter().filter(|(label, _)| !OF_SCRAPE.contains(label)) {
                assert!(has(name, label), "{query}: {name} has no label {label}");
                for value in values.iter().filter(|value| !value.starts_with('$')) {
                    assert!(text.contains(&format!("{label}=\"{value}\"")), "{query}: no {label} is {value}");
                }
            }
            for label in grouping(query).filter(|label| !OF_SCRAPE.contains(label)) {
                assert!(has(name, label), "{query}: {name} has no label {label}");
            }
        }
        selectors.into_iter().map(|(name, _)| name.to_string()).collect()
    }

    /// Replaces what Grafana would: the variables that the dashboard defines, and the interval.
    fn filled(query: &str, variables: &[&str]) -> String {
        let known = variables.iter().map(|name| format!("${name}"));
        let rest = known.fold(query.replace("$__rate_interval", "5m"), |q, name| q.replace(&name, "$"));
        let unknown = rest.match_indices('$').find(|(at, _)| rest[at + 1..].starts_with(char::is_alphabetic));
        assert_eq!(unknown, None, "{query}: a variable that is not defined");
        query.replace("$__rate_interval", "5m")
    }

    #[test]
    fn the_exporter_writes_every_metric_and_label_of_the_dashboard() {
        let dashboard: Value =
            serde_json::from_str(include_str!("../../../../../packaging/grafana-watch.json")).expect("JSON");
        let mut queries = Vec::new();
        texts(&dashboard["panels"], "expr", &mut queries);
        assert!(queries.len() >= 8, "{queries:?}");
        let mut variables = Vec::new();
        texts(&dashboard["templating"], "name", &mut variables);
        let mut totals = WatchTotals::default();
        totals.add(&report(vec![connection(Some("curl"), 40.0, false)]));
        let text = totals.text(0);
        let filled_in = queries.iter().map(|query| filled(query, &variables));
        let used: BTreeSet<String> = filled_in.flat_map(|query| checked(&query, &text)).collect();
        // What a user wants to see is in it.
        for metric in METRICS.iter().filter(|m| m.kind == "counter") {
            assert!(used.contains(metric.name), "{} is on no panel", metric.name);
        }
        // The values of the variable `instance` come from a metric that always exists.
        let mut sources = Vec::new();
        texts(&dashboard["templating"], "query", &mut sources);
        let source = sources.iter().find_map(|q| q.strip_prefix("label_values(")?.split_once(','));
        let (metric, label) = source.expect("a query of the variable");
        assert!(WatchTotals::default().text(0).contains(&format!("\n{metric} ")), "{metric}");
        assert_eq!(label.trim_matches([' ', ')']), "instance");
        // The data source of each panel and query is the one that the user selects.
        let mut uids = Vec::new();
        texts(&dashboard["panels"], "uid", &mut uids);
        assert!(uids.len() >= 8 && uids.iter().all(|uid| *uid == "${datasource}"), "{uids:?}");
        assert!(variables.contains(&"datasource") && variables.contains(&"instance"));
    }

    #[test]
    fn the_query_in_the_documentation_is_of_metrics_that_exist() {
        let page = include_str!("../../../../../docs/watch.md");
        let mut totals = WatchTotals::default();
        totals.add(&report(vec![connection(Some("curl"), 40.0, false)]));
        let query = page.split("```\n").find(|block| block.starts_with("rate(")).expect("a query");
        assert_eq!(checked(query, &totals.text(0)).len(), 2);
        for metric in METRICS {
            assert!(page.contains(&format!("| `{}` |", metric.name)), "{} is not in the table", metric.name);
        }
    }

    #[test]
    #[should_panic(expected = "longfat_watch_connections has no label cause")]
    fn a_label_that_a_metric_lacks_is_found() {
        let mut totals = WatchTotals::default();
        totals.add(&report(vec![connection(Some("curl"), 40.0, false)]));
        checked("sum by (cause) (longfat_watch_connections{instance=~\"$instance\"})", &totals.text(0));
    }
}
