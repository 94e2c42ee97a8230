//! Columns of tables, and what declares those of a time series once.
//!
//! `columns!` (below) takes a list of columns, each with its meaning, type, unit, growth and clocks. It makes of it a
//! series (a vector for each column), a point (a row) and [`Columns`], by which Parquet, the report page and the lab's
//! pipe go through a series without knowing any of its columns by name. A new column needs a line in the list and the
//! place that measures it, one for each clock.

/// What a column holds. Doubles and integers are 64 bits wide, texts are UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// Text or null.
    TextOrNull,
    /// Integer, never negative.
    Int,
    /// Integer, never negative, or null.
    IntOrNull,
    /// Double.
    Real,
    /// Double or null.
    RealOrNull,
}

impl ColumnKind {
    /// Whether null may be.
    pub fn nullable(self) -> bool {
        matches!(self, ColumnKind::TextOrNull | ColumnKind::IntOrNull | ColumnKind::RealOrNull)
    }
}

/// What a column counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// 10^6 bit/s.
    Mbps,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Round trips.
    Rounds,
    /// A factor, without a unit.
    Factor,
}

impl Unit {
    /// As documents write it; nothing for a factor.
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

/// How a column goes on from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The value at the row's moment.
    Gauge,
    /// What came together so far.
    Total,
}

/// Which clocks know a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// Simulator and kernel.
    Both,
    /// The simulator alone; null on the kernel.
    Sim,
    /// The kernel alone; null on the simulator.
    Kernel,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
    /// What it counts in; `None` where `about` says it.
    pub unit: Option<Unit>,
    /// How it goes on.
    pub growth: Growth,
    /// Who knows it.
    pub clocks: Clocks,
    /// What it means, and what null means.
    pub about: &'static str,
}

/// A type of a series' cells: `u64` and `f64`, and options of them.
pub trait Cell {
    /// What a column of such cells holds.
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

/// A column's cells, as [`ColumnKind`] has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cells<'a> {
    /// Integers.
    Int(&'a [u64]),
    /// Integers, some unknown.
    IntOrNull(&'a [Option<u64>]),
    /// Doubles.
    Real(&'a [f64]),
    /// Doubles, some unknown.
    RealOrNull(&'a [Option<f64>]),
}

/// A column's cells, to be added to.
#[derive(Debug, PartialEq)]
pub enum CellsMut<'a> {
    /// Integers.
    Int(&'a mut Vec<u64>),
    /// Integers, some unknown.
    IntOrNull(&'a mut Vec<Option<u64>>),
    /// Doubles.
    Real(&'a mut Vec<f64>),
    /// Doubles, some unknown.
    RealOrNull(&'a mut Vec<Option<f64>>),
}

/// Vectors of a type of cells, as [`Cells`] and [`CellsMut`].
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

/// A series whose columns can be gone through.
pub trait Columns {
    /// Its columns, in the order of their declaration; the first is the time.
    const COLUMNS: &'static [Column];
    /// Each column with its cells, in that order.
    fn cells(&self) -> impl Iterator<Item = (&'static Column, Cells<'_>)>;
    /// The same, to be added to.
    fn cells_mut(&mut self) -> impl Iterator<Item = (&'static Column, CellsMut<'_>)>;
}

/// Declares a series and its points: two structs with fields of their own, then a line for each column:
///
/// ```text
/// /// what it means; null: what that means
/// name: type of a cell, Unit Growth Clocks;
/// ```
///
/// The comment above a column is its `about`, so it is written for readers of files: null is `None` here.
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

    /// A name that ends with a unit has that unit: readers of files go by names.
    #[test]
    fn names_tell_the_unit() {
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
        let of = |(column, cells): (&'static Column, Cells)| match cells {
            Cells::Int(n) => format!("{} {}", column.name, n[0]),
            Cells::IntOrNull(n) => format!("{} {:?}", column.name, n[0]),
            Cells::Real(x) => format!("{} {}", column.name, x[0]),
            Cells::RealOrNull(x) => format!("{} {:?}", column.name, x[0]),
        };
        let rows: Vec<String> = flow.cells().map(of).chain(element.cells().map(of)).collect();
        assert_eq!(rows.len(), FlowSeries::COLUMNS.len() + ElementSeries::COLUMNS.len());
        for row in
            ["time_s 0", "cwnd 10", "ssthresh None", "rtt_ms Some(30.5)", "dropped 3", "tokens_bytes None"]
        {
            assert!(rows.iter().any(|r| r == row), "{row}: {rows:?}");
        }
    }
}
