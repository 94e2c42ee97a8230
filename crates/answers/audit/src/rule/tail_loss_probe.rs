//! Tail loss probes turned off.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_early_retrans";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "tail-loss-probe",
    looks_for: "tail loss probes turned off",
    source: "RFC 8985 section 7; ip-sysctl: tcp_early_retrans",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    if !q.ns.settings.is_off(NAME) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 0");
    let why = "A loss at the end of the data is then detected only by a timeout: 200 ms or more instead of two round trips.";
    let change = [sysctl(q.ns, NAME, 3)];
    let finding = AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => finding.with_trial(CostTrial::of(q.ns, path, TrialLoad::Answer(100_000), &change)),
        None => finding,
    }]
}
