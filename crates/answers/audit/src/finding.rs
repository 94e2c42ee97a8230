//! A finding: what is wrong, where, what it costs, what to do and how to undo it.

use crate::facts::{HtbClassFacts, NamespaceFacts};
use crate::trial::CostTrial;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingLevel {
    /// Something is wrong: the exit code is 1.
    Problem,
    /// Worth knowing; nothing is wrong by itself.
    Note,
}

/// One finding. The same in several namespaces is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditFinding {
    /// The rule's name.
    pub rule: String,
    /// How bad it is.
    pub level: FindingLevel,
    /// Names of the namespaces it is in; empty for what is the whole host's.
    pub namespaces: Vec<String>,
    /// What was seen.
    pub seen: String,
    /// Why that matters.
    pub why: String,
    /// Where that is written.
    pub source: String,
    /// What to type to change it. longfat itself changes nothing.
    pub commands: Vec<String>,
    /// What to type to have it back as it is.
    pub undo: Vec<String>,
    /// What it costs on the path given; absent without a path, and for what the simulator does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<FindingCost>,
    /// What is to be simulated.
    #[serde(skip)]
    pub proposal: Option<Proposal>,
}

/// What a finding costs: the path simulated as it is, and with the commands given.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FindingCost {
    /// What was measured.
    pub measure: CostMeasure,
    /// As it is.
    pub now: f64,
    /// With the commands given.
    pub then: f64,
    /// How many times as good: above 1 is better. Absent where nothing arrives as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// What was simulated, in words.
    pub simulated: String,
}

impl FindingCost {
    /// [`FindingCost::gain`] to be compared by: infinite where something arrives only with the commands.
    pub fn worth(&self) -> f64 {
        self.gain.unwrap_or(if self.then > 0.0 { f64::INFINITY } else { 1.0 })
    }
}

/// What a cost is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum CostMeasure {
    /// Payload that arrives, Mbit/s.
    #[serde(rename = "goodput_mbps")]
    Goodput,
    /// Mean time of an answer, seconds.
    #[serde(rename = "answer_s")]
    Answer,
}

/// What a rule would have simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// As it is, and changed.
    pub trial: CostTrial,
    /// It is a finding only if the change gains this much (1.1: a tenth) on the path; `None`: in any case.
    pub least_gain: Option<f64>,
    /// Of a rule's proposals for one namespace only the one that gains most is told.
    pub alternatives: bool,
}

/// A change of a namespace's settings.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingChange {
    /// A sysctl.
    Sysctl {
        /// Its name.
        name: String,
        /// Its value now; `None` where it is not known.
        from: Option<String>,
        /// What it should be.
        to: String,
    },
    /// The root queueing discipline of a device.
    Qdisc {
        /// The device.
        device: String,
        /// The one it has.
        from: String,
        /// The one it should have.
        to: String,
    },
    /// How many segments a device is handed in one piece.
    Segments {
        /// The device.
        device: String,
        /// How many at most now; `None` where it is not known.
        from: Option<u32>,
        /// How many it should be.
        to: u32,
    },
    /// The bucket of an HTB class.
    ClassBurst {
        /// The device.
        device: String,
        /// The class as it is.
        class: HtbClassFacts,
        /// Bytes that both its buckets should hold.
        to: u64,
    },
}

impl SettingChange {
    /// A sysctl of this namespace.
    pub fn sysctl(ns: &NamespaceFacts, name: &str, to: impl ToString) -> SettingChange {
        SettingChange::Sysctl {
            name: name.into(),
            from: ns.settings.text(name).map(str::to_string),
            to: to.to_string(),
        }
    }

    /// `fq` on every link that does not have it.
    pub fn fq(ns: &NamespaceFacts) -> Vec<SettingChange> {
        let links = ns.links().filter(|d| d.qdisc != "fq");
        let change = |d: &crate::DeviceFacts| SettingChange::Qdisc {
            device: d.name.clone(),
            from: d.qdisc.clone(),
            to: "fq".into(),
        };
        links.map(change).collect()
    }

    /// Makes it.
    pub fn apply(&self, ns: &mut NamespaceFacts) {
        match self {
            SettingChange::Sysctl { name, to, .. } => ns.settings.set(name, to),
            SettingChange::Qdisc { device, to, .. } => {
                ns.devices.iter_mut().filter(|d| d.name == *device).for_each(|d| d.qdisc.clone_from(to));
            }
            SettingChange::Segments { device, to, .. } => {
                ns.devices.iter_mut().filter(|d| d.name == *device).for_each(|d| d.gso_max_segs = Some(*to));
            }
            SettingChange::ClassBurst { device, class, to } => {
                let of = ns.devices.iter_mut().filter(|d| d.name == *device).flat_map(|d| &mut d.classes);
                of.filter(|c| c.name == class.name)
                    .for_each(|c| (c.burst_bytes, c.cburst_bytes) = (*to, *to));
            }
        }
    }

    /// What to type for it.
    pub fn command(&self) -> String {
        match self {
            SettingChange::Sysctl { name, to, .. } => sysctl(name, to),
            SettingChange::Qdisc { device, to, .. } => {
                format!("tc qdisc replace dev {} root {to}", quoted(device))
            }
            SettingChange::Segments { device, to, .. } => gso_max_segs(device, *to),
            SettingChange::ClassBurst { device, class, to } => class_burst(device, class, [*to, *to]),
        }
    }

