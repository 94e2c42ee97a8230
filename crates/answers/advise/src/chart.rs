//! Plots the finalists: goodput against delay, with a line through those that no other beats in both.

use crate::model::{Plan, PlanFigures, RankedCure};
use report::plot::{Drawing, Look, XyMark, XyPlot, XySeries, xy};

/// Returns the plot as an SVG file; empty where no delay was measured.
pub fn pareto_svg(plan: &Plan) -> String {
    pareto(plan, &Look::default()).map(|drawing| drawing.svg()).unwrap_or_default()
}

/// Draws a numbered point for each finalist and a ring for the scenario as it is; `None` where no delay was
/// measured.
pub(crate) fn pareto(plan: &Plan, look: &Look) -> Option<Drawing> {
    let at = |f: &PlanFigures| (f.p95_delay_ms.mean, f.goodput_mbps.mean);
    let finalists: Vec<&RankedCure> = plan.cures.iter().filter(|c| c.finalist).collect();
    let mut best: Vec<(f64, f64)> = finalists.iter().filter(|c| c.pareto).map(|c| at(&c.figures)).collect();
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut series = vec![
        XySeries::new(XyMark::Ring, None, "as it is", vec![at(&plan.now)]),
        XySeries::new(XyMark::Dashed, Some(0), "no other has more goodput and less delay", best),
    ];
    for (i, cure) in finalists.iter().enumerate() {
        let color = cure.pareto.then_some(0);
        let label = format!("{} {}", i + 1, cure.name);
        let mut point = XySeries::new(XyMark::Dot, color, label, vec![at(&cure.figures)]);
        point.names.push((i + 1).to_string());
        series.push(point);
    }
    let title = format!("{}: goodput against delay", plan.scenario);
    let plot = XyPlot {
        title: &title,
        x: "95th percentile of the round trip (ms)",
        y: "goodput (Mbit/s)",
        right: "",
        series: &series,
    };
    xy(&plot, look)
}
