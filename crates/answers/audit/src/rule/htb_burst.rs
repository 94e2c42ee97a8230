//! Buckets of HTB classes that are too small for their rate, or hold a second of it.

use super::{Question, RuleEntry};
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

/// Below this rate the timer is soon enough with any bucket, bytes a second (50 Mbit/s).
const FAST: u64 = 6_250_000;
/// A bucket is used up too soon in less than this, and holds too much for more than that, parts of a second.
const SHORT: u64 = 2000;
const LONG: u64 = 2;

/// The bucket and the rate that are wrong of a class; `true`: too large.
fn wrong(class: &HtbClass) -> Option<(&'static str, u64, u64, bool)> {
    let both = [
        ("burst", class.burst_bytes, class.bytes_per_second),
        ("cburst", class.cburst_bytes, class.ceil_bytes_per_second),
    ];
    let large = both.into_iter().find(|(_, bytes, rate)| *bytes > (*rate / LONG).max(sizes::HOST_BURST));
    let small = || both.into_iter().find(|(_, bytes, rate)| *rate >= FAST && *bytes < *rate / SHORT);
    large.map(|(n, b, r)| (n, b, r, true)).or_else(|| small().map(|(n, b, r)| (n, b, r, false)))
}

fn find(q: &Question) -> Vec<AuditFinding> {
    let of = |d: &DeviceFacts| d.classes.iter().filter_map(|c| finding(q, d, c)).collect::<Vec<_>>();
    q.ns.links().flat_map(of).collect()
}

fn finding(q: &Question, device: &DeviceFacts, class: &HtbClass) -> Option<AuditFinding> {
    let (which, bytes, rate, large) = wrong(class)?;
    let right = sizes::shaper_bucket(class.ceil_bytes_per_second.saturating_mul(8));
    let told = format!(
        "class {} of {}: a {which} of {} at {} Mbit/s",
        class.name,
        device.name,
        size(bytes),
        crate::path::number(rate as f64 * 8.0 / 1e6)
    );
    let changes = [LinuxSetting::ClassBurst { device: device.name.clone(), class: class.clone(), to: right }];
    if !large {
        let why = "Tokens that come while the timer is late are lost beyond the bucket: with one that is used up in less than \
                   half a millisecond the class falls short of its rate on a busy machine. (Not simulated: the \
                   simulator's timers are never late.)";
        return Some(AuditFinding::new(Note, q.ns, told, why).with_settings(q.ns, &changes));
    }
    let why = "After every pause the bucket is full, and all of it leaves at the rate of the line: who polices or queues \
               behind sees no shaper at all until it is empty.";
    // Only a path tells whether anybody behind it minds.
    let level = if q.reachable().is_some() { Problem } else { Note };
    let found = AuditFinding::new(level, q.ns, told, why).with_settings(q.ns, &changes);
    let Some(path) = q.reachable() else { return Some(found) };
    let mut trial = CostTrial::of(q.ns, path, TrialLoad::Send, &[]);
    trial.now.shaper = Some([class.ceil_bytes_per_second, bytes]);
    trial.then.shaper = Some([class.ceil_bytes_per_second, right]);
    Some(found.with_trial(trial))
}
