//! A file of series, read column by column.

use crate::tables::columns::{Column, File};
use crate::tables::guard::{Bounded, Pages};
use crate::tables::write::RUN_ID;
use bytes::Bytes;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::ColumnDescPtr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a file begins and ends with.
const MAGIC: &[u8] = b"PAR1";
/// The most rows of a file: some 5 GB of series.
const MOST_ROWS: usize = 1 << 25;
/// The most rows a byte of a file can stand for; real ones have ten at most.
const ROWS_A_BYTE: usize = 64;
/// Rows decoded at a time, so that a broken column fails before there is room for all it claims.
const BATCH: usize = 8192;

/// So many columns every version of a file has: whose, when, and one number.
const ALWAYS: usize = 6;

/// Why a file is no series of longfat's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{} {what}", in_column(*.column))]
pub struct SeriesError {
    /// The file's name.
    pub file: &'static str,
    /// The column, where it is one.
    pub column: Option<&'static str>,
    /// What is wrong.
    pub what: String,
}

fn in_column(column: Option<&str>) -> String {
    column.map(|column| format!(": column `{column}`")).unwrap_or_default()
}

/// A text, by its number in a [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text(u32);

/// Different texts, in order of appearance.
#[derive(Debug, Default)]
pub struct Dictionary {
    list: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Dictionary {
    /// The text's number, a new one if need be; `None` when it is no UTF-8.
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

/// An opened file.
pub struct ParquetTable {
    file: File,
    pages: Arc<Pages>,
    meta: ParquetMetaData,
    /// Of each row group.
    rows: Vec<usize>,
}

impl ParquetTable {
    /// # Errors
    /// What is no Parquet file, lacks what all have, or has more rows than its size can hold.
    pub fn open(file: File, bytes: &[u8]) -> Result<ParquetTable, SeriesError> {
        let wrong = |what| SeriesError { file: file.name, column: None, what };
        if !bytes.starts_with(MAGIC) || !bytes.ends_with(MAGIC) {
            return Err(wrong("is no Parquet file, or was cut".into()));
        }
        let all = Bytes::copy_from_slice(bytes);
        let meta = ParquetMetaDataReader::new().parse_and_finish(&all).map_err(|e| wrong(unread(e)))?;
        let pages = Arc::new(Pages(all));
        let groups = meta.row_groups().iter().map(|g| usize::try_from(g.num_rows()));
        let rows: Vec<usize> = groups.collect::<Result<_, _>>().map_err(|_| wrong("is damaged".into()))?;
        let all = rows.iter().fold(0usize, |n, &rows| n.saturating_add(rows));
        if all > MOST_ROWS.min(bytes.len().saturating_mul(ROWS_A_BYTE)) {
            return Err(wrong(format!("claims {all} rows in {} bytes", bytes.len())));
        }
        let said = meta.file_metadata().num_rows();
        if usize::try_from(said) != Ok(all) {
            return Err(wrong(format!("has {all} rows, though it says {said}")));
        }
        let table = ParquetTable { file, pages, meta, rows };
        match file.columns.iter().take(ALWAYS).find(|c| !table.has(c)) {
            Some(column) => Err(table.wrong(column, "is missing")),
            None => Ok(table),
        }
    }

    /// The file, if it says that it is of the run with this id; one without an id is of a run without.
    pub fn of_run(self, run_id: &str) -> Result<ParquetTable, SeriesError> {
        let all = self.meta.file_metadata().key_value_metadata();
        let found = all.into_iter().flatten().find(|entry| entry.key == RUN_ID);
        let found = found.and_then(|entry| entry.value.as_deref()).unwrap_or_default();
        if found == run_id {
            return Ok(self);
        }
        let named = |id: &str| if id.is_empty() { "none".into() } else { format!("{id:?}") };
        let what = format!(
            "is of another run (its run id is {}, that of result.json {}): the folder holds files of two runs",
            named(found),
            named(run_id)
        );
        Err(SeriesError { file: self.file.name, column: None, what })
    }

    /// How many row groups there are.
    pub fn groups(&self) -> usize {
        self.rows.len()
    }

    /// Rows of all groups.
    pub fn row_count(&self) -> usize {
        self.rows.iter().sum()
    }

    /// An error of a column.
    pub fn wrong(&self, column: &Column, what: impl Into<String>) -> SeriesError {
        SeriesError { file: self.file.name, column: Some(column.name), what: what.into() }
    }

    /// The file's column of this name.
    pub fn column(&self, name: &str) -> &'static Column {
        self.file.columns.iter().find(|c| c.name == name).expect("a column of the file's list")
    }

    fn leaf(&self, column: &Column) -> Option<(usize, &ColumnDescPtr)> {
        let leaves = self.meta.file_metadata().schema_descr().columns();
        leaves.iter().enumerate().find(|(_, leaf)| leaf.path().parts() == [column.name])
    }

    /// Whether the file has the column; older ones have fewer.
    pub fn has(&self, column: &Column) -> bool {
        self.leaf(column).is_some()
    }

    /// Gives `take` a group's cells of a column that is there, in order; `None` is null.
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
        let pages = Bounded::new(&self.pages, chunk, rows).map_err(|e| wrong(unread(e)))?;
        let reader = ColumnReaderImpl::<T>::new(leaf.clone(), Box::new(pages));
        decode(reader, rows, leaf.max_def_level(), take).map_err(wrong)
    }

    /// A group's numbers of a column, `None` where there is none.
    ///
    /// # Errors
    /// What does not decode, is out of `T`'s range, or is null where null may not be.
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

    /// As [`Table::counts`], of a column that is never null.
    pub fn known<T: TryFrom<i64>>(&self, group: usize, column: &Column) -> Result<Vec<T>, SeriesError> {
        Ok(self.counts(group, column)?.into_iter().flatten().collect())
    }

    /// A group's doubles of a column, `None` where there is none.
    pub fn reals(&self, group: usize, column: &Column) -> Result<Vec<Option<f64>>, SeriesError> {
        let mut out = Vec::new();
        self.cells::<DoubleType>(group, column, "doubles", |x| {
            out.push(x.copied().filter(|x| !x.is_nan()));
            Ok(())
        })?;
        Ok(out)
    }

    /// A group's texts of a column: their numbers in the second; null is the empty text.
    pub fn texts(&self, group: usize, column: &Column) -> Result<(Vec<Text>, Dictionary), SeriesError> {
        let (mut out, mut texts) = (Vec::new(), Dictionary::default());
        // Most are what the row before has.
        let (mut last, mut number) = (Vec::new(), texts.number(b"").expect("the empty text"));
        self.cells::<ByteArrayType>(group, column, "texts", |text| {
            let text = text.map_or(&[][..], |text| text.data());
            if text != last {
                number = texts.number(text).ok_or("has a text that is no UTF-8")?;
                last = text.to_vec();
            }
            out.push(number);
            Ok(())
        })?;
        Ok((out, texts))
    }
}

fn unread(e: ParquetError) -> String {
    format!("cannot be read: {e}")
}

/// Gives `take` all `rows` cells; `level` is the definition level of what is there, 0 where null cannot be.
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
        let batch = left.min(BATCH);
        let read = reader.read_records(batch, Some(&mut levels), None, &mut values);
        let (n, _, _) = read.map_err(unread)?;
        if n == 0 {
            return Err("has fewer rows than the file says".into());
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
