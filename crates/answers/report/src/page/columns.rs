//! Encodes time series for the page: integers, differences, variable length, deflate, base64.
//! `result::varints` defines the columns.

use crate::bands::{Band, Bands, PlottedSeries};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use result::varints::{VarintColumn, base64, put_column};
use result::{Cells, ElementSeries, FlowSeries, Growth, Unit};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// The position and encoding of a column in the decompressed blob.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageColumn {
    /// Offset of the first byte.
    at: usize,
    /// Number of values.
    rows: usize,
    /// Divisor: a value is a stored integer divided by this.
    per: u32,
    /// Stored are differences (1) or differences of differences (2).
    order: u8,
    /// Some values are null.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    nulls: bool,
}

pub(crate) type Columns = BTreeMap<&'static str, PageColumn>;

/// A flow's columns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "FlowSeries"))]
pub(crate) struct FlowColumns {
    /// The flow's name.
    name: String,
    /// Names of the states that the column `state` counts.
    states: Vec<String>,
    /// Columns by name.
    columns: Columns,
    /// Retransmissions: `time_s`, `byte`, `len`.
    resent: Columns,
    /// Responses: `start_s`, `seconds`, and `page`, which is 1 for a whole page.
    responses: Columns,
}

/// An element's columns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "ElementSeries"))]
pub(crate) struct ElementColumns {
    /// The element's name.
    name: String,
    /// Columns by name.
    columns: Columns,
}

/// The directory of a variant's series; the bytes are in the script element `blob`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SeriesDirectory {
    /// Id of the script element that holds the columns.
    blob: String,
    /// Size when decompressed.
    bytes: usize,
    /// Series of flows.
    flows: Vec<FlowColumns>,
    /// Series of elements.
    elements: Vec<ElementColumns>,
    /// Bands over the repeats, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    bands: Option<BandColumns>,
}

/// The columns of median and band over the repeats, in bins of time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Bands"))]
struct BandColumns {
    /// Number of repeats.
    repeats: usize,
    /// The quantiles between which the bands lie; 0 and 1 are minimum and maximum.
    between: [f64; 2],
    /// Width of a bin, seconds; the first bin starts with the run.
    bin_s: f64,
    /// Goodput of all flows together, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<PageBand>,
    /// Bands of flows; with many flows, of those with the highest goodput.
    flows: Vec<SeriesBands>,
    /// Bands of elements.
    elements: Vec<SeriesBands>,
}

/// A band: the columns `low`, `median` and `high`, with a value per bin.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Band"))]
struct PageBand {
    /// Columns by name.
    columns: Columns,
}

/// Bands of one flow or element by column; `delivered_bytes` is goodput in Mbit/s.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SeriesBands {
    /// Name of the flow or element.
    name: String,
    /// Bands by column.
    bands: BTreeMap<&'static str, PageBand>,
}

/// Precision: microseconds of time and RTT; kilobits per second and thousandths of a gain.
pub(crate) const MICRO: u32 = 1_000_000;
pub(crate) const MILLI: u32 = 1_000;
/// The name of a whole page among responses (`units::Awaited::Page`).
const PAGE: &str = "page";

/// Encodes a variant's series: the directory and the columns' bytes. `None` without series.
pub(crate) fn encode(blob: &str, plotted: PlottedSeries) -> Option<(SeriesDirectory, Vec<u8>)> {
    if plotted.flows.is_empty() && plotted.elements.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    let flows = plotted.flows.iter().map(|s| flow(&mut bytes, s)).collect();
    let elements = plotted.elements.iter().map(|s| element(&mut bytes, s)).collect();
    let bands = plotted.bands.map(|b| bands(&mut bytes, b));
    let series = SeriesDirectory { blob: blob.into(), bytes: bytes.len(), flows, elements, bands };
    Some((series, bytes))
}

