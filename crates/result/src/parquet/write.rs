//! The files, written row group by row group.

use super::columns::{ELEMENTS, FLOWS, File, RETRANSMISSIONS, STATES};
use super::sheet::{Block, Sheet, text};
use crate::{ElementSeries, FlowSeries, Outcome, SCHEMA};
use parquet::data_type::ByteArray;
use std::io::{self, Write};

/// Rows held before they are written as a row group: some 15 MB.
const GROUP_ROWS: usize = 128 * 1024;

/// One run whose series are to be written.
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a> {
    /// Which repeat, from 1.
    pub repeat: u32,
    /// The run; its variant's name goes into every row.
    pub outcome: &'a Outcome,
}

/// What a file says of its origin.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// The first repeat's seed.
    pub seed: u64,
}

/// Writes all flows' series to `out` ([`FLOWS`]).
pub fn write_flows<W: Write + Send>(out: W, origin: Origin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, FLOWS, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            sheet.add(series.time_s.len(), |b| flow_block(b, run, series))?;
        }
    }
    sheet.close()
}

fn flow_block(b: &mut Block, run: &Sampled, s: &FlowSeries) {
    let states: Vec<ByteArray> = s.states.iter().map(|name| text(name)).collect();
    whose(b, run, &s.name);
    b.reals(&s.time_s);
    b.ints(s.delivered_bytes.iter().map(|&n| Some(n as i64)));
    b.ints(s.cwnd.iter().map(|&n| Some(n as i64)));
    b.ints(s.ssthresh.iter().map(|&n| (n != u32::MAX).then_some(n as i64)));
    b.ints(s.inflight.iter().map(|&n| Some(n as i64)));
    b.reals(&s.srtt_ms);
    b.reals(&s.rtt_ms);
    b.reals(&s.pacing_mbps);
    b.ints(s.retransmitted.iter().map(|&n| Some(n as i64)));
    b.ints(s.sent_bytes.iter().map(|&n| Some(n as i64)));
    b.ints(s.acked_bytes.iter().map(|&n| Some(n as i64)));
    b.reals(&s.btl_bw_mbps);
    b.reals(&s.rt_prop_ms);
    b.reals(&s.pacing_gain);
    b.reals(&s.cwnd_gain);
    b.ints(s.round.iter().map(|&n| (n != u64::MAX).then_some(n as i64)));
    let state = |i: u8| states.get(i as usize).filter(|name| !name.is_empty()).cloned();
    b.texts(s.state.iter().map(|&i| state(i)));
}

/// Writes all flows' timelines of states to `out` ([`STATES`]).
pub fn write_states<W: Write + Send>(out: W, origin: Origin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, STATES, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            let timeline = series.timeline();
            sheet.add(timeline.len(), |b| {
                whose(b, run, &series.name);
                b.texts(timeline.iter().map(|s| Some(text(s.state))));
                b.reals(&timeline.iter().map(|s| s.start_s).collect::<Vec<_>>());
                b.reals(&timeline.iter().map(|s| s.end_s).collect::<Vec<_>>());
            })?;
        }
    }
    sheet.close()
}

/// Writes all elements' series to `out` ([`ELEMENTS`]).
pub fn write_elements<W: Write + Send>(out: W, origin: Origin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, ELEMENTS, origin)?;
    for run in runs {
        for series in &run.outcome.element_series {
            sheet.add(series.time_s.len(), |b| element_block(b, run, series))?;
        }
    }
    sheet.close()
}

fn element_block(b: &mut Block, run: &Sampled, s: &ElementSeries) {
    whose(b, run, &s.name);
    b.reals(&s.time_s);
    b.ints(s.queue_packets.iter().map(|&n| Some(n as i64)));
    b.ints(s.queue_bytes.iter().map(|&n| Some(n as i64)));
    b.reals(&s.tokens_bytes);
    b.ints(s.dropped.iter().map(|&n| Some(n as i64)));
    b.ints(s.marked.iter().map(|&n| Some(n as i64)));
}

/// Writes all that flows sent again to `out` ([`RETRANSMISSIONS`]).
pub fn write_retransmissions<W: Write + Send>(out: W, origin: Origin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = sheet(out, RETRANSMISSIONS, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            let resent = &series.resent;
            sheet.add(resent.len(), |b| {
                whose(b, run, &series.name);
                b.reals(&resent.iter().map(|r| r.time_s).collect::<Vec<_>>());
                b.ints(resent.iter().map(|r| Some(r.byte as i64)));
                b.ints(resent.iter().map(|r| Some(r.len as i64)));
            })?;
        }
    }
    sheet.close()
}

