//! Draws a plot of one quantity over another, mostly over time: axes, grid, lines, stacked bars, marks and
//! their labels.

use super::drawing::{Anchor, Drawing, Pen, Point, rectangle};
use super::font;
use super::frame::{Item, MARGIN, Mark, SLACK, SMALL, TEXT, frame};
use super::names::placed;
use super::palette::Color;
use super::scale::Scale;
use super::thin::thin;
use super::{Input, Look};
use std::collections::HashSet;

/// The axis to which a line or mark belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AxisSide {
    Left,
    Right,
}

/// A line of (seconds, value); a value that is not finite interrupts it.
pub(super) struct CurveLine {
    pub points: Vec<Point>,
    pub pen: Pen,
    pub side: AxisSide,
}

impl CurveLine {
    pub fn new(points: Vec<Point>, pen: Pen) -> CurveLine {
        CurveLine { points, pen, side: AxisSide::Left }
    }
}

/// Stacked bars, each series on top of the previous ones.
pub(super) struct Bars {
    /// Width of a bar, seconds.
    pub bin: f64,
    pub series: Vec<(Color, Vec<f64>)>,
}

impl Bars {
    /// The height of the highest stack.
    fn top(&self) -> f64 {
        let bins = self.series.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let stack = |i| self.series.iter().filter_map(|(_, values)| values.get(i)).sum();
        (0..bins).map(stack).fold(0.0, f64::max)
    }
}

/// Marks at (seconds, value).
pub(super) struct Marks {
    pub points: Vec<Point>,
    pub mark: Mark,
    pub pen: Pen,
    pub side: AxisSide,
}

/// The range of the left axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum LeftAxis {
    /// From zero.
    #[default]
    Amounts,
    /// Whole numbers from zero.
    Counts,
    /// May begin above zero if all values are far from it.
    Levels,
}

/// The content of a plot.
#[derive(Default)]
pub(super) struct Chart {
    /// The end of the horizontal axis, in seconds or in the unit of `across`.
    pub end: f64,
    /// Title of the horizontal axis; time if `None`.
    pub across: Option<String>,
    /// Titles of the left and right axes; an empty right title means no right axis.
    pub left: String,
    pub right: String,
    /// The range of the left axis.
    pub values: LeftAxis,
    pub lines: Vec<CurveLine>,
    pub bars: Option<Bars>,
    pub marks: Vec<Marks>,
    /// Points on the left axis with their labels.
    pub names: Vec<(Point, String)>,
    pub legend: Vec<Item>,
}

/// The end of a variant's time axis, seconds: its duration, or its last sample if that is later.
pub(super) fn end(input: &Input) -> Option<f64> {
    let flows = input.flows.iter().filter_map(|s| s.time_s.last());
    let elements = input.elements.iter().filter_map(|s| s.time_s.last());
    let last = flows.chain(elements).copied().filter(|t| t.is_finite()).fold(0.0, f64::max);
    let duration = if input.variant.duration_s.is_finite() { input.variant.duration_s } else { 0.0 };
    Some(duration.max(last)).filter(|&end| end > 0.0)
}

impl Chart {
    /// The highest finite value on one axis; bars belong to the left one.
    fn top(&self, side: AxisSide) -> f64 {
        let lines = self.lines.iter().filter(|l| l.side == side).flat_map(|l| &l.points);
        let marks = self.marks.iter().filter(|m| m.side == side).flat_map(|m| &m.points);
        let values = lines.chain(marks).map(|p| p.1).filter(|v| v.is_finite());
        let bars = self.bars.as_ref().filter(|_| side == AxisSide::Left).map_or(0.0, Bars::top);
        values.fold(bars, f64::max)
    }

    fn bottom(&self) -> f64 {
        let values = self.lines.iter().flat_map(|l| &l.points).map(|p| p.1).filter(|v| v.is_finite());
        values.fold(f64::INFINITY, f64::min)
    }

