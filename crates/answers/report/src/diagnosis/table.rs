//! The table of flows. Each flow takes two lines, so that the table fits 80 columns.

use super::cause::cause_label;
use super::figures::FlowFigures;
use super::values::rate;
use super::words::{kind, share};
use crate::number::{count, millis, percent, short};
use crate::strings::{Lang, text};
use crate::style::{Style, Tone};
use crate::table::{TableCell, TableColumn, render};
use crate::width::printable;
use result::diagnosis::UNDECIDED;
use result::{Cause, Diagnosis, FlowDiagnosis};

/// The second cause is named from this share of the flow's time on.
const MIN_NAMED_SHARE: f64 = 0.01;

/// Renders the first `rows` of `flows`.
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
    let column = |head, text, cells: &dyn Fn(&FlowDiagnosis) -> [TableCell; 2]| {
        let cells = flows.iter().flat_map(|f| cells(f)).collect();
        TableColumn { head, text, cells, ..TableColumn::default() }
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
    // A share of so few packets is not a loss rate.
    FlowFigures::of(f).lost.filter(|_| !f.has_few_packets()).map_or_else(|| "–".into(), percent)
}

/// The main cause (`rank` 0) or the largest of the other causes, with its share of the time. An undecided
/// flow has neither: its headline lists what fits.
fn cause(f: &FlowDiagnosis, rank: usize, lang: Lang) -> String {
    if f.confidence < UNDECIDED && f.cause != Cause::Unknown {
        return if rank == 0 { text("diag.undecided", lang).into() } else { String::new() };
    }
    let found = match rank {
        0 => Some((f.cause, FlowFigures::of(f).cause_share)),
        _ => f
            .causes
            .iter()
            .find(|c| c.cause != f.cause && c.share >= MIN_NAMED_SHARE)
            .map(|c| (c.cause, c.share)),
    };
    match found {
        // "unknown 100%" adds nothing to "unknown".
        Some((Cause::Unknown, part)) if rank == 0 && part >= 1.0 => cause_label(Cause::Unknown, lang).into(),
        Some((c, part)) => format!("{} {}%", cause_label(c, lang), share(part)),
        None => String::new(),
    }
}

fn limiter(d: &Diagnosis, f: &FlowDiagnosis, lang: Lang) -> String {
    let limiter = f.limiter.and_then(|i| d.limiters.get(i));
    limiter.map_or_else(|| "–".into(), |l| format!("{} {}", kind(l.kind, lang), rate(l)))
}

fn cc(f: &FlowDiagnosis) -> String {
    if f.cc.confidence == 0.0 {
        return "–".into();
    }
    format!("{} {}%", printable(&f.cc.name), share(f.cc.confidence))
}
