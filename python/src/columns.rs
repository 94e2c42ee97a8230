//! Converts the columns of a time series to Arrow arrays. The vectors that the run filled become the arrays'
//! buffers without a copy, except that optional values are compacted in place (Arrow stores validity as one
//! bit each, Rust as a word).

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int8Type, UInt64Type};
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use result::{CellsMut, Column, ColumnKind, Columns, FlowSeries};
use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;

/// Type of a text column with few distinct values. Indexes are signed, because pandas accepts no others.
pub fn words_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
}

/// Arrow field of a column, with unit and meaning as metadata.
pub fn field(column: &Column) -> Field {
    let kind = match column.kind {
        ColumnKind::Int | ColumnKind::IntOrNull => DataType::UInt64,
        ColumnKind::Real | ColumnKind::RealOrNull => DataType::Float64,
        ColumnKind::Text | ColumnKind::TextOrNull => DataType::Utf8,
    };
    let mut about = HashMap::from([("about".to_string(), column.about.to_string())]);
    if let Some(unit) = column.unit {
        about.insert("unit".into(), unit.symbol().into());
    }
    Field::new(column.name, kind, column.kind.nullable()).with_metadata(about)
}

/// Converts the columns of a series and leaves them empty.
pub fn arrays<S: Columns>(series: &mut S) -> Vec<ArrayRef> {
    let column = |cells| -> ArrayRef {
        match cells {
            CellsMut::Int(cells) => Arc::new(known::<UInt64Type>(take(cells))),
            CellsMut::Real(cells) => Arc::new(known::<Float64Type>(take(cells))),
            CellsMut::IntOrNull(cells) => Arc::new(nullable::<UInt64Type>(take(cells))),
            CellsMut::RealOrNull(cells) => Arc::new(nullable::<Float64Type>(take(cells))),
        }
    };
    series.cells_mut().map(|(_, cells)| column(cells)).collect()
}

/// Converts a flow's states: indexes into its own list of names.
pub fn states(series: &mut FlowSeries) -> ArrayRef {
    let names = StringArray::from(take(&mut series.states));
    // State numbers are below 128: there are some thirty states in all.
    let rows = series.state.len();
    let indexes = ScalarBuffer::<i8>::new(Buffer::from_vec(take(&mut series.state)), 0, rows);
    words(indexes, names)
}

/// A column with the same text in every row; `zeros` is at least as long.
pub fn constant(word: &str, zeros: &Buffer, rows: usize) -> ArrayRef {
    words(ScalarBuffer::<i8>::new(zeros.clone(), 0, rows), StringArray::from(vec![word]))
}

fn words(indexes: ScalarBuffer<i8>, names: StringArray) -> ArrayRef {
    let keys = PrimitiveArray::<Int8Type>::new(indexes, None);
    Arc::new(DictionaryArray::new(keys, Arc::new(names)))
}

fn known<T: ArrowPrimitiveType>(cells: Vec<T::Native>) -> PrimitiveArray<T> {
    PrimitiveArray::new(ScalarBuffer::from(cells), None)
}

fn nullable<T: ArrowPrimitiveType>(cells: Vec<Option<T::Native>>) -> PrimitiveArray<T> {
    let known: NullBuffer = cells.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    // Collected in place, into the front of the same allocation.
    let mut values: Vec<T::Native> = cells.into_iter().map(Option::unwrap_or_default).collect();
    values.shrink_to_fit();
    let nulls = (known.null_count() > 0).then_some(known);
    PrimitiveArray::new(ScalarBuffer::from(values), nulls)
}
