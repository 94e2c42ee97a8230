//! Summaries of all sources as one series of intervals per flow: iperf3 as JSON or text, `ss -ti` once or
//! repeated.
//!
//! A value that the summary does not contain is `None`. Bytes are payload.

use result::RttSummary;

/// Which program printed a summary, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SummarySource {
    /// `iperf3 -J`.
    #[default]
    Iperf3Json,
    /// The table that iperf3 and iperf2 print.
    IperfText,
    /// Three and more outputs of `ss -ti`.
    SsLog,
    /// One or two outputs of `ss -ti`.
    SsOnce,
}

impl SummarySource {
    /// Name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            SummarySource::Iperf3Json => "iperf3's JSON",
            SummarySource::IperfText => "iperf's text",
            SummarySource::SsLog => "the log of ss",
            SummarySource::SsOnce => "one output of ss",
        }
    }
}

/// One interval of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesInterval {
    /// Seconds since the series began.
    pub start_s: f64,
    /// Seconds since the series began.
    pub end_s: f64,
    /// Payload bytes: written into the socket (iperf3 at the sender), received, or acknowledged (`ss`).
    pub bytes: f64,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    /// Congestion window at the interval's end, bytes.
    pub cwnd_bytes: Option<f64>,
    /// The receiver's window, bytes.
    pub snd_wnd_bytes: Option<f64>,
    /// Smoothed RTT at the interval's end, seconds.
    pub rtt_s: Option<f64>,
    /// Seconds in which the receiver's window held the sender (`tcpi_rwnd_limited`).
    pub rwnd_limited_s: Option<f64>,
    /// Seconds in which the send buffer held the sender (`tcpi_sndbuf_limited`).
    pub sndbuf_limited_s: Option<f64>,
    /// Seconds in which data was outstanding (`tcpi_busy_time`).
    pub busy_s: Option<f64>,
    /// The kernel's delivery rate, bit/s.
    pub delivery_bps: Option<f64>,
    /// Bytes in the send queue, sent or not.
    pub queued_bytes: Option<f64>,
    /// Bytes in flight.
    pub unacked_bytes: Option<f64>,
    /// The delivery rate was limited by the application.
    pub app_limited: Option<bool>,
}

impl SeriesInterval {
    /// Length of the interval.
    pub fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// The intervals of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Congestion control.
    pub cc: Option<String>,
    /// Payload bytes of a full segment.
    pub mss: Option<f64>,
    /// Least RTT of the whole flow, seconds; the least smoothed one if only those are known.
    pub min_rtt_s: Option<f64>,
    /// Segments sent, retransmissions included.
    pub segments: Option<f64>,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    pub intervals: Vec<SeriesInterval>,
}

/// The counters of a UDP test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UdpCounts {
    /// Datagrams sent.
    pub datagrams: f64,
    /// Datagrams lost.
    pub lost: f64,
    /// Jitter at the receiver (RFC 3550), ms.
    pub jitter_ms: Option<f64>,
}

/// A summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummarySeries {
    pub source: SummarySource,
    /// The other end, as it can be named in a command.
    pub peer: Option<String>,
    /// The test sent from the other end (`iperf3 -R`).
    pub reversed: bool,
    /// The summary is the receiver's: it has no window, RTT or retransmission.
    pub at_receiver: bool,
    /// Bytes are counted when the receiver acknowledged or received them, not when the application wrote
    /// them.
    pub counts_arrivals: bool,
    /// The rate to which the test was limited (`iperf3 -b`), bit/s, all streams together.
    pub target_bps: Option<f64>,
    /// Bytes that the application writes at once. The bytes of an interval vary by this amount.
    pub block_bytes: f64,
    /// Bytes that the receiver counted, of all flows.
    pub received_bytes: Option<f64>,
    /// The counters of a UDP test; `None` for a TCP test.
    pub udp: Option<UdpCounts>,
    /// Flows, the one with most bytes first.
    pub flows: Vec<FlowSeries>,
}

/// All flows together in one span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesBin {
    /// Seconds since the series began.
    pub start_s: f64,
    /// Length of the bin.
    pub seconds: f64,
    /// Payload bytes.
    pub bytes: f64,
    /// Segments sent again; `None` if no flow counts them.
    pub retransmits: Option<f64>,
}

impl SeriesBin {
    /// Mean rate, bit/s.
    pub fn bps(&self) -> f64 {
        8.0 * self.bytes / self.seconds.max(1e-9)
    }
}

/// A last interval shorter than this share of the median one is iperf's remainder, in which next to nothing
/// was sent.
const MAX_REMAINDER_SHARE: f64 = 0.5;

impl SummarySeries {
    /// Puts the flow with most bytes first, and drops remainders.
    #[must_use]
    pub fn ordered(mut self) -> SummarySeries {
        for flow in &mut self.flows {
            let usual = median(flow.intervals.iter().map(SeriesInterval::seconds).collect()).unwrap_or(0.0);
            while flow.intervals.len() > 2
                && flow.intervals.last().is_some_and(|last| last.seconds() < MAX_REMAINDER_SHARE * usual)
            {
                flow.intervals.pop();
            }
        }
        let bytes = |f: &FlowSeries| f.intervals.iter().map(|i| i.bytes).sum::<f64>();
        self.flows.retain(|f| !f.intervals.is_empty());
        self.flows.sort_by(|a, b| bytes(b).total_cmp(&bytes(a)));
        self
    }

