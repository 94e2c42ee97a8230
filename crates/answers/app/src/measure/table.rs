//! A series of measurements as a Parquet file: a row for each test of each measurement, and one for the
//! echoes on the idle path (test `idle`). A measurement that failed has a row with its error.

use super::model::{EchoSummary, Measurement, StreamTest};
use super::series::MeasurementSeries;
use crate::tables::{SheetColumn, SheetValues, write_sheet};
use std::io;

/// A row of the table.
#[derive(Default)]
struct Row<'a> {
    run: u64,
    at: &'a str,
    error: Option<&'a str>,
    name: Option<&'a str>,
    test: Option<&'a StreamTest>,
    echoes: Option<&'a EchoSummary>,
    limit_mbps: Option<f64>,
}

impl MeasurementSeries {
    /// The series as a Parquet file.
    ///
    /// # Errors
    /// Fails when the file cannot be encoded.
    pub fn parquet(&self) -> io::Result<Vec<u8>> {
        let mut rows = Vec::new();
        for (run, i) in self.runs.iter().zip(1..) {
            let row = Row { run: i, at: &run.at, error: run.error.as_deref(), ..Row::default() };
            match &run.measurement {
                Some(m) => rows.extend(of_measurement(m, row)),
                None => rows.push(row),
            }
        }
        let text = |f: fn(&Row<'_>) -> Option<String>| rows.iter().map(f).collect::<Vec<Option<String>>>();
        let real = |f: fn(&Row<'_>) -> Option<f64>| SheetValues::Real(rows.iter().map(f).collect());
        let int = |f: fn(&Row<'_>) -> Option<u64>| SheetValues::Int(rows.iter().map(f).collect());
        let texts = [
            ("at", text(|r| Some(r.at.into()))),
            ("error", text(|r| r.error.map(String::from))),
            ("test", text(|r| r.name.map(String::from))),
            ("direction", text(|r| r.test.map(|t| t.direction.name().into()))),
            ("control", text(|r| r.test.map(|t| t.control.clone()))),
        ];
        let texts = texts.iter().map(|(name, all)| SheetColumn {
            name,
            values: SheetValues::Text(all.iter().map(Option::as_deref).collect()),
        });
        let numbers = [
            ("run", int(|r| Some(r.run))),
            ("connections", int(|r| r.test.map(|t| t.connections.into()))),
            ("bytes", int(|r| r.test.map(|t| t.bytes))),
            ("timeouts", int(|r| r.test.map(|t| t.timeouts))),
            ("goodput_mbps", real(|r| r.test.map(|t| t.goodput_mbps))),
            ("limit_mbps", real(|r| r.limit_mbps)),
            ("retransmitted_share", real(|r| r.test.map(|t| t.retransmitted_share))),
            ("min_rtt_ms", real(|r| r.test.and_then(|t| t.min_rtt_ms))),
            ("echo_rtt_min_ms", real(|r| r.echoes.map(|e| e.rtt_min_ms))),
            ("echo_rtt_p50_ms", real(|r| r.echoes.map(|e| e.rtt_p50_ms))),
            ("echo_rtt_p95_ms", real(|r| r.echoes.map(|e| e.rtt_p95_ms))),
            ("echo_lost_share", real(|r| r.echoes.map(|e| e.lost_share))),
        ];
        let numbers = numbers.into_iter().map(|(name, values)| SheetColumn { name, values });
        let columns: Vec<SheetColumn<'_>> = texts.chain(numbers).collect();
        let mut bytes = Vec::new();
        write_sheet(&mut bytes, &columns, &[("longfat.schema", self.schema.clone())])?;
        Ok(bytes)
    }
}

/// The rows of a measurement; `row` has what they have in common.
fn of_measurement<'a>(m: &'a Measurement, row: Row<'a>) -> Vec<Row<'a>> {
    let Row { run, at, .. } = row;
    let idle =
        m.idle.iter().map(|idle| Row { name: Some("idle"), echoes: Some(idle), run, at, ..Row::default() });
    let tests = m.tests.iter().chain(m.cures.iter().map(|c| &c.test)).map(|test| Row {
        name: Some(&test.name),
        test: Some(test),
        echoes: test.loaded.as_ref(),
        limit_mbps: m.limit_mbps(test.direction),
        run,
        at,
        ..Row::default()
    });
    idle.chain(tests).collect()
}

#[cfg(test)]
mod tests {
    use crate::measure::series::MeasurementSeries;
    use crate::measure::series::samples::{failed, upload};
    use crate::tables::columns::{Column, column};
    use crate::tables::table::ParquetTable;
    use crate::tables::{ColumnKind, File};

    const COLUMNS: [Column; 3] = [
        column("test", ColumnKind::TextOrNull, ""),
        column("goodput_mbps", ColumnKind::RealOrNull, ""),
        column("error", ColumnKind::TextOrNull, ""),
    ];
    const SERIES: File = File { name: "series.parquet", about: "", columns: &COLUMNS };

    #[test]
    fn a_series_is_a_row_for_each_test_and_failure() {
        let runs = vec![upload("2026-11-30T14:00:00Z", 10.0, 20.0), failed("2026-11-30T14:10:00Z")];
        let bytes = MeasurementSeries::of(runs).parquet().expect("a file");
        let table = ParquetTable::open(SERIES, &bytes).expect("a table");
        let texts = |column: &Column| {
            let (at, texts) = table.texts(0, column).expect("a column");
            at.into_iter().map(|i| texts[i].clone()).collect::<Vec<String>>()
        };
        assert_eq!(texts(&COLUMNS[0]), ["idle", "up", ""]);
        assert_eq!(table.reals(0, &COLUMNS[1]).expect("a column"), [None, Some(10.0), None]);
        assert_eq!(texts(&COLUMNS[2]), ["", "", "cannot connect"]);
    }
}
