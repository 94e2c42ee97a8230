//! The figures of tables and levels, computed once for the terminal, the page and the plots. `crate::number`
//! formats them; the page formats its own.

mod group;
mod quantile;

pub(crate) use group::{CONCURRENT_SHARE, directions};
pub use group::{GroupBy, GroupFigures, MANY_FLOWS, groups};
pub use quantile::{ascending, five_numbers, quantile};

use result::{ElementResult, Estimate, FlowKind, FlowResult, VariantResult};
use result::{Measure, Quantity, Run, Statistic, Subject};
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of a variant, or of one of its flows. Unknown figures are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figures {
    /// Goodput, Mbit/s; absent for flows measured one at a time, whose sum is meaningless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_mbps: Option<f64>,
    /// Half the width of the goodput's 95 % confidence interval over repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_mbps: Option<f64>,
    /// Goodput as a share of the tightest limit, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Goodput of the TCP flows, if there are datagrams too, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_mbps: Option<f64>,
    /// Goodput of the datagrams, if there are TCP flows too, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_mbps: Option<f64>,
    /// Number of compared flows: the TCP flows, or all if there are none.
    pub flows: usize,
    /// Minimum and maximum goodput of the compared flows, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each_mbps: Option<[f64; 2]>,
    /// Jain's fairness index of several similar flows that shared the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain_index: Option<f64>,
    /// Share of TCP's data packets that the path dropped, 0 to 1; absent unless it is known of every flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<f64>,
    /// Retransmissions.
    pub resent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Median RTT over time of the TCP flow with the longest one ([`Measure`]), ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_p50_ms: Option<f64>,
    /// 95th percentile of the RTT of the TCP flow with the longest one, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_p95_ms: Option<f64>,
    /// Mean RTT of the TCP flow with the longest one, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_mean_ms: Option<f64>,
    /// Median time from a flow's start to its last byte, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_p50_s: Option<f64>,
    /// 95th percentile of the time from a flow's start to its last byte, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_p95_s: Option<f64>,
    /// Transfers that did not finish.
    pub unfinished: u64,
    /// Median time from a request to the last byte of its response, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_p50_s: Option<f64>,
    /// 95th percentile of the time from a request to the last byte of its response, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_p95_s: Option<f64>,
    /// Median time to load a whole page, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_p50_s: Option<f64>,
    /// 95th percentile of the time to load a whole page, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_p95_s: Option<f64>,
    /// Median one-way delay of the datagram flow with the longest one, ms; only of calls if there are calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_p50_ms: Option<f64>,
    /// 95th percentile of the one-way delay of the datagram flow with the longest one, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_p95_ms: Option<f64>,
    /// Median round trip of the probe flow with the longest one, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_p50_ms: Option<f64>,
    /// 95th percentile of the round trip of the probe flow with the longest one, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_p95_ms: Option<f64>,
    /// Interarrival jitter (RFC 3550 section 6.4.1) of the datagram flow with the largest one, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<f64>,
    /// Share of datagrams lost by the flow that lost most, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams_lost: Option<f64>,
    /// Lowest mean opinion score of a call (ITU-T G.107 annex B), 1 to 4.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mos: Option<f64>,
    /// Goodput over repeats, Mbit/s: minimum, quartiles, maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_box: Option<[f64; 5]>,
    /// Mean RTT over repeats, ms: minimum, quartiles, maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_box: Option<[f64; 5]>,
    /// Packets that elements dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// Maximum queue of any element, packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queue: Option<u64>,
    /// The limit that all flows share, Mbit/s; for flows measured one at a time, the limit of each if it is
    /// the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_limit_mbps: Option<f64>,
    /// Bandwidth-delay product of the common limit and the minimum RTT, in full packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bdp_packets: Option<f64>,
    /// Names of the congestion controls, without repetition.
    pub cc: String,
}

/// The counters of one stage of the path, over all runs of a variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageFigures {
    /// Packets dropped.
    pub dropped: u64,
    /// Dropped packets as a share of those that arrived, 0 to 1.
    pub drop_share: f64,
    /// Maximum queue, packets.
    pub max_queue: u64,
    /// No other stage dropped more packets.
    pub worst: bool,
}

