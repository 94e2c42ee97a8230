//! A tunnel with a smaller MTU, without MTU probing for the case that ICMP is lost.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::facts::NamespaceFacts;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_mtu_probing";
/// Kinds of devices that encapsulate packets.
const TUNNELS: &[&str] = &[
    "tun",
    "wireguard",
    "gre",
    "gretap",
    "ip6gre",
    "ip6gretap",
    "ipip",
    "sit",
    "ip6tnl",
    "vti",
    "vti6",
    "xfrm",
    "vxlan",
    "geneve",
    "erspan",
    "ipvti",
    "l2tp",
    "bareudp",
];

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "mtu-probing",
    looks_for: "a tunnel with a smaller MTU than other links, and no MTU probing where ICMP is lost",
    source: "RFC 2923 section 2.1; RFC 4821; ip-sysctl: tcp_mtu_probing",
    find,
};

/// Returns the tunnel with the smallest MTU, if another link has a larger one.
fn narrow_tunnel(ns: &NamespaceFacts) -> Option<(&str, u32)> {
    let widest = ns.links().map(|d| d.mtu).max()?;
    let tunnels = ns.links().filter(|d| TUNNELS.contains(&d.kind.as_str()) && d.mtu < widest);
    tunnels.min_by_key(|d| d.mtu).map(|d| (d.name.as_str(), d.mtu))
}

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some((name, mtu)) = narrow_tunnel(q.ns).filter(|_| q.ns.settings.is_off(NAME)) else {
        return Vec::new();
    };
    let seen = format!("{NAME} is 0, and {name} has an MTU of {mtu} bytes, less than other links");
    let why = "ICMP informs senders of the tunnel's smaller MTU. Where it is lost, full \
               segments are lost for good; with 1, a sender tries smaller ones after some timeouts. Set it where connections begin.";
    let change = [sysctl(q.ns, NAME, 1)];
    let finding = AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &change);
    vec![match q.reachable() {
        Some(path) => {
            let trial = CostTrial::of(q.ns, path, TrialLoad::Send, &change);
            finding.with_trial(CostTrial { black_hole: Some(mtu), ..trial })
        }
        None => finding,
    }]
}
