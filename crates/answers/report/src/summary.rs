//! The table of variants: a row for each variant, or for each flow if flows were measured one at a time;
//! below a variant its groups of flows, if they are requested or there are many flows.

use crate::figures::{Figures, GroupBy, Row, groups, rows};
use crate::number::{count, millis, percent, range, short, with_interval};
use crate::style::{Grouping, Style, Tone, tone_of_share};
use crate::table::{TableCell, TableColumn, render};
use crate::width::printable;
use result::{Run, VariantResult};

/// The data of a row.
struct SummaryLine<'a> {
    variant: &'a VariantResult,
    /// The name of the flow or the group.
    part: Option<String>,
    figures: Figures,
}

/// The grouping of a variant's flows.
pub(crate) fn grouped(variant: &VariantResult, grouping: Grouping) -> Option<GroupBy> {
    match grouping {
        Grouping::Unasked => GroupBy::automatic(variant),
        Grouping::None => None,
        Grouping::By(by) => Some(by).filter(|_| !variant.one_at_a_time),
    }
}

/// The name of a group: the number of its flows and what they have in common.
pub(crate) fn group_name(flows: usize, name: &str) -> String {
    format!("{flows} {}", printable(name))
}

fn lines(run: &Run, grouping: Grouping) -> Vec<SummaryLine<'_>> {
    let flow_name = |row: Row<'_>| row.flow.map(|f| printable(&f.name));
    let mut lines = Vec::new();
    for row in rows(run) {
        let (variant, figures) = (row.variant, row.figures());
        let parts = grouped(variant, grouping).map(|by| groups(variant, by)).unwrap_or_default();
        let all = (!parts.is_empty()).then(|| "all".to_string());
        lines.push(SummaryLine { variant, figures, part: flow_name(row).or(all) });
        lines.extend(parts.into_iter().map(|g| SummaryLine {
            variant,
            part: Some(group_name(g.members.len(), &g.name)),
            figures: g.figures,
        }));
    }
    lines
}

/// The table; its last lines explain ±, if there is one.
pub(crate) fn table(run: &Run, style: Style) -> String {
    let lines = lines(run, style.grouping);
    let mut columns = vec![names(&lines)];
    let mut add = |head, rank, cell: &dyn Fn(&SummaryLine) -> Option<TableCell>| {
        let cells: Vec<Option<TableCell>> = lines.iter().map(cell).collect();
        // A column without any known value is left out.
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|c| c.unwrap_or_else(|| "–".into())).collect();
            columns.push(TableColumn { head, text: rank == 0, rank, cells, ..TableColumn::default() });
        }
    };
    let alone = lines.iter().any(|l| l.variant.one_at_a_time);
    let part = if alone { "flow" } else { "flows" };
    add([part, ""], 0, &|l| l.part.clone().map(TableCell::from));
    let mut figure = |head, rank, cell: &dyn Fn(&Figures) -> Option<TableCell>| {
        add(head, rank, &|l| cell(&l.figures));
    };
    rates(&mut figure);
    times(&mut figure);
    losses(&mut figure);
    let mut text = render(columns, style);
    for note in repeats(run) {
        text += &(style.paint(Tone::Dim, &note) + "\n");
    }
    text
}

/// Adds a column: takes its head, its rank and its cell for each row.
type AddFigure<'a> = dyn FnMut([&'static str; 2], u8, &dyn Fn(&Figures) -> Option<TableCell>) + 'a;

fn rates(add: &mut AddFigure) {
    add(["total", "Mbit/s"], 255, &|f| Some(total(f)));
    add(["TCP", "Mbit/s"], 92, &|f| f.tcp_mbps.map(|x| short(x).into()));
    add(["UDP", "Mbit/s"], 91, &|f| f.udp_mbps.map(|x| short(x).into()));
    add(["of", "limit"], 90, &|f| {
        f.share.map(|s| TableCell { text: format!("{:.0}%", s * 100.0), tone: tone_of_share(s) })
    });
    let several = |f: &Figures| f.each_mbps.filter(|_| f.flows > 1);
    add(["per flow", "Mbit/s"], 40, &|f| several(f).map(|[least, most]| range(least, most).into()));
    add(["Jain", ""], 50, &|f| f.jain_index.map(|jain| format!("{jain:.3}").into()));
}