fn bands(out: &mut Vec<u8>, bands: &Bands) -> BandColumns {
    // Bytes are whole; all other columns, including means of counts, are kept to a thousandth.
    let mut encode = |name: &str, band: &Band| {
        let per = if name == "tokens_bytes" { 1 } else { MILLI };
        let mut c = PageSheet::new(out);
        for (name, values) in [("low", &band.low), ("median", &band.median), ("high", &band.high)] {
            c.reals(name, values, per);
        }
        PageBand { columns: c.columns }
    };
    let total = bands.total.as_ref().map(|band| encode("", band));
    let mut named = |list: &[(String, BTreeMap<&'static str, Band>)]| {
        let series = |(name, all): &(String, BTreeMap<&'static str, Band>)| {
            let bands = all.iter().map(|(&column, band)| (column, encode(column, band))).collect();
            SeriesBands { name: name.clone(), bands }
        };
        list.iter().map(series).collect::<Vec<_>>()
    };
    let (flows, elements) = (named(&bands.flows), named(&bands.elements));
    BandColumns { repeats: bands.repeats, between: bands.between, bin_s: bands.bin_s, total, flows, elements }
}

/// Encodes bytes for a page: base64 of a raw deflate stream.
pub fn packed(bytes: &[u8]) -> String {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let packed = deflate.write_all(bytes).and_then(|()| deflate.finish()).unwrap_or_default();
    base64(&packed)
}

fn flow(out: &mut Vec<u8>, s: &FlowSeries) -> FlowColumns {
    let mut c = PageSheet::new(out);
    c.series(s);
    c.counts("state", s.state.iter().map(|&n| n as u64));
    let columns = c.columns;
    let mut c = PageSheet::new(out);
    let resent = || s.resent.iter().filter(|r| r.sender == 0);
    c.reals("time_s", &resent().map(|r| Some(r.time_s)).collect::<Vec<_>>(), MICRO);
    c.counts("byte", resent().map(|r| r.byte));
    c.counts("len", resent().map(|r| r.len as u64));
    let resent = c.columns;
    let mut c = PageSheet::new(out);
    c.reals("start_s", &s.responses.iter().map(|r| Some(r.start_s)).collect::<Vec<_>>(), MICRO);
    c.reals("seconds", &s.responses.iter().map(|r| Some(r.seconds)).collect::<Vec<_>>(), MICRO);
    c.counts("page", s.responses.iter().map(|r| u64::from(r.what == PAGE)));
    FlowColumns { name: s.name.clone(), states: s.states.clone(), columns, resent, responses: c.columns }
}

fn element(out: &mut Vec<u8>, s: &ElementSeries) -> ElementColumns {
    let mut c = PageSheet::new(out);
    c.series(s);
    ElementColumns { name: s.name.clone(), columns: c.columns }
}

/// The precision of a real column by its unit: values are whole multiples of 1 / this.
fn per(unit: Option<Unit>) -> u32 {
    match unit {
        Some(Unit::Seconds) => MICRO,
        Some(Unit::Millis | Unit::Mbps | Unit::Factor) => MILLI,
        Some(Unit::Bytes | Unit::Packets | Unit::Rounds) | None => 1,
    }
}

/// Writes columns to a blob and records their positions.
pub(crate) struct PageSheet<'a> {
    out: &'a mut Vec<u8>,
    pub(crate) columns: Columns,
}

