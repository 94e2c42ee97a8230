//! What to fit where there is no capture but a log of `ss -tin` (or `ss -tinO`), printed again and again at the sender.
//!
//! Each output tells of a connection: smoothed and least round trip, window, bytes acknowledged, segments sent and sent again, the
//! delivery rate, and how long it was busy, limited by the receiver's window or by the send buffer (`tcp_info`,
//! include/uapi/linux/tcp.h). Two and more of them tell what happened between. Times are those of lines beside (`date`,
//! `date +%s.%N`, a prefix by `ts`); without such, the kernel's own `busy` is the clock, which stands while nothing is in flight.

use crate::error::FitError;
use crate::observed::{CapturedFacts, ObservedFlow, ObservedPath};
use crate::summary::{spread, summed};
use result::diagnosis::{CauseShare, Guess, Measures};
use result::{Cause, FlowDiagnosis};
use std::collections::BTreeMap;

/// Outputs of a connection without which a log does not tell how it went.
const LEAST_SAMPLES: usize = 3;
/// A connection younger than this at its first output, seconds, is looked at from its begin on.
const YOUNG: f64 = 2.0;
/// States of connections, as ss prints them.
const STATES: [&str; 7] =
    ["ESTAB", "CLOSE-WAIT", "FIN-WAIT-1", "FIN-WAIT-2", "LAST-ACK", "CLOSING", "SYN-SENT"];

/// Keys that are read, each a number: one that is none is an error.
const READ: [&str; 11] = [
    "rtt",
    "minrtt",
    "mss",
    "bytes_acked",
    "data_segs_out",
    "retrans",
    "busy",
    "rwnd_limited",
    "sndbuf_limited",
    "snd_wnd",
    "delivery_rate",
];

/// One output of one connection.
#[derive(Clone, Debug, Default, PartialEq)]
struct SocketSample {
    /// Where it stands, from 1 on.
    line: usize,
    /// Seconds; `None` where no line told the time.
    at: Option<f64>,
    cc: String,
    timestamps: bool,
    sack: bool,
    /// ss was asked for options (`-o`), without which it prints neither `ts` nor `sack`.
    options: bool,
    /// Values by key.
    values: BTreeMap<String, f64>,
}

impl SocketSample {
    fn get(&self, key: &str) -> Option<f64> {
        self.values.get(key).copied()
    }

    fn or_zero(&self, key: &str) -> f64 {
        self.get(key).unwrap_or(0.0)
    }
}

/// Whether a text is such a log.
pub fn is_ss_log(text: &str) -> bool {
    let head = |l: &str| l.starts_with("State") && l.contains("Recv-Q") && l.contains("Send-Q");
    let info = |l: &str| l.contains(" rtt:") && l.contains(" cwnd:");
    text.lines().take(200).any(|l| head(l) || info(l))
}

/// A path as a log tells of it.
///
/// # Errors
/// No connection in it sent anything, it is too short to tell, or it lacks what a fit takes.
pub fn of_ss_log(text: &str) -> Result<ObservedPath, FitError> {
    let connections = samples(text)?;
    complete(text, &connections)?;
    let most = connections.iter().map(|(_, s)| s.len()).max().unwrap_or(0);
    if most < LEAST_SAMPLES {
        let why = format!(
            "the log has {most} outputs of a connection; it takes {LEAST_SAMPLES} to tell how it went: \
             `while sleep 0.2; do date +%s.%N; ss -tinO -o dst HOST; done`"
        );
        return Err(FitError::Failed(why));
    }
    let told = connections.iter().zip((0..).step_by(2)).filter_map(|((ends, all), id)| flow(id, ends, all));
    let mut flows: Vec<ObservedFlow> = told.collect();
    let largest = flows.iter().max_by_key(|f| f.flow.measures.bytes).map(|f| f.flow.to.clone());
    // One host is one path.
    let host = |end: &str| end.rsplit_once(':').map(|(host, _)| host.to_string());
    let before = flows.len();
    flows.retain(|f| largest.as_ref().is_some_and(|l| host(l) == host(&f.flow.to)));
    let left_out = before - flows.len();
    let first = flows.iter().map(|f| f.flow.start_s).fold(f64::INFINITY, f64::min);
    flows.iter_mut().for_each(|f| f.flow.start_s -= first);
    Ok(ObservedPath { left_out, ..summed(flows)? })
}

