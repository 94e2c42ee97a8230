//! A QUIC endpoint's qlog: a summary of its congestion control, and what the log lacks.

use crate::{MAX_REPORTED, limiter};
use result::Cause;
use result::diagnosis::{QlogAccount, QlogPoint, QlogStateSpan};
use track::qlog::{QlogMetrics, QlogTrace};

/// A window below this share of its former size was reduced; a window above this share of its size is full.
const REDUCED_SHARE: f64 = 0.9;

/// Greatest confidence of a cause that a log alone cannot distinguish from another.
const MAX_AMBIGUOUS_CONFIDENCE: f64 = 0.45;

/// Returns what a qlog cannot show, as codes of a flow's `notes`.
pub fn qlog_notes(trace: &QlogTrace) -> Vec<String> {
    let of_receiver = trace.is_of_receiver();
    let codes = [
        (true, if of_receiver { "qlog-receiver" } else { "qlog" }),
        (!of_receiver && !trace.has_acks(), "qlog-no-acks"),
        (!of_receiver && trace.metrics.iter().all(|m| m.cwnd.is_none()), "qlog-no-cwnd"),
        (!has_flow_control(trace), "qlog-no-flow-control"),
        (trace.cut_at_line.is_some(), "qlog-cut"),
    ];
    codes.into_iter().filter(|(holds, _)| *holds).map(|(_, code)| code.into()).collect()
}

/// Returns whether the log shows how much the receiver permitted, and how much of that was used.
fn has_flow_control(trace: &QlogTrace) -> bool {
    let has_limits = trace.packets().any(|(_, p)| !p.limits.is_empty())
        || trace.credit[usize::from(!trace.is_of_receiver())].connection.is_some();
    has_limits && trace.packets().any(|(_, p)| !p.parts.is_empty())
}

