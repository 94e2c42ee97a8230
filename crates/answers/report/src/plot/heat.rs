//! Heat maps: a number for each pair of values of two axes, in several panels with a common scale.

use super::Look;
use super::drawing::{Anchor, Drawing, rectangle};
use super::font;
use super::frame::{MARGIN, SLACK, SMALL, TEXT, frame};
use super::palette::Color;
use crate::number::short;

/// Minimum and maximum width of a panel's column, px.
const COLUMN: (f64, f64) = (14.0, 74.0);
/// Height of a row, px.
const ROW: f64 = 24.0;
/// Gap between panels, px.
const GAP: f64 = 26.0;
/// Colour steps of the legend's bar.
const STEPS: usize = 48;
/// Width of the legend's bar, px.
const BAR: f64 = 200.0;

/// The content of a heat map.
#[derive(Clone, Debug)]
pub struct HeatMap<'a> {
    /// The quantity with its unit.
    pub title: &'a str,
    /// Name and values of the columns' axis.
    pub x: (&'a str, &'a [String]),
    /// Name and values of the rows' axis; the first row is at the bottom.
    pub y: (&'a str, &'a [String]),
    /// Each panel's name and its numbers, row by row; `None` for a cell without a number.
    pub panels: Vec<(String, Vec<Option<f64>>)>,
}

/// Draws the heat map; `None` without any number.
pub fn heat(map: &HeatMap<'_>, look: &Look) -> Option<Drawing> {
    let values =
        || map.panels.iter().flat_map(|(_, v)| v.iter().copied().flatten()).filter(|v| v.is_finite());
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    let least = values().fold(f64::INFINITY, f64::min);
    values().next()?;
    let range =
        HeatRange { least: least.min(0.0), most: if most > least.min(0.0) { most } else { least + 1.0 } };
    let (mut drawing, top) = frame(look, map.title, "", &[]);
    let top = range.legend(&mut drawing, top, look);
    let labels: Vec<String> = map.y.1.iter().map(|v| font::clip(v, SMALL, 120.0)).collect();
    let left = labels.iter().map(|l| font::width(l, SMALL) * SLACK).fold(0.0, f64::max) + 8.0;
    let columns = map.x.1.len() as f64;
    let room = drawing.width - 2.0 * MARGIN;
    // As many panels side by side as fit with numbers in their cells.
    let fits = |column: f64| ((room + GAP) / (left + columns * column + GAP)).floor();
    let across = fits(44.0).max(1.0).min(map.panels.len() as f64);
    let column = ((room + GAP) / across - GAP - left) / columns;
    let column = column.clamp(COLUMN.0, COLUMN.1);
    let (width, height) = (left + columns * column, map.y.1.len() as f64 * ROW);
    drawing.width = drawing.width.max(2.0 * MARGIN + width);
    let mut y = top;
    for row in map.panels.chunks(across as usize) {
        for (i, (name, values)) in row.iter().enumerate() {
            let x = MARGIN + i as f64 * (width + GAP) + left;
            let panel = HeatPanel { map, labels: &labels, range: &range, look, at: (x, y + 20.0), column };
            drawing.text(
                &font::clip(name, TEXT, width - left),
                (x, y + 12.0),
                TEXT,
                look.colors().ink,
                Anchor::Start,
            );
            panel.draw(&mut drawing, values);
        }
        y += height + 64.0;
    }
    drawing.height = y + 4.0;
    Some(drawing)
}

/// The range of numbers that the colours represent.
struct HeatRange {
    least: f64,
    most: f64,
}

impl HeatRange {
    fn color(&self, value: f64, look: &Look) -> Color {
        let share = ((value - self.least) / (self.most - self.least)).clamp(0.0, 1.0);
        let colors = look.colors();
        // The smallest number still has some colour, unlike a missing one.
        colors.ground.toward(colors.flows[0], 0.06 + 0.94 * share)
    }

    /// Draws the legend, a bar of all colours with the numbers of its ends, and returns the y below it.
    fn legend(&self, drawing: &mut Drawing, top: f64, look: &Look) -> f64 {
        let ink = look.colors().ink;
        let (least, most) = (short(self.least), short(self.most));
        let x = MARGIN + font::width(&least, SMALL) * SLACK + 6.0;
        drawing.text(&least, (MARGIN, top + 10.0), SMALL, ink, Anchor::Start);
        let step = BAR / STEPS as f64;
        for i in 0..STEPS {
            let value = self.least + (self.most - self.least) * (i as f64 + 0.5) / STEPS as f64;
            let outline = rectangle(x + i as f64 * step, top, step + 0.3, 12.0);
            drawing.areas(vec![outline], self.color(value, look));
        }
        drawing.text(&most, (x + BAR + 6.0, top + 10.0), SMALL, ink, Anchor::Start);
        top + 26.0
    }
}

