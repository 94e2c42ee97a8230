//! An unpaced sender sends bursts, of which a policer drops what exceeds its bucket.

use super::{RuleEntry, RuleInput};
use crate::change::fq;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::pacing::{PacingState, of_control};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "unpaced-at-policer",
    looks_for: "a default congestion control that is not paced, on a path with a policer",
    source: "tc-fq(8); net/sched/sch_fq.c; simulated",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let (Some(path), Some(own)) = (q.reachable(), q.ns.default_control()) else { return Vec::new() };
    let Some(burst) = path.burst_bytes else { return Vec::new() };
    if of_control(q.ns, own) != PacingState::None {
        return Vec::new();
    }
    let seen = format!(
        "{own} is not paced: it does not request pacing and there is no fq; the policer's bucket holds {}",
        size(burst)
    );
    let why = "Bursts reach the policer as they leave. With fq on the link, the kernel spreads each window over its \
               round trip.";
    let changes = fq(q.ns);
    let trial = CostTrial::of(q.ns, path, TrialLoad::Send, &changes);
    vec![AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &changes).if_it_gains(1.05, trial)]
}
