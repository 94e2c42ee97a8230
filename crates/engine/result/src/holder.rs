//! What holds a variant's flows, as runs with one effect switched off measured it.
//!
//! `experiment::holders` fills this; what "switched off" means for each kind stands in the table at its head.

use crate::Measure;
use serde::{Deserialize, Serialize};

/// What a flow can be held by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HolderKind {
    /// Packets lost by chance.
    Loss,
    /// Outages of a link.
    Outage,
    /// A scheduled fault of the scenario (`faults`).
    Fault,
    /// Handovers between cells.
    Handover,
    /// Bit errors of a train's radio link.
    RadioErrors,
    /// A policer that drops what a shaper would queue.
    Policer,
    /// Packets that are too big for a link or tunnel.
    Mtu,
    /// Packets that overtake each other.
    Reordering,
    /// Packets that arrive twice.
    Duplication,
    /// A delay that varies.
    Jitter,
    /// A queue that is too short, or drops early.
    QueueLimit,
    /// A queue that stays long.
    StandingQueue,
    /// The receiver's window or buffer.
    ReceiveWindow,
    /// The sender's buffer.
    SendBuffer,
    /// The send and receive buffers together.
    Buffers,
    /// The buffer of a split-TCP relay.
    RelayBuffer,
    /// A connection without selective acknowledgement.
    Sack,
    /// An upper bound of the pacing rate.
    PacingCap,
    /// The application does not offer more, or pauses.
    Application,
    /// The rate of a limiter, which the flows use nearly in full.
    Rate,
    /// Another flow.
    CompetingFlow,
    /// Transfers that are over before the window has grown.
    SlowStart,
    /// The congestion control, on a path where nothing else holds it.
    CongestionControl,
}

impl HolderKind {
    /// As results spell it.
    pub fn name(self) -> &'static str {
        match self {
            HolderKind::Loss => "loss",
            HolderKind::Outage => "outage",
            HolderKind::Fault => "fault",
            HolderKind::Handover => "handover",
            HolderKind::RadioErrors => "radio-errors",
            HolderKind::Policer => "policer",
            HolderKind::Mtu => "mtu",
            HolderKind::Reordering => "reordering",
            HolderKind::Duplication => "duplication",
            HolderKind::Jitter => "jitter",
            HolderKind::QueueLimit => "queue-limit",
            HolderKind::StandingQueue => "standing-queue",
            HolderKind::ReceiveWindow => "receive-window",
            HolderKind::SendBuffer => "send-buffer",
            HolderKind::Buffers => "buffers",
            HolderKind::RelayBuffer => "relay-buffer",
            HolderKind::Sack => "sack",
            HolderKind::PacingCap => "pacing-cap",
            HolderKind::Application => "application",
            HolderKind::Rate => "rate",
            HolderKind::CompetingFlow => "competing-flow",
            HolderKind::SlowStart => "slow-start",
            HolderKind::CongestionControl => "congestion-control",
        }
    }
}

/// What packets of a flow a stage carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Carried {
    /// Data of every flow that passes.
    Data,
    /// Acknowledgements alone.
    Acks,
    /// Data of some flows and acknowledgements of others.
    Both,
}

/// Packets that a stage dropped in the run that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderDrops {
    /// How many packets.
    pub packets: u64,
    /// How many loss events they are: drops that follow each other within a round trip are one (RFC 5348 section 5.2), so
    /// that a full queue's burst counts once. Round trips are the shortest of the run's; where `sample` is longer, or
    /// `measure` is set, drops within one sample are one event.
    pub events: u64,
}

/// Time in which a flow that always had something to send got nothing, in the run that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderSilence {
    /// The flow that got nothing for longest.
    pub flow: String,
    /// All stretches of 200 ms and more without a byte, s.
    pub silent_s: f64,
    /// How long the flow lasted, s.
    pub active_s: f64,
}

/// A number with and without the suspect's effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderEffect {
    /// Which number, as `--expect` spells it: `tcp.goodput`, `rtt.p95`.
    pub measure: String,
    /// Its unit: `Mbit/s`, `ms`, `s`; empty for indexes.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub unit: String,
    /// The number as the scenario is, simulated. Absent where it is infinite, as the time of a transfer that did not end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub with: Option<f64>,
    /// The number without the suspect's effect. Absent as above.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without: Option<f64>,
}

impl HolderEffect {
    /// The measure that `measure` names; `None` of a result whose measures this version does not know.
    pub fn parsed_measure(&self) -> Option<Measure> {
        Measure::parse(&self.measure, |_| false).ok()
    }

    /// The numbers with and without the effect; an absent one is infinite.
    pub fn numbers(&self) -> [f64; 2] {
        [self.with, self.without].map(|x| x.unwrap_or(f64::INFINITY))
    }
}

/// Something that holds the flows: without its effect the goal is met better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// What kind it is.
    pub kind: HolderKind,
    /// Where it is: a stage (`link.direction.stage`), a host, a flow, a relay or a fault.
    pub place: String,
    /// Further places of the kind that were switched off together with it, where none alone explains anything.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<String>,
    /// The flow that it holds, where flows were measured one at a time. Else, where flows share no direction of a link with
    /// others, the first of those that it holds: gains and effects are of these.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flow: Option<String>,
    /// What the stage carries; absent where the place is not a stage.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub carries: Option<Carried>,
    /// What the stage dropped; absent where it dropped nothing, and where the place is not a stage.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drops: Option<HolderDrops>,
    /// How long a flow got nothing; of outages, faults, handovers and packets that are too big only, and absent where each pause
    /// was shorter than a retransmission timeout of Linux (200 ms).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub silence: Option<HolderSilence>,
    /// How much of the scenario was simulated to find it, s; absent where that is all of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated_s: Option<f64>,
    /// The rate of the stage, Mbit/s; of a `rate` holder only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_mbps: Option<f64>,
    /// How many times better the first goal is met without it: goodput 4 instead of 1 Mbit/s and a delay of 20 instead of
    /// 80 ms are both 4. The geometric mean over `runs`; a million at most, and less than 1 kbit/s counts as that.
    pub gain: f64,
    /// The smallest gain of all runs.
    pub least_gain: f64,
    /// How many pairs of runs, each with a seed of its own, were compared.
    pub runs: u32,
    /// The first goal's number, then those of the other goals, then goodput, round trips and delays. Of the scenario's own seed; of
    /// a variant with repeats means over `runs`.
    pub effects: Vec<HolderEffect>,
}

/// A suspect, and what its removal gained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedSuspect {
    /// What kind it is.
    pub kind: HolderKind,
    /// Where it is, as in [`Holder::place`].
    pub place: String,
    /// As [`Holder::also`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<String>,
    /// As [`Holder::flow`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flow: Option<String>,
    /// As [`Holder::gain`], of the first seed; below 1 the goal is met worse without it. Absent where it was left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gain: Option<f64>,
}

/// How holders were looked for.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderSearch {
    /// Why nothing could be looked for; absent where something was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unknown: Option<String>,
    /// The measure that gains are of, as [`HolderEffect::measure`].
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub measure: String,
    /// How much of the scenario was simulated, s; absent where that is all of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated_s: Option<f64>,
    /// The measure as that part of the scenario yields it; absent where all of it was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated: Option<f64>,
    /// How many runs were simulated for it.
    pub runs: u64,
    /// Their work: the sum over packets of the stages that each passed. The budget is a number of runs and of this.
    pub stage_packets: u64,
    /// Suspects whose removal was simulated, the largest gain first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tried: Vec<TriedSuspect>,
    /// Suspects that the budget left no run for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<TriedSuspect>,
}
