//! The figures of a series that the rules share.

use super::{rate, size, time};
use crate::series::{
    FlowSeries, SeriesBin, SeriesInterval, SummarySeries, SummarySource, correlation, median, variation,
};

/// Largest variation of an even rate or window.
const MAX_VARIATION: f64 = 0.06;
/// The start-up phase, in which the flow fills the path, is left out: at least a second, ten round trips and
/// one bin …
const START_UP_S: f64 = 1.0;
const START_UP_ROUND_TRIPS: f64 = 10.0;
/// … but at most this share of the bins.
const MAX_START_UP_SHARE: f64 = 0.4;
/// Packets wait in a queue if the RTT is above the least by this share and by this time, seconds.
const QUEUE_SHARE: f64 = 0.15;
const QUEUE_S: f64 = 2e-3;
/// Largest share by which the bursts of a constant window raise the RTT.
const BURST_SHARE: f64 = 0.4;
/// Least correlation of RTT and congestion window that rise and fall together.
const MIN_CORRELATION: f64 = 0.7;
/// Payload of a full segment if the summary lacks it, bytes.
pub const USUAL_MSS: f64 = 1448.0;

/// The figures of a summary; `None` if the summary lacks one.
pub struct SeriesDigest<'a> {
    pub series: &'a SummarySeries,
    /// All flows together.
    pub bins: Vec<SeriesBin>,
    /// Bins after the start-up phase.
    pub steady: Vec<SeriesBin>,
    /// Mean rate after the start-up phase, bit/s.
    pub bps: f64,
    /// Coefficient of variation of the rate from bin to bin.
    pub variation: Option<f64>,
    /// Share of the segments that were sent again.
    pub resent: Option<f64>,
    /// Share of the bins after the start-up phase with a segment sent again.
    pub resent_bins: Option<f64>,
    /// Median RTT of the flow with most bytes, after the start-up phase, seconds.
    pub rtt_s: Option<f64>,
    /// Least RTT of the flow with most bytes, seconds.
    pub min_rtt_s: Option<f64>,
    /// Median congestion window of the flow with most bytes, after the start-up phase, bytes, and its
    /// variation.
    pub cwnd: Option<(f64, f64)>,
    /// Largest congestion windows of all flows, added up, bytes.
    pub max_cwnds: Option<f64>,
}

