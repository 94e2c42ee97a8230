//! The send buffer is smaller than the bandwidth-delay product requires.

use super::receive_buffer::larger;
use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};
use result::sizes;

const NAME: &str = "net.ipv4.tcp_wmem";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "send-buffer",
    looks_for: "tcp_wmem too small for the path's bandwidth-delay product",
    source: "ip-sysctl: tcp_wmem; tcp_sndbuf_expand, net/ipv4/tcp_input.c",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let (Some(path), Some(limit)) = (q.reachable(), q.ns.settings.nth(NAME, 2)) else { return Vec::new() };
    let enough = sizes::send_buffer(path.bdp());
    if limit >= enough {
        return Vec::new();
    }
    let seen = format!(
        "{NAME} is at most {}; the path's bandwidth-delay product is {}",
        size(limit),
        size(path.bdp())
    );
    let why = "Data stays in the buffer until it is acknowledged, so the buffer limits the bytes in flight.";
    let change = [sysctl(q.ns, NAME, larger(q, NAME, enough))];
    let trial = CostTrial::of(q.ns, path, TrialLoad::Send, &change);
    vec![AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change).if_it_gains(1.05, trial)]
}
