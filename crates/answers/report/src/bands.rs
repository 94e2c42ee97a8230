//! Time series over the repeats of a variant: in the bins of a common grid the median over the repeats, and a
//! band around it.
//!
//! First each repeat is binned on its own: a gauge as the mean of the samples in a bin, a total as its growth
//! in the bin, delivered bytes as a rate. Then the quantiles over the repeats are computed bin by bin. The
//! total of all flows is summed within each repeat first, because the median of sums is not the sum of
//! medians.
//!
//! The band runs from the 10th to the 90th percentile. With fewer than ten repeats these percentiles are
//! unreliable, and the band runs from the minimum to the maximum.

use crate::figures::{MANY_FLOWS, ascending, quantile};
use result::{Cells, Column, Columns, ElementSeries, FlowSeries, Growth, Outcome, Unit, VariantResult};
use std::collections::BTreeMap;

/// The width of a bin is chosen so that there are about this many bins at most.
const MAX_BINS: f64 = 400.0;
/// Minimum samples in a bin.
const MIN_SAMPLES: f64 = 2.0;
/// From this many repeats on, the band lies between the quantiles [`BAND_QUANTILES`].
const MIN_QUANTILE_REPEATS: usize = 10;
const BAND_QUANTILES: [f64; 2] = [0.1, 0.9];
/// Converts bytes per second to Mbit/s.
const MBPS_PER_BYTE_RATE: f64 = 8e-6;

/// Median and band over all repeats of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// Number of repeats.
    pub repeats: usize,
    /// The quantiles between which the band lies; 0 and 1 are minimum and maximum.
    pub between: [f64; 2],
    /// Width of a bin, seconds. The first bin starts with the run; the last one may reach beyond its end.
    pub bin_s: f64,
    /// Goodput of all flows together, Mbit/s; only for several flows that ran at the same time.
    pub total: Option<Band>,
    /// Bands of flows by name; with many flows, of those with the highest goodput.
    pub flows: Vec<(String, BTreeMap<&'static str, Band>)>,
    /// Bands of elements by name.
    pub elements: Vec<(String, BTreeMap<&'static str, Band>)>,
}

/// The band of one quantity, a value per bin; `None` if fewer than half of the repeats have a value.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Band {
    pub low: Vec<Option<f64>>,
    pub median: Vec<Option<f64>>,
    pub high: Vec<Option<f64>>,
}

/// The series of a variant's first repeat, and the bands over all repeats.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlottedSeries<'a> {
    pub flows: &'a [FlowSeries],
    pub elements: &'a [ElementSeries],
    /// Bands over the repeats; `None` for a single run.
    pub bands: Option<&'a Bands>,
}

impl<'a> PlottedSeries<'a> {
    /// The series of an outcome, without bands.
    pub fn of(outcome: &'a Outcome) -> PlottedSeries<'a> {
        PlottedSeries { flows: &outcome.flow_series, elements: &outcome.element_series, bands: None }
    }
}

/// How a column is binned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Binning {
    /// The mean of the samples.
    Mean,
    /// The growth as a rate, Mbit/s.
    Rate,
    /// The growth.
    Count,
}