impl<'a> SeriesDigest<'a> {
    /// Computes the figures of a summary, whose flow with most bytes is the first.
    pub fn of(series: &'a SummarySeries) -> SeriesDigest<'a> {
        let bins = series.bins();
        let empty = FlowSeries::default();
        let first = series.flows.first().unwrap_or(&empty);
        let rtts = || first.intervals.iter().filter_map(|i| i.rtt_s).filter(|r| *r > 0.0);
        let min_rtt_s = first.min_rtt_s.or_else(|| rtts().reduce(f64::min)).filter(|r| *r > 0.0);
        let begin = START_UP_S.max(START_UP_ROUND_TRIPS * min_rtt_s.unwrap_or(0.0));
        let width = bins.first().map_or(1.0, |b| b.seconds);
        let most = (MAX_START_UP_SHARE * bins.len() as f64) as usize;
        let skipped = ((begin / width).ceil() as usize).min(most);
        let steady = bins.get(skipped..).unwrap_or_default().to_vec();
        let from = steady.first().map_or(0.0, |b| b.start_s);
        let late = || first.intervals.iter().filter(|i| i.end_s > from + width / 2.0);
        let late_values = |value: fn(&SeriesInterval) -> Option<f64>| -> Vec<f64> {
            late().filter_map(value).filter(|v| *v > 0.0).collect()
        };
        let seconds: f64 = steady.iter().map(|b| b.seconds).sum();
        let rates: Vec<f64> = steady.iter().map(SeriesBin::bps).collect();
        let windows = late_values(|i| i.cwnd_bytes);
        let is_counted = steady.iter().all(|b| b.retransmits.is_some()) && !steady.is_empty();
        let hit = steady.iter().filter(|b| b.retransmits.is_some_and(|r| r >= 0.5)).count();
        let largest = |f: &FlowSeries| f.intervals.iter().filter_map(|i| i.cwnd_bytes).reduce(f64::max);
        let bps = 8.0 * steady.iter().map(|b| b.bytes).sum::<f64>() / seconds.max(1e-9);
        SeriesDigest {
            series,
            variation: variation(&rates),
            resent: resent(series),
            resent_bins: (is_counted && steady.len() > 1).then(|| hit as f64 / steady.len() as f64),
            rtt_s: median(late_values(|i| i.rtt_s)),
            min_rtt_s,
            cwnd: median(windows.clone()).map(|m| (m, variation(&windows).unwrap_or(f64::INFINITY))),
            max_cwnds: series.flows.iter().map(largest).sum(),
            bps,
            steady,
            bins,
        }
    }

    /// Whether the rate is constant, except for the blocks that the application writes.
    pub fn is_constant(&self) -> bool {
        let bytes = self.bps / 8.0 * self.steady.first().map_or(1.0, |b| b.seconds);
        // Both ends of an interval cut a block at a uniform place: twice the variance of 1/12, hence the root
        // of 6.
        let blocks = self.series.block_bytes / bytes.max(1.0) / 6.0_f64.sqrt();
        self.steady.len() >= MIN_BINS && self.variation.is_some_and(|v| v <= MAX_VARIATION.hypot(blocks))
    }

    /// Whether the congestion window is constant.
    pub fn is_cwnd_constant(&self) -> bool {
        self.cwnd.is_some_and(|(_, variation)| variation <= MAX_VARIATION)
    }

    /// Whether packets wait in a queue most of the time; `None` without RTTs.
    pub fn queue(&self) -> Option<bool> {
        let (rtt, least) = self.rtt_s.zip(self.min_rtt_s)?;
        // The kernel's least RTT is exact. With a constant window and no loss, bursts alone raise the median
        // a little above it.
        let exact = matches!(self.series.source, SummarySource::SsLog | SummarySource::SsOnce);
        let bursts = exact && self.resent == Some(0.0) && self.is_cwnd_constant();
        let share = if bursts { BURST_SHARE } else { QUEUE_SHARE };
        Some(rtt > least * (1.0 + share) && rtt > least + QUEUE_S)
    }

    /// Whether the RTT rises and falls with the congestion window: packets that the window adds wait in a
    /// queue.
    pub fn does_rtt_follow_cwnd(&self) -> bool {
        let Some(first) = self.series.flows.first() else { return false };
        let from = self.steady.first().map_or(0.0, |b| b.start_s) - 1e-6;
        let late = first.intervals.iter().filter(|i| i.start_s >= from);
        let pairs: Vec<(f64, f64)> = late.filter_map(|i| i.cwnd_bytes.zip(i.rtt_s)).collect();
        let moves = |values: Vec<f64>| variation(&values).is_some_and(|v| v > MAX_VARIATION);
        let both = moves(pairs.iter().map(|p| p.0).collect()) && moves(pairs.iter().map(|p| p.1).collect());
        both && correlation(&pairs).is_some_and(|c| c >= MIN_CORRELATION)
    }

    /// Bytes in flight of the flow with most bytes, by Little's law: rate times RTT.
    pub fn inflight(&self) -> Option<f64> {
        Some(self.first_bps() / 8.0 * self.rtt_s?)
    }

    /// Rate of the flow with most bytes after the start-up phase, bit/s.
    pub fn first_bps(&self) -> f64 {
        let Some(first) = self.series.flows.first() else { return 0.0 };
        let from = self.steady.first().map_or(0.0, |b| b.start_s) - 1e-6;
        let late = first.intervals.iter().filter(|i| i.start_s >= from);
        let (bytes, seconds) = late.fold((0.0, 0.0), |(b, s), i| (b + i.bytes, s + i.seconds()));
        if seconds > 0.0 { 8.0 * bytes / seconds } else { self.bps }
    }

    /// Payload of a full segment, bytes.
    pub fn mss(&self) -> f64 {
        self.series.flows.first().and_then(|f| f.mss).unwrap_or(USUAL_MSS)
    }

    /// Whether the congestion control sets its window by a model of the path: its window then does not show a
    /// limit.
    pub fn is_model_based(&self) -> bool {
        let cc = self.series.flows.first().and_then(|f| f.cc.as_deref()).unwrap_or_default();
        ["bbr", "copa", "vegas", "nv"].iter().any(|known| cc.starts_with(known))
    }

    /// Sentences on the figures of the summary.
    pub fn facts(&self) -> Vec<String> {
        let mut all = Vec::new();
        let s = self.series;
        if s.udp.is_none() {
            let mean = if self.is_constant() || self.steady.len() < 2 { "" } else { " on average" };
            let mut line = format!("{} of payload{mean}", rate(self.bps));
            if let [.., last] = &self.steady[..]
                && self.steady.len() > 1
            {
                let from = self.steady[0].start_s;
                line += &format!(" from {} to {}", seconds(from), seconds(last.start_s + last.seconds));
            }
            if s.flows.len() > 1 {
                line += &format!(" in {} flows", s.flows.len());
            }
            if let Some(resent) = self.resent {
                line += &format!(", {} retransmitted", percent(resent));
            }
            all.push(line);
        }
        match (self.rtt_s, self.min_rtt_s) {
            (Some(rtt), Some(least)) if rtt > 1.005 * least => {
                all.push(format!("RTT {} in the median, {} at least", time(rtt), time(least)));
            }
            (Some(rtt), _) => all.push(format!("RTT {}, even", time(rtt))),
            _ => {}
        }
        // Bytes in flight need an even rate.
        let inflight = self.inflight().filter(|_| self.is_constant() || self.steady.len() < 2);
        if let (Some((cwnd, _)), Some(inflight)) = (self.cwnd, inflight) {
            all.push(format!(
                "congestion window {}; rate × RTT is {} in flight{}",
                size(cwnd),
                size(inflight),
                if s.flows.len() > 1 { ", of the largest flow" } else { "" }
            ));
        }
        let absent = [
            (self.resent.is_none() && s.udp.is_none(), "retransmissions"),
            (self.rtt_s.is_none() && s.udp.is_none(), "RTTs"),
            (self.cwnd.is_none() && s.udp.is_none(), "congestion windows"),
        ];
        let absent: Vec<&str> = absent.iter().filter(|a| a.0).map(|a| a.1).collect();
        if !absent.is_empty() {
            all.push(format!("{} does not contain {}", s.source.name(), absent.join(", ")));
        }
        all
    }
}

/// Least number of bins of an even rate.
const MIN_BINS: usize = 3;

/// Seconds in words, with one decimal.
pub fn seconds(s: f64) -> String {
    format!("{} s", (10.0 * s).round() / 10.0)
}

/// A share as percent.
pub fn percent(share: f64) -> String {
    match share {
        0.0 => "nothing".into(),
        s if s < 0.001 => format!("{:.3} %", 100.0 * s),
        s if s < 0.1 => format!("{:.2} %", 100.0 * s),
        s => format!("{:.0} %", 100.0 * s),
    }
}

/// Share of the segments that were sent again; `None` if no flow counts them.
fn resent(series: &SummarySeries) -> Option<f64> {
    let known = || series.flows.iter().filter(|f| f.retransmits.is_some());
    let again: f64 = known().filter_map(|f| f.retransmits).sum();
    let payload = |f: &FlowSeries| f.intervals.iter().map(|i| i.bytes).sum::<f64>();
    let sent: f64 = known()
        .map(|f| {
            f.segments
                .unwrap_or_else(|| payload(f) / f.mss.unwrap_or(USUAL_MSS) + f.retransmits.unwrap_or(0.0))
        })
        .sum();
    (sent > 0.0).then(|| (again / sent).clamp(0.0, 1.0))
}
