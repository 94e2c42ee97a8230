//! Accept queues of listening sockets that are full.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel};

const NAME: &str = "net.core.somaxconn";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "accept-queue",
    looks_for: "listening sockets whose accept queue is full, or was",
    source: "listen(2); admin-guide/sysctl/net: somaxconn; TcpExtListenOverflows",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let somaxconn = q.ns.settings.number(NAME).unwrap_or(i64::MAX);
    let why = "A connection that arrives at a full queue is dropped, and its client retries after a second.";
    let mut found = Vec::new();
    for s in
        q.ns.sockets.iter().filter(|s| s.listens && s.accept_limit > 0 && s.accept_queue > s.accept_limit)
    {
        let seen = format!(
            "{}: {} connections wait to be accepted, the limit is {}",
            s.local, s.accept_queue, s.accept_limit
        );
        let finding = AuditFinding::new(FindingLevel::Problem, q.ns, seen, why);
        // If the limit equals somaxconn, the program requested as much or more; otherwise the limit is the
        // program's own.
        let change = [sysctl(q.ns, NAME, somaxconn.saturating_mul(4).min(65_535))];
        found.push(match i64::from(s.accept_limit) >= somaxconn {
            true => finding.with_settings(q.ns, &change),
            false => finding,
        });
    }
    if let Some(n) = q.ns.listen_overflows.filter(|n| *n > 0 && found.is_empty()) {
        let seen = format!(
            "{n} connections were dropped since the namespace was created, because an accept queue was full"
        );
        found.push(AuditFinding::new(FindingLevel::Note, q.ns, seen, why));
    }
    found
}
