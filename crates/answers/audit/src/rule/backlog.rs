//! Packets dropped before the stack.

use super::{Question, RuleEntry};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Note};

const NAME: &str = "net.core.netdev_max_backlog";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "backlog",
    looks_for: "packets dropped because a processor's backlog was full",
    source: "admin-guide/sysctl/net: netdev_max_backlog; /proc/net/softnet_stat",
    find,
};

fn find(q: &Question) -> Vec<AuditFinding> {
    let Some(drops) = q.host.backlog_drops.filter(|n| *n > 0 && q.ns.initial) else { return Vec::new() };
    let seen = format!("{drops} packets since boot");
    let why = "Between a device and the stack, or between two ends of a veth, each processor keeps a backlog; what finds it full is \
               lost, which TCP takes for congestion.";
    let own = q.ns.settings.number(NAME).unwrap_or(1000);
    let change = [sysctl(q.ns, NAME, own.saturating_mul(4))];
    let mut finding = AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &change);
    finding.namespaces.clear();
    vec![finding]
}
