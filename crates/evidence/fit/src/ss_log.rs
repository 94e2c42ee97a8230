//! Observed paths from a log of `ss -tin` (or `ss -tinO`), printed repeatedly at the sender.
//!
//! Each output has a connection's smoothed and least round trip, window, bytes acknowledged, segments sent
//! and sent again, delivery rate, and the time that it was busy, limited by the receiver's window or limited
//! by the send buffer (`tcp_info`, include/uapi/linux/tcp.h). Differences between outputs make intervals. The
//! clock is that of lines in the log (`date`, `date +%s.%N`, a prefix of `ts`), or else the kernel's `busy`,
//! which stops while nothing is in flight.

use crate::error::FitError;
use crate::iperf3::is_host;
use crate::observed::{CapturedFacts, ObservedFlow, ObservedPath};
use crate::series::{FlowSeries, SeriesInterval, SummarySeries, SummarySource, rtt_summary};
use crate::summary::{judged, path_of};
use result::diagnosis::{CauseShare, Guess, Measures};
use result::{Cause, FlowDiagnosis};
use std::collections::BTreeMap;

/// Least outputs of a connection for a series.
const MIN_SAMPLES: usize = 3;
/// Key of the send queue, which ss prints in a column before the addresses.
const SEND_QUEUE: &str = "send-q";
/// The first output of a connection younger than this, seconds, starts an interval at the connection's start.
const MAX_YOUNG_S: f64 = 2.0;
/// States of connections that ss prints.
const STATES: [&str; 7] =
    ["ESTAB", "CLOSE-WAIT", "FIN-WAIT-1", "FIN-WAIT-2", "LAST-ACK", "CLOSING", "SYN-SENT"];

