//! UDP flows: a sentence for each flow with a limiter, and a table.

use super::between;
use super::values::rate;
use super::words::{kind, share};
use crate::number::{bytes, count, millis, percent, short};
use crate::strings::{Lang, fill, text};
use crate::style::{Style, Tone};
use crate::table::{TableCell, TableColumn, render};
use crate::width::printable;
use result::Diagnosis;
use result::diagnosis::{Limiter, LimiterKind, SpinBit, UdpFlowDiagnosis, UdpLoss};

/// Flows with sentences; the table has the others.
const MAX_SENTENCES: usize = 4;

/// A sentence for each flow with a limiter and one for each flow that is in both captures.
pub(super) fn sentences(d: &Diagnosis, lang: Lang) -> Vec<String> {
    let of_flow = |f: &UdpFlowDiagnosis| {
        let limited = f.limiter.as_ref().map(|limiter| sentence(f, limiter, lang));
        let between = between::datagrams(f, lang);
        match (limited, between) {
            (None, None) => None,
            (Some(limited), None) => Some(limited),
            (limited, Some(between)) => {
                let who = format!("{} -> {}", printable(&f.from), printable(&f.to));
                let between = fill("diag.udp.between", lang, &[("who", &who), ("facts", &between)]);
                Some(limited.map_or_else(|| between.clone(), |l| join(&l, &between, lang)))
            }
        }
    };
    d.udp_flows.iter().filter_map(of_flow).take(MAX_SENTENCES).collect()
}

/// Joins two sentences: with a space in English, without one in Chinese.
fn join(first: &str, second: &str, lang: Lang) -> String {
    let blank = if lang == Lang::Zh { "" } else { " " };
    format!("{first}{blank}{second}")
}

fn sentence(f: &UdpFlowDiagnosis, limiter: &Limiter, lang: Lang) -> String {
    // With captures at both ends losses are known, and delays are one-way.
    let key = match (limiter.kind, f.loss) {
        (LimiterKind::Policer, UdpLoss::BothEnds) => "diag.udp.policer-between",
        (LimiterKind::Policer, _) => "diag.udp.policer",
        (LimiterKind::Shaper, UdpLoss::BothEnds) => "diag.udp.shaper-between",
        (LimiterKind::Shaper, _) => "diag.udp.shaper",
        (LimiterKind::Bottleneck, UdpLoss::BothEnds) => "diag.udp.bottleneck-between",
        (LimiterKind::Bottleneck, _) => "diag.udp.bottleneck",
    };
    let base = f.spin_rtt_ms.map_or(0.0, |rtt| rtt.min);
    let values = [
        ("who", format!("{} -> {}", printable(&f.from), printable(&f.to))),
        ("protocol", f.protocol.to_uppercase()),
        ("rate", rate(limiter)),
        ("burst", limiter.burst_bytes.map_or_else(|| "–".into(), bytes)),
        ("queue", millis(limiter.queue_ms.unwrap_or(0.0))),
        ("base", millis(base)),
        ("lost", percent(limiter.lost_share)),
        ("sure", share(limiter.confidence)),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
    fill(key, lang, &values)
}

/// Renders the table of the first `rows` flows.
pub(super) fn table(d: &Diagnosis, rows: usize, style: Style, lang: Lang) -> String {
    let head = |upper: &str, lower: &str| {
        [upper, lower].map(|k| if k.is_empty() { "" } else { text(&format!("diag.udp.col.{k}"), lang) })
    };
    let flows = &d.udp_flows[..rows.min(d.udp_flows.len())];
    let column = |head, text, cells: &dyn Fn(&UdpFlowDiagnosis) -> [TableCell; 2]| {
        let cells = flows.iter().flat_map(cells).collect();
        TableColumn { head, text, cells, ..TableColumn::default() }
    };
    let columns = vec![
        column(head("flow", ""), true, &|f| {
            let from = TableCell { text: printable(&f.from), tone: Tone::Head };
            [from, format!("-> {}", printable(&f.to)).into()]
        }),
        column(head("rate", "most"), false, &|f| {
            [short(f.rate_mbps).into(), f.max_rate_mbps.map_or_else(|| "–".into(), short).into()]
        }),
        column(head("packets", "bytes"), false, &|f| {
            [count(f.packets).into(), bytes(f.payload_bytes as f64).into()]
        }),
        column(head("lost", "rtt"), false, &|f| [lost(f, lang).into(), rtt(f).into()]),
        column(head("protocol", "limiter"), true, &|f| [protocol(f, lang).into(), limiter(f, lang).into()]),
    ];
    render(columns, style)
}

/// The share of a flow's packets that were lost; `None` if the capture cannot show it.
pub(super) fn lost_share(f: &UdpFlowDiagnosis) -> Option<f64> {
    let n = f.lost_packets?;
    let all = match f.loss {
        UdpLoss::NotVisible => return None,
        UdpLoss::BeforeCapture => f.packets + n,
        UdpLoss::Qlog => f.packets,
        UdpLoss::BothEnds => f.between_ends.as_ref().map_or(0, |b| b.arrived_packets) + n,
    };
    Some(n as f64 / all.max(1) as f64)
}

fn lost(f: &UdpFlowDiagnosis, lang: Lang) -> String {
    lost_share(f).map_or_else(|| text("diag.udp.not-visible", lang).into(), percent)
}

fn rtt(f: &UdpFlowDiagnosis) -> String {
    let handshake = f.quic.as_ref().and_then(|q| q.handshake_rtt_ms);
    match (f.spin_rtt_ms, handshake) {
        (Some(rtt), _) => format!("{}/{}", millis(rtt.p50), millis(rtt.p95)),
        (None, Some(rtt)) => millis(rtt),
        (None, None) => "–".into(),
    }
}

/// The protocol, with the state of QUIC's spin bit or RTP's jitter.
pub(super) fn protocol(f: &UdpFlowDiagnosis, lang: Lang) -> String {
    match (&f.quic, &f.rtp) {
        (Some(q), _) => {
            let key = match q.spin {
                SpinBit::Spins => "diag.udp.spins",
                SpinBit::Disabled => "diag.udp.spin-disabled",
                SpinBit::Unknown => "diag.udp.spin-unknown",
            };
            let version = if q.version == "6b3343cf" { "2" } else { q.version.as_str() };
            format!("QUIC {}, {}", printable(version), text(key, lang))
        }
        (None, Some(rtp)) => match rtp.jitter_ms {
            Some(jitter) => fill("diag.udp.jitter", lang, &[("ms", &format!("{jitter:.1}"))]),
            None => "RTP".into(),
        },
        (None, None) => "UDP".into(),
    }
}

fn limiter(f: &UdpFlowDiagnosis, lang: Lang) -> String {
    let limiter = f.limiter.as_ref();
    limiter.map_or_else(|| "–".into(), |l| format!("{} {}", kind(l.kind, lang), rate(l)))
}
