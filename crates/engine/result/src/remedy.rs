//! What would help a flow, as data: what to change and where, what it is and what it should be, and by how much that would
//! change what was measured. Sentences are made from this; which cause has which remedies say the causes' files.

use serde::{Deserialize, Serialize};

/// A change that would help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// What to change.
    pub kind: RemedyKind,
    /// Where.
    pub place: RemedyPlace,
    /// The name to choose, where one is chosen by name: `bbr`, `fq_codel`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The number to set, where it is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setting: Option<RemedySetting>,
    /// What is expected to change; empty where no bound is known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub effects: Vec<RemedyEffect>,
    /// Why it helps, in a sentence.
    pub why: String,
}

/// What a remedy changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RemedyKind {
    /// Shape the traffic to a rate, Mbit/s of IP bytes.
    Shape,
    /// Use another congestion control.
    CongestionControl,
    /// Manage the queue: drop early, and serve flows in turn.
    QueueManagement,
    /// Mark packets instead of dropping them (ECN).
    Ecn,
    /// Another length of the queue, bytes.
    QueueLength,
    /// A higher rate.
    HigherRate,
    /// Repair the link that loses packets.
    RepairLink,
    /// A larger receive buffer, bytes.
    ReceiveBuffer,
    /// Grant more flow control credit (QUIC, RFC 9000 section 4), bytes.
    FlowControl,
    /// Turn window scaling on (RFC 7323).
    WindowScaling,
    /// Make the receiving application read faster.
    ReceivingApplication,
    /// A larger send buffer, bytes.
    SendBuffer,
    /// Make the sending application write faster.
    SendingApplication,
    /// Keep connections open and use them again.
    ReuseConnections,
    /// Begin with a larger congestion window.
    InitialWindow,
    /// Find out why the link was gone.
    LinkLog,
    /// Relieve the way of the ACKs.
    ReturnPath,
    /// Pace the packets.
    Pacing,
    /// Clamp the MSS that connections agree on to what the path carries, bytes.
    MssClamp,
    /// Let ICMP "fragmentation needed" and "packet too big" pass.
    AllowIcmp,
    /// Make the sender look for the path's MTU by itself (RFC 4821; `tcp_mtu_probing`).
    MtuProbing,
    /// Send small segments at once (`TCP_NODELAY`).
    NoDelay,
    /// Write in one go what belongs together.
    WriteAtOnce,
    /// Look at the service that is to take the connection.
    Service,
    /// Look at the way to the host.
    Reachability,
    /// Capture again, so that more can be said.
    CaptureAgain,
}

/// Where a remedy is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RemedyPlace {
    /// At the sending host.
    Sender,
    /// Where the sender's site meets the path, before the limiter.
    SenderEdge,
    /// At the limiter or at its queue.
    Limiter,
    /// On the path between sender and capture.
    BeforeCapture,
    /// On the path between capture and receiver.
    BehindCapture,
    /// On the path, it is not known where.
    Path,
    /// On the way of the ACKs.
    ReturnPath,
    /// At the receiving host.
    Receiver,
    /// At both ends.
    BothEnds,
}

/// What a number of a remedy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RemedyUnit {
    /// Megabits a second.
    #[serde(rename = "Mbit/s")]
    Mbps,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
    /// How many.
    #[serde(rename = "times")]
    Times,
}

/// A number to set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemedySetting {
    /// What it is now, as far as the capture shows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub now: Option<f64>,
    /// What it should be.
    pub to: f64,
    /// Of both.
    pub unit: RemedyUnit,
}

/// What is expected to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EffectMeasure {
    /// Payload of the flow a second.
    Goodput,
    /// Payload a second of all flows through the limiter.
    TotalGoodput,
    /// Wait at the limiter's queue.
    QueueDelay,
    /// How often the receive window closed.
    ZeroWindows,
}

/// How an expected value bounds what will be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EffectBound {
    /// It will be no more: something else may limit the flow next.
    AtMost,
    /// About that.
    About,
}

/// A change of something measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemedyEffect {
    /// Of what.
    pub measure: EffectMeasure,
    /// Of both numbers.
    pub unit: RemedyUnit,
    /// As measured; absent where the capture does not show it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub now: Option<f64>,
    /// As expected with the remedy.
    pub then: f64,
    /// What that is: a bound or an estimate.
    pub bound: EffectBound,
    /// How `then` is computed, and where that is from.
    pub formula: String,
}

impl Remedy {
    /// A remedy without numbers.
    pub fn new(kind: RemedyKind, place: RemedyPlace, why: &str) -> Remedy {
        Remedy { kind, place, name: None, setting: None, effects: Vec::new(), why: why.into() }
    }

    /// The same with what to choose.
    pub fn named(self, name: &str) -> Remedy {
        Remedy { name: Some(name.into()), ..self }
    }

    /// The same with a number to set.
    pub fn set(self, now: Option<f64>, to: f64, unit: RemedyUnit) -> Remedy {
        Remedy { setting: Some(RemedySetting { now, to, unit }), ..self }
    }

    /// The same with an effect.
    pub fn with(mut self, effect: RemedyEffect) -> Remedy {
        self.effects.push(effect);
        self
    }

    /// The same with a bound of the goodput, if that is above what was measured: one that is not says nothing.
    pub fn up_to(self, measure: EffectMeasure, now: f64, then: f64, formula: &str) -> Remedy {
        if !then.is_finite() || then <= now {
            return self;
        }
        self.with(RemedyEffect {
            measure,
            unit: RemedyUnit::Mbps,
            now: Some(now),
            then,
            bound: EffectBound::AtMost,
            formula: formula.into(),
        })
    }
}

impl RemedyKind {
    /// As JSON spells it, and as placeholders of sentences do.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).ok();
        name.as_ref().and_then(|n| n.as_str()).unwrap_or_default().to_string()
    }
}

impl EffectMeasure {
    /// As JSON spells it, and as placeholders of sentences do.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).ok();
        name.as_ref().and_then(|n| n.as_str()).unwrap_or_default().to_string()
    }
}
