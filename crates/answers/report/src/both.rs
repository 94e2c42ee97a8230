//! The table of a run on both clocks: the figures of simulator and kernel, and their ratio.

use crate::figures::{Figures, Row, rows};
use crate::number::{count, millis, short};
use crate::style::{Style, Tone};
use crate::table::{TableCell, TableColumn, render};
use crate::width::printable;
use result::{Clock, Run, VariantResult};
use std::collections::BTreeMap;

/// The figures of one variant or one flow on both clocks.
struct SimAndKernel<'a> {
    /// The simulator's row.
    row: Row<'a>,
    sim: Figures,
    kernel: Figures,
    /// The ratio of the flow that is furthest from 1.
    worst: Option<f64>,
}

/// A ratio further from 1 than this is highlighted.
const MAX_DEVIATION: f64 = 0.10;

/// Whether some variant was run on both clocks.
pub(crate) fn has_both(run: &Run) -> bool {
    let on = |clock| run.variants.iter().any(|v: &VariantResult| v.clock == clock);
    on(Clock::Sim) && on(Clock::Kernel)
}

/// The variant's name; with the clock if the run has both.
pub(crate) fn label(variant: &VariantResult, both: bool) -> String {
    let clock = if both { format!(" ({})", variant.clock.name()) } else { String::new() };
    variant.name.clone() + &clock
}

fn pairs(run: &Run) -> Vec<SimAndKernel<'_>> {
    let (sim, mut kernel): (Vec<Row>, Vec<Row>) =
        rows(run).into_iter().partition(|r| r.variant.clock == Clock::Sim);
    let mut pairs = Vec::new();
    for s in sim {
        let same =
            |k: &Row| k.variant.name == s.variant.name && k.flow.map(|f| &f.name) == s.flow.map(|f| &f.name);
        if let Some(at) = kernel.iter().position(same) {
            let k = kernel.remove(at);
            let (sim, kernel, worst) = (s.figures(), k.figures(), worst_flow(&s, &k));
            pairs.push(SimAndKernel { row: s, sim, kernel, worst });
        }
    }
    pairs
}

fn ratio(sim: f64, kernel: f64) -> TableCell {
    if kernel > 0.0 && sim.is_finite() { ratio_cell(sim / kernel) } else { "–".into() }
}

fn ratio_cell(r: f64) -> TableCell {
    TableCell {
        text: format!("{r:.2}"),
        tone: if (r - 1.0).abs() > MAX_DEVIATION { Tone::Fair } else { Tone::Plain },
    }
}

/// The ratio of goodputs that is furthest from 1, if there are several flows: a total hides what one flow
/// takes from another.
fn worst_flow(sim: &Row, kernel: &Row) -> Option<f64> {
    let (ours, theirs) = (sim.flows(), kernel.flows());
    let theirs: BTreeMap<&str, f64> = theirs.iter().map(|f| (f.name.as_str(), f.goodput_mbps)).collect();
    let both = ours.iter().filter_map(|f| Some((f.goodput_mbps, *theirs.get(f.name.as_str())?)));
    let ratios: Vec<f64> =
        both.filter(|&(sim, kernel)| sim > 0.0 && kernel > 0.0).map(|(sim, kernel)| sim / kernel).collect();
    let far = |a: &&f64, b: &&f64| a.ln().abs().total_cmp(&b.ln().abs());
    (ours.len() > 1).then(|| ratios.iter().max_by(far).copied()).flatten()
}

