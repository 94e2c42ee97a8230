//! Writes a Parquet file row group by row group.

use crate::tables::columns::{ColumnKind, File};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use result::Cells;
use std::io::{self, Write};
use std::sync::Arc;

/// Returns a column's entry in the schema.
fn schema_field((name, kind): &(&str, ColumnKind)) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        ColumnKind::Text | ColumnKind::TextOrNull => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Int | ColumnKind::IntOrNull => (Physical::INT64, None),
        ColumnKind::Real | ColumnKind::RealOrNull => (Physical::DOUBLE, None),
    };
    let repetition = if kind.nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

fn empty(kind: ColumnKind) -> ColumnValues {
    match kind {
        ColumnKind::Text | ColumnKind::TextOrNull => ColumnValues::Text(Vec::new()),
        ColumnKind::Int | ColumnKind::IntOrNull => ColumnValues::Int(Vec::new()),
        ColumnKind::Real | ColumnKind::RealOrNull => ColumnValues::Real(Vec::new()),
    }
}

enum ColumnValues {
    Text(Vec<ByteArray>),
    Int(Vec<i64>),
    Real(Vec<f64>),
}

/// The buffered rows of a column in the current row group.
struct GatheredColumn {
    kind: ColumnKind,
    values: ColumnValues,
    /// Definition level of each row: 1 = present, 0 = null. Empty for columns that are not nullable.
    levels: Vec<i16>,
    rows: usize,
}

/// Appends `rows` to a column's values and returns their number. Nulls become levels, or `null` where the
/// column has no levels.
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

/// A Parquet file that is written row group by row group.
pub(crate) struct ParquetSheet<'a> {
    /// A boxed writer, not a type parameter: otherwise Parquet's encoders would be compiled again, optimised
    /// for size, in each crate that writes.
    file: SerializedFileWriter<Box<dyn Write + Send + 'a>>,
    columns: Vec<GatheredColumn>,
    rows: usize,
    group_rows: usize,
}

impl<'a> ParquetSheet<'a> {
    /// Creates the file with `meta` in its footer. Every `group_rows` rows are written as a row group.
    pub fn create(
        out: impl Write + Send + 'a,
        file: File,
        meta: &[(&str, &str)],
        group_rows: usize,
    ) -> io::Result<ParquetSheet<'a>> {
        let columns: Vec<(&str, ColumnKind)> = file.columns.iter().map(|c| (c.name, c.kind)).collect();
        ParquetSheet::with_columns(out, &columns, meta, group_rows)
    }

    /// Creates a file with columns that are not declared in a [`File`].
    pub fn with_columns(
        out: impl Write + Send + 'a,
        columns: &[(&str, ColumnKind)],
        meta: &[(&str, &str)],
        group_rows: usize,
    ) -> io::Result<ParquetSheet<'a>> {
        let fields = columns.iter().map(|c| schema_field(c).map(Arc::new)).collect::<Result<_, _>>();
        let schema =
            Type::group_type_builder("schema").with_fields(fields.map_err(io::Error::other)?).build();
        let meta =
            meta.iter().map(|(key, value)| KeyValue::new(key.to_string(), value.to_string())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("longfat ", env!("CARGO_PKG_VERSION")).to_string())
            .set_key_value_metadata(Some(meta))
            .build();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let column = |&(_, kind): &(&str, ColumnKind)| GatheredColumn {
            kind,
            values: empty(kind),
            levels: Vec::new(),
            rows: 0,
        };
        let columns = columns.iter().map(column).collect();
        let file = SerializedFileWriter::new(Box::new(out) as Box<_>, schema, Arc::new(properties))
            .map_err(io::Error::other)?;
        Ok(ParquetSheet { file, columns, rows: 0, group_rows })
    }

    /// Appends `rows` rows. `fill` must pass each column its values, in order.
    pub fn add(&mut self, rows: usize, fill: impl FnOnce(&mut RowBlock)) -> io::Result<()> {
        let mut block = RowBlock { columns: self.columns.iter_mut(), rows };
        fill(&mut block);
        self.rows += rows;
        if self.columns.iter().any(|c| c.rows != self.rows) {
            return Err(io::Error::other("a time series has columns of different lengths"));
        }
        if self.rows >= self.group_rows { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group().map_err(io::Error::other)?;
            self.rows = 0;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            let levels = column.kind.nullable().then_some(column.levels.as_slice());
            match &mut column.values {
                ColumnValues::Text(v) => writer.typed::<ByteArrayType>().write_batch(v, levels, None)?,
                ColumnValues::Int(v) => writer.typed::<Int64Type>().write_batch(v, levels, None)?,
                ColumnValues::Real(v) => writer.typed::<DoubleType>().write_batch(v, levels, None)?,
            };
            writer.close()?;
            column.values = empty(column.kind);
            column.levels.clear();
            column.rows = 0;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the last row group and the footer.
    pub fn close(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.close().map(drop).map_err(io::Error::other)
    }
}

/// Rows that are being appended; each call fills the next column.
pub(crate) struct RowBlock<'a> {
    columns: std::slice::IterMut<'a, GatheredColumn>,
    rows: usize,
}

pub(crate) fn text(s: &str) -> ByteArray {
    ByteArray::from(s.as_bytes().to_vec())
}

// A value of another kind than the column's adds no row, which `ParquetSheet::add` reports as an error.
impl RowBlock<'_> {
    pub fn texts(&mut self, rows: impl Iterator<Item = Option<ByteArray>>) {
        if let Some(GatheredColumn { kind, values: ColumnValues::Text(values), levels, rows: n }) =
            self.columns.next()
        {
            *n += gather(values, kind.nullable().then_some(levels), rows, text(""));
        }
    }

    pub fn ints(&mut self, rows: impl Iterator<Item = Option<i64>>) {
        if let Some(GatheredColumn { kind, values: ColumnValues::Int(values), levels, rows: n }) =
            self.columns.next()
        {
            *n += gather(values, kind.nullable().then_some(levels), rows, 0);
        }
    }

    pub fn reals(&mut self, rows: &[f64]) {
        self.options(rows.iter().map(|&x| Some(x)));
    }

    /// Writes NaN as null in a nullable column.
    pub fn options(&mut self, rows: impl Iterator<Item = Option<f64>>) {
        if let Some(GatheredColumn { kind, values: ColumnValues::Real(values), levels, rows: n }) =
            self.columns.next()
        {
            let rows = rows.map(|x| x.filter(|x| !x.is_nan()));
            *n += gather(values, kind.nullable().then_some(levels), rows, f64::NAN);
        }
    }

    /// Fills a column of a series.
    pub fn cells(&mut self, cells: Cells) {
        match cells {
            Cells::Int(all) => self.ints(all.iter().map(|&n| Some(n as i64))),
            Cells::IntOrNull(all) => self.ints(all.iter().map(|n| n.map(|n| n as i64))),
            Cells::Real(all) => self.reals(all),
            Cells::RealOrNull(all) => self.options(all.iter().copied()),
        }
    }

    pub fn same_text(&mut self, value: &str) {
        let n = self.rows;
        self.texts(std::iter::repeat_n(Some(text(value)), n));
    }

    pub fn same_int(&mut self, value: i64) {
        let n = self.rows;
        self.ints(std::iter::repeat_n(Some(value), n));
    }
}
