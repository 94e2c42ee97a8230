//! A file of series, read column by column.

use super::chunk::{self, Cell, Text, Texts};
use super::columns::{Column, File};
use super::footer::{BYTE_ARRAY, DOUBLE, Footer, INT64, Leaf};
use std::fmt;

/// The most rows of a file: some 5 GB of series.
const MOST_ROWS: usize = 1 << 25;
/// The most rows a byte of a file can stand for; real ones have ten at most.
const ROWS_A_BYTE: usize = 64;

/// So many columns every version of a file has: whose, when, and one number.
const ALWAYS: usize = 6;

/// Why a file is no series of longfat's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesError {
    /// The file's name.
    pub file: &'static str,
    /// The column, where it is one.
    pub column: Option<&'static str>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for SeriesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "{}: column `{column}` {}", self.file, self.what),
            None => write!(f, "{} {}", self.file, self.what),
        }
    }
}

impl std::error::Error for SeriesError {}

/// An opened file.
pub struct Table<'a> {
    file: File,
    footer: Footer<'a>,
}

impl<'a> Table<'a> {
    /// # Errors
    /// What is no Parquet file, lacks what all have, or has more rows than its size can hold.
    pub fn open(file: File, bytes: &'a [u8]) -> Result<Table<'a>, SeriesError> {
        let wrong = |what| SeriesError { file: file.name, column: None, what };
        let footer = Footer::read(bytes).map_err(wrong)?;
        let rows = footer.groups.iter().fold(0usize, |n, g| n.saturating_add(g.rows));
        if rows > MOST_ROWS.min(bytes.len().saturating_mul(ROWS_A_BYTE)) {
            return Err(wrong(format!("claims {rows} rows in {} bytes", bytes.len())));
        }
        let table = Table { file, footer };
        match file.columns.iter().take(ALWAYS).find(|c| !table.has(c)) {
            Some(column) => Err(table.wrong(column, "is missing")),
            None => Ok(table),
        }
    }

    /// How many row groups there are.
    pub fn groups(&self) -> usize {
        self.footer.groups.len()
    }

    /// An error of a column.
    pub fn wrong(&self, column: &Column, what: impl Into<String>) -> SeriesError {
        SeriesError { file: self.file.name, column: Some(column.name), what: what.into() }
    }

    /// The file's column of this name.
    pub fn column(&self, name: &str) -> &'static Column {
        self.file.columns.iter().find(|c| c.name == name).expect("a column of the file's list")
    }

    fn leaf(&self, column: &Column) -> Option<(usize, &Leaf)> {
        self.footer.leaves.iter().enumerate().find(|(_, leaf)| leaf.name == column.name)
    }

    /// Whether the file has the column; older ones have fewer.
    pub fn has(&self, column: &Column) -> bool {
        self.leaf(column).is_some()
    }

    /// A group's values of a column that is there, `null` where there is none.
    fn cells<T: Cell>(
        &self,
        group: usize,
        column: &Column,
        (physical, expected): (i64, &str),
        null: T,
        store: &mut T::Store,
    ) -> Result<Vec<T>, SeriesError> {
        let wrong = |what: &str| self.wrong(column, what);
        let (index, leaf) = self.leaf(column).ok_or_else(|| wrong("is missing"))?;
        if leaf.physical != physical || leaf.repetition > 1 {
            return Err(wrong(&format!("is of another type, expected {expected}")));
        }
        let group = &self.footer.groups[group];
        let chunk = self.footer.chunk(group, index);
        let chunk = chunk.ok_or_else(|| wrong("is not in the file, or packed other than by Snappy"))?;
        chunk::decode(&chunk, leaf.repetition == 1, group.rows, null, store).map_err(|what| wrong(&what))
    }

    /// A group's numbers of a column, `null` where there is none.
    ///
    /// # Errors
    /// What does not decode, is out of `T`'s range, or is null where null may not be.
    pub fn counts<T: TryFrom<i64> + Copy>(
        &self,
        group: usize,
        column: &Column,
        null: T,
    ) -> Result<Vec<T>, SeriesError> {
        const NULL: i64 = i64::MIN;
        let cells = self.cells(group, column, (INT64, "64-bit integers"), NULL, &mut ())?;
        let count = |n: i64| match n {
            NULL if column.kind.nullable() => Ok(null),
            NULL => Err(self.wrong(column, "has a null")),
            n => T::try_from(n).map_err(|_| self.wrong(column, format!("has {n}, which is out of range"))),
        };
        cells.into_iter().map(count).collect()
    }

    /// A group's doubles of a column, NaN where there is none.
    pub fn reals(&self, group: usize, column: &Column) -> Result<Vec<f64>, SeriesError> {
        self.cells(group, column, (DOUBLE, "doubles"), f64::NAN, &mut ())
    }

    /// A group's texts of a column: their numbers in the second; null is the empty text.
    pub fn texts(&self, group: usize, column: &Column) -> Result<(Vec<Text>, Texts), SeriesError> {
        let mut texts = Texts::default();
        // The store is empty, so this is number 0.
        let empty = Text::read(&mut &[0; 4][..], &mut texts).expect("the empty text");
        let cells = self.cells(group, column, (BYTE_ARRAY, "texts"), empty, &mut texts)?;
        Ok((cells, texts))
    }
}
