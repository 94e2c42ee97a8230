//! The result schema, as `--json` prints it.

use crate::topology::Setting;
use crate::{
    ElementSeries, FaultResult, FlowOutage, FlowSeries, Histogram, Limitation, LimitationSearch, Topology,
    Trust,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::Goal;

/// The schema's name and version, first key of every result.
pub const SCHEMA: &str = "longfat-result/2";

/// One run of a scenario: every variant, each with its flows and elements.
///
/// With repeats (`--repeat N`) the numbers of variants, flows and elements are means over the repeats; counts
/// are rounded to the nearest integer. A percentile is the mean of the repeats' percentiles: it says what to
/// expect of one run, and is not the percentile of all samples pooled. Minima and maxima (`rtt_ms.min`,
/// `rtt_ms.max`, `delay_ms.max`, `max_queue_packets`) are taken over all repeats. Confidence intervals are in
/// [`VariantResult::repeats`] and [`FlowResult::repeats`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Name and version of the schema.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The run's id, 32 hexadecimal digits: a hash of the program, the scenario, the settings and the
    /// outcome. Every file of a result carries it. Absent in results of older versions.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub run_id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The scenario's own description; absent where it has none.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub description: String,
    /// Seed of the first repeat.
    pub seed: u64,
    /// The goals by which variants are judged, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub goals: Vec<Goal>,
    /// The variant that the others are compared with; absent where none is chosen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<String>,
    /// What is wrong and what to do: one English sentence of some twenty words. Absent where there is no
    /// flow.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub headline: Option<String>,
    /// The evidence for the headline and the cost of its advice: English sentences with their numbers.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub facts: Vec<String>,
    /// Warnings, in English: settings of the scenario that are probably unintended, and reasons to distrust
    /// the numbers of this run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// The warnings as data, in the order of `warnings`; absent in older results.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[serde(alias = "warned")]
    pub warning_data: Vec<RunWarning>,
    /// The expectations given with `--expect`, and whether each was met.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub expectations: Vec<Expectation>,
    /// Whether a run failed or was stopped, so that part of what was requested is missing. Absent: false.
    #[serde(skip_serializing_if = "is_false", default)]
    pub partial: bool,
    /// Variants in the scenario's order. A variant that ran on both clocks appears twice, the simulator's
    /// result first.
    pub variants: Vec<VariantResult>,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            schema: SCHEMA.into(),
            run_id: String::new(),
            scenario: String::new(),
            description: String::new(),
            seed: 0,
            goals: Vec::new(),
            baseline: None,
            headline: None,
            facts: Vec::new(),
            warnings: Vec::new(),
            warning_data: Vec::new(),
            expectations: Vec::new(),
            partial: false,
            variants: Vec::new(),
        }
    }
}

/// A warning as data: its kind, the key it is about and the values it names.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunWarning {
    /// Kind of warning: `small-bucket`, `unlimited` …; `trust` for a doubtful measurement on the kernel
    /// (`VariantResult::trust` holds the reasons).
    pub kind: String,
    /// The scenario key that the warning is about, as `--set` takes it; absent where it is about no single
    /// key.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub key: String,
    /// Values named in the warning's text, by placeholder.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub values: BTreeMap<String, String>,
    /// The variants that the warning applies to; absent where it applies to all.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub variants: Vec<String>,
}

/// A condition that was expected of a variant (`--expect`), and the measured value.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expectation {
    /// The condition as it was written: `upload.goodput > 18Mbit/s`.
    pub expected: String,
    /// The variant that was checked.
    pub variant: String,
    /// The clock that drove the variant.
    pub clock: Clock,
    /// The measured value, in `unit`. Absent where nothing was measured; the condition then counts as not
    /// met.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<f64>,
    /// Unit of `measured`: `Mbit/s`, `%`, `ms`, `s`; empty for counts and indexes.
    pub unit: String,
    /// Whether the condition was met.
    pub met: bool,
}

/// The clock that drove a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Virtual time of the simulator.
    #[default]
    Sim,
    /// Real time, with the kernel's TCP.
    Kernel,
}

impl Clock {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Sim => "sim",
            Clock::Kernel => "kernel",
        }
    }
}

