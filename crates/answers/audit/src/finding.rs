//! A finding: what is wrong, where, what it costs, what to do and how to undo it.

use crate::change::PlacedSetting;
use crate::facts::NamespaceFacts;
use crate::trial::CostTrial;
use result::change::ChangeEffect;
use result::{Change, LinuxSetting};
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
    /// What to change, with what to type and how to have it back. longfat itself changes nothing.
    pub remedies: Vec<Change>,
    /// What it costs on the path given, simulated as it is and with the commands given; absent without a path, and for what the
    /// simulator does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<ChangeEffect>,
    /// The settings that the commands change.
    #[serde(skip)]
    pub settings: Vec<PlacedSetting>,
    /// What is to be simulated.
    #[serde(skip)]
    pub proposal: Option<Proposal>,
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
            remedies: Vec::new(),
            cost: None,
            settings: Vec::new(),
            proposal: None,
        }
    }

    /// With these settings of the namespace, and their commands.
    pub fn with_settings(self, ns: &NamespaceFacts, settings: &[LinuxSetting]) -> AuditFinding {
        self.placed(ns, settings, false)
    }

    /// With these settings of the namespace, whose values are the host's.
    pub fn with_copied(self, ns: &NamespaceFacts, settings: &[LinuxSetting]) -> AuditFinding {
        self.placed(ns, settings, true)
    }

    fn placed(mut self, ns: &NamespaceFacts, settings: &[LinuxSetting], copied: bool) -> AuditFinding {
        let (namespace, enter) = (&ns.name, &ns.enter);
        self.settings.extend(settings.iter().map(|setting| PlacedSetting {
            namespace: namespace.clone(),
            enter: enter.clone(),
            setting: setting.clone(),
            copied,
        }));
        self.write_remedies();
        self
    }

    /// Writes what to change from the settings.
    pub fn write_remedies(&mut self) {
        self.remedies = self.settings.iter().map(PlacedSetting::remedy).collect();
    }

    /// All lines to type.
    pub fn commands(&self) -> Vec<String> {
        self.remedies.iter().flat_map(|r| &r.commands).flat_map(|set| set.apply.clone()).collect()
    }

    /// All lines that have it back.
    pub fn undo(&self) -> Vec<String> {
        self.remedies.iter().flat_map(|r| &r.commands).flat_map(|set| set.undo.clone()).collect()
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
