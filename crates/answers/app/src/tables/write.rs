//! Writes the series files row group by row group.

use crate::tables::columns::{ELEMENTS, FLOWS, File, RESPONSES, RETRANSMISSIONS, STATES};
use crate::tables::sheet::{ParquetSheet, RowBlock, text};
use parquet::data_type::ByteArray;
use result::{Columns, FlowSeries, Outcome, SCHEMA};
use std::io::{self, Write};

/// Rows buffered before they are written as a row group: some 15 MB.
const GROUP_ROWS: usize = 128 * 1024;

/// Key of the run's id in the footer's metadata.
pub(crate) const RUN_ID: &str = "longfat.run_id";

/// A run whose series are written.
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a> {
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// The run's outcome; its variant's name goes into every row.
    pub outcome: &'a Outcome,
}

/// The origin that is noted in a file's footer.
#[derive(Clone, Copy, Debug)]
pub struct FileOrigin<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// The seed of the first repeat.
    pub seed: u64,
    /// The run's id ([`result::Run::run_id`]).
    pub run_id: &'a str,
}

/// Writes the series of all flows to `out` ([`FLOWS`]).
pub fn write_flows(out: &mut (dyn Write + Send), origin: FileOrigin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, FLOWS, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            sheet.add(series.time_s.len(), |b| flow_block(b, run, series))?;
        }
    }
    sheet.close().map(drop)
}

fn flow_block(b: &mut RowBlock, run: &Sampled, s: &FlowSeries) {
    let states: Vec<ByteArray> = s.states.iter().map(|name| text(name)).collect();
    series_block(b, run, &s.name, s);
    let state = |i: u8| states.get(i as usize).filter(|name| !name.is_empty()).cloned();
    b.texts(s.state.iter().map(|&i| state(i)));
}

/// Writes the states of all flows over time to `out` ([`STATES`]).
pub fn write_states(out: &mut (dyn Write + Send), origin: FileOrigin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, STATES, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            let timeline = series.timeline();
            sheet.add(timeline.len(), |b| {
                key_columns(b, run, &series.name);
                b.texts(timeline.iter().map(|s| Some(text(s.state))));
                b.reals(&timeline.iter().map(|s| s.start_s).collect::<Vec<_>>());
                b.reals(&timeline.iter().map(|s| s.end_s).collect::<Vec<_>>());
            })?;
        }
    }
    sheet.close().map(drop)
}

/// Writes the series of all elements to `out` ([`ELEMENTS`]).
pub fn write_elements(out: &mut (dyn Write + Send), origin: FileOrigin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, ELEMENTS, origin)?;
    for run in runs {
        for series in &run.outcome.element_series {
            sheet.add(series.time_s.len(), |b| series_block(b, run, &series.name, series))?;
        }
    }
    sheet.close().map(drop)
}

/// Writes all retransmissions of flows to `out` ([`RETRANSMISSIONS`]).
pub fn write_retransmissions(
    out: &mut (dyn Write + Send),
    origin: FileOrigin,
    runs: &[Sampled],
) -> io::Result<()> {
    let mut sheet = sheet(out, RETRANSMISSIONS, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            let resent = &series.resent;
            sheet.add(resent.len(), |b| {
                key_columns(b, run, &series.name);
                b.reals(&resent.iter().map(|r| r.time_s).collect::<Vec<_>>());
                b.ints(resent.iter().map(|r| Some(r.byte as i64)));
                b.ints(resent.iter().map(|r| Some(r.len as i64)));
                b.ints(resent.iter().map(|r| Some(r.sender.into())));
            })?;
        }
    }
    sheet.close().map(drop)
}

/// Writes the response times of all flows to `out` ([`RESPONSES`]).
pub fn write_responses(out: &mut (dyn Write + Send), origin: FileOrigin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, RESPONSES, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            let responses = &series.responses;
            sheet.add(responses.len(), |b| {
                key_columns(b, run, &series.name);
                b.reals(&responses.iter().map(|r| r.start_s).collect::<Vec<_>>());
                b.reals(&responses.iter().map(|r| r.seconds).collect::<Vec<_>>());
                b.texts(responses.iter().map(|r| Some(text(&r.what))));
            })?;
        }
    }
    sheet.close().map(drop)
}

/// Creates a file. `out` is a trait object, because generic code would be compiled in the calling crate, and
/// there for size.
fn sheet<'a>(
    out: &'a mut (dyn Write + Send),
    file: File,
    origin: FileOrigin,
) -> io::Result<ParquetSheet<'a>> {
    let seed = origin.seed.to_string();
    let meta = [
        ("longfat.schema", SCHEMA),
        ("longfat.scenario", origin.scenario),
        ("longfat.seed", seed.as_str()),
        (RUN_ID, origin.run_id),
    ];
    // The footer of a run without an id has no entry for it.
    let meta = if origin.run_id.is_empty() { &meta[..3] } else { &meta[..] };
    ParquetSheet::create(out, file, meta, GROUP_ROWS)
}

/// Fills the key columns, then the series' columns.
fn series_block(b: &mut RowBlock, run: &Sampled, name: &str, series: &impl Columns) {
    key_columns(b, run, name);
    series.cells().for_each(|(_, cells)| b.cells(cells));
}

