//! The files, written row group by row group.

use super::columns::{Column as Spec, ELEMENTS, FLOWS, File, Kind, RETRANSMISSIONS, STATES};
use crate::{ElementSeries, FlowSeries, Outcome, SCHEMA};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

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
    let mut sheet = Sheet::create(out, FLOWS, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            sheet.add(series.time_s.len(), |b| flow_block(b, run, series))?;
        }
    }
    sheet.close()
}

fn flow_block(b: &mut Block, run: &Sampled, s: &FlowSeries) {
    let states: Vec<ByteArray> = s.states.iter().map(|name| text(name)).collect();
    b.whose(run, &s.name);
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
    let mut sheet = Sheet::create(out, STATES, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            let timeline = series.timeline();
            sheet.add(timeline.len(), |b| {
                b.whose(run, &series.name);
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
    let mut sheet = Sheet::create(out, ELEMENTS, origin)?;
    for run in runs {
        for series in &run.outcome.element_series {
            sheet.add(series.time_s.len(), |b| element_block(b, run, series))?;
        }
    }
    sheet.close()
}

fn element_block(b: &mut Block, run: &Sampled, s: &ElementSeries) {
    b.whose(run, &s.name);
    b.reals(&s.time_s);
    b.ints(s.queue_packets.iter().map(|&n| Some(n as i64)));
    b.ints(s.queue_bytes.iter().map(|&n| Some(n as i64)));
    b.reals(&s.tokens_bytes);
    b.ints(s.dropped.iter().map(|&n| Some(n as i64)));
    b.ints(s.marked.iter().map(|&n| Some(n as i64)));
}

/// Writes all that flows sent again to `out` ([`RETRANSMISSIONS`]).
pub fn write_retransmissions<W: Write + Send>(out: W, origin: Origin, runs: &[Sampled]) -> io::Result<()> {
    let mut sheet = Sheet::create(out, RETRANSMISSIONS, origin)?;
    for run in runs {
        for series in &run.outcome.flow_series {
            let resent = &series.resent;
            sheet.add(resent.len(), |b| {
                b.whose(run, &series.name);
                b.reals(&resent.iter().map(|r| r.time_s).collect::<Vec<_>>());
                b.ints(resent.iter().map(|r| Some(r.byte as i64)));
                b.ints(resent.iter().map(|r| Some(r.len as i64)));
            })?;
        }
    }
    sheet.close()
}

/// A column's entry in the schema.
fn field(column: &Spec) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Text | Kind::TextOrNull => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Int | Kind::IntOrNull => (Physical::INT64, None),
        Kind::Real | Kind::RealOrNull => (Physical::DOUBLE, None),
    };
    let repetition = if column.kind.nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

fn empty(kind: Kind) -> Values {
    match kind {
        Kind::Text | Kind::TextOrNull => Values::Text(Vec::new()),
        Kind::Int | Kind::IntOrNull => Values::Int(Vec::new()),
        Kind::Real | Kind::RealOrNull => Values::Real(Vec::new()),
    }
}

enum Values {
    Text(Vec<ByteArray>),
    Int(Vec<i64>),
    Real(Vec<f64>),
}

/// A column's rows of the row group being gathered.
struct Column {
    kind: Kind,
    values: Values,
    /// A level per row: 1 = present, 0 = null. Only of nullable columns.
    levels: Vec<i16>,
    rows: usize,
}

/// Appends `rows` to a column's values, nulls as levels or, where none are due, as `null`; how many.
fn gather<T: Clone>(
    values: &mut Vec<T>,
    mut levels: Option<&mut Vec<i16>>,
    rows: impl Iterator<Item = Option<T>>,
    null: T,
) -> usize {
    let mut n = 0;
    for row in rows {
        n += 1;
        match &mut levels {
            Some(levels) => {
                levels.push(row.is_some() as i16);
                values.extend(row);
            }
            None => values.push(row.unwrap_or_else(|| null.clone())),
        }
    }
    n
}

/// A file being written, row group by row group.
struct Sheet<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
}

impl<W: Write + Send> Sheet<W> {
    fn create(out: W, file: File, origin: Origin) -> io::Result<Sheet<W>> {
        let fields = file.columns.iter().map(|c| field(c).map(Arc::new)).collect::<Result<_, _>>();
        let schema =
            Type::group_type_builder("schema").with_fields(fields.map_err(io::Error::other)?).build();
        let meta = [
            ("longfat.schema", SCHEMA.to_string()),
            ("longfat.scenario", origin.scenario.to_string()),
            ("longfat.seed", origin.seed.to_string()),
        ];
        let meta = meta.into_iter().map(|(key, value)| KeyValue::new(key.to_string(), value)).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("longfat ", env!("CARGO_PKG_VERSION")).to_string())
            .set_key_value_metadata(Some(meta))
            .build();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let column = |c: &Spec| Column { kind: c.kind, values: empty(c.kind), levels: Vec::new(), rows: 0 };
        let columns = file.columns.iter().map(column).collect();
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(io::Error::other)?;
        Ok(Sheet { file, columns, rows: 0 })
    }

    /// Adds `rows` rows; `fill` gives each column its values, in order.
    fn add(&mut self, rows: usize, fill: impl FnOnce(&mut Block)) -> io::Result<()> {
        let mut block = Block { columns: self.columns.iter_mut(), rows };
        fill(&mut block);
        self.rows += rows;
        if self.columns.iter().any(|c| c.rows != self.rows) {
            return Err(io::Error::other("a time series has columns of different lengths"));
        }
        if self.rows >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.group().map_err(io::Error::other)?;
            self.rows = 0;
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            let levels = column.kind.nullable().then_some(column.levels.as_slice());
            match &mut column.values {
                Values::Text(v) => writer.typed::<ByteArrayType>().write_batch(v, levels, None)?,
                Values::Int(v) => writer.typed::<Int64Type>().write_batch(v, levels, None)?,
                Values::Real(v) => writer.typed::<DoubleType>().write_batch(v, levels, None)?,
            };
            writer.close()?;
            column.values = empty(column.kind);
            column.levels.clear();
            column.rows = 0;
        }
        group.close()?;
        Ok(())
    }

    fn close(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.close().map_err(io::Error::other)?;
        Ok(())
    }
}

