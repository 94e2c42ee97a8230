//! Of the controls that the kernel has another would carry more on this path.

use super::{Question, RuleEntry};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::pacing::control_paces;
use crate::trial::{CostTrial, TrialLoad};

/// What a change of the default is worth the trouble for.
const LEAST: f64 = 1.1;
const NAME: &str = "net.ipv4.tcp_congestion_control";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "control-for-path",
    looks_for: "a congestion control of this kernel that carries a tenth more on the path than the default",
    source: "simulated; ip-sysctl: tcp_available_congestion_control",
    find,
};

fn find(q: &Question) -> Vec<AuditFinding> {
    let (Some(path), Some(own)) = (q.reachable(), q.ns.default_control()) else { return Vec::new() };
    let others = q.ns.settings.words("net.ipv4.tcp_available_congestion_control");
    // Those that the simulator knows.
    let others = others.into_iter().filter(|c| c != own && control_paces(c).is_some());
    let propose = |control: String| {
        let change = [sysctl(q.ns, NAME, &control)];
        let trial = CostTrial::of(q.ns, path, TrialLoad::Send, &change);
        trial.scenarios(path)?;
        let seen = format!("{own} is the default; {control} carries more on this path");
        let why = match control_paces(&control) {
            Some(true) => {
                "It paces, and takes a loss for less than a full queue. It resends more where it shares a queue with \
                           others, and takes more than its share of short ones."
            }
            _ => "It reacts to losses or delays in another way, which suits this path.",
        };
        let finding = AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change);
        Some(finding.if_it_gains_most(LEAST, trial))
    };
    others.filter_map(propose).collect()
}
