//! The plot of queues and of the tokens in buckets.

use super::chart::{AxisSide, Chart, CurveLine, LeftAxis, end};
use super::drawing::{Drawing, Pen, Point};
use super::frame::{Item, Swatch};
use super::{Input, Look, pick};
use result::ElementSeries;

fn longest(e: &ElementSeries) -> u64 {
    e.queue_packets.iter().copied().max().unwrap_or(0)
}

fn has_tokens(e: &ElementSeries) -> bool {
    e.tokens_bytes.iter().any(Option::is_some)
}

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    // Buckets without a queue come last.
    let weight = |e: &ElementSeries| longest(e) as f64 + if has_tokens(e) { 0.5 } else { 0.0 };
    let (picked, rest) = pick::elements(input, look.colors(), weight);
    if picked.is_empty() {
        return None;
    }
    let queued = picked.iter().any(|(e, _)| longest(e) > 0);
    let tokens = picked.iter().any(|(e, _)| has_tokens(e));
    let (queue_title, tokens_title) = (look.text("plot.axis.queue"), look.text("plot.axis.tokens"));
    // Without a queue, the tokens are on the left axis.
    let side = if queued { AxisSide::Right } else { AxisSide::Left };
    let left = if queued { queue_title } else { tokens_title };
    let right = if queued && tokens { tokens_title } else { "" };
    let values = if queued { LeftAxis::Counts } else { LeftAxis::Amounts };
    let mut chart = Chart { end, left: left.into(), right: right.into(), values, ..Chart::default() };
    // Tokens are drawn first, below the queues.
    for &(element, color) in picked.iter().filter(|(e, _)| has_tokens(e)) {
        let kilobytes = element.tokens_bytes.iter().map(|b| b.map_or(f64::NAN, |b| b / 1e3));
        let faint = Pen::dashed(color.toward(look.colors().ground, 0.4), 1.0);
        let pen = if queued { faint } else { Pen::new(color, 1.3) };
        chart.lines.push(CurveLine { points: over_time(element, kilobytes), pen, side });
        let name = &element.name;
        let label = if queued { look.fill("plot.tokens-of", &[("name", name)]) } else { name.clone() };
        chart.legend.push(Item::new(Swatch::Line(pen), label));
    }
    for &(element, color) in picked.iter().filter(|(e, _)| longest(e) > 0) {
        let packets = element.queue_packets.iter().map(|&n| n as f64);
        let pen = Pen::new(color, 1.5);
        chart.lines.push(CurveLine::new(over_time(element, packets), pen));
        chart.legend.push(Item::new(Swatch::Line(pen), &element.name));
    }
    chart.legend.extend(Item::more(rest, look));
    let title = look.text(if queued { "plot.queue" } else { "plot.tokens" });
    Some(chart.draw(title, input.label, look))
}

fn over_time(element: &ElementSeries, values: impl Iterator<Item = f64>) -> Vec<Point> {
    element.time_s.iter().copied().zip(values).collect()
}
