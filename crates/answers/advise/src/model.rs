//! A plan as data, as `longfat plan --json` prints it.

use result::{Change, ChangePlace};
use serde::{Deserialize, Serialize};
use units::Goal;

/// Name and version of the schema, the first key of every plan.
pub const PLAN_SCHEMA: &str = "longfat-plan/3";

/// Ranked cures for a scenario, and the advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// Name and version of this format.
    #[cfg_attr(test, schemars(extend("const" = PLAN_SCHEMA)))]
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// The variant that the plan is for.
    pub variant: String,
    /// Other variants of the scenario that the plan could have been made for; empty where the user named
    /// one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_variants: Vec<String>,
    /// The objective that cures are ranked by.
    pub objective: Goal,
    /// The advice in one sentence: who does what, and what it gains for which goal.
    pub advice: String,
    /// Facts behind the advice: the gain, side effects, and why no other cure is advised; a sentence each.
    #[serde(default)]
    pub facts: Vec<String>,
    /// Why the figures say nothing about the real path, such as a bad fit; absent where they can be trusted.
    /// No cure is advised then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub distrust: Option<String>,
    /// Name of the advised cure; absent where none is advised.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub advised: Option<String>,
    /// Calls, games and probes of the scenario. If empty, [`PlanFigures::voice`] is that of an added call.
    #[serde(default)]
    pub calls: Vec<String>,
    /// Figures of the unchanged scenario.
    pub now: PlanFigures,
    /// The finalists, which were run in full, the best first. All ran for the same time and with the same
    /// seeds.
    pub cures: Vec<RankedCure>,
    /// Cures that were only screened, the best first. Their figures come from shorter runs with fewer seeds
    /// ([`SimulatedRuns`]) and cannot be compared with those of `cures`.
    #[serde(default)]
    pub screened: Vec<RankedCure>,
    /// Cures that were not tried, and why.
    pub untried: Vec<UntriedCure>,
    /// The simulated runs.
    pub simulated: SimulatedRuns,
}

/// A mean and its 95 % interval over seeds. For several equally likely scenarios, the interval covers that of
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanRange {
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Figures over all seeds and scenarios.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanFigures {
    /// The figure that cures are ranked by, in the goal's unit.
    #[serde(default)]
    pub goal_value: PlanRange,
    /// Goodput of all TCP flows, or of all flows if there is no TCP, in Mbit/s.
    pub goodput_mbps: PlanRange,
    /// 95th percentile over time of TCP's round-trip time, in ms, for the flow where it is longest; without
    /// TCP, of the datagrams' delay.
    pub p95_delay_ms: PlanRange,
    /// 95th percentile of the time from start to last byte, or from request to the response's last byte, in
    /// s; absent where no flow has an end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_s: Option<PlanRange>,
    /// 95th percentile of the page load time, in s; absent without pages.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_s: Option<PlanRange>,
    /// Jain's fairness index; absent where equal shares are not expected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fairness: Option<PlanRange>,
    /// Share of TCP's packets that were retransmissions, 0 to 1.
    pub retransmitted_share: f64,
    /// Figures of flows whose users notice them: calls, games, probes, other datagrams, requests, pages and
    /// transfers with an end.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub users: Vec<UserFigures>,
    /// The scenario's worst call, else its worst game, else its worst probe. Where it has none, an added
    /// call (G.711, best effort, the worse direction), which is measured in separate runs and not for
    /// cures that were only screened.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub voice: Option<VoiceCost>,
}

/// Figures that a flow's user notices: means over seeds and scenarios.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserFigures {
    /// The flow's name.
    pub name: String,
    /// Kind of the flow: `call`, `datagrams`, `probe`, `requests`, `pages` or `transfer`.
    pub kind: String,
    /// 95th percentile of the one-way delay, in ms; for a probe, of the round-trip time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p95_delay_ms: Option<f64>,
    /// Share of its packets that were lost, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<f64>,
    /// Mean opinion score of a call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mos: Option<f64>,
    /// 95th percentile of the time of its responses, pages or transfers, in s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p95_s: Option<f64>,
}

