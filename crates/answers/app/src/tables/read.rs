//! Reads series back from a result folder.

use crate::tables::columns::{Column, ColumnKind, ELEMENTS, FLOWS, File, RESPONSES, RETRANSMISSIONS};
use crate::tables::table::{ParquetTable, SeriesError};
use result::{CellsMut, Columns, ElementSeries, FlowSeries, Resent, Response, Run, VariantResult};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The series of one variant.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct VariantSeries {
    /// Series of the flows, in the summary's order; empty when sampling was off.
    pub flows: Vec<FlowSeries>,
    /// Series of the elements, in the summary's order; empty when sampling was off.
    pub elements: Vec<ElementSeries>,
}

/// Reads the series of the first repeat of each variant of `run`. Files are passed as their bytes; older
/// results have no `retransmissions.parquet` and no `responses.parquet`.
///
/// Columns that an older file lacks become zeros, or unknown where they may be unknown. Unknown columns are
/// ignored, and so are flows and elements that the run does not name.
///
/// # Errors
/// Fails when a file is not of this kind, is truncated, belongs to another run, or holds impossible values.
///
/// # Panics
/// Panics on rare damage within a page (see [`crate::tables`]).
pub fn read_series(
    flows: &[u8],
    elements: &[u8],
    retransmissions: Option<&[u8]>,
    responses: Option<&[u8]>,
    run: &Run,
) -> Result<Vec<VariantSeries>, SeriesError> {
    let open = |file, bytes| ParquetTable::open(file, bytes)?.of_run(&run.run_id);
    let first_repeats = || run.variants.iter().map(|v| (v, 1));
    let mut flow_slots = Slots::new(first_repeats(), flow_names, FlowSeries::new);
    let table = open(FLOWS, flows)?;
    read_flows(&table, 0..table.groups(), &mut flow_slots)?;
    if let Some(bytes) = retransmissions {
        read_resent(&open(RETRANSMISSIONS, bytes)?, &mut flow_slots)?;
    }
    if let Some(bytes) = responses {
        read_responses(&open(RESPONSES, bytes)?, &mut flow_slots)?;
    }
    let mut element_slots = Slots::new(first_repeats(), element_names, element_series);
    let table = open(ELEMENTS, elements)?;
    read_elements(&table, 0..table.groups(), &mut element_slots)?;
    Ok(joined(flow_slots, element_slots))
}

/// Files of series, read one variant at a time, so that only the repeats of one variant are in memory.
pub struct RepeatFiles<'a> {
    run: &'a Run,
    flows: ParquetTable,
    elements: ParquetTable,
    /// The variants and repeats in each row group of either file.
    in_flows: Vec<RepeatsOfGroup>,
    in_elements: Vec<RepeatsOfGroup>,
}

/// Names and clocks of variants, with the number of a repeat.
type RepeatsOfGroup = BTreeSet<(String, String, u64)>;

