//! Table columns, and a macro that declares those of a time series once.
//!
//! `columns!` (below) takes a list of columns, each with its meaning, type, unit, growth and clocks. From it
//! the macro generates a series (one vector per column), a point (one row) and an implementation of
//! [`Columns`]. Parquet, the report page and the lab's pipe use the latter to iterate over a series without
//! naming its columns. A new column needs a line in the list and code that measures it, once per clock.

/// Type of a column. Doubles and integers are 64 bits wide, texts are UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    Text,
    TextOrNull,
    /// Non-negative integer.
    Int,
    /// Non-negative integer or null.
    IntOrNull,
    Real,
    RealOrNull,
}

impl ColumnKind {
    /// Whether the column may contain nulls.
    pub fn nullable(self) -> bool {
        matches!(self, ColumnKind::TextOrNull | ColumnKind::IntOrNull | ColumnKind::RealOrNull)
    }
}

/// Unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Millis,
    /// 10^6 bit/s.
    Mbps,
    Bytes,
    Packets,
    Rounds,
    /// A factor, without a unit.
    Factor,
}

impl Unit {
    /// The symbol in documents; empty for a factor.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Millis => "ms",
            Unit::Mbps => "Mbit/s",
            Unit::Bytes => "bytes",
            Unit::Packets => "packets",
            Unit::Rounds => "round trips",
            Unit::Factor => "",
        }
    }
}

/// How the values of a column relate from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The value at the time of the row.
    Gauge,
    /// A running total.
    Total,
}

/// The clocks that provide a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    Both,
    /// The simulator only; null on the kernel.
    Sim,
    /// The kernel only; null in the simulator.
    Kernel,
}

/// Description of a column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
    /// Unit; `None` where `about` states it.
    pub unit: Option<Unit>,
    pub growth: Growth,
    pub clocks: Clocks,
    /// Meaning of the value, and of null.
    pub about: &'static str,
}

/// A type of a series' cells: `u64`, `f64` or an option of either.
pub trait Cell {
    /// Column type of the cells.
    const KIND: ColumnKind;
}

impl Cell for u64 {
    const KIND: ColumnKind = ColumnKind::Int;
}
impl Cell for Option<u64> {
    const KIND: ColumnKind = ColumnKind::IntOrNull;
}
impl Cell for f64 {
    const KIND: ColumnKind = ColumnKind::Real;
}
impl Cell for Option<f64> {
    const KIND: ColumnKind = ColumnKind::RealOrNull;
}

