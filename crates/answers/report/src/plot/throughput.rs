//! The plot of goodput over time.

use super::chart::{Chart, CurveLine, end};
use super::drawing::{Drawing, Pen, Point};
use super::frame::{Item, Swatch};
use super::scale::{nice, round};
use super::{Input, Look, pick};
use crate::figures::common_limit;
use crate::spark::goodput;
use result::FlowSeries;

/// Goodput above this multiple of the limit is not an effect of binning.
const MIN_EXCESS_FACTOR: f64 = 1.05;

/// The width of a bin, seconds: a round one near 1/200 of the run, but at least two sample intervals.
pub(super) fn bin<'a>(end: f64, times: impl Iterator<Item = &'a Vec<f64>>) -> f64 {
    let interval = |t: &Vec<f64>| match (t.first(), t.last()) {
        (Some(first), Some(last)) if t.len() > 1 => (last - first) / (t.len() - 1) as f64,
        _ => 0.0,
    };
    let longest = times.map(interval).filter(|i| i.is_finite()).fold(0.0, f64::max);
    // At most the duration of the run.
    nice((end / 200.0).max(2.0 * longest)).min(end)
}

/// The number of whole bins; the goodput in a partial bin would be unknown.
pub(super) fn bins(end: f64, bin: f64) -> usize {
    (end / bin + 1e-9).floor() as usize
}

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    let colors = look.colors();
    let (picked, rest) = pick::flows(input, colors, |s| s.time_s.len() > 1);
    if picked.is_empty() {
        return None;
    }
    let width = bin(end, input.flows.iter().map(|s| &s.time_s));
    let count = bins(end, width);
    let rates = |s: &FlowSeries| goodput(s, count as f64 * width, count);
    let middle = |i: usize| (i as f64 + 0.5) * width;
    let mut chart = Chart { end, left: look.text("plot.axis.mbps").into(), ..Chart::default() };
    for flow in &picked {
        let s = flow.series;
        // The time before the flow's start is not drawn.
        let first = (0..s.time_s.len()).find(|&row| pick::begun(s, row)).map_or(end, |row| s.time_s[row]);
        let points = rates(s).into_iter().enumerate().filter(|(i, _)| (i + 1) as f64 * width > first);
        let pen = Pen::new(flow.color, 1.5);
        chart.lines.push(CurveLine::new(points.map(|(i, v)| (middle(i), v)).collect(), pen));
        chart.legend.push(Item::new(Swatch::Line(pen), &flow.label));
    }
    chart.legend.extend(Item::more(rest, look));
    let released = |s: &FlowSeries| {
        let limit = input.variant.flows.iter().find(|f| f.name == s.name).and_then(|f| f.limit_mbps);
        limit
            .or(common_limit(input.variant))
            .is_some_and(|limit| is_released_at_once(s, &rates(s), width, limit))
    };
    if picked.iter().any(|flow| released(flow.series)) {
        chart.legend.push(Item::new(Swatch::None, look.text("plot.released")));
    }
    // Flows measured one at a time never shared the path.
    if input.flows.len() > 1 && !input.variant.one_at_a_time {
        let pen = Pen::new(colors.ink, 1.8);
        chart.lines.push(CurveLine::new(total(input.flows.iter().map(rates), count, middle), pen));
        chart.legend.push(Item::new(Swatch::Line(pen), look.text("plot.total")));
    }
    if let Some(limit) = common_limit(input.variant) {
        chart.level(limit, look.fill("plot.limit", &[("rate", &round(limit))]), look);
    }
    Some(chart.draw(look.text("plot.throughput"), input.label, look))
}

/// Whether a flow's goodput exceeds its limit because bytes waited behind a lost packet. The receiving
/// application gets all of them when the retransmission arrives, so that a bin with almost no goodput is
/// followed by one above the limit.
fn is_released_at_once(s: &FlowSeries, rates: &[f64], width: f64, limit: f64) -> bool {
    let repaired = |bin: usize| {
        let (from, to) = ((bin as f64 - 1.0) * width, (bin as f64 + 1.0) * width);
        s.resent.iter().any(|r| r.time_s >= from && r.time_s <= to)
    };
    rates.iter().enumerate().any(|(bin, rate)| *rate > MIN_EXCESS_FACTOR * limit && repaired(bin))
}

fn total(flows: impl Iterator<Item = Vec<f64>>, count: usize, middle: impl Fn(usize) -> f64) -> Vec<Point> {
    let mut sums = vec![0.0; count];
    for rates in flows {
        sums.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
    }
    sums.into_iter().enumerate().map(|(i, sum)| (middle(i), sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second without goodput, then twice the goodput: after a retransmission this is a repair, otherwise a
    /// bucket's burst or an effect of binning.
    #[test]
    fn goodput_above_the_limit_after_a_repair_differs_from_a_burst() {
        let resent = |time_s| result::Resent { time_s, byte: 0, len: 1448, sender: 0 };
        let series = |resent| FlowSeries { resent, ..FlowSeries::default() };
        let rates = [8.0, 0.0, 16.0, 8.0];
        assert!(is_released_at_once(&series(vec![resent(1.8)]), &rates, 1.0, 10.0));
        assert!(!is_released_at_once(&series(vec![resent(0.2)]), &rates, 1.0, 10.0), "long before");
        assert!(!is_released_at_once(&series(vec![]), &rates, 1.0, 10.0));
        assert!(!is_released_at_once(&series(vec![resent(1.8)]), &rates, 1.0, 16.0), "not above the limit");
    }

    #[test]
    fn bins_are_round_and_not_finer_than_the_samples() {
        let every = |dt: f64| vec![(0..=100).map(|i| f64::from(i) * dt).collect::<Vec<f64>>()];
        let width = |end, dt| bin(end, every(dt).iter());
        assert_eq!((width(20.0, 0.01), width(30.0, 0.01), width(20.0, 0.1)), (0.1, 0.2, 0.2));
        assert_eq!((bins(20.0, 0.1), bins(20.05, 0.1), bins(0.3, 0.1)), (200, 200, 3));
        // A single sample interval is the whole run.
        assert_eq!(width(0.4, 0.0), 0.002);
        assert_eq!(bin(1.0, [vec![0.0, 1.0]].iter()), 1.0);
    }
}
