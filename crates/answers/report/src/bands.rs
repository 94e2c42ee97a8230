//! What repeats of a variant have in common over time: in bins of one grid the median over the repeats, and a band
//! around it.
//!
//! Each repeat is brought to the grid alone: of a gauge the mean of the samples in a bin, of a total what came within
//! it, of delivered bytes as a rate. Then the quantiles are taken over the repeats, bin by bin. The total of all flows
//! is summed within each repeat first: the median of sums is not the sum of medians.
//!
//! The band is from the 10th to the 90th percentile; of fewer than ten repeats, whose tails nobody knows, from the
//! least to the most.

use crate::figures::{MANY_FLOWS, ascending, quantile};
use result::{Cells, Column, Columns, ElementSeries, FlowSeries, Growth, Outcome, Unit, VariantResult};
use std::collections::BTreeMap;

/// A bin is as wide as leaves no more of them than this.
const MOST_BINS: f64 = 400.0;
/// Samples that a bin holds at least.
const LEAST_SAMPLES: f64 = 2.0;
/// From so many repeats on the band is between these quantiles.
const MANY_REPEATS: usize = 10;
const OF_MANY: [f64; 2] = [0.1, 0.9];
/// Mbit/s of bytes a second.
const MBPS: f64 = 8e-6;

/// Median and band of all repeats of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// How many repeats.
    pub repeats: usize,
    /// The quantiles over them that the band lies between: 0 and 1 are least and most.
    pub between: [f64; 2],
    /// Width of a bin, seconds; the first begins with the run, the last may reach beyond its end.
    pub bin_s: f64,
    /// Goodput of all flows together, Mbit/s; of several flows that ran together.
    pub total: Option<Band>,
    /// Of flows, by name; of many those with most goodput.
    pub flows: Vec<(String, BTreeMap<&'static str, Band>)>,
    /// Of elements, by name.
    pub elements: Vec<(String, BTreeMap<&'static str, Band>)>,
}

/// One quantity: a value a bin; `None` where less than half of the repeats have one.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Band {
    /// The lower end.
    pub low: Vec<Option<f64>>,
    /// The median.
    pub median: Vec<Option<f64>>,
    /// The upper end.
    pub high: Vec<Option<f64>>,
}

/// One variant's series, those of its first repeat, and what all repeats have in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlottedSeries<'a> {
    /// Of flows.
    pub flows: &'a [FlowSeries],
    /// Of elements.
    pub elements: &'a [ElementSeries],
    /// Over the repeats; `None` of a single run.
    pub bands: Option<&'a Bands>,
}

impl<'a> PlottedSeries<'a> {
    /// An outcome's.
    pub fn of(outcome: &'a Outcome) -> PlottedSeries<'a> {
        PlottedSeries { flows: &outcome.flow_series, elements: &outcome.element_series, bands: None }
    }
}

/// What a band of a column counts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// The mean of the samples.
    Mean,
    /// Growth as a rate, Mbit/s.
    Rate,
    /// Growth.
    Count,
}

/// How a column is drawn over repeats; `None`: not.
fn how(column: &Column) -> Option<How> {
    match (column.name, column.unit) {
        ("delivered_bytes", _) => Some(How::Rate),
        ("dropped" | "marked", _) => Some(How::Count),
        ("cwnd" | "inflight" | "rtt_ms" | "delay_ms" | "queue_packets" | "tokens_bytes", _) => {
            Some(How::Mean)
        }
        (_, Some(Unit::Mbps)) if column.growth == Growth::Gauge => Some(How::Mean),
        _ => None,
    }
}

/// Bins of time.
#[derive(Clone, Copy, Debug)]
struct Grid {
    bin_s: f64,
    end_s: f64,
    bins: usize,
}

impl Grid {
    /// For series up to `end_s` that are sampled every `sample_s`.
    fn new(end_s: f64, sample_s: f64) -> Option<Grid> {
        let bin_s = round((end_s / MOST_BINS).max(LEAST_SAMPLES * sample_s));
        let bins = (end_s / bin_s - 1e-9).ceil();
        (bin_s.is_finite() && (1.0..=2.0 * MOST_BINS).contains(&bins)).then_some(Grid {
            bin_s,
            end_s,
            bins: bins as usize,
        })
    }

