//! What one connection met is held against the next.

use super::{Question, RuleEntry};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};

const NAME: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "metrics-save",
    looks_for: "slow start thresholds kept from one connection to the next",
    source: "ip-sysctl: tcp_no_ssthresh_metrics_save, tcp_no_metrics_save",
    find,
};

fn find(q: &Question) -> Vec<AuditFinding> {
    let off = |name: &str| q.ns.settings.is_off(name);
    if !(off(NAME) && off("net.ipv4.tcp_no_metrics_save")) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 0");
    let why = "The slow start threshold of a connection that met losses is kept for its destination: the next one leaves slow \
               start there, however the path is by then.";
    let change = [sysctl(q.ns, NAME, 1)];
    vec![AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change)]
}
