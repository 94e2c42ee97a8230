//! What programs that set their own buffers get at most.

use super::{Question, RuleEntry};
use crate::finding::{AuditFinding, FindingLevel::Note, SettingChange};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};
use units::Bytes;

const NAME: &str = "net.core.rmem_max";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "socket-buffer-cap",
    looks_for: "rmem_max below the path's bandwidth-delay product, for programs that set SO_RCVBUF",
    source: "socket(7): SO_RCVBUF; admin-guide/sysctl/net: rmem_max",
    find,
};

/// `net.core.rmem_max` is one for the whole host: it is told once.
fn find(q: &Question) -> Vec<AuditFinding> {
    let (Some(path), Some(cap)) = (q.reachable(), q.ns.settings.number(NAME)) else { return Vec::new() };
    let cap = cap.max(0) as u64;
    if !q.ns.initial || cap >= path.bdp() {
        return Vec::new();
    }
    let seen = format!("{NAME} is {}; the path holds {}", size(cap), size(path.bdp()));
    let why = "A program that sets SO_RCVBUF gets no more than this, and its buffer no longer grows by itself. Programs that do \
               not set it are not concerned.";
    let wanted = (2 * path.bdp()).next_multiple_of(1 << 20).min(1 << 30);
    let change = [SettingChange::sysctl(q.ns, NAME, wanted)];
    let mut trial = CostTrial::of(q.ns, path, TrialLoad::Receive, &change);
    // The kernel doubles what is asked for, and offers half.
    let fixed = |asked: u64| Some(Bytes::new((2 * asked).clamp(1, (1 << 30) - 1)));
    for (ends, asked) in [(&mut trial.now, cap), (&mut trial.then, wanted)] {
        ends.here.receive_buffer = fixed(asked);
        ends.here.initial_receive_buffer = fixed(asked);
    }
    vec![AuditFinding::new(Note, q.ns, seen, why).with_changes(q.ns, &change).if_it_gains(1.05, trial)]
}
