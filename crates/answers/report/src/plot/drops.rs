//! The plot of drops and marks per bin.

use super::chart::{Bars, Chart, LeftAxis, end};
use super::drawing::Drawing;
use super::frame::{Item, Swatch};
use super::palette::Color;
use super::scale::round;
use super::throughput::{bin, bins};
use super::{Input, Look, pick};
use result::ElementSeries;

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    let colors = look.colors();
    let last = |counts: &[u64]| counts.last().copied().unwrap_or(0);
    let weight = |e: &ElementSeries| (last(&e.dropped) + last(&e.marked)) as f64;
    let (picked, rest) = pick::elements(input, colors, weight);
    if picked.is_empty() {
        return None;
    }
    let width = bin(end, input.elements.iter().map(|e| &e.time_s));
    let count = bins(end, width);
    let unit = if width < 1.0 { format!("{} ms", round(width * 1e3)) } else { format!("{} s", round(width)) };
    let mut bars = Bars { bin: width, series: Vec::new() };
    let mut legend = Vec::new();
    let mut add = |color: Color, element: &ElementSeries, counts: &[u64], label: String| {
        if last(counts) > 0 {
            bars.series.push((color, binned(&element.time_s, counts, width, count)));
            legend.push(Item::new(Swatch::Area(color), label));
        }
    };
    for &(element, color) in &picked {
        let name = [("name", element.name.as_str())];
        // A single element has the colours of drops and marks.
        let (dropped, marked) = if picked.len() == 1 {
            (colors.drop, colors.mark)
        } else {
            (color, color.toward(colors.ground, 0.55))
        };
        add(dropped, element, &element.dropped, look.fill("plot.dropped-of", &name));
        add(marked, element, &element.marked, look.fill("plot.marked-of", &name));
    }
    legend.extend(Item::more(rest, look));
    let any_marks = picked.iter().any(|(e, _)| last(&e.marked) > 0);
    let left = look.fill("plot.axis.per", &[("bin", &unit)]);
    let chart = Chart { end, left, values: LeftAxis::Counts, bars: Some(bars), legend, ..Chart::default() };
    let title = if any_marks { "plot.drops-marks" } else { "plot.drops" };
    Some(chart.draw(look.text(title), input.label, look))
}

/// The growth of a running count in each of `count` bins of `width` seconds. A sample at a bin's end belongs
/// to that bin, and samples after the last bin belong to the last bin.
fn binned(times: &[f64], counts: &[u64], width: f64, count: usize) -> Vec<f64> {
    let mut bins = vec![0.0; count];
    let mut before = 0;
    for (&t, &n) in times.iter().zip(counts) {
        let at = ((t / width - 1e-6).ceil() as usize).saturating_sub(1).min(count.saturating_sub(1));
        if let Some(bin) = bins.get_mut(at) {
            *bin += n.saturating_sub(before) as f64;
        }
        before = n;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_drop_is_in_one_bin() {
        let times: Vec<f64> = (0..=12).map(|i| f64::from(i) * 0.1).collect();
        let counts = [0, 0, 3, 3, 3, 4, 4, 4, 4, 4, 9, 9, 10];
        assert_eq!(binned(&times, &counts, 0.5, 2), [4.0, 6.0]);
        assert_eq!(binned(&times, &counts, 0.2, 6), [3.0, 0.0, 1.0, 0.0, 5.0, 1.0]);
        assert!(binned(&times, &counts, 0.2, 0).is_empty());
    }
}
