//! The plot of congestion window and packets in flight, with the bandwidth-delay product.

use super::chart::{Chart, CurveLine, LeftAxis, end};
use super::drawing::{Drawing, Pen, Point};
use super::frame::{Item, Swatch};
use super::{Input, Look, pick};
use crate::figures::Row;
use result::FlowSeries;

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    let colors = look.colors();
    let (picked, rest) = pick::flows(input, colors, |s| s.cwnd.iter().any(|&w| w > 0));
    if picked.is_empty() {
        return None;
    }
    let left = look.text("plot.axis.window").into();
    let mut chart = Chart { end, left, values: LeftAxis::Counts, ..Chart::default() };
    for flow in &picked {
        let pen = Pen::new(flow.color.toward(colors.ground, 0.45), 0.9);
        chart.lines.push(CurveLine::new(points(flow.series, &flow.series.inflight), pen));
    }
    for flow in &picked {
        let pen = Pen::new(flow.color, 1.7);
        chart.lines.push(CurveLine::new(points(flow.series, &flow.series.cwnd), pen));
        chart.legend.push(Item::new(Swatch::Line(pen), &flow.label));
    }
    chart.legend.extend(Item::more(rest, look));
    let thin = Pen::new(colors.muted.toward(colors.ground, 0.45), 0.9);
    chart.legend.push(Item::new(Swatch::Line(thin), look.text("plot.inflight")));
    let all = Row { variant: input.variant, flow: None }.figures();
    if let Some(bdp) = all.bdp_packets {
        let packets = format!("{bdp:.0}");
        chart.level(bdp, look.fill("plot.bdp", &[("packets", &packets)]), look);
    }
    Some(chart.draw(look.text("plot.cwnd"), input.label, look))
}

/// The points from the flow's start on.
fn points(s: &FlowSeries, values: &[u64]) -> Vec<Point> {
    let rows = s.time_s.iter().zip(values).enumerate().filter(|&(row, _)| pick::begun(s, row));
    rows.map(|(_, (&t, &v))| (t, v as f64)).collect()
}
