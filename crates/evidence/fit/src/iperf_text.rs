//! The table that iperf3 prints without `-J`, and that iperf2 prints.
//!
//! A row is `[ID] from-to sec  transfer  bitrate  …`; transfers count in 1024, rates in 1000 (iperf3(1),
//! `-f`). At a Linux sender of iperf3 the segments sent again and the congestion window follow. RTTs do not,
//! so this table gives a verdict but no scenario.

use crate::error::FitError;
use crate::iperf3::is_host;
use crate::observed::ObservedPath;
use crate::series::{FlowSeries, SeriesInterval, SummarySeries, SummarySource, UdpCounts};
use crate::summary::judged;

/// Whether the text contains a table of iperf.
pub fn is_iperf_text(text: &str) -> bool {
    text.lines().take(400).any(|l| row(l).is_some())
}

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq)]
struct IperfRow {
    /// `5`, `SUM` ….
    id: String,
    interval: SeriesInterval,
    /// For a row of the whole test: `true` at the sender, `false` at the receiver.
    whole: Option<bool>,
    /// Datagrams lost, and datagrams in all.
    datagrams: Option<(f64, f64)>,
    jitter_ms: Option<f64>,
}

/// Reads the table that iperf prints.
///
/// # Errors
/// Always fails: with [`FitError::NoFlow`] if the text has no intervals, else with the verdict, since no path
/// is fitted without RTTs.
pub fn of_iperf_text(text: &str) -> Result<ObservedPath, FitError> {
    judged(series(text)?, |_| Err(FitError::NoRtt))
}

fn series(text: &str) -> Result<SummarySeries, FitError> {
    let mut flows: Vec<(String, FlowSeries)> = Vec::new();
    let (mut whole, mut peer) = (Vec::new(), None);
    for line in text.lines() {
        if let Some(to) =
            line.split(" connected to ").nth(1).or_else(|| line.strip_prefix("Connecting to host "))
        {
            let host = to.split([' ', ',']).next().unwrap_or_default();
            peer = Some(host.to_string()).filter(|h| is_host(h)).or(peer);
        }
        let Some(row) = row(line).filter(|_| !line.contains("(omitted)")) else { continue };
        let known = flows.iter_mut().find(|f| f.0 == row.id);
        // The row of the whole test begins where the first interval did.
        let again = known.as_ref().is_some_and(|f| {
            f.1.intervals.last().is_some_and(|last| row.interval.start_s < last.end_s - 1e-6)
        });
        if row.whole.is_some() || again {
            whole.push(row);
            continue;
        }
        match known {
            Some(flow) => flow.1.intervals.push(row.interval),
            None => {
                let flow = FlowSeries { intervals: vec![row.interval], ..FlowSeries::default() };
                flows.push((row.id, flow));
            }
        }
    }
    if flows.iter().all(|f| f.0 == "SUM") {
        // The text may have only the rows of the whole test, as after `| tail`.
        for row in whole.iter().filter(|r| r.whole != Some(true) && r.id != "SUM") {
            flows.push((
                row.id.clone(),
                FlowSeries { intervals: vec![row.interval], ..FlowSeries::default() },
            ));
        }
    }
    if flows.is_empty() {
        for row in &whole {
            flows.push((
                row.id.clone(),
                FlowSeries { intervals: vec![row.interval], ..FlowSeries::default() },
            ));
        }
        flows.truncate(1);
    }
    flows.retain(|f| f.0 != "SUM");
    if flows.is_empty() {
        return Err(FitError::NoFlow);
    }
    for (id, flow) in &mut flows {
        let own = whole.iter().filter(|r| r.id == *id && r.whole != Some(false));
        let counted = || flow.intervals.iter().filter_map(|i| i.retransmits).reduce(|a, b| a + b);
        flow.retransmits = own.filter_map(|r| r.interval.retransmits).reduce(f64::max).or_else(counted);
    }
    let udp = text.contains("Total Datagrams") || text.contains("UDP port");
    let datagrams =
        || whole.iter().filter(|r| r.whole != Some(true) && r.id != "SUM").filter_map(|r| r.datagrams);
    let arrived = |r: &&IperfRow| r.whole == Some(false) && r.id != "SUM";
    let received: f64 = whole.iter().filter(arrived).map(|r| r.interval.bytes).sum();
    let reversed = text.contains("Reverse mode");
    let receives = reversed || text.contains("Server listening");
    Ok(SummarySeries {
        source: SummarySource::IperfText,
        peer,
        reversed,
        at_receiver: receives,
        counts_arrivals: receives,
        target_bps: None,
        block_bytes: if udp { 1460.0 } else { 131_072.0 },
        received_bytes: (received > 0.0 && !udp).then_some(received),
        udp: udp.then(|| UdpCounts {
            datagrams: datagrams().map(|d| d.1).sum(),
            lost: datagrams().map(|d| d.0).sum(),
            jitter_ms: whole.iter().filter_map(|r| r.jitter_ms).filter(|j| *j > 0.0).reduce(f64::max),
        }),
        flows: flows.into_iter().map(|f| f.1).collect(),
    }
    .ordered())
}

/// Reads a row; `None` if the line is not one.
fn row(line: &str) -> Option<IperfRow> {
    let open = line.find('[')?;
    let (id, rest) = line[open + 1..].split_once(']')?;
    let id = id.trim();
    // `[  5]`, `[SUM]`, and with --bidir `[  5][TX-C]`.
    let rest = match rest.strip_prefix('[') {
        Some(role) => role.split_once(']')?.1,
        None => rest,
    };
    let (times, rest) = rest.split_once(" sec")?;
    let (from, to) = times.trim().split_once('-')?;
    let (start_s, end_s) = (from.trim().parse::<f64>().ok()?, to.trim().parse::<f64>().ok()?);
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number =
        |i: usize| words.get(i).and_then(|w| w.parse::<f64>().ok()).filter(|v| v.is_finite() && *v >= 0.0);
    let bytes = number(0)? * bytes_of(words.get(1)?)?;
    if !words.get(3)?.ends_with("bits/sec") && !words.get(3)?.ends_with("Bytes/sec") {
        return None;
    }
    let whole = match words.last() {
        Some(&"sender") => Some(true),
        Some(&"receiver") => Some(false),
        _ => None,
    };
    let mut row = IperfRow { id: id.into(), whole, ..IperfRow::default() };
    row.interval = SeriesInterval { start_s, end_s, bytes, ..SeriesInterval::default() };
    row.jitter_ms = number(4).filter(|_| words.get(5) == Some(&"ms"));
    row.datagrams = words.iter().find_map(|w| {
        let (lost, all) = w.split_once('/')?;
        Some((lost.parse().ok()?, all.parse().ok()?))
    });
    if row.jitter_ms.is_none() && row.datagrams.is_none() {
        row.interval.retransmits = number(4);
        row.interval.cwnd_bytes =
            number(5).zip(words.get(6).and_then(|u| bytes_of(u))).map(|(n, by)| n * by).filter(|c| *c > 0.0);
    }
    (end_s > start_s).then_some(row)
}

/// Bytes of a unit of transfers, in powers of 1024.
fn bytes_of(unit: &str) -> Option<f64> {
    match unit {
        "Bytes" => Some(1.0),
        "KBytes" => Some(1024.0),
        "MBytes" => Some(1024f64.powi(2)),
        "GBytes" => Some(1024f64.powi(3)),
        "TBytes" => Some(1024f64.powi(4)),
        _ => None,
    }
}
