//! Reading qlog: JSON (main schema section 5: `application/qlog+json`) and JSON text sequences (RFC 7464), of versions 0.3 and
//! later, whose events are objects.

use capture::{Addr, Endpoint};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Span, Time};

/// The longest file read, bytes: a packet takes some 300.
pub const LONGEST_FILE: usize = 1 << 30;
/// The longest name of a state that is kept.
const LONGEST_STATE: usize = 40;
/// RFC 7464: what begins a record.
const RECORD: char = '\u{1e}';

/// Why a file is no qlog that can be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum QlogError {
    /// It is not JSON at this line.
    #[error("line {line} is not JSON: {what}")]
    Json {
        /// From 1.
        line: usize,
        /// What the parser says.
        what: String,
    },
    /// It is JSON, but has no traces.
    #[error("no qlog: `traces` or, of a JSON text sequence, `trace` would be right")]
    NoTrace,
    /// Events are lists, as before version 0.3.
    #[error("events are lists, as before qlog 0.3; objects would be right")]
    Old,
    /// No packet was sent in it.
    #[error("no `packet_sent` event with a packet number is in it")]
    NothingSent,
}

/// Who wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QlogVantage {
    /// The client.
    Client,
    /// The server.
    Server,
    /// Somebody else, or it is not said.
    #[default]
    Other,
}

/// A trace, as far as it tells of packets.
#[derive(Clone, Debug, Default)]
pub struct QlogTrace {
    /// Who wrote it.
    pub vantage: QlogVantage,
    /// Original destination connection ID, hexadecimal.
    pub original_id: Option<String>,
    /// The endpoint and its peer, where a `connection_started` says.
    pub ends: Option<[Endpoint; 2]>,
    /// Whether times are since 1970: else they begin at 0.
    pub dated: bool,
    /// In the file's order.
    pub events: Vec<QlogEvent>,
    /// What it said of its own recovery, in the file's order.
    pub metrics: Vec<QlogMetrics>,
    /// What it said of its congestion control's state.
    pub states: Vec<QlogState>,
}

impl QlogTrace {
    /// Moves all of it so that its first event is at this time.
    pub fn begin_at(&mut self, start: Time) {
        let Some(first) = self.events.first().map(|e| e.time) else { return };
        let moved = |time: Time| start + time.since(first);
        self.events.iter_mut().for_each(|e| e.time = moved(e.time));
        self.metrics.iter_mut().for_each(|m| m.time = moved(m.time));
        self.states.iter_mut().for_each(|s| s.time = moved(s.time));
    }
}

/// What an endpoint knew of its recovery (quic-events: `recovery_metrics_updated`, `metrics_updated` before draft 10). An event says
/// only what changed: the rest is as it was before; `None` where it was never said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QlogMetrics {
    /// When.
    pub time: Time,
    /// Congestion window, bytes.
    pub cwnd: Option<u64>,
    /// Bytes in flight.
    pub inflight: Option<u64>,
    /// Slow start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Span>,
}

/// A state of the congestion control (quic-events: `congestion_state_updated`), as the implementation calls it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QlogState {
    /// From when on.
    pub time: Time,
    /// `slow_start`, `congestion_avoidance`, `recovery`, `application_limited`, or its own.
    pub name: String,
}

/// An event, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct QlogEvent {
    /// ns, since 1970 where that is known.
    pub time: Time,
    /// What.
    pub kind: QlogKind,
}

/// Number space (RFC 9000 section 12.3) and number.
pub type PacketNumber = (u8, u64);

/// What happened, as far as it is about packets.
#[derive(Clone, Debug, PartialEq)]
pub enum QlogKind {
    /// The endpoint sent a packet.
    Sent {
        /// Which.
        number: PacketNumber,
        /// Bytes of QUIC.
        length: u32,
        /// It elicits ACKs (RFC 9002 section 2).
        eliciting: bool,
    },
    /// It received one, with these ACK ranges of the space, both ends included.
    Received {
        /// Bytes of QUIC.
        length: u32,
        /// Its number space.
        space: u8,
        /// From number, to number.
        acked: Vec<(u64, u64)>,
    },
    /// It gave one up as lost.
    Lost {
        /// Which.
        number: PacketNumber,
    },
}