/// A variant's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantFigures {
    /// Figures of all flows together.
    pub all: Figures,
    /// Figures of each flow, in the variant's order.
    pub flows: Vec<Figures>,
    /// Figures of groups of flows, by the kind of grouping; without kinds that give a single group.
    pub groups: BTreeMap<&'static str, Vec<GroupFigures>>,
    /// The grouping that is shown by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grouped: Option<GroupBy>,
    /// Figures of each stage, by `link.direction.stage`.
    pub stages: BTreeMap<String, StageFigures>,
}

impl VariantFigures {
    /// The figures of a variant.
    pub fn of(variant: &VariantResult) -> VariantFigures {
        let figures = |flow| Row { variant, flow }.figures();
        let flows = variant.flows.iter().map(|flow| figures(Some(flow))).collect();
        let groups = GroupBy::ALL.into_iter().map(|by| (by.name(), groups(variant, by)));
        VariantFigures {
            all: figures(None),
            flows,
            groups: groups.filter(|(_, list)| !list.is_empty() && list.len() < variant.flows.len()).collect(),
            grouped: GroupBy::automatic(variant),
            stages: stages(&variant.elements),
        }
    }
}

/// The figures of stages: sums over `element` and each `element@flow`.
fn stages(elements: &[ElementResult]) -> BTreeMap<String, StageFigures> {
    let mut passed: BTreeMap<&str, u64> = BTreeMap::new();
    let mut stages: BTreeMap<String, StageFigures> = BTreeMap::new();
    for e in elements {
        let id = e.name.split('@').next().unwrap_or_default();
        let stage = stages.entry(id.into()).or_default();
        stage.dropped += e.dropped_packets;
        stage.max_queue = stage.max_queue.max(e.max_queue_packets);
        *passed.entry(id).or_default() += e.passed_packets;
    }
    let most = stages.values().map(|s| s.dropped).max().unwrap_or(0);
    for (id, stage) in &mut stages {
        let came = passed[id.as_str()] + stage.dropped;
        stage.drop_share = if stage.dropped > 0 { stage.dropped as f64 / came as f64 } else { 0.0 };
        stage.worst = most > 0 && stage.dropped == most;
    }
    stages
}

/// Bytes of TCP and IP headers in a full packet.
const HEADERS: f64 = 40.0;

/// The limit that all flows share, Mbit/s; for flows measured one at a time, the limit of each if it is the
/// same.
pub(crate) fn common_limit(variant: &VariantResult) -> Option<f64> {
    let alone = variant.one_at_a_time || variant.flows.len() == 1;
    let first = variant.flows.first()?.limit_mbps.filter(|_| alone);
    let each = first.filter(|_| variant.flows.iter().all(|f| f.limit_mbps == first));
    variant.limit_mbps.or(each)
}

/// The bandwidth-delay product in full packets, from a limit in Mbit/s and the minimum RTT of `flows`; `None`
/// if that RTT or the segment size is unknown.
fn bdp<'a>(limit: f64, flows: impl Iterator<Item = &'a FlowResult> + Clone) -> Option<f64> {
    // The delays of datagrams are one-way.
    let tcp = flows.filter(|f| !f.is_udp() && f.rtt_ms.min > 0.0);
    let rtt_ms = tcp.clone().map(|f| f.rtt_ms.min).min_by(f64::total_cmp)?;
    let mss = tcp.filter_map(|f| f.mss_bytes).max()?;
    Some(limit * 1e3 * rtt_ms / 8.0 / (f64::from(mss) + HEADERS))
}

/// The subject of a table's row.
pub(crate) struct Row<'a> {
    pub variant: &'a VariantResult,
    /// The flow, in a variant whose flows were measured one at a time.
    pub flow: Option<&'a FlowResult>,
}

