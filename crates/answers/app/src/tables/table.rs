//! A Parquet file of series, read column by column.

use crate::tables::columns::{Column, File};
use crate::tables::guard::{CheckedBytes, CheckedPages};
use crate::tables::write::RUN_ID;
use bytes::Bytes;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::ColumnDescPtr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Magic bytes at both ends of a Parquet file.
const MAGIC: &[u8] = b"PAR1";
/// Limit of a file's rows: some 5 GB of series.
const MAX_ROWS: usize = 1 << 25;
/// Limit of a file's rows per byte; real files have at most ten.
const MAX_ROWS_PER_BYTE: usize = 64;
/// Rows decoded at a time, so that a damaged column fails before memory for all its claimed rows is
/// allocated.
const BATCH_ROWS: usize = 8192;

/// Number of leading columns that every version of a file has: variant, clock, repeat, name, time, and one
/// value.
const REQUIRED_COLUMNS: usize = 6;

/// Why a file cannot be read as a series file of longfat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{} {what}", in_column(*.column))]
pub struct SeriesError {
    /// The file's name.
    pub file: &'static str,
    /// The column, where the error is in one.
    pub column: Option<&'static str>,
    /// What is wrong.
    pub what: String,
}

fn in_column(column: Option<&str>) -> String {
    column.map(|column| format!(": column `{column}`")).unwrap_or_default()
}

/// Index of a text in a [`Dictionary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text(u32);

/// Distinct texts, in order of appearance.
#[derive(Debug, Default)]
pub struct Dictionary {
    list: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Dictionary {
    /// Returns the index of a text, which is added if it is new; `None` when it is not UTF-8.
    fn number(&mut self, text: &[u8]) -> Option<Text> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(&number) = self.numbers.get(text) {
            return Some(Text(number));
        }
        let number = u32::try_from(self.list.len()).ok()?;
        self.list.push(text.into());
        self.numbers.insert(text.into(), number);
        Some(Text(number))
    }
}

impl std::ops::Index<Text> for Dictionary {
    type Output = String;
    fn index(&self, text: Text) -> &String {
        &self.list[text.0 as usize]
    }
}

/// An opened Parquet file.
pub struct ParquetTable {
    file: File,
    pages: Arc<CheckedBytes>,
    meta: ParquetMetaData,
    /// Number of rows of each row group.
    rows: Vec<usize>,
}

impl ParquetTable {
    /// Opens a file, passed as its bytes.
    ///
    /// # Errors
    /// Fails when the bytes are not a Parquet file, lack a column that every version has, or claim more rows
    /// than their size can hold.
    pub fn open(file: File, bytes: &[u8]) -> Result<ParquetTable, SeriesError> {
        let wrong = |what| SeriesError { file: file.name, column: None, what };
        if !bytes.starts_with(MAGIC) || !bytes.ends_with(MAGIC) {
            return Err(wrong("is not a Parquet file, or is truncated".into()));
        }
        let all = Bytes::copy_from_slice(bytes);
        let meta = ParquetMetaDataReader::new().parse_and_finish(&all).map_err(|e| wrong(read_error(e)))?;
        let pages = Arc::new(CheckedBytes(all));
        let groups = meta.row_groups().iter().map(|g| usize::try_from(g.num_rows()));
        let rows: Vec<usize> = groups.collect::<Result<_, _>>().map_err(|_| wrong("is damaged".into()))?;
        let all = rows.iter().fold(0usize, |n, &rows| n.saturating_add(rows));
        if all > MAX_ROWS.min(bytes.len().saturating_mul(MAX_ROWS_PER_BYTE)) {
            return Err(wrong(format!("claims {all} rows in {} bytes", bytes.len())));
        }
        let stated = meta.file_metadata().num_rows();
        if usize::try_from(stated) != Ok(all) {
            return Err(wrong(format!("has {all} rows, but states {stated}")));
        }
        let table = ParquetTable { file, pages, meta, rows };
        match file.columns.iter().take(REQUIRED_COLUMNS).find(|c| !table.has(c)) {
            Some(column) => Err(table.wrong(column, "is missing")),
            None => Ok(table),
        }
    }

    /// Returns the file if its metadata name this run id. A file without an id belongs to a run without one.
    pub fn of_run(self, run_id: &str) -> Result<ParquetTable, SeriesError> {
        let all = self.meta.file_metadata().key_value_metadata();
        let found = all.into_iter().flatten().find(|entry| entry.key == RUN_ID);
        let found = found.and_then(|entry| entry.value.as_deref()).unwrap_or_default();
        if found == run_id {
            return Ok(self);
        }
        let named = |id: &str| if id.is_empty() { "none".into() } else { format!("{id:?}") };
        let what = format!(
            "belongs to another run (its run id is {}, that of result.json is {}): the folder holds files of two runs",
            named(found),
            named(run_id)
        );
        Err(SeriesError { file: self.file.name, column: None, what })
    }

