//! The slow start threshold is kept from one connection to the next.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};

const NAME: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "metrics-save",
    looks_for: "slow start thresholds kept from one connection to the next",
    source: "ip-sysctl: tcp_no_ssthresh_metrics_save, tcp_no_metrics_save",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let off = |name: &str| q.ns.settings.is_off(name);
    if !(off(NAME) && off("net.ipv4.tcp_no_metrics_save")) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 0");
    let why = "The slow start threshold of a connection with losses is saved for its destination: the next connection leaves slow \
               start at that threshold, even if the path has changed since.";
    let change = [sysctl(q.ns, NAME, 1)];
    vec![AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change)]
}
