//! A finding: what is wrong, where, what it costs, what to do and how to undo it.

use crate::change::{PlacedChange, SettingChange};
use crate::facts::NamespaceFacts;
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
    /// The changes that the commands make.
    #[serde(skip)]
    pub changes: Vec<PlacedChange>,
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
    /// The level that the finding has if the change gains.
    pub level: FindingLevel,
    /// Both sides of the trial have what the other findings change.
    pub after_others: bool,
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
            changes: Vec::new(),
            proposal: None,
        }
    }

    /// With these changes of the namespace, and their commands.
    pub fn with_changes(mut self, ns: &NamespaceFacts, changes: &[SettingChange]) -> AuditFinding {
        let place = |change: &SettingChange| PlacedChange {
            namespace: ns.name.clone(),
            enter: ns.enter.clone(),
            change: change.clone(),
        };
        self.changes.extend(changes.iter().map(place));
        self.write_commands();
        self
    }

    /// Writes the commands and their undo from the changes.
    pub fn write_commands(&mut self) {
        self.commands = self.changes.iter().flat_map(PlacedChange::commands).collect();
        self.undo = self.changes.iter().flat_map(PlacedChange::undo).collect();
    }

    /// With what to simulate; a problem or note in any case.
    pub fn with_trial(self, trial: CostTrial) -> AuditFinding {
        self.proposing(trial, None, false)
    }

    /// With what to simulate; nothing if the change does not gain so much.
    pub fn if_it_gains(self, least: f64, trial: CostTrial) -> AuditFinding {
        self.proposing(trial, Some(least), false)
    }

    /// With what to simulate, of several for one namespace; nothing if the change does not gain so much or another gains more.
    pub fn if_it_gains_most(self, least: f64, trial: CostTrial) -> AuditFinding {
        self.proposing(trial, Some(least), true)
    }

    fn proposing(self, trial: CostTrial, least_gain: Option<f64>, alternatives: bool) -> AuditFinding {
        let proposal = Proposal { trial, least_gain, alternatives, level: self.level, after_others: false };
        AuditFinding { proposal: Some(proposal), ..self }
    }
}
