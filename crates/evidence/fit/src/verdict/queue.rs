//! An even rate, and packets that wait: a line or a shaper that is full.

use super::digest::SeriesDigest;
use super::{SummaryVerdict, VerdictKind, range, rate, time};
use crate::series::SummarySource;

/// How well an even rate tells the limiter's, below and above: headers are not counted in it.
const KNOWN: [f64; 2] = [0.97, 1.06];

/// A BBR flow of which more than this share is sent again is not simply paced by its line.
const MODEL_LOSS: f64 = 0.01;

/// A full queue, or a rate that a model-based congestion control found.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    if d.series.source == SummarySource::SsOnce {
        return once(d);
    }
    if !d.is_even() {
        return None;
    }
    let rates = KNOWN.map(|by| by * d.bps);
    let verdict = SummaryVerdict {
        kind: VerdictKind::Queue,
        rate_mbps: Some(rates.map(|r| r / 1e6)),
        ..SummaryVerdict::default()
    };
    let (rtt, least) = d.rtt_s.zip(d.min_rtt_s)?;
    if d.queue() == Some(true) {
        let mut facts = Vec::new();
        if d.resent == Some(0.0) && d.is_cwnd_even() {
            facts.push("nothing was lost and the window is even: the window ends in the queue, which has room for it".into());
        }
        let headline = format!(
            "Probably a full queue: a line or a shaper of {}; the RTT is {}, {} at least.",
            range(rates, rate),
            time(rtt),
            time(least)
        );
        return Some(SummaryVerdict { headline, facts, delays: Some(true), ..verdict });
    }
    if d.is_rtt_led() {
        let headline = format!(
            "Probably a full queue: a line or a shaper of {}; the rate is even while RTT and congestion window rise and fall together.",
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

/// One output of ss whose RTT is far above the least of the connection's life.
fn once(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let (rtt, least) = d.rtt_s.zip(d.min_rtt_s).filter(|_| d.queue() == Some(true))?;
    Some(SummaryVerdict {
        kind: VerdictKind::Unknown,
        headline: format!(
            "Perhaps a full queue (RTT {} over {}): a line or a shaper; its rate cannot be told from one output of ss, {} is the average.",
            time(rtt),
            time(least),
            rate(d.bps)
        ),
        ..SummaryVerdict::default()
    })
}
