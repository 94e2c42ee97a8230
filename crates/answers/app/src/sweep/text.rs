//! Shows a sweep in a terminal: how each value of each axis affects the cells that have it.

use crate::sweep::shown::{ShownCell, ShownSweep, axes, picked, quantile};
use report::{Style, Table, TableCell, TableColumn};
use std::fmt::Write;

/// Number of an axis' values that are shown; if it has more, this many are picked evenly.
const MAX_VALUES: usize = 12;
/// Limit of the different errors that are shown.
const MAX_ERRORS: usize = 3;

/// Returns the sweep in lines of `width` columns: the number of cells, the table, and the errors of cells
/// that could not be run.
pub fn text(sweep: &ShownSweep, width: usize) -> String {
    format!("{}.\n\n{}{}", headline(sweep), table(sweep).text(Style::plain(width)), errors(&sweep.cells))
}

/// Returns the number of cells and, if there are any, of those that failed.
pub(crate) fn headline(sweep: &ShownSweep) -> String {
    let failed = sweep.cells.iter().filter(|c| c.error.is_some()).count();
    let failed = if failed > 0 { format!(", {failed} of them could not be run") } else { String::new() };
    format!("{} cells of {}{failed}", sweep.cells.len(), sweep.scenario)
}

/// For each value of each axis, over all cells that have it: median and quartiles of the goodput, medians of
/// the retransmitted share and of the RTT.
pub(crate) fn table(sweep: &ShownSweep) -> Table<'static> {
    let numbers = TableColumn::numbers;
    let mut table = Table::of(vec![
        TableColumn::names("value"),
        numbers("cells", "").ranked(50),
        numbers("goodput", "Mbit/s"),
        numbers("quartiles", "").ranked(60),
        numbers("resent", "%").ranked(70),
        numbers("RTT p95", "ms").ranked(80),
    ]);
    for axis in axes(sweep) {
        table.heading(&axis.name);
        for value in picked(axis.values.len(), MAX_VALUES) {
            let group = sweep.cells.iter().zip(&axis.value_of).filter(|(_, v)| **v == value);
            table.row(row(&format!("  {}", axis.values[value]), group.map(|(cell, _)| cell)));
        }
    }
    table
}

/// Returns the medians over these cells.
fn row<'a>(value: &str, cells: impl Iterator<Item = &'a ShownCell>) -> [TableCell; 6] {
    let cells: Vec<&ShownCell> = cells.collect();
    let [goodput, resent, rtt] = [0, 1, 2].map(|i| {
        let mut all: Vec<f64> = cells.iter().filter_map(|c| c.figures[i]).collect();
        all.sort_by(f64::total_cmp);
        all
    });
    let shown = |x: Option<f64>| TableCell::from(x.map_or_else(|| "–".into(), print::three_digits));
    let quartiles = quantile(&goodput, 0.25)
        .zip(quantile(&goodput, 0.75))
        .map(|(low, high)| format!("{} to {}", print::three_digits(low), print::three_digits(high)));
    let percent = quantile(&resent, 0.5).map(|x| format!("{:.2}", x * 100.0));
    [
        value.into(),
        goodput.len().to_string().into(),
        shown(quantile(&goodput, 0.5)),
        quartiles.unwrap_or_else(|| "–".into()).into(),
        percent.unwrap_or_else(|| "–".into()).into(),
        shown(quantile(&rtt, 0.5)),
    ]
}

/// Lists the different errors of cells that could not be run, the most frequent first.
pub(crate) fn errors(cells: &[ShownCell]) -> String {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in cells.iter().filter_map(|r| r.error.as_deref()) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, n)) => *n += 1,
            None => reasons.push((why, 1)),
        }
    }
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let mut lines = String::new();
    for (why, n) in reasons.iter().take(MAX_ERRORS) {
        let _ = writeln!(lines, "could not be run: {n}: {why}");
    }
    if reasons.len() > MAX_ERRORS {
        let _ = writeln!(
            lines,
            "and {} other reasons: column `error` of cells.parquet",
            reasons.len() - MAX_ERRORS
        );
    }
    lines
}
