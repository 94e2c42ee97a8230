//! The effects that limit a variant's flows ("hold" them), found by runs with one effect switched off at a
//! time.
//!
//! `experiment::limitations` fills these types; the table at its head defines "switched off" for each kind.

use crate::Measure;
use serde::{Deserialize, Serialize};

/// Kind of effect that can limit a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimitationKind {
    /// Random packet loss.
    Loss,
    /// Link outages.
    Outage,
    /// A fault injected by the scenario (`faults`).
    Fault,
    /// Handovers between radio cells.
    Handover,
    /// Bit errors of a train's radio link.
    RadioErrors,
    /// A policer, which drops packets that a shaper would queue.
    Policer,
    /// Packets that exceed the MTU of a link or tunnel.
    Mtu,
    /// Packet reordering.
    Reordering,
    /// Packet duplication.
    Duplication,
    /// Delay variation.
    Jitter,
    /// A queue that is too short or drops early.
    QueueLimit,
    /// A queue that is always long.
    StandingQueue,
    /// The receive window or receive buffer.
    ReceiveWindow,
    /// The send buffer.
    SendBuffer,
    /// Send and receive buffer together.
    Buffers,
    /// The buffer of a split-TCP relay.
    RelayBuffer,
    /// Missing selective acknowledgement (SACK).
    Sack,
    /// A cap on the pacing rate.
    PacingCap,
    /// The application, which pauses or offers too little.
    Application,
    /// The rate of a limiter that the flows use almost fully.
    Rate,
    /// Another flow.
    CompetingFlow,
    /// Transfers too short for the congestion window to grow.
    SlowStart,
    /// The congestion control, on a path where nothing else limits the flow.
    CongestionControl,
}

impl LimitationKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LimitationKind::Loss => "loss",
            LimitationKind::Outage => "outage",
            LimitationKind::Fault => "fault",
            LimitationKind::Handover => "handover",
            LimitationKind::RadioErrors => "radio-errors",
            LimitationKind::Policer => "policer",
            LimitationKind::Mtu => "mtu",
            LimitationKind::Reordering => "reordering",
            LimitationKind::Duplication => "duplication",
            LimitationKind::Jitter => "jitter",
            LimitationKind::QueueLimit => "queue-limit",
            LimitationKind::StandingQueue => "standing-queue",
            LimitationKind::ReceiveWindow => "receive-window",
            LimitationKind::SendBuffer => "send-buffer",
            LimitationKind::Buffers => "buffers",
            LimitationKind::RelayBuffer => "relay-buffer",
            LimitationKind::Sack => "sack",
            LimitationKind::PacingCap => "pacing-cap",
            LimitationKind::Application => "application",
            LimitationKind::Rate => "rate",
            LimitationKind::CompetingFlow => "competing-flow",
            LimitationKind::SlowStart => "slow-start",
            LimitationKind::CongestionControl => "congestion-control",
        }
    }
}

/// Kind of packets that a stage carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Carried {
    /// Data packets of all flows.
    Data,
    /// ACKs only.
    Acks,
    /// Data packets of some flows and ACKs of others.
    Both,
}

/// Packets that a stage dropped in the unmodified run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitationDrops {
    /// Dropped packets.
    pub packets: u64,
    /// Loss events: drops within one RTT count as one event (RFC 5348 section 5.2), so that a burst lost at
    /// a full queue counts once. The RTT is the shortest of the run; where the sampling interval
    /// `sample` is longer, or `measure` is set, drops within one sample are one event.
    pub events: u64,
}

/// Time in which a flow with data to send received nothing in the unmodified run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitationSilence {
    /// The flow with the longest silence.
    pub flow: String,
    /// Sum of all periods of at least 200 ms without a received byte, s.
    #[serde(alias = "silent_s")]
    pub silence_s: f64,
    /// Lifetime of the flow, s.
    pub active_s: f64,
}