/// Reads all traces of a file's text.
pub fn read_qlog(text: &str) -> Result<Vec<QlogTrace>, QlogError> {
    let trimmed = text.trim_start();
    // A file of one object; else records, a line each where they have no separators.
    let whole = if trimmed.starts_with(RECORD) { None } else { serde_json::from_str::<Value>(trimmed).ok() };
    let traces = match whole {
        Some(file) => contained(&file)?,
        None => vec![sequence(text)?],
    };
    if traces.iter().all(|t| !t.events.iter().any(|e| matches!(e.kind, QlogKind::Sent { .. }))) {
        return Err(QlogError::NothingSent);
    }
    Ok(traces)
}

fn contained(file: &Value) -> Result<Vec<QlogTrace>, QlogError> {
    let traces = file["traces"].as_array().ok_or(QlogError::NoTrace)?;
    traces
        .iter()
        .map(|trace| {
            let mut reader = TraceReader::new(trace);
            let events = trace["events"].as_array().map_or(&[][..], |events| events);
            events.iter().try_for_each(|event| reader.event(event))?;
            Ok(reader.trace)
        })
        .collect()
}

fn sequence(text: &str) -> Result<QlogTrace, QlogError> {
    let mut reader: Option<TraceReader> = None;
    for (i, line) in text.lines().enumerate() {
        let line_text = line.trim_matches(|c: char| c == RECORD || c.is_whitespace());
        if line_text.is_empty() {
            continue;
        }
        let value: Value = match serde_json::from_str(line_text) {
            Ok(value) => value,
            // The last may be cut: the endpoint ended in the midst of it.
            Err(_) if reader.is_some() && text.lines().nth(i + 1).is_none() => break,
            Err(e) => return Err(QlogError::Json { line: i + 1, what: e.to_string() }),
        };
        match &mut reader {
            None if value.get("trace").is_some() => reader = Some(TraceReader::new(&value["trace"])),
            None => return Err(QlogError::NoTrace),
            Some(reader) => reader.event(&value)?,
        }
    }
    reader.map(|r| r.trace).ok_or(QlogError::NoTrace)
}

/// How events tell their time (main schema, `time_format`).
#[derive(Clone, Copy, PartialEq)]
enum TimeFormat {
    Relative,
    Absolute,
    Delta,
}

struct TraceReader {
    trace: QlogTrace,
    format: TimeFormat,
    reference_ms: f64,
    last_ms: f64,
    metrics: QlogMetrics,
}

impl TraceReader {
    fn new(trace: &Value) -> TraceReader {
        let common = &trace["common_fields"];
        let format = match common["time_format"].as_str() {
            Some("absolute") => TimeFormat::Absolute,
            Some("delta" | "relative_to_previous_event") => TimeFormat::Delta,
            _ => TimeFormat::Relative,
        };
        let reference = &common["reference_time"];
        let number = |v: &Value| v.as_f64().or_else(|| v.as_str()?.parse().ok());
        let epoch = || {
            let text = reference["epoch"].as_str()?;
            // Only the default is a time of the wall; another says nothing that can be compared.
            (text == "1970-01-01T00:00:00.000Z").then_some(0.0)
        };
        let reference_ms = number(reference).or_else(epoch).filter(|ms| ms.is_finite() && *ms >= 0.0);
        let kind = trace["vantage_point"]["type"].as_str();
        let id = ["ODCID", "odcid", "original_destination_connection_id", "group_id"];
        let id = id.iter().find_map(|key| common[*key].as_str()).map(str::to_lowercase);
        let trace = QlogTrace {
            vantage: match kind {
                Some("client") => QlogVantage::Client,
                Some("server") => QlogVantage::Server,
                _ => QlogVantage::Other,
            },
            original_id: id,
            dated: format == TimeFormat::Absolute || reference_ms.is_some_and(|ms| ms > 0.0),
            ..QlogTrace::default()
        };
        let reference_ms = reference_ms.unwrap_or(0.0);
        TraceReader { trace, format, reference_ms, last_ms: 0.0, metrics: QlogMetrics::default() }
    }