    /// All flows together, in bins as long as the median interval.
    pub fn bins(&self) -> Vec<SeriesBin> {
        let all = || self.flows.iter().flat_map(|f| &f.intervals);
        let Some(width) = median(all().map(SeriesInterval::seconds).collect()).filter(|w| *w > 0.0) else {
            return Vec::new();
        };
        let start = all().map(|i| i.start_s).fold(f64::INFINITY, f64::min);
        let end = all().map(|i| i.end_s).fold(0.0, f64::max);
        let count = (((end - start) / width).round() as usize).clamp(1, MAX_BINS);
        let width = (end - start) / count as f64;
        let has_retransmits = all().any(|i| i.retransmits.is_some());
        let empty =
            SeriesBin { seconds: width, retransmits: has_retransmits.then_some(0.0), ..SeriesBin::default() };
        let mut bins: Vec<SeriesBin> =
            (0..count).map(|i| SeriesBin { start_s: start + i as f64 * width, ..empty }).collect();
        for i in all().filter(|i| i.seconds() > 0.0) {
            let at = |s: f64| ((s - start) / width).floor().max(0.0) as usize;
            for bin in bins.iter_mut().take(at(i.end_s) + 1).skip(at(i.start_s)) {
                let common = i.end_s.min(bin.start_s + width) - i.start_s.max(bin.start_s);
                let share = (common / i.seconds()).max(0.0);
                bin.bytes += share * i.bytes;
                bin.retransmits = bin.retransmits.map(|r| r + share * i.retransmits.unwrap_or(0.0));
            }
        }
        bins
    }
}

/// Summary of the intervals' RTTs, ms, each weighted by its interval's bytes to be comparable with the RTTs
/// of all packets. `None` if no interval has an RTT.
pub fn rtt_summary(intervals: &[SeriesInterval]) -> Option<RttSummary> {
    let sample = |i: &SeriesInterval| Some((1e3 * i.rtt_s.filter(|r| *r > 0.0)?, i.bytes));
    let mut samples: Vec<(f64, f64)> = intervals.iter().filter_map(sample).collect();
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = samples.iter().map(|s| s.1).sum();
    if all <= 0.0 {
        return None;
    }
    let at = |q: f64| {
        let mut below = 0.0;
        let found = samples.iter().find(|s| {
            below += s.1;
            below > q * all
        });
        found.or(samples.last()).map_or(0.0, |s| s.0)
    };
    let mean = samples.iter().map(|s| s.0 * s.1).sum::<f64>() / all;
    let (least, most) = (samples.first()?.0, samples.last()?.0);
    Some(RttSummary::with((least, most), mean, at))
}

const MAX_BINS: usize = 100_000;

/// The median; `None` for an empty list.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Least number of values for percentiles.
const MIN_FOR_PERCENTILES: usize = 5;

/// Coefficient of variation: half the distance between the 16th and the 84th percentile, over the median
/// (equal to the standard deviation over the mean of normal values, but robust to an outlier). For fewer than
/// [`MIN_FOR_PERCENTILES`] values, the standard deviation over the mean. `None` for fewer than two values, or
/// of zeros.
pub fn variation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 || mean <= 0.0 {
        return None;
    }
    if values.len() >= MIN_FOR_PERCENTILES {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q: f64| sorted[((n - 1.0) * q).round() as usize];
        return (at(0.5) > 0.0).then(|| (at(0.84) - at(0.16)) / 2.0 / at(0.5));
    }
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / (n - 1.0)).sqrt() / mean)
}

/// Pearson's correlation; `None` for fewer than three pairs, or if one list is constant.
pub fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    if pairs.len() < 3 {
        return None;
    }
    let mean = |value: fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>() / n;
    let (a, b) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |value: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>();
    let both = sum(&|p| (p.0 - a) * (p.1 - b));
    let each = (sum(&|p| (p.0 - a).powi(2)) * sum(&|p| (p.1 - b).powi(2))).sqrt();
    (each > 0.0).then(|| both / each)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_s: f64, end_s: f64, bytes: f64) -> SeriesInterval {
        SeriesInterval { start_s, end_s, bytes, retransmits: Some(1.0), ..SeriesInterval::default() }
    }

    #[test]
    fn flows_with_shifted_intervals_share_bins_and_remainders_are_dropped() {
        let flow = |from: f64| FlowSeries {
            intervals: (0..4)
                .map(|i| interval(from + f64::from(i), from + f64::from(i) + 1.0, 100.0))
                .collect(),
            ..FlowSeries::default()
        };
        let mut two = SummarySeries { flows: vec![flow(0.0), flow(0.5)], ..SummarySeries::default() };
        two.flows[0].intervals.push(interval(4.0, 4.01, 0.0));
        let two = two.ordered();
        assert_eq!(two.flows[0].intervals.len(), 4);
        let bins = two.bins();
        let sum: f64 = bins.iter().map(|b| b.bytes).sum();
        assert!((sum - 800.0).abs() < 1e-6, "{bins:?}");
        let again: f64 = bins.iter().filter_map(|b| b.retransmits).sum();
        assert!((again - 8.0).abs() < 1e-6, "{bins:?}");
    }
}