/// Results of one variant.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantResult {
    /// Name of the variant.
    pub name: String,
    /// The clock that drove the variant.
    pub clock: Clock,
    /// Duration of the run, s: simulated or measured.
    pub duration_s: f64,
    /// Begin and end of the interval over which every rate of this variant counts, s since the start of the
    /// run: the scenario's `measure`; by default from the first start of a flow until all flows are done or
    /// the run ends. Where flows were measured one at a time, each rate counts over the interval of its own
    /// run, and this reaches from the first to the last.
    #[serde(default)]
    pub measured_s: [f64; 2],
    /// Flows in the scenario's order; a flow with a count of n appears as `name-1` … `name-n`.
    pub flows: Vec<FlowResult>,
    /// Path elements in the order in which packets pass them.
    pub elements: Vec<ElementResult>,
    /// Sum of the flows' goodputs, Mbit/s. All count over the same interval, so the sum does not exceed the
    /// path's capacity, except where flows were measured one at a time.
    pub total_goodput_mbps: f64,
    /// Goodput of all TCP flows together, Mbit/s; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp_goodput_mbps: Option<f64>,
    /// Goodput of all datagram flows together, Mbit/s; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub udp_goodput_mbps: Option<f64>,
    /// Times from start to last byte, s, of the finite flows that completed; absent where no flow is finite.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_s: Option<TimesSummary>,
    /// Response times, s, from request to last byte of the answer, over all flows; absent where no flow
    /// sends requests.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_s: Option<TimesSummary>,
    /// Load times of whole pages, s, over all flows; absent where no flow loads pages.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_s: Option<TimesSummary>,
    /// Jain's fairness index over the flows' goodputs (TCP flows only, if there are any); for transfers of a
    /// fixed size, over size divided by own duration. Absent where equal shares cannot be expected: a single
    /// flow, flows measured one at a time, and flows that differ in application or size, share no direction
    /// of a link, have different rate limits, or did not start together (within a tenth of the lifetime of
    /// the longest).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jain_index: Option<f64>,
    /// The tightest rate limit that all flows share, Mbit/s; for a train's radio link and a repeating trace
    /// its mean, which a short run may exceed. Absent where there is none, or where the limit varies in
    /// another manner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_mbps: Option<f64>,
    /// Hosts, links and stages that the packets pass; absent where unknown, as for a capture.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<Topology>,
    /// Settings of the scenario other than the path's stages that differ from the defaults; absent in older
    /// results.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settings: Vec<Setting>,
    /// Faults injected by the scenario, in its order; their effect on each flow is in
    /// [`FlowResult::outages`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub faults: Vec<FaultResult>,
    /// Whether each flow was measured alone, in a run of its own; elements are then named `element@flow`.
    /// Absent: false.
    #[serde(skip_serializing_if = "is_false", default)]
    pub one_at_a_time: bool,
    /// Means and confidence intervals; absent where the variant ran once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeats: Option<Repeats>,
    /// Whether the measurement can be trusted, the worst of several runs. Absent for simulated variants.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trust: Option<Trust>,
    /// What limits the flows of this variant, the largest gain first; only for the baseline, and only where
    /// a headline was requested. Found by simulated runs, even where the variant itself ran on the
    /// kernel.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[serde(alias = "held_by")]
    pub limited_by: Vec<Limitation>,
    /// How `limited_by` was searched for; absent where it was not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(alias = "holder_search")]
    pub limitation_search: Option<LimitationSearch>,
}

fn is_false(b: &bool) -> bool {
    !b
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A mean over repeats with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Mean over the repeats.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t).
    pub ci95: f64,
}

