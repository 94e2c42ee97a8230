//! Each variant's flows, a line each: name, congestion control, goodput and its sparkline. Many flows are
//! summed up: the sums of their groups, quantiles over all flows, and the flow with the lowest goodput.

use crate::both::{has_both, label};
use crate::figures::{MANY_FLOWS, ascending, groups, quantile};
use crate::number::short;
use crate::spark;
use crate::style::{Grouping, Style, Tone};
use crate::summary::{group_name, grouped};
use crate::width::{clip, pad, printable};
use result::{FlowResult, FlowSeries, Run, VariantResult};
use unicode_width::UnicodeWidthStr;

/// Maximum width of a label, in columns.
const MAX_LABEL: usize = 24;
/// Maximum width of a sparkline, in characters; a wider one shows nothing more.
const MAX_BINS: usize = 100;

/// Quantiles of many flows' rates, the highest first.
const QUANTILES: [(&str, f64); 3] =
    [("per flow, p95", 0.95), ("per flow, median", 0.5), ("per flow, p5", 0.05)];

/// The data of a line: its labels and its curve.
struct FlowsLine {
    name: String,
    cc: String,
    goodput: String,
    /// Goodput over time.
    curve: Vec<f64>,
    /// The curve is of one flow among many; these curves have a scale of their own.
    is_per_flow: bool,
}