fn sheet<W: Write + Send>(out: W, file: File, origin: Origin) -> io::Result<Sheet<W>> {
    let seed = origin.seed.to_string();
    let meta =
        [("longfat.schema", SCHEMA), ("longfat.scenario", origin.scenario), ("longfat.seed", seed.as_str())];
    Sheet::create(out, file, &meta, GROUP_ROWS)
}

/// The first four columns, the same in every row.
fn whose(b: &mut Block, run: &Sampled, name: &str) {
    b.same_text(&run.outcome.variant.name);
    b.same_text(run.outcome.variant.clock.name());
    b.same_int(run.repeat as i64);
    b.same_text(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Resent, Variant};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn sampled(rows: usize) -> Outcome {
        let n = rows as u64;
        let flow = FlowSeries {
            name: "bulk".into(),
            time_s: (0..n).map(|i| i as f64 / 10.0).collect(),
            delivered_bytes: (0..n).map(|i| i * 125_000).collect(),
            cwnd: vec![10; rows],
            ssthresh: (0..n).map(|i| if i == 0 { u32::MAX } else { 20 }).collect(),
            inflight: vec![9; rows],
            srtt_ms: (0..n).map(|i| if i == 0 { f64::NAN } else { 30.5 }).collect(),
            rtt_ms: vec![31.0; rows],
            pacing_mbps: vec![f64::NAN; rows],
            retransmitted: vec![0; rows],
            sent_bytes: (0..n).map(|i| i * 2896).collect(),
            acked_bytes: (0..n).map(|i| i * 1448).collect(),
            resent: (0..n / 2)
                .map(|i| Resent { time_s: i as f64 / 5.0, byte: i * 2896, len: 1448 })
                .collect(),
            btl_bw_mbps: vec![20.0; rows],
            rt_prop_ms: vec![30.0; rows],
            pacing_gain: vec![1.25; rows],
            cwnd_gain: vec![2.0; rows],
            round: (0..n).map(|i| if i == 0 { u64::MAX } else { i }).collect(),
            state: (0..n).map(|i| (i % 2) as u8).collect(),
            states: vec!["slow start".into(), "avoidance".into()],
        };
        let element = ElementSeries {
            name: "wan.forward.policer".into(),
            time_s: flow.time_s.clone(),
            queue_packets: vec![1; rows],
            queue_bytes: vec![1500; rows],
            tokens_bytes: vec![f64::NAN; rows],
            dropped: vec![2; rows],
            marked: (0..n).collect(),
        };
        let variant = Variant { name: "v".into(), ..Default::default() };
        Outcome { variant, flow_series: vec![flow], element_series: vec![element] }
    }

    const ORIGIN: Origin = Origin { scenario: "test", seed: 7 };

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
    fn rows_read_back_with_nulls_where_nothing_is_known() {
        let outcome = sampled(3);
        let rows = rows(flows(&[
            Sampled { repeat: 1, outcome: &outcome },
            Sampled { repeat: 2, outcome: &outcome },
        ]));
        let row = |i: usize| rows[i].iter().map(|(_, field)| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(rows.len(), 6);
        assert_eq!(
            row(0),
            r#""v" "sim" 1 "bulk" 0E0 0 10 null 9 null 31.0 null 0 0 0 20.0 30.0 1.25 2.0 null "slow start""#
        );
        assert_eq!(
            row(4),
            r#""v" "sim" 2 "bulk" 0.1 125000 10 20 9 30.5 31.0 null 0 2896 1448 20.0 30.0 1.25 2.0 1 "avoidance""#
        );
    }

    #[test]
    fn the_timeline_has_a_row_a_stretch() {
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
        assert_eq!(reader.metadata().file_metadata().created_by(), Some("longfat 0.1.0"));
    }

    #[test]
    fn nothing_sampled_is_an_empty_table_and_a_broken_series_an_error() {
        let mut outcome = sampled(2);
        outcome.element_series[0].dropped.pop();
        let runs = [Sampled { repeat: 1, outcome: &outcome }];
        let e = write_elements(Vec::new(), ORIGIN, &runs).unwrap_err();
        assert!(e.to_string().contains("different lengths"));
        assert_eq!(rows(flows(&[])).len(), 0);
    }

    /// `PARQUET_OUT=dir cargo test -p longfat-result --features parquet` leaves files for other readers.
    #[test]
    fn files_for_other_readers() {
        let Ok(dir) = std::env::var("PARQUET_OUT") else { return };
        let outcome = sampled(300);
        let runs = [Sampled { repeat: 1, outcome: &outcome }, Sampled { repeat: 2, outcome: &outcome }];
        write_flows(std::fs::File::create(format!("{dir}/flows.parquet")).unwrap(), ORIGIN, &runs).unwrap();
        write_elements(std::fs::File::create(format!("{dir}/elements.parquet")).unwrap(), ORIGIN, &runs)
            .unwrap();
    }
}
