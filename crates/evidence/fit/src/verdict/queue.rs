//! A full line or shaper: the rate is constant, and packets wait.

use super::digest::SeriesDigest;
use super::{SummaryVerdict, VerdictKind, range, rate, time};
use crate::series::SummarySource;

/// Least and greatest ratio of the limiter's rate to an even rate, which counts no headers.
const RATE_RANGE: [f64; 2] = [0.97, 1.06];

/// A BBR flow that sends a larger share again is not merely paced to its line.
const MODEL_LOSS: f64 = 0.01;

/// The verdict if a queue is full, or if a model-based congestion control found an even rate.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    if d.series.source == SummarySource::SsOnce {
        return once(d);
    }
    if !d.is_constant() {
        return None;
    }
    let rates = RATE_RANGE.map(|by| by * d.bps);
    let verdict = SummaryVerdict {
        kind: VerdictKind::Queue,
        rate_mbps: Some(rates.map(|r| r / 1e6)),
        ..SummaryVerdict::default()
    };
    let (rtt, least) = d.rtt_s.zip(d.min_rtt_s)?;
    if d.queue() == Some(true) {
        let mut facts = Vec::new();
        if d.resent == Some(0.0) && d.is_cwnd_constant() {
            facts.push("nothing was lost and the window is constant: the window ends in the queue, which has room for it".into());
        }
        let headline = format!(
            "Probably a full queue: a line or a shaper of {}; the RTT is {}, {} at least.",
            range(rates, rate),
            time(rtt),
            time(least)
        );
        return Some(SummaryVerdict { headline, facts, delays: Some(true), ..verdict });
    }
    if d.does_rtt_follow_cwnd() {
        let headline = format!(
            "Probably a full queue: a line or a shaper of {}; the rate is constant while RTT and congestion window rise and fall together.",
            range(rates, rate)
        );
        return Some(SummaryVerdict { headline, delays: Some(true), ..verdict });
    }
    if d.is_model_based() && d.resent.is_none_or(|r| r < MODEL_LOSS) {
        let headline = format!(
            "Perhaps a line or a limiter of {}: {} sends at the rate that it measured, and that is even; a window is not ruled out.",
            range(rates, rate),
            d.series.flows.first().and_then(|f| f.cc.as_deref()).unwrap_or("the congestion control")
        );
        return Some(SummaryVerdict { headline, ..verdict });
    }
    None
}

/// The verdict on one output of ss with an RTT far above the connection's least one.
fn once(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let (rtt, least) = d.rtt_s.zip(d.min_rtt_s).filter(|_| d.queue() == Some(true))?;
    Some(SummaryVerdict {
        kind: VerdictKind::Unknown,
        headline: format!(
            "Perhaps a full queue (RTT {} over {}): a line or a shaper; one output of ss does not show its rate, only the average of {}.",
            time(rtt),
            time(least),
            rate(d.bps)
        ),
        ..SummaryVerdict::default()
    })
}
