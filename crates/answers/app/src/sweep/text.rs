//! A sweep for the terminal: what each value of each axis does to all cells that have it.

use crate::sweep::shown::{ShownCell, ShownSweep, picked, quantile};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Values of an axis that are shown; of more, as many evenly picked.
const MOST_SHOWN: usize = 12;
/// Reasons that are shown of cells that could not be run.
const MOST_ERRORS: usize = 3;

/// A table: for each value of each axis, over all cells that have it, median and quartiles of the goodput, medians of
/// what was sent again and of the RTT.
pub fn text(sweep: &ShownSweep) -> String {
    let cells = &sweep.cells;
    let failed = cells.iter().filter(|r| r.error.is_some()).count();
    let mut told = format!("{} cells of {}", cells.len(), sweep.scenario);
    if failed > 0 {
        let _ = write!(told, ", {failed} of them could not be run");
    }
    told.push('\n');
    let mut lines = vec![AxisLine {
        name: String::new(),
        cells: ["cells", "goodput, Mbit/s", "quartiles", "sent again", "RTT p95, ms"].map(String::from),
    }];
    for (i, axis) in sweep.axes.iter().enumerate() {
        lines.push(AxisLine::head(&axis.name));
        let shown = picked(axis.values.len(), MOST_SHOWN);
        lines.extend(shown.map(|v| AxisLine::of(&axis.values[v], cells, |c| c.values[i] == v)));
    }
    if sweep.variants.len() > 1 {
        lines.push(AxisLine::head("variant"));
        let all = sweep.variants.iter().enumerate();
        lines.extend(all.map(|(v, name)| AxisLine::of(name, cells, |c| c.variant == v)));
    }
    told += &aligned(&lines);
    told + &errors(cells)
}

/// A line of the table.
struct AxisLine {
    name: String,
    cells: [String; 5],
}

impl AxisLine {
    fn head(name: &str) -> AxisLine {
        AxisLine { name: name.into(), cells: Default::default() }
    }

    /// Of the rows that have a value.
    fn of(value: &str, cells: &[ShownCell], has: impl Fn(&ShownCell) -> bool) -> AxisLine {
        let sorted = |i: usize| {
            let mut all: Vec<f64> = cells.iter().filter(|c| has(c)).filter_map(|c| c.figures[i]).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let [goodput, again, rtt] = [0, 1, 2].map(sorted);
        let shown = |x: Option<f64>| x.map_or_else(|| "-".into(), print::three_digits);
        let quartiles = match (quantile(&goodput, 0.25), quantile(&goodput, 0.75)) {
            (Some(a), Some(b)) => format!("{} to {}", print::three_digits(a), print::three_digits(b)),
            _ => "-".into(),
        };
        let percent = quantile(&again, 0.5).map_or_else(|| "-".into(), |x| format!("{:.2} %", x * 100.0));
        let cells = [
            goodput.len().to_string(),
            shown(quantile(&goodput, 0.5)),
            quartiles,
            percent,
            shown(quantile(&rtt, 0.5)),
        ];
        AxisLine { name: format!("  {value}"), cells }
    }
}

fn aligned(lines: &[AxisLine]) -> String {
    let name = lines.iter().map(|l| l.name.width()).max().unwrap_or(0);
    let width = |i: usize| lines.iter().map(|l| l.cells[i].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = format!("{}{}", line.name, " ".repeat(name - line.name.width()));
        for (cell, width) in line.cells.iter().zip(&widths) {
            let _ = write!(row, "  {}{cell}", " ".repeat(width - cell.width()));
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

/// The different reasons of cells that could not be run, the most frequent first.
fn errors(cells: &[ShownCell]) -> String {
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
