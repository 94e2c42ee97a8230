//! The receive window cannot grow to the bandwidth-delay product.

use super::{Question, RuleEntry};
use crate::finding::{AuditFinding, FindingLevel::Problem, SettingChange};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_rmem";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "receive-buffer",
    looks_for: "tcp_rmem too small for the path's bandwidth-delay product",
    source: "ip-sysctl: tcp_rmem; RFC 7323 section 1.1",
    find,
};

fn find(q: &Question) -> Vec<AuditFinding> {
    let (Some(path), Some(most)) = (q.reachable(), q.ns.settings.nth(NAME, 2)) else { return Vec::new() };
    // About half of the buffer is payload; what it is just enough for the simulator decides.
    if most / 2 >= 2 * path.bdp() || q.ns.settings.is_off("net.ipv4.tcp_moderate_rcvbuf") {
        return Vec::new();
    }
    let seen = format!("{NAME} ends at {}; the path holds {}", size(most), size(path.bdp()));
    let why = "The window that a receiver offers is about half of its buffer, and no more than a window comes in each round trip.";
    let wanted = larger(q, NAME, path.bdp());
    let change = [SettingChange::sysctl(q.ns, NAME, wanted)];
    let trial = CostTrial::of(q.ns, path, TrialLoad::Receive, &change);
    vec![AuditFinding::new(Problem, q.ns, seen, why).with_changes(q.ns, &change).if_it_gains(1.05, trial)]
}

/// The triple with room for four bandwidth-delay products, in whole MiB: two of payload, and as much for what the kernel
/// counts besides.
pub(super) fn larger(q: &Question, name: &str, bdp: u64) -> String {
    let nth = |i| q.ns.settings.nth(name, i).unwrap_or(4096);
    let most = (4 * bdp).next_multiple_of(1 << 20).min(1 << 30).max(nth(2));
    format!("{} {} {most}", nth(0), nth(1))
}
