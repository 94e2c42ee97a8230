//! Connections whose pacing depends on when their program selected the congestion control.

use super::{RuleEntry, RuleInput};
use crate::change::fq;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::pacing::{PacingState, of_socket};
use crate::trial::{CostTrial, TrialLoad};
use std::collections::BTreeMap;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "leftover-pacing",
    looks_for: "connections with a congestion control that does not pace, where the default does",
    source: "bbr_init, net/ipv4/tcp_bbr.c: sk_pacing_status is set when a connection begins and never reset",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let connections = q.ns.sockets.iter().filter(|s| !s.listens);
    let unknown = connections.filter(|s| of_socket(q.ns, s) == PacingState::Unknown);
    let mut by_control: BTreeMap<&str, usize> = BTreeMap::new();
    unknown.for_each(|s| *by_control.entry(&s.control).or_default() += 1);
    let default = q.ns.default_control().unwrap_or_default();
    let finding = |(control, count): (&str, usize)| {
        let seen = format!("{count} with {control}, where the default {default} paces");
        let why = "A connection that changed to this congestion control after it was connected keeps the default's pacing; one that selected it \
                   before has none. Which of the two applies cannot be seen; fq on the link paces both.";
        let changes = fq(q.ns);
        let finding = AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &changes);
        match q.reachable() {
            Some(path) => {
                let mut trial = CostTrial::of(q.ns, path, TrialLoad::Send, &changes);
                (trial.now.control, trial.then.control) = (control.into(), control.into());
                finding.with_trial(trial)
            }
            None => finding,
        }
    };
    by_control.into_iter().map(finding).collect()
}
