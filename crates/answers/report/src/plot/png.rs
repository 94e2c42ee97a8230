//! Writes drawings as PNG.

use super::drawing::{Drawing, DrawnShape, Point};
use super::font;
use super::palette::Color;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

/// Maximum length of a side, px, so that common programs can open the picture.
const MAX_SIDE: f64 = 16_384.0;

impl Drawing {
    /// The drawing as a PNG file with `scale` pixels per px (2 for slides, 3 for print). The scale is reduced
    /// if a side would exceed 16384 pixels.
    pub fn png(&self, scale: f64) -> Vec<u8> {
        let longest = self.width.max(self.height).max(1.0);
        let scale = if scale.is_finite() { scale.clamp(0.1, MAX_SIDE / longest) } else { 1.0 };
        let side = |px: f64| ((px * scale).round() as u32).max(1);
        let mut map = Pixmap::new(side(self.width), side(self.height)).expect("sides are 1 to 16384");
        map.fill(paint_color(self.ground));
        let transform = Transform::from_scale(scale as f32, scale as f32);
        for shape in &self.shapes {
            draw(&mut map, shape, transform);
        }
        map.encode_png().expect("writing to memory does not fail")
    }
}

fn paint_color(Color([r, g, b]): Color) -> tiny_skia::Color {
    tiny_skia::Color::from_rgba8(r, g, b, 255)
}

fn draw(map: &mut Pixmap, shape: &DrawnShape, transform: Transform) {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let mut fill = |path: PathBuilder, color| {
        paint.set_color(paint_color(color));
        if let Some(path) = path.finish() {
            map.fill_path(&path, &paint, FillRule::Winding, transform, None);
        }
    };
    match shape {
        DrawnShape::Areas(outlines, color) => fill(trace(outlines, true), *color),
        DrawnShape::Text(label) => {
            let mut path = PathBuilder::new();
            font::outline(&label.text, label.size, label.start(), label.upright, &mut path);
            fill(path, label.color);
        }
        DrawnShape::Lines(runs, pen) => {
            paint.set_color(paint_color(pen.color));
            let dash = pen.dash.and_then(|[on, off]| StrokeDash::new(vec![on as f32, off as f32], 0.0));
            let stroke = Stroke {
                width: pen.width as f32,
                line_cap: LineCap::Butt,
                line_join: LineJoin::Round,
                dash,
                ..Stroke::default()
            };
            if let Some(path) = trace(runs, false).finish() {
                map.stroke_path(&path, &paint, &stroke, transform, None);
            }
        }
    }
}

fn trace(runs: &[Vec<Point>], close: bool) -> PathBuilder {
    let mut path = PathBuilder::new();
    for run in runs {
        let mut points = run.iter().map(|&(x, y)| (x as f32, y as f32));
        let Some((x, y)) = points.next() else { continue };
        path.move_to(x, y);
        points.for_each(|(x, y)| path.line_to(x, y));
        if close {
            path.close();
        }
    }
    path
}