impl<'a> PageSheet<'a> {
    /// A sheet whose columns are appended to `out`.
    pub(crate) fn new(out: &'a mut Vec<u8>) -> PageSheet<'a> {
        PageSheet { out, columns: Columns::new() }
    }

    /// Writes all columns of a series. A total that stays 0, such as the sent bytes of datagrams, is left
    /// out.
    fn series(&mut self, series: &impl result::Columns) {
        for (column, cells) in series.cells() {
            // Samples are equally spaced, so second differences of time are small.
            let order = if column.unit == Some(Unit::Seconds) { 2 } else { 1 };
            let per = match cells {
                Cells::Int(all) if column.growth == Growth::Total && all.iter().all(|&n| n == 0) => continue,
                Cells::Int(_) | Cells::IntOrNull(_) => 1,
                Cells::Real(_) | Cells::RealOrNull(_) => per(column.unit),
            };
            self.put(column.name, per, order, cells);
        }
    }

    fn reals(&mut self, name: &'static str, values: &[Option<f64>], per: u32) {
        self.put(name, per, 1, Cells::RealOrNull(values));
    }

    /// Writes a column of whole numbers.
    pub(crate) fn counts(&mut self, name: &'static str, values: impl Iterator<Item = u64>) {
        self.put(name, 1, 1, Cells::Int(&values.collect::<Vec<_>>()));
    }

    /// Writes a column of multiples of 1 / `per`; `None` is unknown.
    pub(crate) fn multiples(
        &mut self,
        name: &'static str,
        per: u32,
        values: impl Iterator<Item = Option<i64>>,
    ) {
        let all: Vec<_> = values.map(|n| n.map(|n| n as u64)).collect();
        self.put(name, per, 1, Cells::IntOrNull(&all));
    }

    /// Writes a column, unless all its values are null.
    fn put(&mut self, name: &'static str, per: u32, order: u8, cells: Cells) {
        if let Some(VarintColumn { at, rows, nulls }) = put_column(self.out, cells, per, order) {
            self.columns.insert(name, PageColumn { at, rows, per, order, nulls });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{FlowPoint, Resent};
    use std::io::Read;

    fn unbase64(text: &str) -> Vec<u8> {
        let value = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let bits: Vec<u8> = text.bytes().filter(|&c| c != b'=').map(value).collect();
        let bytes = bits.chunks(4).flat_map(|c| {
            let n = c.iter().fold(0u32, |n, &v| n << 6 | v as u32) << (6 * (4 - c.len()));
            n.to_be_bytes()[1..c.len()].to_vec()
        });
        bytes.collect()
    }

    /// The values of a column, as the page reads them.
    fn decode(blob: &[u8], c: &PageColumn) -> Vec<f64> {
        let mut at = c.at;
        let mut next = || {
            let (mut n, mut shift) = (0u64, 0);
            loop {
                let byte = blob[at];
                at += 1;
                n |= ((byte & 0x7f) as u64) << shift;
                shift += 7;
                if byte < 0x80 {
                    return n;
                }
            }
        };
        let (mut value, mut step) = (0i64, 0i64);
        let mut row = |n: u64| {
            if c.nulls && n == 0 {
                return f64::NAN;
            }
            let n = n - c.nulls as u64;
            let d = (n >> 1) as i64 ^ -((n & 1) as i64);
            if c.order == 2 {
                step += d;
                value += step;
            } else {
                value += d;
            }
            value as f64 / c.per as f64
        };
        (0..c.rows).map(|_| row(next())).collect()
    }

    #[test]
    fn encoded_series_decode_to_the_same_values() {
        let mut s = FlowSeries::new("f");
        let rtts = [None, Some(30.125), Some(29.5), None, Some(1234.567)];
        let bytes = [0, 1_448, 1_448, 9_007_199_254_740_991, 5];
        for i in 0..5 {
            s.push(FlowPoint {
                time_s: i as f64 * 0.01,
                delivered_bytes: bytes[i],
                rtt_ms: rtts[i],
                sent_bytes: i as u64,
                ssthresh: (i >= 2).then_some(7),
                ..FlowPoint::default()
            });
        }
        let first = Resent { time_s: 0.0315, byte: 77, len: 1448, sender: 0 };
        // The page does not draw the bytes of the other connection.
        s.resent = vec![first, Resent { sender: 1, time_s: 0.04, ..first }];
        let (series, encoded) =
            encode("series-0", PlottedSeries { flows: &[s], ..PlottedSeries::default() }).unwrap();
        let mut blob = Vec::new();
        flate2::read::DeflateDecoder::new(&unbase64(&packed(&encoded))[..]).read_to_end(&mut blob).unwrap();
        assert_eq!(blob.len(), series.bytes);
        let flow = &series.flows[0];
        let column = |name| decode(&blob, &flow.columns[name]);
        assert_eq!(column("time_s"), [0.0, 0.01, 0.02, 0.03, 0.04]);
        assert_eq!(column("delivered_bytes"), bytes.map(|b| b as f64));
        assert_eq!(format!("{:?}", column("rtt_ms")), "[NaN, 30.125, 29.5, NaN, 1234.567]");
        assert_eq!(format!("{:?}", column("ssthresh")), "[NaN, NaN, 7.0, 7.0, 7.0]");
        assert!(!flow.columns.contains_key("pacing_mbps"), "null throughout");
        assert_eq!(column("sent_bytes"), [0.0, 1.0, 2.0, 3.0, 4.0]);
        let mut udp = FlowSeries::new("udp");
        udp.push(FlowPoint::default());
        let (series, _) =
            encode("series-0", PlottedSeries { flows: &[udp], ..PlottedSeries::default() }).unwrap();
        assert!(!series.flows[0].columns.contains_key("sent_bytes"), "nothing was counted");
        assert_eq!(decode(&blob, &flow.resent["time_s"]), [0.0315]);
        assert_eq!(decode(&blob, &flow.resent["byte"]), [77.0]);
        assert!(encode("series-0", PlottedSeries::default()).is_none());
    }

    #[test]
    fn bands_are_encoded_like_any_column() {
        let band = Band {
            low: vec![None, Some(1.25)],
            median: vec![None, Some(2.0)],
            high: vec![Some(3.0), Some(3.5)],
        };
        let all = Bands {
            repeats: 20,
            between: [0.1, 0.9],
            bin_s: 0.05,
            total: Some(band.clone()),
            flows: vec![("f".into(), [("cwnd", band)].into())],
            elements: vec![],
        };
        let flows = [FlowSeries::new("f")];
        let plotted = PlottedSeries { flows: &flows, bands: Some(&all), ..PlottedSeries::default() };
        let (series, blob) = encode("series-0", plotted).unwrap();
        let bands = series.bands.unwrap();
        let columns = &bands.flows[0].bands["cwnd"].columns;
        let values = |name| format!("{:?}", decode(&blob, &columns[name]));
        assert_eq!(
            [values("low"), values("median"), values("high")],
            ["[NaN, 1.25]", "[NaN, 2.0]", "[3.0, 3.5]"]
        );
        assert_eq!(decode(&blob, &bands.total.unwrap().columns["high"]), [3.0, 3.5]);
    }
}
