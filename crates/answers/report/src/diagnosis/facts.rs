//! The evidence of a group of flows, a short line for each measured quantity.

use super::between;
use super::cause::cause_label;
use super::group::{Certainty, FlowGroup};
use super::values::is_measurable;
use super::words::{fact, listed, seconds, share};
use crate::number::{bytes, count, millis, short};
use crate::strings::{Lang, fill, text};
use crate::width::printable;
use result::diagnosis::{CcShare, ConnectionEnd, Limiter, Measures, PacketProof, ProofKind};
use result::{Cause, FlowDiagnosis};

/// A secondary cause is reported from this share of the time on.
const MIN_REPORTED_SHARE: f64 = 0.05;

/// The facts below the headline of `g`.
pub(super) fn facts(g: &FlowGroup, lang: Lang) -> Vec<String> {
    let list = [
        losses(g, lang),
        between::losses(g, lang),
        between::late(g, lang),
        retransmissions(g, lang),
        timeouts(g, lang),
        too_big(g, lang),
        icmp(g, lang),
        shrank(g, lang),
        zero_windows(g, lang),
        rtt(g, lang),
        flight(g, lang),
        qlog(g, lang),
        socket(g, lang),
        place(g, lang),
        responses(g, lang),
        setup(g, lang),
        reset(g, lang),
        other_causes(g, lang),
        proof(g, lang),
    ];
    list.into_iter().flatten().collect()
}

fn losses(g: &FlowGroup, lang: Lang) -> Option<String> {
    // Packets that the capture missed look like losses.
    let has_gaps = g.cause == Cause::Unknown && g.lead().measures.missing_share.is_some();
    if between::known(g) || has_gaps {
        return None;
    }
    let [up, down] = [g.sum(|f| f.measures.lost_up as f64), g.sum(|f| f.measures.lost_down as f64)];
    let all = g.sum(|f| f.measures.data_packets as f64);
    let n = |x: f64| count(x as u64);
    let values = [("n", n(up + down)), ("all", n(all)), ("up", n(up)), ("down", n(down))];
    (up + down > 0.0).then(|| fact("loss", &values, lang))
}

fn retransmissions(g: &FlowGroup, lang: Lang) -> Option<String> {
    let sum = |field: fn(&Measures) -> u64| count(g.sum(|f| field(&f.measures) as f64) as u64);
    let values = [
        ("n", sum(|m| m.retransmitted_packets)),
        ("fast", sum(|m| m.fast)),
        ("rto", sum(|m| m.rto)),
        ("tlp", sum(|m| m.tlp)),
        ("spurious", sum(|m| m.spurious)),
    ];
    g.flows.iter().any(|f| f.measures.retransmitted_packets > 0).then(|| fact("again", &values, lang))
}

/// The congestion window as a QUIC endpoint's qlog reports it.
fn qlog(g: &FlowGroup, lang: Lang) -> Option<String> {
    let q = g.lead().qlog.as_ref()?;
    let values = [
        ("least", bytes(q.min_cwnd_bytes as f64)),
        ("p50", bytes(q.p50_cwnd_bytes as f64)),
        ("most", bytes(q.max_cwnd_bytes as f64)),
        ("inflight", q.max_inflight_bytes.map_or_else(|| "–".into(), |b| bytes(b as f64))),
        ("full", q.window_full_share.map_or_else(|| "–".into(), share)),
        ("cuts", count(q.cuts)),
        ("recoveries", count(q.recoveries)),
        ("ptos", count(q.probe_timeouts)),
        ("blocked", count(q.blocked_packets)),
    ];
    Some(fact("qlog", &values, lang))
}

/// The socket's counters from the sending host's kernel.
fn socket(g: &FlowGroup, lang: Lang) -> Option<String> {
    let s = g.lead().socket.as_ref()?;
    let busy = s.busy_s.filter(|busy| *busy > 0.0)?;
    let of_busy = |s: Option<f64>| s.map_or_else(|| "–".into(), |s| share(s / busy));
    let cc = &g.lead().cc.name;
    let values = [
        ("cc", if cc.is_empty() { "–".into() } else { printable(cc) }),
        ("busy", seconds(busy)),
        ("all", seconds(s.observed_s)),
        ("window", of_busy(s.window_limited_s)),
        ("buffer", of_busy(s.buffer_limited_s)),
        ("again", s.retransmitted_packets.map_or_else(|| "–".into(), count)),
        ("rtt", s.min_rtt_ms.map_or_else(|| "–".into(), millis)),
    ];
    Some(fact("socket", &values, lang))
}

