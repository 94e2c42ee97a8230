//! A router between links of different MTU that does not clamp the MSS in the handshake.

use super::{RuleEntry, RuleInput};
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::trial::{CostTrial, TrialLoad};
use result::LinuxSetting;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "mss-clamp",
    looks_for: "a namespace that forwards between links of different MTU and clamps no MSS",
    source: "RFC 2923 section 2.1; nft(8): tcp option maxseg size set rt mtu",
    find,
};

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let forwards = q.ns.settings.number("net.ipv4.ip_forward") == Some(1);
    // Nothing is claimed where the packet filter could not be read.
    if !forwards || q.ns.clamps_mss != Some(false) {
        return Vec::new();
    }
    let (Some(narrow), Some(wide)) = (q.ns.links().min_by_key(|d| d.mtu), q.ns.links().max_by_key(|d| d.mtu))
    else {
        return Vec::new();
    };
    if narrow.mtu == wide.mtu || narrow.mtu < 576 {
        return Vec::new();
    }
    let seen = format!(
        "forwards between {} ({} bytes) and {} ({} bytes), and no rule clamps the MSS",
        wide.name, wide.mtu, narrow.name, narrow.mtu
    );
    let why = "Both ends agree on a segment size that fits their own links. Segments that do not fit the narrower link here are dropped, \
               and ICMP informs the sender; where that is lost, the connection hangs at its first full segment. A clamp writes \
               a size that fits into the handshake.";
    let change = [LinuxSetting::MssClamp { device: Some(narrow.name.clone()), mss: None }];
    let finding = AuditFinding::new(Problem, q.ns, seen, why).with_settings(q.ns, &change);
    let Some(path) = q.reachable() else { return vec![finding] };
    let mut trial = CostTrial::of(q.ns, path, TrialLoad::Send, &[]);
    trial.black_hole = Some(narrow.mtu);
    trial.then.there.mss = Some(narrow.mtu - 40);
    vec![finding.with_trial(trial)]
}
