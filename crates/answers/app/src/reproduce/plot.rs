//! Plots as SVG: bars of a column, published beside ours; lines over time.

use crate::reproduce::model::{ClaimTrace, ReproducedCurve, ReproducedPlot, ReproducedTable};
use print::three_digits;
use result::Clock;
use std::fmt::Write;

/// Width, and where the plot's area begins and ends, pixels.
const WIDTH: f64 = 920.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 760.0;
/// Height of a bar and the room between rows, pixels.
const BAR: f64 = 11.0;
const GAP: f64 = 8.0;
/// The area of lines over time, pixels.
const LINES_LEFT: f64 = 60.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 250.0;
/// Published, simulator, kernel.
const COLORS: [&str; 3] = ["#888888", "#0b62c4", "#c4510b"];
/// Lines of one plot, in turn.
const LINES: [&str; 6] = ["#0b62c4", "#c4510b", "#2a8a3e", "#8a2a86", "#b08a00", "#5a5a5a"];
/// Above this the axis of lines is cut, in units of the 99th percentile.
const ROOM: f64 = 1.1;

/// The color of a clock's bars.
fn color(clock: Clock) -> &'static str {
    match clock {
        Clock::Sim => COLORS[1],
        Clock::Kernel => COLORS[2],
    }
}

/// Bars of one column: each row published, then a clock each; `None` where nothing in it is published.
pub(crate) fn bars(table: &ReproducedTable, column: usize, clocks: &[Clock]) -> Option<String> {
    let rows: Vec<_> = table.rows.iter().filter(|r| r.cells[column].published.is_some()).collect();
    let values = rows.iter().flat_map(|r| {
        let cell = &r.cells[column];
        cell.published.into_iter().chain(cell.ours.iter().flatten().map(|v| v.mean + v.ci95))
    });
    let most = values.fold(0.0, f64::max);
    if rows.is_empty() || most <= 0.0 {
        return None;
    }
    let at = |value: f64| LEFT + (RIGHT - LEFT) * (value / most).clamp(0.0, 1.0);
    let head = &table.columns[column];
    let mut svg = String::new();
    text(&mut svg, [LEFT, 16.0], "start", &format!("{} {}", head.title, head.unit));
    let mut y = 26.0;
    for row in rows {
        let cell = &row.cells[column];
        let height = BAR * (1 + clocks.len()) as f64;
        text(&mut svg, [LEFT - 8.0, y + height / 2.0 + 4.0], "end", &row.title);
        let ours =
            clocks.iter().zip(&cell.ours).map(|(c, v)| (color(*c), v.as_ref().map(|v| (v.mean, v.ci95))));
        for (fill, value) in std::iter::once((COLORS[0], cell.published.map(|p| (p, 0.0)))).chain(ours) {
            if let Some((value, ci)) = value {
                bar(&mut svg, y, fill, [at(value), at(value - ci), at(value + ci)], ci > 0.0);
                text(&mut svg, [at(value + ci) + 5.0, y + BAR - 1.5], "start", &three_digits(value));
            }
            y += BAR;
        }
        y += GAP;
    }
    legend(&mut svg, y + 8.0, true, clocks);
    Some(framed(&svg, y + 20.0))
}

fn bar(svg: &mut String, y: f64, fill: &str, [end, low, high]: [f64; 3], interval: bool) {
    let middle = y + BAR / 2.0;
    let _ = writeln!(
        svg,
        "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{fill}\"/>",
        y + 0.5,
        (end - LEFT).max(0.5),
        BAR - 1.0
    );
    if interval {
        let _ =
            writeln!(svg, "<path d=\"M{low:.1} {middle:.1}H{high:.1}\" stroke=\"#000\" stroke-width=\"1\"/>");
    }
}

fn legend(svg: &mut String, y: f64, published: bool, clocks: &[Clock]) {
    let names = clocks.iter().map(|c| (color(*c), crate::reproduce::text::long(*c)));
    let mut x = LEFT;
    for (fill, name) in published.then_some((COLORS[0], "published")).into_iter().chain(names) {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{fill}\"/>",
            y - 9.0
        );
        text(svg, [x + 14.0, y], "start", name);
        x += 110.0;
    }
}

