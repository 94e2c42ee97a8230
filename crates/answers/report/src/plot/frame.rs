//! The frame of all plots: the title and the legend below it.

use super::Look;
use super::drawing::{Anchor, Drawing, Pen, Point, rectangle};
use super::font;
use super::palette::Color;

/// Margin at the sides, px.
pub(super) const MARGIN: f64 = 16.0;
/// Font sizes, px.
pub(super) const TITLE: f64 = 15.0;
pub(super) const TEXT: f64 = 12.0;
pub(super) const SMALL: f64 = 11.0;
/// Factor for text widths, because the viewer's font may be wider than the embedded one.
pub(super) const SLACK: f64 = 1.06;
/// Maximum width of a legend's label, px.
const MAX_LABEL: f64 = 260.0;
/// Height of a legend's row and width of its swatches, px.
const ROW: f64 = 19.0;
const SWATCH: f64 = 20.0;

/// The mark of a single event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A vertical stroke.
    Tick,
    Cross,
    /// A circle around the point.
    Ring,
    /// A small circle, which a wide pen fills.
    Dot,
}

impl Mark {
    /// The strokes of the mark, centred on a point.
    pub fn strokes(self, (x, y): Point) -> Vec<Vec<Point>> {
        match self {
            Mark::Tick => vec![vec![(x, y - 3.5), (x, y + 3.5)]],
            Mark::Cross => {
                let r = 3.0;
                vec![vec![(x - r, y - r), (x + r, y + r)], vec![(x - r, y + r), (x + r, y - r)]]
            }
            Mark::Ring => vec![circle((x, y), 5.5)],
            Mark::Dot => vec![circle((x, y), 1.8)],
        }
    }
}

/// A circle as a closed line.
fn circle((x, y): Point, radius: f64) -> Vec<Point> {
    const SIDES: u32 = 24;
    let angle = |i: u32| f64::from(i) / f64::from(SIDES) * std::f64::consts::TAU;
    (0..=SIDES).map(|i| (x + radius * angle(i).cos(), y + radius * angle(i).sin())).collect()
}

/// The sample in front of a legend's label.
#[derive(Clone, Copy, Debug)]
pub(super) enum Swatch {
    Line(Pen),
    Area(Color),
    Mark(Mark, Pen),
    /// No sample: the label is a remark.
    None,
}

/// One entry of a legend.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub swatch: Swatch,
    pub label: String,
}

impl Item {
    pub fn new(swatch: Swatch, label: impl Into<String>) -> Item {
        Item { swatch, label: label.into() }
    }

    /// The remark that `n` more are not shown; `None` for 0.
    pub fn more(n: usize, look: &Look) -> Option<Item> {
        (n > 0).then(|| Item::new(Swatch::None, look.fill("plot.more", &[("n", &n.to_string())])))
    }
}

/// Begins a drawing with title and legend, and returns it with the y below them.
pub(super) fn frame(look: &Look, title: &str, label: &str, legend: &[Item]) -> (Drawing, f64) {
    let colors = look.colors();
    let mut drawing = Drawing::new(look.width(), colors.ground);
    let room = drawing.width - 2.0 * MARGIN;
    let whole = if label.is_empty() { title.to_string() } else { format!("{title} — {label}") };
    drawing.title = font::clip(&whole, TITLE, room / SLACK);
    let title = drawing.title.clone();
    drawing.text(&title, (MARGIN, 26.0), TITLE, colors.ink, Anchor::Start);
    let (mut x, mut y) = (MARGIN, 26.0);
    for (i, item) in legend.iter().enumerate() {
        let is_remark = matches!(item.swatch, Swatch::None);
        let label = font::clip(&item.label, TEXT, if is_remark { room / SLACK } else { MAX_LABEL });
        let before = if is_remark { 0.0 } else { SWATCH + 6.0 };
        let width = before + font::width(&label, TEXT) * SLACK;
        if i == 0 || x + width > MARGIN + room {
            (x, y) = (MARGIN, y + if i == 0 { ROW + 3.0 } else { ROW });
        }
        swatch(&mut drawing, item.swatch, (x, y - 4.0));
        let color = if before == 0.0 { colors.muted } else { colors.ink };
        drawing.text(&label, (x + before, y), TEXT, color, Anchor::Start);
        x += width + 18.0;
    }
    (drawing, y + 16.0)
}

/// Draws a swatch; `at` is the middle of its left side.
fn swatch(drawing: &mut Drawing, swatch: Swatch, at: Point) {
    let (x, y) = at;
    match swatch {
        Swatch::Line(pen) => drawing.line((x, y), (x + SWATCH, y), pen),
        Swatch::Area(color) => drawing.areas(vec![rectangle(x + 5.0, y - 5.0, SWATCH - 7.0, 10.0)], color),
        Swatch::Mark(mark, pen) => drawing.lines(mark.strokes((x + SWATCH - 8.0, y)), pen),
        Swatch::None => {}
    }
}
