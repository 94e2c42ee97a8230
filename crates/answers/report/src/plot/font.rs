//! Fonts: the two embedded fonts, the width of texts, and names made visible.
//!
//! Both fonts are subsets (`assets/fonts`): Noto Sans, and the characters of Noto Sans CJK that
//! `strings.json` needs. The width of other characters depends only on their class, so that a layout is the
//! same on every machine. A PNG takes their shapes from the system's fonts, or draws a box.

use crate::width::printable;
use std::sync::OnceLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};
use unicode_width::UnicodeWidthChar;

/// Fonts by preference. A viewer of an SVG may have another one of similar width.
pub(super) const FAMILY: &str = "'Noto Sans', system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, \
                                 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif";

/// Paths of system fonts with most scripts, and the index of the font in the file.
const SYSTEM: [(&str, u32); 8] = [
    ("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", 2),
    ("/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc", 2),
    ("/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc", 2),
    ("/usr/share/fonts/truetype/wqy/wqy-microhei.ttc", 0),
    ("/System/Library/Fonts/PingFang.ttc", 0),
    ("/System/Library/Fonts/Hiragino Sans GB.ttc", 0),
    ("C:\\Windows\\Fonts\\msyh.ttc", 0),
    ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 0),
];

fn embedded() -> &'static [Face<'static>; 2] {
    static FACES: OnceLock<[Face; 2]> = OnceLock::new();
    FACES.get_or_init(|| {
        let face = |data| Face::parse(data, 0).expect("an embedded font is a font");
        [
            face(include_bytes!("../../assets/fonts/NotoSans.ttf")),
            face(include_bytes!("../../assets/fonts/NotoSansCJKsc.otf")),
        ]
    })
}

fn system() -> Option<Face<'static>> {
    static FILE: OnceLock<Option<(Vec<u8>, u32)>> = OnceLock::new();
    let read = || SYSTEM.iter().find_map(|&(path, index)| Some((std::fs::read(path).ok()?, index)));
    let (data, index) = FILE.get_or_init(read).as_ref()?;
    Face::parse(data, *index).ok()
}

fn glyph(c: char) -> Option<(&'static Face<'static>, GlyphId)> {
    embedded().iter().find_map(|face| Some((face, face.glyph_index(c)?)))
}

/// Whether the embedded fonts have a character.
#[cfg(test)]
pub(super) fn has(c: char) -> bool {
    glyph(c).is_some()
}

/// The advance width of a character, in ems.
fn advance(c: char) -> f64 {
    let known = |(face, glyph): (&Face, GlyphId)| {
        Some(f64::from(face.glyph_hor_advance(glyph)?) / f64::from(face.units_per_em()))
    };
    // An unknown character takes a full em if it is wide, else a digit's width.
    glyph(c).and_then(known).unwrap_or_else(|| [0.0, 0.6, 1.0][c.width().unwrap_or(0).min(2)])
}

/// The width of a text at a font size, both in px.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// Makes a name from a file or a capture visible: control characters, and characters that would reorder or
/// hide the text around them, become U+FFFD.
pub(super) fn visible(text: &str) -> String {
    let hides = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
    };
    printable(text).chars().map(|c| if hides(c) { '\u{fffd}' } else { c }).collect()
}

/// Makes `text` visible and cuts it to at most `room` px, with an ellipsis at the cut.
pub(super) fn clip(text: &str, size: f64, room: f64) -> String {
    // A text that fits has at most this many characters: the narrowest letters take a fifth of an em.
    // Combining marks take nothing.
    let max_chars = (room / size * 8.0).max(8.0) as usize;
    let shown = visible(&text.chars().take(max_chars + 1).collect::<String>());
    if shown.chars().count() <= max_chars && width(&shown, size) <= room {
        return shown;
    }
    let (mut clipped, mut used) = (String::new(), advance('…') * size);
    for c in shown.chars().take(max_chars) {
        used += advance(c) * size;
        if used > room {
            break;
        }
        clipped.push(c);
    }
    clipped.truncate(clipped.trim_end().len());
    clipped + "…"
}

