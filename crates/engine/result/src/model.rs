//! The result schema, as `--json` prints it.

use crate::topology::Setting;
use crate::{
    ElementSeries, FaultResult, FlowOutage, FlowSeries, Histogram, Holder, HolderSearch, Topology, Trust,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::Goal;

/// The schema's name and version, first key of every result.
pub const SCHEMA: &str = "longfat-result/1";

/// One run of a scenario: every variant, each with its flows and elements.
///
/// With repeats (`--repeat N`) the numbers of variants, flows and elements are means over the
/// repeats, counts rounded to the nearest whole one. So are percentiles: a p95 is the mean of the repeats' 95th percentiles, what a
/// user has to expect of one run, and not the 95th percentile of all their samples together. What is a minimum or a maximum
/// (`rtt_ms.min`, `rtt_ms.max`, `delay_ms.max`, `max_queue_packets`) is the one of all repeats. Intervals are in
/// [`VariantResult::repeats`] and [`FlowResult::repeats`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// What this is, and its version.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// What tells this run from others, 32 hexadecimal digits that follow from program, scenario, settings and outcome:
    /// every file of a result has it. Absent in results of older versions.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub run_id: String,
    /// The scenario's name.
    pub scenario: String,
    /// What the scenario says it is about.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub description: String,
    /// The first repeat's seed.
    pub seed: u64,
    /// What the variants are judged by, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub goals: Vec<Goal>,
    /// The variant that the others are compared with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<String>,
    /// What is wrong and what to do, in English, in some twenty words; absent where there is no flow.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub headline: Option<String>,
    /// What the headline rests on and what its advice costs, in English: each a sentence with its numbers.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub facts: Vec<String>,
    /// What of the scenario is probably not meant, and what makes numbers of this run doubtful.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// The same warnings as data, in the same order; absent in older results.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warned: Vec<RunWarning>,
    /// What was expected of this run (`--expect`), and whether it came so.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub expectations: Vec<Expectation>,
    /// Not all that was asked for was run: a run failed or was ended.
    #[serde(skip_serializing_if = "is_false", default)]
    pub partial: bool,
    /// Variants in the scenario's order. Where a variant was run on both clocks it is here twice, the
    /// simulator's first.
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
            warned: Vec::new(),
            expectations: Vec::new(),
            partial: false,
            variants: Vec::new(),
        }
    }
}

/// A warning as data: what kind, of what, and what of it is told.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunWarning {
    /// What kind it is: `small-bucket`, `unlimited` …; `trust`: a measurement on the kernel (`VariantResult::trust` says why).
    pub kind: String,
    /// The key of the scenario that it is about, as `--set` takes it; absent where it is about none.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub key: String,
    /// What of it is told, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub values: BTreeMap<String, String>,
    /// The variants that it holds for; absent where it holds for all.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub variants: Vec<String>,
}

/// Something that was expected of a variant, and what came.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expectation {
    /// As it was written: `upload.goodput > 18Mbit/s`.
    pub expected: String,
    /// The variant it was held against.
    pub variant: String,
    /// Which clock drove that.
    pub clock: Clock,
    /// What was measured, in `unit`; of several connections the one that is furthest from it. Absent where there was
    /// nothing to measure, and then it is not met.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<f64>,
    /// `Mbit/s`, `%`, `ms`, `s`; empty for counts and indexes.
    pub unit: String,
    /// Whether it came so.
    pub met: bool,
}

/// Which clock drove the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Virtual time.
    #[default]
    Sim,
    /// Real time and the kernel's TCP.
    Kernel,
}

impl Clock {
    /// As results spell it.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Sim => "sim",
            Clock::Kernel => "kernel",
        }
    }
}