/// The cells of a column, by [`ColumnKind`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cells<'a> {
    Int(&'a [u64]),
    /// Integers, some unknown.
    IntOrNull(&'a [Option<u64>]),
    Real(&'a [f64]),
    /// Doubles, some unknown.
    RealOrNull(&'a [Option<f64>]),
}

/// The cells of a column, to append to.
#[derive(Debug, PartialEq)]
pub enum CellsMut<'a> {
    Int(&'a mut Vec<u64>),
    /// Integers, some unknown.
    IntOrNull(&'a mut Vec<Option<u64>>),
    Real(&'a mut Vec<f64>),
    /// Doubles, some unknown.
    RealOrNull(&'a mut Vec<Option<f64>>),
}

/// Conversions of cell vectors to [`Cells`] and [`CellsMut`].
macro_rules! cells {
    ($($T:ty => $Name:ident),+) => { $(
        impl<'a> From<&'a Vec<$T>> for Cells<'a> {
            fn from(cells: &'a Vec<$T>) -> Cells<'a> {
                Cells::$Name(cells)
            }
        }
        impl<'a> From<&'a mut Vec<$T>> for CellsMut<'a> {
            fn from(cells: &'a mut Vec<$T>) -> CellsMut<'a> {
                CellsMut::$Name(cells)
            }
        }
    )+ };
}
cells!(u64 => Int, Option<u64> => IntOrNull, f64 => Real, Option<f64> => RealOrNull);

/// A series that can be iterated by column.
pub trait Columns {
    /// All columns in the order of declaration; the first is the time.
    const COLUMNS: &'static [Column];
    /// Each column with its cells, in the order of declaration.
    fn cells(&self) -> impl Iterator<Item = (&'static Column, Cells<'_>)>;
    /// Each column with its cells, to append to.
    fn cells_mut(&mut self) -> impl Iterator<Item = (&'static Column, CellsMut<'_>)>;
}

/// Declares a series and its points: two structs with further fields, then one line per column:
///
/// ```text
/// /// the meaning; null: the meaning of null
/// name: cell type, Unit Growth Clocks;
/// ```
///
/// The comment above a column becomes its `about` text, which readers of files see; it therefore says null
/// for `None`.
macro_rules! columns {
    (
        $(#[$series_about:meta])*
        pub struct $Series:ident { $($series_fields:tt)* }
        $(#[$point_about:meta])*
        pub struct $Point:ident { $($point_fields:tt)* }
        columns { $($(#[doc = $about:literal])+ $name:ident: $T:ty, $unit:ident $growth:ident $clocks:ident;)+ }
    ) => {
        $(#[$series_about])*
        #[derive(Clone, Debug, PartialEq, Default)]
        pub struct $Series {
            $($series_fields)*
            $($(#[doc = $about])+ pub $name: Vec<$T>,)+
        }

        $(#[$point_about])*
        #[derive(Clone, Copy, Debug, PartialEq, Default)]
        pub struct $Point {
            $($point_fields)*
            $($(#[doc = $about])+ pub $name: $T,)+
        }

        impl $Series {
            /// Adds a row to every column.
            fn push_cells(&mut self, point: &$Point) {
                $(self.$name.push(point.$name);)+
            }
        }

        impl $crate::column::Columns for $Series {
            const COLUMNS: &'static [$crate::column::Column] = &[$($crate::column::Column {
                name: stringify!($name),
                kind: <$T as $crate::column::Cell>::KIND,
                unit: Some($crate::column::Unit::$unit),
                growth: $crate::column::Growth::$growth,
                clocks: $crate::column::Clocks::$clocks,
                about: concat!($($about),+).trim_ascii_start(),
            }),+];

            fn cells(&self) -> impl Iterator<Item = (&'static $crate::column::Column, $crate::column::Cells<'_>)> {
                Self::COLUMNS.iter().zip([$((&self.$name).into()),+])
            }

            fn cells_mut(
                &mut self,
            ) -> impl Iterator<Item = (&'static $crate::column::Column, $crate::column::CellsMut<'_>)> {
                Self::COLUMNS.iter().zip([$((&mut self.$name).into()),+])
            }
        }
    };
}
pub(crate) use columns;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementPoint, ElementSeries, FlowPoint, FlowSeries};

    /// Names that end with a unit must have that unit, as readers of files rely on names.
    #[test]
    fn names_with_a_unit_suffix_have_that_unit() {
        let suffixes =
            [("_mbps", Unit::Mbps), ("_ms", Unit::Millis), ("_bytes", Unit::Bytes), ("_s", Unit::Seconds)];
        for columns in [FlowSeries::COLUMNS, ElementSeries::COLUMNS] {
            for (i, column) in columns.iter().enumerate() {
                let named = suffixes.iter().find(|(suffix, _)| column.name.ends_with(suffix));
                assert!(named.is_none_or(|(_, unit)| column.unit == Some(*unit)), "{}", column.name);
                assert!(columns[..i].iter().all(|c| c.name != column.name), "{} twice", column.name);
            }
            assert_eq!(columns[0].name, "time_s");
        }
    }

    #[test]
    fn a_point_is_a_row_of_every_column() {
        let mut flow = FlowSeries::new("f");
        flow.push(FlowPoint { cwnd: 10, rtt_ms: Some(30.5), ..FlowPoint::default() });
        let mut element = ElementSeries::default();
        element.push(ElementPoint { dropped: 3, ..ElementPoint::default() });
        let first_cell = |(column, cells): (&'static Column, Cells)| match cells {
            Cells::Int(n) => format!("{} {}", column.name, n[0]),
            Cells::IntOrNull(n) => format!("{} {:?}", column.name, n[0]),
            Cells::Real(x) => format!("{} {}", column.name, x[0]),
            Cells::RealOrNull(x) => format!("{} {:?}", column.name, x[0]),
        };
        let rows: Vec<String> = flow.cells().map(first_cell).chain(element.cells().map(first_cell)).collect();
        assert_eq!(rows.len(), FlowSeries::COLUMNS.len() + ElementSeries::COLUMNS.len());
        for row in
            ["time_s 0", "cwnd 10", "ssthresh None", "rtt_ms Some(30.5)", "dropped 3", "tokens_bytes None"]
        {
            assert!(rows.iter().any(|r| r == row), "{row}: {rows:?}");
        }
    }
}
