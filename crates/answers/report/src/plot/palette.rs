//! The colours of `colors.json`, which the page reads too.

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
        let bits = bits.ok_or_else(|| format!("{text} is not a colour such as #0072b2"))?;
        Ok(Color([(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]))
    }
}

impl Color {
    /// Mixes in a `share` (0 to 1) of another colour.
    pub fn toward(self, other: Color, share: f64) -> Color {
        let mix = |i: usize| {
            let (from, to) = (f64::from(self.0[i]), f64::from(other.0[i]));
            (from + (to - from) * share).round() as u8
        };
        Color([mix(0), mix(1), mix(2)])
    }
}

/// The colours of a theme.
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
    /// The colour of a state, by its name in [`result::FlowSeries::states`].
    pub fn state(&self, name: &str) -> Color {
        self.states.get(name).copied().unwrap_or(self.muted)
    }
}

#[derive(Deserialize)]
struct Themes {
    light: Palette,
    dark: Palette,
}

/// The background of a drawing.
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

    /// Linear RGB of an sRGB colour.
    fn linear(color: Color) -> [f64; 3] {
        color.0.map(|c| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn product(m: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        m.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
    }

    /// WCAG's relative luminance.
    fn luminance(color: Color) -> f64 {
        let [r, g, b] = linear(color);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// CIE L*a*b* (D65).
    fn lab(linear: [f64; 3]) -> [f64; 3] {
        let rgb = linear.map(|c| c.clamp(0.0, 1.0));
        let xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let [x, y, z] = product(xyz, rgb);
        let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let (x, y, z) = (f(x / 0.9505), f(y), f(z / 1.089));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Colours as seen without red or green cones: Machado, Oliveira and Fernandes, "A
    /// physiologically-based model for simulation of color vision deficiency" (2009), severity 1.
    const DEFICIENCIES: [[[f64; 3]; 3]; 2] = [
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ];

    #[test]
    fn flows_differ_for_the_colour_blind() {
        for theme in [Theme::Light, Theme::Dark] {
            let flows = theme.palette().flows;
            for (i, j) in (0..8).flat_map(|j| (0..j).map(move |i| (i, j))) {
                for eye in DEFICIENCIES {
                    let (a, b) = (lab(product(eye, linear(flows[i]))), lab(product(eye, linear(flows[j]))));
                    let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    assert!(distance > 12.0, "{theme:?}: distance of {i} and {j} is {distance}");
                }
            }
        }
    }

    fn contrast(a: Color, b: Color) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_have_enough_contrast() {
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
    fn colours_are_parsed_and_mixed() {
        assert_eq!(Color::try_from("#0072b2".to_string()), Ok(Color([0, 0x72, 0xb2])));
        assert!(
            Color::try_from("0072b2".to_string()).is_err() && Color::try_from("#00é2b".to_string()).is_err()
        );
        assert_eq!(Color([0, 100, 200]).toward(Color([100, 100, 0]), 0.5), Color([50, 100, 100]));
    }

    #[test]
    fn colours_of_causes_differ_in_both_themes() {
        for palette in [Theme::Light, Theme::Dark].map(Theme::palette) {
            let all =
                result::Cause::ALL.map(|cause| (cause.name(), palette.states[cause.name()].0.map(f64::from)));
            for (i, (a, x)) in all.iter().enumerate() {
                for (b, y) in &all[..i] {
                    let distance = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                    assert!(distance > 40.0, "distance of {a} and {b} is {distance}");
                }
            }
        }
    }
}
