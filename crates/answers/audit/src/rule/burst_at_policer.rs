//! Segmentation offload sends bursts, of which a policer drops what exceeds its bucket.
//!
//! A shaper on the sender's link may be in between. TBF splits a burst that exceeds its own bucket into
//! segments and spaces them (`tbf_segment`, net/sched/sch_tbf.c). HTB lets the whole burst pass at once,
//! regardless of its buckets' levels, and waits afterwards (`htb_charge_class`, net/sched/sch_htb.c). Both
//! were measured: docs/check.md.

use super::{RuleEntry, RuleInput};
use crate::facts::DeviceFacts;
use crate::finding::{AuditFinding, FindingLevel::Problem};
use crate::path::{CheckedPath, size};
use crate::trial::{CostTrial, TrialLoad};
use result::LinuxSetting;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "burst-at-policer",
    looks_for: "segmentation offload whose bursts exceed a policer's bucket",
    source: "tcp_tso_autosize, net/ipv4/tcp_output.c; ip-sysctl: tcp_min_tso_segs; ip-link(8): gso_max_segs",
    find,
};

/// Returns the largest burst of segments while the pacing rate is twice the path's (slow start): that rate
/// for 1/1024 s, but at least two segments and at most `max_bytes`, what the device takes.
fn largest_burst(path: &CheckedPath, max_bytes: u64) -> u64 {
    (2 * path.rate().as_bps() / 8 / 1024).max(2 * 1500).min(max_bytes)
}

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let Some(path) = q.reachable() else { return Vec::new() };
    let Some(bucket) = path.burst_bytes else { return Vec::new() };
    let spaced = |d: &DeviceFacts| d.shaper.is_some_and(|tbf| tbf.burst_bytes <= bucket);
    let links: Vec<_> = q.ns.links().filter(|d| !d.sends_singly() && !spaced(d)).collect();
    let max_bytes = links.iter().filter_map(|d| d.gso_max_bytes).max().map_or(65_536, u64::from);
    let burst = largest_burst(path, max_bytes);
    if links.is_empty() || bucket >= burst {
        return Vec::new();
    }
    let seen = format!(
        "bursts of up to {} leave back to back; the policer's bucket holds {}",
        size(burst),
        size(bucket)
    );
    let why = "TCP hands the device a millisecond of its rate in one piece, and in slow start that rate is twice the path's: the \
               tail of each such burst is dropped. Sending one segment at a time costs CPU time at high rates.";
    let htb = links.iter().any(|d| !d.classes.is_empty());
    let why = match htb {
        true => {
            format!("{why} HTB on the link does not split bursts, however small its buckets are; TBF would.")
        }
        false => why.to_string(),
    };
    let change = |d: &&DeviceFacts| LinuxSetting::Segments {
        device: Some(d.name.clone()),
        from: d.gso_max_segs,
        to: 1,
    };
    let changes: Vec<LinuxSetting> = links.iter().map(change).collect();
    let trial = CostTrial::of(q.ns, path, TrialLoad::Send, &changes);
    vec![AuditFinding::new(Problem, q.ns, seen, &why).with_settings(q.ns, &changes).if_it_gains(1.05, trial)]
}