/// Keys whose values must be numbers.
const NUMBERS: [&str; 11] = [
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
    /// Line number, counted from 1.
    line: usize,
    /// Seconds; `None` if no line before has the time.
    at: Option<f64>,
    cc: String,
    timestamps: bool,
    sack: bool,
    /// ss was run with `-o`; without it neither `ts` nor `sack` is printed.
    options: bool,
    /// The delivery rate is marked as limited by the application.
    app_limited: bool,
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

/// Whether the text is output of `ss -ti`.
pub fn is_ss_log(text: &str) -> bool {
    let head = |l: &str| l.starts_with("State") && l.contains("Recv-Q") && l.contains("Send-Q");
    let info = |l: &str| l.contains(" rtt:") && l.contains(" cwnd:");
    text.lines().take(200).any(|l| head(l) || info(l))
}

/// The path that outputs of ss show.
///
/// # Errors
/// Fails if no connection sent data, if a value that the fit needs is missing or damaged, or with the verdict
/// if no scenario can be made.
pub fn of_ss_log(text: &str) -> Result<ObservedPath, FitError> {
    let connections = samples(text)?;
    let most = connections.iter().map(|(_, s)| s.len()).max().unwrap_or(0);
    check_values(text, &connections, most < MIN_SAMPLES)?;
    let series = series(&connections, most < MIN_SAMPLES);
    if series.flows.is_empty() {
        return Err(FitError::NoFlow);
    }
    judged(series, |series| match series.source {
        SummarySource::SsOnce => Err(FitError::NoFlow),
        _ => observe(&connections),
    })
}

/// The path of the connections to the host to which most was sent.
fn observe(connections: &[(String, Vec<SocketSample>)]) -> Result<ObservedPath, FitError> {
    let observed =
        connections.iter().zip((0..).step_by(2)).filter_map(|((ends, all), id)| flow(id, ends, all));
    let mut flows: Vec<ObservedFlow> = observed.collect();
    let largest = flows.iter().max_by_key(|f| f.flow.measures.bytes).map(|f| f.flow.to.clone());
    // Flows to other hosts may take other paths.
    let before = flows.len();
    flows.retain(|f| largest.as_ref().is_some_and(|l| host(l) == host(&f.flow.to)));
    let left_out = before - flows.len();
    let first = flows.iter().map(|f| f.flow.start_s).fold(f64::INFINITY, f64::min);
    flows.iter_mut().for_each(|f| f.flow.start_s -= first);
    Ok(ObservedPath { left_out, ..path_of(flows)? })
}

/// The address of `address:port`.
fn host(end: &str) -> Option<&str> {
    end.rsplit_once(':').map(|(host, _)| host)
}

/// The series of the connections to the host to which most was sent.
fn series(connections: &[(String, Vec<SocketSample>)], once: bool) -> SummarySeries {
    let peer = |ends: &str| ends.split(' ').nth(1).and_then(host).map(str::to_string);
    let acked = |all: &[SocketSample]| all.last().map_or(0.0, |s| s.or_zero("bytes_acked"));
    let largest = connections.iter().max_by(|a, b| acked(&a.1).total_cmp(&acked(&b.1)));
    let to = largest.and_then(|c| peer(&c.0));
    let own = connections.iter().filter(|c| peer(&c.0) == to && acked(&c.1) > 0.0);
    let flows: Vec<FlowSeries> = own.filter_map(|c| of_samples(&c.1, once)).collect();
    let first = flows.iter().flat_map(|f| &f.intervals).map(|i| i.start_s).fold(f64::INFINITY, f64::min);
    let mut series = SummarySeries {
        source: if once { SummarySource::SsOnce } else { SummarySource::SsLog },
        peer: to.map(|h| h.trim_matches(['[', ']']).to_string()).filter(|h| is_host(h)),
        counts_arrivals: true,
        flows,
        ..SummarySeries::default()
    };
    for i in series.flows.iter_mut().flat_map(|f| &mut f.intervals) {
        (i.start_s, i.end_s) = (i.start_s - first, i.end_s - first);
    }
    series.ordered()
}

/// The intervals between the outputs of a connection. A single output, or the first one of a young
/// connection, ends an interval that starts at the connection's start.
fn of_samples(all: &[SocketSample], once: bool) -> Option<FlowSeries> {
    let clock = |s: &SocketSample| s.at.or(s.get("busy").map(|ms| ms / 1e3));
    let last = all.last()?;
    let mss = last.get("mss").filter(|m| (88.0..=9000.0).contains(m)).unwrap_or(1448.0);
    let interval = |start_s: f64, end_s: f64, before: Option<&SocketSample>, s: &SocketSample| {
        let since = |key: &str| Some(s.get(key)? - before.and_then(|b| b.get(key)).unwrap_or(0.0));
        let ms = |key: &str| since(key).map(|ms| (ms / 1e3).max(0.0));
        SeriesInterval {
            start_s,
            end_s,
            bytes: since("bytes_acked").unwrap_or(0.0).max(0.0),
            // ss does not print a count of zero.
            retransmits: Some((s.or_zero("retrans") - before.map_or(0.0, |b| b.or_zero("retrans"))).max(0.0)),
            cwnd_bytes: s.get("cwnd").map(|packets| packets * mss),
            snd_wnd_bytes: s.get("snd_wnd"),
            rtt_s: s.get("rtt").filter(|ms| *ms > 0.0).map(|ms| ms / 1e3),
            rwnd_limited_s: ms("rwnd_limited"),
            sndbuf_limited_s: ms("sndbuf_limited"),
            busy_s: ms("busy"),
            delivery_bps: s.get("delivery_rate"),
            queued_bytes: s.get(SEND_QUEUE),
            unacked_bytes: s.get("unacked").map(|packets| packets * mss),
            app_limited: s.get("delivery_rate").map(|_| s.app_limited),
        }
    };
    let mut intervals = Vec::new();
    let young =
        |s: &SocketSample| s.get("busy").map(|ms| ms / 1e3).filter(|busy| once || *busy < MAX_YOUNG_S);
    let first = all.first()?;
    if let Some(busy) = young(first).filter(|b| *b > 0.0) {
        let at = clock(first).unwrap_or(busy);
        intervals.push(interval(at - busy, at, None, first));
    } else if once {
        // The connection's age is not printed: estimate the time that its bytes take at its rate.
        let rate = first
            .get("delivery_rate")
            .or_else(|| Some(8.0 * first.get("cwnd")? * mss / (first.get("rtt")? / 1e3)))?;
        intervals.push(interval(0.0, 8.0 * first.or_zero("bytes_acked") / rate.max(1.0), None, first));
    }
    for pair in all.windows(2) {
        let (Some(from), Some(to)) = (clock(&pair[0]), clock(&pair[1])) else { continue };
        if to > from {
            intervals.push(interval(from, to, Some(&pair[0]), &pair[1]));
        }
    }
    let begin = if intervals.len() < all.len() { all.first() } else { None };
    let since = |key: &str| last.or_zero(key) - begin.map_or(0.0, |b| b.or_zero(key));
    let segments = Some(since("data_segs_out")).filter(|n| *n > 0.0);
    let least = last.get("minrtt").filter(|m| *m > 0.0).map(|ms| ms / 1e3);
    Some(FlowSeries {
        cc: Some(last.cc.clone()).filter(|cc| cc != "other"),
        mss: Some(mss),
        min_rtt_s: least.or_else(|| intervals.iter().filter_map(|i| i.rtt_s).reduce(f64::min)),
        segments,
        retransmits: segments.map(|_| since("retrans").max(0.0)),
        intervals,
    })
}

/// Checks that the log has the values that a fit needs.
fn check_values(text: &str, connections: &[(String, Vec<SocketSample>)], once: bool) -> Result<(), FitError> {
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
        Some(s) if !once => lacks(
            s.line,
            "busy",
            "it is missing, and no line before has the time, as `date +%s.%N` prints it",
        ),
        _ => Ok(()),
    }
}