/// One variant's outcome.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantResult {
    /// Its name.
    pub name: String,
    /// Which clock drove it.
    pub clock: Clock,
    /// Seconds simulated or measured.
    pub duration_s: f64,
    /// The interval over which every rate of this variant counts, seconds since the run began: the scenario's `measure`,
    /// else from the first start of a flow to the moment when all flows were done, or to the end of the run. Where flows
    /// were measured one at a time each rate counts over its own run's interval, and this is from the first to the last.
    #[serde(default)]
    pub measured_s: [f64; 2],
    /// Flows in the scenario's order; a flow with a count is `name-1`, `name-2` ….
    pub flows: Vec<FlowResult>,
    /// Path elements in the order packets pass them.
    pub elements: Vec<ElementResult>,
    /// Sum of the flows' goodputs, Mbit/s. It is at most what the path carries, as all of them count over the same time;
    /// flows that were measured one at a time share none.
    pub total_goodput_mbps: f64,
    /// The part of it that TCP flows carried; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp_goodput_mbps: Option<f64>,
    /// The part of it that datagrams carried; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub udp_goodput_mbps: Option<f64>,
    /// Times from start to last byte of those flows that have an end and came to it; absent where none has an end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_s: Option<TimesSummary>,
    /// Times from request to last byte of the answer, of all flows; absent where none asks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_s: Option<TimesSummary>,
    /// Times of whole pages, of all flows; absent where none loads pages.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_s: Option<TimesSummary>,
    /// Jain's fairness index over the flows' goodputs (TCP flows only when there are any); of transfers over their sizes,
    /// each divided by its own time. Absent where equal shares are not to be expected: of a single flow, of flows measured
    /// one at a time, and where any two differ in application or size, share no direction of a link, meet other limits, or
    /// did not begin together (within a tenth of the time of the one that was there longest).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jain_index: Option<f64>,
    /// The rate of the tightest limit all flows together meet, Mbit/s; of a train's radio link and of a trace that repeats
    /// its mean, which a short run may exceed. Absent where there is none, or where it changes otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_mbps: Option<f64>,
    /// What the packets pass; absent where it is not known, as of a capture.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<Topology>,
    /// What the scenario says beside the path's stages, beyond defaults; absent in older results.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settings: Vec<Setting>,
    /// What went wrong on purpose, in the scenario's order; what each flow noticed of it is in [`FlowResult::outages`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub faults: Vec<FaultResult>,
    /// Each flow was measured alone, in a run of its own; elements are named `element@flow`.
    #[serde(skip_serializing_if = "is_false", default)]
    pub one_at_a_time: bool,
    /// Means and intervals, when the variant was run more than once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeats: Option<Repeats>,
    /// Whether the measurement can be trusted; on the kernel only. Of several runs the worst.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trust: Option<Trust>,
    /// What holds its flows, the largest gain first: of the baseline, and only where a headline was wanted. Measured by
    /// simulated runs, also where the variant itself was measured on the kernel.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub held_by: Vec<Holder>,
    /// How that was looked for; absent where it was not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holder_search: Option<HolderSearch>,
}

fn is_false(b: &bool) -> bool {
    !b
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A mean over repeats with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval: the mean is within ± this (Student's t).
    pub ci95: f64,
}

/// A variant over its repeats, each with a seed of its own.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeats {
    /// How many.
    pub n: usize,
    /// The seeds, in the order of the repeats.
    pub seeds: Vec<u64>,
    /// Every repeat yielded the same numbers, as nothing in them was random: the intervals, of width 0, say nothing.
    #[serde(skip_serializing_if = "is_false", default)]
    pub identical: bool,
    /// Sum of the flows' goodputs, Mbit/s.
    pub total_goodput_mbps: Estimate,
    /// Retransmissions of all flows.
    pub retransmitted_packets: Estimate,
    /// Mean round trip of the TCP flow whose mean is largest in each repeat, ms; absent without TCP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_mean_ms: Option<Estimate>,
    /// Jain's fairness index; absent as [`VariantResult::jain_index`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jain_index: Option<Estimate>,
    /// What each repeat yielded, in the order of `seeds`, by the name of the measure: `goodput`, `rtt.p95`, `tcp.lost`,
    /// `upload.rtt.mean`. A measure is absent where a repeat has no value of it; of more than 16 flows only those of all together
    /// are kept. Two variants are compared by the differences of the same seed.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<f64>>,
}

/// A flow over the repeats.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowRepeats {
    /// Goodput, Mbit/s.
    pub goodput_mbps: Estimate,
    /// Retransmissions.
    pub retransmitted_packets: Estimate,
    /// Mean RTT, ms.
    pub rtt_mean_ms: Estimate,
}