    /// The bin that a moment lies in.
    fn bin(&self, time_s: f64) -> Option<usize> {
        let bin = (time_s / self.bin_s + 1e-9).floor();
        (bin >= 0.0 && bin < self.bins as f64).then_some(bin as usize)
    }

    /// The mean of what is known in each bin.
    fn means(&self, times: &[f64], values: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0u32); self.bins];
        for (&time, value) in times.iter().zip(values) {
            if let (Some(bin), Some(value)) = (self.bin(time), value.filter(|v| v.is_finite())) {
                sums[bin].0 += value;
                sums[bin].1 += 1;
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
    }

    /// What a total grew by in each bin: between samples in a straight line when it `flows`, else at the later one.
    fn growth(&self, times: &[f64], totals: &[u64], flows: bool) -> Vec<f64> {
        let at = |edge: f64| -> f64 {
            let after = times.partition_point(|&t| t <= edge + 1e-9);
            let Some(before) = after.checked_sub(1) else { return 0.0 };
            let value = totals[before] as f64;
            match times.get(after) {
                Some(next) if flows && *next > times[before] => {
                    let part = ((edge - times[before]) / (next - times[before])).max(0.0);
                    value + (totals[after] as f64 - value) * part
                }
                _ => value,
            }
        };
        let edges: Vec<f64> = (0..=self.bins).map(|k| at((k as f64 * self.bin_s).min(self.end_s))).collect();
        edges.windows(2).map(|edge| edge[1] - edge[0]).collect()
    }

    /// Growth of bytes as Mbit/s over as much of each bin as the run lasted.
    fn rates(&self, times: &[f64], totals: &[u64]) -> Vec<f64> {
        let lasted = |k: usize| ((k + 1) as f64 * self.bin_s).min(self.end_s) - k as f64 * self.bin_s;
        let grown = self.growth(times, totals, true).into_iter().enumerate();
        grown.map(|(k, bytes)| bytes / lasted(k).max(1e-9) * MBPS).collect()
    }

    /// A column of a series on the grid; `None` where it says nothing.
    fn column(&self, series: &impl Columns, at: usize, how: How) -> Option<Vec<Option<f64>>> {
        let mut cells = series.cells();
        let Some((_, Cells::Real(times))) = cells.next() else { return None };
        let (_, values) = cells.nth(at.checked_sub(1)?)?;
        let known = |all: Vec<f64>| all.into_iter().map(Some).collect();
        Some(match (how, values) {
            (How::Rate, Cells::Int(all)) => known(self.rates(times, all)),
            (How::Count, Cells::Int(all)) => known(self.growth(times, all, false)),
            (_, Cells::Int(all)) => self.means(times, all.iter().map(|&n| Some(n as f64))),
            (_, Cells::IntOrNull(all)) => self.means(times, all.iter().map(|n| n.map(|n| n as f64))),
            (_, Cells::Real(all)) => self.means(times, all.iter().copied().map(Some)),
            (_, Cells::RealOrNull(all)) => self.means(times, all.iter().copied()),
        })
    }
}

/// 1, 2 or 5 times a power of ten, the nearest not below `x`.
fn round(x: f64) -> f64 {
    let power = print::ten_to((x.log10() + 1e-9).floor() as i32);
    let times = x / power * (1.0 - 1e-6);
    power * [1.0, 2.0, 5.0].into_iter().find(|&step| times <= step).unwrap_or(10.0)
}

/// The median distance of a series' first samples.
fn interval(times: &[f64]) -> Option<f64> {
    let gaps = ascending(times.windows(2).take(100).map(|pair| pair[1] - pair[0]));
    gaps.get(gaps.len() / 2).copied()
}

