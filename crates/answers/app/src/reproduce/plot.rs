//! Draws a study's plots: bars of a column, published and ours; a column against another; lines over time.

use crate::reproduce::model::{ClaimTrace, ReproducedCurve, ReproducedRow, ReproducedTable};
use crate::reproduce::text::long;
use report::plot::{BarRow, Drawing, Look, XyMark, XyPlot, XySeries, bars, xy};
use result::Clock;

/// Upper end of the vertical axis, in units of the values' 99th percentile. Values above it are clipped.
const HEADROOM: f64 = 1.1;

/// Draws the bars of one column: for each row the published number, then the measured one of each clock.
/// `None` where nothing in the column is published.
pub(crate) fn bars_of(
    table: &ReproducedTable,
    column: usize,
    clocks: &[Clock],
    look: &Look,
) -> Option<Drawing> {
    let row = |row: &ReproducedRow| {
        let cell = &row.cells[column];
        let published = Some((cell.published?, 0.0));
        let ours = cell.ours.iter().map(|value| value.as_ref().map(|v| (v.mean, v.ci95)));
        Some(BarRow { name: row.title.clone(), bars: [published].into_iter().chain(ours).collect() })
    };
    let rows: Vec<BarRow> = table.rows.iter().filter_map(row).collect();
    let series: Vec<&str> = ["published"].into_iter().chain(clocks.iter().map(|c| long(*c))).collect();
    let head = &table.columns[column];
    bars(&head.title, &head.unit, &series, &rows, look)
}

/// Draws lines over time; `None` where there are no values.
pub(crate) fn lines(title: &str, series: &[&ClaimTrace], look: &Look) -> Option<Drawing> {
    let first = series.first()?;
    let mut all: Vec<f64> = series.iter().flat_map(|s| s.values.iter().flatten().copied()).collect();
    all.sort_by(f64::total_cmp);
    let top = HEADROOM * all.get(all.len() * 99 / 100)?;
    let line = |(i, trace): (usize, &&ClaimTrace)| {
        let values = trace.values.iter().map(|v| v.map_or(f64::NAN, |v| v.min(top)));
        let points = trace.time_s.iter().copied().zip(values).collect();
        let label = format!("{} {}", long(trace.clock), trace.flow);
        XySeries::new(XyMark::Line, Some(i), label, points)
    };
    let drawn: Vec<XySeries> = series.iter().enumerate().map(line).collect();
    let y = format!("{} ({})", first.column, first.unit);
    xy(&XyPlot { title, x: "time (s)", y: &y, right: "", series: &drawn }, look)
}

/// Draws a column against another, a line for each clock, with a ring around the marked row's point. `None`
/// where nothing was measured.
pub(crate) fn curve(
    table: &ReproducedTable,
    curve: &ReproducedCurve,
    clocks: &[Clock],
    look: &Look,
) -> Option<Drawing> {
    let column = |name: &str| table.columns.iter().position(|c| c.name == name);
    let (x, y) = (column(&curve.x)?, column(&curve.y)?);
    let mut drawn = Vec::new();
    for (i, clock) in clocks.iter().enumerate() {
        let point = |row: &ReproducedRow| {
            let mean = |column: usize| Some(row.cells[column].ours.get(i)?.as_ref()?.mean);
            Some((mean(x)?, mean(y)?))
        };
        let points: Vec<(f64, f64)> = table.rows.iter().filter_map(point).collect();
        drawn.push(XySeries::new(XyMark::Line, Some(i), long(*clock), points.clone()));
        drawn.push(XySeries::new(XyMark::Dot, Some(i), "", points));
        let Some([name, words]) = &curve.mark else { continue };
        if let Some(marked) = table.rows.iter().find(|row| row.name == *name).and_then(point) {
            let mut ring = XySeries::new(XyMark::Ring, Some(i), "", vec![marked]);
            ring.names.extend((i == 0).then(|| words.clone()));
            drawn.push(ring);
        }
    }
    let named = |column: usize| table.columns[column].with_unit();
    xy(&XyPlot { title: &curve.title, x: &named(x), y: &named(y), right: "", series: &drawn }, look)
}
