//! Facts from the counters of `tc -s`: drops, queued packets, a rate above the ceiling, unlimited packets.
//!
//! Source: Linux `htb_dump`, `htb_dump_class_stats` (`direct_packets_stat`, `giants`), iproute2
//! `print_tcstats2_attr`.

use super::model::{TcClass, TcModel, TcQdisc, TcStats};
use crate::Reading;
use crate::number::{rate as rate_text, size, time};
use std::fmt::Write as _;

/// A rate estimate above this multiple of the ceiling is not an effect of averaging.
const MIN_EXCESS_FACTOR: f64 = 1.1;
/// A packet with Ethernet header and VLAN tag, bytes; a larger average means segmentation offload.
const FULL_PACKET: u64 = 1518;

/// Reports the facts from a text's counters.
pub(super) fn report(model: &TcModel, reading: &mut Reading) {
    for q in &model.qdiscs {
        let direct = q.options.text("direct_packets_stat").and_then(|n| n.parse::<u64>().ok());
        if let Some(direct) = direct.filter(|n| *n > 0) {
            let text = format!(
                "{direct} {} of {} matched no class and were sent at once, without a limit (direct_packets_stat)",
                if direct == 1 { "packet" } else { "packets" },
                q.device
            );
            reading.fact(q.line, text);
        }
        if let Some(stats) = &q.stats {
            let owner = format!("{} of {}", q.kind, q.device);
            // The classes of an htb count the same packets.
            let has_classes =
                q.kind == "htb" && model.classes.iter().any(|c| c.device == q.device && c.stats.is_some());
            if !has_classes {
                report_counts(&owner, stats, limit_of(q), reading);
            }
        }
    }
    // An inner class counts the packets of its leaves again.
    let inner = |c: &TcClass| {
        model.classes.iter().any(|below| below.device == c.device && below.parent == Some(c.id))
    };
    for c in model.classes.iter().filter(|c| !inner(c)) {
        let Some(stats) = &c.stats else { continue };
        let owner = format!("class {}", c.id);
        let ceil = ceil_of(c);
        if let (Some(measured), Some(ceil)) = (stats.rate, ceil)
            && measured > MIN_EXCESS_FACTOR * ceil as f64
        {
            let text = format!(
                "{owner} sends {}, {:.1} times its ceiling of {}",
                rate_text(measured as u64),
                measured / ceil as f64,
                rate_text(ceil)
            );
            reading.fact(stats.line, text);
        }
        if stats.giants > 0 {
            let average = stats.bytes.checked_div(stats.packets).unwrap_or(0);
            let mut text = format!(
                "{owner}: {} packets were giants, larger than its MTU and bucket: segmentation offload joins up to 64 kB, which htb \
                 sends at once",
                stats.giants
            );
            if average > FULL_PACKET {
                let _ = write!(text, " (average packet: {})", size(average));
            }
            let _ = write!(text, "; `ethtool -K {} tso off gso off`", c.device);
            reading.fact(stats.line, text);
        }
        report_counts(&owner, stats, ceil, reading);
    }
}

/// Reports drops and queued packets; `rate` is the rate of the queue, bit/s.
fn report_counts(owner: &str, stats: &TcStats, rate: Option<u64>, reading: &mut Reading) {
    if stats.dropped > 0 {
        // `Sent` does not include dropped packets.
        let all = stats.packets.saturating_add(stats.dropped);
        let share = 100.0 * stats.dropped as f64 / all as f64;
        let text = format!("{owner} dropped {} of {all} packets ({share:.2} %)", stats.dropped);
        reading.fact(stats.line, text);
    }
    if stats.backlog_packets > 0 {
        let mut text = format!("{owner}: {} packets are queued", stats.backlog_packets);
        if let Some(rate) = rate.filter(|r| *r > 0 && stats.backlog_bytes > 0) {
            let wait = stats.backlog_bytes as f64 * 8.0 / rate as f64;
            let _ = write!(text, ", {} or {} at {}", size(stats.backlog_bytes), time(wait), rate_text(rate));
        }
        reading.fact(stats.line, text);
    }
}

/// The rate limit of a discipline, bit/s.
fn limit_of(q: &TcQdisc) -> Option<u64> {
    let key = match q.kind.as_str() {
        "tbf" | "netem" => "rate",
        "cake" => "bandwidth",
        _ => return None,
    };
    crate::number::tc_rate(q.options.text(key)?).map(|r| r.as_bps())
}

/// The ceiling of a class, bit/s.
fn ceil_of(c: &TcClass) -> Option<u64> {
    let text = c.options.text("ceil").or_else(|| c.options.text("rate"))?;
    crate::number::tc_rate(text).map(|r| r.as_bps())
}
