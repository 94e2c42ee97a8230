//! The table of a run on both clocks: simulator, kernel, and the ratio of the two.

use crate::figures::{Figures, Row, rows};
use crate::number::{count, millis, short};
use crate::style::{Style, Tone};
use crate::table::{TableCell, TableColumn, printable, render};
use result::{Clock, Run, VariantResult};

/// A row on the simulator's clock, and the figures of each clock.
type Pair<'a> = (Row<'a>, [Figures; 2]);

/// A ratio further from 1 than this is worth a look.
const FAR: f64 = 0.10;

/// Whether some variant was run on both clocks.
pub(crate) fn has_both(run: &Run) -> bool {
    let on = |clock| run.variants.iter().any(|v: &VariantResult| v.clock == clock);
    on(Clock::Sim) && on(Clock::Kernel)
}

/// The variant's name, and the clock where there are two.
pub(crate) fn label(variant: &VariantResult, both: bool) -> String {
    let clock = if both { format!(" ({})", variant.clock.name()) } else { String::new() };
    variant.name.clone() + &clock
}

fn pairs(run: &Run) -> Vec<Pair<'_>> {
    let (sim, mut kernel): (Vec<Row>, Vec<Row>) =
        rows(run).into_iter().partition(|r| r.variant.clock == Clock::Sim);
    let mut pairs = Vec::new();
    for s in sim {
        let same =
            |k: &Row| k.variant.name == s.variant.name && k.flow.map(|f| &f.name) == s.flow.map(|f| &f.name);
        if let Some(at) = kernel.iter().position(same) {
            let figures = [s.figures(), kernel.remove(at).figures()];
            pairs.push((s, figures));
        }
    }
    pairs
}

fn ratio(sim: f64, kernel: f64) -> TableCell {
    if !(kernel > 0.0 && sim.is_finite()) {
        return "–".into();
    }
    let r = sim / kernel;
    TableCell { text: format!("{r:.2}"), tone: if (r - 1.0).abs() > FAR { Tone::Fair } else { Tone::Plain } }
}

/// The table; ratios are simulator / kernel.
pub(crate) fn table(run: &Run, style: Style) -> String {
    let pairs = pairs(run);
    let mut columns = Vec::new();
    let mut add = |head, rank, cell: &dyn Fn(&Pair) -> TableCell| {
        columns.push(TableColumn { head, text: rank == 0, rank, cells: pairs.iter().map(cell).collect() });
    };
    add(["variant", ""], 0, &|p| printable(&p.0.variant.name).into());
    if pairs.iter().any(|p| p.0.flow.is_some()) {
        add(["flow", ""], 0, &|p| p.0.flow.map_or_else(TableCell::default, |f| printable(&f.name).into()));
    }
    let goodput = |f: &Figures| f.goodput_mbps.unwrap_or(f64::NAN);
    add(["Mbit/s", "sim"], 255, &|p| short(goodput(&p.1[0])).into());
    add(["", "kernel"], 254, &|p| short(goodput(&p.1[1])).into());
    add(["", "ratio"], 253, &|p| ratio(goodput(&p.1[0]), goodput(&p.1[1])));
    let rtt = |f: &Figures| f.rtt_mean_ms.unwrap_or(f64::NAN);
    let shown = |f: &Figures| -> TableCell { f.rtt_mean_ms.map_or("–".into(), millis).into() };
    add(["RTT ms", "sim"], 90, &|p| shown(&p.1[0]));
    add(["", "kernel"], 89, &|p| shown(&p.1[1]));
    add(["", "ratio"], 88, &|p| ratio(rtt(&p.1[0]), rtt(&p.1[1])));
    add(["resent", "sim"], 80, &|p| count(p.1[0].resent).into());
    add(["", "kernel"], 79, &|p| count(p.1[1].resent).into());
    add(["RTO", "sim"], 70, &|p| count(p.1[0].timeouts).into());
    add(["", "kernel"], 69, &|p| count(p.1[1].timeouts).into());
    render(columns, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{FlowResult, RttSummary};

    #[test]
    fn each_variant_has_a_row_with_both_clocks_and_their_ratio() {
        let variant = |name: &str, clock, mbps: f64, rtt: f64| {
            let rtt_ms = RttSummary { mean: rtt, max: rtt, ..RttSummary::default() };
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
        assert_eq!(cells("policer")[1..7], ["9.00", "12.0", "0.75", "30", "30", "1.00"]);
        // Nothing arrived: no ratio.
        assert_eq!(cells("shaper")[1..4], ["19.3", "0", "–"]);
        assert!(!text.contains("alone"), "one clock is no pair");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}
