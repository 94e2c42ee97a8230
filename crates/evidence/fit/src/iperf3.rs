//! Observed paths from the output of `iperf3 -J`.
//!
//! | value | key | since iperf3 |
//! |---|---|---|
//! | bytes of each interval | `intervals[].streams[].bytes` | 3.0 |
//! | bytes received | `end.streams[].receiver.bytes` | 3.0 |
//! | bytes sent, and the seconds it took | `end.streams[].sender.bytes`, `.seconds` | 3.0 |
//! | segments sent again | `intervals[].streams[].retransmits`, `end.streams[].sender.retransmits` | 3.0, where the sender is Linux or FreeBSD |
//! | congestion window, bytes | `intervals[].streams[].snd_cwnd` | 3.0, where the sender is Linux or FreeBSD |
//! | the receiver's window, bytes | `intervals[].streams[].snd_wnd` | 3.13, where the sender is Linux or FreeBSD |
//! | smoothed RTT at the interval's end, us | `intervals[].streams[].rtt` | 3.1, where the sender is Linux or FreeBSD |
//! | the rate to which the test was limited | `start.test_start.target_bitrate` | 3.10 |
//! | congestion control | `end.sender_tcp_congestion` | 3.2 |
//!
//! The distribution of RTTs within an interval is not in it.

use crate::error::FitError;
use crate::observed::ObservedPath;
use crate::series::{FlowSeries, SeriesInterval, SummarySeries, SummarySource, UdpCounts, rtt_summary};
use crate::summary::{FULL_SEGMENT, judged, observed, path_of};
use result::diagnosis::Measures;
use serde_json::Value;

/// Whether the text is JSON of iperf3, complete or cut off.
pub fn is_iperf3(text: &str) -> bool {
    let head = text.get(..text.len().min(4096)).unwrap_or(text);
    text.trim_start().starts_with('{')
        && (head.contains("\"iperf") || head.contains("\"intervals\"") || head.contains("\"test_start\""))
}

/// The path that iperf3's JSON shows.
///
/// # Errors
/// Fails if the text is not JSON of iperf3, if nothing was sent, or with the verdict if no scenario can be
/// made.
pub fn of_iperf3(text: &str) -> Result<ObservedPath, FitError> {
    let all: Value = serde_json::from_str(text).map_err(|e| no_json(text, &e))?;
    let series = series(text, &all)?;
    let cc = all.pointer("/end/sender_tcp_congestion").and_then(Value::as_str).unwrap_or("other");
    judged(series, |series| {
        let streams = all.pointer("/end/streams").and_then(Value::as_array).into_iter().flatten();
        let mut flows = Vec::new();
        for (stream, id) in streams.zip((0..).step_by(2)) {
            let socket = socket(stream);
            let Some(flow) = intervals_of(&all, &socket) else { continue };
            let Some(measured) = of_stream(series, &flow, stream) else { continue };
            let mut seen = observed(id, cc, 0.0, measured.1, measured.0, false);
            seen.facts.intervals = flow.intervals.into();
            seen.facts.counts_arrivals = series.counts_arrivals;
            flows.push(seen);
        }
        path_of(flows)
    })
}

/// Measures and duration of a stream, seconds; `None` if it lacks a value that a fit needs.
fn of_stream(series: &SummarySeries, flow: &FlowSeries, stream: &Value) -> Option<(Measures, f64)> {
    let number = |object: &str, key: &str| {
        stream.get(object).and_then(|o| o.get(key)).and_then(Value::as_f64).filter(|x| *x >= 0.0)
    };
    let (bytes, seconds) = (number("receiver", "bytes")?, number("sender", "seconds")?);
    let counted = || flow.intervals.iter().filter_map(|i| i.retransmits).reduce(|a, b| a + b);
    let (sent, again) = (number("sender", "bytes")?, number("sender", "retransmits").or_else(counted)?);
    let rtt_ms = rtt_summary(&flow.intervals)?;
    if seconds <= 0.0 || bytes <= 0.0 {
        return None;
    }
    let mss = series.flows.first().and_then(|f| f.mss).unwrap_or(f64::from(FULL_SEGMENT));
    let packets = (sent / mss).ceil() + again;
    let goodput = bytes * 8e-6 / seconds;
    let rate = |i: &SeriesInterval| 8e-6 * i.bytes / i.seconds().max(1e-3);
    let windows =
        |value: fn(&SeriesInterval) -> Option<f64>| flow.intervals.iter().filter_map(value).reduce(f64::max);
    let measures = Measures {
        goodput_mbps: goodput,
        max_delivery_mbps: flow.intervals.iter().map(rate).fold(goodput, f64::max),
        bytes: bytes as u64,
        data_packets: packets as u64,
        acks: (packets / 2.0) as u64 + 1,
        mss_bytes: mss as u32,
        rtt_ms,
        retransmitted_packets: again as u64,
        max_window_bytes: windows(|i| i.snd_wnd_bytes).map(|w| w as u64),
        ..Measures::default()
    };
    Some((measures, seconds))
}