/// Summarises the endpoint's congestion control; `None` where the log has no congestion window, and for a
/// receiver, whose window did not limit the data. `start_s`: start of the capture, seconds since 1970.
pub fn qlog_account(trace: &QlogTrace, start_s: f64) -> Option<QlogAccount> {
    if trace.is_of_receiver() {
        return None;
    }
    let mut delays: Vec<f64> = trace.ack_delays.iter().map(|d| d.as_millis_f64()).collect();
    delays.sort_by(f64::total_cmp);
    let stated: Vec<(u64, &QlogMetrics)> = trace.metrics.iter().filter_map(|m| Some((m.cwnd?, m))).collect();
    let end = trace.events.iter().map(|e| e.time).max().unwrap_or_default();
    let lasts =
        |i: usize| stated.get(i + 1).map_or(end, |(_, m)| m.time).since(stated[i].1.time).as_secs_f64();
    // The duration of each window.
    let mut stood: Vec<(u64, f64)> = (0..stated.len()).map(|i| (stated[i].0, lasts(i))).collect();
    stood.sort_by_key(|s| s.0);
    let half = stood.iter().map(|s| s.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let median = stood.iter().find(|s| {
        sum += s.1;
        sum >= half
    });
    let (mut known, mut full) = (0.0, 0.0);
    for (i, (cwnd, m)) in stated.iter().enumerate() {
        let Some(inflight) = m.inflight else { continue };
        known += lasts(i);
        full += if inflight as f64 >= REDUCED_SHARE * *cwnd as f64 { lasts(i) } else { 0.0 };
    }
    let states = trace
        .states
        .iter()
        .map(|s| QlogStateSpan { at_s: limiter::seconds(s.time) - start_s, name: s.name.clone() });
    Some(QlogAccount {
        min_cwnd_bytes: stood.first()?.0,
        p50_cwnd_bytes: median.or(stood.last())?.0,
        max_cwnd_bytes: stood.last()?.0,
        max_inflight_bytes: stated.iter().filter_map(|(_, m)| m.inflight).max(),
        window_full_share: (known > 0.0).then(|| full / known),
        cuts: stated.windows(2).filter(|w| (w[1].0 as f64) < REDUCED_SHARE * w[0].0 as f64).count() as u64,
        recoveries: trace.states.iter().filter(|s| s.name.contains("recovery")).count() as u64,
        probe_timeouts: trace.probe_timeouts,
        blocked_packets: trace.packets().filter(|(sent, p)| *sent && p.blocked).count() as u64,
        p50_ack_delay_ms: delays.get(delays.len() / 2).copied(),
        max_ack_delay_ms: delays.last().copied(),
        metrics: points(&stated, start_s),
        states: states.take(MAX_REPORTED).collect(),
    })
}

/// Returns the points of the plot. A long log is thinned to the least and the greatest window of each part,
/// so that no peak and no reduction is lost.
fn points(stated: &[(u64, &QlogMetrics)], start_s: f64) -> Vec<QlogPoint> {
    let point = |(cwnd, m): &(u64, &QlogMetrics)| QlogPoint {
        at_s: limiter::seconds(m.time) - start_s,
        cwnd_bytes: *cwnd,
        inflight_bytes: m.inflight,
        ssthresh_bytes: m.ssthresh,
        srtt_ms: m.smoothed_rtt.map(|rtt| rtt.as_millis_f64()),
    };
    if stated.len() <= MAX_REPORTED {
        return stated.iter().map(point).collect();
    }
    let part = stated.len().div_ceil(MAX_REPORTED / 2);
    let ends = stated.chunks(part).flat_map(|chunk| {
        let place = |best: Option<(usize, u64)>| best.map_or(0, |b| b.0);
        let windows = || chunk.iter().enumerate().map(|(i, (cwnd, _))| (i, *cwnd));
        let (lowest, highest) = (place(windows().min_by_key(|w| w.1)), place(windows().max_by_key(|w| w.1)));
        let ends = [lowest.min(highest), lowest.max(highest)];
        let count = if lowest == highest { 1 } else { 2 };
        ends.into_iter().take(count).map(|i| point(&chunk[i])).collect::<Vec<_>>()
    });
    ends.collect()
}

/// Returns the greatest confidence, 0 to 1, that a log alone gives to `cause`. A receiver's log has no RTT of
/// the data, so a hidden queue may have lost it. QUIC has no socket buffer for data in flight, so constant
/// bytes in flight are the congestion window, pacing, or the application. A sender without flow control
/// credit pauses as its application would.
pub fn qlog_certainty(trace: &QlogTrace, cause: Cause) -> f64 {
    match cause {
        Cause::SendBuffer => MAX_AMBIGUOUS_CONFIDENCE,
        Cause::Application if !has_flow_control(trace) => MAX_AMBIGUOUS_CONFIDENCE,
        Cause::RandomLoss | Cause::Congestion if trace.is_of_receiver() => MAX_AMBIGUOUS_CONFIDENCE,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use track::qlog::{QlogEvent, QlogKind, QlogState};
    use units::{Span, Time};

    /// Ten seconds of a window that grows by 1000 bytes each 10 ms and is halved at 100 kB. The whole window
    /// is in flight in the first half.
    fn saw(step: u64) -> QlogTrace {
        let mut window = 50_000;
        let mut trace = QlogTrace::default();
        for i in 0..10_000 / step {
            let time = Time::ZERO + Span::from_millis(i * step);
            window = if window >= 100_000 { window / 2 } else { window + 100 * step };
            if window == 50_000 {
                trace.states.push(QlogState { time, name: "recovery".into() });
            }
            let inflight = if i < 10_000 / step / 2 { window } else { window / 2 };
            trace.metrics.push(QlogMetrics {
                time,
                cwnd: Some(window),
                inflight: Some(inflight),
                ..Default::default()
            });
            trace.events.push(QlogEvent { time, kind: QlogKind::Lost { number: (2, i) } });
        }
        trace
    }

    #[test]
    fn thinning_a_sawtooth_keeps_its_peaks() {
        for step in [10, 1] {
            let account = qlog_account(&saw(step), 0.0).unwrap();
            assert_eq!((account.min_cwnd_bytes, account.max_cwnd_bytes), (50_000, 100_000));
            assert!(account.p50_cwnd_bytes.abs_diff(75_000) < 2_000, "{}", account.p50_cwnd_bytes);
            assert!((account.window_full_share.unwrap() - 0.5).abs() < 0.01, "{account:?}");
            assert_eq!(account.cuts, account.recoveries);
            assert!((18..=20).contains(&account.cuts), "{}", account.cuts);
            let cuts =
                account.metrics.windows(2).filter(|w| w[1].cwnd_bytes * 10 < w[0].cwnd_bytes * 9).count();
            assert!(account.metrics.len() <= MAX_REPORTED && cuts as u64 == account.cuts, "{cuts}");
            assert!(account.metrics.is_sorted_by(|a, b| a.at_s <= b.at_s));
        }
        assert_eq!(qlog_account(&QlogTrace::default(), 0.0), None);
    }
}
