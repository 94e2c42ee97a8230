//! The memory of all TCP sockets is near or above its limit.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel};
use crate::path::size;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "tcp-memory",
    looks_for: "TCP memory near or above its pressure mark, or a mark that two windows of the path would reach",
    source: "ip-sysctl: tcp_mem; /proc/net/sockstat",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some(memory) = q.host.tcp_memory.filter(|_| q.ns.initial) else { return Vec::new() };
    let bytes = |pages: u64| pages.saturating_mul(memory.page_bytes);
    let (used, mark) = (bytes(memory.used_pages), bytes(memory.pressure_pages));
    let level = match () {
        () if used >= mark => FindingLevel::Problem,
        () if used >= mark / 5 * 4 => FindingLevel::Note,
        // The windows of two connections at this end, with the kernel's overhead.
        () if q.path.is_some_and(|path| path.bdp().saturating_mul(4) > mark) => FindingLevel::Problem,
        () => return Vec::new(),
    };
    let seen = format!("TCP uses {}; the kernel reduces buffers from {}", size(used), size(mark));
    let why = "Above the second number of net.ipv4.tcp_mem (in pages), buffers no longer grow and are reduced; above the third, \
               packets are dropped. The limit applies to the whole host, containers included.";
    let want = |pages: u64| pages.saturating_mul(2);
    let (low, pressure, high) =
        (want(memory.low_pages), want(memory.pressure_pages), want(memory.high_pages));
    let change = [sysctl(q.ns, "net.ipv4.tcp_mem", format!("{low} {pressure} {high}"))];
    let mut finding = AuditFinding::new(level, q.ns, seen, why).with_settings(q.ns, &change);
    finding.namespaces.clear();
    vec![finding]
}