/// Lines over time; `None` where there is none.
pub(crate) fn lines(plot: &ReproducedPlot) -> Option<String> {
    let series: Vec<&ClaimTrace> = plot.series.iter().filter(|s| !s.time_s.is_empty()).collect();
    let first = series.first()?;
    let end = series.iter().filter_map(|s| s.time_s.last().copied()).fold(0.0, f64::max);
    let mut all: Vec<f64> = series.iter().flat_map(|s| s.values.iter().flatten().copied()).collect();
    all.sort_by(f64::total_cmp);
    let most = ROOM * all.get(all.len() * 99 / 100)?;
    if end <= 0.0 || most <= 0.0 {
        return None;
    }
    let x = |t: f64| LINES_LEFT + (RIGHT - LINES_LEFT) * t / end;
    let y = |v: f64| BOTTOM - (BOTTOM - TOP) * (v / most).clamp(0.0, 1.0);
    let mut svg = String::new();
    text(&mut svg, [LINES_LEFT, 16.0], "start", &format!("{}: {}, {}", plot.title, first.column, first.unit));
    for i in 0..=4 {
        let (value, time) = (most * f64::from(i) / 4.0, end * f64::from(i) / 4.0);
        let _ = writeln!(svg, "<path d=\"M{LINES_LEFT} {:.1}H{RIGHT}\" stroke=\"#ddd\"/>", y(value));
        text(&mut svg, [LINES_LEFT - 6.0, y(value) + 4.0], "end", &three_digits(value));
        text(&mut svg, [x(time), BOTTOM + 16.0], "middle", &format!("{} s", three_digits(time)));
    }
    for (i, trace) in series.iter().enumerate() {
        let stroke = LINES[i % LINES.len()];
        let points = trace.time_s.iter().zip(&trace.values);
        let points = points.filter_map(|(t, v)| Some(format!("{:.1},{:.1}", x(*t), y((*v)?))));
        let points: Vec<String> = points.collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.3\"/>",
            points.join(" ")
        );
        let label = format!("{} {}", crate::reproduce::text::long(trace.clock), trace.flow);
        let place = TOP + 8.0 + 16.0 * i as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {:.1}h10\" stroke=\"{stroke}\" stroke-width=\"2\"/>",
            RIGHT + 6.0,
            place - 4.0
        );
        text(&mut svg, [RIGHT + 20.0, place], "start", &label);
    }
    let height = (BOTTOM + 26.0).max(TOP + 16.0 + 16.0 * series.len() as f64);
    Some(framed(&svg, height))
}

/// A column against another, a line a clock, the marked row's point ringed; `None` where nothing was measured.
pub(crate) fn curve(table: &ReproducedTable, curve: &ReproducedCurve, clocks: &[Clock]) -> Option<String> {
    let column = |name: &str| table.columns.iter().position(|c| c.name == name);
    let (cx, cy) = (column(&curve.x)?, column(&curve.y)?);
    let point = |row: &crate::reproduce::ReproducedRow, clock: usize| {
        let mean = |c: usize| row.cells[c].ours.get(clock)?.as_ref().map(|v| v.mean);
        Some([mean(cx)?, mean(cy)?])
    };
    let all = |clock| table.rows.iter().filter_map(move |row| Some((row, point(row, clock)?)));
    let most = |axis: usize| {
        let points = (0..clocks.len()).flat_map(&all).map(|(_, p)| p[axis]);
        ROOM * points.fold(0.0, f64::max)
    };
    let (most_x, most_y) = (most(0), most(1));
    if most_x <= 0.0 || most_y <= 0.0 {
        return None;
    }
    let x = |v: f64| LINES_LEFT + (RIGHT - LINES_LEFT) * v / most_x;
    let y = |v: f64| BOTTOM - (BOTTOM - TOP) * v / most_y;
    let mut svg = String::new();
    let named = |c: usize| format!("{} {}", table.columns[c].title, table.columns[c].unit);
    text(&mut svg, [LINES_LEFT, 16.0], "start", &format!("{}: {}", curve.title, named(cy)));
    text(&mut svg, [RIGHT, BOTTOM + 30.0], "end", &named(cx));
    for i in 0..=4 {
        let (across, up) = (most_x * f64::from(i) / 4.0, most_y * f64::from(i) / 4.0);
        let _ = writeln!(svg, "<path d=\"M{LINES_LEFT} {:.1}H{RIGHT}\" stroke=\"#ddd\"/>", y(up));
        text(&mut svg, [LINES_LEFT - 6.0, y(up) + 4.0], "end", &three_digits(up));
        text(&mut svg, [x(across), BOTTOM + 16.0], "middle", &three_digits(across));
    }
    for (i, clock) in clocks.iter().enumerate() {
        let points: Vec<String> = all(i).map(|(_, p)| format!("{:.1},{:.1}", x(p[0]), y(p[1]))).collect();
        let (points, stroke) = (points.join(" "), color(*clock));
        let _ = writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\"/>");
        for (row, p) in all(i) {
            let marked = curve.mark.as_ref().filter(|[name, _]| *name == row.name);
            let radius = if marked.is_some() { 7 } else { 3 };
            let fill = if marked.is_some() { "none" } else { stroke };
            let [px, py] = [x(p[0]), y(p[1])];
            let _ = writeln!(
                svg,
                "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\"/>"
            );
            if let Some([_, told]) = marked.filter(|_| i == 0) {
                text(&mut svg, [px + 10.0, py + 16.0], "start", told);
            }
        }
    }
    legend(&mut svg, BOTTOM + 30.0, false, clocks);
    Some(framed(&svg, BOTTOM + 40.0))
}

fn framed(inner: &str, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{inner}</svg>\n"
    )
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str) {
    let _ =
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(text));
}

/// A text that is text in HTML too.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
