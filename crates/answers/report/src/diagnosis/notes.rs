//! Notes on a capture: defects and gaps that affect how far its numbers can be trusted.

use super::words::listed;
use crate::number::{bytes, count};
use crate::strings::{Lang, fill, find};
use crate::width::{clip, printable};
use result::Diagnosis;
use result::diagnosis::{Counted, UdpLoss};
use std::collections::BTreeMap;

/// Names that a list prints; the capture file determines how many there are.
const MAX_NAMES: usize = 8;
/// Width of a name from the file, in columns.
const MAX_NAME_WIDTH: usize = 60;
/// Width of the description of damage, in columns.
const MAX_DAMAGE_WIDTH: usize = 240;

/// Timestamps that run backwards by less than this are ignored, seconds: packets of several queues or
/// interfaces overtake each other without a clock that ran backwards.
const MIN_BACKWARD_S: f64 = 0.001;

/// The notes, a sentence each.
pub(super) fn notes(d: &Diagnosis, lang: Lang) -> Vec<String> {
    let c = &d.capture;
    let mut list = Vec::new();
    let mut note = |key: &str, values: &[(&str, String)]| {
        let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
        list.push(fill(&format!("diag.note.{key}"), lang, &values));
    };
    if d.flows.is_empty() {
        let n = [("packets", c.packets), ("tcp", c.tcp_packets), ("udp", c.udp_packets)];
        note("none", &n.map(|(k, v)| (k, count(v))));
    }
    if let Some(damage) = &c.damage {
        let what = clip(&printable(&damage.what), MAX_DAMAGE_WIDTH);
        note("damage", &[("offset", damage.offset.to_string()), ("what", what)]);
    }
    if let Some(both) = &c.both_ends {
        super::between::notes(both).iter().for_each(|(key, values)| note(key, values));
    }
    if let Some(n) = c.dropped.filter(|&n| n > 0) {
        note("dropped", &[("n", count(n))]);
    }
    if c.missed_bytes > 0 {
        note("missed", &[("bytes", bytes(c.missed_bytes as f64))]);
    }
    if c.omitted_flows > 0 {
        note("forgotten", &[("n", count(c.omitted_flows))]);
    }
    if let Some(by) = c.max_backward_s.filter(|&by| by >= MIN_BACKWARD_S) {
        let by = format!("{by:.3} s");
        note("backward", &[("n", count(c.backward_times)), ("by", by)]);
    }
    if let Some(by) = c.max_forward_s {
        note("jumped", &[("n", count(c.forward_jumps)), ("by", format!("{by:.0} s"))]);
    }
    for (key, n) in [("duplicates", c.duplicate_records), ("fragments", c.fragments)] {
        if n > 0 {
            note(key, &[("n", count(n))]);
        }
    }
    for (key, names) in [("tunnels", &c.tunnels), ("other", &c.other)] {
        if !names.is_empty() {
            note(key, &[("list", counted(names, lang))]);
        }
    }
    // A capture does not show what limits QUIC, but a qlog of an endpoint does.
    let hidden = d.udp_flows.iter().filter(|f| f.quic.is_some() && f.loss == UdpLoss::NotVisible).count();
    if hidden > 0 && d.flows.iter().all(|f| f.qlog.is_none()) {
        note("get-qlog", &[("n", count(hidden as u64))]);
    }
    for (code, n) in codes(d) {
        match find(&format!("diag.note.{code}"), lang) {
            Some(_) => note(code, &[("n", count(n))]),
            None => note("flows", &[("code", clip(&printable(code), MAX_NAME_WIDTH)), ("n", count(n))]),
        }
    }
    list
}

/// The number of flows with each note.
fn codes(d: &Diagnosis) -> BTreeMap<&str, u64> {
    let mut codes = BTreeMap::new();
    for code in d.flows.iter().flat_map(|f| &f.notes) {
        *codes.entry(code.as_str()).or_default() += 1;
    }
    codes
}

/// A list of names with their counts.
fn counted(names: &[Counted], lang: Lang) -> String {
    let with_count =
        |c: &Counted| format!("{} {}", clip(&printable(&c.name), MAX_NAME_WIDTH), count(c.count));
    let mut list: Vec<String> = names.iter().take(MAX_NAMES).map(with_count).collect();
    if names.len() > MAX_NAMES {
        list.push(fill("plot.more", lang, &[("n", &(names.len() - MAX_NAMES).to_string())]));
    }
    listed(&list, lang)
}
