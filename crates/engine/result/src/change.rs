//! A change that would help, as data: kind, place, old and new value, expected effect and commands.
//!
//! All advice is expressed as [`Change`]s: the remedies of `diagnose`, the steps of `plan`, the findings of
//! `check` and of `import`'s lint. Sentences are made from them in one place (`change.KIND` in
//! `crates/answers/report/strings.json`), commands in [`crate::command`].

use crate::command::CommandSet;
use serde::{Deserialize, Serialize};

/// A change that would help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Kind of change.
    pub kind: ChangeKind,
    /// Place of the change.
    pub place: ChangePlace,
    /// The name to choose, where the setting is a name (`bbr`, `fq_codel`), or the name of the setting that
    /// holds the value (`tcp_rmem`); absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The number to set; absent where the change has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setting: Option<ChangeSetting>,
    /// Expected effects; empty where none can be estimated.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub effects: Vec<ChangeEffect>,
    /// Reason for the change, one sentence; empty where the surrounding result gives it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
    /// Commands that make the change, with their undo. Of several sets for the same host, one suffices.
    /// Empty where no command makes the change, or where the previous value could not be read and so
    /// could not be restored.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub commands: Vec<CommandSet>,
}

/// Kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Shape the traffic to a rate, Mbit/s of IP bytes.
    Shape,
    /// Use another congestion control.
    CongestionControl,
    /// Pace packets.
    Pacing,
    /// Cap the pacing rate of each connection, Mbit/s of payload.
    PacingCap,
    /// Hand fewer segments to the device at a time.
    SmallBursts,
    /// Change the token bucket of a policer, shaper or class, bytes.
    BucketSize,
    /// Use active queue management and fair queueing.
    QueueManagement,
    /// Mark packets instead of dropping them (ECN).
    Ecn,
    /// Change the length of the queue, bytes.
    QueueLength,
    /// Raise the rate.
    HigherRate,
    /// Repair the link that loses packets.
    RepairLink,
    /// Enlarge the receive buffer (`tcp_rmem`), bytes; it is twice the window that it offers.
    ReceiveBuffer,
    /// Grant more flow control credit (QUIC, RFC 9000 section 4), bytes.
    FlowControl,
    /// Enable window scaling (RFC 7323).
    WindowScaling,
    /// Make the receiving application read faster.
    ReceivingApplication,
    /// Enlarge the send buffer (`tcp_wmem`), bytes; it is twice the data that it keeps in flight.
    SendBuffer,
    /// Make the sending application write faster.
    SendingApplication,
    /// Keep connections open and reuse them.
    ReuseConnections,
    /// Use several connections instead of one.
    MoreConnections,
    /// Terminate TCP at a proxy between the ends (split TCP).
    SplitProxy,
    /// Start with a larger congestion window.
    InitialWindow,
    /// Keep the congestion window over idle periods (`tcp_slow_start_after_idle`).
    IdleRestart,
    /// Enable the features that detect and repair losses: SACK, timestamps, tail loss probes.
    LossRecovery,
    /// Change the minimum retransmission timeout, ms.
    RetransmissionTimeout,
    /// Do not save the ssthresh of a connection for later ones (`tcp_no_ssthresh_metrics_save`).
    SavedMetrics,
    /// Find out why the link was down.
    LinkLog,
    /// Relieve the return path, which carries the ACKs.
    ReturnPath,
    /// Clamp the MSS of connections to what the path carries, bytes.
    MssClamp,
    /// Let ICMP "fragmentation needed" and "packet too big" pass.
    AllowIcmp,
    /// Let the sender probe the path MTU (RFC 4821; `tcp_mtu_probing`).
    MtuProbing,
    /// Send small segments at once (`TCP_NODELAY`).
    NoDelay,
    /// Write a message in one call.
    WriteAtOnce,
    /// Enlarge the accept queue.
    AcceptQueue,
    /// Enlarge the queue of received packets that wait for a CPU (`netdev_max_backlog`).
    Backlog,
    /// Raise the memory limit of all TCP sockets together.
    TcpMemory,
    /// Enable segmentation and receive offload.
    Offloads,
    /// Give a network namespace the host's setting.
    HostSetting,
    /// Check the service that should accept the connection.
    Service,
    /// Check the path to the host.
    Reachability,
    /// Take another capture that shows more.
    CaptureAgain,
}

