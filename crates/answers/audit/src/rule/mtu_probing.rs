//! Nothing finds a narrower path when ICMP is lost.

use super::{Question, RuleEntry};
use crate::change::sysctl;
use crate::facts::NamespaceFacts;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_mtu_probing";
/// Kinds of devices that put packets into others.
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
    looks_for: "a tunnel beside wider links, and no search for the MTU where ICMP is lost",
    source: "RFC 2923 section 2.1; RFC 4821; ip-sysctl: tcp_mtu_probing",
    find,
};

/// The narrowest tunnel that is up, where something wider is beside it.
fn narrow_tunnel(ns: &NamespaceFacts) -> Option<(&str, u32)> {
    let widest = ns.links().map(|d| d.mtu).max()?;
    let tunnels = ns.links().filter(|d| TUNNELS.contains(&d.kind.as_str()) && d.mtu < widest);
    tunnels.min_by_key(|d| d.mtu).map(|d| (d.name.as_str(), d.mtu))
}

fn find(q: &Question) -> Vec<AuditFinding> {
    let Some((name, mtu)) = narrow_tunnel(q.ns).filter(|_| q.ns.settings.is_off(NAME)) else {
        return Vec::new();
    };
    let seen = format!("{NAME} is 0, and {name} carries {mtu} bytes where other links carry more");
    let why = "What comes over a wider link and leaves by the tunnel must be told the size that fits. Where that ICMP is lost full \
               segments vanish for good; with 1 a sender tries smaller ones after some timeouts. Set it where connections begin.";
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