/// The table. Ratios are simulator / kernel.
pub(crate) fn table(run: &Run, style: Style) -> String {
    let pairs = pairs(run);
    let mut columns = Vec::new();
    let mut add = |head, rank, cell: &dyn Fn(&SimAndKernel) -> TableCell| {
        columns.push(TableColumn {
            head,
            text: rank == 0,
            rank,
            cells: pairs.iter().map(cell).collect(),
            ..TableColumn::default()
        });
    };
    add(["variant", ""], 0, &|p| printable(&p.row.variant.name).into());
    if pairs.iter().any(|p| p.row.flow.is_some()) {
        add(["flow", ""], 0, &|p| p.row.flow.map_or_else(TableCell::default, |f| printable(&f.name).into()));
    }
    let goodput = |f: &Figures| f.goodput_mbps.unwrap_or(f64::NAN);
    add(["Mbit/s", "sim"], 255, &|p| short(goodput(&p.sim)).into());
    add(["", "kernel"], 254, &|p| short(goodput(&p.kernel)).into());
    add(["", "ratio"], 253, &|p| ratio(goodput(&p.sim), goodput(&p.kernel)));
    if pairs.iter().any(|p| p.worst.is_some()) {
        add(["worst", "flow"], 252, &|p| p.worst.map_or_else(|| "–".into(), ratio_cell));
    }
    let rtt = |f: &Figures| f.rtt_p50_ms.unwrap_or(f64::NAN);
    let shown = |f: &Figures| -> TableCell {
        let both = f.rtt_p50_ms.zip(f.rtt_p95_ms);
        both.map_or("–".into(), |(p50, p95)| format!("{}/{}", millis(p50), millis(p95))).into()
    };
    add(["RTT ms", "sim"], 90, &|p| shown(&p.sim));
    add(["p50/p95", "kernel"], 89, &|p| shown(&p.kernel));
    add(["p50", "ratio"], 88, &|p| ratio(rtt(&p.sim), rtt(&p.kernel)));
    let drops = |f: &Figures| -> TableCell { f.dropped.map_or("–".into(), count).into() };
    if pairs.iter().any(|p| p.sim.dropped.is_some()) {
        add(["drops", "sim"], 86, &|p| drops(&p.sim));
        add(["", "kernel"], 85, &|p| drops(&p.kernel));
    }
    add(["resent", "sim"], 80, &|p| count(p.sim.resent).into());
    add(["", "kernel"], 79, &|p| count(p.kernel.resent).into());
    add(["RTO", "sim"], 70, &|p| count(p.sim.timeouts).into());
    add(["", "kernel"], 69, &|p| count(p.kernel.timeouts).into());
    render(columns, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{ElementResult, FlowResult, RttSummary};

    #[test]
    fn each_variant_has_a_row_with_both_clocks_and_their_ratio() {
        let variant = |name: &str, clock, mbps: f64, rtt: f64| {
            let rtt_ms = RttSummary { p50: rtt, p95: 2.0 * rtt, max: 2.0 * rtt, ..RttSummary::default() };
            let flow = FlowResult {
                name: "f".into(),
                cc: "cubic".into(),
                rtt_ms,
                sent_packets: 9,
                ..FlowResult::default()
            };
            let (name, flows) = (name.into(), vec![flow]);
            VariantResult { name, clock, flows, total_goodput_mbps: mbps, ..VariantResult::default() }
        };
        let variants = vec![
            variant("policer", Clock::Sim, 9.0, 30.0),
            variant("policer", Clock::Kernel, 12.0, 30.0),
            variant("shaper", Clock::Sim, 19.3, 108.0),
            variant("shaper", Clock::Kernel, 0.0, 0.0),
            variant("alone", Clock::Sim, 1.0, 1.0),
        ];
        let run = Run { scenario: "s".into(), seed: 1, variants, ..Run::default() };
        assert!(has_both(&run));
        let text = table(&run, Style::default());
        let cells = |name: &str| -> Vec<&str> {
            text.lines().find(|l| l.starts_with(name)).expect("a row").split_whitespace().collect()
        };
        assert_eq!(cells("policer")[1..7], ["9.00", "12.0", "0.75", "30/60", "30/60", "1.00"]);
        // Nothing arrived, so there is no ratio.
        assert_eq!(cells("shaper")[1..4], ["19.3", "0", "–"]);
        assert!(!text.contains("alone"), "a variant on one clock is left out");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }

    #[test]
    fn an_equal_total_does_not_hide_the_worst_flow_and_drops() {
        let variant = |clock, rates: [f64; 2], drops| {
            let flow = |(i, goodput_mbps)| FlowResult {
                name: format!("f{i}"),
                cc: "cubic".into(),
                goodput_mbps,
                ..FlowResult::default()
            };
            let dropped = ElementResult { dropped_packets: drops, ..ElementResult::default() };
            VariantResult {
                name: "v".into(),
                clock,
                flows: (0..).zip(rates).map(flow).collect(),
                elements: vec![dropped],
                total_goodput_mbps: rates.iter().sum(),
                ..VariantResult::default()
            }
        };
        let variants = vec![variant(Clock::Sim, [11.0, 9.0], 271), variant(Clock::Kernel, [10.0, 10.0], 136)];
        let text = table(&Run { variants, ..Run::default() }, Style::default());
        let row: Vec<&str> = text.lines().last().expect("a row").split_whitespace().collect();
        // 0.9 is further from 1 than 1.1 is.
        assert_eq!(row[..5], ["v", "20.0", "20.0", "1.00", "0.90"]);
        assert_eq!(row[8..10], ["271", "136"]);
    }
}
