//! HTB classes with a bucket that is too small for their rate, or that holds half a second of it.

use super::{RuleEntry, RuleInput};
use crate::facts::DeviceFacts;
use crate::finding::{
    AuditFinding,
    FindingLevel::{Note, Problem},
};
use crate::path::size;
use crate::trial::{CostTrial, TrialLoad};
use result::command::HtbClass;
use result::{LinuxSetting, sizes};

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "htb-burst",
    looks_for: "an HTB class whose bucket is too small for its rate, or holds half a second of it",
    source: "tc-htb(8): burst, cburst; htb_dequeue, net/sched/sch_htb.c",
    find,
};

/// Rate in bytes per second (50 Mbit/s) below which the timer is fast enough for any bucket.
const MIN_FAST_RATE: u64 = 6_250_000;
/// A bucket is too small if the rate empties it in less than this fraction of a second: 1/2000 s.
const MIN_FRACTION: u64 = 2000;
/// A bucket is too large if it holds more than this fraction of a second: 1/2 s.
const MAX_FRACTION: u64 = 2;

/// Returns name, bucket and rate of a class's wrong bucket; `true` if it is too large.
fn wrong_bucket(class: &HtbClass) -> Option<(&'static str, u64, u64, bool)> {
    let both = [
        ("burst", class.burst_bytes, class.bytes_per_second),
        ("cburst", class.cburst_bytes, class.ceil_bytes_per_second),
    ];
    let large =
        both.into_iter().find(|(_, bytes, rate)| *bytes > (*rate / MAX_FRACTION).max(sizes::HOST_BURST));
    let small =
        || both.into_iter().find(|(_, bytes, rate)| *rate >= MIN_FAST_RATE && *bytes < *rate / MIN_FRACTION);
    large.map(|(n, b, r)| (n, b, r, true)).or_else(|| small().map(|(n, b, r)| (n, b, r, false)))
}

fn find(q: &RuleInput) -> Vec<AuditFinding> {
    let findings = |d: &DeviceFacts| d.classes.iter().filter_map(|c| finding(q, d, c)).collect::<Vec<_>>();
    q.ns.links().flat_map(findings).collect()
}

fn finding(q: &RuleInput, device: &DeviceFacts, class: &HtbClass) -> Option<AuditFinding> {
    let (which, bytes, rate, large) = wrong_bucket(class)?;
    let right = sizes::shaper_bucket(class.ceil_bytes_per_second.saturating_mul(8));
    let seen = format!(
        "class {} of {}: {which} of {} at {} Mbit/s",
        class.name,
        device.name,
        size(bytes),
        crate::path::number(rate as f64 * 8.0 / 1e6)
    );
    let changes = [LinuxSetting::ClassBurst { device: device.name.clone(), class: class.clone(), to: right }];
    if !large {
        let why = "Tokens beyond the bucket's size are lost while the timer is late: with a bucket that empties in less than \
                   half a millisecond, the class does not reach its rate on a busy machine. (Not simulated: the \
                   simulator's timers are never late.)";
        return Some(AuditFinding::new(Note, q.ns, seen, why).with_settings(q.ns, &changes));
    }
    let why = "After every pause the bucket is full, and all of it leaves at line rate: a policer or queue \
               downstream sees no shaping until it is empty.";
    // Whether a downstream device suffers is only known with a path.
    let level = if q.reachable().is_some() { Problem } else { Note };
    let found = AuditFinding::new(level, q.ns, seen, why).with_settings(q.ns, &changes);
    let Some(path) = q.reachable() else { return Some(found) };
    let mut trial = CostTrial::of(q.ns, path, TrialLoad::Send, &[]);
    trial.now.shaper = Some([class.ceil_bytes_per_second, bytes]);
    trial.then.shaper = Some([class.ceil_bytes_per_second, right]);
    Some(found.with_trial(trial))
}
