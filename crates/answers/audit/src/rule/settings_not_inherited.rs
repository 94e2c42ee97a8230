//! Settings of the host's namespace that other namespaces do not inherit.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::settings::SYSCTLS;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "settings-not-inherited",
    looks_for: "settings that differ from the kernel's default on the host but not in a namespace",
    source: "tcp_sk_init, net/ipv4/tcp_ipv4.c; ip-sysctl",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some(host) = q.host.initial().filter(|_| !q.ns.initial) else { return Vec::new() };
    let differs = |name: &str, default: &str| {
        let set = host.settings.text(name).filter(|v| *v != default)?;
        (q.ns.settings.text(name)? == default).then(|| (name.to_string(), set.to_string()))
    };
    let all: Vec<(String, String)> =
        SYSCTLS.iter().filter_map(|(name, default)| differs(name, (*default)?)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = all.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let seen = format!("set on the host, but the kernel's default here: {}", names.join(", "));
    let why = "A new namespace begins with the kernel's defaults, not with the host's settings: of TCP's settings \
               only the congestion control, tcp_rmem and tcp_wmem are copied, and only once.";
    let changes: Vec<_> = all.iter().map(|(name, value)| sysctl(q.ns, name, value)).collect();
    vec![AuditFinding::new(Note, q.ns, seen, why).with_copied(q.ns, &changes)]
}
