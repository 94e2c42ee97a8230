//! A change that would help, as data: what to change and where, from which value to which, what it is expected to do, and what
//! to type.
//!
//! It is the one vocabulary of advice: the remedies of `diagnose`, the steps of `plan`, the findings of `check` and of
//! `import`'s lint are all [`Change`]s. Sentences are made from it in one place (`change.KIND` in
//! `crates/answers/report/strings.json`), commands in [`crate::command`].

use crate::command::CommandSet;
use serde::{Deserialize, Serialize};

/// A change that would help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// What to change.
    pub kind: ChangeKind,
    /// Where.
    pub place: ChangePlace,
    /// The name to choose, where one is chosen by name: `bbr`, `fq_codel`; or what holds the value: `tcp_rmem`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The number to set, where it is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setting: Option<ChangeSetting>,
    /// What is expected to change; empty where no bound is known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub effects: Vec<ChangeEffect>,
    /// Why it helps, in a sentence; empty where what the change belongs to says why.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
    /// What to type, with its undo; of several for one host one is enough. Empty where no command makes the change, or where what
    /// is there now could not be read and so could not be restored.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub commands: Vec<CommandSet>,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Shape the traffic to a rate, Mbit/s of IP bytes.
    Shape,
    /// Use another congestion control.
    CongestionControl,
    /// Pace the packets.
    Pacing,
    /// Cap the pacing rate of each connection, Mbit/s of payload.
    PacingCap,
    /// Hand fewer segments down in one piece.
    SmallBursts,
    /// Another bucket of a policer, shaper or class, bytes.
    BucketSize,
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
    /// A larger receive buffer, bytes of the buffer (`tcp_rmem`): twice the window that it offers.
    ReceiveBuffer,
    /// Grant more flow control credit (QUIC, RFC 9000 section 4), bytes.
    FlowControl,
    /// Turn window scaling on (RFC 7323).
    WindowScaling,
    /// Make the receiving application read faster.
    ReceivingApplication,
    /// A larger send buffer, bytes of the buffer (`tcp_wmem`): twice what it keeps in flight.
    SendBuffer,
    /// Make the sending application write faster.
    SendingApplication,
    /// Keep connections open and use them again.
    ReuseConnections,
    /// Open several connections for what one did.
    MoreConnections,
    /// End TCP at a proxy between the two ends (split TCP).
    SplitProxy,
    /// Begin with a larger congestion window.
    InitialWindow,
    /// Keep the window over a pause (`tcp_slow_start_after_idle`).
    IdleRestart,
    /// Turn on what finds and repairs losses: SACK, timestamps, tail loss probes.
    LossRecovery,
    /// Another least retransmission timeout, ms.
    RetransmissionTimeout,
    /// Do not hold what one connection met against the next (`tcp_no_ssthresh_metrics_save`).
    SavedMetrics,
    /// Find out why the link was gone.
    LinkLog,
    /// Relieve the return path, which carries the ACKs.
    ReturnPath,
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
    /// Let more connections wait to be accepted.
    AcceptQueue,
    /// Let more packets wait for a processor.
    Backlog,
    /// Give all TCP sockets together more memory.
    TcpMemory,
    /// Turn segmentation and receive offload on.
    Offloads,
    /// Give a namespace a setting that the host has.
    HostSetting,
    /// Look at the service that is to take the connection.
    Service,
    /// Look at the path to the host.
    Reachability,
    /// Capture again, so that more can be said.
    CaptureAgain,
}

/// Where a change is made. Also names who must be able to make it: those who run that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangePlace {
    /// At the sending host.
    Sender,
    /// At the receiving host.
    Receiver,
    /// At both ends.
    BothEnds,
    /// Where the sender's site meets the path, before the limiter.
    SenderEdge,
    /// At the limiter or at its queue.
    Limiter,
    /// On the path between sender and capture.
    BeforeCapture,
    /// On the path between capture and receiver.
    BehindCapture,
    /// On the path between the ends.
    Path,
    /// On the return path, which carries the ACKs.
    ReturnPath,
}

/// What a number of a change counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChangeUnit {
    /// Megabits a second.
    #[serde(rename = "Mbit/s")]
    Mbps,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// How many.
    #[serde(rename = "times")]
    Times,
}

/// A number to set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSetting {
    /// What it is now, as far as that was seen; absent where it is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub now: Option<f64>,
    /// What it should be.
    pub to: f64,
    /// Of both.
    pub unit: ChangeUnit,
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
    /// Mean time of an answer.
    AnswerTime,
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
    /// What the simulator gave: both numbers are simulated.
    Simulated,
}

