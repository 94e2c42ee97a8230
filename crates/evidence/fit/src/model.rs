//! A fit as data, as `longfat fit --json` prints it.

use crate::verdict::SummaryVerdict;
use serde::{Deserialize, Serialize};

/// The schema's name and version, the first key of every fit.
pub const FIT_SCHEMA: &str = "longfat-fit/2";

/// A scenario that behaves as a captured path did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fit {
    /// The schema's name and version.
    #[cfg_attr(test, schemars(extend("const" = FIT_SCHEMA)))]
    pub schema: String,
    /// The path, and how well it fits.
    pub headline: String,
    /// The limiter of the path: `policer`, `shaper`, `link`; `none` if the captured flows reached no limit.
    pub limiter: String,
    /// Probability of that kind among all kinds that were tried, 0 to 1.
    pub confidence: f64,
    /// Other kinds that the capture does not rule out, the most probable first.
    #[serde(default)]
    pub other_kinds: Vec<FitKind>,
    /// Policers, if there are several, each for some of the flows; empty if one limiter is for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policers: Vec<FitPolicer>,
    /// Capture and scenario compared: all flows in the direction of the data together.
    pub compared: FitComparison,
    /// The figures that differ by more than in a good fit, in words; empty where the scenario can be relied
    /// on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misfits: Vec<String>,
    /// Root mean square of the differences, each in units of the difference that chance and measurement
    /// make; about 1 in a perfect fit.
    pub misfit: f64,
    /// Each number of the path, with the range that fits nearly as well.
    pub values: Vec<FitValue>,
    /// Cross traffic that does not react, as a rate over time; empty if the capture shows none.
    #[serde(default)]
    pub cross: Vec<FitCross>,
    /// What the capture does not show, a sentence each.
    pub not_shown: Vec<String>,
    /// The runs of the search.
    pub simulated: FitRuns,
    /// The verdict on a summary (iperf3, `ss`) before anything is simulated; absent if a capture or a result
    /// was fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SummaryVerdict>,
    /// The scenario, as TOML.
    pub scenario: String,
}

/// A kind of limiter that the capture does not rule out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitKind {
    /// As [`Fit::limiter`].
    pub limiter: String,
    /// Probability, 0 to 1.
    pub probability: f64,
    /// Rate, Mbit/s.
    pub rate_mbps: f64,
    /// Bucket, kB; zero for a link.
    pub bucket_kb: f64,
    /// Queue, kB; zero for a policer.
    pub queue_kb: f64,
}

/// A policer for some of the flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitPolicer {
    /// Names of the scenario's flows that pass it.
    pub flows: Vec<String>,
    /// Rate, Mbit/s.
    pub rate_mbps: f64,
    /// Bucket, kB.
    pub bucket_kb: f64,
    /// Each connection of these flows has a policer like it.
    pub per_flow: bool,
}

/// The figures of capture and scenario.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitComparison {
    /// Figures of the capture.
    pub captured: FitFigures,
    /// Figures of the scenario: means over seeds.
    pub fitted: FitFigures,
    /// Standard deviation of the scenario's figures from seed to seed.
    pub spread: FitFigures,
}

/// The figures by which capture and scenario are compared.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitFigures {
    /// Payload of all flows, each over its own duration, Mbit/s.
    pub goodput_mbps: f64,
    /// Least round trip, ms.
    pub rtt_min_ms: f64,
    /// Median round trip of all packets, ms; of summaries of several flows the geometric mean of their
    /// medians, weighted by packets.
    pub rtt_p50_ms: f64,
    /// 95th percentile of round trips, ms; of several flows as for the median.
    pub rtt_p95_ms: f64,
    /// Share of the data packets that were sent again, 0 to 1.
    pub retransmitted_share: f64,
}

/// Cross traffic for a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitCross {
    /// Start, seconds after the first packet.
    pub from_s: f64,
    /// End, seconds after the first packet.
    pub to_s: f64,
    /// Rate of IP bytes, Mbit/s.
    pub rate_mbps: f64,
}

/// A number of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitValue {
    /// Name: `rate`, `bucket`, `queue`, `base RTT` ….
    pub name: String,
    /// Value in `unit`.
    pub value: f64,
    /// `Mbit/s`, `kB`, `ms`, `%`, `packets`.
    pub unit: String,
    /// Least and greatest value that fit nearly as well with all other numbers unchanged; of a number that
    /// the diagnosis measured, how far off that may be.
    pub range: [f64; 2],
}

/// The runs of a search.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitRuns {
    /// Number of runs.
    pub runs: u64,
    /// Simulated seconds of each run.
    pub seconds: f64,
    /// Seconds of the measurement; the runs reproduce the first `seconds` of it.
    #[serde(default)]
    pub of_seconds: f64,
    /// Data packets of all runs.
    pub packets: u64,
}
