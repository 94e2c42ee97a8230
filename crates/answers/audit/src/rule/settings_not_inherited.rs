//! What the administrator set on the host holds for the host's own namespace alone.

use super::{Question, RuleEntry};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::settings::LOOKED_AT;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "settings-not-inherited",
    looks_for: "settings that differ from the kernel's default on the host and not in a namespace",
    source: "tcp_sk_init, net/ipv4/tcp_ipv4.c; ip-sysctl",
    find,
};

fn find(q: &Question) -> Vec<AuditFinding> {
    let Some(host) = q.host.initial().filter(|_| !q.ns.initial) else { return Vec::new() };
    let differs = |name: &str, default: &str| {
        let set = host.settings.text(name).filter(|v| *v != default)?;
        (q.ns.settings.text(name)? == default).then(|| (name.to_string(), set.to_string()))
    };
    let all: Vec<(String, String)> =
        LOOKED_AT.iter().filter_map(|(name, default)| differs(name, (*default)?)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = all.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let seen = format!("set on the host, the kernel's default here: {}", names.join(", "));
    let why = "A new namespace begins with the defaults of the kernel, not with what the host was set to: of TCP's settings \
               only the congestion control and the buffers tcp_rmem and tcp_wmem are copied, and those only once.";
    let changes: Vec<_> = all.iter().map(|(name, value)| sysctl(q.ns, name, value)).collect();
    vec![AuditFinding::new(Note, q.ns, seen, why).with_copied(q.ns, &changes)]
}
