//! Packets dropped because a CPU's backlog was full.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Note};

const NAME: &str = "net.core.netdev_max_backlog";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "backlog",
    looks_for: "packets dropped because a CPU's backlog was full",
    source: "admin-guide/sysctl/net: netdev_max_backlog; /proc/net/softnet_stat",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some(drops) = q.host.backlog_drops.filter(|n| *n > 0 && q.ns.initial) else { return Vec::new() };
    let seen = format!("{drops} packets dropped since boot");
    let why = "Each CPU has a backlog between a device and the stack, and between the ends of a veth. Packets that arrive at a full one are \
               lost, which TCP takes for congestion.";
    let own = q.ns.settings.number(NAME).unwrap_or(1000);
    let change = [sysctl(q.ns, NAME, own.saturating_mul(4))];
    let mut finding = AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &change);
    finding.namespaces.clear();
    vec![finding]
}