/// Fills the first four columns, which identify the series and are the same in every row.
fn key_columns(b: &mut RowBlock, run: &Sampled, name: &str) {
    b.same_text(&run.outcome.variant.name);
    b.same_text(run.outcome.variant.clock.name());
    b.same_int(run.repeat as i64);
    b.same_text(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use result::{ElementPoint, ElementSeries, FlowPoint, Resent, VariantResult};

    fn sampled(rows: usize) -> Outcome {
        let n = rows as u64;
        let mut flow = FlowSeries::new("bulk");
        let mut element = ElementSeries { name: "wan.forward.policer".into(), ..ElementSeries::default() };
        for i in 0..n {
            let time_s = i as f64 / 10.0;
            flow.push(FlowPoint {
                time_s,
                delivered_bytes: i * 125_000,
                cwnd: 10,
                ssthresh: (i > 0).then_some(20),
                inflight: 9,
                srtt_ms: (i > 0).then_some(30.5),
                rtt_ms: Some(31.0),
                sent_bytes: i * 2896,
                acked_bytes: i * 1448,
                btl_bw_mbps: Some(20.0),
                rt_prop_ms: Some(30.0),
                pacing_gain: Some(1.25),
                cwnd_gain: Some(2.0),
                round: (i > 0).then_some(i),
                delivery_rate_mbps: (i > 0).then_some(18.5),
                state: ["slow start", "avoidance"][i as usize % 2],
                ..FlowPoint::default()
            });
            element.push(ElementPoint {
                time_s,
                queue_packets: 1,
                queue_bytes: 1500,
                dropped: 2,
                marked: i,
                ..ElementPoint::default()
            });
        }
        flow.resent = (0..n / 2)
            .map(|i| Resent { time_s: i as f64 / 5.0, byte: i * 2896, len: 1448, sender: i as u32 % 2 })
            .collect();
        let variant = VariantResult { name: "v".into(), ..Default::default() };
        Outcome { variant, flow_series: vec![flow], element_series: vec![element] }
    }

    const ORIGIN: FileOrigin = FileOrigin { scenario: "test", seed: 7, run_id: "a1" };

    fn flows(runs: &[Sampled]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_flows(&mut bytes, ORIGIN, runs).unwrap();
        bytes
    }

    fn rows(bytes: Vec<u8>) -> Vec<Vec<(String, Field)>> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect()
    }

    #[test]
    fn rows_read_back_with_nulls_for_unknown_values() {
        let outcome = sampled(3);
        let rows = rows(flows(&[
            Sampled { repeat: 1, outcome: &outcome },
            Sampled { repeat: 2, outcome: &outcome },
        ]));
        let row = |i: usize| rows[i].iter().map(|(_, field)| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(rows.len(), 6);
        assert_eq!(
            row(0),
            r#""v" "sim" 1 "bulk" 0E0 0 10 null 9 null 31.0 null 0 0 0 20.0 30.0 1.25 2.0 null null null "slow start""#
        );
        assert_eq!(
            row(4),
            r#""v" "sim" 2 "bulk" 0.1 125000 10 20 9 30.5 31.0 null 0 2896 1448 20.0 30.0 1.25 2.0 1 18.5 null "avoidance""#
        );
    }

    #[test]
    fn the_timeline_has_a_row_per_period_of_a_state() {
        let outcome = sampled(3);
        let mut bytes = Vec::new();
        write_states(&mut bytes, ORIGIN, &[Sampled { repeat: 1, outcome: &outcome }]).unwrap();
        let rows = rows(bytes);
        let row = |i: usize| rows[i].iter().map(|(_, field)| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(rows.len(), 3);
        assert_eq!(row(1), r#""v" "sim" 1 "bulk" "avoidance" 0.1 0.2"#);
    }

    #[test]
    fn the_same_series_give_the_same_bytes() {
        let outcome = sampled(1000);
        let runs = [Sampled { repeat: 1, outcome: &outcome }];
        assert_eq!(flows(&runs), flows(&runs));
    }

    #[test]
    fn long_series_span_row_groups() {
        let outcome = sampled(GROUP_ROWS / 2 + 1);
        let runs = [1, 2, 3].map(|repeat| Sampled { repeat, outcome: &outcome });
        let reader = SerializedFileReader::new(bytes::Bytes::from(flows(&runs))).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        assert_eq!(
            reader.metadata().file_metadata().num_rows() as usize,
            3 * outcome.flow_series[0].time_s.len()
        );
        assert_eq!(
            reader.metadata().file_metadata().created_by(),
            Some(concat!("longfat ", env!("CARGO_PKG_VERSION")))
        );
    }

    #[test]
    fn without_samples_the_table_is_empty_and_columns_of_unequal_length_are_refused() {
        let mut outcome = sampled(2);
        outcome.element_series[0].dropped.pop();
        let runs = [Sampled { repeat: 1, outcome: &outcome }];
        let e = write_elements(&mut Vec::new(), ORIGIN, &runs).unwrap_err();
        assert!(e.to_string().contains("different lengths"));
        assert_eq!(rows(flows(&[])).len(), 0);
    }

    /// `PARQUET_OUT=dir cargo test -p longfat-app` leaves files in `dir` for other readers.
    #[test]
    fn files_for_other_readers() {
        let Ok(dir) = std::env::var("PARQUET_OUT") else { return };
        let outcome = sampled(300);
        let runs = [Sampled { repeat: 1, outcome: &outcome }, Sampled { repeat: 2, outcome: &outcome }];
        let file = |name| std::fs::File::create(format!("{dir}/{name}")).unwrap();
        write_flows(&mut file("flows.parquet"), ORIGIN, &runs).unwrap();
        write_elements(&mut file("elements.parquet"), ORIGIN, &runs).unwrap();
    }
}