/// Place of a change. It also identifies the party that must make it: the operator of that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangePlace {
    /// The sending host.
    Sender,
    /// The receiving host.
    Receiver,
    /// Both ends.
    BothEnds,
    /// The edge of the sender's site, before the limiter.
    SenderEdge,
    /// The limiter or its queue.
    Limiter,
    /// The path between sender and capture.
    BeforeCapture,
    /// The path between capture and receiver.
    BehindCapture,
    /// The path between the ends.
    Path,
    /// The return path, which carries the ACKs.
    ReturnPath,
}

/// Unit of the numbers of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChangeUnit {
    /// Mbit/s.
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
    /// A count.
    #[serde(rename = "times")]
    Times,
}

/// A number to set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSetting {
    /// Present value; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub now: Option<f64>,
    /// Value to set.
    pub to: f64,
    /// Unit of both values.
    pub unit: ChangeUnit,
}

/// Measure that is expected to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EffectMeasure {
    /// Payload rate of the flow.
    Goodput,
    /// Payload rate of all flows at the limiter.
    TotalGoodput,
    /// Queueing delay at the limiter.
    QueueDelay,
    /// Number of zero windows.
    ZeroWindows,
    /// Mean response time.
    AnswerTime,
}

/// How an expected value relates to the one that will be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EffectBound {
    /// An upper bound: another limit may apply next.
    AtMost,
    /// An estimate.
    About,
    /// A simulated value; `now` is simulated, too.
    Simulated,
}

/// Expected effect of a change on a measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeEffect {
    /// The measure.
    pub measure: EffectMeasure,
    /// Unit of `now` and `then`.
    pub unit: ChangeUnit,
    /// Value as measured or simulated without the change; absent where the capture does not show it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub now: Option<f64>,
    /// Value expected with the change.
    pub then: f64,
    /// Whether `then` is a bound, an estimate or simulated.
    pub bound: EffectBound,
    /// Formula of `then` with its source, or the description of the simulated scenario.
    pub formula: String,
}

impl ChangeEffect {
    /// Improvement as a factor; above 1 is better. `None` where the present value is unknown or nothing
    /// arrives at present.
    pub fn gain(&self) -> Option<f64> {
        let gain = match self.measure {
            EffectMeasure::Goodput | EffectMeasure::TotalGoodput => self.then / self.now?,
            EffectMeasure::QueueDelay | EffectMeasure::ZeroWindows | EffectMeasure::AnswerTime => {
                self.now? / self.then
            }
        };
        Some(gain).filter(|g| g.is_finite())
    }

    /// [`ChangeEffect::gain`] for comparisons: infinite where data arrives only with the change.
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

    /// Sets the name to choose.
    pub fn named(self, name: &str) -> Change {
        Change { name: Some(name.into()), ..self }
    }

    /// Sets the number to set.
    pub fn set(self, now: Option<f64>, to: f64, unit: ChangeUnit) -> Change {
        Change { setting: Some(ChangeSetting { now, to, unit }), ..self }
    }

    /// Adds an effect.
    pub fn with(mut self, effect: ChangeEffect) -> Change {
        self.effects.push(effect);
        self
    }

    /// Adds commands.
    pub fn by(mut self, commands: impl IntoIterator<Item = CommandSet>) -> Change {
        self.commands.extend(commands);
        self
    }

    /// Adds an upper bound of the goodput, Mbit/s, if it exceeds the measured value; a lower bound would say
    /// nothing.
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

/// The name of a unit variant in JSON.
fn spelled(variant: impl Serialize) -> String {
    let name = serde_json::to_value(variant).ok();
    name.as_ref().and_then(|n| n.as_str()).unwrap_or_default().to_string()
}

impl ChangeKind {
    /// The name in JSON and in placeholders of sentences.
    pub fn name(self) -> String {
        spelled(self)
    }
}

impl ChangePlace {
    /// Places with an operator who can make a change there, in the order of the reference documentation.
    pub const ACTORS: [ChangePlace; 5] = [
        ChangePlace::Sender,
        ChangePlace::Receiver,
        ChangePlace::SenderEdge,
        ChangePlace::Limiter,
        ChangePlace::Path,
    ];

    /// The name in JSON and in options.
    pub fn name(self) -> String {
        spelled(self)
    }

    /// Finds a place of [`ChangePlace::ACTORS`] by its name, or by its name in version 0.1.
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
    /// The name in JSON and in placeholders of sentences.
    pub fn name(self) -> String {
        spelled(self)
    }
}

#[test]
fn actors_are_named_as_in_json_and_options() {
    for place in ChangePlace::ACTORS {
        assert_eq!(ChangePlace::actor(&place.name()), Some(place));
    }
    assert_eq!(ChangePlace::actor("both-ends"), None);
    assert_eq!(ChangePlace::actor("near-edge"), Some(ChangePlace::SenderEdge));
}
