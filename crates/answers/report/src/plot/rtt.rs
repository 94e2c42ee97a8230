//! The plot of round-trip times over time.

use super::chart::{Chart, CurveLine, LeftAxis, end};
use super::drawing::{Drawing, Pen};
use super::frame::{Item, Swatch};
use super::{Input, Look, pick};

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    let (picked, rest) = pick::flows(input, look.colors(), |s| s.rtt_ms.iter().any(Option::is_some));
    if picked.is_empty() {
        return None;
    }
    let left = look.text("plot.axis.rtt").into();
    let mut chart = Chart { end, left, values: LeftAxis::Levels, ..Chart::default() };
    for flow in &picked {
        let s = flow.series;
        let pen = Pen::new(flow.color, 1.3);
        // NaN interrupts the line.
        let rtts = s.rtt_ms.iter().map(|rtt| rtt.unwrap_or(f64::NAN));
        chart.lines.push(CurveLine::new(s.time_s.iter().copied().zip(rtts).collect(), pen));
        chart.legend.push(Item::new(Swatch::Line(pen), &flow.label));
    }
    chart.legend.extend(Item::more(rest, look));
    Some(chart.draw(look.text("plot.rtt"), input.label, look))
}
