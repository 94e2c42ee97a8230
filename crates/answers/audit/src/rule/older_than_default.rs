//! Namespaces with another default congestion control than the host's. It is copied once, when a namespace is
//! created.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_congestion_control";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "older-than-default",
    looks_for: "a namespace whose default congestion control is not the host's",
    source: "tcp_sk_init, net/ipv4/tcp_ipv4.c; ip-sysctl: tcp_congestion_control",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some(host) = q.host.initial().filter(|_| !q.ns.initial) else { return Vec::new() };
    let (Some(own), Some(wanted)) = (q.ns.default_control(), host.default_control()) else {
        return Vec::new();
    };
    if own == wanted {
        return Vec::new();
    }
    let seen = format!("new connections begin with {own}; the host's default is {wanted}");
    let why = "A namespace copies the host's default when it is created and keeps it: this one is older than the host's setting, \
               or has its own. A container gets the host's default when its namespace is created again.";
    let change = [sysctl(q.ns, NAME, wanted)];
    let finding = AuditFinding::new(Problem, q.ns, seen, why).with_copied(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => finding.with_trial(CostTrial::of(q.ns, path, TrialLoad::Send, &change)),
        None => finding,
    }]
}
