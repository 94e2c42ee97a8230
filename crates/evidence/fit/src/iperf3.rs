//! What to fit where there is no capture but what iperf3 printed of a finished test (`-J`), at its sender.
//!
//! | wanted | where it stands | since |
//! |---|---|---|
//! | what arrived | `end.streams[].receiver.bytes` | 3.0 |
//! | what was sent, in what time | `end.streams[].sender.bytes`, `.seconds` | 3.0 |
//! | packets sent again | `end.streams[].sender.retransmits` | 3.0, where the sender is Linux or FreeBSD |
//! | round trips, us, smoothed, one an interval | `intervals[].streams[].rtt` | 3.1, likewise |
//! | congestion control | `end.sender_tcp_congestion` | 3.2 |
//!
//! How round trips are spread within an interval does not show.

use crate::error::FitError;
use crate::observed::ObservedPath;
use crate::summary::{FULL_SEGMENT, observed, spread, summed};
use result::diagnosis::Measures;
use serde_json::Value;

/// A path as iperf3's JSON tells of it.
///
/// # Errors
/// It is none, of UDP, or lacks what a fit takes; nothing was sent.
pub fn of_iperf3(text: &str) -> Result<ObservedPath, FitError> {
    let all: Value = serde_json::from_str(text).map_err(|e| no_json(text, &e))?;
    let lacks =
        |at: &str, key: String, why: String| FitError::Malformed { line: line_of(text, at), key, why };
    let Some(streams) = all.pointer("/end/streams").and_then(Value::as_array) else {
        return Err(match all.get("error").and_then(Value::as_str) {
            Some(said) => {
                lacks("\"error\"", "error".into(), format!("iperf3 did not finish the test: {said}"))
            }
            None => {
                let why = "it is not there: iperf3 -J has it of a finished test";
                let at = if all.get("end").is_some() { "\"end\"" } else { "}" };
                lacks(at, "end.streams".into(), why.into())
            }
        });
    };
    if let Some(protocol) = all.pointer("/start/test_start/protocol").and_then(Value::as_str)
        && protocol != "TCP"
    {
        let why = format!("{protocol} is not fitted, only TCP is");
        return Err(lacks("\"protocol\"", "start.test_start.protocol".into(), why));
    }
    let mss = all.pointer("/start/tcp_mss_default").and_then(Value::as_u64).unwrap_or(0) as u32;
    let mss = if (88..=9000).contains(&mss) { mss } else { FULL_SEGMENT };
    let cc = all.pointer("/end/sender_tcp_congestion").and_then(Value::as_str).unwrap_or("other");
    let mut flows = Vec::new();
    for (i, (stream, id)) in streams.iter().zip((0..).step_by(2)).enumerate() {
        let number = |of: &str, key: &str| {
            let value = stream.get(of).and_then(|o| o.get(key)).and_then(Value::as_f64);
            value.filter(|x| *x >= 0.0).ok_or_else(|| {
                let why =
                    "it is no number, or not there: iperf3 -J has it at a sender that runs Linux or FreeBSD";
                lacks("\"streams\"", format!("end.streams[{i}].{of}.{key}"), why.into())
            })
        };
        let (bytes, seconds) = (number("receiver", "bytes")?, number("sender", "seconds")?);
        let (sent, again) = (number("sender", "bytes")?, number("sender", "retransmits")?);
        if seconds <= 0.0 || bytes <= 0.0 {
            continue;
        }
        let socket = stream.pointer("/sender/socket").cloned().unwrap_or_default();
        let (rtts, most) = intervals(&all, &socket);
        if rtts.is_empty() {
            let why = "no interval has one: iperf3 measures it at the sender; of a reversed test (-R) take what the other end prints \
                       (iperf3 -s -J)";
            return Err(lacks("\"intervals\"", "intervals[].streams[].rtt".into(), why.into()));
        }
        let packets = (sent / f64::from(mss)).ceil() + again;
        let goodput = bytes * 8e-6 / seconds;
        let measures = Measures {
            goodput_mbps: goodput,
            max_delivery_mbps: most.max(goodput),
            bytes: bytes as u64,
            data_packets: packets as u64,
            acks: (packets / 2.0) as u64 + 1,
            mss_bytes: mss,
            rtt_ms: spread(rtts),
            retransmitted_packets: again as u64,
            ..Measures::default()
        };
        flows.push(observed(id, cc, 0.0, seconds, measures, false));
    }
    summed(flows)
}

/// RTTs of a socket's intervals, ms, and the greatest rate of one, Mbit/s.
fn intervals(all: &Value, socket: &Value) -> (Vec<f64>, f64) {
    let (mut rtts, mut most) = (Vec::new(), 0.0f64);
    let lists = all.get("intervals").and_then(Value::as_array).into_iter().flatten();
    for stream in lists.filter_map(|i| i.get("streams").and_then(Value::as_array)).flatten() {
        if stream.get("socket") != Some(socket) {
            continue;
        }
        rtts.extend(stream.get("rtt").and_then(Value::as_f64).filter(|us| *us > 0.0).map(|us| us / 1e3));
        let rate = stream.get("bits_per_second").and_then(Value::as_f64).unwrap_or(0.0) / 1e6;
        most = most.max(rate);
    }
    (rtts, most)
}

/// A text that is no JSON: where, and behind which key.
fn no_json(text: &str, e: &serde_json::Error) -> FitError {
    let before: usize = text.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum();
    let upto = text.as_bytes().get(..before + e.column()).unwrap_or(text.as_bytes());
    let upto = String::from_utf8_lossy(upto);
    // The key that was read last: the word in quotes before a colon, or before where one should be.
    let colon = if e.to_string().starts_with("expected `:`") { "\"" } else { "\":" };
    let key = upto.rfind(colon).and_then(|end| Some(upto[..end].rsplit('"').next()?.to_string()));
    let why = match e.is_eof() {
        true => {
            "the text ends before its object does: iperf3 -J prints one when the test is finished".to_string()
        }
        false => format!("no JSON, as iperf3 -J prints it: {e}"),
    };
    FitError::Malformed { line: e.line().max(1), key: key.unwrap_or_else(|| "{".into()), why }
}

/// The last line that has this in it; the first line where none has.
fn line_of(text: &str, what: &str) -> usize {
    text.rfind(what).map_or(1, |at| text[..at].matches('\n').count() + 1)
}
