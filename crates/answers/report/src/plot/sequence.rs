//! The plot of bytes sent, acknowledged and retransmitted over time.

use super::chart::{AxisSide, Chart, CurveLine, Marks, end};
use super::drawing::{Drawing, Pen, Point};
use super::frame::{Item, Mark, Swatch};
use super::pick::TIMEOUT;
use super::{Input, Look, pick};
use result::{FlowSeries, Resent};

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    let colors = look.colors();
    let (picked, rest) = pick::flows(input, colors, |s| s.sent_bytes.iter().any(|&b| b > 0));
    if picked.is_empty() {
        return None;
    }
    let mut chart = Chart { end, left: look.text("plot.axis.bytes").into(), ..Chart::default() };
    for flow in &picked {
        let s = flow.series;
        let pen = Pen::new(flow.color, 1.9);
        let sent = Pen::new(flow.color.toward(colors.ground, 0.35), 0.9);
        chart.lines.push(CurveLine::new(megabytes(s, &s.sent_bytes), sent));
        chart.lines.push(CurveLine::new(megabytes(s, &s.acked_bytes), pen));
        chart.legend.push(Item::new(Swatch::Line(pen), &flow.label));
    }
    chart.legend.extend(Item::more(rest, look));
    let line = |share, width| Swatch::Line(Pen::new(colors.muted.toward(colors.ground, share), width));
    chart.legend.push(Item::new(line(0.35, 0.9), look.text("plot.sent")));
    chart.legend.push(Item::new(line(0.0, 1.9), look.text("plot.acked")));
    for (after_timeout, mark, color, key) in [
        (false, Mark::Tick, colors.drop, "plot.resent"),
        (true, Mark::Cross, colors.state(TIMEOUT), "plot.resent-timeout"),
    ] {
        let resent = picked
            .iter()
            .flat_map(|flow| flow.series.resent.iter().filter(|r| r.sender == 0).map(|r| (flow.series, r)));
        let shown = resent.filter(|(series, resent)| in_timeout(series, resent) == after_timeout);
        let points: Vec<Point> = shown.map(|(_, r)| (r.time_s, r.byte as f64 / 1e6)).collect();
        if !points.is_empty() {
            let pen = Pen::new(color, 1.1);
            chart.legend.push(Item::new(Swatch::Mark(mark, pen), look.text(key)));
            chart.marks.push(Marks { points, mark, pen, side: AxisSide::Left });
        }
    }
    Some(chart.draw(look.text("plot.sequence"), input.label, look))
}

fn megabytes(s: &FlowSeries, bytes: &[u64]) -> Vec<Point> {
    s.time_s.iter().zip(bytes).map(|(&t, &b)| (t, b as f64 / 1e6)).collect()
}

/// Whether a retransmission belongs to the recovery from a timeout, by the state of the first sample after
/// it: the retransmission that a timeout causes comes just before the first sample in that state.
fn in_timeout(s: &FlowSeries, resent: &Resent) -> bool {
    let row = s.time_s.partition_point(|&t| t < resent.time_s).min(s.time_s.len().saturating_sub(1));
    s.state_name(row) == TIMEOUT
}