/// A change of something measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeEffect {
    /// Of what.
    pub measure: EffectMeasure,
    /// The unit of both numbers.
    pub unit: ChangeUnit,
    /// As measured or simulated; absent where the capture does not show it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub now: Option<f64>,
    /// As expected with the change.
    pub then: f64,
    /// What that is: a bound or an estimate.
    pub bound: EffectBound,
    /// How `then` is computed, and where that is from; or what was simulated.
    pub formula: String,
}

impl ChangeEffect {
    /// How many times as good it becomes: above 1 is better. `None` where it is not known what it is now, or where nothing
    /// arrives now.
    pub fn gain(&self) -> Option<f64> {
        let gain = match self.measure {
            EffectMeasure::Goodput | EffectMeasure::TotalGoodput => self.then / self.now?,
            EffectMeasure::QueueDelay | EffectMeasure::ZeroWindows | EffectMeasure::AnswerTime => {
                self.now? / self.then
            }
        };
        Some(gain).filter(|g| g.is_finite())
    }

    /// [`ChangeEffect::gain`] to be compared by: infinite where something arrives only with the change.
    pub fn worth(&self) -> f64 {
        self.gain().unwrap_or(if self.then > 0.0 { f64::INFINITY } else { 1.0 })
    }
}

impl Change {
    /// A change without numbers.
    pub fn new(kind: ChangeKind, place: ChangePlace, why: &str) -> Change {
        Change {
            kind,
            place,
            name: None,
            setting: None,
            effects: Vec::new(),
            why: why.into(),
            commands: Vec::new(),
        }
    }

    /// The same with what to choose.
    pub fn named(self, name: &str) -> Change {
        Change { name: Some(name.into()), ..self }
    }

    /// The same with a number to set.
    pub fn set(self, now: Option<f64>, to: f64, unit: ChangeUnit) -> Change {
        Change { setting: Some(ChangeSetting { now, to, unit }), ..self }
    }

    /// The same with an effect.
    pub fn with(mut self, effect: ChangeEffect) -> Change {
        self.effects.push(effect);
        self
    }

    /// The same with what to type.
    pub fn by(mut self, commands: impl IntoIterator<Item = CommandSet>) -> Change {
        self.commands.extend(commands);
        self
    }

    /// The same with a bound of the goodput, if that is above what was measured: one that is not says nothing.
    pub fn up_to(self, measure: EffectMeasure, now: f64, then: f64, formula: &str) -> Change {
        if !then.is_finite() || then <= now {
            return self;
        }
        self.with(ChangeEffect {
            measure,
            unit: ChangeUnit::Mbps,
            now: Some(now),
            then,
            bound: EffectBound::AtMost,
            formula: formula.into(),
        })
    }
}

/// As JSON spells a unit variant.
fn spelled(variant: impl Serialize) -> String {
    let name = serde_json::to_value(variant).ok();
    name.as_ref().and_then(|n| n.as_str()).unwrap_or_default().to_string()
}

impl ChangeKind {
    /// As JSON spells it, and as placeholders of sentences do.
    pub fn name(self) -> String {
        spelled(self)
    }
}

impl ChangePlace {
    /// Places that somebody runs, who can be named as able to act, in the order of the reference.
    pub const ACTORS: [ChangePlace; 5] = [
        ChangePlace::Sender,
        ChangePlace::Receiver,
        ChangePlace::SenderEdge,
        ChangePlace::Limiter,
        ChangePlace::Path,
    ];

    /// As options and JSON spell it.
    pub fn name(self) -> String {
        spelled(self)
    }

    /// The one of [`ChangePlace::ACTORS`] of this name, or of the one that it had in version 0.1.
    pub fn actor(name: &str) -> Option<ChangePlace> {
        match name {
            "near-edge" => Some(ChangePlace::SenderEdge),
            "provider" => Some(ChangePlace::Limiter),
            "in-between" => Some(ChangePlace::Path),
            _ => ChangePlace::ACTORS.into_iter().find(|p| p.name() == name),
        }
    }
}

impl EffectMeasure {
    /// As JSON spells it, and as placeholders of sentences do.
    pub fn name(self) -> String {
        spelled(self)
    }
}

#[test]
fn places_that_somebody_runs_have_the_names_that_are_written() {
    for place in ChangePlace::ACTORS {
        assert_eq!(ChangePlace::actor(&place.name()), Some(place));
    }
    assert_eq!(ChangePlace::actor("both-ends"), None);
    assert_eq!(ChangePlace::actor("near-edge"), Some(ChangePlace::SenderEdge));
}
