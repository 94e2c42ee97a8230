//! Colours: `colors.json`, which the page reads too.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Color(pub [u8; 3]);

impl TryFrom<String> for Color {
    type Error = String;

    fn try_from(text: String) -> Result<Color, String> {
        let bits =
            text.strip_prefix('#').filter(|t| t.len() == 6).and_then(|t| u32::from_str_radix(t, 16).ok());
        let bits = bits.ok_or_else(|| format!("{text} is no colour such as #0072b2"))?;
        Ok(Color([(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]))
    }
}

impl Color {
    /// `share` of the way to another colour.
    pub fn toward(self, other: Color, share: f64) -> Color {
        let mix = |i: usize| {
            let (from, to) = (f64::from(self.0[i]), f64::from(other.0[i]));
            (from + (to - from) * share).round() as u8
        };
        Color([mix(0), mix(1), mix(2)])
    }
}

/// What is drawn on, and everybody's colour.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Palette {
    pub ground: Color,
    pub ink: Color,
    pub muted: Color,
    pub grid: Color,
    pub flows: [Color; 8],
    states: BTreeMap<String, Color>,
    pub drop: Color,
    pub mark: Color,
    pub limit: Color,
}

impl Palette {
    /// A state's colour, as [`result::FlowSeries::states`] names it.
    pub fn state(&self, name: &str) -> Color {
        self.states.get(name).copied().unwrap_or(self.muted)
    }
}

#[derive(Deserialize)]
struct Themes {
    light: Palette,
    dark: Palette,
}

/// What a drawing lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Theme {
    /// White, for print.
    #[default]
    Light,
    /// Near-black, for slides.
    Dark,
}

impl Theme {
    pub(super) fn palette(self) -> &'static Palette {
        static THEMES: OnceLock<Themes> = OnceLock::new();
        let themes = THEMES.get_or_init(|| {
            serde_json::from_str(include_str!("../../colors.json"))
                .expect("colors.json is a table of colours")
        });
        match self {
            Theme::Light => &themes.light,
            Theme::Dark => &themes.dark,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG's relative luminance.
    fn luminance(color: Color) -> f64 {
        let linear = color.0.map(|c| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    fn contrast(a: Color, b: Color) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_stand_out_from_the_ground() {
        for theme in [Theme::Light, Theme::Dark] {
            let p = theme.palette();
            assert!(contrast(p.ink, p.ground) > 10.0 && contrast(p.muted, p.ground) > 4.5, "{theme:?}");
            for &color in p.flows.iter().chain([&p.drop, &p.mark, &p.limit]) {
                assert!(contrast(color, p.ground) > 2.6, "{theme:?} {color:?}");
            }
        }
    }

    #[test]
    fn both_themes_colour_the_same_states() {
        let names = |t: Theme| t.palette().states.keys().collect::<Vec<_>>();
        assert_eq!(names(Theme::Light), names(Theme::Dark));
    }

    #[test]
    fn colours_are_read_and_mixed() {
        assert_eq!(Color::try_from("#0072b2".to_string()), Ok(Color([0, 0x72, 0xb2])));
        assert!(
            Color::try_from("0072b2".to_string()).is_err() && Color::try_from("#00é2b".to_string()).is_err()
        );
        assert_eq!(Color([0, 100, 200]).toward(Color([100, 100, 0]), 0.5), Color([50, 100, 100]));
    }
}
