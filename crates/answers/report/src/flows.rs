//! Each variant's flows, a line each: name, congestion control, goodput, and its course over time. Of many flows the sums of
//! their groups, quantiles over all of them, and the one that gets least.

use crate::both::{has_both, label};
use crate::figures::{MANY_FLOWS, ascending, groups, quantile};
use crate::number::short;
use crate::spark;
use crate::style::{Grouping, Style, Tone};
use crate::summary::{group_name, grouped};
use crate::width::{clip, pad, printable};
use result::{FlowResult, FlowSeries, Run, VariantResult};
use unicode_width::UnicodeWidthStr;

/// Widest that a name may be.
const NAME: usize = 24;
/// Most characters of a curve: beyond them a wide terminal gains nothing.
const MOST_BINS: usize = 100;

/// Quantiles of many flows' rates, the highest first.
const QUANTILES: [(&str, f64); 3] = [("each, p95", 0.95), ("each, median", 0.5), ("each, p5", 0.05)];

/// A line to be: its labels, what they say.
struct FlowsLine {
    name: String,
    cc: String,
    goodput: String,
    /// Goodput over time.
    curve: Vec<f64>,
    /// It is of one flow among many, whose curves have a scale of their own.
    of_many: bool,
}

/// Flows of variants with `bins` slices of time; empty without any series.
pub(crate) fn lines(run: &Run, series: &[&[FlowSeries]], style: Style) -> String {
    if series.iter().all(|s| s.iter().all(|f| f.time_s.len() < 2)) {
        return String::new();
    }
    let pairs: Vec<(&VariantResult, &[FlowSeries])> =
        run.variants.iter().zip(series.iter().copied()).collect();
    // One flow each: the variant's name says enough.
    let both = has_both(run);
    let single = run.variants.iter().all(|v| v.flows.len() <= 1);
    let lines = |bins| -> Vec<Vec<FlowsLine>> {
        let of = |&(variant, series)| VariantFlows { variant, series, bins, single, both };
        pairs.iter().map(|pair| of(pair).lines(style.grouping)).collect()
    };
    let labels = lines(0);
    let width =
        |of: fn(&FlowsLine) -> &str| labels.iter().flatten().map(|l| of(l).width()).max().unwrap_or(0);
    let widths = [width(|l| &l.name).min(NAME), width(|l| &l.cc).min(NAME), width(|l| &l.goodput)];
    // Two blanks before and between the parts.
    let indent = if single { 0 } else { 2 };
    let bins = style.columns().saturating_sub(widths.iter().sum::<usize>() + 6 + indent).min(MOST_BINS);
    let all = lines(bins);
    let top = |of_many: bool| {
        let curves = all.iter().flatten().filter(|l| l.of_many == of_many).flat_map(|l| &l.curve);
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
            let curve = spark::line(&line.curve, tops[usize::from(line.of_many)]);
            text += &format!("{labels}  {}", curve.trim_end());
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    text
}

fn caption(run: &Run, [top, of_many]: [f64; 2]) -> String {
    let longest = run.variants.iter().map(|v| v.duration_s).fold(0.0, f64::max);
    let seconds = (longest * 1000.0).round() / 1000.0;
    let repeat = if run.variants.iter().any(|v| v.repeats.is_some()) { ", first repeat" } else { "" };
    let each = if of_many > 0.0 { format!("; of each flow {}", short(of_many)) } else { String::new() };
    format!("goodput over {seconds} s{repeat} (█ = {} Mbit/s{each})", short(top))
}

/// A variant's flows, whose curves are to be cut into `bins` slices.
struct VariantFlows<'a> {
    variant: &'a VariantResult,
    series: &'a [FlowSeries],
    bins: usize,
    /// The line is named for the variant, which has one flow.
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
            of_many: false,
        };
        variant.flows.iter().enumerate().map(line).collect()
    }

    fn curve(&self, i: usize) -> Vec<f64> {
        self.series.get(i).map_or_else(Vec::new, |s| spark::goodput(s, self.variant.duration_s, self.bins))
    }

    /// What the flows, or each group of them, carry together; how much each of them gets; and which gets least.
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
            parts.iter().map(|(name, members)| self.together(name, members, &curves)).collect();
        lines.extend(QUANTILES.iter().map(|&(name, q)| self.among(name, q, &curves)));
        let least = (0..flows.len()).min_by(|&a, &b| flows[a].goodput_mbps.total_cmp(&flows[b].goodput_mbps));
        lines.extend(least.map(|i| FlowsLine {
            name: format!("least: {}", printable(&flows[i].name)),
            cc: printable(&flows[i].cc),
            goodput: short(flows[i].goodput_mbps),
            curve: curves[i].clone(),
            of_many: true,
        }));
        lines
    }

    fn together(&self, name: &str, members: &[usize], curves: &[Vec<f64>]) -> FlowsLine {
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
        FlowsLine { name, cc, goodput, curve: sum, of_many: false }
    }

    /// The `q`-quantile over the flows, of each slice of time and of their goodputs.
    fn among(&self, name: &str, q: f64, curves: &[Vec<f64>]) -> FlowsLine {
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
            of_many: true,
        }
    }
}
