//! Window scaling turned off, which limits windows to 16 bits.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_window_scaling";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "window-scaling",
    looks_for: "window scaling turned off",
    source: "RFC 7323 section 2; ip-sysctl: tcp_window_scaling",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    if !q.ns.settings.is_off(NAME) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 0: windows are at most 65535 bytes in both directions");
    let why = "Without the option, a window has 16 bits: 65535 bytes per round trip, 5.2 Mbit/s over 100 ms.";
    let change = [sysctl(q.ns, NAME, 1)];
    let finding = AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => finding.with_trial(CostTrial::of(q.ns, path, TrialLoad::Receive, &change)),
        None => finding,
    }]
}
