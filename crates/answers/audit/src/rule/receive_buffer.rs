//! The receive window cannot grow to the bandwidth-delay product.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};
use result::sizes;

const NAME: &str = "net.ipv4.tcp_rmem";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "receive-buffer",
    looks_for: "tcp_rmem too small for the path's bandwidth-delay product and the recovery from a loss",
    source: "ip-sysctl: tcp_rmem, tcp_adv_win_scale; RFC 7323 section 1.1",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let (Some(path), Some(limit)) = (q.reachable(), q.ns.settings.nth(NAME, 2)) else { return Vec::new() };
    let enough = sizes::receive_buffer(path.bdp());
    if limit >= enough {
        return Vec::new();
    }
    let seen = format!(
        "{NAME} is at most {}; the path's bandwidth-delay product is {}",
        size(limit),
        size(path.bdp())
    );
    let why = "The receive window is about half of the buffer, and limits the data per round trip. After \
               a loss, the buffer also holds the segments that follow the lost one.";
    let wanted = larger(q, NAME, enough);
    let change = [sysctl(q.ns, NAME, wanted)];
    let trial = CostTrial::of(q.ns, path, TrialLoad::Receive, &change);
    vec![AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change).if_it_gains(1.05, trial)]
}

/// Returns the value of three numbers with at least `bytes` as the largest, in whole MiB.
pub(super) fn larger(q: &RuleInput, name: &str, bytes: u64) -> String {
    let nth = |i| q.ns.settings.nth(name, i).unwrap_or(4096);
    let limit = sizes::whole_mib(bytes).max(nth(2));
    format!("{} {} {limit}", nth(0), nth(1))
}