fn times(add: &mut AddFigure) {
    let seconds = |p50: Option<f64>, p95: Option<f64>| -> Option<TableCell> {
        Some(format!("{}/{}", short(p50?), short(p95?)).into())
    };
    add(["page s", "p50/p95"], 88, &|f| seconds(f.page_p50_s, f.page_p95_s));
    add(["resp. s", "p50/p95"], 87, &|f| seconds(f.response_p50_s, f.response_p95_s));
    add(["done s", "p50/p95"], 86, &|f| seconds(f.completion_p50_s, f.completion_p95_s));
    add(["not", "done"], 85, &|f| {
        (f.unfinished > 0).then(|| TableCell { text: count(f.unfinished), tone: Tone::Bad })
    });
    add(["MOS", ""], 89, &|f| {
        f.mos.map(|mos| TableCell { text: format!("{mos:.1}"), tone: tone_of_mos(mos) })
    });
}

fn losses(add: &mut AddFigure) {
    add(["lost", "%"], 60, &|f| f.lost.map(|s| percent(s).into()));
    add(["resent", ""], 70, &|f| Some(count(f.resent).into()));
    add(["RTO", ""], 65, &|f| {
        let tone = if f.timeouts > 0 { Tone::Fair } else { Tone::Plain };
        Some(TableCell { text: count(f.timeouts), tone })
    });
    add(["RTT ms", "p50/p95"], 80, &|f| {
        Some(format!("{}/{}", millis(f.rtt_p50_ms?), millis(f.rtt_p95_ms?)).into())
    });
    add(["delay ms", "p50/p95"], 82, &|f| {
        Some(format!("{}/{}", millis(f.delay_p50_ms?), millis(f.delay_p95_ms?)).into())
    });
    add(["ping ms", "p50/p95"], 81, &|f| {
        Some(format!("{}/{}", millis(f.probe_p50_ms?), millis(f.probe_p95_ms?)).into())
    });
    add(["jitter", "ms"], 75, &|f| f.jitter_ms.map(|ms| millis(ms).into()));
    add(["UDP", "lost %"], 76, &|f| f.datagrams_lost.map(|s| percent(s).into()));
    add(["drops", ""], 20, &|f| f.dropped.map(|n| count(n).into()));
    add(["max", "queue"], 30, &|f| f.max_queue.map(|n| count(n).into()));
}

/// The tone of a MOS by ITU-T G.107 table B.1: users are satisfied from 4.03, and many are dissatisfied below
/// 3.6.
fn tone_of_mos(mos: f64) -> Tone {
    match mos {
        m if m >= 4.03 => Tone::Good,
        m if m >= 3.6 => Tone::Fair,
        _ => Tone::Bad,
    }
}

/// Notes on repeats: what ± means, and which variants have identical runs.
fn repeats(run: &Run) -> Vec<String> {
    let variants = |identical| {
        let is_one = move |v: &&VariantResult| v.repeats.as_ref().is_some_and(|r| r.identical == identical);
        run.variants.iter().filter(is_one)
    };
    let n = |v: &VariantResult| v.repeats.as_ref().map_or(0, |r| r.n);
    let mut notes = Vec::new();
    if let Some(v) = variants(false).next() {
        notes.push(format!("means of {} repeats, ± the 95 % interval", n(v)));
    }
    if let Some(v) = variants(true).next() {
        // If other variants' runs differ, the identical ones are named.
        let names: Vec<String> = variants(true).map(|v| printable(&v.name)).collect();
        let which = if notes.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        notes.push(format!("{} identical runs, as nothing in them is random{which}", n(v)));
    }
    notes
}

/// The column of variants' names; a name is printed once for all its flows and groups.
fn names(lines: &[SummaryLine]) -> TableColumn<'static> {
    let mut last: Option<&VariantResult> = None;
    let mut cells = Vec::new();
    for line in lines {
        let seen = last.is_some_and(|v| std::ptr::eq(v, line.variant));
        cells.push(if seen { TableCell::default() } else { printable(&line.variant.name).into() });
        last = Some(line.variant);
    }
    TableColumn { cells, ..TableColumn::names("variant") }
}

fn total(f: &Figures) -> TableCell {
    let Some(goodput) = f.goodput_mbps else { return "–".into() };
    match f.ci95_mbps {
        Some(ci95) => with_interval(goodput, ci95).join(" ±").into(),
        None => short(goodput).into(),
    }
}