/// Transforms a glyph's outline, in font units with y pointing up, to its place on the drawing.
struct Placed<'a> {
    to: &'a mut tiny_skia::PathBuilder,
    x: f64,
    y: f64,
    scale: f64,
    upright: bool,
}

impl Placed<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (x, y) = (f64::from(x) * self.scale, f64::from(y) * self.scale);
        let (x, y) = if self.upright { (self.x - y, self.y - x) } else { (self.x + x, self.y - y) };
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Placed<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.to.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.to.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.to.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.to.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.to.close();
    }
}

/// Adds a text's outlines to `to`; its baseline starts at `at`. `upright` text is rotated and runs upwards.
pub(super) fn outline(text: &str, size: f64, at: (f64, f64), upright: bool, to: &mut tiny_skia::PathBuilder) {
    let mut pen = 0.0;
    for c in text.chars() {
        let (x, y) = if upright { (at.0, at.1 - pen) } else { (at.0 + pen, at.1) };
        let mut draw = |face: &Face| {
            let scale = size / f64::from(face.units_per_em());
            let glyph = face.glyph_index(c)?;
            face.outline_glyph(glyph, &mut Placed { to: &mut *to, x, y, scale, upright });
            Some(())
        };
        let found = embedded().iter().find_map(&mut draw).or_else(|| draw(&system()?));
        let room = advance(c) * size;
        if found.is_none() && room > 0.0 {
            missing((x, y), size, room, upright, to);
        }
        pen += room;
    }
}

/// Draws a hollow box for a character that no font has.
fn missing(at: (f64, f64), size: f64, room: f64, upright: bool, to: &mut tiny_skia::PathBuilder) {
    let mut place = Placed { to, x: at.0, y: at.1, scale: 1.0, upright };
    let (w, h, pen) = (room as f32, size as f32 * 0.72, size as f32 * 0.07);
    let (left, right) = (w * 0.1, w * 0.9);
    // The inner rectangle has the opposite orientation, which leaves it empty.
    for corners in [
        [(left, 0.0), (right, 0.0), (right, h), (left, h)],
        [(left + pen, pen), (left + pen, h - pen), (right - pen, h - pen), (right - pen, pen)],
    ] {
        place.move_to(corners[0].0, corners[0].1);
        corners[1..].iter().for_each(|&(x, y)| place.line_to(x, y));
        place.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_fonts_have_all_characters_of_plots() {
        // strings.json has one entry per line.
        let of_plots = include_str!("../../strings.json").lines().filter(|l| l.trim().starts_with("\"plot."));
        let missing: Vec<char> = of_plots
            .flat_map(str::chars)
            .chain("→←↑↓≤≥±×·µ−…–“”Ωπéčж".chars())
            .filter(|&c| !c.is_control() && !has(c))
            .collect();
        assert!(missing.is_empty(), "run assets/fonts/subset.sh: {missing:?}");
    }

    #[test]
    fn digits_have_the_same_width() {
        let zero = width("0", 10.0);
        assert!(zero > 4.0 && ('1'..='9').all(|c| width(&c.to_string(), 10.0) == zero));
        assert!((width("10.5", 20.0) - 2.0 * width("10.5", 10.0)).abs() < 1e-9);
        assert_eq!(width("漢字", 10.0), 20.0, "full-width characters, known or not");
    }

    #[test]
    fn long_and_hostile_names_are_cut_and_made_visible() {
        let long = "name-".repeat(2000);
        let clipped = clip(&long, 12.0, 100.0);
        assert!(clipped.ends_with('…') && clipped.len() > 10 && width(&clipped, 12.0) <= 100.0);
        assert_eq!(clip("short", 12.0, 100.0), "short");
        assert_eq!(clip("a\u{202e}b\u{7}c", 12.0, 100.0), "a\u{fffd}b\u{fffd}c");
        // Combining marks take no width, but their number is limited.
        assert!(clip(&"\u{301}".repeat(10_000), 12.0, 100.0).chars().count() < 100);
    }
}
