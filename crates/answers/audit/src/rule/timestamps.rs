//! Timestamps turned off.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_timestamps";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "timestamps",
    looks_for: "TCP timestamps turned off",
    source: "RFC 7323 sections 3 and 5; ip-sysctl: tcp_timestamps",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    if !q.ns.settings.is_off(NAME) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 0");
    let why = "Without them, nothing protects against wrapped sequence numbers (PAWS: within 34 s at 1 Gbit/s), spurious \
               retransmissions are not detected by their echo (Eifel), and retransmitted data yields no RTT sample.";
    let change = [sysctl(q.ns, NAME, 1)];
    let finding = AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => finding.with_trial(CostTrial::of(q.ns, path, TrialLoad::Send, &change)),
        None => finding,
    }]
}