    /// Adds a dashed horizontal line with an entry in the legend. A level far above all values is only in the
    /// legend, because it would dominate the axis.
    pub fn level(&mut self, value: f64, label: String, look: &Look) {
        let pen = Pen::dashed(look.colors().limit, 1.2);
        let top = self.top(AxisSide::Left);
        if top > 0.0 && value > 4.0 * top {
            let label = look.fill("plot.beyond", &[("what", &label)]);
            self.legend.push(Item::new(super::frame::Swatch::None, label));
            return;
        }
        self.legend.push(Item::new(super::frame::Swatch::Line(pen), label));
        self.lines.push(CurveLine::new(vec![(0.0, value), (self.end, value)], pen));
    }

    pub fn draw(self, title: &str, label: &str, look: &Look) -> Drawing {
        let (mut drawing, top) = frame(look, title, label, &self.legend);
        let height = (drawing.width * 0.28).clamp(170.0, 340.0);
        let bottom = top + height;
        let high = self.top(AxisSide::Left);
        let ticks = height / 45.0;
        let y = match self.values {
            LeftAxis::Counts => Scale::counts(high, ticks, (bottom, top)),
            LeftAxis::Levels if self.bottom() > 0.6 * high => {
                Scale::rounded(self.bottom(), high, ticks, (bottom, top))
            }
            _ => Scale::rounded(0.0, high, ticks, (bottom, top)),
        };
        let right = (!self.right.is_empty())
            .then(|| Scale::rounded(0.0, self.top(AxisSide::Right), ticks, (bottom, top)));
        let room = |scale: &Scale| MARGIN + TEXT + 10.0 + widest(scale) * SLACK + 6.0;
        let sides = (room(&y), drawing.width - right.as_ref().map_or(MARGIN + 8.0, room));
        let x = match &self.across {
            None => time_axis(&mut drawing, self.end, sides, (top, bottom), look),
            Some(title) => {
                let x = Scale::rounded(0.0, self.end, (sides.1 - sides.0) / 90.0, sides);
                horizontal_axis(&mut drawing, &x, (top, bottom), title, look);
                x
            }
        };
        value_axis(&mut drawing, &y, &self.left, sides, look);
        if let Some(right) = &right {
            right_axis(&mut drawing, right, &self.right, sides.1, look);
        }
        if let Some(bars) = &self.bars {
            draw_bars(&mut drawing, bars, &x, &y);
        }
        let scale = |side| if side == AxisSide::Right { right.as_ref().unwrap_or(&y) } else { &y };
        for line in &self.lines {
            let y = scale(line.side);
            let px = line.points.iter().map(|&(t, v)| (x.at(t), y.at(v)));
            drawing.lines(thin(px), line.pen);
        }
        for marks in &self.marks {
            // Marks at the same px are drawn once.
            let mut seen = HashSet::new();
            let y = scale(marks.side);
            let px = marks.points.iter().map(|&(t, v)| (x.at(t), y.at(v)));
            let px = px.filter(|p| p.0.is_finite() && p.1.is_finite());
            let once = px.filter(|p| seen.insert((p.0.round() as i64, p.1.round() as i64)));
            drawing.lines(once.flat_map(|p| marks.mark.strokes(p)).collect(), marks.pen);
        }
        let px = |&(t, v): &Point| (x.at(t), y.at(v));
        let named: Vec<(Point, String)> =
            self.names.iter().map(|(at, name)| (px(at), name.clone())).collect();
        let marked: Vec<Point> = self.marks.iter().flat_map(|m| &m.points).map(px).collect();
        for (at, (_, name)) in placed(&named, &marked, sides, (top, bottom)).into_iter().zip(&named) {
            drawing.text(name, (at.0, at.1 + 4.0), SMALL, look.colors().ink, Anchor::Middle);
        }
        drawing.height = bottom + 46.0;
        drawing
    }
}