impl Band {
    /// Over the repeats' values on the grid; `None` where nothing is ever known.
    fn over(repeats: &[Vec<Option<f64>>], [low, high]: [f64; 2]) -> Option<Band> {
        let bins = repeats.iter().map(Vec::len).max()?;
        let mut band = Band::default();
        for bin in 0..bins {
            let known = ascending(repeats.iter().filter_map(|r| *r.get(bin)?));
            let enough = 2 * known.len() >= repeats.len();
            let at = |q| quantile(&known, q).filter(|_| enough);
            band.low.push(at(low));
            band.median.push(at(0.5));
            band.high.push(at(high));
        }
        band.high.iter().any(Option::is_some).then_some(band)
    }
}

impl Bands {
    /// Of a variant's repeats, each with its series; `None` of a single one, of repeats that are the same run, and where
    /// nothing was sampled.
    pub fn of(variant: &VariantResult, repeats: &[PlottedSeries]) -> Option<Bands> {
        if repeats.len() < 2 || variant.repeats.as_ref().is_none_or(|r| r.identical) {
            return None;
        }
        let sampled = repeats.iter().flat_map(|r| r.flows.iter().map(|s| &s.time_s));
        let sampled = sampled.chain(repeats.iter().flat_map(|r| r.elements.iter().map(|s| &s.time_s)));
        let grid = Grid::new(variant.duration_s, sampled.map(|times| interval(times)).find_map(|i| i)?)?;
        let between = if repeats.len() < MANY_REPEATS { [0.0, 1.0] } else { OF_MANY };
        let mut flows: Vec<&result::FlowResult> = variant.flows.iter().collect();
        flows.sort_by(|a, b| b.goodput_mbps.total_cmp(&a.goodput_mbps));
        flows.truncate(MANY_FLOWS);
        let of_flow = |name: &str| {
            let own = repeats.iter().filter_map(|r| r.flows.iter().find(|s| s.name == name));
            (name.to_string(), columns(&grid, &own.collect::<Vec<_>>(), between))
        };
        let of_element = |name: &str| {
            let own = repeats.iter().filter_map(|r| r.elements.iter().find(|s| s.name == name));
            (name.to_string(), columns(&grid, &own.collect::<Vec<_>>(), between))
        };
        Some(Bands {
            repeats: repeats.len(),
            between,
            bin_s: grid.bin_s,
            total: total(&grid, variant, repeats, between),
            flows: flows.into_iter().map(|f| of_flow(&f.name)).collect(),
            elements: variant.elements.iter().map(|e| of_element(&e.name)).collect(),
        })
    }
}

/// Goodput of all flows together.
fn total(grid: &Grid, variant: &VariantResult, repeats: &[PlottedSeries], between: [f64; 2]) -> Option<Band> {
    if variant.flows.len() < 2 || variant.one_at_a_time {
        return None;
    }
    let sum = |repeat: &PlottedSeries| {
        let mut sum = vec![0.0; grid.bins];
        for series in repeat.flows {
            let rates = grid.rates(&series.time_s, &series.delivered_bytes);
            sum.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
        }
        sum.into_iter().map(Some).collect()
    };
    Band::over(&repeats.iter().map(sum).collect::<Vec<_>>(), between)
}

