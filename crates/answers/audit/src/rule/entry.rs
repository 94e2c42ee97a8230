//! The description of a rule.

use crate::facts::{HostFacts, NamespaceFacts};
use crate::finding::AuditFinding;
use crate::path::CheckedPath;

pub struct RuleEntry {
    /// The rule's name in JSON and on the terminal.
    pub name: &'static str,
    /// The mistake that the rule looks for, as a phrase without a full stop.
    pub looks_for: &'static str,
    /// References: man pages, RFCs, kernel sources.
    pub source: &'static str,
    /// Returns the findings; none where nothing is wrong or facts are missing.
    pub find: fn(&RuleInput<'_>) -> Vec<AuditFinding>,
}

/// The input of a rule: a host, one of its namespaces, and the path.
pub struct RuleInput<'a> {
    pub host: &'a HostFacts,
    /// The namespace to inspect.
    pub ns: &'a NamespaceFacts,
    /// The path, if it is known.
    pub path: Option<&'a CheckedPath>,
}

impl RuleInput<'_> {
    /// Returns the path if the namespace can reach it.
    pub fn reachable(&self) -> Option<&CheckedPath> {
        self.path.filter(|_| self.ns.is_connected())
    }
}