impl<'a> Row<'a> {
    pub fn flows(&self) -> Vec<&'a FlowResult> {
        self.flow.map_or_else(|| self.variant.flows.iter().collect(), |f| vec![f])
    }

    /// The TCP flows, or all flows if there are none.
    pub fn compared(&self) -> Vec<&'a FlowResult> {
        self.flow.map_or_else(|| self.variant.compared_flows().collect(), |f| vec![f])
    }

    /// The elements of this row's run: all, or those of the flow's own run.
    pub fn elements(&self) -> Vec<&'a ElementResult> {
        let all = &self.variant.elements;
        let Some(flow) = self.flow else { return all.iter().collect() };
        let of_run = |is: &dyn Fn(&str) -> bool| -> Vec<&'a ElementResult> {
            all.iter().filter(|e| e.name.rsplit_once('@').is_some_and(|(_, run)| is(run))).collect()
        };
        let own = of_run(&|run| run == flow.name);
        if own.is_empty() { of_run(&|run| is_one_of(&flow.name, run)) } else { own }
    }

    pub fn goodput(&self) -> f64 {
        self.flow.map_or(self.variant.total_goodput_mbps, |f| f.goodput_mbps)
    }

    /// The goodput's confidence interval over repeats; `None` for identical runs.
    pub fn interval(&self) -> Option<Estimate> {
        let repeats = self.variant.repeats.as_ref().filter(|r| !r.identical)?;
        match self.flow {
            Some(flow) => flow.repeats.map(|r| r.goodput_mbps),
            None => Some(repeats.total_goodput_mbps),
        }
    }

    /// The tightest rate limit, Mbit/s.
    pub fn limit(&self) -> Option<f64> {
        self.flow.and_then(|f| f.limit_mbps).or(self.variant.limit_mbps)
    }

    /// Minimum and maximum goodput of the flows; `None` for the row of a single flow.
    fn each(&self) -> Option<[f64; 2]> {
        let goodputs = || self.compared().into_iter().map(|f| f.goodput_mbps);
        let least = goodputs().fold(f64::INFINITY, f64::min);
        (self.flow.is_none() && least.is_finite()).then(|| [least, goodputs().fold(0.0, f64::max)])
    }

    /// All figures of the row.
    pub fn figures(&self) -> Figures {
        let (variant, flows, elements) = (self.variant, self.compared().len(), self.elements());
        // Flows measured one at a time never shared the path, so their sum is meaningless.
        let together = self.flow.is_some() || !variant.one_at_a_time;
        let goodput_mbps = (together || variant.flows.len() < 2).then(|| self.goodput());
        let limit = self.limit().filter(|&limit| limit > 0.0);
        let own = of_flows(&self.flows(), &self.compared());
        // The measure decides which quantities are pooled over the run and which flows' delays count.
        let run = |measure: Measure| {
            let value = measure.of(variant).filter(|value| value.is_finite());
            value.filter(|_| self.flow.is_none())
        };
        let whole = |quantity, statistic, own: Option<f64>| match self.flow {
            Some(_) => own,
            None => run(Measure::at(quantity, statistic)),
        };
        let lost = run(Measure::new(Quantity::Lost).of_subject(Subject::Datagrams));
        let parts = variant.tcp_goodput_mbps.zip(variant.udp_goodput_mbps);
        let parts = parts.filter(|_| self.flow.is_none() && together);
        let boxes = variant.repeats.as_ref().filter(|r| r.n > 1 && self.flow.is_none() && together);
        let boxes = boxes.map(|r| &r.values);
        Figures {
            goodput_mbps,
            ci95_mbps: goodput_mbps.and(self.interval()).map(|e| e.ci95),
            share: goodput_mbps.zip(limit).map(|(goodput, limit)| goodput / limit),
            tcp_mbps: parts.map(|p| p.0),
            udp_mbps: parts.map(|p| p.1),
            each_mbps: self.each(),
            jain_index: variant.jain_index.filter(|_| self.flow.is_none() && together && flows > 1),
            completion_p50_s: whole(Quantity::Completion, Statistic::P50, own.completion_p50_s),
            completion_p95_s: whole(Quantity::Completion, Statistic::P95, own.completion_p95_s),
            response_p50_s: whole(Quantity::Response, Statistic::P50, own.response_p50_s),
            response_p95_s: whole(Quantity::Response, Statistic::P95, own.response_p95_s),
            page_p50_s: whole(Quantity::Page, Statistic::P50, own.page_p50_s),
            page_p95_s: whole(Quantity::Page, Statistic::P95, own.page_p95_s),
            datagrams_lost: lost.map(|percent| percent / 100.0).or(own.datagrams_lost),
            jitter_ms: run(Measure::new(Quantity::Jitter)).or(own.jitter_ms),
            delay_p50_ms: whole(Quantity::Delay, Statistic::P50, own.delay_p50_ms),
            delay_p95_ms: whole(Quantity::Delay, Statistic::P95, own.delay_p95_ms),
            goodput_box: boxes.and_then(|v| five_numbers(v.get("goodput")?.iter().copied())),
            rtt_box: boxes.and_then(|v| five_numbers(v.get("rtt.mean")?.iter().copied())),
            dropped: (!elements.is_empty()).then(|| elements.iter().map(|e| e.dropped_packets).sum()),
            max_queue: elements.iter().map(|e| e.max_queue_packets).max(),
            common_limit_mbps: match self.flow {
                Some(_) => self.limit(),
                None => common_limit(variant),
            },
            bdp_packets: match self.flow {
                Some(flow) => self.limit().and_then(|limit| bdp(limit, [flow].into_iter())),
                None => common_limit(variant).and_then(|limit| bdp(limit, variant.flows.iter())),
            },
            ..own
        }
    }
}