/// A flow's summary.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Congestion control; `udp` for datagrams.
    pub cc: String,
    /// What its packets are; absent of older results, of which it is worked out.
    #[serde(default)]
    pub kind: FlowKind,
    /// Kind of its application, as scenarios spell it; absent of older results.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub app: String,
    /// Payload delivered to the receiving application in the measured interval of the variant
    /// ([`VariantResult::measured_s`]), Mbit/s; of requests and answers, of those that are larger.
    pub goodput_mbps: f64,
    /// The flow's own time, seconds: from when its connection stood, or its first datagram was due, to when it was done or
    /// the run ended.
    #[serde(default)]
    pub active_s: f64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Retransmissions among `sent_packets`.
    pub retransmitted_packets: u64,
    /// Round-trip times of TCP over time: a sample stands for the time since the one before, so that slow times, which have
    /// few ACKs, count for as long as they last. Absent without a sample, and of datagrams, whose delay is in `real_time`.
    #[serde(skip_serializing_if = "RttSummary::is_empty", default)]
    pub rtt_ms: RttSummary,
    /// The same over ACKs, each sample once, to be compared with a capture's. Absent as above.
    #[serde(skip_serializing_if = "RttSummary::is_empty", default)]
    pub rtt_acks_ms: RttSummary,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Payload bytes delivered in the whole run, of the direction that `goodput_mbps` is of.
    pub delivered_bytes: u64,
    /// Exchanges completed, for `request` flows; pages, for `page` flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completed: Option<u64>,
    /// Seconds from the flow's start to its last byte at the receiving application; absent where it has no end, or did not
    /// come to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_s: Option<f64>,
    /// It has an end and did not come to it.
    #[serde(skip_serializing_if = "is_false", default)]
    pub unfinished: bool,
    /// Times from request to last byte of the answer, for `request` and `page` flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_s: Option<TimesSummary>,
    /// Times of whole pages, for `page` flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_s: Option<TimesSummary>,
    /// What a call would hear, for datagram flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub real_time: Option<RealTime>,
    /// Data packets the path dropped, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
    /// How long it was in each state, longest first; of the first connection where there are relays, as
    /// the time series show it. Absent without time series and for datagrams.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub states: Vec<StateTime>,
    /// Share of the flow's time, 0 to 1, in which nothing moved until a retransmission timeout fired; absent
    /// as `states`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_wait: Option<f64>,
    /// Payload bytes of a full segment; absent for datagrams and where it is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mss_bytes: Option<u32>,
    /// The rate of the tightest limit on this flow's way, Mbit/s; absent as in [`VariantResult::limit_mbps`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_mbps: Option<f64>,
    /// What it noticed of each fault, in the order of [`VariantResult::faults`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub outages: Vec<FlowOutage>,
    /// Means and intervals, when the variant was run more than once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeats: Option<FlowRepeats>,
}

/// What a flow's packets are, and with that which delay it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// Segments of TCP: a round trip.
    #[default]
    Tcp,
    /// Datagrams: a one-way delay.
    Datagrams,
    /// Datagrams that come back: the time there and back.
    Probe,
}

/// A state of the congestion control and how much of the flow's time it took.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateTime {
    /// As in [`FlowSeries::states`].
    pub state: String,
    /// Share of the flow's time, 0 to 1.
    pub share: f64,
    /// How many times it was entered.
    pub entered: u64,
}

impl FlowResult {
    /// Whether it sends datagrams, be they probes that come back.
    pub fn is_udp(&self) -> bool {
        self.kind != FlowKind::Tcp
    }

    /// Payload delivered over the flow's own time ([`FlowResult::active_s`]), Mbit/s: what a program that measures its own
    /// transfer tells, as iperf3 does. Of several flows such rates must not be added: they count over different times.
    pub fn own_goodput_mbps(&self) -> f64 {
        if self.active_s > 0.0 { self.delivered_bytes as f64 * 8e-6 / self.active_s } else { 0.0 }
    }
}

impl VariantResult {
    /// The flows that comparisons are about: the TCP flows, or all when there is none.
    pub fn compared_flows(&self) -> impl Iterator<Item = &FlowResult> {
        let all_udp = self.flows.iter().all(FlowResult::is_udp);
        self.flows.iter().filter(move |f| all_udp || !f.is_udp())
    }

    /// Works out total goodput from the flows.
    pub(crate) fn sum_up(&mut self) {
        let of = |udp: bool| {
            let flows = || self.flows.iter().filter(move |f| f.is_udp() == udp);
            flows().next().is_some().then(|| flows().map(|f| f.goodput_mbps).sum())
        };
        (self.tcp_goodput_mbps, self.udp_goodput_mbps) = (of(false), of(true));
        self.total_goodput_mbps = self.tcp_goodput_mbps.unwrap_or(0.0) + self.udp_goodput_mbps.unwrap_or(0.0);
    }
}

