//! Distributions: for each group of numbers the share that is no larger.

use super::Look;
use super::chart::horizontal_axis;
use super::drawing::{Anchor, Drawing, Pen, Point};
use super::frame::{Item, MARGIN, SMALL, Swatch, frame};
use super::scale::Scale;

/// Height of the area, px.
const HEIGHT: f64 = 210.0;
/// Room for the shares' labels, px.
const LABELS: f64 = 44.0;

/// Draws a line for each group of numbers, eight at most; `None` where there is none. `unit` is what the numbers are.
pub fn cdf(title: &str, unit: &str, groups: &[(String, Vec<f64>)], look: &Look) -> Option<Drawing> {
    let colors = look.colors();
    let shown = &groups[..groups.len().min(colors.flows.len())];
    let most =
        shown.iter().flat_map(|g| &g.1).copied().filter(|v| v.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return None;
    }
    let pen = |i: usize| Pen::new(colors.flows[i], 1.6);
    let mut legend: Vec<Item> =
        shown.iter().enumerate().map(|(i, g)| Item::new(Swatch::Line(pen(i)), g.0.as_str())).collect();
    legend.extend(Item::more(groups.len() - shown.len(), look));
    let (mut drawing, top) = frame(look, title, "", &legend);
    let (left, right, bottom) = (MARGIN + LABELS, drawing.width - MARGIN, top + HEIGHT);
    let x = Scale::rounded(0.0, most.max(1e-9), (right - left) / 80.0, (left, right));
    let y = Scale::exact(0.0, 100.0, 4.0, (bottom, top));
    for (value, label) in y.ticks() {
        let at = y.at(value);
        drawing.line((left, at), (right, at), Pen::new(colors.grid, 1.0));
        drawing.text(&format!("{label} %"), (left - 6.0, at + 4.0), SMALL, colors.muted, Anchor::End);
    }
    horizontal_axis(&mut drawing, &x, (top, bottom), unit, look);
    for (i, (_, values)) in shown.iter().enumerate() {
        drawing.lines(vec![steps(values, &x, &y)], pen(i));
    }
    drawing.height = bottom + 46.0;
    Some(drawing)
}

/// The stairs of one group.
fn steps(values: &[f64], x: &Scale, y: &Scale) -> Vec<Point> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let share = |n: usize| y.at(100.0 * n as f64 / sorted.len() as f64);
    let mut line = vec![(x.low, share(0))];
    for (i, value) in sorted.iter().enumerate() {
        let at = x.at(value.max(x.from));
        line.push((at, share(i)));
        line.push((at, share(i + 1)));
    }
    line.push((x.high, y.high));
    line
}
