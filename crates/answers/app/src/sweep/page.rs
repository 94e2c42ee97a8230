//! Shows a sweep as an HTML page: heat maps over its two longest axes, a panel for each combination of the
//! others, and distributions over all cells for each value of each axis.

use crate::sweep::shown::{ShownCell, ShownSweep, SweptAxis, axes, picked, quantile};
use crate::sweep::text::{errors, headline, table};
use report::PlainPage;
use report::plot::{HeatMap, distribution, heat};
use std::collections::BTreeMap;

/// Limit of the panels of a heat map; the other combinations are in the dataset.
const MAX_PANELS: usize = 24;
/// Limit of the lines in a distribution.
const MAX_LINES: usize = 8;
/// Limit of a heat map's rows and columns; larger maps are not legible.
const MAX_SIDE: usize = 60;

/// A figure of the cells that the page shows.
struct ShownFigure {
    title: &'static str,
    unit: &'static str,
    value: fn(&ShownCell) -> Option<f64>,
}

const FIGURES: [ShownFigure; 3] = [
    ShownFigure { title: "Goodput of all flows", unit: "Mbit/s", value: |c| c.figures[0] },
    ShownFigure { title: "Retransmitted data packets", unit: "%", value: |c| Some(c.figures[1]? * 100.0) },
    ShownFigure { title: "RTT, 95th percentile", unit: "ms", value: |c| c.figures[2] },
];

/// Returns the page.
pub fn page(sweep: &ShownSweep) -> String {
    let rows = &sweep.cells;
    let mut page = PlainPage::new(&sweep.scenario, &format!("{}.", headline(sweep)));
    page.table(&table(sweep));
    let failed = errors(rows);
    if !failed.is_empty() {
        page.code(&failed);
    }
    let all = axes(sweep);
    let sides = sides(&all);
    for figure in &FIGURES {
        page.heading(figure.title);
        if let [x, y] = sides[..] {
            map(&mut page, figure, [x, y], &all, rows);
        }
        for axis in all.iter().filter(|a| a.values.len() > 1) {
            distributions(&mut page, figure, axis, rows);
        }
    }
    page.html()
}

/// Returns the two axes with most values that can still be drawn, the longest first.
fn sides(all: &[SweptAxis]) -> Vec<&SweptAxis> {
    let mut sides: Vec<&SweptAxis> =
        all.iter().filter(|a| (2..=MAX_SIDE).contains(&a.values.len())).collect();
    // The sort is stable: of axes of equal length, the first comes first.
    sides.sort_by_key(|a| std::cmp::Reverse(a.values.len()));
    sides.truncate(2);
    sides
}

/// Draws a heat map of the cells' medians, a panel for each combination of the other axes.
fn map(
    page: &mut PlainPage,
    figure: &ShownFigure,
    [x, y]: [&SweptAxis; 2],
    all: &[SweptAxis],
    rows: &[ShownCell],
) {
    let others: Vec<&SweptAxis> =
        all.iter().filter(|a| a.values.len() > 1 && !std::ptr::eq(*a, x) && !std::ptr::eq(*a, y)).collect();
    let size = x.values.len() * y.values.len();
    let mut panels: BTreeMap<Vec<usize>, Vec<Vec<f64>>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        let key = others.iter().map(|a| a.value_of[i]).collect();
        let cells = panels.entry(key).or_insert_with(|| vec![Vec::new(); size]);
        cells[y.value_of[i] * x.values.len() + x.value_of[i]].extend((figure.value)(row));
    }
    let left = panels.len().saturating_sub(MAX_PANELS);
    let named = |(key, cells): (Vec<usize>, Vec<Vec<f64>>)| {
        let parts: Vec<&str> = others.iter().zip(key).map(|(a, at)| a.values[at].as_str()).collect();
        (parts.join(", "), cells.into_iter().map(median).collect())
    };
    let title = format!("{}, {}", figure.title, figure.unit);
    let map = HeatMap {
        title: &title,
        x: (&x.name, &x.values),
        y: (&y.name, &y.values),
        panels: panels.into_iter().take(MAX_PANELS).map(named).collect(),
    };
    page.drawing(|look| heat(&map, look));
    if left > 0 {
        page.note(&format!("{left} more combinations: cells.parquet"));
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// Draws the distribution over all cells, a line for each value of an axis; of many values, some are picked
/// evenly.
fn distributions(page: &mut PlainPage, figure: &ShownFigure, axis: &SweptAxis, rows: &[ShownCell]) {
    let group = |value: usize| {
        let group = rows.iter().zip(&axis.value_of).filter(|(_, v)| **v == value);
        (axis.values[value].clone(), group.filter_map(|(row, _)| (figure.value)(row)).collect())
    };
    let groups: Vec<(String, Vec<f64>)> = picked(axis.values.len(), MAX_LINES).map(group).collect();
    let title = format!("{} over all cells, by {}", figure.title, axis.name);
    page.drawing(|look| distribution(&title, [figure.unit, "cells with no more (%)"], &groups, look));
}
