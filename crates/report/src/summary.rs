//! The table of variants: one row each, or one for each flow where flows were measured one at a time.

use crate::figures::{Figures, Row, rows};
use crate::number::{alike, count, millis, percent, range, short};
use crate::style::{Style, Tone, tone_of_share};
use crate::table::{TableCell, TableColumn, printable, render};
use result::{Run, VariantResult};

/// The table; its last lines say what ± means when there is one.
pub(crate) fn table(run: &Run, style: Style) -> String {
    let rows = rows(run);
    let mut columns = vec![names(&rows)];
    let lines: Vec<(&Row, Figures)> = rows.iter().map(|r| (r, r.figures())).collect();
    let mut add = |head, rank, cell: &dyn Fn(&Row, &Figures) -> Option<TableCell>| {
        let cells: Vec<Option<TableCell>> = lines.iter().map(|(r, f)| cell(r, f)).collect();
        // A column in which nothing is known says nothing.
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|c| c.unwrap_or_else(|| "–".into())).collect();
            columns.push(TableColumn { head, text: rank == 0, rank, cells });
        }
    };
    if rows.iter().any(|r| r.flow.is_some()) {
        add(["flow", ""], 0, &|r, _| r.flow.map(|f| printable(&f.name).into()));
    }
    add(["total", "Mbit/s"], 255, &|_, f| Some(total(f)));
    add(["of", "limit"], 90, &|_, f| {
        f.share.map(|s| TableCell { text: format!("{:.0}%", s * 100.0), tone: tone_of_share(s) })
    });
    if lines.iter().any(|(_, f)| f.flows > 1) {
        add(["each", "Mbit/s"], 40, &|_, f| f.each_mbps.map(|[least, most]| range(least, most).into()));
        add(["Jain", ""], 50, &|_, f| f.jain_index.map(|jain| format!("{jain:.3}").into()));
    }
    add(["lost", "%"], 60, &|_, f| f.lost.map(|s| percent(s).into()));
    add(["resent", ""], 70, &|_, f| Some(count(f.resent).into()));
    add(["RTO", ""], 65, &|_, f| {
        let tone = if f.timeouts > 0 { Tone::Fair } else { Tone::Plain };
        Some(TableCell { text: count(f.timeouts), tone })
    });
    add(["RTT ms", "p50/p95"], 80, &|_, f| {
        Some(format!("{}/{}", millis(f.rtt_p50_ms?), millis(f.rtt_p95_ms?)).into())
    });
    add(["drops", ""], 20, &|_, f| f.dropped.map(|n| count(n).into()));
    add(["max", "queue"], 30, &|_, f| f.max_queue.map(|n| count(n).into()));
    let mut text = render(columns, style);
    for note in repeats(run) {
        text += &(style.paint(Tone::Dim, &note) + "\n");
    }
    text
}

/// What ± means, and whose repeats it says nothing of.
fn repeats(run: &Run) -> Vec<String> {
    let of = |identical| {
        let those = move |v: &&VariantResult| v.repeats.as_ref().is_some_and(|r| r.identical == identical);
        run.variants.iter().filter(those)
    };
    let n = |v: &VariantResult| v.repeats.as_ref().map_or(0, |r| r.n);
    let mut notes = Vec::new();
    if let Some(v) = of(false).next() {
        notes.push(format!("means of {} repeats, ± the 95 % interval", n(v)));
    }
    if let Some(v) = of(true).next() {
        // Where others differ, it is said whose do not.
        let names: Vec<String> = of(true).map(|v| printable(&v.name)).collect();
        let whose = if notes.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        notes.push(format!("{} identical runs, as nothing in them is random{whose}", n(v)));
    }
    notes
}

/// The variant's name, once for all its flows.
fn names(rows: &[Row]) -> TableColumn {
    let mut last: Option<&VariantResult> = None;
    let mut cells = Vec::new();
    for row in rows {
        let seen = last.is_some_and(|v| std::ptr::eq(v, row.variant));
        cells.push(if seen { TableCell::default() } else { printable(&row.variant.name).into() });
        last = Some(row.variant);
    }
    TableColumn { head: ["variant", ""], text: true, rank: 0, cells }
}

fn total(f: &Figures) -> TableCell {
    let Some(goodput) = f.goodput_mbps else { return "–".into() };
    let mean = short(goodput);
    match f.ci95_mbps {
        Some(ci95) => format!("{mean} ±{}", alike(ci95, &mean)).into(),
        None => mean.into(),
    }
}