/// The figures that follow from the flows alone; `compared` are those that are compared with each other.
fn of_flows(flows: &[&FlowResult], compared: &[&FlowResult]) -> Figures {
    let value = |measure: Measure| measure.of_flows(flows).filter(|value| value.is_finite());
    let at = |quantity, statistic| value(Measure::at(quantity, statistic));
    let share = |percent: Option<f64>| percent.map(|p| p / 100.0);
    let count = |quantity| value(Measure::new(quantity)).unwrap_or_default() as u64;
    let kind = |kind: FlowKind| flows.iter().copied().filter(move |f| f.kind == kind).collect::<Vec<_>>();
    let lost = |flows: Vec<&FlowResult>| Measure::new(Quantity::Lost).of_flows(&flows);
    use Quantity::{Completion, Delay, Page, Probe, Response, Rtt};
    use Statistic::{Mean, P50, P95};
    Figures {
        flows: compared.len(),
        lost: share(lost(kind(FlowKind::Tcp))),
        resent: count(Quantity::Resent),
        timeouts: count(Quantity::Timeouts),
        rtt_p50_ms: at(Rtt, P50),
        rtt_p95_ms: at(Rtt, P95),
        rtt_mean_ms: at(Rtt, Mean),
        completion_p50_s: at(Completion, P50),
        completion_p95_s: at(Completion, P95),
        unfinished: flows.iter().filter(|f| f.unfinished).count() as u64,
        response_p50_s: at(Response, P50),
        response_p95_s: at(Response, P95),
        page_p50_s: at(Page, P50),
        page_p95_s: at(Page, P95),
        delay_p50_ms: at(Delay, P50),
        delay_p95_ms: at(Delay, P95),
        probe_p50_ms: at(Probe, P50),
        probe_p95_ms: at(Probe, P95),
        jitter_ms: value(Measure::new(Quantity::Jitter)),
        datagrams_lost: share(lost([kind(FlowKind::Datagrams), kind(FlowKind::Probe)].concat())),
        mos: value(Measure::new(Quantity::Mos)),
        cc: distinct(flows.iter().map(|f| f.cc.as_str())),
        ..Figures::default()
    }
}

/// The names without repetition, in their order.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut list: Vec<&str> = Vec::new();
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
    list.join(", ")
}

/// Whether `name` is a connection of a flow with a `count`: `flow-1`, `flow-2`, …
fn is_one_of(name: &str, flow: &str) -> bool {
    let number = name.strip_prefix(flow).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

pub(crate) fn rows(run: &Run) -> Vec<Row<'_>> {
    run.variants.iter().flat_map(rows_of).collect()
}

