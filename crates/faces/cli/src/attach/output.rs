//! What `longfat attach` prints.

use super::jobs::Job;
use crate::args::AttachArgs;
use lab::{AttachEnd, AttachMethod, AttachStatus, DirectionProof};
use report::{Lang, distrust_sentence};
use serde_json::{Value, json};

/// What the self-test showed of a direction.
pub fn proof_line(proof: &DirectionProof) -> String {
    let mut facts = Vec::new();
    match (proof.limit_mbps, proof.rate_mbps) {
        (Some(limit), Some([_, shown])) if proof.reaches_limit => {
            facts.push(format!("limit {limit:.2} Mbit/s, shown {shown:.2} ({:+.1} %)", (shown / limit - 1.0) * 100.0));
        }
        (Some(limit), Some([expected, shown])) => facts.push(format!(
            "limit {limit:.2} Mbit/s, not reached by the test's packets; they passed at {shown:.2} Mbit/s, expected {expected:.2}"
        )),
        (Some(limit), None) => facts.push(format!("limit {limit:.2} Mbit/s, cannot tell: too few packets passed")),
        (None, _) => facts.push("no constant limit".into()),
    }
    match proof.delay_ms {
        Some([asked, shown]) => {
            facts.push(format!("delay {asked:.2} ms, shown {shown:.2} ({:+.2} ms)", shown - asked));
        }
        None => facts.push("delay: cannot tell, because the path drops everything".into()),
    }
    let [expected, arrived] = proof.arrived;
    facts.push(format!("{arrived} of {} packets passed, expected {expected}", proof.sent));
    let verdict = if proof.fault().is_none() { "" } else { " FAILED:" };
    format!("self-test, {}:{verdict} {}", proof.direction, facts.join("; "))
}

/// That the path is attached, and until when.
pub fn attached_line(args: &AttachArgs, job: &Job, device: &str, method: AttachMethod) -> String {
    let until = match (args.time, args.command.first()) {
        (Some(time), _) => format!("for {time}"),
        (None, Some(program)) => format!("until {} ends", program.to_string_lossy()),
        (None, None) => "until Ctrl-C; --for 10min would end it by itself".into(),
    };
    let only = job.only.as_ref().map(|only| format!(", only `{only}`")).unwrap_or_default();
    let method = if method == AttachMethod::Classic { ", with classic filters" } else { "" };
    format!("attached: {} ({device}){only}{method}, {until}", job.target.name)
}

/// What the path has done so far.
pub fn status_line(status: &AttachStatus) -> String {
    let way = |name: &str, way: usize| {
        format!(
            "{name} {} passed, {} dropped, {} queued",
            status.passed[way], status.dropped[way], status.queued[way]
        )
    };
    let trust = if status.trust.reliable { "trusted" } else { "NOT trusted" };
    format!(
        "{} s: {}; {}; late {:.2} ms (p99 {:.2}); {trust}",
        status.time.as_secs(),
        way("out", 0),
        way("in", 1),
        status.trust.lateness_ms.p50,
        status.trust.lateness_ms.p99,
    )
}

/// What the path did, and whether to trust it.
pub fn summary(status: &AttachStatus) -> String {
    let mut text = status_line(status) + "\n";
    for e in &status.elements {
        let dropped = e.dropped_packets + e.too_big_packets;
        text += &format!(
            "  {}: {} passed, {dropped} dropped, delay {:.2} ms (max {:.2})\n",
            e.name, e.passed_packets, e.delay_ms.mean, e.delay_ms.max
        );
    }
    let c = &status.counters;
    for (count, what) in [
        (c.stalled[0] + c.stalled[1], "passed around the path, because longfat did not run for a second"),
        (c.forged, "carried a mark like those of longfat and were treated like all others"),
        (c.intruded, "were sent into longfat's devices by another program, and dropped"),
        (status.trust.kernel_lost_packets, "were lost by this machine's own queues, and not by the path"),
    ] {
        if count > 0 {
            text += &format!("  {count} packets {what}\n");
        }
    }
    if !status.trust.reliable {
        text += &(distrust_sentence("attach", &status.trust, Lang::En) + "\n");
    }
    text
}

/// The outcome as JSON.
pub fn to_json(proofs: &[DirectionProof], status: &AttachStatus, end: &AttachEnd) -> Value {
    let proof = |p: &DirectionProof| {
        json!({
            "direction": p.direction,
            "limit_mbps": p.limit_mbps,
            "reaches_limit": p.reaches_limit,
            "expected_mbps": p.rate_mbps.map(|r| r[0]),
            "shown_mbps": p.rate_mbps.map(|r| r[1]),
            "expected_delay_ms": p.delay_ms.map(|d| d[0]),
            "shown_delay_ms": p.delay_ms.map(|d| d[1]),
            "sent_packets": p.sent,
            "expected_packets": p.arrived[0],
            "arrived_packets": p.arrived[1],
            "fault": p.fault(),
        })
    };
    json!({
        "self_test": proofs.iter().map(proof).collect::<Vec<_>>(),
        "seconds": status.time.as_secs_f64(),
        "passed_packets": { "outgoing": status.passed[0], "incoming": status.passed[1] },
        "dropped_packets": { "outgoing": status.dropped[0], "incoming": status.dropped[1] },
        "stalled_packets": status.counters.stalled.iter().sum::<u64>(),
        "forged_packets": status.counters.forged,
        "intruded_packets": status.counters.intruded,
        "elements": status.elements,
        "trust": status.trust,
        "target_gone": *end == AttachEnd::TargetGone,
    })
}
