//! Events of a trace, one by one: their times, names and data, as objects (qlog 0.3 and later) or lists
//! (before).

use super::error::QlogError;
use super::packet::{ack_delay, credit, ends, integer, packet, packet_number, positive};
use super::pieces::Piece;
use super::trace::{
    APPLICATION, INITIAL, QlogEvent, QlogKind, QlogMetrics, QlogState, QlogTrace, QlogVantage,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use units::{Span, Time};

/// Maximum length of a state's name, bytes. Longer ones are dropped.
const MAX_STATE_NAME: usize = 40;
/// A larger time in ms counts from 1970 regardless of what the trace states: it is after 2001. aioquic writes
/// such times without `time_format`.
const SURELY_DATED_MS: f64 = 1e12;

/// The format of events' times (main schema, `time_format`).
#[derive(Clone, Copy, PartialEq)]
enum TimeFormat {
    Relative,
    Absolute,
    Delta,
}

/// Reads the events of a trace, according to its head.
pub(super) struct TraceReader {
    pub trace: QlogTrace,
    format: TimeFormat,
    reference_ms: f64,
    last_ms: f64,
    /// Milliseconds per unit of the events' times: before 0.3 these may be microseconds.
    unit_ms: f64,
    /// Milliseconds per unit of its RTTs.
    rtt_unit_ms: f64,
    /// Positions of time, category, name and data in events that are lists.
    fields: Option<ListFields>,
    metrics: QlogMetrics,
    pto_count: u64,
    losses_up_to: Vec<LossesUpTo>,
    /// Number of events of each name.
    pub names: BTreeMap<String, u64>,
    seen: usize,
}

/// Packets of the application number space that were declared lost without their numbers.
#[derive(Clone, Copy)]
struct LossesUpTo {
    time: Time,
    /// Number of the trace's events before it.
    after: usize,
    highest: u64,
    packets: u64,
}

#[derive(Clone, Copy)]
struct ListFields {
    time: usize,
    category: Option<usize>,
    name: usize,
    data: usize,
}

impl ListFields {
    fn of(head: &Value) -> Option<(ListFields, &str)> {
        let fields: Vec<String> = head["event_fields"]
            .as_array()?
            .iter()
            .map(|f| f.as_str().unwrap_or_default().to_lowercase())
            .collect();
        let find = |names: &[&str]| fields.iter().position(|f| names.contains(&f.as_str()));
        let time = find(&["time", "relative_time", "delta_time"])?;
        let format =
            ["relative_time", "delta_time"].into_iter().find(|f| *f == fields[time]).unwrap_or("time");
        let list = ListFields {
            time,
            category: find(&["category"]),
            name: find(&["event", "event_type", "name", "type"])?,
            data: find(&["data"])?,
        };
        Some((list, format))
    }
}

impl TraceReader {
    pub fn new(head: &Value) -> TraceReader {
        let common = &head["common_fields"];
        let fields = ListFields::of(head);
        let stated = common["time_format"].as_str().or(fields.as_ref().map(|(_, format)| *format));
        let format = match stated {
            Some("absolute" | "time") => TimeFormat::Absolute,
            Some("delta" | "delta_time" | "relative_to_previous_event") => TimeFormat::Delta,
            _ => TimeFormat::Relative,
        };
        let micros = head["configuration"]["time_units"] == "us";
        let unit_ms = if micros { 1e-3 } else { 1.0 };
        let reference = &common["reference_time"];
        let reference_ms = positive(reference).map(|n| n * unit_ms).or_else(|| clock_ms(reference));
        let keys = ["ODCID", "odcid", "original_destination_connection_id", "group_id", "dcid"];
        let id = keys.iter().find_map(|key| common[*key].as_str()).filter(|id| !id.is_empty());
        let kind = head["vantage_point"]["type"].as_str().map(str::to_lowercase);
        let trace = QlogTrace {
            vantage: match kind.as_deref() {
                Some("client") => QlogVantage::Client,
                Some("server") => QlogVantage::Server,
                _ => QlogVantage::Other,
            },
            original_id: id.map(str::to_lowercase),
            dated: reference_ms.is_some_and(|ms| ms > 0.0),
            ..QlogTrace::default()
        };
        TraceReader {
            trace,
            format,
            reference_ms: reference_ms.unwrap_or(0.0),
            last_ms: 0.0,
            unit_ms,
            rtt_unit_ms: unit_ms,
            fields: fields.map(|(list, _)| list),
            metrics: QlogMetrics::default(),
            pto_count: 0,
            losses_up_to: Vec::new(),
            names: BTreeMap::new(),
            seen: 0,
        }
    }

    /// Reads the next event.
    pub fn event(&mut self, piece: Piece<'_>, value: &Value) -> Result<(), QlogError> {
        self.seen += 1;
        let none = Value::Null;
        let (at, name, data) = match value {
            Value::Array(list) => {
                let Some(fields) = self.fields else {
                    let what = "it is a list, but the trace's `event_fields` do not name `relative_time`, `event` and `data`";
                    return Err(self.problem(piece, "", what));
                };
                let get = |i: usize| list.get(i).unwrap_or(&none);
                let category = fields.category.and_then(|i| get(i).as_str()).unwrap_or_default();
                let name = get(fields.name).as_str().unwrap_or_default();
                (get(fields.time), format!("{category}:{name}"), get(fields.data))
            }
            Value::Object(_) => {
                (&value["time"], value["name"].as_str().unwrap_or_default().into(), &value["data"])
            }
            _ => return Err(self.problem(piece, "", "it must be an object or a list")),
        };
        if self.names.len() < 1000 || self.names.contains_key(&name) {
            *self.names.entry(name.clone()).or_default() += 1;
        }
        let number = at.as_f64().or_else(|| at.as_str()?.parse().ok()).filter(|t: &f64| t.is_finite());
        let Some(at) = number else {
            // Only the events that are used need a time.
            let what = format!("its time is {at}, not a number");
            return if is_used(&name) { Err(self.problem(piece, &name, &what)) } else { Ok(()) };
        };
        let time = self.time(at * self.unit_ms);
        // Converters write some names in upper case.
        let kind = self.kind(time, &short(&name).to_ascii_lowercase(), data);
        self.trace.events.extend(kind.map(|kind| QlogEvent { time, kind }));
        Ok(())
    }

    /// Returns whether the trace so far is a client's and consists of Initial packets.
    pub fn is_clients_beginning(&self) -> bool {
        let mut packets = self.trace.packets();
        packets.next().is_some_and(|(sent, p)| sent && p.number.0 == INITIAL)
            && packets.all(|(_, p)| p.number.0 == INITIAL)
    }

    fn problem(&self, piece: Piece<'_>, name: &str, what: &str) -> QlogError {
        let event = if name.is_empty() { format!("{}", self.seen) } else { format!("`{name}`") };
        QlogError::Event { line: piece.line, event, what: what.into() }
    }

    fn time(&mut self, at_ms: f64) -> Time {
        let ms = match self.format {
            TimeFormat::Relative => self.reference_ms + at_ms,
            TimeFormat::Absolute => at_ms,
            TimeFormat::Delta => self.last_ms.max(self.reference_ms) + at_ms,
        };
        self.last_ms = ms;
        self.trace.dated |= ms > SURELY_DATED_MS;
        Time::ZERO + Span::from_secs_f64((ms * 1e-3).clamp(0.0, 1e10))
    }

    fn kind(&mut self, time: Time, name: &str, data: &Value) -> Option<QlogKind> {
        match name {
            "packet_sent" => packet(data).map(QlogKind::Sent),
            "packet_received" => {
                let packet = packet(data)?;
                let delay = ack_delay(data).map(|t| Span::from_secs_f64((t * self.unit_ms * 1e-3).min(1e6)));
                self.trace.ack_delays.extend(delay);
                Some(QlogKind::Received(packet))
            }
            "packet_lost" | "packets_lost" | "loss" => {
                let lost = packet_number(data).map(|number| QlogKind::Lost { number });
                if lost.is_none() {
                    // mvfst states the highest number and the count.
                    let highest = integer(&data["largest_lost_packet_num"])?;
                    let packets = integer(&data["lost_packets"])?;
                    self.losses_up_to.push(LossesUpTo {
                        time,
                        after: self.trace.events.len(),
                        highest,
                        packets,
                    });
                }
                lost
            }
            "metrics_updated" | "recovery_metrics_updated" | "metric_update" => {
                self.metrics(time, data);
                None
            }
            "congestion_state_updated" => {
                let name = data["new"].as_str().filter(|name| name.len() <= MAX_STATE_NAME);
                self.trace.states.extend(name.map(|name| QlogState { time, name: name.into() }));
                None
            }
            "loss_timer_updated" | "timer_updated" => {
                let expired = data["event_type"] == "expired" && data["timer_type"] == "pto";
                self.trace.probe_timeouts += u64::from(expired);
                None
            }
            "connection_started" | "connection_new" | "tuple_assigned" => {
                self.trace.ends = self.trace.ends.or_else(|| ends(data));
                None
            }
            "parameters_set" | "parameters_restored" => {
                if let Some((own, credit)) = credit(data) {
                    self.trace.credit[usize::from(!own)] = credit;
                }
                None
            }
            _ => None,
        }
    }

    fn metrics(&mut self, time: Time, data: &Value) {
        let bytes = |keys: &[&str], before: Option<u64>| {
            keys.iter().find_map(|key| positive(&data[*key])).map(|n| n as u64).or(before)
        };
        let m = &self.metrics;
        // quinn writes seconds. Its first value is the initial RTT (RFC 9002 section 6.2.2), by which it is
        // recognised.
        let is = |key: &str, value: f64| positive(&data[key]).is_some_and(|t| (t - value).abs() < 1e-6);
        if m.smoothed_rtt.is_none() && is("smoothed_rtt", 0.333) && is("rtt_variance", 0.1665) {
            self.rtt_unit_ms = 1e3;
        }
        let unit = self.rtt_unit_ms;
        let rtt = positive(&data["smoothed_rtt"]).map(|t| Span::from_secs_f64((t * unit).min(1e9) * 1e-3));
        let now = QlogMetrics {
            time,
            after: self.trace.events.len(),
            cwnd: bytes(&["congestion_window", "cwnd", "current_cwnd"], m.cwnd),
            inflight: bytes(&["bytes_in_flight"], m.inflight),
            // "Infinite" is written as the largest number.
            ssthresh: positive(&data["ssthresh"]).filter(|n| *n < 1e12).map(|n| n as u64).or(m.ssthresh),
            smoothed_rtt: rtt.or(m.smoothed_rtt),
        };
        // A count that grows is an expired timeout; one that falls is an ACK.
        if let Some(count) = integer(&data["pto_count"]) {
            self.trace.probe_timeouts += count.saturating_sub(self.pto_count);
            self.pto_count = count;
        }
        let same = QlogMetrics { time, after: now.after, ..self.metrics };
        if now != same {
            self.metrics = now;
            self.trace.metrics.push(now);
        }
    }
}

impl TraceReader {
    /// Returns the trace. Losses without numbers are assigned to the oldest unacknowledged packets up to the
    /// highest lost number.
    pub fn finish(self) -> QlogTrace {
        let mut trace = self.trace;
        if self.losses_up_to.is_empty() {
            return trace;
        }
        let mut open = BTreeSet::new();
        let mut events = Vec::with_capacity(trace.events.len());
        let mut losses = self.losses_up_to.into_iter().peekable();
        let count = trace.events.len();
        for (i, event) in trace.events.into_iter().map(Some).chain([None]).enumerate() {
            while let Some(loss) = losses.next_if(|loss| loss.after <= i || i == count) {
                let lost: Vec<u64> =
                    open.range(..=loss.highest).take(loss.packets.min(1 << 20) as usize).copied().collect();
                for number in lost {
                    open.remove(&number);
                    let kind = QlogKind::Lost { number: (APPLICATION, number) };
                    events.push(QlogEvent { time: loss.time, kind });
                }
            }
            let Some(event) = event else { break };
            match &event.kind {
                QlogKind::Sent(p) if p.number.0 == APPLICATION && p.eliciting => {
                    open.insert(p.number.1);
                }
                QlogKind::Received(p) if p.number.0 == APPLICATION => {
                    for (from, to) in &p.acked {
                        let acked: Vec<u64> = open.range(from..=to).copied().collect();
                        acked.iter().for_each(|n| {
                            open.remove(n);
                        });
                    }
                }
                _ => {}
            }
            events.push(event);
        }
        // Updates the metrics' positions among the events.
        trace.metrics.iter_mut().for_each(|m| m.after = events.partition_point(|e| e.time <= m.time));
        trace.events = events;
        trace
    }
}

/// The name without its category: `transport:packet_sent`, `quic:packet_sent` and `packet_sent` are the same
/// event.
fn short(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}

/// Returns whether the event describes packets or loss recovery.
fn is_used(name: &str) -> bool {
    ["packet_sent", "packet_received", "packet_lost", "metrics_updated", "recovery_metrics_updated"]
        .contains(&short(name).to_ascii_lowercase().as_str())
}

/// Converts a reference time that is an object to milliseconds since 1970 (main schema, `ReferenceTime`).
fn clock_ms(reference: &Value) -> Option<f64> {
    let wall = reference["wall_clock_time"].as_str().and_then(date_ms);
    wall.or_else(|| date_ms(reference["epoch"].as_str()?)).filter(|ms| *ms >= 0.0)
}

/// Converts an RFC 3339 date to milliseconds since 1970.
fn date_ms(text: &str) -> Option<f64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute) = (number(11, 13)?, number(14, 16)?);
    let rest = text.get(17..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let second: f64 = rest[..end].parse().ok()?;
    let zone = match &rest[end..] {
        "Z" | "z" => 0,
        zone => {
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            sign * (zone.get(1..3)?.parse::<i64>().ok()? * 60 + zone.get(4..6)?.parse::<i64>().ok()?)
        }
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days of the proleptic Gregorian calendar since 1970-01-01, with years that begin in March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, months) = (shifted.div_euclid(400), (month + 9) % 12);
    let year_of_era = shifted.rem_euclid(400);
    let days = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * months + 2) / 5 + day - 1;
    let days = era * 146_097 + days - 719_468;
    Some(((days * 1440 + hour * 60 + minute - zone) * 60) as f64 * 1e3 + second * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_milliseconds_since_1970() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", 0.0),
            ("2000-02-29T12:00:00Z", 951_825_600_000.0),
            ("2026-07-25T03:00:00.5+02:00", 1_784_941_200_500.0),
            ("1999-12-31T23:59:59.25-01:30", 946_690_199_250.0),
        ] {
            assert_eq!(date_ms(text), Some(ms), "{text}");
        }
        for text in ["", "unknown", "2026-13-01T00:00:00Z", "2026-01-01T00:00"] {
            assert_eq!(date_ms(text), None, "{text}");
        }
    }
}
