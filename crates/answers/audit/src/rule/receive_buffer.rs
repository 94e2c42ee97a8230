//! The receive window cannot grow to the bandwidth-delay product.

use super::{Question, RuleEntry};
use crate::change::SettingChange;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};

const NAME: &str = "net.ipv4.tcp_rmem";

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "receive-buffer",
    looks_for: "tcp_rmem too small for the path's bandwidth-delay product and the recovery from a loss",
    source: "ip-sysctl: tcp_rmem, tcp_adv_win_scale; RFC 7323 section 1.1",
    find,
};

fn find(q: &Question) -> Vec<AuditFinding> {
    let (Some(path), Some(most)) = (q.reachable(), q.ns.settings.nth(NAME, 2)) else { return Vec::new() };
    if most >= enough(path.bdp()) {
        return Vec::new();
    }
    let seen = format!("{NAME} ends at {}; the path holds {}", size(most), size(path.bdp()));
    let why = "The window that a receiver offers is about half of its buffer, and no more than a window comes in each round trip. After \
               a loss the buffer holds what comes behind the hole as well.";
    let wanted = larger(q, NAME, enough(path.bdp()));
    let change = [SettingChange::sysctl(q.ns, NAME, wanted)];
    let trial = CostTrial::of(q.ns, path, TrialLoad::Receive, &change);
    vec![AuditFinding::new(Problem, q.ns, seen, why).with_changes(q.ns, &change).if_it_gains(1.05, trial)]
}

/// Windows of one bandwidth-delay product that a buffer should have room for: two are under way where a queue or BBR holds a
/// second one, and a third arrives behind a hole while what was lost is sent again, which takes a round trip.
const WINDOWS: u64 = 3;
/// A buffer is this many times its payload: the rest is what the kernel counts besides (`tcp_adv_win_scale` of 1).
const BYTES_PER_PAYLOAD: u64 = 2;

/// The least buffer that does not limit a connection, while it recovers from a loss included, bytes.
fn enough(bdp: u64) -> u64 {
    bdp.saturating_mul(WINDOWS * BYTES_PER_PAYLOAD)
}

/// The triple with this many bytes at most, in whole MiB.
pub(super) fn larger(q: &Question, name: &str, bytes: u64) -> String {
    let nth = |i| q.ns.settings.nth(name, i).unwrap_or(4096);
    let most = bytes.next_multiple_of(1 << 20).min(1 << 30).max(nth(2));
    format!("{} {} {most}", nth(0), nth(1))
}