/// The series of the test.
fn series(text: &str, all: &Value) -> Result<SummarySeries, FitError> {
    let lacks = |at: &str, key: &str, why: String| FitError::Malformed {
        line: line_of(text, at),
        key: key.into(),
        why,
    };
    let streams = all.pointer("/end/streams").and_then(Value::as_array);
    let empty = streams.is_none_or(Vec::is_empty);
    let said = all.get("error").and_then(Value::as_str);
    let protocol = all.pointer("/start/test_start/protocol").and_then(Value::as_str).unwrap_or("TCP");
    if !["TCP", "UDP"].contains(&protocol) {
        let why = format!("{protocol} is not fitted, only TCP is");
        return Err(lacks("\"protocol\"", "start.test_start.protocol", why));
    }
    let udp_sum = (protocol == "UDP").then(|| all.pointer("/end/sum").unwrap_or(&Value::Null));
    let mut flows: Vec<FlowSeries> = sockets(all).iter().filter_map(|s| intervals_of(all, s)).collect();
    if flows.is_empty() && (empty || said.is_some()) {
        return Err(match said {
            Some(said) => lacks("\"error\"", "error", format!("iperf3 did not finish the test: {said}")),
            None => {
                let at = if all.get("end").is_some() { "\"end\"" } else { "}" };
                lacks(at, "end.streams", "it is missing; iperf3 -J prints it when a test finishes".into())
            }
        });
    }
    let number = |at: &str| all.pointer(at).and_then(Value::as_f64).filter(|x| *x > 0.0);
    let mss = number("/start/tcp_mss_default")
        .filter(|m| (88.0..=9000.0).contains(m))
        .unwrap_or(f64::from(FULL_SEGMENT));
    let cc = all.pointer("/end/sender_tcp_congestion").and_then(Value::as_str);
    for (i, flow) in flows.iter_mut().enumerate() {
        let end = streams.and_then(|s| s.get(i)).and_then(|s| s.get("sender"));
        flow.mss = Some(mss);
        flow.cc = cc.map(String::from);
        let of_test = |key: &str| end.and_then(|e| e.get(key)).and_then(Value::as_f64);
        flow.retransmits = of_test("retransmits")
            .or_else(|| flow.intervals.iter().filter_map(|i| i.retransmits).reduce(|a, b| a + b));
        let least = of_test("min_rtt").filter(|r| *r > 0.0).map(|us| us / 1e6);
        flow.min_rtt_s = least.or_else(|| flow.intervals.iter().filter_map(|i| i.rtt_s).reduce(f64::min));
    }
    let reversed = number("/start/test_start/reverse").is_some();
    let at_sender =
        flows.iter().flat_map(|f| &f.intervals).any(|i| i.cwnd_bytes.is_some() || i.rtt_s.is_some());
    let streams_count = number("/start/test_start/num_streams").unwrap_or(1.0);
    let target = number("/start/test_start/target_bitrate").or(number("/start/target_bitrate"));
    let counted = |at: &str| all.pointer(at).and_then(Value::as_f64);
    let udp = udp_sum.map(|sum| UdpCounts {
        datagrams: sum.get("packets").and_then(Value::as_f64).unwrap_or(0.0),
        lost: sum.get("lost_packets").and_then(Value::as_f64).unwrap_or(0.0),
        jitter_ms: sum.get("jitter_ms").and_then(Value::as_f64),
    });
    let peer = all.pointer("/start/connecting_to/host").or(all.pointer("/start/accepted_connection/host"));
    let receives = sockets_receive(all);
    Ok(SummarySeries {
        source: SummarySource::Iperf3Json,
        peer: peer.and_then(Value::as_str).filter(|p| is_host(p)).map(String::from),
        reversed,
        at_receiver: !at_sender && receives,
        counts_arrivals: receives,
        target_bps: target.map(|t| t * if udp.is_some() { 1.0 } else { streams_count }),
        block_bytes: number("/start/test_start/blksize").unwrap_or(131_072.0),
        received_bytes: counted("/end/sum_received/bytes").filter(|b| *b > 0.0 && udp.is_none()),
        udp,
        flows,
    }
    .ordered())
}