/// The width of the widest tick label, px.
pub(super) fn widest(scale: &Scale) -> f64 {
    scale.ticks().iter().map(|(_, label)| font::width(label, SMALL)).fold(0.0, f64::max)
}

/// Draws the time axis with its grid, and returns its scale from seconds to px.
pub(super) fn time_axis(
    drawing: &mut Drawing,
    end: f64,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
    look: &Look,
) -> Scale {
    let x = Scale::exact(0.0, end, (right - left) / 90.0, (left, right));
    horizontal_axis(drawing, &x, (top, bottom), look.text("plot.axis.time"), look);
    x
}

/// Draws the ticks of a horizontal axis, the vertical grid lines and the title.
pub(super) fn horizontal_axis(
    drawing: &mut Drawing,
    x: &Scale,
    (top, bottom): (f64, f64),
    title: &str,
    look: &Look,
) {
    let colors = look.colors();
    let grid = x.ticks().into_iter().map(|(v, _)| vec![(crisp(x.at(v)), top), (crisp(x.at(v)), bottom)]);
    drawing.lines(grid.collect(), Pen::new(colors.grid, 1.0));
    drawing.line((x.low, crisp(bottom)), (x.high, crisp(bottom)), Pen::new(colors.muted, 1.0));
    for (value, label) in x.ticks() {
        drawing.text(&label, (x.at(value), bottom + 16.0), SMALL, colors.muted, Anchor::Middle);
    }
    let middle = ((x.low + x.high) / 2.0, bottom + 35.0);
    drawing.text(title, middle, TEXT, colors.ink, Anchor::Middle);
}

/// Draws the ticks of the left axis, the horizontal grid lines and the title.
pub(super) fn value_axis(
    drawing: &mut Drawing,
    y: &Scale,
    title: &str,
    (left, right): (f64, f64),
    look: &Look,
) {
    let colors = look.colors();
    // The lowest grid line would coincide with the time axis.
    let levels = y.ticks().into_iter().skip(1).map(|(v, _)| crisp(y.at(v)));
    drawing.lines(levels.map(|v| vec![(left, v), (right, v)]).collect(), Pen::new(colors.grid, 1.0));
    for (value, label) in y.ticks() {
        drawing.text(&label, (left - 7.0, y.at(value) + 4.0), SMALL, colors.muted, Anchor::End);
    }
    drawing.upright(title, (MARGIN + TEXT - 3.0, (y.low + y.high) / 2.0), TEXT, colors.ink);
}

pub(super) fn right_axis(drawing: &mut Drawing, y: &Scale, title: &str, right: f64, look: &Look) {
    let colors = look.colors();
    for (value, label) in y.ticks() {
        drawing.text(&label, (right + 7.0, y.at(value) + 4.0), SMALL, colors.muted, Anchor::Start);
    }
    drawing.upright(title, (drawing.width - MARGIN, (y.low + y.high) / 2.0), TEXT, colors.ink);
}

fn draw_bars(drawing: &mut Drawing, bars: &Bars, x: &Scale, y: &Scale) {
    let width = x.at(bars.bin) - x.at(0.0);
    // Wide bars have a gap between them.
    let shown = if width > 3.0 { width - 1.0 } else { width };
    let mut base: Vec<f64> = Vec::new();
    for (color, values) in &bars.series {
        base.resize(base.len().max(values.len()), 0.0);
        let mut outlines = Vec::new();
        for (i, (&value, base)) in values.iter().zip(&mut base).enumerate().filter(|(_, (v, _))| **v > 0.0) {
            let (high, low) = (y.at(*base + value), y.at(*base));
            outlines.push(rectangle(x.at(i as f64 * bars.bin), high, shown, low - high));
            *base += value;
        }
        drawing.areas(outlines, *color);
    }
}

/// The middle of a px, at which a line of 1 px is sharp.
pub(super) fn crisp(px: f64) -> f64 {
    px.floor() + 0.5
}