    /// Returns the number of row groups.
    pub fn groups(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of rows in all groups.
    pub fn row_count(&self) -> usize {
        self.rows.iter().sum()
    }

    /// Builds an error about a column.
    pub fn wrong(&self, column: &Column, what: impl Into<String>) -> SeriesError {
        SeriesError { file: self.file.name, column: Some(column.name), what: what.into() }
    }

    /// Returns the declared column of this name.
    pub fn column(&self, name: &str) -> &'static Column {
        self.file.columns.iter().find(|c| c.name == name).expect("a column of the file's list")
    }

    fn leaf(&self, column: &Column) -> Option<(usize, &ColumnDescPtr)> {
        let leaves = self.meta.file_metadata().schema_descr().columns();
        leaves.iter().enumerate().find(|(_, leaf)| leaf.path().parts() == [column.name])
    }

    /// Whether the file has the column. Older files have fewer columns.
    pub fn has(&self, column: &Column) -> bool {
        self.leaf(column).is_some()
    }

    /// Calls `take` for each cell of a column in a group, in order; null is `None`.
    fn cells<T: DataType>(
        &self,
        group: usize,
        column: &Column,
        expected: &str,
        take: impl FnMut(Option<&T::T>) -> Result<(), String>,
    ) -> Result<(), SeriesError> {
        let wrong = |what: String| self.wrong(column, what);
        let (index, leaf) = self.leaf(column).ok_or_else(|| wrong("is missing".into()))?;
        if leaf.physical_type() != T::get_physical_type() || leaf.max_rep_level() > 0 {
            return Err(wrong(format!("is of another type, expected {expected}")));
        }
        let rows = self.rows[group];
        let chunk = self.meta.row_group(group).column(index);
        let pages = CheckedPages::new(&self.pages, chunk, rows).map_err(|e| wrong(read_error(e)))?;
        let reader = ColumnReaderImpl::<T>::new(leaf.clone(), Box::new(pages));
        decode(reader, rows, leaf.max_def_level(), take).map_err(wrong)
    }

    /// Reads the integers of a column in a group; null is `None`.
    ///
    /// # Errors
    /// Fails when the column cannot be decoded, a value is out of `T`'s range, or a null is in a column
    /// without nulls.
    pub fn counts<T: TryFrom<i64>>(
        &self,
        group: usize,
        column: &Column,
    ) -> Result<Vec<Option<T>>, SeriesError> {
        let mut out = Vec::new();
        self.cells::<Int64Type>(group, column, "64-bit integers", |n| {
            out.push(match n {
                Some(&n) => Some(T::try_from(n).map_err(|_| format!("has {n}, which is out of range"))?),
                None if column.kind.nullable() => None,
                None => return Err("has a null".into()),
            });
            Ok(())
        })?;
        Ok(out)
    }

    /// Reads the integers of a column without nulls, as [`ParquetTable::counts`] does.
    pub fn known<T: TryFrom<i64>>(&self, group: usize, column: &Column) -> Result<Vec<T>, SeriesError> {
        Ok(self.counts(group, column)?.into_iter().flatten().collect())
    }

    /// Reads the doubles of a column in a group; null is `None`.
    pub fn reals(&self, group: usize, column: &Column) -> Result<Vec<Option<f64>>, SeriesError> {
        let mut out = Vec::new();
        self.cells::<DoubleType>(group, column, "doubles", |x| {
            out.push(x.copied().filter(|x| !x.is_nan()));
            Ok(())
        })?;
        Ok(out)
    }

    /// Reads the texts of a column in a group, as indexes into the returned dictionary. Null is read as the
    /// empty text.
    pub fn texts(&self, group: usize, column: &Column) -> Result<(Vec<Text>, Dictionary), SeriesError> {
        let (mut out, mut texts) = (Vec::new(), Dictionary::default());
        // Most rows have the same text as the row before.
        let (mut last, mut number) = (Vec::new(), texts.number(b"").expect("the empty text"));
        self.cells::<ByteArrayType>(group, column, "texts", |text| {
            let text = text.map_or(&[][..], |text| text.data());
            if text != last {
                number = texts.number(text).ok_or("has a text that is not UTF-8")?;
                last = text.to_vec();
            }
            out.push(number);
            Ok(())
        })?;
        Ok((out, texts))
    }
}

fn read_error(e: ParquetError) -> String {
    format!("cannot be read: {e}")
}

/// Calls `take` for each of the `rows` cells. `level` is the definition level of a value, 0 for columns
/// without nulls.
fn decode<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    level: i16,
    mut take: impl FnMut(Option<&T::T>) -> Result<(), String>,
) -> Result<(), String> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut left = rows;
    while left > 0 {
        values.clear();
        levels.clear();
        let batch = left.min(BATCH_ROWS);
        let read = reader.read_records(batch, Some(&mut levels), None, &mut values);
        let (n, _, _) = read.map_err(read_error)?;
        if n == 0 {
            return Err("has fewer rows than the file states".into());
        }
        left -= n;
        if level == 0 {
            values.iter().try_for_each(|value| take(Some(value)))?;
            continue;
        }
        let mut values = values.iter();
        for &l in &levels {
            take(if l == level { values.next() } else { None })?;
        }
    }
    Ok(())
}
