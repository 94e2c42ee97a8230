//! The evidence, a short line each: what was counted and measured of a group of flows.

use super::between;
use super::told::FlowGroup;
use super::values::shows;
use super::words::{bytes, cause as cause_name, listed, seconds, share};
use crate::number::{count, millis, short};
use crate::strings::{Lang, fill, text};
use result::Cause;

/// A further cause is worth a word when it held for a twentieth of the time.
const TOLD_FROM: f64 = 0.05;
/// Below this confidence the reader is told of it.
const SURE: f64 = 0.8;

/// What stands below the sentence of `g`.
pub(super) fn facts(g: &FlowGroup, lang: Lang) -> Vec<String> {
    let list = [
        losses(g, lang),
        between::losses(g, lang),
        between::late(g, lang),
        again(g, lang),
        timeouts(g, lang),
        too_big(g, lang),
        icmp(g, lang),
        shrank(g, lang),
        zero_windows(g, lang),
        rtt(g, lang),
        flight(g, lang),
        place(g, lang),
        others(g, lang),
        sure(g, lang),
    ];
    list.into_iter().flatten().collect()
}

fn losses(g: &FlowGroup, lang: Lang) -> Option<String> {
    if between::known(g) {
        return None;
    }
    let [up, down] = [g.sum(|f| f.measures.lost_up as f64), g.sum(|f| f.measures.lost_down as f64)];
    let all = g.sum(|f| f.measures.data_packets as f64);
    let n = |x: f64| count(x as u64);
    let values = [("n", n(up + down)), ("all", n(all)), ("up", n(up)), ("down", n(down))];
    (up + down > 0.0).then(|| said("loss", &values, lang))
}

fn again(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = |of: fn(&result::diagnosis::Measures) -> u64| count(g.sum(|f| of(&f.measures) as f64) as u64);
    let values = [
        ("n", n(|m| m.retransmitted_packets)),
        ("fast", n(|m| m.fast)),
        ("rto", n(|m| m.rto)),
        ("tlp", n(|m| m.tlp)),
        ("spurious", n(|m| m.spurious)),
    ];
    g.flows.iter().any(|f| f.measures.retransmitted_packets > 0).then(|| said("again", &values, lang))
}

fn timeouts(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.timeouts as f64) as u64;
    let took = seconds(g.sum(|f| f.measures.timeout_s));
    (n > 0).then(|| said("timeouts", &[("n", count(n)), ("s", took)], lang))
}

fn too_big(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.too_big.saturating_sub(f.measures.icmp_too_big) as f64) as u64;
    (n > 0).then(|| said("too-big", &[("n", count(n))], lang))
}

fn icmp(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.icmp_too_big as f64) as u64;
    (n > 0).then(|| said("icmp-too-big", &[("n", count(n))], lang))
}

/// Full segments became smaller in the midst of the connection; told already where that is the cause.
fn shrank(g: &FlowGroup, lang: Lang) -> Option<String> {
    let m = &g.lead().measures;
    let told = matches!(g.cause, Cause::PacketTooBig | Cause::BlackHole);
    let before = m.mss_before_bytes.filter(|_| !told)?;
    let values = [("before", before.to_string()), ("mss", m.mss_bytes.to_string())];
    match m.path_mtu_bytes {
        Some(mtu) => {
            let [before, mss] = values;
            Some(said("shrank-mtu", &[before, mss, ("mtu", mtu.to_string())], lang))
        }
        None => Some(said("shrank", &values, lang)),
    }
}

/// What says that the receiver did not read; told already where that is the cause.
fn zero_windows(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.zero_windows as f64) as u64;
    (n > 0 && g.cause != Cause::ReceiverStalled).then(|| said("zero", &[("n", count(n))], lang))
}

fn rtt(g: &FlowGroup, lang: Lang) -> Option<String> {
    let rtt = g.lead().measures.rtt_ms;
    let values = [("min", millis(rtt.min)), ("p50", millis(rtt.p50)), ("p95", millis(rtt.p95))];
    shows(rtt.min).then(|| said("rtt", &values, lang))
}

/// How full the path was.
fn flight(g: &FlowGroup, lang: Lang) -> Option<String> {
    let m = &g.lead().measures;
    let values = [
        ("flight", bytes(m.max_inflight_bytes as f64)),
        ("most", short(m.max_delivery_mbps)),
        ("min", millis(m.rtt_ms.min)),
        ("bdp", bytes(m.bdp_bytes as f64)),
    ];
    // Less than a segment fills no path.
    let told = shows(m.rtt_ms.min) && m.bdp_bytes >= u64::from(m.mss_bytes) && m.max_inflight_bytes > 0;
    told.then(|| said("flight", &values, lang))
}

/// On which side of the capture the limiter is.
fn place(g: &FlowGroup, lang: Lang) -> Option<String> {
    let key = if g.limiter?.before_capture { "diag.where.up" } else { "diag.where.down" };
    Some(said("where", &[("where", text(key, lang).into())], lang))
}

/// What else held them.
fn others(g: &FlowGroup, lang: Lang) -> Option<String> {
    let mut others: Vec<(Cause, f64)> = Cause::ALL.map(|c| (c, g.share(c))).into();
    others.retain(|(c, share)| *c != g.cause && *share >= TOLD_FROM);
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    let list: Vec<String> =
        others.iter().map(|(c, part)| format!("{} {} %", cause_name(*c, lang), share(*part))).collect();
    (!list.is_empty()).then(|| said("next", &[("list", listed(&list, lang))], lang))
}

/// How sure, where that is not very.
fn sure(g: &FlowGroup, lang: Lang) -> Option<String> {
    let confidence = g.lead().confidence;
    let known = g.cause != Cause::Unknown && confidence < SURE;
    known.then(|| said("sure", &[("share", share(confidence))], lang))
}

pub(super) fn said(key: &str, values: &[(&str, String)], lang: Lang) -> String {
    let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
    fill(&format!("diag.fact.{key}"), lang, &values)
}
