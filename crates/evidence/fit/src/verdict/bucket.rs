//! A token bucket that was full at the start: fast at first, then evenly slower.

use super::digest::{SeriesDigest, USUAL_MSS};
use super::{SummaryVerdict, VerdictKind, range, rate, size};
use crate::series::{SeriesBin, median, variation};

/// Least factor by which the start is faster than the rest.
const MIN_SPEEDUP: f64 = 1.5;
/// Largest variation of the rest, and its least number of intervals.
const MAX_VARIATION: f64 = 0.15;
const MIN_SLOW_INTERVALS: usize = 3;
/// Bytes that socket and queue may hold if the congestion window is not known: the kernel's default of
/// `net.ipv4.tcp_wmem`, 4 MiB, and a queue as long.
const SOCKET_BYTES: f64 = 8.4e6;
/// Least ratio of the bucket to the bytes that socket and queue may hold.
const MIN_EXCESS: f64 = 1.5;
/// Least relative error of a mean over intervals.
const MIN_ERROR: f64 = 0.01;
/// Bytes of a packet beyond its payload that a limiter counts: IP and TCP with timestamps, Ethernet.
const HEADERS: f64 = 66.0;
/// Packets beyond the rate wait if the RTT rose by this factor.
const MIN_RTT_RISE: f64 = 2.0;

/// The verdict if a token bucket shows.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let last = &d.bins[d.bins.len() / 2..];
    let slow = median(last.iter().map(SeriesBin::bps).collect())?;
    let fast = d.bins.iter().take_while(|b| b.bps() >= MIN_SPEEDUP * slow).count();
    // Slow start may make the first interval slow.
    let slow_start = if fast == 0 { 1 } else { 0 };
    let fast = slow_start
        + d.bins[slow_start.min(d.bins.len())..].iter().take_while(|b| b.bps() >= MIN_SPEEDUP * slow).count();
    let rest = d.bins.get(fast..)?;
    let rates: Vec<f64> = rest.iter().map(SeriesBin::bps).collect();
    let block = d.series.block_bytes;
    let width = d.bins.first()?.seconds;
    let uneven = MAX_VARIATION.hypot(block / (slow / 8.0 * width).max(1.0));
    if fast <= slow_start
        || rest.len() < MIN_SLOW_INTERVALS
        || variation(&rates)? > uneven
        || rest.len() * 3 < fast
    {
        return None;
    }
    let seconds: f64 = rest.iter().map(|b| b.seconds).sum();
    let mean = 8.0 * rest.iter().map(|b| b.bytes).sum::<f64>() / seconds;
    let extra: f64 = d.bins[..fast].iter().map(|b| (b.bytes - mean / 8.0 * b.seconds).max(0.0)).sum();
    let held = match d.series.counts_arrivals {
        true => d.max_cwnds.unwrap_or(0.0),
        false => 2.0 * d.max_cwnds.unwrap_or(SOCKET_BYTES / 2.0),
    };
    if extra < MIN_EXCESS * held.max(2.0 * block) {
        return None;
    }
    // The bytes that had not arrived when the test ended are those that socket and queue hold.
    let sent: f64 = d.bins.iter().map(|b| b.bytes).sum();
    let at_end = d.series.received_bytes.map(|r| 2.0 * (sent - r)).filter(|left| *left > 0.0);
    let least = extra - at_end.unwrap_or(held).min(held).max(block);
    let more = 1.0 + HEADERS / d.series.flows.first().and_then(|f| f.mss).unwrap_or(USUAL_MSS);
    let known = MIN_ERROR
        .max(variation(&rates)? / (rest.len() as f64).sqrt())
        .max(block / 2.0 / (mean / 8.0 * seconds));
    let rates = [mean * (1.0 - known), mean * (1.0 + known) * more];
    let buckets = [least, extra * more];
    let fast_bps = d.bins[slow_start..fast].iter().map(SeriesBin::bps).fold(0.0, f64::max);
    let waits = d.queue_of(fast);
    let again = rest.iter().filter(|b| b.retransmits.is_some_and(|r| r >= 0.5)).count();
    let drops = again * 2 > rest.len();
    let (what, delays) = match (waits, drops) {
        (Some(true), _) => ("a token bucket that delays (a shaper)", Some(true)),
        (_, true) => ("a token bucket that drops (a policer)", Some(false)),
        _ => ("a token bucket", None),
    };
    // An empty bucket delays or drops. If RTT and losses show neither, the cause is another one.
    if waits == Some(false) && !drops && d.resent.is_some() {
        return None;
    }
    // A flow whose window grew until its first loss is fast for a while too.
    let lost = rest.iter().any(|b| b.retransmits.is_some_and(|r| r >= 0.5));
    let grew = waits != Some(true) && lost && (fast - slow_start < MIN_SLOW_INTERVALS || !drops);
    let headline = format!(
        "{} {what} of {} with {}{}: {} for {}, then {}.",
        if grew { "Perhaps" } else { "Probably" },
        range(rates, rate),
        range(buckets, size),
        round_size(buckets).map_or(String::new(), |round| format!(" ({round} fits)")),
        rate(fast_bps),
        // The bucket is emptied within the last fast interval.
        super::digest::seconds(8.0 * extra / (fast_bps - mean).max(1.0)),
        rate(mean)
    );
    let facts = vec![
        format!(
            "{} passed in excess of the lasting rate at first; the ranges include headers, and the bytes that socket and queue held",
            size(extra)
        ),
        "a path whose capacity fell once, as when cross traffic began, looks alike; a second test right after this one decides: a \
         bucket is then still empty"
            .into(),
    ];
    Some(SummaryVerdict {
        kind: VerdictKind::Bucket,
        headline,
        facts,
        rate_mbps: Some(rates.map(|r| r / 1e6)),
        bucket_bytes: Some(buckets),
        delays,
        fast_bps: Some(fast_bps),
        ..SummaryVerdict::default()
    })
}

impl SeriesDigest<'_> {
    /// Whether RTTs rose when the fast intervals ended; `None` if there are no RTTs.
    fn queue_of(&self, fast: usize) -> Option<bool> {
        let first = self.series.flows.first()?;
        let at = self.bins.get(fast)?.start_s;
        let rtts = |late: bool| -> Option<f64> {
            let selected = first.intervals.iter().filter(|i| (i.start_s >= at - 1e-6) == late);
            median(selected.filter_map(|i| i.rtt_s).collect())
        };
        Some(rtts(true)? > MIN_RTT_RISE * self.min_rtt_s.or(rtts(false))?)
    }
}

/// A size between these that is usual in configurations: a power of two, or 1, 2 or 5 times a power of ten.
fn round_size([least, most]: [f64; 2]) -> Option<String> {
    let binary = (10..40).map(|p| 2f64.powi(p)).find(|b| (least..=most).contains(b));
    if let Some(b) = binary {
        let (value, unit) = if b >= 1_048_576.0 { (b / 1_048_576.0, "MiB") } else { (b / 1024.0, "KiB") };
        return Some(format!("{value} {unit}"));
    }
    let decimal = (3..12).flat_map(|p| [1.0, 2.0, 5.0].map(|d| d * 10f64.powi(p)));
    decimal.into_iter().find(|b| (least..=most).contains(b)).map(size)
}