/// Quality of a call over the same path as the data.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VoiceCost {
    /// 95th percentile of the one-way delay, in ms.
    pub p95_delay_ms: f64,
    /// Share of its packets that were lost, 0 to 1.
    pub lost: f64,
    /// Mean opinion score (ITU-T G.107), 1 to 4.5; absent where nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mos: Option<f64>,
}

/// Whether a cure helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CureEffect {
    /// The whole interval of the gain is above zero, and its mean is at least 2 % of the figure without the
    /// cure.
    Gains,
    /// Neither a gain nor a loss.
    #[default]
    NoDifference,
    /// The whole interval of the gain is below zero, and its mean is at least 2 % of the figure without the
    /// cure.
    Loses,
}

/// A cure, or several combined.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RankedCure {
    /// Names of its steps, joined by `+`.
    pub name: String,
    /// Short description.
    pub title: String,
    /// The parties that must be able to apply it.
    pub by: Vec<ChangePlace>,
    /// Number of parties that have to act: the number of hosts to change, but at least that of `by`.
    #[serde(default)]
    pub parties: usize,
    /// Its steps, in the order in which they are applied.
    pub steps: Vec<CureStep>,
    /// Overrides that apply it to the scenario, in the syntax of `longfat run --set`.
    pub changes: Vec<String>,
    /// Whether it was run in full. Otherwise it was screened: run shorter and with fewer seeds.
    pub finalist: bool,
    /// Figures with the cure.
    pub figures: PlanFigures,
    /// Improvement of the objective in its unit, at the same seeds with and without the cure; positive is
    /// better.
    pub gain: PlanRange,
    /// The objective's figure with the cure as a multiple of that without; absent where the latter is zero
    /// or missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub factor: Option<f64>,
    /// Whether the cure helps.
    pub effect: CureEffect,
    /// Other improvements, a phrase each with both figures.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub improvements: Vec<String>,
    /// Deteriorations, a phrase each with both figures.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deteriorations: Vec<String>,
    /// Flows of the scenario that the cure ruins, a phrase each. Such a cure is never advised.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ruined_flows: Vec<String>,
    /// Whether no other finalist has both more goodput and less delay.
    pub pareto: bool,
    /// Measurement on this machine's kernel; absent where none was made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proof: Option<CureProof>,
}

/// A step of a cure.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CureStep {
    /// The cure's name.
    pub cure: String,
    /// Short description.
    pub title: String,
    /// The parties that must be able to apply it.
    pub by: Vec<ChangePlace>,
    /// When it hurts.
    pub hurts_when: String,
    /// The changes on a real path, with their commands.
    pub remedies: Vec<Change>,
}

/// A cure that was not tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UntriedCure {
    /// The cure's name.
    pub name: String,
    /// Why it was not tried.
    pub why: String,
}

/// The simulated runs of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SimulatedRuns {
    /// Number of equally likely scenarios.
    pub scenarios: usize,
    /// Number of options that were screened.
    pub screened: usize,
    /// Duration of each screening run, in seconds.
    pub screen_s: f64,
    /// Number of seeds of each screened option.
    pub screen_seeds: u32,
    /// Number of finalists.
    pub finalists: usize,
    /// Duration of each finalist's run, in seconds.
    pub final_s: f64,
    /// Number of seeds of each finalist.
    pub final_seeds: u32,
    /// Number of all runs, including those with an added call.
    pub runs: usize,
}

/// Measurement of a cure on the kernel, and the simulator's prediction for the same seed.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CureProof {
    /// Goodput on the kernel without the cure, in Mbit/s.
    pub kernel_now_mbps: f64,
    /// Goodput on the kernel with the cure, in Mbit/s.
    pub kernel_mbps: f64,
    /// Goodput that the simulator predicted, in Mbit/s.
    pub predicted_mbps: f64,
    /// The commands that were run, each with its host. Other changes were made in the scenario.
    pub commands_run: Vec<String>,
    /// Changes that were made without a command, and why.
    pub set: Vec<String>,
    /// Why the measurement cannot be trusted; empty where it can.
    pub distrust: Vec<String>,
}
