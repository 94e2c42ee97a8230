//! Writes drawings as SVG: relative paths in tenths of a px, and text as text. No scripts and no external
//! resources.

use super::drawing::{Anchor, Drawing, DrawnShape, Point, TextLine};
use super::font::{FAMILY, visible};
use super::palette::Color;
use crate::markup::escaped;
use std::fmt::Write;

impl Drawing {
    /// The drawing as an SVG file.
    pub fn svg(&self) -> String {
        self.svg_with(self)
    }

    /// The drawing as SVG for a page, with colours that follow the page's theme; `dark` is the same drawing
    /// in the dark theme.
    pub(crate) fn svg_with(&self, dark: &Drawing) -> String {
        let (width, height) = (tenth(units(self.width)), tenth(units(self.height)));
        let title = escape(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FAMILY}\">\n\
             <title>{title}</title>\n\
             <path fill=\"{}\" d=\"M0 0h{width}v{height}H0z\"/>\n",
            paint(self.ground, dark.ground)
        );
        for (shape, dark) in self.shapes.iter().zip(&dark.shapes) {
            let color = paint(shape.color(), dark.color());
            match shape {
                DrawnShape::Lines(runs, pen) => {
                    let dash = pen
                        .dash
                        .map_or(String::new(), |[on, off]| format!(" stroke-dasharray=\"{on} {off}\""));
                    let _ = writeln!(
                        out,
                        "<path fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash} d=\"{}\"/>",
                        pen.width,
                        path(runs, "")
                    );
                }
                DrawnShape::Areas(outlines, _) => {
                    let _ = writeln!(out, "<path fill=\"{color}\" d=\"{}\"/>", path(outlines, "z"));
                }
                DrawnShape::Text(label) => text(&mut out, label, &color),
            }
        }
        out + "</svg>\n"
    }
}

fn text(out: &mut String, label: &TextLine, color: &str) {
    let (x, y) = (tenth(units(label.at.0)), tenth(units(label.at.1)));
    let anchor = match label.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let turn = if label.upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{color}\"{anchor}{turn}>{}</text>",
        label.size,
        escape(&label.text)
    );
}

/// A colour, or a pair of colours for the two themes.
fn paint(light: Color, dark: Color) -> String {
    let hex = |Color([r, g, b]): Color| format!("#{r:02x}{g:02x}{b:02x}");
    if light == dark { hex(light) } else { format!("light-dark({},{})", hex(light), hex(dark)) }
}

/// Tenths of a px.
fn units(px: f64) -> i64 {
    (px * 10.0).round() as i64
}

/// Tenths of a px in the shortest notation: `12.3`, `-.4`, `5`.
fn tenth(units: i64) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let (whole, rest) = (units.unsigned_abs() / 10, units.unsigned_abs() % 10);
    match (whole, rest) {
        (_, 0) => format!("{}{whole}", if whole == 0 { "" } else { sign }),
        (0, _) => format!("{sign}.{rest}"),
        _ => format!("{sign}{whole}.{rest}"),
    }
}

/// Path data; `end` is appended to each run. Steps are between rounded points, so that errors do not add up.
fn path(runs: &[Vec<Point>], end: &str) -> String {
    let mut data = String::new();
    for run in runs {
        let mut points = run.iter().map(|&(x, y)| (units(x), units(y)));
        let Some(mut last) = points.next() else { continue };
        let _ = write!(data, "M{} {}", tenth(last.0), tenth(last.1));
        let mut command = 'M';
        for (x, y) in points {
            let (dx, dy) = (x - last.0, y - last.1);
            last = (x, y);
            let (next, step) = match (dx, dy) {
                (0, 0) => continue,
                (_, 0) => ('h', tenth(dx)),
                (0, _) => ('v', tenth(dy)),
                _ if dy < 0 => ('l', tenth(dx) + &tenth(dy)),
                _ => ('l', tenth(dx) + " " + &tenth(dy)),
            };
            // A command stays valid until the next one; numbers are separated by a sign or a space.
            if next != command {
                data.push(next);
            } else if !step.starts_with('-') {
                data.push(' ');
            }
            data += &step;
            command = next;
        }
        data += end;
    }
    data
}

/// Escapes a text; characters that would reorder or hide text become U+FFFD.
fn escape(text: &str) -> String {
    escaped(&visible(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_short_and_do_not_drift() {
        let run = vec![(0.04, 10.0), (0.54, 9.46), (1.04, 9.46), (1.04, 20.0), (-3.0, 20.0)];
        assert_eq!(path(&[run], ""), "M0 10l.5-.5h.5v10.5h-4");
        let drift: Vec<Point> = (0..=1000).map(|i| (f64::from(i) * 0.33, 0.0)).collect();
        let sum: f64 = path(&[drift], "")[5..].split(' ').map(|s| s.parse::<f64>().unwrap()).sum();
        assert!((sum - 330.0).abs() < 0.2, "{sum}");
        assert_eq!(path(&[vec![(1.0, 1.0), (2.0, 3.0), (4.0, 5.0)]], "z"), "M1 1l1 2 2 2z");
    }

    #[test]
    fn names_with_markup_are_escaped() {
        assert_eq!(escape("</script>\"&'"), "&lt;/script&gt;&quot;&amp;&#39;");
        assert_eq!(escape("a\u{0}\u{202e}b\u{ffff}"), "a\u{fffd}\u{fffd}b\u{fffd}");
    }
}
