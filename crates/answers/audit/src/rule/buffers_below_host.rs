//! Namespaces whose `tcp_rmem` and `tcp_wmem` are smaller than the host's. They are copied once, when a
//! namespace is created.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "buffers-below-host",
    looks_for: "a namespace whose largest TCP buffers are less than half of the host's",
    source: "tcp_sk_init, net/ipv4/tcp_ipv4.c; ip-sysctl: tcp_rmem, tcp_wmem",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some(host) = q.host.initial().filter(|_| !q.ns.initial) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, load) in [("net.ipv4.tcp_rmem", TrialLoad::Receive), ("net.ipv4.tcp_wmem", TrialLoad::Send)] {
        let (Some(own), Some(hosts)) = (q.ns.settings.nth(name, 2), host.settings.nth(name, 2)) else {
            continue;
        };
        if own.saturating_mul(2) >= hosts {
            continue;
        }
        let seen = format!("{name} is at most {}; the host's is {}", size(own), size(hosts));
        let why = "It limits the window of a connection. A namespace copies the host's values when it is created and keeps them; \
                   later changes on the host do not affect it.";
        let change = [sysctl(q.ns, name, host.settings.text(name).unwrap_or_default())];
        let finding = AuditFinding::new(Problem, q.ns, seen, why).with_copied(q.ns, &change);
        found.push(match q.reachable() {
            Some(path) => finding.with_trial(CostTrial::of(q.ns, path, load, &change)),
            None => finding,
        });
    }
    found
}