/// How a column is binned; `None` if it has no band.
fn binning(column: &Column) -> Option<Binning> {
    match (column.name, column.unit) {
        ("delivered_bytes", _) => Some(Binning::Rate),
        ("dropped" | "marked", _) => Some(Binning::Count),
        ("cwnd" | "inflight" | "rtt_ms" | "delay_ms" | "queue_packets" | "tokens_bytes", _) => {
            Some(Binning::Mean)
        }
        (_, Some(Unit::Mbps)) if column.growth == Growth::Gauge => Some(Binning::Mean),
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
    /// A grid for series up to `end_s` that are sampled every `sample_s`.
    fn new(end_s: f64, sample_s: f64) -> Option<Grid> {
        let bin_s = round_up((end_s / MAX_BINS).max(MIN_SAMPLES * sample_s));
        let bins = (end_s / bin_s - 1e-9).ceil();
        (bin_s.is_finite() && (1.0..=2.0 * MAX_BINS).contains(&bins)).then_some(Grid {
            bin_s,
            end_s,
            bins: bins as usize,
        })
    }

    /// The bin of a time.
    fn bin(&self, time_s: f64) -> Option<usize> {
        let bin = (time_s / self.bin_s + 1e-9).floor();
        (bin >= 0.0 && bin < self.bins as f64).then_some(bin as usize)
    }

    /// The mean of the known values in each bin.
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

    /// The growth of a total in each bin. Between samples the total grows linearly if `is_linear`, else at
    /// the later sample.
    fn growth(&self, times: &[f64], totals: &[u64], is_linear: bool) -> Vec<f64> {
        let at = |edge: f64| -> f64 {
            let after = times.partition_point(|&t| t <= edge + 1e-9);
            let Some(before) = after.checked_sub(1) else { return 0.0 };
            let value = totals[before] as f64;
            match times.get(after) {
                Some(next) if is_linear && *next > times[before] => {
                    let part = ((edge - times[before]) / (next - times[before])).max(0.0);
                    value + (totals[after] as f64 - value) * part
                }
                _ => value,
            }
        };
        let edges: Vec<f64> = (0..=self.bins).map(|k| at((k as f64 * self.bin_s).min(self.end_s))).collect();
        edges.windows(2).map(|edge| edge[1] - edge[0]).collect()
    }

    /// The growth of bytes as a rate in Mbit/s, over the part of each bin within the run.
    fn rates(&self, times: &[f64], totals: &[u64]) -> Vec<f64> {
        let duration = |k: usize| ((k + 1) as f64 * self.bin_s).min(self.end_s) - k as f64 * self.bin_s;
        let grown = self.growth(times, totals, true).into_iter().enumerate();
        grown.map(|(k, bytes)| bytes / duration(k).max(1e-9) * MBPS_PER_BYTE_RATE).collect()
    }

    /// Bins a column of a series; `None` if the series lacks it.
    fn column(&self, series: &impl Columns, at: usize, binning: Binning) -> Option<Vec<Option<f64>>> {
        let mut cells = series.cells();
        let Some((_, Cells::Real(times))) = cells.next() else { return None };
        let (_, values) = cells.nth(at.checked_sub(1)?)?;
        let known = |all: Vec<f64>| all.into_iter().map(Some).collect();
        Some(match (binning, values) {
            (Binning::Rate, Cells::Int(all)) => known(self.rates(times, all)),
            (Binning::Count, Cells::Int(all)) => known(self.growth(times, all, false)),
            (_, Cells::Int(all)) => self.means(times, all.iter().map(|&n| Some(n as f64))),
            (_, Cells::IntOrNull(all)) => self.means(times, all.iter().map(|n| n.map(|n| n as f64))),
            (_, Cells::Real(all)) => self.means(times, all.iter().copied().map(Some)),
            (_, Cells::RealOrNull(all)) => self.means(times, all.iter().copied()),
        })
    }
}

/// The smallest 1, 2 or 5 times a power of ten that is not below `x`.
fn round_up(x: f64) -> f64 {
    let power = print::power_of_ten((x.log10() + 1e-9).floor() as i32);
    let times = x / power * (1.0 - 1e-6);
    power * [1.0, 2.0, 5.0].into_iter().find(|&step| times <= step).unwrap_or(10.0)
}

/// The median interval between a series' first samples.
fn interval(times: &[f64]) -> Option<f64> {
    let gaps = ascending(times.windows(2).take(100).map(|pair| pair[1] - pair[0]));
    gaps.get(gaps.len() / 2).copied()
}

impl Band {
    /// The band over the repeats' binned values; `None` without any known value.
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
    /// The bands of a variant's repeats, each with its series; `None` for a single run, for identical
    /// repeats, and without samples.
    pub fn of(variant: &VariantResult, repeats: &[PlottedSeries]) -> Option<Bands> {
        if repeats.len() < 2 || variant.repeats.as_ref().is_none_or(|r| r.identical) {
            return None;
        }
        let sampled = repeats.iter().flat_map(|r| r.flows.iter().map(|s| &s.time_s));
        let sampled = sampled.chain(repeats.iter().flat_map(|r| r.elements.iter().map(|s| &s.time_s)));
        let grid = Grid::new(variant.duration_s, sampled.map(|times| interval(times)).find_map(|i| i)?)?;
        let between = if repeats.len() < MIN_QUANTILE_REPEATS { [0.0, 1.0] } else { BAND_QUANTILES };
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

/// The band of the goodput of all flows together.
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

/// The bands of a series' columns; `repeats` has the series of each repeat.
fn columns<S: Columns>(grid: &Grid, repeats: &[&S], between: [f64; 2]) -> BTreeMap<&'static str, Band> {
    let drawn =
        S::COLUMNS.iter().enumerate().filter_map(|(at, column)| Some((at, column.name, binning(column)?)));
    drawn
        .filter_map(|(at, name, binning)| {
            // Column by column, so that memory holds one column of each repeat.
            let values: Vec<_> = repeats.iter().filter_map(|s| grid.column(*s, at, binning)).collect();
            // Counts that are always zero are not drawn.
            let some = binning != Binning::Count || values.iter().flatten().flatten().any(|&n| n != 0.0);
            let values = if some { values } else { Vec::new() };
            Some((name, Band::over(&values, between)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{ElementPoint, ElementResult, ElementSeries, FlowPoint, FlowResult, FlowSeries, Repeats};

    /// A flow that delivers `bytes` every 10 ms, from `from_s` on.
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
    fn the_band_of_few_repeats_is_minimum_to_maximum() {
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
        assert!(bands.total.is_none(), "a single flow needs no total");
        assert!(!bands.flows[0].1.contains_key("pacing_mbps"), "nothing is known of it");
    }

    #[test]
    fn the_band_of_ten_repeats_is_p10_to_p90() {
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
        // One flow has more where the other has less: the total of each repeat is the same.
        let repeats = [1000, 2000, 3000].map(|a| vec![flow("a", a, 0.0, 1.0), flow("b", 4000 - a, 0.0, 1.0)]);
        let bands = bands(&repeats, &variant(&["a", "b"], false)).unwrap();
        let total = bands.total.unwrap();
        for line in [&total.low, &total.median, &total.high] {
            near(line[9], 3.2);
        }
        near(bands.flows[0].1["delivered_bytes"].low[9], 0.8);
    }

    #[test]
    fn a_value_known_in_less_than_half_of_the_repeats_is_unknown() {
        let repeats = [0.0, 0.5, 1.0].map(|from| vec![flow("f", 1000, from, 30.0)]);
        let bands = bands(&repeats, &variant(&["f"], false)).unwrap();
        let rtt = &bands.flows[0].1["rtt_ms"];
        assert_eq!((rtt.median[10], rtt.low[24]), (None, None), "one of three");
        near(rtt.median[25], 30.0);
        // Zero delivered bytes are a known value.
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
    fn of_many_flows_the_largest_have_bands_and_all_are_in_the_total() {
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
    fn drops_are_counted_and_columns_without_drops_left_out() {
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
        // All drops are between 1.00 and 1.02 s.
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
