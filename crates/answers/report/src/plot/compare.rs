//! The comparison of variants: a bar of goodput and a range of round-trip times for each.

use super::bars::Bar;
use super::chart::horizontal_axis;
use super::drawing::{Anchor, Drawing, Pen, Point, rectangle};
use super::font;
use super::frame::{Item, MARGIN, SLACK, SMALL, Swatch, TEXT, frame};
use super::scale::Scale;
use super::{Input, Look};
use crate::figures::{Row, rows_of};
use crate::number::millis;

/// Distance of rows and height of a bar, px.
const ROW: f64 = 27.0;
const BAR: f64 = 15.0;
/// Space for the numbers to the right of bars and ranges, px.
const VALUE: f64 = 84.0;
/// Below this width the panels are stacked, px.
const STACK_BELOW: f64 = 640.0;
/// Rows of a drawing; more would be unreadable.
const MAX_ROWS: usize = 200;

/// Draws the variants' goodputs and round-trip times, a row each; flows measured one at a time have a row
/// each. `None` without variants.
pub fn compare(inputs: &[Input], look: &Look) -> Option<Drawing> {
    let all: Vec<(String, Row)> = inputs.iter().flat_map(named_rows).collect();
    let rows = &all[..all.len().min(MAX_ROWS)];
    if rows.is_empty() {
        return None;
    }
    let (mut drawing, top) = frame(look, look.text("plot.compare"), "", &legend(rows, all.len(), look));
    let names: Vec<String> = rows.iter().map(|(n, _)| font::clip(n, TEXT, drawing.width * 0.28)).collect();
    let left = MARGIN + 10.0 + names.iter().map(|n| font::width(n, TEXT)).fold(0.0, f64::max) * SLACK;
    let right = drawing.width - MARGIN;
    let height = ROW * rows.len() as f64 + 4.0;
    let any_rtt = rows.iter().any(|(_, r)| range(r).is_some());
    let stacked = drawing.width < STACK_BELOW;
    // Round-trip times are next to goodput, or below it in a narrow drawing.
    let middle = if any_rtt && !stacked { left + (right - left) * 0.56 } else { right };
    draw_names(&mut drawing, &names, (left, top), look);
    let bars = axis(rows, |r| Some(most(r)), (left, middle - VALUE));
    horizontal_axis(&mut drawing, &bars, (top, top + height), look.text("plot.axis.mbps"), look);
    for (y, (_, row)) in middles(top).zip(rows) {
        let limit = row.limit().map(|limit| (limit, ROW));
        let ci = row.interval().map_or(0.0, |e| e.ci95);
        // The line of a limit is as high as a row, so that equal limits form a continuous line.
        let bar = Bar { value: row.goodput(), ci, height: BAR, color: look.colors().flows[0], limit };
        bar.draw(&mut drawing, &bars, y, look);
    }
    let mut bottom = top + height + 46.0;
    if any_rtt {
        let (left, top) = if stacked { (left, bottom + 6.0) } else { (middle, top) };
        if stacked {
            draw_names(&mut drawing, &names, (left, top), look);
            bottom = top + height + 46.0;
        }
        let ranges = axis(rows, |r| range(r).map(|r| r.1), (left, right - VALUE));
        let title = look.text("plot.axis.rtt-range");
        horizontal_axis(&mut drawing, &ranges, (top, top + height), title, look);
        for (y, range) in middles(top).zip(rows).filter_map(|(y, (_, row))| Some((y, range(row)?))) {
            whisker(&mut drawing, range, &ranges, y, look);
        }
    }
    drawing.height = bottom;
    Some(drawing)
}

/// The vertical centres of the rows, px.
fn middles(top: f64) -> impl Iterator<Item = f64> {
    (0..).map(move |i| top + ROW * (f64::from(i) + 0.5) + 2.0)
}

/// Draws the names to the left of `left`.
fn draw_names(drawing: &mut Drawing, names: &[String], (left, top): Point, look: &Look) {
    for (y, name) in middles(top).zip(names) {
        drawing.text(name, (left - 10.0, y + 4.0), TEXT, look.colors().ink, Anchor::End);
    }
}

fn named_rows<'a>(input: &Input<'a>) -> Vec<(String, Row<'a>)> {
    let name = |row: &Row| match row.flow {
        Some(flow) => format!("{} · {}", input.label, flow.name),
        None => input.label.to_string(),
    };
    rows_of(input.variant).into_iter().map(|row| (name(&row), row)).collect()
}

fn legend(rows: &[(String, Row)], all: usize, look: &Look) -> Vec<Item> {
    let limit = rows.iter().any(|(_, r)| r.limit().is_some());
    let limit = limit.then(|| {
        Item::new(Swatch::Line(Pen::dashed(look.colors().limit, 1.2)), look.text("plot.limit-line"))
    });
    let interval = rows.iter().any(|(_, r)| r.interval().is_some());
    let interval = interval
        .then(|| Item::new(Swatch::Line(Pen::new(look.colors().ink, 1.3)), look.text("plot.interval")));
    limit.into_iter().chain(interval).chain(Item::more(all - rows.len(), look)).collect()
}

/// Median and 95th percentile of the round-trip times, ms.
fn range(row: &Row) -> Option<(f64, f64)> {
    let figures = row.figures();
    figures.rtt_p50_ms.zip(figures.rtt_p95_ms)
}

/// The largest value of a row's bar, interval or limit.
fn most(row: &Row) -> f64 {
    let interval = row.interval().map_or(0.0, |e| e.ci95);
    (row.goodput() + interval).max(row.limit().unwrap_or(0.0))
}

fn axis(rows: &[(String, Row)], value: impl Fn(&Row) -> Option<f64>, px: (f64, f64)) -> Scale {
    let values = rows.iter().filter_map(|(_, r)| value(r)).filter(|v| v.is_finite());
    Scale::exact(0.0, values.fold(0.0, f64::max), (px.1 - px.0) / 70.0, px)
}

/// Draws the median as a dot and a line to the 95th percentile.
fn whisker(drawing: &mut Drawing, (p50, p95): (f64, f64), x: &Scale, y: f64, look: &Look) {
    let colors = look.colors();
    let (from, to) = (x.at(p50), x.at(p95));
    drawing.line((from, y), (to.max(from + 1.0), y), Pen::new(colors.flows[2], 3.0));
    let end = vec![vec![(to, y - 5.0), (to, y + 5.0)]];
    drawing.lines(end, Pen::new(colors.flows[2], 1.5));
    drawing.areas(vec![rectangle(from - 3.5, y - 3.5, 7.0, 7.0)], colors.flows[2]);
    let (low, high) = (millis(p50), millis(p95));
    let value = if low == high { low } else { format!("{low} – {high}") };
    drawing.text(&value, (to + 9.0, y + 4.0), SMALL, colors.ink, Anchor::Start);
}