    fn event(&mut self, event: &Value) -> Result<(), QlogError> {
        if event.is_array() {
            return Err(QlogError::Old);
        }
        let Some(at) = event["time"].as_f64().filter(|ms| ms.is_finite()) else { return Ok(()) };
        let ms = match self.format {
            TimeFormat::Relative => self.reference_ms + at,
            TimeFormat::Absolute => at,
            TimeFormat::Delta => self.last_ms.max(self.reference_ms) + at,
        };
        self.last_ms = ms;
        let time = Time::ZERO + Span::from_secs_f64((ms * 1e-3).clamp(0.0, 1e10));
        let data = &event["data"];
        // `transport:packet_sent`, `quic:packet_sent`, `packet_sent`.
        let name = event["name"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default();
        let kind = match name {
            "packet_sent" => sent(data),
            "packet_received" => received(data),
            "packet_lost" => number(data).map(|number| QlogKind::Lost { number }),
            "metrics_updated" | "recovery_metrics_updated" => {
                self.metrics(time, data);
                None
            }
            "congestion_state_updated" => {
                let name = data["new"].as_str().filter(|name| name.len() <= LONGEST_STATE);
                self.trace.states.extend(name.map(|name| QlogState { time, name: name.into() }));
                None
            }
            "connection_started" => {
                self.trace.ends = self.trace.ends.or_else(|| ends(data));
                None
            }
            _ => None,
        };
        self.trace.events.extend(kind.map(|kind| QlogEvent { time, kind }));
        Ok(())
    }
}

impl TraceReader {
    fn metrics(&mut self, time: Time, data: &Value) {
        let number = |key: &str| data[key].as_f64().filter(|n| (0.0..1e15).contains(n));
        let bytes = |key: &str, before: Option<u64>| number(key).map(|n| n as u64).or(before);
        let m = &self.metrics;
        // Milliseconds.
        let rtt = number("smoothed_rtt").map(|ms| Span::from_secs_f64(ms.min(1e9) * 1e-3));
        let now = QlogMetrics {
            time,
            cwnd: bytes("congestion_window", m.cwnd),
            inflight: bytes("bytes_in_flight", m.inflight),
            // "Infinite" is written as the largest number.
            ssthresh: number("ssthresh").filter(|n| *n < 1e12).map(|n| n as u64).or(m.ssthresh),
            smoothed_rtt: rtt.or(m.smoothed_rtt),
        };
        self.metrics = now;
        self.trace.metrics.push(now);
    }
}

/// The space of a packet type.
fn space(kind: &str) -> Option<u8> {
    match kind {
        "initial" => Some(0),
        "handshake" => Some(1),
        "0RTT" | "1RTT" => Some(2),
        _ => None,
    }
}

fn kind(data: &Value) -> Option<u8> {
    let kind = data["header"]["packet_type"].as_str().or_else(|| data["packet_type"].as_str())?;
    space(kind)
}

fn number(data: &Value) -> Option<PacketNumber> {
    let number = &data["header"]["packet_number"];
    let number = number.as_u64().or_else(|| number.as_str()?.parse().ok());
    Some((kind(data)?, number.or_else(|| data["packet_number"].as_u64())?))
}

/// Bytes of the packet.
fn length(data: &Value) -> u32 {
    let known = [
        &data["raw"]["length"],
        &data["header"]["packet_size"],
        &data["packet_size"],
        &data["header"]["length"],
    ];
    let length = known.iter().find_map(|v| v.as_u64()).unwrap_or(0);
    // No UDP datagram is longer.
    length.min(65_535) as u32
}

fn frames(data: &Value) -> &[Value] {
    data["frames"].as_array().map_or(&[], |frames| frames)
}

fn sent(data: &Value) -> Option<QlogKind> {
    // RFC 9002 section 2: all but ACK, PADDING and CONNECTION_CLOSE. Where frames are not logged, a packet that is not small.
    let bare = |f: &Value| matches!(f["frame_type"].as_str(), Some("ack" | "padding" | "connection_close"));
    let (frames, length) = (frames(data), length(data));
    let eliciting = if frames.is_empty() { length > 100 } else { !frames.iter().all(bare) };
    Some(QlogKind::Sent { number: number(data)?, length, eliciting })
}

fn received(data: &Value) -> Option<QlogKind> {
    let mut acked = Vec::new();
    for frame in frames(data).iter().filter(|f| f["frame_type"] == "ack") {
        for range in frame["acked_ranges"].as_array().into_iter().flatten() {
            let ends: Vec<u64> = match range {
                Value::Array(ends) => ends.iter().filter_map(Value::as_u64).collect(),
                one => one.as_u64().into_iter().collect(),
            };
            if let (Some(from), Some(to)) = (ends.first(), ends.last()) {
                acked.push((*from.min(to), *from.max(to)));
            }
        }
    }
    Some(QlogKind::Received { length: length(data), space: kind(data)?, acked })
}

/// The endpoint and its peer: `src_ip` … of version 0.3, `local` and `remote` of later drafts.
fn ends(data: &Value) -> Option<[Endpoint; 2]> {
    let text = |v: &Value| -> Option<Addr> {
        match v.as_str()?.parse().ok()? {
            IpAddr::V4(a) => Some(Addr::v4(a.octets())),
            IpAddr::V6(a) => Some(Addr::v6(a.octets())),
        }
    };
    let port = |v: &Value| v.as_u64().and_then(|p| u16::try_from(p).ok());
    let of = |side: &BTreeMap<&str, &Value>| {
        let get = |keys: [&str; 2]| keys.into_iter().find_map(|key| side.get(key).copied());
        Some(Endpoint { addr: text(get(["ip_v4", "ip_v6"])?)?, port: port(get(["port_v4", "port_v6"])?)? })
    };
    let side = |name: &str| -> Option<Endpoint> {
        of(&data[name].as_object()?.iter().map(|(k, v)| (k.as_str(), v)).collect())
    };
    let flat = |ip: &str, p: &str| Some(Endpoint { addr: text(&data[ip])?, port: port(&data[p])? });
    let local = side("local").or_else(|| flat("src_ip", "src_port"))?;
    let remote = side("remote").or_else(|| flat("dst_ip", "dst_port"))?;
    Some([local, remote])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#""common_fields":{"ODCID":"AB12","time_format":"delta","reference_time":1700000000000},"vantage_point":{"type":"server"}"#;
    const EVENTS: [&str; 3] = [
        r#"{"time":1.5,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7},"raw":{"length":1200},"frames":[{"frame_type":"stream"}]}}"#,
        r#"{"time":40,"name":"quic:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":3},"raw":{"length":40},"frames":[{"frame_type":"ack","acked_ranges":[[5,7],[3]]}]}}"#,
        r#"{"time":0.5,"name":"recovery:packet_lost","data":{"header":{"packet_type":"1RTT","packet_number":4}}}"#,
    ];

    #[test]
    fn an_endpoints_own_account_goes_on_where_nothing_changed() {
        let metrics =
            |at: f64, name: &str, data: &str| format!(r#"{{"time":{at},"name":"{name}","data":{{{data}}}}}"#);
        let events = [
            EVENTS[0].to_string(),
            metrics(
                1.0,
                "recovery:metrics_updated",
                r#""congestion_window":12000,"bytes_in_flight":1200,"ssthresh":18446744073709551615"#,
            ),
            metrics(1.0, "quic:recovery_metrics_updated", r#""bytes_in_flight":2400,"smoothed_rtt":40.5"#),
            metrics(1.0, "quic:congestion_state_updated", r#""old":"slow_start","new":"recovery""#),
            metrics(1.0, "recovery:metrics_updated", r#""congestion_window":-3,"ssthresh":6000"#),
        ];
        let json = format!(r#"{{"traces":[{{{HEAD},"events":[{}]}}]}}"#, events.join(","));
        let mut trace = read_qlog(&json).unwrap().remove(0);
        let told: Vec<_> = trace.metrics.iter().map(|m| (m.cwnd, m.inflight, m.ssthresh)).collect();
        assert_eq!(
            told,
            [
                (Some(12_000), Some(1_200), None),
                (Some(12_000), Some(2_400), None),
                (Some(12_000), Some(2_400), Some(6_000))
            ]
        );
        assert_eq!(trace.metrics[2].smoothed_rtt, Some(Span::from_micros(40_500)));
        assert_eq!(trace.states.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["recovery"]);
        trace.begin_at(Time::from_nanos(7));
        // Milliseconds since 1970 as a double are right to the microsecond.
        let after = trace.states[0].time.since(trace.events[0].time).as_micros();
        assert_eq!((trace.events[0].time, after), (Time::from_nanos(7), 3_000));
    }

    #[test]
    fn both_serialisations_say_the_same() {
        let json =
            format!(r#"{{"qlog_version":"0.3","traces":[{{{HEAD},"events":[{}]}}]}}"#, EVENTS.join(","));
        let records: Vec<String> = EVENTS.iter().map(|e| format!("\u{1e}{e}\n")).collect();
        let sequence =
            format!("\u{1e}{{\"qlog_format\":\"JSON-SEQ\",\"trace\":{{{HEAD}}}}}\n{}", records.concat());
        for text in [json.as_str(), sequence.as_str(), &format!("{sequence}\u{1e}{{\"time\":1,\"na")] {
            let traces = read_qlog(text).unwrap();
            let t = &traces[0];
            assert_eq!(
                (traces.len(), t.vantage, t.original_id.as_deref()),
                (1, QlogVantage::Server, Some("ab12"))
            );
            let at = |us: u64| Time::ZERO + Span::from_micros(1_700_000_000_000_000 + us);
            let near = |time: Time, us| time.since(at(us)) + at(us).since(time) < Span::from_micros(2);
            assert!(
                near(t.events[0].time, 1_500)
                    && near(t.events[1].time, 41_500)
                    && near(t.events[2].time, 42_000)
            );
            let kinds: Vec<&QlogKind> = t.events.iter().map(|e| &e.kind).collect();
            assert_eq!(*kinds[0], QlogKind::Sent { number: (2, 7), length: 1200, eliciting: true });
            assert_eq!(*kinds[1], QlogKind::Received { length: 40, space: 2, acked: vec![(5, 7), (3, 3)] });
            assert_eq!(*kinds[2], QlogKind::Lost { number: (2, 4) });
        }
    }

    #[test]
    fn what_is_no_qlog_is_said() {
        assert_eq!(read_qlog("{}").unwrap_err(), QlogError::NoTrace);
        assert_eq!(read_qlog(r#"{"traces":[{"events":[]}]}"#).unwrap_err(), QlogError::NothingSent);
        assert_eq!(
            read_qlog(r#"{"traces":[{"events":[[1,"transport","packet_sent",{}]]}]}"#).unwrap_err(),
            QlogError::Old
        );
        assert!(matches!(read_qlog("\u{1e}nonsense\n"), Err(QlogError::Json { line: 1, .. })));
        assert!(matches!(read_qlog(""), Err(QlogError::NoTrace)));
    }
}