/// Numbers of a variant over its repeats; each repeat has its own seed.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeats {
    /// Number of repeats.
    pub n: usize,
    /// Seeds, in the order of the repeats.
    pub seeds: Vec<u64>,
    /// Whether every repeat gave the same numbers because nothing in them was random; the intervals then
    /// have width 0 and carry no information. Absent: false.
    #[serde(skip_serializing_if = "is_false", default)]
    pub identical: bool,
    /// Sum of the flows' goodputs, Mbit/s.
    pub total_goodput_mbps: Estimate,
    /// Retransmitted packets of all flows.
    pub retransmitted_packets: Estimate,
    /// Mean RTT, ms, of the TCP flow with the largest mean in each repeat; absent without TCP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_mean_ms: Option<Estimate>,
    /// Jain's fairness index; absent where [`VariantResult::jain_index`] is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jain_index: Option<Estimate>,
    /// Values of each repeat, in the order of `seeds`, by measure: `goodput`, `rtt.p95`, `tcp.lost`,
    /// `upload.rtt.mean`. A measure is absent where a repeat has no value of it; with more than 16 flows
    /// only measures of all flows together are kept. Variants are compared by the differences of repeats
    /// with the same seed.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<f64>>,
}

/// Numbers of a flow over the repeats.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowRepeats {
    /// Goodput, Mbit/s.
    pub goodput_mbps: Estimate,
    /// Retransmitted packets.
    pub retransmitted_packets: Estimate,
    /// Mean RTT, ms.
    pub rtt_mean_ms: Estimate,
}

/// Results of one flow.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// Name of the flow.
    pub name: String,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Congestion control; `udp` for datagram flows.
    pub cc: String,
    /// Kind of the flow's packets. Older results lack it; it is then derived from `cc` and `app`.
    #[serde(default)]
    pub kind: FlowKind,
    /// Kind of the application, as in scenarios; absent in older results.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub app: String,
    /// Payload delivered to the receiving application over the variant's measured interval
    /// ([`VariantResult::measured_s`]), Mbit/s; for requests and answers, in the direction that carries
    /// more.
    pub goodput_mbps: f64,
    /// Lifetime of the flow, s: from its established connection, or from when its first datagram was due,
    /// until it was done or the run ended.
    #[serde(default)]
    pub active_s: f64,
    /// Data packets sent, including retransmissions.
    pub sent_packets: u64,
    /// Retransmitted data packets, included in `sent_packets`.
    pub retransmitted_packets: u64,
    /// RTTs of a TCP flow, ms, weighted by time: a sample counts for the time since the previous one, so
    /// that slow periods, which have few ACKs, count for as long as they last. Absent without a sample
    /// and for datagram flows, whose delay is in `real_time`.
    #[serde(skip_serializing_if = "RttSummary::is_empty", default)]
    pub rtt_ms: RttSummary,
    /// RTTs of a TCP flow, ms, each ACK's sample counted once, for comparison with a capture. Absent where
    /// `rtt_ms` is.
    #[serde(skip_serializing_if = "RttSummary::is_empty", default)]
    pub rtt_acks_ms: RttSummary,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Payload bytes delivered in the whole run, in the direction that `goodput_mbps` counts.
    pub delivered_bytes: u64,
    /// Completed exchanges of `request` flows, or pages of `page` flows; absent for others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completed: Option<u64>,
    /// Time from the flow's start to its last byte at the receiving application, s; absent where the flow is
    /// not finite or did not complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_s: Option<f64>,
    /// Whether a finite flow did not complete. Absent: false.
    #[serde(skip_serializing_if = "is_false", default)]
    pub unfinished: bool,
    /// Response times, s, from request to last byte of the answer; only for `request` and `page` flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_s: Option<TimesSummary>,
    /// Load times of whole pages, s; only for `page` flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_s: Option<TimesSummary>,
    /// Delay, jitter, loss and call quality as a receiver that plays datagrams out sees them; absent for TCP
    /// flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub real_time: Option<RealTime>,
    /// Data packets that the path dropped; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
    /// Share of the lifetime spent in each state of the congestion control, largest first; with relays, of
    /// the first connection, as in the time series. Absent without time series and for datagram flows.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub states: Vec<StateTime>,
    /// Share of the flow's lifetime, 0 to 1, in which nothing was sent until a retransmission timeout fired;
    /// absent where `states` is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_wait: Option<f64>,
    /// Payload bytes of a full-sized segment; absent for datagram flows and where unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mss_bytes: Option<u32>,
    /// The tightest rate limit on this flow's path, Mbit/s; absent as [`VariantResult::limit_mbps`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_mbps: Option<f64>,
    /// Effect of each fault on this flow, in the order of [`VariantResult::faults`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub outages: Vec<FlowOutage>,
    /// Means and confidence intervals; absent where the variant ran once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeats: Option<FlowRepeats>,
}

