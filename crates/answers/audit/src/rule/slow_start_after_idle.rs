//! Connections that are kept open restart slow start after each pause.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_slow_start_after_idle";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "slow-start-after-idle",
    looks_for: "a path on which responses over persistent connections take a third longer because of the restart after a pause",
    source: "RFC 5681 section 4.1; ip-sysctl: tcp_slow_start_after_idle",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some(path) = q.reachable() else { return Vec::new() };
    if q.ns.settings.number(NAME) != Some(1) {
        return Vec::new();
    }
    let seen = format!("{NAME} is 1, the kernel's default");
    let why = "After a pause of a retransmission timeout, a connection restarts with ten segments. RFC 5681 recommends that, \
               because its knowledge of the path may be outdated; a server with persistent connections pays with round \
               trips.";
    let change = [sysctl(q.ns, NAME, 0)];
    // As much as slow start sends in a few round trips.
    let answer = path.bdp().clamp(60_000, 2_000_000);
    let trial = CostTrial::of(q.ns, path, TrialLoad::Answer(answer), &change);
    vec![AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &change).if_it_gains(4.0 / 3.0, trial)]
}
