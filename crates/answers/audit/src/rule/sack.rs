//! Selective acknowledgements turned off.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_sack";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "sack",
    looks_for: "selective acknowledgements turned off",
    source: "RFC 2018; RFC 8985; ip-sysctl: tcp_sack",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    if !q.ns.settings.is_off(NAME) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 0");
    let why = "Without SACK, a sender learns of one loss per round trip, and Linux' RACK and tail loss probes do not work (RFC 8985 \
               section 4).";
    let change = [sysctl(q.ns, NAME, 1)];
    let finding = AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => finding.with_trial(CostTrial::of(q.ns, path, TrialLoad::Send, &change)),
        None => finding,
    }]
}