    /// What to type to have it back; `None` where that is not known.
    pub fn undo(&self) -> Option<String> {
        match self {
            SettingChange::Sysctl { name, from, .. } => from.as_ref().map(|from| sysctl(name, from)),
            // The default comes back by itself.
            SettingChange::Qdisc { device, .. } => Some(format!("tc qdisc del dev {} root", quoted(device))),
            SettingChange::Segments { device, from, .. } => from.map(|from| gso_max_segs(device, from)),
            SettingChange::ClassBurst { device, class, .. } => {
                Some(class_burst(device, class, [class.burst_bytes, class.cburst_bytes]))
            }
        }
    }
}

fn gso_max_segs(device: &str, most: u32) -> String {
    format!("ip link set dev {} gso_max_segs {most}", quoted(device))
}

/// `tc class change` takes the rates again; without them it refuses.
fn class_burst(device: &str, class: &HtbClassFacts, [burst, cburst]: [u64; 2]) -> String {
    let HtbClassFacts { name, parent, bytes_per_second, ceil_bytes_per_second, .. } = class;
    let parent = if parent == "root" {
        name.split(':').next().unwrap_or_default().to_string() + ":"
    } else {
        parent.clone()
    };
    format!(
        "tc class change dev {} parent {parent} classid {name} htb rate {}bit ceil {}bit burst {burst} cburst {cburst}",
        quoted(device),
        bytes_per_second.saturating_mul(8),
        ceil_bytes_per_second.saturating_mul(8)
    )
}

fn sysctl(name: &str, value: &str) -> String {
    format!("sysctl -w {}", quoted(&format!("{name}={value}")))
}

/// A word as a shell takes it: names of devices may hold nearly anything.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl AuditFinding {
    /// One in this namespace, without commands.
    pub fn new(level: FindingLevel, ns: &NamespaceFacts, seen: String, why: &str) -> AuditFinding {
        AuditFinding { namespaces: vec![ns.name.clone()], ..AuditFinding::of_host(level, seen, why) }
    }

    /// One of the whole host, without commands.
    pub fn of_host(level: FindingLevel, seen: String, why: &str) -> AuditFinding {
        AuditFinding {
            rule: String::new(),
            level,
            namespaces: Vec::new(),
            seen,
            why: why.into(),
            source: String::new(),
            commands: Vec::new(),
            undo: Vec::new(),
            cost: None,
            proposal: None,
        }
    }

    /// With the commands of these changes, entered into the namespace.
    pub fn with_changes(mut self, ns: &NamespaceFacts, changes: &[SettingChange]) -> AuditFinding {
        let Some(enter) = &ns.enter else { return self };
        let entered = |command: String| match enter.as_str() {
            "" => command,
            enter => format!("{enter} {command}"),
        };
        self.commands.extend(changes.iter().map(|c| entered(c.command())));
        self.undo.extend(changes.iter().filter_map(SettingChange::undo).map(entered));
        self
    }

    /// With what to simulate; a problem or note in any case.
    pub fn with_trial(self, trial: CostTrial) -> AuditFinding {
        let proposal = Proposal { trial, least_gain: None, alternatives: false };
        AuditFinding { proposal: Some(proposal), ..self }
    }

    /// With what to simulate; nothing if the change does not gain so much.
    pub fn if_it_gains(self, least: f64, trial: CostTrial) -> AuditFinding {
        let proposal = Proposal { trial, least_gain: Some(least), alternatives: false };
        AuditFinding { proposal: Some(proposal), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::clean;

    #[test]
    fn a_change_knows_its_command_its_undo_and_its_effect() {
        let mut ns = clean("web");
        let change = SettingChange::sysctl(&ns, "net.ipv4.tcp_rmem", "4096 131072 33554432");
        assert_eq!(change.command(), "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 33554432'");
        assert_eq!(change.undo().unwrap(), "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'");
        let finding = AuditFinding::new(FindingLevel::Problem, &ns, "x".into(), "y")
            .with_changes(&ns, std::slice::from_ref(&change));
        assert_eq!(
            finding.commands[0],
            "ip netns exec web sysctl -w 'net.ipv4.tcp_rmem=4096 131072 33554432'"
        );
        change.apply(&mut ns);
        assert_eq!(ns.settings.nth("net.ipv4.tcp_rmem", 2), Some(33_554_432));
        let fq = SettingChange::fq(&ns);
        assert_eq!(fq[0].command(), "tc qdisc replace dev eth0 root fq");
        assert_eq!(fq[0].undo().unwrap(), "tc qdisc del dev eth0 root");
        fq[0].apply(&mut ns);
        assert!(ns.links_pace() && SettingChange::fq(&ns).is_empty());
    }

    #[test]
    fn a_hostile_name_stays_one_word() {
        assert_eq!(quoted("eth0"), "eth0");
        assert_eq!(quoted("a'; rm -rf ~"), "'a'\\''; rm -rf ~'");
        assert_eq!(quoted(""), "''");
    }
}
