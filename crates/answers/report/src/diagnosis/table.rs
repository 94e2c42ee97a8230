//! The table of flows, two lines each, so that all of it fits 80 columns.

use super::cause::cause_label;
use super::figures::FlowFigures;
use super::values::rate;
use super::words::{kind, share};
use crate::number::{count, millis, percent, short};
use crate::strings::{Lang, text};
use crate::style::{Style, Tone};
use crate::table::{TableCell, TableColumn, render};
use crate::width::printable;
use result::{Cause, Diagnosis, FlowDiagnosis};

/// Below this much of its time a second cause is not named.
const NAMED_FROM: f64 = 0.01;

/// The first `rows` of `flows`.
pub(super) fn table(
    d: &Diagnosis,
    flows: &[&FlowDiagnosis],
    rows: usize,
    style: Style,
    lang: Lang,
) -> String {
    let head = |upper: &str, lower: &str| {
        [upper, lower].map(|k| if k.is_empty() { "" } else { text(&format!("diag.col.{k}"), lang) })
    };
    let flows = &flows[..rows.min(flows.len())];
    // Addresses matter least to one who reads the numbers, and numbers most.
    let column = |head, text, cells: &dyn Fn(&FlowDiagnosis) -> [TableCell; 2]| {
        let cells = flows.iter().flat_map(|f| cells(f)).collect();
        TableColumn { head, text, rank: 0, cells }
    };
    let columns = vec![
        column(["#", ""], false, &|f| [head_cell(f.id.to_string()), "".into()]),
        column(head("flow", ""), true, &|f| {
            [printable(&f.from).into(), format!("-> {}", printable(&f.to)).into()]
        }),
        column(head("rate", "rtt"), false, &|f| [short(f.measures.goodput_mbps).into(), rtt(f).into()]),
        column(head("lost", "resent"), false, &|f| {
            [lost(f).into(), count(f.measures.retransmitted_packets).into()]
        }),
        column(head("cause", "next"), true, &|f| [cause(f, 0, lang).into(), cause(f, 1, lang).into()]),
        column(head("limiter", "cc"), true, &|f| [limiter(d, f, lang).into(), cc(f).into()]),
    ];
    render(columns, style)
}

fn head_cell(text: String) -> TableCell {
    TableCell { text, tone: Tone::Head }
}

fn rtt(f: &FlowDiagnosis) -> String {
    let rtt = f.measures.rtt_ms;
    if rtt.max > 0.0 { format!("{}/{}", millis(rtt.p50), millis(rtt.p95)) } else { "–".into() }
}

fn lost(f: &FlowDiagnosis) -> String {
    // One of two packets is no loss rate.
    FlowFigures::of(f).lost.filter(|_| !f.has_few_packets()).map_or_else(|| "–".into(), percent)
}

/// The main cause, and after it the greatest of the others.
fn cause(f: &FlowDiagnosis, place: usize, lang: Lang) -> String {
    let found = match place {
        0 => Some((f.cause, FlowFigures::of(f).cause_share)),
        _ => {
            f.causes.iter().find(|c| c.cause != f.cause && c.share >= NAMED_FROM).map(|c| (c.cause, c.share))
        }
    };
    match found {
        // A share of what is not known says nothing.
        Some((Cause::Unknown, part)) if place == 0 && part >= 1.0 => cause_label(Cause::Unknown, lang).into(),
        Some((c, part)) => format!("{} {}%", cause_label(c, lang), share(part)),
        None => String::new(),
    }
}

fn limiter(d: &Diagnosis, f: &FlowDiagnosis, lang: Lang) -> String {
    let limiter = f.limiter.and_then(|i| d.limiters.get(i));
    limiter.map_or_else(|| "–".into(), |l| format!("{} {}", kind(l.kind, lang), rate(l)))
}

fn cc(f: &FlowDiagnosis) -> String {
    if f.cc.name.is_empty() {
        return "–".into();
    }
    format!("{} {}%", printable(&f.cc.name), share(f.cc.confidence))
}