/// Whether a name is safe in a command that is printed for the user.
pub(crate) fn is_host(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-_".contains(&b))
}

/// The socket in the summary of a stream.
fn socket(stream: &Value) -> Value {
    let value = |end: &str| stream.pointer(end).cloned();
    value("/sender/socket").or(value("/udp/socket")).or(value("/receiver/socket")).unwrap_or_default()
}

/// The streams of all intervals, without omitted ones (`-O`).
fn streams(all: &Value) -> impl Iterator<Item = &Value> {
    let intervals = all.get("intervals").and_then(Value::as_array).into_iter().flatten();
    let streams = intervals.filter_map(|i| i.get("streams").and_then(Value::as_array)).flatten();
    streams.filter(|s| s.get("omitted") != Some(&Value::Bool(true)))
}

/// Sockets in the order of the first interval; in a test in both directions (`--bidir`) only the sending
/// ones.
fn sockets(all: &Value) -> Vec<Value> {
    let mut known: Vec<Value> = Vec::new();
    let sends = |s: &Value| s.get("sender") == Some(&Value::Bool(true));
    let both = streams(all).any(sends)
        && !streams(all).all(sends)
        && streams(all).any(|s| s.get("sender").is_some());
    for stream in streams(all).filter(|s| !both || sends(s)) {
        let socket = stream.get("socket").cloned().unwrap_or_default();
        if !known.contains(&socket) {
            known.push(socket);
        }
    }
    known
}

/// Whether the streams count what arrived at this end.
fn sockets_receive(all: &Value) -> bool {
    match streams(all).find_map(|s| s.get("sender").and_then(Value::as_bool)) {
        Some(sends) => !sends,
        None => all.pointer("/start/test_start/reverse").and_then(Value::as_f64).is_some_and(|r| r > 0.0),
    }
}

/// The intervals of a socket; `None` if there are none.
fn intervals_of(all: &Value, socket: &Value) -> Option<FlowSeries> {
    let own = streams(all).filter(|s| s.get("socket").unwrap_or(&Value::Null) == socket);
    let one = |s: &Value| {
        let number = |key: &str| s.get(key).and_then(Value::as_f64).filter(|x| x.is_finite() && *x >= 0.0);
        let above = |key: &str| number(key).filter(|x| *x > 0.0);
        Some(SeriesInterval {
            start_s: number("start")?,
            end_s: number("end").or_else(|| Some(number("start")? + number("seconds")?))?,
            bytes: number("bytes")?,
            retransmits: number("retransmits"),
            cwnd_bytes: above("snd_cwnd"),
            snd_wnd_bytes: above("snd_wnd"),
            rtt_s: above("rtt").map(|us| us / 1e6),
            ..SeriesInterval::default()
        })
    };
    let intervals: Vec<SeriesInterval> = own.filter_map(one).filter(|i| i.seconds() > 0.0).collect();
    (!intervals.is_empty()).then(|| FlowSeries { intervals, ..FlowSeries::default() })
}

/// The error for a text that is not JSON, with the line and the last key before the fault.
fn no_json(text: &str, e: &serde_json::Error) -> FitError {
    let before: usize = text.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum();
    let upto = text.as_bytes().get(..before + e.column()).unwrap_or(text.as_bytes());
    let upto = String::from_utf8_lossy(upto);
    // The last key: the quoted word before the last colon, or before the place where one is missing.
    let colon = if e.to_string().starts_with("expected `:`") { "\"" } else { "\":" };
    let key = upto.rfind(colon).and_then(|end| Some(upto[..end].rsplit('"').next()?.to_string()));
    let why = match e.is_eof() {
        true => {
            "the text ends before its object does: iperf3 -J prints one when the test is finished".to_string()
        }
        false => format!("not JSON as iperf3 -J prints it: {e}"),
    };
    FitError::Malformed { line: e.line().max(1), key: key.unwrap_or_else(|| "{".into()), why }
}

/// Number of the last line that contains `what`; 1 if none does.
fn line_of(text: &str, what: &str) -> usize {
    text.rfind(what).map_or(1, |at| text[..at].matches('\n').count() + 1)
}
