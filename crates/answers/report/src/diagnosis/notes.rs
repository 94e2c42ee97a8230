//! What should be known of a capture before its numbers are believed.

use super::words::listed;
use crate::number::{bytes, count};
use crate::strings::{Lang, fill, find};
use crate::width::{clip, printable};
use result::Diagnosis;
use result::diagnosis::{Counted, UdpLoss};
use std::collections::BTreeMap;

/// Names of a list that are told; it comes from the file.
const MOST_NAMES: usize = 8;
/// Columns of a name from the file.
const NAME: usize = 60;
/// Columns of what is wrong with it.
const DAMAGE: usize = 240;

/// By less than so many seconds packets of several queues or interfaces pass each other; no clock ran backwards then.
const BACKWARD: f64 = 0.001;

/// A sentence each.
pub(super) fn notes(d: &Diagnosis, lang: Lang) -> Vec<String> {
    let c = &d.capture;
    let mut list = Vec::new();
    let mut say = |key: &str, values: &[(&str, String)]| {
        let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
        list.push(fill(&format!("diag.note.{key}"), lang, &values));
    };
    if d.flows.is_empty() {
        let n = [("packets", c.packets), ("tcp", c.tcp_packets), ("udp", c.udp_packets)];
        say("none", &n.map(|(k, v)| (k, count(v))));
    }
    if let Some(damage) = &c.damage {
        let what = clip(&printable(&damage.what), DAMAGE);
        say("damage", &[("offset", damage.offset.to_string()), ("what", what)]);
    }
    if let Some(both) = &c.both_ends {
        super::between::notes(both).iter().for_each(|(key, values)| say(key, values));
    }
    if let Some(n) = c.dropped.filter(|&n| n > 0) {
        say("dropped", &[("n", count(n))]);
    }
    if c.missed_bytes > 0 {
        say("missed", &[("bytes", bytes(c.missed_bytes as f64))]);
    }
    if c.forgotten_flows > 0 {
        say("forgotten", &[("n", count(c.forgotten_flows))]);
    }
    if let Some(by) = c.most_backward_s.filter(|&by| by >= BACKWARD) {
        let by = format!("{by:.3} s");
        say("backward", &[("n", count(c.backward_times)), ("by", by)]);
    }
    if let Some(by) = c.most_forward_s {
        say("jumped", &[("n", count(c.forward_jumps)), ("by", format!("{by:.0} s"))]);
    }
    for (key, n) in [("duplicates", c.duplicate_records), ("fragments", c.fragments)] {
        if n > 0 {
            say(key, &[("n", count(n))]);
        }
    }
    for (key, names) in [("tunnels", &c.tunnels), ("other", &c.other)] {
        if !names.is_empty() {
            say(key, &[("list", counted(names, lang))]);
        }
    }
    // QUIC hides what limits it, and its endpoints log it.
    let hidden = d.udp_flows.iter().filter(|f| f.quic.is_some() && f.loss == UdpLoss::NotVisible).count();
    if hidden > 0 && d.flows.iter().all(|f| f.qlog.is_none()) {
        say("get-qlog", &[("n", count(hidden as u64))]);
    }
    for (code, n) in codes(d) {
        match find(&format!("diag.note.{code}"), lang) {
            Some(_) => say(code, &[("n", count(n))]),
            None => say("flows", &[("code", clip(&printable(code), NAME)), ("n", count(n))]),
        }
    }
    list
}

/// How many flows have each note.
fn codes(d: &Diagnosis) -> BTreeMap<&str, u64> {
    let mut codes = BTreeMap::new();
    for code in d.flows.iter().flat_map(|f| &f.notes) {
        *codes.entry(code.as_str()).or_default() += 1;
    }
    codes
}

fn counted(names: &[Counted], lang: Lang) -> String {
    let one = |c: &Counted| format!("{} {}", clip(&printable(&c.name), NAME), count(c.count));
    let mut list: Vec<String> = names.iter().take(MOST_NAMES).map(one).collect();
    if names.len() > MOST_NAMES {
        list.push(fill("plot.more", lang, &[("n", &(names.len() - MOST_NAMES).to_string())]));
    }
    listed(&list, lang)
}
