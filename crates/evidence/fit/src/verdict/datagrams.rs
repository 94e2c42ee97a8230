//! A UDP test: the rates sent and lost; without congestion control it shows no more.

use super::digest::{SeriesDigest, percent};
use super::{SummaryVerdict, VerdictKind, rate};

/// Least share of lost datagrams that suggests a limiter.
const MIN_LOSS_SHARE: f64 = 0.01;

/// The verdict on a UDP test.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let udp = d.series.udp?;
    let lost = if udp.datagrams > 0.0 { udp.lost / udp.datagrams } else { 0.0 };
    let span: f64 = d.bins.iter().map(|b| b.seconds).sum();
    let sent = 8.0 * d.bins.iter().map(|b| b.bytes).sum::<f64>() / span.max(1e-9);
    let (sent, arrived) = match d.series.counts_arrivals {
        true => (sent / (1.0 - lost).max(1e-3), sent),
        false => (sent, sent * (1.0 - lost)),
    };
    let mut facts = vec![format!("sent {}, {} lost", rate(sent), percent(lost))];
    facts.extend(udp.jitter_ms.map(|j| format!("jitter {} ms", print::three_digits(j))));
    let headline = if lost >= MIN_LOSS_SHARE {
        format!(
            "Perhaps a limiter of about {}: of {} sent over UDP {} was lost; a policer, a full queue and random loss look alike.",
            rate(arrived),
            rate(sent),
            percent(lost)
        )
    } else {
        format!(
            "Cannot tell whether there is a rate limiter: over UDP {} passed and {} was lost, so the path carries at least that.",
            rate(sent),
            percent(lost)
        )
    };
    Some(SummaryVerdict { kind: VerdictKind::Unknown, headline, facts, ..SummaryVerdict::default() })
}
