//! How far a simulated path is from the captured one.
//!
//! Five figures are compared, as logarithms: goodput, least, median and 95th percentile of round trips, and the share of
//! packets sent again. Each difference counts in units of what chance makes of it from seed to seed, and of what measuring does
//! (a capture takes an RTT sample of each packet, a sender one of each ACK).

use crate::flows::FittedFlow;
use crate::model::FitFigures;
use crate::observed::ObservedPath;
use result::VariantResult;

/// How many figures are compared.
pub const FIGURES: usize = 5;
/// A difference that is none, of each figure's logarithm.
const TOLERANCE: [f64; FIGURES] = [0.015, 0.01, 0.02, 0.025, 0.1];
/// Packets sent again that are as good as none, share: of a thousand one.
const FEW: f64 = 1e-3;

/// Figures as logarithms.
pub type LogFigures = [f64; FIGURES];

/// What is compared of the capture: its flows in the direction of the data.
pub fn captured(seen: &ObservedPath) -> FitFigures {
    let rows = seen.flows.iter().filter(|f| !f.backward).map(|f| {
        let m = &f.flow.measures;
        let rtt = &m.rtt_ms;
        let resent = m.retransmitted_packets as f64;
        ([rtt.min, rtt.p50, rtt.p95], m.data_packets as f64, resent, m.goodput_mbps)
    });
    together(rows)
}

/// The same of a run.
pub fn simulated(v: &VariantResult, flows: &[FittedFlow]) -> FitFigures {
    let forward = |name: &str| {
        let group = name.split('-').next().unwrap_or(name);
        flows.iter().any(|f| f.name == group && !f.backward)
    };
    let rows = v.flows.iter().filter(|f| forward(&f.name)).map(|f| {
        let rtt = &f.rtt_ms;
        let (sent, again) = (f.sent_packets as f64, f.retransmitted_packets as f64);
        ([rtt.min, rtt.p50, rtt.p95], sent, again, f.own_goodput_mbps())
    });
    together(rows)
}

/// Flows as one: round trips, packets, packets sent again and goodput of each.
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
        resent: if packets > 0.0 { again / packets } else { 0.0 },
    }
}

/// Logarithms of the figures.
pub fn logs(f: &FitFigures) -> LogFigures {
    let ln = |x: f64| x.max(1e-6).ln();
    [ln(f.goodput_mbps), ln(f.rtt_min_ms), ln(f.rtt_p50_ms), ln(f.rtt_p95_ms), (f.resent + FEW).ln()]
}

/// Figures of logarithms.
pub fn figures(logs: &LogFigures) -> FitFigures {
    FitFigures {
        goodput_mbps: logs[0].exp(),
        rtt_min_ms: logs[1].exp(),
        rtt_p50_ms: logs[2].exp(),
        rtt_p95_ms: logs[3].exp(),
        resent: (logs[4].exp() - FEW).max(0.0),
    }
}

/// Mean and standard deviation over seeds.
pub fn mean_and_spread(runs: &[LogFigures]) -> (LogFigures, LogFigures) {
    let n = runs.len().max(1) as f64;
    let (mut mean, mut spread) = ([0.0; FIGURES], [0.0; FIGURES]);
    for i in 0..FIGURES {
        mean[i] = runs.iter().map(|r| r[i]).sum::<f64>() / n;
        let squares: f64 = runs.iter().map(|r| (r[i] - mean[i]).powi(2)).sum();
        spread[i] = if runs.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    }
    (mean, spread)
}

/// The misfit: squares of the differences of two lists of logarithms, in units of tolerance and `spread`, added up.
pub fn misfit(captured: &LogFigures, mean: &LogFigures, spread: &LogFigures) -> f64 {
    let one = |i: usize| {
        let unit = TOLERANCE[i].hypot(spread[i]);
        let far = ((captured[i] - mean[i]) / unit).abs();
        // A figure that is far off all the same must not hide what the others say.
        if far <= 5.0 { far * far } else { 10.0 * far - 25.0 }
    };
    (0..FIGURES).map(one).sum()
}
