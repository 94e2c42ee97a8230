//! A fit as data, as `longfat fit --json` prints it.

use crate::verdict::SummaryVerdict;
use serde::{Deserialize, Serialize};

/// The schema's name and version, first key of every fit.
pub const FIT_SCHEMA: &str = "longfat-fit/1";

/// A scenario that behaves as a captured path did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fit {
    /// What this is, and its version.
    #[cfg_attr(test, schemars(extend("const" = FIT_SCHEMA)))]
    pub schema: String,
    /// One sentence: what the path is, and how well it fits.
    pub headline: String,
    /// What limits the path: `policer`, `shaper`, `link`; `none` where nothing that was captured reached a limit.
    pub limiter: String,
    /// How likely that kind is beside all others that were tried, 0 to 1.
    pub confidence: f64,
    /// Other kinds that the capture does not rule out, the likeliest first.
    #[serde(default)]
    pub other_kinds: Vec<FitKind>,
    /// Policers where there are several, each for some of the flows; none where one limiter is for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policers: Vec<FitPolicer>,
    /// The capture beside the scenario: all flows in the direction of the data together.
    pub compared: FitComparison,
    /// How far the two are apart: the root mean square of the differences, each in units of what chance and measuring make of
    /// it; about 1 is as good as it gets.
    pub misfit: f64,
    /// Each number that was fitted, and what else fits nearly as well.
    pub values: Vec<FitValue>,
    /// Others on the line that do not react, as a rate over time; none where the capture shows none.
    #[serde(default)]
    pub cross: Vec<FitCross>,
    /// What the capture could not tell, a sentence each.
    pub not_told: Vec<String>,
    /// What was simulated.
    pub simulated: FitRuns,
    /// What a summary (iperf3, `ss`) says before anything is simulated; absent where a capture or a result was fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SummaryVerdict>,
    /// The scenario, as TOML.
    pub scenario: String,
}

/// A kind of limiter that may be the true one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitKind {
    /// As [`Fit::limiter`].
    pub limiter: String,
    /// How likely it is, 0 to 1.
    pub probability: f64,
    /// Its rate, Mbit/s.
    pub rate_mbps: f64,
    /// Its bucket, kB; zero of a line.
    pub bucket_kb: f64,
    /// Its queue, kB; zero of a policer.
    pub queue_kb: f64,
}

/// A policer that is not for all flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitPolicer {
    /// Flows of the scenario that pass it, by name.
    pub flows: Vec<String>,
    /// Its rate, Mbit/s.
    pub rate_mbps: f64,
    /// Its bucket, kB.
    pub bucket_kb: f64,
    /// Each connection of these flows has one like it.
    pub per_flow: bool,
}

/// The same figures of capture and scenario.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitComparison {
    /// Of the capture.
    pub captured: FitFigures,
    /// Of the scenario: means over seeds.
    pub fitted: FitFigures,
    /// Standard deviation of the scenario's figures from seed to seed.
    pub spread: FitFigures,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitFigures {
    /// Payload of all flows, each over its own time, Mbit/s.
    pub goodput_mbps: f64,
    /// Least round trip, ms.
    pub rtt_min_ms: f64,
    /// Median, ms; of all packets, or where only summaries of several flows are known the geometric mean, weighted by packets.
    pub rtt_p50_ms: f64,
    /// 95th percentile, ms; likewise.
    pub rtt_p95_ms: f64,
    /// Data packets that were sent again, share, 0 to 1.
    pub resent: f64,
}

/// Others on the line, for a while.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitCross {
    /// Seconds from the first packet on.
    pub from_s: f64,
    /// Likewise.
    pub to_s: f64,
    /// IP bytes, Mbit/s.
    pub rate_mbps: f64,
}

/// A number of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitValue {
    /// What it is: `rate`, `bucket`, `queue`, `base RTT` ….
    pub name: String,
    /// In `unit`.
    pub value: f64,
    /// `Mbit/s`, `kB`, `ms`, `%`, `packets`.
    pub unit: String,
    /// Least and greatest value that fit nearly as well, the others held.
    pub range: [f64; 2],
}

/// What was simulated.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitRuns {
    /// Runs.
    pub runs: u64,
    /// Seconds of the path's time that each took.
    pub seconds: f64,
    /// Seconds of what was measured, of which they are the first.
    #[serde(default)]
    pub of_seconds: f64,
    /// Data packets in all of them.
    pub packets: u64,
}
