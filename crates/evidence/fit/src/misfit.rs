//! The misfit: how far the figures of a simulated path are from those of the captured one.
//!
//! The figures are logarithms of goodput, of the least, median and 95th percentile of round trips, and of the
//! share of packets sent again; where packets were captured also the others of [`crate::signature`]. The unit
//! of each difference is the standard deviation of the figure from seed to seed, combined with the difference
//! that right fits leave (a capture takes an RTT sample of each packet, hosts delay ACKs differently,
//! segmentation offload merges packets).

use crate::figures::{FIGURES, LogFigures, SUMMARY_FIGURES, logs};
use crate::flows::FittedFlow;
use crate::model::FitFigures;
use crate::observed::ObservedPath;
use crate::signature::{SignatureFrame, signature};
use result::VariantResult;
use result::diagnosis::CapturePlace;

/// Difference of each figure that right fits leave.
const TOLERANCE: [f64; FIGURES] = [
    0.015, 0.01, 0.02, 0.025,
    0.1, // goodput, least, median and 95th percentile of round trips, sent again
    0.03, 0.03, 0.05, // quarter, three quarters, 99th percentile of round trips
    0.06, 0.06, 0.3, 0.3, // losses by delay, by load; episodes, in a row
    0.15, 0.1, 0.07, 0.05, 0.04, 0.03, // the most that came through
    0.2,  // before the first loss
    0.06, 0.1, 0.06, // how evenly
];
/// Weight of the figures beyond the first five: several of them measure the same thing.
const SHARED_WEIGHT: f64 = 0.4;

/// Returns how to take figures from the packets of the capture and of trials of this many seconds; `None`
/// where no packets were captured.
pub fn listening(seen: &ObservedPath, seconds: f64) -> Option<SignatureFrame> {
    let first = seen.flows.iter().find(|f| !f.backward && !f.facts.packets.is_empty())?;
    let m = &first.flow.measures;
    let before = match (first.flow.vantage.place, &seen.limiter) {
        (CapturePlace::Sender, _) => true,
        (CapturePlace::Receiver, _) => false,
        (_, Some(limiter)) => !limiter.before_capture,
        _ => m.lost_down >= m.lost_up,
    };
    let rtts = seen.flows.iter().map(|f| f.flow.measures.rtt_ms.min / 1e3).filter(|r| *r > 0.0);
    Some(SignatureFrame { seconds, rtt: rtts.fold(10.0, f64::min).max(1e-4), before })
}

/// The figures of the capture: of its flows in the direction of the data.
pub fn captured(seen: &ObservedPath, frame: Option<&SignatureFrame>) -> LogFigures {
    let forward = || seen.flows.iter().filter(|f| !f.backward);
    if let Some(frame) = frame {
        let flows: Vec<_> = forward().map(|f| &f.facts.packets[..]).collect();
        return signature(&flows, frame);
    }
    let rows = forward().map(|f| {
        let m = &f.flow.measures;
        let rtt = &m.rtt_ms;
        let resent = m.retransmitted_packets as f64;
        ([rtt.min, rtt.p50, rtt.p95], m.data_packets as f64, resent, m.goodput_mbps)
    });
    logs(&together(rows))
}

/// The figures of a run whose packets were not captured.
pub fn simulated(v: &VariantResult, flows: &[FittedFlow]) -> LogFigures {
    let forward = |name: &str| {
        let group = name.split('-').next().unwrap_or(name);
        flows.iter().any(|f| f.name == group && !f.backward)
    };
    let rows = v.flows.iter().filter(|f| forward(&f.name)).map(|f| {
        let rtt = &f.rtt_acks_ms;
        let (sent, again) = (f.sent_packets as f64, f.retransmitted_packets as f64);
        ([rtt.min, rtt.p50, rtt.p95], sent, again, f.own_goodput_mbps())
    });
    logs(&together(rows))
}

