//! The registry of rules. A rule is a file in `rule/`, its `mod` line and a line in the list below.
//!
//! A rule ([`RuleEntry`]) inspects one namespace of a host and returns what is wrong there. A rule about the
//! whole host returns its findings for the initial namespace. A proposed change comes with what to simulate.
//! A rule that needs a path returns nothing without one.

mod accept_queue;
mod backlog;
mod buffers_below_host;
mod burst_at_policer;
mod control_for_path;
mod entry;
mod htb_burst;
mod leftover_pacing;
mod local_shaper;
mod metrics_save;
mod mss_clamp;
mod mtu_probing;
mod offloads;
mod older_than_default;
mod receive_autotuning;
mod receive_buffer;
mod sack;
mod send_buffer;
mod settings_not_inherited;
mod slow_start_after_idle;
mod socket_buffer_cap;
mod tail_loss_probe;
mod tcp_memory;
mod timestamps;
mod unpaced_at_policer;
mod window_scaling;

pub use entry::{RuleEntry, RuleInput};

use crate::facts::HostFacts;
use crate::finding::AuditFinding;
use crate::path::CheckedPath;

macro_rules! rules {
    ($($module:ident,)*) => {
        /// All rules, in the order in which they are applied.
        pub const RULES: &[&RuleEntry] = &[$(&$module::RULE,)*];
    };
}

rules! {
    older_than_default,
    settings_not_inherited,
    buffers_below_host,
    control_for_path,
    unpaced_at_policer,
    leftover_pacing,
    receive_buffer,
    receive_autotuning,
    send_buffer,
    socket_buffer_cap,
    tcp_memory,
    window_scaling,
    sack,
    timestamps,
    tail_loss_probe,
    slow_start_after_idle,
    metrics_save,
    mtu_probing,
    mss_clamp,
    local_shaper,
    htb_burst,
    burst_at_policer,
    offloads,
    accept_queue,
    backlog,
}

/// Applies every rule to every namespace. Equal findings in several namespaces are merged.
pub fn judge(host: &HostFacts, path: Option<&CheckedPath>) -> Vec<AuditFinding> {
    let mut all: Vec<AuditFinding> = Vec::new();
    for rule in RULES {
        for ns in &host.namespaces {
            for mut finding in (rule.find)(&RuleInput { host, ns, path }) {
                finding.rule = rule.name.into();
                finding.source = rule.source.into();
                merge(&mut all, finding);
            }
        }
    }
    all
}

/// Adds a finding, merging it with an equal one of another namespace.
fn merge(all: &mut Vec<AuditFinding>, finding: AuditFinding) {
    let same = |f: &&mut AuditFinding| {
        f.rule == finding.rule
            && f.level == finding.level
            && f.seen == finding.seen
            && f.why == finding.why
            && f.proposal == finding.proposal
            && f.namespaces != finding.namespaces
    };
    match all.iter_mut().find(same) {
        Some(f) => {
            f.namespaces.extend(finding.namespaces);
            f.settings.extend(finding.settings);
            f.write_remedies();
        }
        None => all.push(finding),
    }
}

#[cfg(test)]
mod tests;