/// Whether a log has what a fit takes.
fn complete(text: &str, connections: &[(String, Vec<SocketSample>)]) -> Result<(), FitError> {
    let lacks =
        |line, key: &str, why: &str| Err(FitError::Malformed { line, key: key.into(), why: why.into() });
    let all = || connections.iter().flat_map(|c| &c.1);
    let Some(last) = all().max_by_key(|s| s.line) else {
        let connection = |l: &str| {
            let words: Vec<&str> = l.split_whitespace().collect();
            words.iter().position(|w| STATES.contains(w)).is_some_and(|i| words.len() > i + 4)
        };
        let bare = text.lines().position(connection);
        let why = "no connection of the log has it: `ss -tin` prints it, `ss` without `-i` does not";
        return bare.map_or(Ok(()), |line| lacks(line + 1, "rtt", why));
    };
    if all().all(|s| s.get("bytes_acked").is_none()) {
        let why = "no connection of the log has it: `ss -tin` prints it at the sender of the data, from Linux 4.1 on";
        return lacks(last.line, "bytes_acked", why);
    }
    match all().find(|s| s.at.is_none() && s.get("busy").is_none()) {
        Some(s) => {
            lacks(s.line, "busy", "it is not there, and no line before tells the time, as `date +%s.%N` does")
        }
        None => Ok(()),
    }
}

/// Outputs by connection, in the order of the log.
fn samples(text: &str) -> Result<Vec<(String, Vec<SocketSample>)>, FitError> {
    let mut all: Vec<(String, Vec<SocketSample>)> = Vec::new();
    let (mut now, mut day, mut named) = (None, 0.0, None);
    // A log that was ended while it was written may end anywhere.
    let whole = text.rfind('\n').map_or(0, |end| text[..end].lines().count());
    for (line, number) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let state = words.iter().position(|w| STATES.contains(w));
        let told = line.find(" rtt:").map_or(line.len(), |i| i.min(line.len()));
        if let Some(at) = time(&line[..told], state.map(|i| &words[..i])) {
            let past = now.is_some_and(|before: f64| at + day < before - 43_200.0);
            day += if past { 86_400.0 } else { 0.0 };
            now = Some(at + day);
        }
        if let Some(ends) = state.and_then(|i| words.get(i + 3..i + 5)) {
            named = Some(ends.join(" "));
        }
        let Some(ends) = named.clone().filter(|_| line.contains(" rtt:")) else { continue };
        let sample = match sample(&words) {
            Ok(sample) => SocketSample { at: now, line: number, ..sample },
            Err(_) if number > whole => break,
            Err(key) => {
                let why = "it has no number: the line is damaged".into();
                return Err(FitError::Malformed { line: number, key, why });
            }
        };
        match all.iter_mut().find(|c| c.0 == ends) {
            Some(connection) => connection.1.push(sample),
            None => all.push((ends, vec![sample])),
        }
    }
    Ok(all)
}

/// Seconds that a line tells of, of the day or since 1970: in the words before a connection's, or in a line of its own.
fn time(line: &str, before: Option<&[&str]>) -> Option<f64> {
    let words: Vec<&str> = match before {
        Some(words) => words.to_vec(),
        None => line.split_whitespace().take(6).collect(),
    };
    words.iter().find_map(|w| {
        let epoch = w.len() >= 10 && w.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if epoch {
            return w.parse().ok();
        }
        let clock = w.rsplit('T').next()?.trim_end_matches('Z').split(['+', '-']).next()?.replace(',', ".");
        let parts: Vec<&str> = clock.split(':').collect();
        let [h, m, s] = parts[..] else { return None };
        let whole = |t: &str| t.len() == 2 && t.bytes().all(|b| b.is_ascii_digit());
        let seconds = s.parse::<f64>().ok().filter(|_| s.as_bytes().first().is_some_and(u8::is_ascii_digit));
        (whole(h) && whole(m)).then_some(())?;
        Some(h.parse::<f64>().ok()? * 3600.0 + m.parse::<f64>().ok()? * 60.0 + seconds?)
    })
}

/// What the words of an output say.
///
/// # Errors
/// A key that is read has no number.
fn sample(words: &[&str]) -> Result<SocketSample, String> {
    let mut s = SocketSample::default();
    let from = words.iter().position(|w| w.starts_with("wscale:") || w.starts_with("rto:")).unwrap_or(0);
    let bare = |w: &&&str| w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    s.cc = words[..from].last().filter(bare).map_or("other", |w| *w).to_string();
    s.timestamps = words[..from].contains(&"ts");
    s.sack = words[..from].contains(&"sack");
    s.options = s.timestamps || s.sack || words.iter().any(|w| w.starts_with("timer:("));
    for (i, word) in words.iter().enumerate() {
        let (key, value) = match word.split_once(':') {
            Some((key @ "rtt", v)) => (key, v.split('/').next().and_then(|v| v.parse().ok())),
            // Now in flight again, and in all.
            Some((key @ "retrans", v)) => (key, v.split('/').nth(1).and_then(|v| v.parse().ok())),
            Some((key @ ("busy" | "rwnd_limited" | "sndbuf_limited"), v)) => {
                (key, v.split("ms").next().and_then(|v| v.parse().ok()))
            }
            Some((key, v)) => (key, v.parse().ok()),
            None if *word == "delivery_rate" => (*word, words.get(i + 1).and_then(|w| bits(w))),
            None => continue,
        };
        match value.filter(|v: &f64| v.is_finite() && *v >= 0.0) {
            Some(value) => _ = s.values.insert(key.to_string(), value),
            None if READ.contains(&key) => return Err(key.to_string()),
            None => {}
        }
    }
    Ok(s)
}

