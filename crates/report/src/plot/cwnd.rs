//! Windows and packets in flight, beside the bandwidth-delay product.

use super::chart::{Chart, Line, Values, end};
use super::drawing::{Drawing, Pen, Point};
use super::frame::{Item, Swatch};
use super::{Input, Look, pick};
use result::{FlowSeries, Variant};

/// Bytes of TCP and IP headers in a packet of the BDP.
const HEADERS: f64 = 40.0;

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    let colors = look.colors();
    let (picked, rest) = pick::flows(input, colors, |s| s.cwnd.iter().any(|&w| w > 0));
    if picked.is_empty() {
        return None;
    }
    let left = look.text("plot.axis.window").into();
    let mut chart = Chart { end, left, values: Values::Counts, ..Chart::default() };
    for flow in &picked {
        let pen = Pen::new(flow.color.toward(colors.ground, 0.45), 0.9);
        chart.lines.push(Line::new(points(flow.series, &flow.series.inflight), pen));
    }
    for flow in &picked {
        let pen = Pen::new(flow.color, 1.7);
        chart.lines.push(Line::new(points(flow.series, &flow.series.cwnd), pen));
        chart.legend.push(Item::new(Swatch::Line(pen), &flow.label));
    }
    chart.legend.extend(Item::more(rest, look));
    let thin = Pen::new(colors.muted.toward(colors.ground, 0.45), 0.9);
    chart.legend.push(Item::new(Swatch::Line(thin), look.text("plot.inflight")));
    if let Some(bdp) = bdp(input.variant) {
        let packets = format!("{bdp:.0}");
        chart.level(bdp, look.fill("plot.bdp", &[("packets", &packets)]), look);
    }
    Some(chart.draw(look.text("plot.cwnd"), input.label, look))
}

/// From when the flow began.
fn points(s: &FlowSeries, values: &[u64]) -> Vec<Point> {
    let rows = s.time_s.iter().zip(values).enumerate().filter(|&(row, _)| pick::begun(s, row));
    rows.map(|(_, (&t, &v))| (t, v as f64)).collect()
}

/// The bandwidth-delay product in full packets, of the limit that all flows meet and the shortest round
/// trip any of them saw; `None` where one of them, or the size of a segment, is not known.
pub(super) fn bdp(variant: &Variant) -> Option<f64> {
    let limit = pick::limit(variant)?;
    let tcp = || variant.flows.iter().filter(|f| !f.is_udp() && f.rtt_ms.min > 0.0);
    let rtt_ms = tcp().map(|f| f.rtt_ms.min).min_by(f64::total_cmp)?;
    let mss = tcp().filter_map(|f| f.mss_bytes).max()?;
    let packet = f64::from(mss) + HEADERS;
    Some(limit * 1e3 * rtt_ms / 8.0 / packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{Flow, RttSummary};

    #[test]
    fn bdp_is_rate_times_delay_in_packets() {
        let rtt = |min| RttSummary { min, ..RttSummary::default() };
        let flow =
            |min| Flow { rtt_ms: rtt(min), mss_bytes: Some(1460), cc: "cubic".into(), ..Flow::default() };
        let mut variant =
            Variant { flows: vec![flow(30.0), flow(60.0)], limit_mbps: Some(20.0), ..Variant::default() };
        // 20 Mbit/s × 30 ms = 75000 B = 50 × 1500 B.
        assert!((bdp(&variant).unwrap() - 50.0).abs() < 1e-9);
        variant.flows[0].cc = "udp".into();
        assert!((bdp(&variant).unwrap() - 100.0).abs() < 1e-9, "a one-way delay is no RTT");
        variant.limit_mbps = None;
        assert_eq!(bdp(&variant), None);
        variant.flows.iter_mut().for_each(|f| f.limit_mbps = Some(10.0));
        variant.one_at_a_time = true;
        assert!((bdp(&variant).unwrap() - 50.0).abs() < 1e-9, "each flow alone under the same limit");
        variant.flows[1].limit_mbps = Some(20.0);
        assert_eq!(bdp(&variant), None);
    }
}