impl<'a> RepeatFiles<'a> {
    /// Opens the files, which are passed as their bytes.
    ///
    /// # Errors
    /// Fails as [`read_series`] does.
    ///
    /// # Panics
    /// Panics as [`read_series`] does.
    pub fn open(flows: &[u8], elements: &[u8], run: &'a Run) -> Result<RepeatFiles<'a>, SeriesError> {
        let open = |file, bytes| ParquetTable::open(file, bytes)?.of_run(&run.run_id);
        let (flows, elements) = (open(FLOWS, flows)?, open(ELEMENTS, elements)?);
        let (in_flows, in_elements) = (repeats_by_group(&flows)?, repeats_by_group(&elements)?);
        Ok(RepeatFiles { run, flows, elements, in_flows, in_elements })
    }

    /// Reads the series of every repeat of a variant, in the order of the repeats, without retransmissions
    /// and responses. `variant` is an index into the run's variants.
    ///
    /// # Errors
    /// Fails as [`read_series`] does, and when the files have more repeats of the variant than its summary.
    ///
    /// # Panics
    /// Panics as [`read_series`] does, and where the run has no such variant.
    pub fn read(&self, variant: usize) -> Result<Vec<VariantSeries>, SeriesError> {
        let variant = &self.run.variants[variant];
        let is_of_variant =
            |key: &&(String, String, u64)| key.0 == variant.name && key.1 == variant.clock.name();
        let has_variant = |group: &RepeatsOfGroup| group.iter().any(|key| is_of_variant(&key));
        let all = self.in_flows.iter().chain(&self.in_elements).flatten();
        let repeats: BTreeSet<u64> = all.filter(is_of_variant).map(|key| key.2).collect();
        if repeats.len() > variant.repeats.as_ref().map_or(1, |r| r.n) {
            let what = format!("has {} repeats of {:?}, more than result.json", repeats.len(), variant.name);
            return Err(self.flows.wrong(self.flows.column("repeat"), what));
        }
        // Series in a file have rows. Names alone, no matter how many a summary claims, take no memory.
        let named = repeats.len().saturating_mul(variant.flows.len() + variant.elements.len());
        if named > self.flows.row_count() + self.elements.row_count() {
            return Ok(Vec::new());
        }
        let wanted = || repeats.iter().map(|&repeat| (variant, repeat));
        let groups = |all: &[RepeatsOfGroup]| -> Vec<usize> {
            (0..all.len()).filter(|&i| has_variant(&all[i])).collect()
        };
        let mut flows = Slots::new(wanted(), flow_names, FlowSeries::new);
        read_flows(&self.flows, groups(&self.in_flows), &mut flows)?;
        let mut elements = Slots::new(wanted(), element_names, element_series);
        read_elements(&self.elements, groups(&self.in_elements), &mut elements)?;
        Ok(joined(flows, elements))
    }
}

/// Returns the variants and repeats in each row group.
fn repeats_by_group(table: &ParquetTable) -> Result<Vec<RepeatsOfGroup>, SeriesError> {
    let keys_of = |group| {
        let (names, name_texts) = table.texts(group, table.column("variant"))?;
        let (clocks, clock_texts) = table.texts(group, table.column("clock"))?;
        let numbers: Vec<u64> = table.known(group, table.column("repeat"))?;
        let rows = numbers.iter().enumerate().map(|(row, &number)| (names[row], clocks[row], number));
        let mut keys: Vec<_> = rows.collect();
        keys.dedup();
        let named = |(name, clock, number)| (name_texts[name].clone(), clock_texts[clock].clone(), number);
        Ok(keys.into_iter().map(named).collect())
    };
    (0..table.groups()).map(keys_of).collect()
}

fn flow_names(variant: &VariantResult) -> Vec<&str> {
    variant.flows.iter().map(|f| f.name.as_str()).collect()
}

fn element_names(variant: &VariantResult) -> Vec<&str> {
    variant.elements.iter().map(|e| e.name.as_str()).collect()
}

fn element_series(name: &str) -> ElementSeries {
    ElementSeries { name: name.into(), ..ElementSeries::default() }
}

fn joined(flows: Slots<FlowSeries>, elements: Slots<ElementSeries>) -> Vec<VariantSeries> {
    let flows = flows.finish(|s| s.time_s.is_empty());
    let elements = elements.finish(|s| s.time_s.is_empty());
    flows.into_iter().zip(elements).map(|(flows, elements)| VariantSeries { flows, elements }).collect()
}

/// Checks that a file, passed as its bytes, belongs to this run.
///
/// # Errors
/// Fails when the file belongs to another run, or is not of this kind.
pub fn check_run_id(file: File, bytes: &[u8], run: &Run) -> Result<(), SeriesError> {
    ParquetTable::open(file, bytes)?.of_run(&run.run_id).map(drop)
}

/// Series of several variants that are being filled.
struct Slots<'a, S> {
    all: Vec<S>,
    /// Number of series of each variant.
    counts: Vec<usize>,
    /// Index into `all` by variant, clock, name and repeat.
    index: BTreeMap<([&'a str; 3], u64), usize>,
}

impl<'a, S> Slots<'a, S> {
    /// Creates empty series for these repeats of these variants.
    fn new(
        wanted: impl IntoIterator<Item = (&'a VariantResult, u64)>,
        names: impl Fn(&'a VariantResult) -> Vec<&'a str>,
        make: impl Fn(&str) -> S,
    ) -> Slots<'a, S> {
        let mut slots = Slots { all: Vec::new(), counts: Vec::new(), index: BTreeMap::new() };
        for (variant, repeat) in wanted {
            let names = names(variant);
            slots.counts.push(names.len());
            for name in names {
                let key = [&variant.name, variant.clock.name(), name];
                slots.index.insert((key, repeat), slots.all.len());
                slots.all.push(make(name));
            }
        }
        slots
    }

    /// Returns the series of each variant; an empty list where none of them has a row.
    fn finish(self, is_empty: impl Fn(&S) -> bool) -> Vec<Vec<S>> {
        let mut all = self.all.into_iter();
        let mut take = |n: usize| all.by_ref().take(n).collect::<Vec<S>>();
        let lists = self.counts.into_iter().map(&mut take);
        lists.map(|list| if list.iter().all(&is_empty) { Vec::new() } else { list }).collect()
    }
}

/// A range of rows in a group that belong to one series.
struct SeriesRows {
    rows: Range<usize>,
    /// Index of the series in [`Slots::all`].
    series: usize,
}

/// A row group, split by series.
struct Group<'a> {
    table: &'a ParquetTable,
    group: usize,
    ranges: Vec<SeriesRows>,
}

impl<'a> Group<'a> {
    fn new<S>(table: &'a ParquetTable, group: usize, slots: &Slots<S>) -> Result<Group<'a>, SeriesError> {
        let texts = |name| table.texts(group, table.column(name));
        let [variants, clocks, names] = [texts("variant")?, texts("clock")?, texts("name")?];
        let repeats: Vec<u64> = table.known(group, table.column("repeat"))?;
        let key = |row: usize| (variants.0[row], clocks.0[row], names.0[row], repeats[row]);
        let (mut ranges, mut begin) = (Vec::new(), 0);
        for row in 1..=repeats.len() {
            if row < repeats.len() && key(row) == key(begin) {
                continue;
            }
            let (variant, clock, name, repeat) = key(begin);
            let name = [&variants.1[variant], &clocks.1[clock], &names.1[name]].map(String::as_str);
            if let Some(&series) = slots.index.get(&(name, repeat)) {
                ranges.push(SeriesRows { rows: begin..row, series });
            }
            begin = row;
        }
        Ok(Group { table, group, ranges })
    }

    /// Appends the rows to the series' columns, except for the time. Where the file lacks a column, the
    /// values are unknown or 0.
    fn append_rows<S: Columns>(&self, slots: &mut Slots<S>) -> Result<(), SeriesError> {
        for (place, column) in S::COLUMNS.iter().enumerate().skip(1) {
            let read = self.read(column)?;
            for range in &self.ranges {
                let cells = slots.all[range.series].cells_mut().nth(place);
                if let Some((_, cells)) = cells {
                    read.append(cells, range.rows.clone());
                }
            }
        }
        Ok(())
    }

    fn read(&self, column: &Column) -> Result<ColumnCells, SeriesError> {
        Ok(match column.kind {
            _ if !self.table.has(column) => ColumnCells::Absent,
            ColumnKind::Real | ColumnKind::RealOrNull => {
                ColumnCells::Reals(self.table.reals(self.group, column)?)
            }
            _ => ColumnCells::Ints(self.table.counts(self.group, column)?),
        })
    }

    /// Reads the times. They must be finite and must not decrease within a series.
    fn times(&self, after: impl Fn(usize) -> f64) -> Result<Vec<f64>, SeriesError> {
        let column = self.table.column("time_s");
        let times = self.table.reals(self.group, column)?;
        let times: Vec<f64> = times.into_iter().map(|t| t.unwrap_or(f64::NAN)).collect();
        for range in &self.ranges {
            let mut last = after(range.series);
            for &t in &times[range.rows.clone()] {
                if !t.is_finite() || t < last {
                    return Err(self.table.wrong(column, format!("has the time {t} after {last}")));
                }
                last = t;
            }
        }
        Ok(times)
    }
}

/// The cells of a column in a row group.
enum ColumnCells {
    Ints(Vec<Option<u64>>),
    Reals(Vec<Option<f64>>),
    /// The file does not have the column.
    Absent,
}

impl ColumnCells {
    /// Appends `rows`. A column is always read as its own kind, so the two kinds agree.
    fn append(&self, cells: CellsMut, rows: Range<usize>) {
        match (cells, self) {
            (CellsMut::Int(to), ColumnCells::Ints(all)) => {
                to.extend(all[rows].iter().map(|n| n.unwrap_or(0)))
            }
            (CellsMut::IntOrNull(to), ColumnCells::Ints(all)) => to.extend_from_slice(&all[rows]),
            (CellsMut::Real(to), ColumnCells::Reals(all)) => {
                to.extend(all[rows].iter().map(|x| x.unwrap_or(0.0)))
            }
            (CellsMut::RealOrNull(to), ColumnCells::Reals(all)) => to.extend_from_slice(&all[rows]),
            (CellsMut::Int(to), _) => to.extend(rows.map(|_| 0)),
            (CellsMut::IntOrNull(to), _) => to.extend(rows.map(|_| None)),
            (CellsMut::Real(to), _) => to.extend(rows.map(|_| 0.0)),
            (CellsMut::RealOrNull(to), _) => to.extend(rows.map(|_| None)),
        }
    }
}

fn last(times: &[f64]) -> f64 {
    times.last().copied().unwrap_or(f64::NEG_INFINITY)
}

fn read_flows(
    table: &ParquetTable,
    groups: impl IntoIterator<Item = usize>,
    slots: &mut Slots<FlowSeries>,
) -> Result<(), SeriesError> {
    for group in groups {
        let g = Group::new(table, group, slots)?;
        let times = g.times(|series| last(&slots.all[series].time_s))?;
        for range in &g.ranges {
            slots.all[range.series].time_s.extend_from_slice(&times[range.rows.clone()]);
        }
        g.append_rows(slots)?;
        read_states(&g, slots)?;
    }
    Ok(())
}

/// Reads states, which each series numbers by first appearance.
fn read_states(g: &Group, slots: &mut Slots<FlowSeries>) -> Result<(), SeriesError> {
    let column = g.table.column("state");
    let cells = g.table.has(column).then(|| g.table.texts(g.group, column)).transpose()?;
    for range in &g.ranges {
        let series = &mut slots.all[range.series];
        // The series' number for each text seen in this range.
        let mut numbers: BTreeMap<&str, u8> = BTreeMap::new();
        for row in range.rows.clone() {
            let state = cells.as_ref().map_or("", |(cells, texts)| &texts[cells[row]]);
            let number = match numbers.get(state) {
                Some(&number) => number,
                None => {
                    let known = series.states.iter().position(|s| s == state);
                    let at = known.unwrap_or(series.states.len());
                    let number = u8::try_from(at)
                        .map_err(|_| g.table.wrong(column, "has more than 256 states of a flow"))?;
                    if known.is_none() {
                        series.states.push(state.into());
                    }
                    numbers.insert(state, number);
                    number
                }
            };
            series.state.push(number);
        }
    }
    Ok(())
}

fn read_elements(
    table: &ParquetTable,
    groups: impl IntoIterator<Item = usize>,
    slots: &mut Slots<ElementSeries>,
) -> Result<(), SeriesError> {
    for group in groups {
        let g = Group::new(table, group, slots)?;
        let times = g.times(|series| last(&slots.all[series].time_s))?;
        for range in &g.ranges {
            slots.all[range.series].time_s.extend_from_slice(&times[range.rows.clone()]);
        }
        g.append_rows(slots)?;
    }
    Ok(())
}

fn read_resent(table: &ParquetTable, slots: &mut Slots<FlowSeries>) -> Result<(), SeriesError> {
    for group in 0..table.groups() {
        let g = Group::new(table, group, slots)?;
        let times =
            g.times(|series| slots.all[series].resent.last().map_or(f64::NEG_INFINITY, |r| r.time_s))?;
        let bytes: Vec<u64> = table.known(group, table.column("byte"))?;
        let lens: Vec<u32> = table.known(group, table.column("bytes"))?;
        let senders: Vec<u32> = table.known(group, table.column("sender"))?;
        for range in &g.ranges {
            let row =
                |i: usize| Resent { time_s: times[i], byte: bytes[i], len: lens[i], sender: senders[i] };
            slots.all[range.series].resent.extend(range.rows.clone().map(row));
        }
    }
    Ok(())
}

fn read_responses(table: &ParquetTable, slots: &mut Slots<FlowSeries>) -> Result<(), SeriesError> {
    let [start, seconds, what] = ["start_s", "seconds", "what"].map(|name| table.column(name));
    for group in 0..table.groups() {
        let g = Group::new(table, group, slots)?;
        let (starts, times) = (table.reals(group, start)?, table.reals(group, seconds)?);
        let (cells, texts) = table.texts(group, what)?;
        for range in &g.ranges {
            for i in range.rows.clone() {
                let known = |all: &[Option<f64>], column| {
                    let number = all[i].filter(|x| x.is_finite() && *x >= 0.0);
                    number.ok_or_else(|| table.wrong(column, "has an invalid time"))
                };
                let response = Response {
                    start_s: known(&starts, start)?,
                    seconds: known(&times, seconds)?,
                    what: texts[cells[i]].clone(),
                };
                slots.all[range.series].responses.push(response);
            }
        }
    }
    Ok(())
}
