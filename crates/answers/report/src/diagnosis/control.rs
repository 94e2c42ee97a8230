//! Control connections: small ones beside a transfer between the same hosts, as those of FTP and iperf3.

use super::words::listed;
use crate::number::bytes;
use crate::strings::{Lang, fill};
use crate::width::printable;
use result::diagnosis::{Cause, Diagnosis, FlowDiagnosis};
use std::collections::{BTreeMap, HashSet};

/// What carries less than this share of a transfer's payload is no part of how fast that was: causes with as small a share of
/// the time are not named either.
const SMALL: f64 = 0.01;
/// Those that are named.
const NAMED: usize = 3;

/// A connection: payload of both directions, begin and end.
#[derive(Clone, Copy, Debug)]
struct ConnectionSum {
    bytes: u64,
    from_s: f64,
    to_s: f64,
    failed: bool,
}

/// The flows of a diagnosis, those of control connections apart.
pub(super) fn apart(d: &Diagnosis) -> (Vec<&FlowDiagnosis>, Vec<&FlowDiagnosis>) {
    let mut of: BTreeMap<(&str, &str), BTreeMap<u32, ConnectionSum>> = BTreeMap::new();
    for f in &d.flows {
        let (from_s, to_s) = (f.start_s, f.start_s + f.duration_s);
        let new = ConnectionSum { bytes: 0, from_s, to_s, failed: false };
        let sum = of.entry(hosts(f)).or_default().entry(f.connection).or_insert(new);
        sum.bytes = sum.bytes.saturating_add(f.measures.bytes);
        (sum.from_s, sum.to_s) = (sum.from_s.min(from_s), sum.to_s.max(to_s));
        sum.failed |= f.cause == Cause::SetupFailed;
    }
    let mut control: HashSet<u32> = HashSet::new();
    for all in of.values().filter(|all| all.len() > 1) {
        let Some(bulk) = all.values().max_by_key(|c| c.bytes).copied() else { continue };
        let beside = |c: &ConnectionSum| c.from_s <= bulk.from_s && c.to_s >= bulk.from_s && !c.failed;
        let small = all.iter().filter(|(_, c)| (c.bytes as f64) < SMALL * bulk.bytes as f64 && beside(c));
        control.extend(small.map(|(connection, _)| *connection));
    }
    d.flows.iter().partition(|f| !control.contains(&f.connection))
}

/// The two hosts, in one order whoever sends.
fn hosts(f: &FlowDiagnosis) -> (&str, &str) {
    let host = |end: &'_ str| end.rfind(':').unwrap_or(end.len());
    let (a, b) = (&f.from[..host(&f.from)], &f.to[..host(&f.to)]);
    (a.min(b), a.max(b))
}

/// A line on them; `None` where there are none.
pub(super) fn told(control: &[&FlowDiagnosis], lang: Lang) -> Option<String> {
    let mut seen = HashSet::new();
    let each: Vec<&&FlowDiagnosis> = control.iter().filter(|f| seen.insert(f.connection)).collect();
    let mut named: Vec<String> =
        each.iter().take(NAMED).map(|f| format!("{} -> {}", printable(&f.from), printable(&f.to))).collect();
    if each.len() > NAMED {
        named.push(fill("plot.more", lang, &[("n", &(each.len() - NAMED).to_string())]));
    }
    let all: f64 = control.iter().map(|f| f.measures.bytes as f64).sum();
    let values = [("n", each.len().to_string()), ("list", listed(&named, lang)), ("bytes", bytes(all))];
    let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
    (!each.is_empty()).then(|| fill("diag.control", lang, &values))
}
