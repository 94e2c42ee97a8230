//! Writes files whose columns are known only to the caller, such as those of a sweep.

use crate::tables::columns::ColumnKind;
use crate::tables::sheet::{ParquetSheet, text};
use std::io::{self, Write};

/// Rows per row group.
const GROUP_ROWS: usize = 64 * 1024;

/// A column with all its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetColumn<'a> {
    pub name: &'a str,
    pub values: SheetValues<'a>,
}

/// The values of a column; each may be null.
#[derive(Clone, Debug, PartialEq)]
pub enum SheetValues<'a> {
    Text(Vec<Option<&'a str>>),
    Int(Vec<Option<u64>>),
    /// Numbers; NaN is written as null.
    Real(Vec<Option<f64>>),
}

impl SheetValues<'_> {
    fn kind(&self) -> ColumnKind {
        match self {
            SheetValues::Text(_) => ColumnKind::TextOrNull,
            SheetValues::Int(_) => ColumnKind::IntOrNull,
            SheetValues::Real(_) => ColumnKind::RealOrNull,
        }
    }

    fn len(&self) -> usize {
        match self {
            SheetValues::Text(all) => all.len(),
            SheetValues::Int(all) => all.len(),
            SheetValues::Real(all) => all.len(),
        }
    }
}

/// Writes columns of equal length as a file, with `meta` in its footer. The same columns give the same bytes.
///
/// # Errors
/// Fails when `out` fails, and when columns have different lengths.
pub fn write_sheet(
    out: &mut (dyn Write + Send),
    columns: &[SheetColumn<'_>],
    meta: &[(&str, String)],
) -> io::Result<()> {
    let declared: Vec<(&str, ColumnKind)> = columns.iter().map(|c| (c.name, c.values.kind())).collect();
    let meta: Vec<(&str, &str)> = meta.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let rows = columns.first().map_or(0, |c| c.values.len());
    if columns.iter().any(|c| c.values.len() != rows) {
        return Err(io::Error::other("a table has columns of different lengths"));
    }
    let mut sheet = ParquetSheet::with_columns(out, &declared, &meta, GROUP_ROWS)?;
    for from in (0..rows).step_by(GROUP_ROWS) {
        let to = rows.min(from + GROUP_ROWS);
        sheet.add(to - from, |block| {
            for column in columns {
                match &column.values {
                    SheetValues::Text(all) => block.texts(all[from..to].iter().map(|t| t.map(text))),
                    SheetValues::Int(all) => block.ints(all[from..to].iter().map(|n| n.map(|n| n as i64))),
                    SheetValues::Real(all) => block.options(all[from..to].iter().copied()),
                }
            }
        })?;
    }
    sheet.close()
}
