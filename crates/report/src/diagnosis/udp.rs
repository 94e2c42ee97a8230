//! UDP flows: a sentence for each that a limiter held, and a table.

use super::values::rate;
use super::words::{bytes, kind, share};
use crate::number::{count, millis, percent, short};
use crate::strings::{Lang, fill, text};
use crate::style::{Style, Tone};
use crate::table::{TableCell, TableColumn, printable, render};
use result::Diagnosis;
use result::diagnosis::{Limiter, LimiterKind, SpinBit, UdpFlowDiagnosis, UdpLoss};

/// Flows told of in sentences.
const MOST_TOLD: usize = 4;
/// Flows in the page's list.
const MOST_LINES: usize = 20;

/// What is said of the flows with a limiter, a sentence each.
pub(super) fn told(d: &Diagnosis, lang: Lang) -> Vec<String> {
    let limited = d.udp_flows.iter().filter_map(|f| Some((f, f.limiter.as_ref()?)));
    limited.take(MOST_TOLD).map(|(f, limiter)| sentence(f, limiter, lang)).collect()
}

fn sentence(f: &UdpFlowDiagnosis, limiter: &Limiter, lang: Lang) -> String {
    let key = match limiter.kind {
        LimiterKind::Policer => "diag.udp.policer",
        LimiterKind::Shaper => "diag.udp.shaper",
        LimiterKind::Bottleneck => "diag.udp.bottleneck",
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

/// The flows with most bytes, a line each, for the page.
pub(super) fn lines(d: &Diagnosis, lang: Lang) -> Vec<String> {
    let line = |f: &UdpFlowDiagnosis| {
        let values = [
            ("who", format!("{} -> {}", printable(&f.from), printable(&f.to))),
            ("protocol", protocol(f, lang)),
            ("packets", count(f.packets)),
            ("rate", short(f.rate_mbps)),
            ("rtt", rtt(f)),
            ("lost", lost(f, lang)),
            ("limiter", limiter(f, lang)),
        ];
        let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
        fill("diag.udp.line", lang, &values)
    };
    d.udp_flows.iter().take(MOST_LINES).map(line).collect()
}

/// The first `rows` flows.
pub(super) fn table(d: &Diagnosis, rows: usize, style: Style, lang: Lang) -> String {
    let head = |upper: &str, lower: &str| {
        [upper, lower].map(|k| if k.is_empty() { "" } else { text(&format!("diag.udp.col.{k}"), lang) })
    };
    let flows = &d.udp_flows[..rows.min(d.udp_flows.len())];
    let column = |head, text, cells: &dyn Fn(&UdpFlowDiagnosis) -> [TableCell; 2]| {
        let cells = flows.iter().flat_map(cells).collect();
        TableColumn { head, text, rank: 0, cells }
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

/// Never a loss that nothing shows.
fn lost(f: &UdpFlowDiagnosis, lang: Lang) -> String {
    match (f.loss, f.lost_packets) {
        (UdpLoss::BeforeCapture, Some(n)) => percent(n as f64 / (f.packets + n).max(1) as f64),
        (UdpLoss::Qlog, Some(n)) => percent(n as f64 / f.packets.max(1) as f64),
        _ => text("diag.udp.not-visible", lang).into(),
    }
}

fn rtt(f: &UdpFlowDiagnosis) -> String {
    let handshake = f.quic.as_ref().and_then(|q| q.handshake_rtt_ms);
    match (f.spin_rtt_ms, handshake) {
        (Some(rtt), _) => format!("{}/{}", millis(rtt.p50), millis(rtt.p95)),
        (None, Some(rtt)) => millis(rtt),
        (None, None) => "–".into(),
    }
}

fn protocol(f: &UdpFlowDiagnosis, lang: Lang) -> String {
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
