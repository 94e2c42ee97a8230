//! A difference between two variants, as data.

use result::topology::PathStage;

/// The queue of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSetting {
    /// `fifo`, `codel`, …
    pub kind: String,
    /// Limit in packets, as the scenario spells it; of the default if that has one.
    pub packets: Option<String>,
    /// Limit in bytes, as the scenario spells it.
    pub bytes: Option<String>,
}

/// The object that a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOwner {
    /// A host: its TCP stack.
    Host,
    /// A link: its ends.
    Link,
    Relay,
    Flow,
    Run,
}

/// A difference between the baseline and a variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A stage replaced by one of another kind.
    Replaced { was: PathStage, is: PathStage },
    /// Another queue. If several stages got the same one, `was` has the former queue of each.
    Queue { was: Vec<QueueSetting>, is: QueueSetting },
    /// Another value of a stage's setting; `None` is the default.
    Set {
        /// The stage's kind.
        kind: String,
        key: String,
        was: Option<String>,
        is: Option<String>,
    },
    /// An added stage.
    Added {
        stage: PathStage,
        /// The kind of the next stage that the baseline has too.
        before: Option<String>,
        /// The kind of the previous such stage, if there is no next one.
        after: Option<String>,
    },
    /// A removed stage.
    Removed(PathStage),
    /// An added relay, by its host.
    Relay(String),
    /// A removed relay, by its host.
    NoRelay(String),
    /// Another value of a setting outside the path's stages; `None` is the default.
    Setting {
        owner: SettingOwner,
        /// Names of the hosts, links, relays or flows; empty if all of them changed.
        names: Vec<String>,
        /// The key; keys of inner tables with a dot: `stack.mss`.
        key: String,
        was: Option<String>,
        is: Option<String>,
    },
    /// Another congestion control.
    Control {
        was: String,
        is: String,
        /// The flows' names; empty if all TCP flows of the variant changed.
        flows: Vec<String>,
    },
}

/// The default limit of a FIFO in packets (`path::Fifo`, Linux' `txqueuelen`).
pub(super) const FIFO_PACKETS: &str = "1000";
/// Kinds of stages that have a queue.
const QUEUED: [&str; 6] = ["link", "rate-trace", "shaper", "handover", "train", "outage"];

/// The queue of a stage; `None` for a kind without a queue.
pub(super) fn queue(stage: &PathStage) -> Option<QueueSetting> {
    let setting = |key: &str| stage.settings.get(key).cloned();
    let kind = setting("queue.kind").unwrap_or_else(|| "fifo".into());
    let (packets, bytes) = (setting("queue.packets"), setting("queue.bytes"));
    let default = (kind == "fifo" && bytes.is_none()).then(|| FIFO_PACKETS.into());
    QUEUED.contains(&stage.kind.as_str()).then(|| QueueSetting { kind, packets: packets.or(default), bytes })
}
