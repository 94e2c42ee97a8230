//! Each variant's flows, a line each: name, congestion control, goodput, and its course over time.

use crate::both::{has_both, label};
use crate::number::short;
use crate::spark;
use crate::style::{Style, Tone};
use crate::table::{clip, pad, printable};
use result::{FlowResult, FlowSeries, Run, VariantResult};
use unicode_width::UnicodeWidthStr;

/// Above this many flows a variant gets one line for all of them.
const MOST_FLOWS: usize = 8;
/// Widest that a name may be.
const NAME: usize = 24;
/// Most characters of a curve: beyond them a wide terminal gains nothing.
const MOST_BINS: usize = 100;

/// A line to be: its labels, the flows it adds up.
struct FlowsLine {
    name: String,
    cc: String,
    goodput: String,
    /// Goodput over time.
    curve: Vec<f64>,
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
        pairs.iter().map(|(v, s)| variant_lines(v, s, bins, single, both)).collect()
    };
    let labels = lines(0);
    let width =
        |of: fn(&FlowsLine) -> &str| labels.iter().flatten().map(|l| of(l).width()).max().unwrap_or(0);
    let widths = [width(|l| &l.name).min(NAME), width(|l| &l.cc).min(NAME), width(|l| &l.goodput)];
    // Two blanks before and between the parts.
    let indent = if single { 0 } else { 2 };
    let bins = style.columns().saturating_sub(widths.iter().sum::<usize>() + 6 + indent).min(MOST_BINS);
    let all = lines(bins);
    let top = all.iter().flatten().flat_map(|l| &l.curve).copied().fold(0.0, f64::max);
    let mut text = style.paint(Tone::Dim, &caption(run, top)) + "\n";
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
            let curve = spark::line(&line.curve, top);
            text += &format!("{labels}  {}", curve.trim_end());
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    text
}

fn caption(run: &Run, top: f64) -> String {
    let longest = run.variants.iter().map(|v| v.duration_s).fold(0.0, f64::max);
    let seconds = (longest * 1000.0).round() / 1000.0;
    let repeat = if run.variants.iter().any(|v| v.repeats.is_some()) { ", first repeat" } else { "" };
    format!("goodput over {seconds} s{repeat} (█ = {} Mbit/s)", short(top))
}

/// The lines of one variant, curves cut into `bins` slices; `single` names the line for the variant.
fn variant_lines(
    variant: &VariantResult,
    series: &[FlowSeries],
    bins: usize,
    single: bool,
    both: bool,
) -> Vec<FlowsLine> {
    let curve = |i: usize| match series.get(i) {
        Some(s) => spark::goodput(s, variant.duration_s, bins),
        None => Vec::new(),
    };
    if variant.flows.len() <= MOST_FLOWS {
        let line = |(i, flow): (usize, &FlowResult)| FlowsLine {
            name: if single { printable(&label(variant, both)) } else { printable(&flow.name) },
            cc: printable(&flow.cc),
            goodput: short(flow.goodput_mbps),
            curve: curve(i),
        };
        return variant.flows.iter().enumerate().map(line).collect();
    }
    let mut sum = vec![0.0; bins];
    for i in 0..variant.flows.len() {
        for (total, part) in sum.iter_mut().zip(curve(i)) {
            *total += part;
        }
    }
    let mut ccs: Vec<String> = Vec::new();
    for flow in &variant.flows {
        let cc = printable(&flow.cc);
        if !ccs.contains(&cc) {
            ccs.push(cc);
        }
    }
    vec![FlowsLine {
        name: format!("{} flows", variant.flows.len()),
        cc: ccs.join(", "),
        goodput: short(variant.total_goodput_mbps),
        curve: sum,
    }]
}
