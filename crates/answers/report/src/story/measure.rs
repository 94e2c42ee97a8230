//! What variants are compared by, and when a difference is worth a word.

use super::group::fairest;
use super::{ALIKE, NOTICED_DELAY_MS, NOTICED_JAIN, NOTICED_LOSS, NOTICED_MOS, NOTICED_TIMES, UNFINISHED};
use crate::figures::Row;
use result::{FlowResult, TimesSummary};
use units::Goal;

/// Something measured of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Goodput of the TCP flows together, Mbit/s.
    TcpGoodput,
    /// Goodput of datagrams together, Mbit/s.
    UdpGoodput,
    /// Goodput of the flows of one name together, Mbit/s.
    FlowGoodput,
    /// 95th percentile of round trips, ms, averaged over the TCP flows, each weighing as many packets as it sent.
    Rtt,
    /// 95th percentile of round trips of the TCP flow in which it is largest, ms.
    SlowestRtt,
    /// 95th percentile of the one-way delay of datagrams, ms, of the flow in which it is largest; where there are calls or
    /// probes, of these alone.
    OneWay,
    /// Mean opinion score of the call that sounds worst, 1 to 4.5 (ITU-T G.107 annex B).
    Mos,
    /// Share of the data packets of TCP that were lost, 0 to 1.
    TcpLoss,
    /// Share of the data packets of TCP that were sent again, 0 to 1, where not every flow knows what was lost.
    Resent,
    /// Share of datagrams that were lost, 0 to 1.
    UdpLoss,
    /// 95th percentile of the times of transfers that came to their end, s; infinite where more than 5 % did not.
    Completion,
    /// 95th percentile of the times from request to answer, s; infinite where none came.
    Response,
    /// 95th percentile of the times of pages, s; infinite where none came.
    Page,
    /// The least of Jain's indexes over flows that shared direction, limit and time.
    Jain,
}

impl Measure {
    /// Those that can be told of a variant, but for [`Measure::FlowGoodput`]; what matters most to users first.
    pub const ALL: [Measure; 13] = [
        Measure::Mos,
        Measure::Page,
        Measure::Response,
        Measure::Completion,
        Measure::OneWay,
        Measure::Rtt,
        Measure::SlowestRtt,
        Measure::TcpGoodput,
        Measure::UdpGoodput,
        Measure::TcpLoss,
        Measure::Resent,
        Measure::UdpLoss,
        Measure::Jain,
    ];

    /// Whether a larger value is the better one.
    pub fn is_better_large(self) -> bool {
        use Measure::*;
        matches!(self, TcpGoodput | UdpGoodput | FlowGoodput | Mos | Jain)
    }

    /// Whether a user would notice that `is` is better (`Some(true)`) or worse than `was`.
    pub(crate) fn noticed(self, was: f64, is: f64) -> Option<bool> {
        use Measure::*;
        let (low, high) = if was < is { (was, is) } else { (is, was) };
        let differ = match self {
            TcpGoodput | UdpGoodput => low < (1.0 - ALIKE) * high,
            FlowGoodput => low * NOTICED_TIMES <= high && high > 0.0,
            Rtt | SlowestRtt | OneWay => high - low >= NOTICED_DELAY_MS && high >= NOTICED_TIMES * low,
            TcpLoss | Resent | UdpLoss => high - low >= NOTICED_LOSS,
            Completion | Response | Page => high > 0.0 && high >= NOTICED_TIMES * low && low < high,
            Mos => high - low >= NOTICED_MOS,
            Jain => high - low >= NOTICED_JAIN,
        };
        differ.then_some((is > was) == self.is_better_large())
    }

    /// Whether `is` meets a goal better than `was` by more than both clocks agree.
    pub(crate) fn is_ahead(self, was: f64, is: f64) -> bool {
        if self.is_better_large() { (1.0 - ALIKE) * is > was } else { is < (1.0 - ALIKE) * was }
    }

