//! Policies, their classes, and where they are applied.

use std::collections::BTreeMap;

/// A rate or a share of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IosRate {
    /// Bits per second.
    Bits(u64),
    /// Percent of what the policy has.
    Percent(f64),
    /// Percent of what others leave.
    Remaining(f64),
    /// A share of what others leave, relative to other classes'.
    Ratio(u64),
}

/// `police`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IosPolice {
    pub line: usize,
    pub cir: IosRate,
    /// Bytes.
    pub bc: Option<u64>,
    /// Bytes.
    pub be: Option<u64>,
    pub pir: Option<u64>,
    /// Actions by colour: conform, exceed, violate.
    pub actions: [Option<String>; 3],
}

/// `shape`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IosShape {
    pub line: usize,
    pub cir: IosRate,
    /// Bits.
    pub bc: Option<u64>,
    /// Bits.
    pub be: Option<u64>,
    pub peak: bool,
}

/// `queue-limit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IosQueue {
    Packets(u64),
    Bytes(u64),
    Ms(u64),
}

/// A class of a policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct IosClass {
    pub name: String,
    pub line: usize,
    pub police: Option<IosPolice>,
    pub shape: Option<IosShape>,
    pub bandwidth: Option<IosRate>,
    /// `None` of a rate: `priority` alone.
    pub priority: Option<Option<IosRate>>,
    pub queue: Option<IosQueue>,
    pub fair: bool,
    pub red: bool,
    /// The policy below it.
    pub child: Option<String>,
}

impl IosClass {
    /// Whether it takes all that no other class does.
    pub fn is_default(&self) -> bool {
        self.name.eq_ignore_ascii_case("class-default")
    }
}

/// A policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct IosPolicy {
    pub line: usize,
    pub classes: Vec<IosClass>,
}

/// What a class matches.
#[derive(Clone, Debug, Default)]
pub(crate) struct IosMatch {
    pub says: Vec<String>,
    pub dscp: Option<u8>,
}

/// A policy in force.
#[derive(Clone, Debug)]
pub(crate) struct IosUse {
    pub line: usize,
    pub interface: String,
    pub inward: bool,
    pub policy: String,
}

/// All that a text says.
#[derive(Debug, Default)]
pub(crate) struct IosModel {
    pub policies: BTreeMap<String, IosPolicy>,
    /// Their names in order.
    pub order: Vec<String>,
    pub matches: BTreeMap<String, IosMatch>,
    pub uses: Vec<IosUse>,
    /// `bandwidth` of interfaces, bit/s.
    pub speeds: BTreeMap<String, u64>,
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