/// Kind of a flow's packets, which decides the kind of its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// TCP segments; the delay is a round trip.
    #[default]
    Tcp,
    /// Datagrams; the delay is one-way.
    Datagrams,
    /// Datagrams that the receiver returns; the delay is a round trip.
    Probe,
}

/// A state of the congestion control and its share of the flow's lifetime.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateTime {
    /// Name of the state, as in [`FlowSeries::states`].
    pub state: String,
    /// Share of the flow's lifetime, 0 to 1.
    pub share: f64,
    /// Number of times that the state was entered.
    pub entered: u64,
}

impl FlowResult {
    /// Whether the flow sends datagrams, including probes.
    pub fn is_udp(&self) -> bool {
        self.kind != FlowKind::Tcp
    }

    /// Payload delivered over the flow's own lifetime ([`FlowResult::active_s`]), Mbit/s: the rate that a
    /// program such as iperf3 reports of its own transfer. Such rates of several flows must not be added, as
    /// they count over different intervals.
    pub fn own_goodput_mbps(&self) -> f64 {
        if self.active_s > 0.0 { self.delivered_bytes as f64 * 8e-6 / self.active_s } else { 0.0 }
    }
}

impl VariantResult {
    /// The flows that comparisons use: TCP flows, or all flows if there is no TCP.
    pub fn compared_flows(&self) -> impl Iterator<Item = &FlowResult> {
        let all_udp = self.flows.iter().all(FlowResult::is_udp);
        self.flows.iter().filter(move |f| all_udp || !f.is_udp())
    }

    /// Computes the variant's total goodput, and that of TCP and of datagrams, from its flows.
    pub(crate) fn sum_up(&mut self) {
        let goodput_of = |udp: bool| {
            let flows = || self.flows.iter().filter(move |f| f.is_udp() == udp);
            flows().next().is_some().then(|| flows().map(|f| f.goodput_mbps).sum())
        };
        (self.tcp_goodput_mbps, self.udp_goodput_mbps) = (goodput_of(false), goodput_of(true));
        self.total_goodput_mbps = self.tcp_goodput_mbps.unwrap_or(0.0) + self.udp_goodput_mbps.unwrap_or(0.0);
    }
}

/// RTTs or delays, ms; all zero without a sample ([`RttSummary::is_empty`]).
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RttSummary {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl RttSummary {
    /// Summarises the spans counted in a histogram.
    pub fn of(spans: &Histogram) -> RttSummary {
        let (Some(min), Some(max)) = (spans.min(), spans.max()) else { return RttSummary::default() };
        let ends = (min.as_nanos() as f64 / 1e6, max.as_nanos() as f64 / 1e6);
        let mean = spans.sum_nanos() as f64 / spans.samples() as f64 / 1e6;
        RttSummary::with(ends, mean, |q| spans.quantile_nanos(q).unwrap_or_default() / 1e6)
    }

    /// Whether there were no samples.
    pub fn is_empty(&self) -> bool {
        self.max <= 0.0
    }

    /// Makes a summary of minimum and maximum, mean, and a function that returns quantiles, all in ms.
    pub fn with((min, max): (f64, f64), mean: f64, quantile: impl Fn(f64) -> f64) -> RttSummary {
        RttSummary { min, mean, p50: quantile(0.50), p95: quantile(0.95), p99: quantile(0.99), max }
    }
}

/// Durations of completed transfers, exchanges or pages, s.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimesSummary {
    /// Number of completed ones.
    pub count: u64,
    /// Number of those that had begun but not completed.
    pub unfinished: u64,
    /// Mean duration of the completed ones.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

/// Delay, jitter, loss and call quality of a datagram flow, as a receiver that plays packets out sees them. A
/// packet that did not arrive is lost if a later one arrived or the path dropped it; packets still in flight
/// at the end of the run do not count. Duplicates are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RealTime {
    /// One-way delay, ms; round trip for probes.
    pub delay_ms: RttSummary,
    /// Interarrival jitter J (RFC 3550 section 6.4.1), ms: its mean over all packets but the first.
    pub jitter_ms: f64,
    /// Share of packets lost, 0 to 1.
    pub lost: f64,
    /// Number of loss bursts: runs of consecutive lost packets, in sending order.
    pub loss_bursts: u64,
    /// Mean length of a loss burst, packets.
    pub loss_burst_mean: f64,
    /// Longest loss burst, packets.
    pub loss_burst_max: u64,
    /// Share of packets that arrived too late to be played out, 0 to 1: later than the fastest packet's
    /// delay plus the jitter buffer. Only for `voice` flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late: Option<f64>,
    /// Length of the jitter buffer, ms: the scenario's `jitter_buffer`, else 60. It is fixed; an adaptive
    /// one, which most phones have, would trade late packets for delay. Only for `voice` flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_buffer_ms: Option<f64>,
    /// Transmission rating factor R of the E-model (ITU-T G.107). Lost and late packets count as loss; the
    /// delay is that of codec, fastest packet and jitter buffer together. Only for `voice` flows; absent
    /// where ITU-T G.113 does not list the codec.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub r_factor: Option<f64>,
    /// Mean opinion score that follows from `r_factor` (G.107 annex B), 1 to 4.5; absent where that is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mos: Option<f64>,
}