/// Round trips or delays, milliseconds; all zero without a sample ([`RttSummary::is_empty`]).
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RttSummary {
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl RttSummary {
    /// Of spans counted.
    pub fn of(spans: &Histogram) -> RttSummary {
        let (Some(min), Some(max)) = (spans.min(), spans.max()) else { return RttSummary::default() };
        let ends = (min.as_nanos() as f64 / 1e6, max.as_nanos() as f64 / 1e6);
        let mean = spans.sum_nanos() as f64 / spans.samples() as f64 / 1e6;
        RttSummary::with(ends, mean, |q| spans.quantile_nanos(q).unwrap_or_default() / 1e6)
    }

    /// Whether there was no sample.
    pub fn is_empty(&self) -> bool {
        self.max <= 0.0
    }

    /// With quantiles from `quantile`, milliseconds.
    pub fn with((min, max): (f64, f64), mean: f64, quantile: impl Fn(f64) -> f64) -> RttSummary {
        RttSummary { min, mean, p50: quantile(0.50), p95: quantile(0.95), p99: quantile(0.99), max }
    }
}

/// Durations of several transfers, exchanges or pages, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimesSummary {
    /// How many came to their end.
    pub count: u64,
    /// How many had begun and did not come to their end.
    pub unfinished: u64,
    /// Mean of those that did, as all that follows.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

/// What datagrams met on their way, as a receiver that plays them out sees it. A packet that did not arrive is lost if a later
/// one did or the path dropped it; what was under way when the run ended is not counted. Copies are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RealTime {
    /// One-way delay; for probes there and back.
    pub delay_ms: RttSummary,
    /// Interarrival jitter J (RFC 3550 section 6.4.1), its mean over all packets but the first, ms.
    pub jitter_ms: f64,
    /// Share of packets that did not arrive, 0 to 1.
    pub lost: f64,
    /// Runs of lost packets, in the order they were sent.
    pub loss_bursts: u64,
    /// Packets in such a run, mean.
    pub loss_burst_mean: f64,
    /// Packets in such a run, most.
    pub loss_burst_max: u64,
    /// Share of packets that came too late to be played, 0 to 1, for `voice` flows: after the fastest packet's delay and the
    /// jitter buffer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late: Option<f64>,
    /// The jitter buffer in force, ms, for `voice` flows: the scenario's `jitter_buffer`, else 60. It is fixed; one that adapts, as
    /// most phones have, would trade lateness for delay.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_buffer_ms: Option<f64>,
    /// Transmission rating R of the E-model (ITU-T G.107), for `voice` flows; packets that are lost or late are what it
    /// counts as loss, and codec, fastest packet and jitter buffer together are its delay. Absent where the codec is not
    /// in ITU-T G.113.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub r_factor: Option<f64>,
    /// Mean opinion score that follows from it (G.107 annex B), 1 to 4.5.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mos: Option<f64>,
}

/// A path element's summary.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ElementResult {
    /// `link.direction.stage`.
    pub name: String,
    /// `policer`, `shaper`, `link` ….
    pub kind: String,
    /// Packets handed on.
    pub passed_packets: u64,
    /// Packets dropped, those aside that were too big.
    pub dropped_packets: u64,
    /// Packets marked (ECN CE or DSCP).
    pub marked_packets: u64,
    /// The longest queue, packets.
    pub max_queue_packets: u64,
    /// Packets that ended here because they were too big: bounced to their sender, or dropped where it is not told.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub too_big_packets: u64,
    /// What they were too big for; absent where none was, or where a limiter's bucket is smaller than a packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub too_big: Option<TooBigPackets>,
    /// Packets that were cut into fragments here.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub fragmented_packets: u64,
    /// What they became; each counts among `passed_packets`.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub fragments: u64,
    /// Fragments, each packet's first aside, that were joined here to the packets they are part of.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub joined_packets: u64,
    /// Time inside.
    pub delay_ms: DelaySummary,
}

/// Packets that did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TooBigPackets {
    /// The largest IP packet that fits, bytes, as it comes: without the headers that a tunnel adds.
    pub mtu_bytes: u32,
    /// The largest that did not.
    pub largest_bytes: u32,
    /// Their senders were told (ICMP "fragmentation needed", RFC 1191); if not, this is a black hole (RFC 2923).
    pub told: bool,
}

/// Time packets spent inside an element, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// One variant run once: summary and series.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Outcome {
    /// The summary.
    pub variant: VariantResult,
    /// Flows' series, in the summary's order; empty when sampling was off.
    pub flow_series: Vec<FlowSeries>,
    /// Elements' series, in the summary's order; empty when sampling was off.
    pub element_series: Vec<ElementSeries>,
}

impl Outcome {
    /// A run's summary and series; flows get the times of their states from the series, the variant its
    /// total from the flows.
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

/// Jain's fairness index: (Σx)² / (n Σx²); 1 for no flows or none that moved anything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}
