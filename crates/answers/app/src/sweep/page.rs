//! A sweep as a page: heat maps over its two longest axes, a panel for each combination of the others, and distributions
//! over all cells for each value of each axis. No script, nothing loaded.

use crate::sweep::shown::{ShownCell, ShownSweep, picked, quantile};
use report::plot::{HeatMap, Look, cdf, heat};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Panels of one heat map; the others are in the dataset.
const MOST_PANELS: usize = 24;
/// Values of an axis that lines of a distribution are drawn for.
const MOST_LINES: usize = 8;
/// A map with more columns or rows than these cannot be looked at.
const MOST_SIDE: usize = 60;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222}\
svg{max-width:100%;height:auto;display:block;margin:1rem 0}.p{color:#666}pre{overflow-x:auto}";

/// What a page shows of each cell.
struct ShownFigure {
    title: &'static str,
    unit: &'static str,
    of: fn(&ShownCell) -> Option<f64>,
}

const FIGURES: [ShownFigure; 3] = [
    ShownFigure { title: "Goodput of all flows", unit: "Mbit/s", of: |c| c.figures[0] },
    ShownFigure { title: "Data packets sent again", unit: "%", of: |c| Some(c.figures[1]? * 100.0) },
    ShownFigure { title: "RTT, 95th percentile", unit: "ms", of: |c| c.figures[2] },
];

/// The page.
pub fn page(sweep: &ShownSweep) -> String {
    let rows = &sweep.cells;
    let title = format!("{} cells of {}", rows.len(), sweep.scenario);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\"><title>{0}</title><style>{STYLE}</style></head>\n<body><h1>{0}</h1>\n",
        escaped(&title)
    );
    let all = dimensions(sweep);
    let wide: Vec<&SweptAxis> = sides(&all);
    for figure in &FIGURES {
        if let [x, y] = wide[..] {
            let (drawn, left) = map(figure, x, y, &all, rows);
            if let Some(svg) = drawn {
                html += &svg;
            }
            if left > 0 {
                let _ = writeln!(html, "<p class=\"p\">{left} more combinations: cells.parquet</p>");
            }
        }
        for axis in all.iter().filter(|a| a.values.len() > 1) {
            html += &distribution(figure, axis, rows).unwrap_or_default();
        }
    }
    let _ = write!(html, "<pre>{}</pre>\n</body></html>\n", escaped(&crate::sweep::text(sweep)));
    html
}

/// An axis, or the variants, and the value's number of each row.
struct SweptAxis {
    name: String,
    values: Vec<String>,
    of: Vec<usize>,
}

/// The grid's axes and, where there are several, the variants.
fn dimensions(sweep: &ShownSweep) -> Vec<SweptAxis> {
    let axis = |(i, axis): (usize, &crate::sweep::Axis)| {
        let of = sweep.cells.iter().map(|c| c.values[i]).collect();
        SweptAxis { name: axis.name.clone(), values: axis.values.clone(), of }
    };
    let mut all: Vec<SweptAxis> = sweep.axes.iter().enumerate().map(axis).collect();
    if sweep.variants.len() > 1 {
        let of = sweep.cells.iter().map(|c| c.variant).collect();
        all.push(SweptAxis { name: "variant".into(), values: sweep.variants.clone(), of });
    }
    all
}

/// The two axes with most values that can still be drawn, the longest across.
fn sides(all: &[SweptAxis]) -> Vec<&SweptAxis> {
    let mut sides: Vec<&SweptAxis> =
        all.iter().filter(|a| (2..=MOST_SIDE).contains(&a.values.len())).collect();
    // Stable: of equal ones the first.
    sides.sort_by_key(|a| std::cmp::Reverse(a.values.len()));
    sides.truncate(2);
    sides
}

/// A heat map of the cells' medians, and how many panels are left out.
fn map(
    figure: &ShownFigure,
    x: &SweptAxis,
    y: &SweptAxis,
    all: &[SweptAxis],
    rows: &[ShownCell],
) -> (Option<String>, usize) {
    let others: Vec<&SweptAxis> =
        all.iter().filter(|a| a.values.len() > 1 && !std::ptr::eq(*a, x) && !std::ptr::eq(*a, y)).collect();
    let size = x.values.len() * y.values.len();
    let mut panels: BTreeMap<Vec<usize>, Vec<Vec<f64>>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        let key = others.iter().map(|a| a.of[i]).collect();
        let cells = panels.entry(key).or_insert_with(|| vec![Vec::new(); size]);
        let value = (figure.of)(row);
        cells[y.of[i] * x.values.len() + x.of[i]].extend(value);
    }
    let left = panels.len().saturating_sub(MOST_PANELS);
    let named = |(key, cells): (Vec<usize>, Vec<Vec<f64>>)| {
        let parts: Vec<&str> = others.iter().zip(key).map(|(a, at)| a.values[at].as_str()).collect();
        (parts.join(", "), cells.into_iter().map(median).collect())
    };
    let title = format!("{}, {}", figure.title, figure.unit);
    let map = HeatMap {
        title: &title,
        x: (&x.name, &x.values),
        y: (&y.name, &y.values),
        panels: panels.into_iter().take(MOST_PANELS).map(named).collect(),
    };
    (heat(&map, &Look::default()).map(|d| d.svg()), left)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The distribution over all cells, a line for each value of an axis; of more values, as many evenly picked.
fn distribution(figure: &ShownFigure, axis: &SweptAxis, rows: &[ShownCell]) -> Option<String> {
    let group = |value: usize| {
        let of = rows.iter().zip(&axis.of).filter(|(_, of)| **of == value);
        let values = of.filter_map(|(row, _)| (figure.of)(row)).collect();
        (axis.values[value].clone(), values)
    };
    let groups: Vec<(String, Vec<f64>)> = picked(axis.values.len(), MOST_LINES).map(group).collect();
    let title = format!("{} over all cells, by {}", figure.title, axis.name);
    cdf(&title, figure.unit, &groups, &Look::default()).map(|d| d.svg())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