/// Results of one path element.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ElementResult {
    /// Name: `link.direction.stage`.
    pub name: String,
    /// Kind: `policer`, `shaper`, `link` ….
    pub kind: String,
    /// Packets forwarded.
    pub passed_packets: u64,
    /// Packets dropped, without those that were too big (`too_big_packets`).
    pub dropped_packets: u64,
    /// Packets marked, with ECN CE or a DSCP.
    pub marked_packets: u64,
    /// Longest queue, packets.
    pub max_queue_packets: u64,
    /// Packets discarded because they were too big, whether or not an ICMP error was returned to the sender.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub too_big_packets: u64,
    /// Size limit that those packets exceeded; absent where there were none, or where the limit was a bucket
    /// smaller than a packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub too_big: Option<TooBigPackets>,
    /// Packets fragmented here.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub fragmented_packets: u64,
    /// Fragments made of them; each counts in `passed_packets`.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub fragments: u64,
    /// Fragments that were reassembled here, not counting the first of each packet.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub joined_packets: u64,
    /// Time that packets spent in the element, ms.
    pub delay_ms: DelaySummary,
}

/// Packets that exceeded a size limit.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TooBigPackets {
    /// Largest IP packet that fits, bytes, without the headers that a tunnel adds.
    pub mtu_bytes: u32,
    /// Largest IP packet that did not fit, bytes.
    pub largest_bytes: u32,
    /// Whether the senders were notified (ICMP "fragmentation needed", RFC 1191); if not, this is a black
    /// hole (RFC 2923).
    #[serde(alias = "told")]
    pub icmp_sent: bool,
}

/// Time that packets spent in an element, ms.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Summary and time series of one run of a variant.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Outcome {
    pub variant: VariantResult,
    /// Time series of the flows, in the summary's order; empty when sampling was off.
    pub flow_series: Vec<FlowSeries>,
    /// Time series of the elements, in the summary's order; empty when sampling was off.
    pub element_series: Vec<ElementSeries>,
}

impl Outcome {
    /// Completes a run's summary: each flow's time per state from its series, the variant's total goodput
    /// from its flows.
    pub fn new(
        mut variant: VariantResult,
        flow_series: Vec<FlowSeries>,
        element_series: Vec<ElementSeries>,
    ) -> Outcome {
        for flow in &mut variant.flows {
            let series = flow_series.iter().find(|s| s.name == flow.name);
            flow.states = series.map(FlowSeries::state_times).unwrap_or_default();
            flow.timeout_wait = series.and_then(FlowSeries::timeout_wait);
        }
        variant.sum_up();
        Outcome { variant, flow_series, element_series }
    }
}

/// Jain's fairness index, (Σx)² / (n Σx²); 1 without flows or if none delivered anything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}
