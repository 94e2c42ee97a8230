//! The table of faults: a row for each flow, fault and variant with the effect on the flow.

use crate::both::{has_both, label};
use crate::number::{count, millis, short};
use crate::style::{Style, Tone};
use crate::table::{TableCell, TableColumn, render};
use crate::width::printable;
use result::{FaultResult, FlowOutage, Run, VariantResult};

/// The data of a row.
struct OutageLine<'a> {
    variant: &'a VariantResult,
    fault: &'a FaultResult,
    flow: &'a str,
    outage: &'a FlowOutage,
    /// The row is the first one of its variant, and of its fault.
    first: [bool; 2],
}

fn lines(run: &Run) -> Vec<OutageLine<'_>> {
    let mut lines: Vec<OutageLine> = Vec::new();
    for variant in &run.variants {
        for (i, fault) in variant.faults.iter().enumerate() {
            let flows = variant.flows.iter().filter_map(|f| Some((f.name.as_str(), f.outages.get(i)?)));
            for (n, (flow, outage)) in flows.enumerate() {
                let first = [i == 0 && n == 0, n == 0];
                lines.push(OutageLine { variant, fault, flow, outage, first });
            }
        }
    }
    lines
}

/// The table with its title; empty for a run without faults.
pub(crate) fn table(run: &Run, style: Style) -> String {
    let lines = lines(run);
    if lines.is_empty() {
        return String::new();
    }
    let both = has_both(run);
    let mut columns = Vec::new();
    let mut add = |head, rank, text, cell: &dyn Fn(&OutageLine) -> TableCell| {
        columns.push(TableColumn {
            head,
            text,
            rank,
            cells: lines.iter().map(cell).collect(),
            ..TableColumn::default()
        });
    };
    let once = |is_first: bool, text: String| if is_first { text } else { String::new() };
    add(["variant", ""], 0, true, &|l| once(l.first[0], printable(&label(l.variant, both))).into());
    let what = |f: &FaultResult| printable(&format!("{}: {} {}", f.name, f.kind, f.of));
    add(["fault", ""], 0, true, &|l| once(l.first[1], what(l.fault)).into());
    add(["start", "s"], 30, false, &|l| once(l.first[1], short(l.fault.at_s)).into());
    add(["for", "s"], 31, false, &|l| once(l.first[1], short(l.fault.duration_s)).into());
    add(["flow", ""], 0, true, &|l| printable(l.flow).into());
    add(["silent", "ms"], 255, false, &|l| l.outage.silence_ms.map_or("–".into(), millis).into());
    add(["recovery", "ms"], 254, false, &|l| match (l.outage.caused_silence, l.outage.recovery_ms) {
        (_, Some(ms)) => millis(ms).into(),
        (true, None) => TableCell { text: "never".into(), tone: Tone::Bad },
        (false, None) => "–".into(),
    });
    if lines.iter().any(|l| l.outage.lost_packets.is_some()) {
        add(["lost", "packets"], 253, false, &|l| l.outage.lost_packets.map_or("–".into(), count).into());
    }
    format!("{}\n{}", style.paint(Tone::Dim, "effect of faults on flows"), render(columns, style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{Clock, FlowResult};

    fn variant(clock: Clock, silence: f64, back: Option<f64>) -> VariantResult {
        let outage = |silence_ms, recovery_ms, lost_packets| FlowOutage {
            fault: "cut".into(),
            silence_ms,
            ordinary_silence_ms: Some(20.0),
            caused_silence: silence_ms.is_some_and(|ms| ms > 40.0),
            recovery_ms,
            lost_packets,
        };
        let flow = |name: &str, outage| FlowResult {
            name: name.into(),
            outages: vec![outage],
            ..FlowResult::default()
        };
        let fault = FaultResult {
            name: "cut".into(),
            kind: "link".into(),
            of: "radio".into(),
            at_s: 5.0,
            duration_s: 2.5,
        };
        VariantResult {
            name: "v".into(),
            clock,
            faults: vec![fault],
            flows: vec![
                flow("bulk", outage(Some(silence), back, None)),
                flow("voice", outage(Some(2510.0), Some(2500.0), Some(125))),
                flow("done", outage(None, None, None)),
                flow("other", outage(Some(30.0), None, Some(0))),
            ],
            ..VariantResult::default()
        }
    }

    #[test]
    fn each_flow_has_a_row_and_one_that_never_recovered_says_so() {
        let variants = vec![variant(Clock::Sim, 4350.0, Some(4340.0)), variant(Clock::Kernel, 9000.0, None)];
        let text = table(&Run { variants, ..Run::default() }, Style::default());
        let rows: Vec<Vec<&str>> = text.lines().skip(4).map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(
            rows[0],
            ["v", "(sim)", "cut:", "link", "radio", "5.00", "2.50", "bulk", "4350", "4340", "–"]
        );
        assert_eq!(rows[1], ["voice", "2510", "2500", "125"]);
        assert_eq!(rows[2], ["done", "–", "–", "–"]);
        assert_eq!(rows[3], ["other", "30", "–", "0"]);
        assert_eq!(rows[4][8..], ["9000", "never", "–"]);
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert_eq!(table(&Run::default(), Style::default()), "");
    }
}