/// A panel of a heat map.
struct HeatPanel<'a> {
    map: &'a HeatMap<'a>,
    labels: &'a [String],
    range: &'a HeatRange,
    look: &'a Look,
    /// The upper left corner of the cells.
    at: (f64, f64),
    column: f64,
}

impl HeatPanel<'_> {
    fn draw(&self, drawing: &mut Drawing, values: &[Option<f64>]) {
        let colors = self.look.colors();
        let (columns, rows) = (self.map.x.1.len(), self.map.y.1.len());
        let bottom = self.at.1 + rows as f64 * ROW;
        for (row, label) in self.labels.iter().enumerate() {
            let y = bottom - (row as f64 + 1.0) * ROW;
            drawing.text(label, (self.at.0 - 6.0, y + ROW / 2.0 + 4.0), SMALL, colors.muted, Anchor::End);
            for column in 0..columns {
                let Some(value) = values.get(row * columns + column).copied().flatten() else { continue };
                let x = self.at.0 + column as f64 * self.column;
                let color = self.range.color(value, self.look);
                drawing.areas(vec![rectangle(x + 0.5, y + 0.5, self.column - 1.0, ROW - 1.0)], color);
                if let Some(text) = self.number(value) {
                    let ink =
                        if is_light(color) { Color([0x11, 0x11, 0x11]) } else { Color([0xff, 0xff, 0xff]) };
                    drawing.text(
                        &text,
                        (x + self.column / 2.0, y + ROW / 2.0 + 4.0),
                        SMALL,
                        ink,
                        Anchor::Middle,
                    );
                }
            }
        }
        self.columns(drawing, bottom);
    }

    /// A cell's number with three digits, or with two if only that fits; `None` if neither fits.
    fn number(&self, value: f64) -> Option<String> {
        let two = (0.1..1.0).contains(&value.abs()).then(|| format!("{value:.2}"));
        let fits = |text: &String| font::width(text, SMALL) * SLACK < self.column - 4.0;
        [Some(short(value)), two].into_iter().flatten().find(fits)
    }

    /// Draws the columns' values, as many as fit, and the axes' names.
    fn columns(&self, drawing: &mut Drawing, bottom: f64) {
        let muted = self.look.colors().muted;
        let widest = self.map.x.1.iter().map(|l| font::width(l, SMALL) * SLACK).fold(0.0, f64::max);
        let every = ((widest + 6.0) / self.column).ceil().max(1.0) as usize;
        for (i, label) in self.map.x.1.iter().enumerate().step_by(every) {
            let x = self.at.0 + (i as f64 + 0.5) * self.column;
            drawing.text(label, (x, bottom + 14.0), SMALL, muted, Anchor::Middle);
        }
        let names = format!("→ {}   ↑ {}", self.map.x.0, self.map.y.0);
        let room = (self.map.x.1.len() as f64 * self.column).max(180.0);
        drawing.text(
            &font::clip(&names, SMALL, room),
            (self.at.0, bottom + 30.0),
            SMALL,
            muted,
            Anchor::Start,
        );
    }
}

/// Whether black text has more contrast than white: WCAG's relative luminance is above 0.179, where both are
/// equal.
fn is_light(color: Color) -> bool {
    let linear = color.0.map(|c| {
        let c = f64::from(c) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179
}

#[cfg(test)]
mod tests {
    use super::{HeatMap, Look, heat};

    #[test]
    fn a_narrow_cell_has_two_digits_or_none() {
        let x: Vec<String> = (0..40).map(|i| i.to_string()).collect();
        let cells = |first: &[f64]| (0..40).map(|i| Some(*first.get(i).unwrap_or(&7.0))).collect();
        let panels = vec![("p".to_string(), cells(&[0.964, 0.0123, -0.5]))];
        let map = HeatMap { title: "t", x: ("x", &x), y: ("y", &["1".into()]), panels };
        let look = Look { width: 40.0 * 28.0 + 60.0, ..Look::default() };
        let svg = heat(&map, &look).expect("numbers").svg();
        assert!(svg.contains(">0.96<"), "{svg}");
        assert!(!svg.contains(">0.964<") && !svg.contains(">0.01<"), "{svg}");
    }
}
