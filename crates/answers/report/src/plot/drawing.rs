//! A drawing: lines, areas and text in px, with y pointing down. `svg` and `png` write it to files.

use super::font;
use super::palette::Color;

/// A point (x, y) in px.
pub(super) type Point = (f64, f64);

/// Colour, width and dashes of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub color: Color,
    pub width: f64,
    /// Lengths of a dash and of the gap after it.
    pub dash: Option<[f64; 2]>,
}

impl Pen {
    pub fn new(color: Color, width: f64) -> Pen {
        Pen { color, width, dash: None }
    }

    pub fn dashed(color: Color, width: f64) -> Pen {
        Pen { color, width, dash: Some([5.0, 3.5]) }
    }
}

/// The part of a text that is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextLine {
    pub text: String,
    /// The position of the anchor on the baseline.
    pub at: Point,
    pub size: f64,
    pub color: Color,
    pub anchor: Anchor,
    /// The text is rotated and runs upwards.
    pub upright: bool,
}

/// A shape of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DrawnShape {
    /// Polylines drawn with the same pen.
    Lines(Vec<Vec<Point>>, Pen),
    /// Polygons filled with the same colour.
    Areas(Vec<Vec<Point>>, Color),
    Text(TextLine),
}

impl DrawnShape {
    pub fn color(&self) -> Color {
        match self {
            DrawnShape::Lines(_, pen) => pen.color,
            DrawnShape::Areas(_, color) => *color,
            DrawnShape::Text(line) => line.color,
        }
    }
}

/// A finished plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) ground: Color,
    /// Title for screen readers.
    pub(super) title: String,
    pub(super) shapes: Vec<DrawnShape>,
}

impl Drawing {
    pub(super) fn new(width: f64, ground: Color) -> Drawing {
        Drawing { width, height: 0.0, ground, title: String::new(), shapes: Vec::new() }
    }

    /// Width and height of the SVG, and of a PNG with scale 1, px.
    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    pub(super) fn line(&mut self, from: Point, to: Point, pen: Pen) {
        self.lines(vec![vec![from, to]], pen);
    }

    pub(super) fn lines(&mut self, runs: Vec<Vec<Point>>, pen: Pen) {
        if !runs.is_empty() {
            self.shapes.push(DrawnShape::Lines(runs, pen));
        }
    }

    pub(super) fn areas(&mut self, outlines: Vec<Vec<Point>>, color: Color) {
        if !outlines.is_empty() {
            self.shapes.push(DrawnShape::Areas(outlines, color));
        }
    }

    /// Adds a text; texts from files must have been made visible before.
    pub(super) fn text(&mut self, text: &str, at: Point, size: f64, color: Color, anchor: Anchor) {
        self.shapes.push(DrawnShape::Text(TextLine {
            text: text.into(),
            at,
            size,
            color,
            anchor,
            upright: false,
        }));
    }

    /// Adds a rotated text that runs upwards, centred on `at`.
    pub(super) fn upright(&mut self, text: &str, at: Point, size: f64, color: Color) {
        let label = TextLine { text: text.into(), at, size, color, anchor: Anchor::Middle, upright: true };
        self.shapes.push(DrawnShape::Text(label));
    }
}

impl TextLine {
    /// The start of the baseline by the embedded fonts' widths.
    pub fn start(&self) -> Point {
        let share = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        };
        let back = share * font::width(&self.text, self.size);
        if self.upright { (self.at.0, self.at.1 + back) } else { (self.at.0 - back, self.at.1) }
    }
}

/// The corners of a rectangle.
pub(super) fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Vec<Point> {
    vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
}