/// `12345bps` as a number; with `-h` ss prints `12.3Mbps`.
fn bits(word: &str) -> Option<f64> {
    let number = word.strip_suffix("bps")?;
    let (number, by) = match number.as_bytes().last()? {
        b'K' => (&number[..number.len() - 1], 1e3),
        b'M' => (&number[..number.len() - 1], 1e6),
        b'G' => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    number.parse::<f64>().ok().map(|n| n * by)
}

/// A connection as a flow; `None` where it sent nothing that the log shows.
fn flow(id: u32, ends: &str, all: &[SocketSample]) -> Option<ObservedFlow> {
    let clock = |s: &SocketSample| s.at.or(s.get("busy").map(|ms| ms / 1e3));
    let first = all.iter().find(|s| s.or_zero("bytes_acked") > 0.0)?;
    // What comes after its last progress is not of the flow.
    let end = all.last()?.or_zero("bytes_acked");
    let last = all.iter().find(|s| s.or_zero("bytes_acked") >= end)?;
    let (mut from, to) = (clock(first)?, clock(last)?);
    // A stream's end and its ACK of the SYN count as bytes, too.
    let young = first.get("busy").map(|ms| ms / 1e3).filter(|b| *b < YOUNG);
    let since = |key: &str| last.or_zero(key) - if young.is_some() { 0.0 } else { first.or_zero(key) };
    from -= if first.at.is_some() { young.unwrap_or(0.0) } else { young.map_or(0.0, |_| from) };
    let (bytes, seconds) = (since("bytes_acked"), to - from);
    let mss = last.get("mss").filter(|m| (88.0..=9000.0).contains(m)).unwrap_or(1448.0);
    if bytes < 30.0 * mss || seconds <= 0.0 {
        return None;
    }
    let mut rtts: Vec<f64> = all.iter().filter_map(|s| s.get("rtt")).filter(|r| *r > 0.0).collect();
    let fastest = all.iter().filter_map(|s| s.get("delivery_rate")).fold(0.0, f64::max);
    let goodput = bytes * 8e-6 / seconds;
    let inflight = all.iter().map(|s| s.get("unacked").unwrap_or(0.0) * mss).fold(0.0, f64::max);
    let mut rtt_ms = spread(std::mem::take(&mut rtts));
    rtt_ms.min = last.get("minrtt").filter(|m| *m > 0.0).unwrap_or(rtt_ms.min).min(rtt_ms.p50);
    let measures = Measures {
        goodput_mbps: goodput,
        max_delivery_mbps: goodput.max(fastest / 1e6),
        bytes: bytes as u64,
        data_packets: since("data_segs_out").max(bytes / mss) as u64,
        acks: since("segs_in").max(1.0) as u64,
        mss_bytes: mss as u32,
        rtt_ms,
        retransmitted_packets: since("retrans") as u64,
        max_inflight_bytes: inflight as u64,
        max_window_bytes: last.get("snd_wnd").map(|w| w as u64),
        ..Measures::default()
    };
    let limited = |key: &str, cause| {
        let share = (since(key) / 1e3 / seconds).clamp(0.0, 1.0);
        CauseShare { cause, share, seconds: share * seconds }
    };
    let causes =
        vec![limited("rwnd_limited", Cause::ReceiveWindow), limited("sndbuf_limited", Cause::SendBuffer)];
    let [local, peer] = ends.split(' ').collect::<Vec<_>>()[..] else { return None };
    let cc = Guess { name: last.cc.clone(), confidence: if last.cc == "other" { 0.0 } else { 1.0 } };
    let flow = FlowDiagnosis {
        id,
        from: local.into(),
        to: peer.into(),
        start_s: from,
        duration_s: seconds,
        causes,
        measures,
        cc,
        ..FlowDiagnosis::default()
    };
    let facts = CapturedFacts {
        id,
        timestamps: last.timestamps,
        sack: last.sack,
        handshake: all.iter().any(|s| s.options),
        loss_run: 1.0,
        ..CapturedFacts::default()
    };
    Some(ObservedFlow { flow, facts, backward: false, policer: None })
}
