//! A finding: what is wrong, where, what it costs, what to do and how to undo it.

use crate::change::PlacedSetting;
use crate::facts::NamespaceFacts;
use crate::trial::CostTrial;
use result::change::ChangeEffect;
use result::{Change, LinuxSetting};
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingLevel {
    /// Something is wrong. The exit code is 1.
    Problem,
    /// A fact that may matter, but is not a mistake by itself.
    Note,
}

/// A finding. The same finding in several namespaces is listed once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditFinding {
    /// Name of the rule.
    pub rule: String,
    /// Severity of the finding.
    pub level: FindingLevel,
    /// Names of the namespaces that have it; empty for a finding about the whole host.
    pub namespaces: Vec<String>,
    /// What was found.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// References: man pages, RFCs, kernel sources.
    pub source: String,
    /// The changes to make, with their commands and how to undo them. longfat itself changes nothing.
    pub remedies: Vec<Change>,
    /// The cost on the given path: the path simulated without and with the changes. Absent if no path is
    /// given, and where the simulator does not model the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<ChangeEffect>,
    /// The settings that the commands change.
    #[serde(skip)]
    pub settings: Vec<PlacedSetting>,
    /// The change to simulate.
    #[serde(skip)]
    pub proposal: Option<Proposal>,
}

/// A rule's proposal, to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The current state and the changed one.
    pub trial: CostTrial,
    /// Gain that the change must reach for the finding to count (1.1 means a tenth); `None` for any.
    pub min_gain: Option<f64>,
    /// The finding is one of a rule's alternatives for a namespace, of which only the best is reported.
    pub alternatives: bool,
    /// Level of the finding if the change gains something.
    pub level: FindingLevel,
    /// Whether both sides of the trial have the changes of the other findings.
    pub after_others: bool,
}

impl AuditFinding {
    /// Creates a finding about a namespace, without commands.
    pub fn new(level: FindingLevel, ns: &NamespaceFacts, seen: String, why: &str) -> AuditFinding {
        AuditFinding { namespaces: vec![ns.name.clone()], ..AuditFinding::of_host(level, seen, why) }
    }

    /// Creates a finding about the whole host, without commands.
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

    /// Adds settings of the namespace to change, with their commands.
    pub fn with_settings(self, ns: &NamespaceFacts, settings: &[LinuxSetting]) -> AuditFinding {
        self.placed(ns, settings, false)
    }

    /// Adds settings of the namespace whose values are copied from the host.
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

    /// Derives the remedies from the settings.
    pub fn write_remedies(&mut self) {
        self.remedies = self.settings.iter().map(PlacedSetting::remedy).collect();
    }

    /// Returns all commands that apply the changes.
    pub fn commands(&self) -> Vec<String> {
        self.remedies.iter().flat_map(|r| &r.commands).flat_map(|set| set.apply.clone()).collect()
    }

    /// Returns all commands that undo the changes.
    pub fn undo(&self) -> Vec<String> {
        self.remedies.iter().flat_map(|r| &r.commands).flat_map(|set| set.undo.clone()).collect()
    }

    /// Adds a trial. The finding stays, regardless of the gain.
    pub fn with_trial(self, trial: CostTrial) -> AuditFinding {
        self.proposing(trial, None, false)
    }

    /// Adds a trial. The finding is dropped if the change gains less than `min_gain`.
    pub fn if_it_gains(self, min_gain: f64, trial: CostTrial) -> AuditFinding {
        self.proposing(trial, Some(min_gain), false)
    }

    /// Adds a trial of one of several alternatives. The finding is dropped if the change gains less than
    /// `min_gain` or another one gains more.
    pub fn if_it_gains_most(self, min_gain: f64, trial: CostTrial) -> AuditFinding {
        self.proposing(trial, Some(min_gain), true)
    }

    fn proposing(self, trial: CostTrial, min_gain: Option<f64>, alternatives: bool) -> AuditFinding {
        let proposal = Proposal { trial, min_gain, alternatives, level: self.level, after_others: false };
        AuditFinding { proposal: Some(proposal), ..self }
    }
}