fn timeouts(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.timeouts as f64) as u64;
    let took = seconds(g.sum(|f| f.measures.timeout_s));
    (n > 0).then(|| fact("timeouts", &[("n", count(n)), ("s", took)], lang))
}

fn too_big(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.too_big.saturating_sub(f.measures.icmp_too_big) as f64) as u64;
    (n > 0).then(|| fact("too-big", &[("n", count(n))], lang))
}

fn icmp(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.icmp_too_big as f64) as u64;
    (n > 0).then(|| fact("icmp-too-big", &[("n", count(n))], lang))
}

/// Full segments became smaller during the connection; left out if that is the cause, as its evidence has it.
fn shrank(g: &FlowGroup, lang: Lang) -> Option<String> {
    let m = &g.lead().measures;
    let is_cause = matches!(g.cause, Cause::PacketTooBig | Cause::BlackHole);
    let before = m.mss_before_bytes.filter(|_| !is_cause)?;
    let values = [("before", before.to_string()), ("mss", m.mss_bytes.to_string())];
    match m.path_mtu_bytes {
        Some(mtu) => {
            let [before, mss] = values;
            Some(fact("shrank-mtu", &[before, mss, ("mtu", mtu.to_string())], lang))
        }
        None => Some(fact("shrank", &values, lang)),
    }
}

/// Zero windows: the receiver did not read. Left out if that is the cause, as its evidence has them.
fn zero_windows(g: &FlowGroup, lang: Lang) -> Option<String> {
    let n = g.sum(|f| f.measures.zero_windows as f64) as u64;
    (n > 0 && g.cause != Cause::ReceiverStalled).then(|| fact("zero", &[("n", count(n))], lang))
}

fn rtt(g: &FlowGroup, lang: Lang) -> Option<String> {
    let rtt = g.lead().measures.rtt_ms;
    let values = [("min", millis(rtt.min)), ("p50", millis(rtt.p50)), ("p95", millis(rtt.p95))];
    is_measurable(rtt.min).then(|| fact("rtt", &values, lang))
}

/// The most data in flight, next to the bandwidth-delay product.
fn flight(g: &FlowGroup, lang: Lang) -> Option<String> {
    let m = &g.lead().measures;
    let values = [
        ("flight", bytes(m.max_inflight_bytes as f64)),
        ("most", short(m.max_delivery_mbps)),
        ("min", millis(m.rtt_ms.min)),
        ("bdp", bytes(m.bdp_bytes as f64)),
    ];
    // A BDP below one segment limits nothing.
    let is_meaningful = !g.lead().has_few_packets()
        && is_measurable(m.rtt_ms.min)
        && m.bdp_bytes >= u64::from(m.mss_bytes)
        && m.max_inflight_bytes > 0;
    is_meaningful.then(|| fact("flight", &values, lang))
}

/// On which side of the capture the limiter is.
fn place(g: &FlowGroup, lang: Lang) -> Option<String> {
    let key = if g.limiter?.before_capture { "place.before-capture" } else { "place.behind-capture" };
    Some(fact("where", &[("where", text(key, lang).into())], lang))
}

/// The server's and the network's share of the response time, where the server took a reportable share of the
/// flow's time.
fn responses(g: &FlowGroup, lang: Lang) -> Option<String> {
    let flows = g.flows.iter().filter_map(|f| Some((f, f.responses.as_ref()?)));
    let flows = flows.filter(|(_, r)| r.share >= MIN_REPORTED_SHARE);
    let (f, r) = flows.max_by(|a, b| a.1.server_s.total_cmp(&b.1.server_s))?;
    let values = [
        ("n", count(r.exchanges)),
        ("p50", millis(r.server_ms.p50)),
        ("p95", millis(r.server_ms.p95)),
        ("net", r.network_ms.map_or_else(|| "–".into(), millis)),
        ("share", share(r.share)),
    ];
    Some(fact("responses", &values, lang) + &packets(f, ProofKind::Response, lang))
}

/// Retransmitted SYNs of a connection that was established all the same.
fn setup(g: &FlowGroup, lang: Lang) -> Option<String> {
    let s = g.lead().setup.as_ref().filter(|s| s.failed.is_none())?;
    let values = [("syns", count(s.syns)), ("answers", count(s.syn_acks)), ("s", seconds(s.retried_s))];
    Some(fact("setup", &values, lang) + &packets(g.lead(), ProofKind::Setup, lang))
}

