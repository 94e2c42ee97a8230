//! A sweep for the terminal: what each value of each axis does to all cells that have it.

use crate::sweep::shown::{ShownCell, ShownSweep, axes, picked, quantile};
use report::{Style, Table, TableCell, TableColumn};
use std::fmt::Write;

/// Values of an axis that are shown; of more, as many evenly picked.
const MOST_SHOWN: usize = 12;
/// Reasons that are shown of cells that could not be run.
const MOST_ERRORS: usize = 3;

/// The sweep in lines of `width` columns: how many cells, the table, why cells could not be run.
pub fn text(sweep: &ShownSweep, width: usize) -> String {
    format!("{}.\n\n{}{}", headline(sweep), table(sweep).text(Style::plain(width)), errors(&sweep.cells))
}

/// How many cells there are, and how many failed.
pub(crate) fn headline(sweep: &ShownSweep) -> String {
    let failed = sweep.cells.iter().filter(|c| c.error.is_some()).count();
    let failed = if failed > 0 { format!(", {failed} of them could not be run") } else { String::new() };
    format!("{} cells of {}{failed}", sweep.cells.len(), sweep.scenario)
}

/// For each value of each axis, over all cells that have it: median and quartiles of the goodput, medians of what was sent
/// again and of the RTT.
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
        for value in picked(axis.values.len(), MOST_SHOWN) {
            let of = sweep.cells.iter().zip(&axis.of).filter(|(_, of)| **of == value);
            table.row(row(&format!("  {}", axis.values[value]), of.map(|(cell, _)| cell)));
        }
    }
    table
}

/// The medians of these cells.
fn row<'a>(value: &str, cells: impl Iterator<Item = &'a ShownCell>) -> [TableCell; 6] {
    let cells: Vec<&ShownCell> = cells.collect();
    let [goodput, again, rtt] = [0, 1, 2].map(|i| {
        let mut all: Vec<f64> = cells.iter().filter_map(|c| c.figures[i]).collect();
        all.sort_by(f64::total_cmp);
        all
    });
    let shown = |x: Option<f64>| TableCell::from(x.map_or_else(|| "–".into(), print::three_digits));
    let quartiles = quantile(&goodput, 0.25)
        .zip(quantile(&goodput, 0.75))
        .map(|(low, high)| format!("{} to {}", print::three_digits(low), print::three_digits(high)));
    let percent = quantile(&again, 0.5).map(|x| format!("{:.2}", x * 100.0));
    [
        value.into(),
        goodput.len().to_string().into(),
        shown(quantile(&goodput, 0.5)),
        quartiles.unwrap_or_else(|| "–".into()).into(),
        percent.unwrap_or_else(|| "–".into()).into(),
        shown(quantile(&rtt, 0.5)),
    ]
}

/// The different reasons of cells that could not be run, the most frequent first.
pub(crate) fn errors(cells: &[ShownCell]) -> String {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in cells.iter().filter_map(|r| r.error.as_deref()) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, n)) => *n += 1,
            None => reasons.push((why, 1)),
        }
    }
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let mut told = String::new();
    for (why, n) in reasons.iter().take(MOST_ERRORS) {
        let _ = writeln!(told, "could not be run: {n}: {why}");
    }
    if reasons.len() > MOST_ERRORS {
        let _ = writeln!(
            told,
            "and {} other reasons: column `error` of cells.parquet",
            reasons.len() - MOST_ERRORS
        );
    }
    told
}
