//! Control connections: small connections that accompany a transfer between the same hosts, as in FTP and
//! iperf3.

use super::words::listed;
use crate::number::bytes;
use crate::strings::{Lang, fill};
use crate::width::printable;
use result::diagnosis::{Cause, Diagnosis, FlowDiagnosis};
use std::collections::{BTreeMap, HashSet};

/// A control connection carries less than this share of the transfer's payload: too little to affect its
/// goodput.
const MAX_PAYLOAD_SHARE: f64 = 0.01;
/// Control connections that the sentence names.
const MAX_NAMED: usize = 3;

/// A connection's payload of both directions, its start and its end.
#[derive(Clone, Copy, Debug)]
struct ConnectionSum {
    bytes: u64,
    from_s: f64,
    to_s: f64,
    failed: bool,
}

/// Splits the flows into those of transfers and those of control connections.
pub(super) fn split(d: &Diagnosis) -> (Vec<&FlowDiagnosis>, Vec<&FlowDiagnosis>) {
    let mut by_hosts: BTreeMap<(&str, &str), BTreeMap<u32, ConnectionSum>> = BTreeMap::new();
    for f in &d.flows {
        let (from_s, to_s) = (f.start_s, f.start_s + f.duration_s);
        let new = ConnectionSum { bytes: 0, from_s, to_s, failed: false };
        let sum = by_hosts.entry(hosts(f)).or_default().entry(f.connection).or_insert(new);
        sum.bytes = sum.bytes.saturating_add(f.measures.bytes);
        (sum.from_s, sum.to_s) = (sum.from_s.min(from_s), sum.to_s.max(to_s));
        sum.failed |= f.cause == Cause::SetupFailed;
    }
    let mut control: HashSet<u32> = HashSet::new();
    for connections in by_hosts.values().filter(|connections| connections.len() > 1) {
        let Some(bulk) = connections.values().max_by_key(|c| c.bytes).copied() else { continue };
        let was_open = |c: &ConnectionSum| c.from_s <= bulk.from_s && c.to_s >= bulk.from_s && !c.failed;
        let is_small = |c: &ConnectionSum| (c.bytes as f64) < MAX_PAYLOAD_SHARE * bulk.bytes as f64;
        let small = connections.iter().filter(|(_, c)| is_small(c) && was_open(c));
        control.extend(small.map(|(connection, _)| *connection));
    }
    d.flows.iter().partition(|f| !control.contains(&f.connection))
}

/// The two hosts, in the same order for both directions.
fn hosts(f: &FlowDiagnosis) -> (&str, &str) {
    let host = |end: &'_ str| end.rfind(':').unwrap_or(end.len());
    let (a, b) = (&f.from[..host(&f.from)], &f.to[..host(&f.to)]);
    (a.min(b), a.max(b))
}

/// A sentence on the control connections; `None` without any.
pub(super) fn sentence(control: &[&FlowDiagnosis], lang: Lang) -> Option<String> {
    let mut seen = HashSet::new();
    let each: Vec<&&FlowDiagnosis> = control.iter().filter(|f| seen.insert(f.connection)).collect();
    let mut named: Vec<String> = each
        .iter()
        .take(MAX_NAMED)
        .map(|f| format!("{} -> {}", printable(&f.from), printable(&f.to)))
        .collect();
    if each.len() > MAX_NAMED {
        named.push(fill("plot.more", lang, &[("n", &(each.len() - MAX_NAMED).to_string())]));
    }
    let all: f64 = control.iter().map(|f| f.measures.bytes as f64).sum();
    let values = [("n", each.len().to_string()), ("list", listed(&named, lang)), ("bytes", bytes(all))];
    let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
    (!each.is_empty()).then(|| fill("diag.control", lang, &values))
}
