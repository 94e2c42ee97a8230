//! Operating points: rate and round trip against what is in flight.

use super::Look;
use super::chart::{horizontal_axis, right_axis, value_axis, widest};
use super::drawing::{Drawing, Pen, Point};
use super::frame::{Item, MARGIN, Mark, SLACK, Swatch, TEXT, frame};
use super::scale::Scale;

/// Height of the area, px.
const HEIGHT: f64 = 250.0;

/// One window held fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The window, in bandwidth-delay products.
    pub bdps: f64,
    /// Goodput, Mbit/s.
    pub rate_mbps: f64,
    /// Mean round trip, ms.
    pub rtt_ms: f64,
}

/// Draws the two curves and marks the point number `best`, Kleinrock's; `None` without points.
pub fn operating(label: &str, points: &[CurvePoint], best: usize, look: &Look) -> Option<Drawing> {
    let colors = look.colors();
    let most = |of: fn(&CurvePoint) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let best = points.get(best)?;
    let pens = [Pen::new(colors.flows[0], 1.8), Pen::dashed(colors.flows[1], 1.8)];
    let mark = Pen::new(colors.limit, 2.0);
    let legend = [
        Item::new(Swatch::Line(pens[0]), look.text("plot.axis.mbps")),
        Item::new(Swatch::Line(pens[1]), look.text("plot.axis.rtt")),
        Item::new(Swatch::Mark(Mark::Cross, mark), look.text("plot.kleinrock")),
    ];
    let (mut drawing, top) = frame(look, look.text("plot.operating"), label, &legend);
    let bottom = top + HEIGHT;
    let rate = Scale::rounded(0.0, most(|p| p.rate_mbps), HEIGHT / 45.0, (bottom, top));
    let rtt = Scale::rounded(0.0, most(|p| p.rtt_ms), HEIGHT / 45.0, (bottom, top));
    let room = |scale: &Scale| MARGIN + TEXT + 10.0 + widest(scale) * SLACK + 6.0;
    let sides = (room(&rate), drawing.width - room(&rtt));
    let x = Scale::rounded(0.0, most(|p| p.bdps), (sides.1 - sides.0) / 90.0, sides);
    horizontal_axis(&mut drawing, &x, (top, bottom), look.text("plot.axis.bdps"), look);
    value_axis(&mut drawing, &rate, look.text("plot.axis.mbps"), sides, look);
    right_axis(&mut drawing, &rtt, look.text("plot.axis.rtt"), sides.1, look);
    let line = |of: fn(&CurvePoint) -> f64, y: &Scale| -> Vec<Point> {
        points.iter().map(|p| (x.at(p.bdps), y.at(of(p)))).collect()
    };
    drawing.lines(vec![line(|p| p.rate_mbps, &rate)], pens[0]);
    drawing.lines(vec![line(|p| p.rtt_ms, &rtt)], pens[1]);
    let at = x.at(best.bdps);
    drawing.line((at, top), (at, bottom), Pen::dashed(colors.limit, 1.0));
    for y in [rate.at(best.rate_mbps), rtt.at(best.rtt_ms)] {
        drawing.lines(Mark::Cross.strokes((at, y)), mark);
    }
    drawing.height = bottom + 46.0;
    Some(drawing)
}
