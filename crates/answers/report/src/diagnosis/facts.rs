//! The evidence, a short line each: what was counted and measured of a group of flows.

use super::between;
use super::cause::cause_label;
use super::group::FlowGroup;
use super::values::shows;
use super::words::{listed, said, seconds, share};
use crate::number::{bytes, count, millis, short};
use crate::strings::{Lang, fill, text};
use crate::width::printable;
use result::diagnosis::{ConnectionEnd, Limiter, LinkTakers, PacketProof, ProofKind};
use result::{Cause, FlowDiagnosis};

/// A further cause is worth a word when it held for a twentieth of the time.
const TOLD_FROM: f64 = 0.05;

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
        own_account(g, lang),
        kernels_account(g, lang),
        place(g, lang),
        responses(g, lang),
        retries(g, lang),
        reset(g, lang),
        others(g, lang),
        proof(g, lang),
    ];
    list.into_iter().flatten().collect()
}

fn losses(g: &FlowGroup, lang: Lang) -> Option<String> {
    // What a capture with holes misses looks like losses.
    let has_holes = g.cause == Cause::Unknown && g.lead().measures.missing_share.is_some();
    if between::known(g) || has_holes {
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

/// What a QUIC endpoint's qlog says of its congestion window.
fn own_account(g: &FlowGroup, lang: Lang) -> Option<String> {
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
    Some(said("qlog", &values, lang))
}

/// What the sending host's kernel counted of the socket.
fn kernels_account(g: &FlowGroup, lang: Lang) -> Option<String> {
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
    Some(said("socket", &values, lang))
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
    let told = !g.lead().has_few_packets()
        && shows(m.rtt_ms.min)
        && m.bdp_bytes >= u64::from(m.mss_bytes)
        && m.max_inflight_bytes > 0;
    told.then(|| said("flight", &values, lang))
}

/// On which side of the capture the limiter is.
fn place(g: &FlowGroup, lang: Lang) -> Option<String> {
    let key = if g.limiter?.before_capture { "place.before-capture" } else { "place.behind-capture" };
    Some(said("where", &[("where", text(key, lang).into())], lang))
}

/// How long the server took to answer, beside the network, where that was a part of the time worth telling.
fn responses(g: &FlowGroup, lang: Lang) -> Option<String> {
    let told = g.flows.iter().filter_map(|f| Some((f, f.responses.as_ref()?)));
    let told = told.filter(|(_, r)| r.share >= TOLD_FROM);
    let (f, r) = told.max_by(|a, b| a.1.server_s.total_cmp(&b.1.server_s))?;
    let values = [
        ("n", count(r.exchanges)),
        ("p50", millis(r.server_ms.p50)),
        ("p95", millis(r.server_ms.p95)),
        ("net", r.network_ms.map_or_else(|| "–".into(), millis)),
        ("share", share(r.share)),
    ];
    Some(said("responses", &values, lang) + &packets(f, ProofKind::Response, lang))
}

/// SYNs that were sent again, where the connection came about all the same.
fn retries(g: &FlowGroup, lang: Lang) -> Option<String> {
    let s = g.lead().setup.as_ref().filter(|s| s.failed.is_none())?;
    let values = [("syns", count(s.syns)), ("answers", count(s.syn_acks)), ("s", seconds(s.retried_s))];
    Some(said("setup", &values, lang) + &packets(g.lead(), ProofKind::Setup, lang))
}

/// Who broke the largest flow's connection off, and when; not of one that was closing.
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
    Some(said("reset", &values, lang) + &packets(g.lead(), ProofKind::Resets, lang))
}

/// The packets that show something of a flow, in brackets.
fn packets(f: &FlowDiagnosis, kind: ProofKind, lang: Lang) -> String {
    let Some(p) = f.proofs.iter().find(|p| p.kind == kind) else { return String::new() };
    let numbers: Vec<String> = p.packets.iter().map(u32::to_string).collect();
    let what = text(&format!("diag.proof.{}", kind.name()), lang);
    fill("diag.packets", lang, &[("what", what), ("list", &listed(&numbers, lang))])
}

/// Who takes the link, where flows of several kinds share it.
pub(super) fn takers(l: &Limiter, lang: Lang) -> Option<String> {
    let one = |t: &LinkTakers| {
        let cc = match t.cc.as_str() {
            "bbr" | "cubic" | "reno" => t.cc.to_uppercase(),
            _ => text("diag.cc.other", lang).to_string(),
        };
        let values = [("n", count(t.flows)), ("cc", cc), ("rate", short(t.mbps)), ("share", share(t.share))];
        said("taker", &values, lang)
    };
    let list: Vec<String> = l.takers.iter().map(one).collect();
    (list.len() > 1).then(|| said("takers", &[("list", listed(&list, lang))], lang))
}

/// What else held the largest flow.
fn others(g: &FlowGroup, lang: Lang) -> Option<String> {
    let mut others: Vec<(Cause, f64)> = Cause::ALL.map(|c| (c, g.lead().share(c))).into();
    others.retain(|(c, share)| *c != g.cause && *share >= TOLD_FROM);
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    // Two packets of each: where one begins to look.
    let shown = |cause| {
        let proof = g.lead().proofs.iter().find(|p| p.cause == Some(cause))?;
        let numbers: Vec<String> = proof.packets.iter().take(2).map(u32::to_string).collect();
        Some(fill("diag.by", lang, &[("list", &listed(&numbers, lang))]))
    };
    let one = |(cause, part): &(Cause, f64)| {
        format!("{} {} %{}", cause_label(*cause, lang), share(*part), shown(*cause).unwrap_or_default())
    };
    let list: Vec<String> = others.iter().map(one).collect();
    (!list.is_empty()).then(|| said("next", &[("list", listed(&list, lang))], lang))
}

/// The packets of the largest flow that show the cause, and how Wireshark finds them.
fn proof(g: &FlowGroup, lang: Lang) -> Option<String> {
    g.lead().proofs.iter().find(|p| p.cause == Some(g.cause)).map(|p| shown(p, lang))
}

/// Packets and a display filter.
fn shown(p: &PacketProof, lang: Lang) -> String {
    let numbers: Vec<String> = p.packets.iter().map(u32::to_string).collect();
    let values = [
        ("what", text(&format!("diag.proof.{}", p.kind.name()), lang).to_string()),
        ("list", listed(&numbers, lang)),
        ("n", count(p.total)),
        ("filter", printable(&p.filter)),
    ];
    said(if p.total > p.packets.len() as u64 { "proof" } else { "proof-all" }, &values, lang)
}
