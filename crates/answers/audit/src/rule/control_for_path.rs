//! Another congestion control of the kernel would have a higher goodput on this path.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::pacing::control_paces;
use crate::trial::{CostTrial, TrialLoad};

/// Gain that justifies changing the default.
const MIN_GAIN: f64 = 1.1;
const NAME: &str = "net.ipv4.tcp_congestion_control";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "control-for-path",
    looks_for: "a congestion control of this kernel with a tenth more goodput on the path than the default",
    source: "simulated; ip-sysctl: tcp_available_congestion_control",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let (Some(path), Some(own)) = (q.reachable(), q.ns.default_control()) else { return Vec::new() };
    let others = q.ns.settings.words("net.ipv4.tcp_available_congestion_control");
    // Only congestion controls that the simulator knows.
    let others = others.into_iter().filter(|c| c != own && control_paces(c).is_some());
    let propose = |control: String| {
        let change = [sysctl(q.ns, NAME, &control)];
        let trial = CostTrial::of(q.ns, path, TrialLoad::Send, &change);
        trial.scenarios(path)?;
        let seen = format!("{own} is the default; {control} has a higher goodput on this path");
        let why = match control_paces(&control) {
            Some(true) => {
                "It paces, and does not take every loss for congestion. It retransmits more where it shares a queue with \
                           others, and takes more than its share of a short queue."
            }
            _ => "It reacts differently to losses or delays, which suits this path.",
        };
        let finding = AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change);
        Some(finding.if_it_gains_most(MIN_GAIN, trial))
    };
    others.filter_map(propose).collect()
}
