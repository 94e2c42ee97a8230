//! Offloads turned off on a link.

use super::{RuleEntry, RuleInput};
use crate::finding::{AuditFinding, FindingLevel::Note};
use result::LinuxSetting;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "offloads",
    looks_for: "segmentation or receive offload turned off while the kernel could do it in software",
    source: "Documentation/networking/segmentation-offloads; ethtool(8): -K",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    // Many tunnels have no offloads. Hardware and veth do: GSO and GRO are software.
    for device in q.ns.links().filter(|d| d.kind.is_empty() || d.kind == "veth") {
        let off: Vec<&str> = [("gso", device.gso), ("gro", device.gro)]
            .iter()
            .filter(|(_, on)| *on == Some(false))
            .map(|(n, _)| *n)
            .collect();
        // GRO of a veth is off by default, and its receiver gets whole bursts anyway.
        let off: Vec<&str> =
            off.into_iter().filter(|name| !(device.kind == "veth" && *name == "gro")).collect();
        if off.is_empty() {
            continue;
        }
        let seen = format!("{} is off on {}", off.join(" and "), device.name);
        let why = "Each packet then passes the stack separately, which costs CPU time at high rates. It changes nothing else: \
                   bursts on the wire depend on pacing, not on offloads.";
        let change = [LinuxSetting::Offloads { device: Some(device.name.clone()), names: off, on: true }];
        found.push(AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &change));
    }
    found
}