/// The lines of all variants; empty without any series.
pub(crate) fn lines(run: &Run, series: &[&[FlowSeries]], style: Style) -> String {
    if series.iter().all(|s| s.iter().all(|f| f.time_s.len() < 2)) {
        return String::new();
    }
    let pairs: Vec<(&VariantResult, &[FlowSeries])> =
        run.variants.iter().zip(series.iter().copied()).collect();
    // If every variant has one flow, the variant's name is enough.
    let both = has_both(run);
    let single = run.variants.iter().all(|v| v.flows.len() <= 1);
    let lines = |bins| -> Vec<Vec<FlowsLine>> {
        let flows = |&(variant, series)| VariantFlows { variant, series, bins, single, both };
        pairs.iter().map(|pair| flows(pair).lines(style.grouping)).collect()
    };
    let labels = lines(0);
    let width =
        |part: fn(&FlowsLine) -> &str| labels.iter().flatten().map(|l| part(l).width()).max().unwrap_or(0);
    let widths = [width(|l| &l.name).min(MAX_LABEL), width(|l| &l.cc).min(MAX_LABEL), width(|l| &l.goodput)];
    // Two spaces before and between the parts.
    let indent = if single { 0 } else { 2 };
    let bins = style.columns().saturating_sub(widths.iter().sum::<usize>() + 6 + indent).min(MAX_BINS);
    let all = lines(bins);
    let top = |is_per_flow: bool| {
        let curves = all.iter().flatten().filter(|l| l.is_per_flow == is_per_flow).flat_map(|l| &l.curve);
        curves.copied().fold(0.0, f64::max)
    };
    let tops = [top(false), top(true)];
    let mut text = style.paint(Tone::Dim, &caption(run, tops)) + "\n";
    for ((variant, _), lines) in pairs.iter().zip(&all) {
        if !single {
            let name = printable(&label(variant, both));
            text += &(style.paint(Tone::Head, &clip(&name, style.columns())) + "\n");
        }
        for line in lines {
            let labels = format!(
                "{:indent$}{}  {}  {}",
                "",
                pad(&clip(&line.name, widths[0]), widths[0], true),
                pad(&clip(&line.cc, widths[1]), widths[1], true),
                pad(&line.goodput, widths[2], false),
            );
            let curve = spark::line(&line.curve, tops[usize::from(line.is_per_flow)]);
            text += &format!("{labels}  {}", curve.trim_end());
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    text
}

fn caption(run: &Run, [top, per_flow]: [f64; 2]) -> String {
    let longest = run.variants.iter().map(|v| v.duration_s).fold(0.0, f64::max);
    let seconds = (longest * 1000.0).round() / 1000.0;
    let repeat = if run.variants.iter().any(|v| v.repeats.is_some()) { ", first repeat" } else { "" };
    let each = if per_flow > 0.0 { format!("; per flow {}", short(per_flow)) } else { String::new() };
    format!("goodput over {seconds} s{repeat} (█ = {} Mbit/s{each})", short(top))
}

/// A variant's flows, whose curves have `bins` slices.
struct VariantFlows<'a> {
    variant: &'a VariantResult,
    series: &'a [FlowSeries],
    bins: usize,
    /// The line has the variant's name, as the variant has one flow.
    single: bool,
    both: bool,
}

impl VariantFlows<'_> {
    fn lines(&self, grouping: Grouping) -> Vec<FlowsLine> {
        let variant = self.variant;
        if variant.flows.len() > MANY_FLOWS {
            return self.many(grouping);
        }
        let line = |(i, flow): (usize, &FlowResult)| FlowsLine {
            name: printable(&if self.single { label(variant, self.both) } else { flow.name.clone() }),
            cc: printable(&flow.cc),
            goodput: short(flow.goodput_mbps),
            curve: self.curve(i),
            is_per_flow: false,
        };
        variant.flows.iter().enumerate().map(line).collect()
    }

    fn curve(&self, i: usize) -> Vec<f64> {
        self.series.get(i).map_or_else(Vec::new, |s| spark::goodput(s, self.variant.duration_s, self.bins))
    }

    /// The sums of all flows or of each group, quantiles over the flows, and the flow with the lowest
    /// goodput.
    fn many(&self, grouping: Grouping) -> Vec<FlowsLine> {
        let flows = &self.variant.flows;
        let curves: Vec<Vec<f64>> = (0..flows.len()).map(|i| self.curve(i)).collect();
        let all = (0..flows.len()).collect();
        let parts = grouped(self.variant, grouping).map(|by| groups(self.variant, by)).unwrap_or_default();
        let mut parts: Vec<(String, Vec<usize>)> =
            parts.into_iter().map(|g| (group_name(g.members.len(), &g.name), g.members)).collect();
        if parts.is_empty() {
            parts.push((format!("{} flows", flows.len()), all));
        }
        let mut lines: Vec<FlowsLine> =
            parts.iter().map(|(name, members)| self.sum_line(name, members, &curves)).collect();
        lines.extend(QUANTILES.iter().map(|&(name, q)| self.quantile_line(name, q, &curves)));
        let least = (0..flows.len()).min_by(|&a, &b| flows[a].goodput_mbps.total_cmp(&flows[b].goodput_mbps));
        lines.extend(least.map(|i| FlowsLine {
            name: format!("lowest: {}", printable(&flows[i].name)),
            cc: printable(&flows[i].cc),
            goodput: short(flows[i].goodput_mbps),
            curve: curves[i].clone(),
            is_per_flow: true,
        }));
        lines
    }

    fn sum_line(&self, name: &str, members: &[usize], curves: &[Vec<f64>]) -> FlowsLine {
        let mut sum = vec![0.0; self.bins];
        let mut ccs: Vec<String> = Vec::new();
        let mut goodput = 0.0;
        for &i in members {
            let cc = printable(&self.variant.flows[i].cc);
            if !ccs.contains(&cc) {
                ccs.push(cc);
            }
            goodput += self.variant.flows[i].goodput_mbps;
            sum.iter_mut().zip(&curves[i]).for_each(|(total, part)| *total += part);
        }
        let (name, cc, goodput) = (name.into(), ccs.join(", "), short(goodput));
        FlowsLine { name, cc, goodput, curve: sum, is_per_flow: false }
    }

    /// The `q`-quantile over the flows, for each slice of time and for their goodputs.
    fn quantile_line(&self, name: &str, q: f64, curves: &[Vec<f64>]) -> FlowsLine {
        let at = |bin: usize| {
            let rates = ascending(curves.iter().filter_map(|c| c.get(bin).copied()));
            quantile(&rates, q).unwrap_or(0.0)
        };
        let goodputs = ascending(self.variant.flows.iter().map(|f| f.goodput_mbps));
        FlowsLine {
            name: name.into(),
            cc: String::new(),
            goodput: short(quantile(&goodputs, q).unwrap_or(0.0)),
            curve: (0..self.bins).map(at).collect(),
            is_per_flow: true,
        }
    }
}