/// Reads the outputs of each connection, in the order of the log.
fn samples(text: &str) -> Result<Vec<(String, Vec<SocketSample>)>, FitError> {
    let mut all: Vec<(String, Vec<SocketSample>)> = Vec::new();
    let (mut now, mut day, mut named, mut queue) = (None, 0.0, None, None);
    // The last line may be cut off.
    let whole = text.rfind('\n').map_or(0, |end| text[..end].lines().count());
    for (line, number) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let state = words.iter().position(|w| STATES.contains(w));
        let info = line.find(" rtt:").unwrap_or(line.len());
        if let Some(at) = time(&line[..info], state.map(|i| &words[..i])) {
            let past = now.is_some_and(|before: f64| at + day < before - 43_200.0);
            day += if past { 86_400.0 } else { 0.0 };
            now = Some(at + day);
        }
        if let Some(ends) = state.and_then(|i| words.get(i + 3..i + 5)) {
            named = Some(ends.join(" "));
            queue = state.and_then(|i| words.get(i + 2)).and_then(|w| w.parse::<f64>().ok());
        }
        let Some(ends) = named.clone().filter(|_| line.contains(" rtt:")) else { continue };
        let sample = match sample(&words) {
            Ok(mut sample) => {
                sample.values.extend(queue.map(|bytes| (SEND_QUEUE.to_string(), bytes)));
                SocketSample { at: now, line: number, ..sample }
            }
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

/// The time in a line, seconds of the day or since 1970: in the words before a connection's state, or in a
/// line of its own.
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

/// Reads the words of an output.
///
/// # Errors
/// Fails with the key if a value of [`NUMBERS`] is not a number.
fn sample(words: &[&str]) -> Result<SocketSample, String> {
    let mut s = SocketSample::default();
    let from = words.iter().position(|w| w.starts_with("wscale:") || w.starts_with("rto:")).unwrap_or(0);
    let bare = |w: &&&str| w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    s.cc = words[..from].last().filter(bare).map_or("other", |w| *w).to_string();
    s.timestamps = words[..from].contains(&"ts");
    s.sack = words[..from].contains(&"sack");
    s.app_limited = words.contains(&"app_limited");
    s.options = s.timestamps || s.sack || words.iter().any(|w| w.starts_with("timer:("));
    for (i, word) in words.iter().enumerate() {
        let (key, value) = match word.split_once(':') {
            Some((key @ "rtt", v)) => (key, v.split('/').next().and_then(|v| v.parse().ok())),
            // `retrans:NOW/ALL`: retransmissions in flight, and in all.
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
            None if NUMBERS.contains(&key) => return Err(key.to_string()),
            None => {}
        }
    }
    Ok(s)
}

/// Reads `12345bps`, or `12.3Mbps` as `ss -h` prints it.
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
    // The flow ends with its last progress.
    let end = all.last()?.or_zero("bytes_acked");
    let last = all.iter().find(|s| s.or_zero("bytes_acked") >= end)?;
    let (mut from, to) = (clock(first)?, clock(last)?);
    // The SYN and the FIN count as bytes acknowledged too.
    let young = first.get("busy").map(|ms| ms / 1e3).filter(|b| *b < MAX_YOUNG_S);
    let since = |key: &str| last.or_zero(key) - if young.is_some() { 0.0 } else { first.or_zero(key) };
    from -= if first.at.is_some() { young.unwrap_or(0.0) } else { young.map_or(0.0, |_| from) };
    let (bytes, seconds) = (since("bytes_acked"), to - from);
    let mss = last.get("mss").filter(|m| (88.0..=9000.0).contains(m)).unwrap_or(1448.0);
    if bytes < 30.0 * mss || seconds <= 0.0 {
        return None;
    }
    let intervals = of_samples(all, false).map(|f| f.intervals).unwrap_or_default();
    let fastest = all.iter().filter_map(|s| s.get("delivery_rate")).fold(0.0, f64::max);
    let goodput = bytes * 8e-6 / seconds;
    let inflight = all.iter().map(|s| s.get("unacked").unwrap_or(0.0) * mss).fold(0.0, f64::max);
    let mut rtt_ms = rtt_summary(&intervals)?;
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
        intervals: intervals.into(),
        counts_arrivals: true,
        loss_run: 1.0,
        ..CapturedFacts::default()
    };
    Some(ObservedFlow { flow, facts, backward: false, policer: None })
}