/// The bands of a series, given once for each repeat.
fn columns<S: Columns>(grid: &Grid, repeats: &[&S], between: [f64; 2]) -> BTreeMap<&'static str, Band> {
    let drawn =
        S::COLUMNS.iter().enumerate().filter_map(|(at, column)| Some((at, column.name, how(column)?)));
    drawn
        .filter_map(|(at, name, how)| {
            // Column by column: no more than one of each repeat is held.
            let values: Vec<_> = repeats.iter().filter_map(|s| grid.column(*s, at, how)).collect();
            // Of what never was there is nothing to draw.
            let some = how != How::Count || values.iter().flatten().flatten().any(|&n| n != 0.0);
            let values = if some { values } else { Vec::new() };
            Some((name, Band::over(&values, between)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{ElementPoint, ElementResult, ElementSeries, FlowPoint, FlowResult, FlowSeries, Repeats};

    /// A flow that delivers so many bytes every 10 ms, from `from_s` on.
    fn flow(name: &str, bytes: u64, from_s: f64, rtt_ms: f64) -> FlowSeries {
        let mut s = FlowSeries::new(name);
        for i in 0..=200 {
            let time_s = i as f64 / 100.0;
            let begun = time_s >= from_s;
            let delivered_bytes = (((time_s - from_s) * 100.0).round().max(0.0) as u64) * bytes;
            s.push(FlowPoint {
                time_s,
                delivered_bytes,
                rtt_ms: begun.then_some(rtt_ms),
                ..FlowPoint::default()
            });
        }
        s
    }

    fn variant(names: &[&str], identical: bool) -> VariantResult {
        let flows = names.iter().map(|name| FlowResult { name: (*name).into(), ..FlowResult::default() });
        let repeats = Repeats { n: 3, identical, ..Repeats::default() };
        VariantResult {
            flows: flows.collect(),
            duration_s: 2.0,
            repeats: Some(repeats),
            ..VariantResult::default()
        }
    }

    fn bands(repeats: &[Vec<FlowSeries>], variant: &VariantResult) -> Option<Bands> {
        let shown: Vec<PlottedSeries> =
            repeats.iter().map(|flows| PlottedSeries { flows, ..PlottedSeries::default() }).collect();
        Bands::of(variant, &shown)
    }

    fn near(value: Option<f64>, want: f64) {
        assert!(value.is_some_and(|v| (v - want).abs() < 1e-9), "{value:?}, not {want}");
    }

    #[test]
    fn few_repeats_have_their_least_and_most_around_the_median() {
        // 1000, 2000 and 6000 bytes every 10 ms are 0.8, 1.6 and 4.8 Mbit/s.
        let repeats = [1000, 2000, 6000].map(|bytes| vec![flow("f", bytes, 0.0, bytes as f64 / 100.0)]);
        let bands = bands(&repeats, &variant(&["f"], false)).unwrap();
        assert_eq!((bands.repeats, bands.between, bands.bin_s), (3, [0.0, 1.0], 0.02));
        let rate = &bands.flows[0].1["delivered_bytes"];
        assert_eq!(rate.median.len(), 100);
        for bin in [0, 50, 99] {
            near(rate.low[bin], 0.8);
            near(rate.median[bin], 1.6);
            near(rate.high[bin], 4.8);
        }
        near(bands.flows[0].1["rtt_ms"].median[7], 20.0);
        assert!(bands.total.is_none(), "of one flow its own says it");
        assert!(!bands.flows[0].1.contains_key("pacing_mbps"), "nothing is known of it");
    }

    #[test]
    fn ten_repeats_have_their_tenth_and_ninetieth_percentile() {
        let repeats: Vec<_> = (1..=11).map(|i| vec![flow("f", 1000, 0.0, i as f64)]).collect();
        let bands = bands(&repeats, &variant(&["f"], false)).unwrap();
        assert_eq!(bands.between, [0.1, 0.9]);
        let rtt = &bands.flows[0].1["rtt_ms"];
        // R: quantile(1:11, c(.1, .5, .9)) is 2 6 10.
        near(rtt.low[3], 2.0);
        near(rtt.median[3], 6.0);
        near(rtt.high[3], 10.0);
    }

    #[test]
    fn the_total_is_summed_within_each_repeat() {
        // Where one flow has more the other has less: every repeat carries as much.
        let repeats = [1000, 2000, 3000].map(|a| vec![flow("a", a, 0.0, 1.0), flow("b", 4000 - a, 0.0, 1.0)]);
        let bands = bands(&repeats, &variant(&["a", "b"], false)).unwrap();
        let total = bands.total.unwrap();
        for of in [&total.low, &total.median, &total.high] {
            near(of[9], 3.2);
        }
        near(bands.flows[0].1["delivered_bytes"].low[9], 0.8);
    }

    #[test]
    fn what_less_than_half_of_the_repeats_know_is_unknown() {
        let repeats = [0.0, 0.5, 1.0].map(|from| vec![flow("f", 1000, from, 30.0)]);
        let bands = bands(&repeats, &variant(&["f"], false)).unwrap();
        let rtt = &bands.flows[0].1["rtt_ms"];
        assert_eq!((rtt.median[10], rtt.low[24]), (None, None), "one of three");
        near(rtt.median[25], 30.0);
        // Nothing delivered is known to be nothing.
        near(bands.flows[0].1["delivered_bytes"].low[30], 0.0);
        near(bands.flows[0].1["delivered_bytes"].median[30], 0.8);
    }

    #[test]
    fn a_single_run_and_identical_ones_have_no_band() {
        let one = || vec![flow("f", 1000, 0.0, 30.0)];
        assert!(bands(&[one()], &variant(&["f"], false)).is_none());
        assert!(bands(&[one(), one(), one()], &variant(&["f"], true)).is_none());
        assert!(bands(&[vec![], vec![]], &variant(&["f"], false)).is_none(), "nothing was sampled");
    }

    #[test]
    fn of_many_flows_those_with_most_have_bands_and_all_are_in_the_total() {
        let names: Vec<String> = (0..12).map(|i| format!("f{i}")).collect();
        let mut v = variant(&names.iter().map(String::as_str).collect::<Vec<_>>(), false);
        v.flows.iter_mut().enumerate().for_each(|(i, f)| f.goodput_mbps = i as f64);
        let repeats = [1, 2].map(|_| names.iter().map(|n| flow(n, 1000, 0.0, 1.0)).collect::<Vec<_>>());
        let bands = bands(&repeats, &v).unwrap();
        let drawn: Vec<&str> = bands.flows.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(drawn, ["f11", "f10", "f9", "f8", "f7", "f6", "f5", "f4"]);
        near(bands.total.unwrap().median[4], 12.0 * 0.8);
    }

    #[test]
    fn drops_of_some_repeats_are_counted_and_of_none_left_out() {
        let element = |name: &str, dropped: u64| {
            let mut s = ElementSeries { name: name.into(), ..ElementSeries::default() };
            for i in 0..=200 {
                let dropped = if i >= 101 { dropped } else { 0 };
                s.push(ElementPoint {
                    time_s: i as f64 / 100.0,
                    queue_packets: 3,
                    dropped,
                    ..Default::default()
                });
            }
            s
        };
        let mut v = variant(&[], false);
        v.elements = ["a", "b"].map(|n| ElementResult { name: n.into(), ..ElementResult::default() }).into();
        let repeats = [0, 4, 9].map(|n| [element("a", n), element("b", 0)]);
        let shown: Vec<PlottedSeries> =
            repeats.iter().map(|elements| PlottedSeries { elements, ..PlottedSeries::default() }).collect();
        let bands = Bands::of(&v, &shown).unwrap();
        let dropped = &bands.elements[0].1["dropped"];
        // All of it between 1.00 and 1.02 s.
        assert_eq!(
            (dropped.low[50], dropped.median[50], dropped.high[50]),
            (Some(0.0), Some(4.0), Some(9.0))
        );
        assert_eq!(dropped.high.iter().flatten().sum::<f64>(), 9.0);
        let all: Vec<&str> = bands.elements[1].1.keys().copied().collect();
        assert_eq!(all, ["queue_packets"], "nothing was dropped or marked there, and it has no bucket");
    }

    #[test]
    fn the_grid_is_round_and_holds_two_samples_a_bin() {
        let bin = |end, sample| Grid::new(end, sample).map(|g| (g.bin_s, g.bins));
        assert_eq!(bin(10.0, 0.01), Some((0.05, 200)));
        assert_eq!(bin(20.0, 0.01), Some((0.05, 400)));
        assert_eq!(bin(4.0, 0.01), Some((0.02, 200)));
        assert_eq!(bin(1.0, 0.5), Some((1.0, 1)));
        assert_eq!(bin(0.0, 0.01), None);
        assert_eq!(bin(f64::NAN, 0.01), None);
    }
}
