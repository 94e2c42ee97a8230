//! A plan as data, as `longfat plan --json` prints it.

use result::{Change, ChangePlace};
use serde::{Deserialize, Serialize};
use units::Goal;

/// The schema's name and version, first key of every plan.
pub const PLAN_SCHEMA: &str = "longfat-plan/2";

/// What would help, ranked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// What this is, and its version.
    #[cfg_attr(test, schemars(extend("const" = PLAN_SCHEMA)))]
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// Its variant that the plan is for.
    pub variant: String,
    /// What cures are ranked by.
    pub objective: Goal,
    /// One sentence: who does what, and what it gains for which goal.
    pub advice: String,
    /// What the sentence rests on, what it costs and why it is not another cure; a sentence each.
    #[serde(default)]
    pub facts: Vec<String>,
    /// The name of the cure that is advised; absent where none is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub advised: Option<String>,
    /// Calls, games and probes of the scenario; empty: [`PlanFigures::voice`] is of a call that was added.
    #[serde(default)]
    pub calls: Vec<String>,
    /// As it is now.
    pub now: PlanFigures,
    /// What was run in full, the best first: all for the same time and with the same seeds.
    pub cures: Vec<RankedCure>,
    /// What was only screened, the best first, with figures of shorter runs and fewer seeds ([`SimulatedRuns`]): not to be
    /// compared with those of `cures`.
    #[serde(default)]
    pub screened: Vec<RankedCure>,
    /// What was not tried, and why.
    pub left_out: Vec<LeftOutCure>,
    /// What was simulated.
    pub simulated: SimulatedRuns,
}

/// A mean and its 95 % interval over seeds. Of several equally likely scenarios the interval covers that of each.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanRange {
    /// Mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What was measured, over seeds and scenarios.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanFigures {
    /// The figure that cures are ranked by, in the goal's unit.
    #[serde(default)]
    pub judged: PlanRange,
    /// Goodput of all TCP flows, Mbit/s (of all flows where none is TCP).
    pub goodput_mbps: PlanRange,
    /// 95th percentile of TCP's round trip over time, ms, of the flow where it is longest; without TCP of datagrams' delay.
    pub p95_delay_ms: PlanRange,
    /// 95th percentile of the time from start to last byte, of requests to the answer's last byte, s; absent where nothing
    /// has an end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_s: Option<PlanRange>,
    /// 95th percentile of the time of a page, s; absent where none is loaded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_s: Option<PlanRange>,
    /// Jain's index; absent where equal shares are not to be expected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fairness: Option<PlanRange>,
    /// Share of TCP's packets that were sent again, 0 to 1.
    pub resent: f64,
    /// What the scenario's users notice: calls, games, probes, other datagrams, requests, pages and transfers with an end.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub users: Vec<UserFigures>,
    /// The scenario's call that fares worst, else its game, else its probe. Where it has none: a call that was added (G.711, best effort, the worse of its
    /// directions), measured in runs of its own and not in those that were screened only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub voice: Option<VoiceCost>,
}

/// What a flow of the scenario notices: means over seeds and scenarios.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserFigures {
    /// The flow's name.
    pub name: String,
    /// `call`, `datagrams`, `probe`, `requests`, `pages` or `transfer`.
    pub kind: String,
    /// 95th percentile of its one-way delay, ms; of a probe there and back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p95_delay_ms: Option<f64>,
    /// Share of its packets that were lost, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<f64>,
    /// Mean opinion score of a call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mos: Option<f64>,
    /// 95th percentile of the time of its answers, pages or transfers, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p95_s: Option<f64>,
}

/// What a call meets that goes the same way as the data.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VoiceCost {
    /// 95th percentile of its one-way delay, ms.
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
    /// The whole interval of its gain is above zero, and it is a fiftieth of what there was or more.
    Gains,
    /// Neither.
    #[default]
    NoDifference,
    /// The whole interval is below zero, and it is a fiftieth or more.
    Loses,
}

/// A cure or several together.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RankedCure {
    /// Names of its steps, joined by `+`.
    pub name: String,
    /// What it does, in a few words.
    pub title: String,
    /// Who must be able to do it: those who run these places.
    pub by: Vec<ChangePlace>,
    /// How many have to act: as many as there are hosts to change, and at least those of `by`.
    #[serde(default)]
    pub parties: usize,
    /// Its parts, in the order in which they are made.
    pub steps: Vec<CureStep>,
    /// What it changes in the scenario, as `longfat run --set` takes it.
    pub changes: Vec<String>,
    /// Whether it was run in full; else it was screened: shorter and with fewer seeds.
    pub finalist: bool,
    /// What came of it.
    pub figures: PlanFigures,
    /// How much better the objective gets, in its unit: with the same seeds with and without; positive is better.
    pub gain: PlanRange,
    /// The objective with it as a multiple of the one without; absent where that is zero or nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub factor: Option<f64>,
    /// Whether it helps.
    pub effect: CureEffect,
    /// What else somebody would want and gets better by it, with both figures; a phrase each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub betters: Vec<String>,
    /// What gets worse by it, with both figures; a phrase each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub worsens: Vec<String>,
    /// Which flows of the scenario it ruins, and how: such a cure is never advised. A phrase each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ruins: Vec<String>,
    /// Whether no other finalist has both more goodput and less delay.
    pub pareto: bool,
    /// What was measured on this machine's kernel; absent where it was not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proof: Option<CureProof>,
}

/// A part of a cure.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CureStep {
    /// The cure's name.
    pub cure: String,
    /// What it does, in a few words.
    pub title: String,
    /// Who must be able to do it.
    pub by: Vec<ChangePlace>,
    /// When it hurts.
    pub hurts: String,
    /// The changes that make it on a real path, with their commands.
    pub remedies: Vec<Change>,
}

/// A cure that was not tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOutCure {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What was simulated for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SimulatedRuns {
    /// Equally likely scenarios.
    pub scenarios: usize,
    /// Options that were screened, and each scenario for how many seconds and with how many seeds.
    pub screened: usize,
    /// Seconds of each screening run.
    pub screen_s: f64,
    /// Seeds of each screened option.
    pub screen_seeds: u32,
    /// Finalists.
    pub finalists: usize,
    /// Seconds of each of their runs.
    pub final_s: f64,
    /// Seeds of each finalist.
    pub final_seeds: u32,
    /// Runs in all, those with a call among them.
    pub runs: usize,
}

/// What a cure came to on the kernel, beside what the simulator said of the same seed.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CureProof {
    /// Goodput without the cure on the kernel, Mbit/s.
    pub kernel_now_mbps: f64,
    /// Goodput with it on the kernel, Mbit/s.
    pub kernel_mbps: f64,
    /// What the simulator predicted, Mbit/s.
    pub predicted_mbps: f64,
    /// Commands that were run, each with the host it ran at; the rest was set as the scenario has it.
    pub ran: Vec<String>,
    /// What was set without a command, and why.
    pub set: Vec<String>,
    /// Why the measurement cannot be trusted; empty where it can.
    pub doubts: Vec<String>,
}