/// Rows being added; each call fills the next column.
struct Block<'a> {
    columns: std::slice::IterMut<'a, Column>,
    rows: usize,
}

fn text(s: &str) -> ByteArray {
    ByteArray::from(s.as_bytes().to_vec())
}

// A value of another kind than the column's adds no row, which `Sheet::add` then reports.
impl Block<'_> {
    fn texts(&mut self, rows: impl Iterator<Item = Option<ByteArray>>) {
        if let Some(Column { kind, values: Values::Text(values), levels, rows: n }) = self.columns.next() {
            *n += gather(values, kind.nullable().then_some(levels), rows, text(""));
        }
    }

    fn ints(&mut self, rows: impl Iterator<Item = Option<i64>>) {
        if let Some(Column { kind, values: Values::Int(values), levels, rows: n }) = self.columns.next() {
            *n += gather(values, kind.nullable().then_some(levels), rows, 0);
        }
    }

    /// NaN becomes null where null may be.
    fn reals(&mut self, rows: &[f64]) {
        if let Some(Column { kind, values: Values::Real(values), levels, rows: n }) = self.columns.next() {
            let rows = rows.iter().map(|&x| (!x.is_nan()).then_some(x));
            *n += gather(values, kind.nullable().then_some(levels), rows, f64::NAN);
        }
    }

    /// The first four columns, the same in every row.
    fn whose(&mut self, run: &Sampled, name: &str) {
        self.same_text(&run.outcome.variant.name);
        self.same_text(run.outcome.variant.clock.name());
        self.same_int(run.repeat as i64);
        self.same_text(name);
    }

    fn same_text(&mut self, value: &str) {
        let n = self.rows;
        self.texts(std::iter::repeat_n(Some(text(value)), n));
    }

    fn same_int(&mut self, value: i64) {
        let n = self.rows;
        self.ints(std::iter::repeat_n(Some(value), n));
    }
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
