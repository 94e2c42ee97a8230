//! Horizontal bars: for each row one bar per series, optionally with a 95 % interval.

use super::Look;
use super::chart::{crisp, horizontal_axis};
use super::drawing::{Anchor, Drawing, Pen, rectangle};
use super::font;
use super::frame::{Item, MARGIN, SLACK, SMALL, Swatch, TEXT, frame};
use super::palette::Color;
use super::scale::Scale;
use crate::number::{short, with_interval};

/// Height of a bar, distance of bars within a row, and gap between rows, px.
const BAR: f64 = 11.0;
const STEP: f64 = 13.0;
const GAP: f64 = 9.0;
/// Space for the numbers to the right of bars, px.
const VALUE: f64 = 110.0;

/// A row of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct BarRow {
    /// Label to the left of the bars.
    pub name: String,
    /// For each series the value and half the width of its 95 % interval, or 0; `None` if unknown.
    pub bars: Vec<Option<(f64, f64)>>,
}

/// Draws the rows, the first series in grey; `None` if no value is above zero.
pub fn bars(title: &str, unit: &str, series: &[&str], rows: &[BarRow], look: &Look) -> Option<Drawing> {
    let most = rows.iter().flat_map(|r| r.bars.iter().flatten()).map(|(value, ci)| value + ci);
    let most = most.filter(|v| v.is_finite()).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let colors = look.colors();
    let color = |i: usize| if i == 0 { colors.muted } else { colors.flows[(i - 1) % colors.flows.len()] };
    let legend = series.iter().enumerate().map(|(i, name)| Item::new(Swatch::Area(color(i)), *name));
    let (mut drawing, top) = frame(look, title, "", &legend.collect::<Vec<_>>());
    let names: Vec<String> = rows.iter().map(|r| font::clip(&r.name, TEXT, drawing.width * 0.3)).collect();
    let left = MARGIN + 10.0 + names.iter().map(|n| font::width(n, TEXT)).fold(0.0, f64::max) * SLACK;
    let height = rows.iter().map(|r| STEP * r.bars.len() as f64 + GAP).sum::<f64>();
    let x = Scale::exact(0.0, most, 6.0, (left, drawing.width - MARGIN - VALUE));
    horizontal_axis(&mut drawing, &x, (top, top + height), unit, look);
    let mut y = top + GAP / 2.0;
    for (row, name) in rows.iter().zip(&names) {
        let middle = y + STEP * row.bars.len() as f64 / 2.0;
        drawing.text(name, (left - 10.0, middle + 4.0), TEXT, colors.ink, Anchor::End);
        for (i, value) in row.bars.iter().enumerate() {
            if let Some((value, ci)) = *value {
                Bar { value, ci, height: BAR, color: color(i), limit: None }.draw(
                    &mut drawing,
                    &x,
                    y + STEP / 2.0,
                    look,
                );
            }
            y += STEP;
        }
        y += GAP;
    }
    drawing.height = top + height + 46.0;
    Some(drawing)
}

/// A bar with its interval and its value as a number.
pub(super) struct Bar {
    pub value: f64,
    /// Half the width of the 95 % interval, or 0.
    pub ci: f64,
    pub height: f64,
    pub color: Color,
    /// The limit of the value, and the height of the line that shows it, px.
    pub limit: Option<(f64, f64)>,
}

impl Bar {
    /// Draws the bar, vertically centred on `y`.
    pub fn draw(&self, drawing: &mut Drawing, x: &Scale, y: f64, look: &Look) {
        let colors = look.colors();
        let Bar { value, ci, height, .. } = *self;
        if !value.is_finite() {
            return;
        }
        let end = x.at(value);
        drawing.areas(vec![rectangle(x.low, y - height / 2.0, (end - x.low).max(0.5), height)], self.color);
        let mut number = short(value);
        let mut reach = end;
        if ci > 0.0 {
            let (low, high) = (x.at((value - ci).max(0.0)), x.at(value + ci));
            let cap = |px: f64| vec![(px, y - 4.0), (px, y + 4.0)];
            drawing.lines(vec![vec![(low, y), (high, y)], cap(low), cap(high)], Pen::new(colors.ink, 1.3));
            number = with_interval(value, ci).join(" ± ");
            reach = high;
        }
        if let Some((limit, line)) = self.limit {
            let px = crisp(x.at(limit));
            drawing.line((px, y - line / 2.0), (px, y + line / 2.0), Pen::dashed(colors.limit, 1.2));
            // The number does not overlap the limit's line.
            let width = font::width(&number, SMALL) * SLACK;
            if reach + 6.0 < px + 4.0 && reach + 6.0 + width > px - 4.0 {
                reach = px;
            }
        }
        drawing.text(&number, (reach + 6.0, y + 4.0), SMALL, colors.ink, Anchor::Start);
    }
}