/// Combines flows. Each row is a flow's least, median and 95th percentile of round trips, packets, packets
/// sent again and goodput.
fn together(rows: impl Iterator<Item = ([f64; 3], f64, f64, f64)>) -> FitFigures {
    let (mut packets, mut again, mut goodput) = (0.0, 0.0, 0.0);
    let (mut least, mut logs, mut weight) = (f64::INFINITY, [0.0; 2], 0.0);
    for ([min, p50, p95], sent, resent, rate) in rows {
        packets += sent;
        again += resent;
        goodput += rate;
        if min > 0.0 && sent > 0.0 {
            least = least.min(min);
            logs[0] += sent * p50.max(min).ln();
            logs[1] += sent * p95.max(min).ln();
            weight += sent;
        }
    }
    let mean = |log: f64| if weight > 0.0 { (log / weight).exp() } else { 0.0 };
    FitFigures {
        goodput_mbps: goodput,
        rtt_min_ms: if least.is_finite() { least } else { 0.0 },
        rtt_p50_ms: mean(logs[0]),
        rtt_p95_ms: mean(logs[1]),
        retransmitted_share: if packets > 0.0 { again / packets } else { 0.0 },
    }
}

/// The misfit: the sum of the squared differences of two lists of figures, in units of tolerance and
/// `spread`.
pub fn misfit(captured: &LogFigures, mean: &LogFigures, spread: &LogFigures) -> f64 {
    (0..FIGURES)
        .map(|i| {
            figure_misfit(captured, mean, spread, i) * if i < SUMMARY_FIGURES { 1.0 } else { SHARED_WEIGHT }
        })
        .sum()
}

/// The root mean square of the differences of the figures that summaries contain.
pub fn summary_misfit(captured: &LogFigures, mean: &LogFigures, spread: &LogFigures) -> f64 {
    let sum: f64 = (0..SUMMARY_FIGURES).map(|i| figure_misfit(captured, mean, spread, i)).sum();
    (sum / SUMMARY_FIGURES as f64).sqrt()
}

/// A difference of more standard deviations than this is not chance.
const MAX_CHANCE_DEVIATIONS: f64 = 2.0;

/// Whether figure `i` of capture and trial differ by more than chance.
pub fn is_different(captured: &LogFigures, mean: &LogFigures, spread: &LogFigures, i: usize) -> bool {
    deviations(captured, mean, spread, i) > MAX_CHANCE_DEVIATIONS
}

/// By how many standard deviations figure `i` of capture and trial differ.
fn deviations(captured: &LogFigures, mean: &LogFigures, spread: &LogFigures, i: usize) -> f64 {
    ((captured[i] - mean[i]) / TOLERANCE[i].hypot(spread[i])).abs()
}

/// One figure's part of the misfit.
fn figure_misfit(captured: &LogFigures, mean: &LogFigures, spread: &LogFigures, i: usize) -> f64 {
    let far = deviations(captured, mean, spread, i);
    // A figure that is far off must not hide the others: its cost grows only linearly.
    match far {
        far if far.is_nan() => 0.0,
        far if far <= 5.0 => far * far,
        far => 10.0 * far - 25.0,
    }
}

/// Cost, in a fit to a summary, of the spread of a path's runs from seed to seed: twice the logarithm of the
/// factor by which the spread makes each outcome less likely. Without this cost the path with the greatest
/// spread would fit best.
pub fn spread_cost(spread: &LogFigures) -> f64 {
    (0..SUMMARY_FIGURES).map(|i| 2.0 * (TOLERANCE[i].hypot(spread[i]) / TOLERANCE[i]).ln()).sum()
}

/// Weights of the squared differences; figures that are far off weigh less.
pub fn weights(captured: &LogFigures, mean: &LogFigures, spread: &LogFigures) -> LogFigures {
    std::array::from_fn(|i| {
        let unit = TOLERANCE[i].hypot(spread[i]);
        let far = ((captured[i] - mean[i]) / unit).abs();
        let robust = if far > 5.0 { 5.0 / far } else { 1.0 };
        robust * if i < SUMMARY_FIGURES { 1.0 } else { SHARED_WEIGHT } / (unit * unit)
    })
}
