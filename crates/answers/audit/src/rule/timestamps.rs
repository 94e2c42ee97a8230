//! Timestamps turned off.

use super::{Question, RuleEntry};
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

fn find(q: &Question) -> Vec<AuditFinding> {
    if !q.ns.settings.is_off(NAME) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 0");
    let why = "Without them nothing protects against sequence numbers that come round (PAWS: within 34 s at 1 Gbit/s), needless \
               retransmissions are not told from needed ones by their echo (Eifel), and what is sent again gives no round trip.";
    let change = [sysctl(q.ns, NAME, 1)];
    let finding = AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => finding.with_trial(CostTrial::of(q.ns, path, TrialLoad::Send, &change)),
        None => finding,
    }]
}