/// One row, or one for each flow if they were measured one at a time.
pub(crate) fn rows_of(variant: &VariantResult) -> Vec<Row<'_>> {
    if variant.one_at_a_time && !variant.flows.is_empty() {
        variant.flows.iter().map(|flow| Row { variant, flow: Some(flow) }).collect()
    } else {
        vec![Row { variant, flow: None }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::RttSummary;

    fn flow(cc: &str, sent_packets: u64, p50: f64) -> FlowResult {
        let rtt_ms = RttSummary { min: p50 / 2.0, p50, p95: p50 * 2.0, max: 99.0, ..RttSummary::default() };
        let (goodput_mbps, lost_packets, mss_bytes) = (2.0, Some(1), Some(1460));
        FlowResult {
            cc: cc.into(),
            sent_packets,
            rtt_ms,
            goodput_mbps,
            lost_packets,
            mss_bytes,
            kind: if cc == "udp" { FlowKind::Datagrams } else { FlowKind::Tcp },
            ..FlowResult::default()
        }
    }

    #[test]
    fn figures_of_a_variant_and_its_flows() {
        let flows = vec![flow("cubic", 10, 10.0), flow("cubic", 30, 50.0), flow("udp", 100, 7.0)];
        let (limit_mbps, total_goodput_mbps) = (Some(40.0), 34.0);
        let mut v = VariantResult {
            flows,
            limit_mbps,
            total_goodput_mbps,
            jain_index: Some(0.9),
            ..VariantResult::default()
        };
        let f = VariantFigures::of(&v);
        // The RTT of the TCP flow with the longest one; TCP's losses over TCP's packets.
        assert_eq!(f.all.rtt_p50_ms, Some(50.0));
        assert_eq!(f.all.share, Some(34.0 / 40.0));
        assert!((f.all.lost.unwrap() - 2.0 / 40.0).abs() < 1e-12);
        assert_eq!((f.all.flows, f.all.each_mbps, f.all.jain_index), (2, Some([2.0, 2.0]), Some(0.9)));
        assert_eq!((f.all.dropped, f.all.max_queue, f.all.cc.as_str()), (None, None, "cubic, udp"));
        // A single flow has its own goodput, the common limit, and no parts.
        assert_eq!((f.flows[0].goodput_mbps, f.flows[0].share), (Some(2.0), Some(0.05)));
        assert_eq!(
            (f.flows[0].each_mbps, f.flows[0].jain_index, f.flows[0].rtt_p50_ms),
            (None, None, Some(10.0))
        );
        v.one_at_a_time = true;
        let f = VariantFigures::of(&v).all;
        assert_eq!((f.goodput_mbps, f.share, f.jain_index), (None, None, None));
        v.flows[1].lost_packets = None;
        assert_eq!(VariantFigures::of(&v).all.lost, None, "unknown for one flow");
    }

    #[test]
    fn stages_are_summed_over_the_flows_measured_alone() {
        let e = |name: &str, max_queue_packets, dropped_packets| ElementResult {
            name: name.into(),
            passed_packets: 10,
            dropped_packets,
            max_queue_packets,
            ..ElementResult::default()
        };
        let elements =
            [e("l.forward.link@a", 5, 1), e("l.forward.link@b", 9, 1), e("l.forward.delay@a", 0, 0)];
        let all = stages(&elements);
        let link = StageFigures { dropped: 2, drop_share: 2.0 / 22.0, max_queue: 9, worst: true };
        assert_eq!((all.len(), &all["l.forward.link"]), (2, &link));
        assert_eq!(all["l.forward.delay"], StageFigures::default());
    }

    #[test]
    fn bdp_is_rate_times_delay_in_packets() {
        let mut variant = VariantResult {
            flows: vec![flow("cubic", 1, 60.0), flow("cubic", 1, 120.0)],
            limit_mbps: Some(20.0),
            ..VariantResult::default()
        };
        let bdp = |v: &VariantResult| VariantFigures::of(v).all.bdp_packets;
        // 20 Mbit/s × 30 ms = 75000 B = 50 × 1500 B.
        assert!((bdp(&variant).unwrap() - 50.0).abs() < 1e-9);
        variant.flows[0].kind = FlowKind::Datagrams;
        assert!((bdp(&variant).unwrap() - 100.0).abs() < 1e-9, "a one-way delay is not an RTT");
        variant.limit_mbps = None;
        assert_eq!(bdp(&variant), None);
        variant.flows.iter_mut().for_each(|f| f.limit_mbps = Some(10.0));
        variant.one_at_a_time = true;
        assert!((bdp(&variant).unwrap() - 50.0).abs() < 1e-9, "each flow alone under the same limit");
        variant.flows[1].limit_mbps = Some(20.0);
        assert_eq!(bdp(&variant), None);
        let own = VariantFigures::of(&variant).flows[1].bdp_packets;
        assert!((own.unwrap() - 100.0).abs() < 1e-9, "its own limit and round trip");
    }
}
