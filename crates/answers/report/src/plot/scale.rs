//! Scales of axes: round steps, ticks with labels, and the mapping from values to px.

use crate::number::short;

/// The smallest of 1, 2, 5 × 10^k that is at least `least`; 1 if `least` is not a positive number.
pub(super) fn nice(least: f64) -> f64 {
    if !(least.is_finite() && least > 1e-12) {
        return 1.0;
    }
    let power = print::ten_to(least.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0];
    // Tolerates rounding errors: 20 / 200 gives a step of 0.1.
    steps.map(|s| s * power).into_iter().find(|s| *s >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// The scale of an axis, which maps values to px.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub from: f64,
    pub to: f64,
    /// Positions of `from` and `to`, px.
    pub low: f64,
    pub high: f64,
    step: f64,
}

impl Scale {
    /// A scale that ends at the given values, with about `wish` ticks.
    pub fn exact(from: f64, to: f64, wish: f64, (low, high): (f64, f64)) -> Scale {
        let to = if to > from { to } else { from + 1.0 };
        Scale { from, to, low, high, step: nice((to - from) / wish.max(1.0)) }
    }

    /// A scale that ends at ticks, with about `wish` of them.
    pub fn rounded(from: f64, to: f64, wish: f64, px: (f64, f64)) -> Scale {
        let mut scale = Scale::exact(from, to, wish, px);
        scale.from = (scale.from / scale.step + 1e-9).floor() * scale.step;
        scale.to = (scale.to / scale.step - 1e-9).ceil() * scale.step;
        scale
    }

    /// A scale of counts: ends and ticks are whole numbers.
    pub fn counts(to: f64, wish: f64, px: (f64, f64)) -> Scale {
        let mut scale = Scale::rounded(0.0, to, wish, px);
        scale.step = scale.step.max(1.0);
        scale.to = (scale.to / scale.step - 1e-9).ceil() * scale.step;
        scale
    }

    pub fn at(&self, value: f64) -> f64 {
        self.low + (value - self.from) / (self.to - self.from) * (self.high - self.low)
    }

    /// The ticks' values and labels.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let (first, last) = (self.from / self.step, self.to / self.step);
        let count = (last + 1e-9).floor() - (first - 1e-9).ceil();
        let values = (0..=(count.clamp(0.0, 50.0) as u32)).map(|i| (first - 1e-9).ceil() + f64::from(i));
        let decimals = (-self.step.log10()).ceil().clamp(0.0, 12.0) as usize;
        let largest = self.to.abs().max(self.from.abs());
        let label = |v: f64| match () {
            () if largest < 99_999.5 => format!("{v:.decimals$}"),
            () if v == 0.0 => "0".into(),
            () => round(v),
        };
        values.map(|i| i * self.step).map(|v| (v, label(v + 0.0))).collect()
    }
}

/// At most three digits, without trailing zeros: `20`, `2.5`, `2M`.
pub(super) fn round(x: f64) -> String {
    let text = short(x);
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: f64, to: f64, wish: f64) -> Vec<String> {
        Scale::rounded(from, to, wish, (0.0, 100.0)).ticks().into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn steps_are_round() {
        let got = [20.0 / 200.0, 0.11, 0.21, 0.51, 3.0, 1000.0, f64::NAN, 0.0].map(nice);
        assert_eq!(got, [0.1, 0.2, 0.5, 1.0, 5.0, 1000.0, 1.0, 1.0]);
    }

    #[test]
    fn ticks_are_round_and_have_the_same_decimals() {
        assert_eq!(labels(0.0, 19.3, 5.0), ["0", "5", "10", "15", "20"]);
        assert_eq!(labels(0.0, 0.1, 2.0), ["0.00", "0.05", "0.10"]);
        assert_eq!(labels(31.0, 44.0, 3.0), ["30", "35", "40", "45"]);
        assert_eq!(labels(0.0, 2_500_000.0, 3.0), ["0", "1M", "2M", "3M"]);
        assert_eq!(labels(0.0, 0.0, 2.0), ["0.0", "0.5", "1.0"]);
    }

    #[test]
    fn values_map_to_px() {
        let s = Scale::exact(0.0, 20.0, 5.0, (300.0, 100.0));
        assert_eq!(Scale::counts(2.0, 5.0, (0.0, 1.0)).ticks().len(), 3, "no halves of packets");
        assert_eq!((s.at(0.0), s.at(20.0), s.at(5.0)), (300.0, 100.0, 250.0));
    }
}
