//! A token bucket filter of this host whose bucket is smaller than a full packet.

use super::{RuleEntry, RuleInput};
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::path::size;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "local-shaper",
    looks_for: "a tbf of this host whose bucket is smaller than a packet of its link",
    source: "tc-tbf(8): burst",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    for device in q.ns.links() {
        let Some(shaper) = device.shaper else { continue };
        let frame = u64::from(device.mtu) + 14;
        if shaper.burst_bytes >= frame {
            continue;
        }
        let seen = format!(
            "tbf at {}: its bucket of {} is smaller than a full frame of {frame} bytes",
            device.name,
            size(shaper.burst_bytes)
        );
        let why = "tbf drops packets larger than its bucket: every full segment is lost.";
        found.push(AuditFinding::new(Problem, q.ns, seen, why));
    }
    found
}
