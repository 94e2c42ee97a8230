//! A change of one variant from another, as data.

use result::topology::PathStage;

/// What waits at a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSetting {
    /// `fifo`, `codel` ….
    pub kind: String,
    /// Most packets, as the scenario spells it, where it says so or the default does.
    pub packets: Option<String>,
    /// Most bytes, as the scenario spells it.
    pub bytes: Option<String>,
}

/// Whose a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOf {
    /// A host's: its TCP.
    Host,
    /// A link's: between whom it is.
    Link,
    /// A relay's.
    Relay,
    /// A flow's.
    Flow,
    /// The whole run's.
    Run,
}

/// A difference of two variants.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A stage of another kind in a stage's place.
    Replaced {
        /// The baseline's.
        was: PathStage,
        /// The variant's.
        is: PathStage,
    },
    /// Another queue; where several stages got the same, what each of them had.
    Queue {
        /// In the baseline.
        was: Vec<QueueSetting>,
        /// In the variant.
        is: QueueSetting,
    },
    /// A setting of a stage of the same kind.
    Set {
        /// The stage's kind.
        kind: String,
        /// The setting's key.
        key: String,
        /// The baseline's value; `None`: the default.
        was: Option<String>,
        /// The variant's.
        is: Option<String>,
    },
    /// A stage more.
    Added {
        /// The stage.
        stage: PathStage,
        /// The kind of the stage behind it that the baseline has too.
        before: Option<String>,
        /// The kind of the stage in front of it, where there is none behind.
        after: Option<String>,
    },
    /// A stage less.
    Removed(PathStage),
    /// A relay more, on this host.
    Relay(String),
    /// A relay less.
    NoRelay(String),
    /// Something that the scenario says beside the path's stages.
    Setting {
        /// Whose it is.
        of: SettingOf,
        /// Their names, where it is not of all there are.
        names: Vec<String>,
        /// The key, of tables within with a dot: `stack.mss`.
        key: String,
        /// The baseline's value; `None`: the default.
        was: Option<String>,
        /// The variant's.
        is: Option<String>,
    },
    /// Another congestion control.
    Control {
        /// The baseline's.
        was: String,
        /// The variant's.
        is: String,
        /// The flows whose it is; empty: all of the variant's TCP flows.
        flows: Vec<String>,
    },
}

/// A FIFO that says nothing of its length holds as many packets (`path::Fifo`, Linux' `txqueuelen`).
pub(super) const FIFO_PACKETS: &str = "1000";
/// Stages that have a queue; a setting `queue` of others is told as any.
const QUEUED: [&str; 6] = ["link", "rate-trace", "shaper", "handover", "train", "outage"];

/// What waits at a stage; `None` of a kind that has no queue.
pub(super) fn queue(stage: &PathStage) -> Option<QueueSetting> {
    let setting = |key: &str| stage.settings.get(key).cloned();
    let kind = setting("queue.kind").unwrap_or_else(|| "fifo".into());
    let (packets, bytes) = (setting("queue.packets"), setting("queue.bytes"));
    let usual = (kind == "fifo" && bytes.is_none()).then(|| FIFO_PACKETS.into());
    QUEUED.contains(&stage.kind.as_str()).then(|| QueueSetting { kind, packets: packets.or(usual), bytes })
}