    /// The value in a row; `None` where nothing of the kind was measured.
    pub(crate) fn of(self, row: &Row) -> Option<f64> {
        use Measure::*;
        let flows = row.flows();
        let tcp: Vec<&FlowResult> = flows.iter().copied().filter(|f| !f.is_udp()).collect();
        let udp: Vec<&FlowResult> = flows.iter().copied().filter(|f| f.is_udp()).collect();
        match self {
            TcpGoodput => goodput(&tcp),
            UdpGoodput => goodput(&udp),
            FlowGoodput => None,
            Rtt => round_trip(&tcp),
            SlowestRtt => slowest(&tcp),
            OneWay => one_way(&udp),
            Mos => udp.iter().filter_map(|f| f.real_time?.mos).min_by(f64::total_cmp),
            TcpLoss => lost(&tcp),
            Resent => lost(&tcp).is_none().then(|| share(&tcp, |f| Some(f.retransmitted_packets)))?,
            UdpLoss => lost(&udp),
            Completion => match row.flow {
                Some(flow) => flow.completion_s.or(flow.unfinished.then_some(f64::INFINITY)),
                None => row.variant.completion_s.map(|t| p95(&t, UNFINISHED)),
            },
            Response => times(row, |f| f.response_s, row.variant.response_s),
            Page => times(row, |f| f.page_s, row.variant.page_s),
            Jain => fairest(row),
        }
    }
}

/// What a goal is measured by in a variant, the first that is known.
pub(crate) fn measures(goal: Goal) -> &'static [Measure] {
    match goal {
        Goal::Goodput => &[Measure::TcpGoodput, Measure::UdpGoodput],
        Goal::Delay => &[Measure::OneWay, Measure::Rtt],
        Goal::Completion => &[Measure::Completion, Measure::Response],
        Goal::Page => &[Measure::Page],
        Goal::Fairness => &[Measure::Jain],
    }
}

fn goodput(flows: &[&FlowResult]) -> Option<f64> {
    (!flows.is_empty()).then(|| flows.iter().map(|f| f.goodput_mbps).sum())
}

fn round_trip(tcp: &[&FlowResult]) -> Option<f64> {
    let known = || tcp.iter().filter(|f| f.rtt_ms.max > 0.0);
    let weight: f64 = known().map(|f| f.sent_packets as f64).sum();
    let sum: f64 = known().map(|f| f.sent_packets as f64 * f.rtt_ms.p95).sum();
    (weight > 0.0).then(|| sum / weight)
}

fn slowest(tcp: &[&FlowResult]) -> Option<f64> {
    let each = tcp.iter().filter(|f| f.rtt_ms.max > 0.0).map(|f| f.rtt_ms.p95);
    each.max_by(f64::total_cmp).filter(|_| tcp.len() > 1)
}

fn one_way(udp: &[&FlowResult]) -> Option<f64> {
    let delay = |f: &FlowResult| f.real_time.map_or(f.rtt_ms, |r| r.delay_ms);
    let felt: Vec<&&FlowResult> = udp.iter().filter(|f| is_felt(f)).collect();
    let of = |flows: &[&&FlowResult]| {
        flows.iter().map(|f| delay(f)).filter(|d| d.max > 0.0).map(|d| d.p95).max_by(f64::total_cmp)
    };
    if felt.is_empty() { of(&udp.iter().collect::<Vec<_>>()) } else { of(&felt) }
}

/// Calls and probes: what someone listens to or looks at.
fn is_felt(flow: &FlowResult) -> bool {
    ["voice", "probe"].contains(&flow.app.as_str()) || flow.real_time.is_some_and(|r| r.mos.is_some())
}

/// `None` where some flow does not know, or nothing was sent.
fn share(flows: &[&FlowResult], count: impl Fn(&FlowResult) -> Option<u64>) -> Option<f64> {
    let sent: u64 = flows.iter().map(|f| f.sent_packets).sum();
    let counted = flows.iter().map(|f| count(f)).sum::<Option<u64>>()?;
    (sent > 0).then(|| counted as f64 / sent as f64)
}

pub(crate) fn lost(flows: &[&FlowResult]) -> Option<f64> {
    share(flows, |f| f.lost_packets)
}

/// The 95th percentile; none came to it where more than `allowed` of all did not end.
fn p95(t: &TimesSummary, allowed: f64) -> f64 {
    let all = (t.count + t.unfinished) as f64;
    if t.count == 0 || t.unfinished as f64 > allowed * all { f64::INFINITY } else { t.p95 }
}

/// Times of exchanges that follow each other: the run's end cuts one short, which says nothing.
fn times(
    row: &Row,
    own: impl Fn(&FlowResult) -> Option<TimesSummary>,
    all: Option<TimesSummary>,
) -> Option<f64> {
    let times = row.flow.map_or(all, own)?;
    Some(p95(&times, 1.0)).filter(|_| times.count + times.unfinished > 0)
}
