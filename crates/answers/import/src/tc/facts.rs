//! What the counters of `tc -s` show: drops, packets that wait, a rate above the limit, packets past every limit.
//!
//! Source: Linux `htb_dump`, `htb_dump_class_stats` (`direct_packets_stat`, `giants`), iproute2 `print_tcstats2_attr`.

use super::model::{TcClass, TcModel, TcQdisc, TcStats};
use crate::Reading;
use crate::number::{rate as rate_text, size, time};
use std::fmt::Write as _;

/// An estimate this far above a ceiling is not a matter of the estimator's averaging.
const ABOVE: f64 = 1.1;
/// A packet with its Ethernet header and a VLAN tag; a larger average is segmentation offload's.
const FULL_PACKET: u64 = 1518;

/// Reports what the counters of a text show.
pub(super) fn report(model: &TcModel, reading: &mut Reading) {
    for q in &model.qdiscs {
        let direct = q.options.text("direct_packets_stat").and_then(|n| n.parse::<u64>().ok());
        if let Some(direct) = direct.filter(|n| *n > 0) {
            let text = format!(
                "{direct} {} of {} matched no class and left at once, past every limit (direct_packets_stat)",
                if direct == 1 { "packet" } else { "packets" },
                q.device
            );
            reading.fact(q.line, text);
        }
        if let Some(stats) = &q.stats {
            let owner = format!("{} of {}", q.kind, q.device);
            // What an htb counts, its classes do too.
            let has_classes =
                q.kind == "htb" && model.classes.iter().any(|c| c.device == q.device && c.stats.is_some());
            if !has_classes {
                counted(&owner, stats, limit_of(q), reading);
            }
        }
    }
    // An inner class counts the packets of its leaves once more.
    let inner = |c: &TcClass| {
        model.classes.iter().any(|below| below.device == c.device && below.parent == Some(c.id))
    };
    for c in model.classes.iter().filter(|c| !inner(c)) {
        let Some(stats) = &c.stats else { continue };
        let owner = format!("class {}", c.id);
        let ceil = ceil_of(c);
        if let (Some(measured), Some(ceil)) = (stats.rate, ceil)
            && measured > ABOVE * ceil as f64
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
                 sends in one piece",
                stats.giants
            );
            if average > FULL_PACKET {
                let _ = write!(text, " (the average packet has {})", size(average));
            }
            let _ = write!(text, "; `ethtool -K {} tso off gso off`", c.device);
            reading.fact(stats.line, text);
        }
        counted(&owner, stats, ceil, reading);
    }
}

/// Drops and packets that wait; `rate` is what they wait for, bit/s.
fn counted(owner: &str, stats: &TcStats, rate: Option<u64>, reading: &mut Reading) {
    if stats.dropped > 0 {
        // `Sent` counts what left: what came is both.
        let all = stats.packets.saturating_add(stats.dropped);
        let share = 100.0 * stats.dropped as f64 / all as f64;
        let text = format!("{owner} dropped {} of {all} packets ({share:.2} %)", stats.dropped);
        reading.fact(stats.line, text);
    }
    if stats.backlog_packets > 0 {
        let mut text = format!("{owner}: {} packets wait", stats.backlog_packets);
        if let Some(rate) = rate.filter(|r| *r > 0 && stats.backlog_bytes > 0) {
            let wait = stats.backlog_bytes as f64 * 8.0 / rate as f64;
            let _ = write!(text, ", {} or {} at {}", size(stats.backlog_bytes), time(wait), rate_text(rate));
        }
        reading.fact(stats.line, text);
    }
}

/// The rate that a discipline of its own limits to, bit/s.
fn limit_of(q: &TcQdisc) -> Option<u64> {
    let key = match q.kind.as_str() {
        "tbf" | "netem" => "rate",
        "cake" => "bandwidth",
        _ => return None,
    };
    crate::number::tc_rate(q.options.text(key)?).map(|r| r.as_bps())
}

/// A class's ceiling, bit/s.
fn ceil_of(c: &TcClass) -> Option<u64> {
    let text = c.options.text("ceil").or_else(|| c.options.text("rate"))?;
    crate::number::tc_rate(text).map(|r| r.as_bps())
}