/// Which end reset the largest flow's connection, and when. Left out if the connection was already closing.
fn reset(g: &FlowGroup, lang: Lang) -> Option<String> {
    let r = g.lead().reset.as_ref().filter(|r| !r.after_fin && g.cause != Cause::SetupFailed)?;
    let end = match r.by {
        ConnectionEnd::Client => "client",
        ConnectionEnd::Server => "server",
    };
    let state = if r.outstanding { "outstanding" } else { "at-rest" };
    let values = [
        ("who", text(&format!("diag.end.{end}"), lang).to_string()),
        ("s", seconds(r.at_s - g.lead().start_s)),
        ("sent", bytes(r.client_bytes as f64)),
        ("got", bytes(r.server_bytes as f64)),
        ("state", text(&format!("diag.reset.{state}"), lang).to_string()),
    ];
    Some(fact("reset", &values, lang) + &packets(g.lead(), ProofKind::Resets, lang))
}

/// The packets that prove a fact, in brackets.
fn packets(f: &FlowDiagnosis, kind: ProofKind, lang: Lang) -> String {
    let Some(p) = f.proofs.iter().find(|p| p.kind == kind) else { return String::new() };
    let numbers: Vec<String> = p.packets.iter().map(u32::to_string).collect();
    let what = text(&format!("diag.proof.{}", kind.name()), lang);
    fill("diag.packets", lang, &[("what", what), ("list", &listed(&numbers, lang))])
}

/// The shares of the link by congestion control, if it carries flows of several.
pub(super) fn shares_by_cc(l: &Limiter, lang: Lang) -> Option<String> {
    let share_of_link = |t: &CcShare| {
        let cc = match t.cc.as_str() {
            "bbr" | "cubic" | "reno" => t.cc.to_uppercase(),
            _ => text("diag.cc.other", lang).to_string(),
        };
        let values = [("n", count(t.flows)), ("cc", cc), ("rate", short(t.mbps)), ("share", share(t.share))];
        fact("taker", &values, lang)
    };
    let list: Vec<String> = l.shares_by_cc.iter().map(share_of_link).collect();
    (list.len() > 1).then(|| fact("shares_by_cc", &[("list", listed(&list, lang))], lang))
}

/// The other causes of the largest flow, with their shares of the time; none where its main cause is open.
fn other_causes(g: &FlowGroup, lang: Lang) -> Option<String> {
    if g.certainty == Certainty::Undecided {
        return None;
    }
    let mut others: Vec<(Cause, f64)> = Cause::ALL.map(|c| (c, g.lead().share(c))).into();
    others.retain(|(c, share)| *c != g.cause && *share >= MIN_REPORTED_SHARE);
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    // Two packets of each, as a place to start looking.
    let shown = |cause| {
        let proof = g.lead().proofs.iter().find(|p| p.cause == Some(cause))?;
        let numbers: Vec<String> = proof.packets.iter().take(2).map(u32::to_string).collect();
        Some(fill("diag.by", lang, &[("list", &listed(&numbers, lang))]))
    };
    let one = |(cause, part): &(Cause, f64)| {
        format!("{} {} %{}", cause_label(*cause, lang), share(*part), shown(*cause).unwrap_or_default())
    };
    let list: Vec<String> = others.iter().map(one).collect();
    (!list.is_empty()).then(|| fact("next", &[("list", listed(&list, lang))], lang))
}

/// The packets of the largest flow that prove the cause, and the Wireshark filter that finds them.
fn proof(g: &FlowGroup, lang: Lang) -> Option<String> {
    let f = g.lead();
    let p = f.proofs.iter().find(|p| p.cause == Some(g.cause))?;
    // Not every loss is due to the cause; the count of all of them is another fact.
    let is_part = p.kind == ProofKind::Lost && p.total < f.measures.lost_up + f.measures.lost_down;
    let what =
        if is_part { "diag.proof.lost-to-cause".into() } else { format!("diag.proof.{}", p.kind.name()) };
    Some(proof_line(p, text(&what, lang), lang))
}

/// A proof's packets, described by `what`, and its Wireshark display filter.
fn proof_line(p: &PacketProof, what: &str, lang: Lang) -> String {
    let numbers: Vec<String> = p.packets.iter().map(u32::to_string).collect();
    let values = [
        ("what", what.to_string()),
        ("list", listed(&numbers, lang)),
        ("n", count(p.total)),
        ("filter", printable(&p.filter)),
    ];
    fact(if p.total > p.packets.len() as u64 { "proof" } else { "proof-all" }, &values, lang)
}
