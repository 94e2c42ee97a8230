//! Plots one quantity against another: lines and marked points on two axes, optionally with a third axis on
//! the right.

use super::chart::{AxisSide, Chart, CurveLine, Marks};
use super::drawing::{Drawing, Pen, Point};
use super::frame::{Item, Mark, Swatch};
use super::pick::MAX_SHOWN;
use super::{Look, palette::Palette};

/// The content of a plot. Axes begin at zero.
#[derive(Clone, Copy, Debug)]
pub struct XyPlot<'a> {
    pub title: &'a str,
    /// Title of the horizontal axis.
    pub x: &'a str,
    /// Title of the left axis.
    pub y: &'a str,
    /// Title of the right axis; empty without such an axis.
    pub right: &'a str,
    /// Series in the order of drawing.
    pub series: &'a [XySeries],
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XyMark {
    /// Points joined by a line.
    Line,
    /// Points joined by a dashed line.
    Dashed,
    Dot,
    Ring,
    Cross,
}

/// A series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct XySeries {
    /// Label in the legend; empty without an entry.
    pub label: String,
    /// Values on both axes; a point that is not finite interrupts the line.
    pub points: Vec<Point>,
    /// Labels of the points, in their order; may be empty.
    pub names: Vec<String>,
    pub mark: XyMark,
    /// Index of the colour; grey if `None`.
    pub color: Option<usize>,
    /// The values are on the right axis.
    pub on_right: bool,
}

impl XySeries {
    /// A series on the left axis without labels of points.
    pub fn new(mark: XyMark, color: Option<usize>, label: impl Into<String>, points: Vec<Point>) -> XySeries {
        XySeries { label: label.into(), points, names: Vec::new(), mark, color, on_right: false }
    }

    /// A line in the first colour.
    pub fn line(label: impl Into<String>, points: Vec<Point>) -> XySeries {
        XySeries::new(XyMark::Line, Some(0), label, points)
    }

    fn add_to(&self, chart: &mut Chart, colors: &Palette) {
        let color = self.color.map_or(colors.muted, |i| colors.flows[i % colors.flows.len()]);
        let side = if self.on_right { AxisSide::Right } else { AxisSide::Left };
        let (mark, pen) = match self.mark {
            XyMark::Line => (None, Pen::new(color, 1.6)),
            XyMark::Dashed => (None, Pen::dashed(color, 1.6)),
            XyMark::Dot => (Some(Mark::Dot), Pen::new(color, 4.0)),
            XyMark::Ring => (Some(Mark::Ring), Pen::new(color, 1.8)),
            XyMark::Cross => (Some(Mark::Cross), Pen::new(color, 2.0)),
        };
        if !self.label.is_empty() {
            let swatch = mark.map_or(Swatch::Line(pen), |mark| Swatch::Mark(mark, pen));
            chart.legend.push(Item::new(swatch, self.label.as_str()));
        }
        chart.names.extend(self.points.iter().copied().zip(self.names.iter().cloned()));
        let points = self.points.clone();
        match mark {
            Some(mark) => chart.marks.push(Marks { points, mark, pen, side }),
            None => chart.lines.push(CurveLine { points, pen, side }),
        }
    }
}

/// Draws the plot; `None` if no point is above zero on the horizontal axis.
pub fn xy(plot: &XyPlot<'_>, look: &Look) -> Option<Drawing> {
    let end = plot.series.iter().flat_map(|s| &s.points).map(|p| p.0).filter(|x| x.is_finite());
    let end = end.fold(0.0, f64::max);
    if end <= 0.0 {
        return None;
    }
    let (left, right) = (plot.y.to_string(), plot.right.to_string());
    let mut chart = Chart { end, across: Some(plot.x.into()), left, right, ..Chart::default() };
    plot.series.iter().for_each(|series| series.add_to(&mut chart, look.colors()));
    Some(chart.draw(plot.title, "", look))
}

/// Draws cumulative distributions (%), a line for each of at most eight groups of numbers.
pub fn distribution(
    title: &str,
    [x, y]: [&str; 2],
    groups: &[(String, Vec<f64>)],
    look: &Look,
) -> Option<Drawing> {
    let known = |values: &[f64]| values.iter().copied().filter(|v| v.is_finite()).collect::<Vec<_>>();
    let most = groups.iter().take(MAX_SHOWN).flat_map(|(_, values)| known(values)).reduce(f64::max)?;
    let line = |(i, (name, values)): (usize, &(String, Vec<f64>))| {
        let mut sorted = known(values);
        sorted.sort_by(f64::total_cmp);
        let share = |n: usize| 100.0 * n as f64 / sorted.len().max(1) as f64;
        let mut points = vec![(0.0, 0.0)];
        points.extend(sorted.iter().enumerate().flat_map(|(i, &x)| [(x, share(i)), (x, share(i + 1))]));
        points.push((most, 100.0));
        XySeries::new(XyMark::Line, Some(i), name.as_str(), points)
    };
    let series: Vec<XySeries> = groups.iter().take(MAX_SHOWN).enumerate().map(line).collect();
    xy(&XyPlot { title, x, y, right: "", series: &series }, look)
}
