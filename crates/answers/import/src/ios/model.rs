//! The model: policies with their classes, and the interfaces to which they are applied.

use super::units::{Dialect, IosRate, IosSize};
use std::collections::BTreeMap;

/// `police`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IosPolice {
    pub line: usize,
    pub cir: IosRate,
    pub bc: Option<IosSize>,
    pub be: Option<IosSize>,
    pub pir: Option<IosRate>,
    /// Actions by colour: conform, exceed, violate.
    pub actions: [Option<String>; 3],
}

/// `shape`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IosShape {
    pub line: usize,
    pub cir: IosRate,
    pub bc: Option<IosSize>,
    pub be: Option<IosSize>,
    pub peak: bool,
}

/// `priority`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IosPriority {
    pub line: usize,
    /// Priority level; 1 is the highest.
    pub level: u8,
    /// The rate of its conditional policer; `None`: strict priority without one.
    pub rate: Option<IosRate>,
    /// The burst of the conditional policer.
    pub burst: Option<IosSize>,
}

/// `bandwidth remaining`: a class's share of the rate that priorities and guarantees leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IosExcess {
    /// Per cent of the rest.
    Percent(f64),
    /// Weight relative to other classes.
    Ratio(u64),
}

/// Counters of a class from `show policy-map interface`. Each has its line number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IosCounters {
    /// Packets of the class.
    pub packets: Option<(usize, u64)>,
    /// Average offered rate, bit/s.
    pub offered: Option<(usize, u64)>,
    /// Average drop rate, bit/s.
    pub drop_rate: Option<u64>,
    /// Packets queued now.
    pub depth: Option<(usize, u64)>,
    /// Packets dropped at the queue.
    pub drops: Option<(usize, u64)>,
    /// Packets dropped by the policer of a priority class.
    pub priority_drops: Option<(usize, u64)>,
    /// Packets and bytes of a policer by colour: conformed, exceeded, violated.
    pub policed: [Option<(usize, u64, u64)>; 3],
    /// Average rate of packets that exceed the policer, bit/s.
    pub exceeded_rate: Option<(usize, u64)>,
}

/// A class of a policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct IosClass {
    pub name: String,
    pub line: usize,
    pub police: Option<IosPolice>,
    pub shape: Option<IosShape>,
    pub bandwidth: Option<IosRate>,
    pub excess: Option<IosExcess>,
    pub priority: Option<IosPriority>,
    pub queue: Option<IosSize>,
    pub fair: bool,
    pub red: bool,
    /// The policy below the class.
    pub child: Option<String>,
    /// A value was refused, so the class is left out.
    pub refused: bool,
    pub counters: IosCounters,
}

impl IosClass {
    /// Whether the class takes the traffic of no other class.
    pub fn is_default(&self) -> bool {
        let name = self.name.as_str();
        name.eq_ignore_ascii_case("class-default") || name.ends_with("-q-default")
    }

    /// Whether the class has its own queue. A class that only polices or marks uses the queue of
    /// class-default.
    pub fn queues(&self) -> bool {
        self.shape.is_some()
            || self.bandwidth.is_some()
            || self.excess.is_some()
            || self.priority.is_some()
            || self.queue.is_some()
            || self.fair
            || self.red
    }
}

/// A policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct IosPolicy {
    pub line: usize,
    pub classes: Vec<IosClass>,
}

/// The matches of a class.
#[derive(Clone, Debug, Default)]
pub(crate) struct IosMatch {
    pub says: Vec<String>,
    pub dscp: Option<u8>,
}

/// A policy applied to an interface.
#[derive(Clone, Debug)]
pub(crate) struct IosUse {
    pub line: usize,
    pub interface: String,
    pub inward: bool,
    pub policy: String,
}

/// The configured speed of an interface, bit/s.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IosSpeed {
    /// `speed`: the rate of the port.
    pub port: Option<u64>,
    /// `bandwidth`: the reference of percentages.
    pub bandwidth: Option<u64>,
}

/// The configuration of a text.
#[derive(Debug, Default)]
pub(crate) struct IosModel {
    pub dialect: Dialect,
    pub policies: BTreeMap<String, IosPolicy>,
    /// Names of the policies in order.
    pub order: Vec<String>,
    pub matches: BTreeMap<String, IosMatch>,
    pub uses: Vec<IosUse>,
    /// Policies applied to the control plane, which is not on a path.
    pub elsewhere: Vec<String>,
    pub speeds: BTreeMap<String, IosSpeed>,
}

/// A codepoint by its name (RFC 2474, 2597, 3246) or number.
pub(crate) fn dscp(word: &str) -> Option<u8> {
    let word = word.to_ascii_lowercase();
    let number = |t: &str| t.parse::<u8>().ok();
    match word.as_str() {
        "ef" => Some(46),
        "default" => Some(0),
        _ => match word.strip_prefix("af").and_then(number) {
            Some(af) if (1..=4).contains(&(af / 10)) && (1..=3).contains(&(af % 10)) => {
                Some(af / 10 * 8 + af % 10 * 2)
            }
            Some(_) => None,
            None => match word.strip_prefix("cs").and_then(number) {
                Some(cs) => (cs < 8).then_some(cs * 8),
                None => number(&word).filter(|d| *d < 64),
            },
        },
    }
}
