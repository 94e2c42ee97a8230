//! Receive buffers that do not grow.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_moderate_rcvbuf";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "receive-autotuning",
    looks_for: "receive buffers that stay at their initial size",
    source: "ip-sysctl: tcp_moderate_rcvbuf",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    if !q.ns.settings.is_off(NAME) {
        return Vec::new();
    }
    let first = q.ns.settings.nth("net.ipv4.tcp_rmem", 1).map_or("an unknown size".into(), size);
    let seen = format!("{NAME} is 0: every receive buffer stays at {first}");
    let why = "The kernel then never enlarges a receive buffer, however long and fast the path is; only a program can, with SO_RCVBUF.";
    let change = [sysctl(q.ns, NAME, 1)];
    let finding = AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => finding.with_trial(CostTrial::of(q.ns, path, TrialLoad::Receive, &change)),
        None => finding,
    }]
}