/// A measure with and without the suspected effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitationEffect {
    /// Name of the measure, as `--expect` spells it: `tcp.goodput`, `rtt.p95`.
    pub measure: String,
    /// Unit of both values: `Mbit/s`, `ms`, `s`; empty for indexes.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub unit: String,
    /// Simulated value of the scenario as it is; absent where infinite, as the time of an unfinished
    /// transfer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub with: Option<f64>,
    /// Simulated value without the suspected effect; absent where infinite.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without: Option<f64>,
}

impl LimitationEffect {
    /// Parses `measure`; `None` for a measure that this version does not know.
    pub fn parsed_measure(&self) -> Option<Measure> {
        Measure::parse(&self.measure, |_| false).ok()
    }

    /// The values with and without the effect; an absent one is infinite.
    pub fn numbers(&self) -> [f64; 2] {
        [self.with, self.without].map(|x| x.unwrap_or(f64::INFINITY))
    }
}

/// An effect that limits the flows: without it, the goal is met better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limitation {
    /// Kind of effect.
    pub kind: LimitationKind,
    /// Where the effect is: a stage (`link.direction.stage`), a host, a flow, a relay or a fault.
    pub place: String,
    /// Further places of the same kind that were switched off together with `place`, because none alone has
    /// an effect; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<String>,
    /// The limited flow, where flows were measured one at a time; else the first of a group of flows that
    /// share no direction of a link with the others, and `gain` and `effects` count for that group. Absent
    /// where the effect concerns all flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flow: Option<String>,
    /// Kind of packets of the limited flows that the stage carries; absent where `place` is not a stage.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub carries: Option<Carried>,
    /// Packets that the stage dropped; absent where it dropped none, and where `place` is not a stage.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drops: Option<LimitationDrops>,
    /// How long a flow received nothing; only for outages, faults, handovers and oversized packets. Absent
    /// where each pause was shorter than Linux's minimum retransmission timeout (200 ms).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub silence: Option<LimitationSilence>,
    /// Simulated part of the scenario, s; absent where the whole scenario was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated_s: Option<f64>,
    /// Rate of the stage, Mbit/s; only for kind `rate`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_mbps: Option<f64>,
    /// Improvement of the first goal without the effect, as a factor: goodput of 4 instead of 1 Mbit/s, or a
    /// delay of 20 instead of 80 ms, is 4. The geometric mean over `runs`, at most a million; goodput below
    /// 1 kbit/s counts as 1 kbit/s.
    pub gain: f64,
    /// Smallest gain over all runs.
    #[serde(alias = "least_gain")]
    pub min_gain: f64,
    /// Number of compared pairs of runs; each pair has its own seed.
    pub runs: u32,
    /// The first goal's measure, then those of the other goals, then goodput, RTTs and delays: with the
    /// scenario's own seed, or means over `runs` for a variant with repeats.
    pub effects: Vec<LimitationEffect>,
}

/// A suspected effect and the gain of removing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedSuspect {
    /// Kind of effect.
    pub kind: LimitationKind,
    /// Where the effect is, as in [`Limitation::place`].
    pub place: String,
    /// Further places switched off together with `place`, as in [`Limitation::also`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<String>,
    /// The limited flow, as in [`Limitation::flow`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flow: Option<String>,
    /// Gain of the first seed, as in [`Limitation::gain`]; below 1, the goal is met worse without the
    /// effect. Absent where it was not simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gain: Option<f64>,
}

/// How the search for `limited_by` was done.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitationSearch {
    /// Why no search was possible; absent where one was done.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unknown: Option<String>,
    /// The measure that gains are computed from, as in [`LimitationEffect::measure`].
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub measure: String,
    /// Simulated part of the scenario, s; absent where the whole scenario was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated_s: Option<f64>,
    /// Value of the measure in that part of the scenario; absent where the whole scenario was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated: Option<f64>,
    /// Number of simulated runs.
    pub runs: u64,
    /// Work of these runs: the number of stages passed, summed over packets. The search's budget limits this
    /// and the number of runs.
    pub stage_packets: u64,
    /// Effects whose removal was simulated, the largest gain first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tried: Vec<TriedSuspect>,
    /// Effects that the budget left no run for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[serde(alias = "left_out")]
    pub untried: Vec<TriedSuspect>,
}
