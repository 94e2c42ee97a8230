//! What a rule's file says of it.

use crate::facts::{HostFacts, NamespaceFacts};
use crate::finding::AuditFinding;
use crate::path::CheckedPath;

/// A rule.
pub struct RuleEntry {
    /// Its name, in JSON and on the terminal.
    pub name: &'static str,
    /// What it looks for, in a sentence without a full stop.
    pub looks_for: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// What is wrong; nothing where nothing is, or where the facts are not there.
    pub find: fn(&Question<'_>) -> Vec<AuditFinding>,
}

/// What a rule is asked of.
pub struct Question<'a> {
    /// The whole host.
    pub host: &'a HostFacts,
    /// The namespace.
    pub ns: &'a NamespaceFacts,
    /// The path, where it is known.
    pub path: Option<&'a CheckedPath>,
}

impl Question<'_> {
    /// The path, for a namespace that can reach it.
    pub fn reachable(&self) -> Option<&CheckedPath> {
        self.path.filter(|_| self.ns.is_connected())
    }
}
