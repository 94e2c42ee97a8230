//! The figures by which a simulated path is compared with the captured one, as logarithms.

use crate::model::FitFigures;

pub const FIGURES: usize = 22;
/// How many of the figures summaries contain too.
pub const SUMMARY_FIGURES: usize = 5;
/// Least factor by which a misfit of these figures exaggerates, because they are not independent.
pub const TEMPERATURE: f64 = 2.0;
/// Added to a share of retransmitted packets before taking the logarithm: smaller shares count as none.
const NEGLIGIBLE_SHARE: f64 = 1e-3;

/// Figures as logarithms; NaN where one is not known.
pub type LogFigures = [f64; FIGURES];

/// The logarithm of a share of packets.
pub fn log_share(share: f64) -> f64 {
    (share + NEGLIGIBLE_SHARE).ln()
}

/// The figures of a summary as logarithms.
pub fn logs(f: &FitFigures) -> LogFigures {
    let ln = |x: f64| x.max(1e-6).ln();
    let mut all = [f64::NAN; FIGURES];
    all[..SUMMARY_FIGURES].copy_from_slice(&[
        ln(f.goodput_mbps),
        ln(f.rtt_min_ms),
        ln(f.rtt_p50_ms),
        ln(f.rtt_p95_ms),
        log_share(f.retransmitted_share),
    ]);
    all
}

/// The summary's figures back from logarithms.
pub fn figures(logs: &LogFigures) -> FitFigures {
    let exp = |x: f64| if x.is_nan() { 0.0 } else { x.exp() };
    FitFigures {
        goodput_mbps: exp(logs[0]),
        rtt_min_ms: exp(logs[1]),
        rtt_p50_ms: exp(logs[2]),
        rtt_p95_ms: exp(logs[3]),
        retransmitted_share: (exp(logs[4]) - NEGLIGIBLE_SHARE).max(0.0),
    }
}

/// Mean and standard deviation over seeds.
pub fn mean_and_spread(runs: &[LogFigures]) -> (LogFigures, LogFigures) {
    let n = runs.len().max(1) as f64;
    let (mut mean, mut spread) = ([f64::NAN; FIGURES], [0.0; FIGURES]);
    for i in 0..FIGURES {
        mean[i] = runs.iter().map(|r| r[i]).sum::<f64>() / n;
        let squares: f64 = runs.iter().map(|r| (r[i] - mean[i]).powi(2)).sum();
        spread[i] = if runs.len() > 1 && squares.is_finite() { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    }
    (mean, spread)
}
