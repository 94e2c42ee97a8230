//! Series read back from a result's folder.

use crate::tables::columns::{Column, ColumnKind, ELEMENTS, FLOWS, File, RESPONSES, RETRANSMISSIONS};
use crate::tables::table::{ParquetTable, SeriesError};
use result::{CellsMut, Columns, ElementSeries, FlowSeries, Resent, Response, Run, VariantResult};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// One variant's series.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct VariantSeries {
    /// Flows' series, in the summary's order; empty when sampling was off.
    pub flows: Vec<FlowSeries>,
    /// Elements' series, in the summary's order; empty when sampling was off.
    pub elements: Vec<ElementSeries>,
}

/// The first repeat's series of each of the run's variants, as they were written. Each file is given as its bytes;
/// older results have no `retransmissions.parquet` and no `responses.parquet`.
///
/// Columns that an older file lacks come back as zeros (numbers that may be unknown: as unknown), columns that
/// are not known here are passed over, as are flows and elements that the run does not name.
///
/// # Errors
/// What is no such file, was cut, is of another run, or holds what cannot be.
///
/// # Panics
/// On rare damage within a page (see the module).
pub fn read_series(
    flows: &[u8],
    elements: &[u8],
    retransmissions: Option<&[u8]>,
    responses: Option<&[u8]>,
    run: &Run,
) -> Result<Vec<VariantSeries>, SeriesError> {
    let open = |file, bytes| ParquetTable::open(file, bytes)?.of_run(&run.run_id);
    let firsts = || run.variants.iter().map(|v| (v, 1));
    let mut of_flows = Slots::new(firsts(), flow_names, FlowSeries::new);
    let table = open(FLOWS, flows)?;
    read_flows(&table, 0..table.groups(), &mut of_flows)?;
    if let Some(bytes) = retransmissions {
        read_resent(&open(RETRANSMISSIONS, bytes)?, &mut of_flows)?;
    }
    if let Some(bytes) = responses {
        read_responses(&open(RESPONSES, bytes)?, &mut of_flows)?;
    }
    let mut of_elements = Slots::new(firsts(), element_names, element_series);
    let table = open(ELEMENTS, elements)?;
    read_elements(&table, 0..table.groups(), &mut of_elements)?;
    Ok(together(of_flows, of_elements))
}

/// Files of series, of which one variant's repeats are read at a time: no more is in memory than that.
pub struct RepeatFiles<'a> {
    run: &'a Run,
    flows: ParquetTable,
    elements: ParquetTable,
    /// What each row group of either has rows of.
    in_flows: Vec<RepeatsOfGroup>,
    in_elements: Vec<RepeatsOfGroup>,
}

/// Variants by name and clock, and which of their repeats.
type RepeatsOfGroup = BTreeSet<(String, String, u64)>;

impl<'a> RepeatFiles<'a> {
    /// Opens the files, each given as its bytes.
    ///
    /// # Errors
    /// As [`read_series`].
    ///
    /// # Panics
    /// As [`read_series`].
    pub fn open(flows: &[u8], elements: &[u8], run: &'a Run) -> Result<RepeatFiles<'a>, SeriesError> {
        let open = |file, bytes| ParquetTable::open(file, bytes)?.of_run(&run.run_id);
        let (flows, elements) = (open(FLOWS, flows)?, open(ELEMENTS, elements)?);
        let (in_flows, in_elements) = (repeats_by_group(&flows)?, repeats_by_group(&elements)?);
        Ok(RepeatFiles { run, flows, elements, in_flows, in_elements })
    }

    /// The series of every repeat of this variant of the run, in the order of the repeats, without what was sent again
    /// and what was answered.
    ///
    /// # Errors
    /// As [`read_series`]; and where the files have more repeats of it than its summary.
    ///
    /// # Panics
    /// As [`read_series`], and where the run has no such variant.
    pub fn read(&self, variant: usize) -> Result<Vec<VariantSeries>, SeriesError> {
        let variant = &self.run.variants[variant];
        let of = |key: &&(String, String, u64)| key.0 == variant.name && key.1 == variant.clock.name();
        let mine = |group: &RepeatsOfGroup| group.iter().any(|key| of(&key));
        let all = self.in_flows.iter().chain(&self.in_elements).flatten();
        let repeats: BTreeSet<u64> = all.filter(of).map(|key| key.2).collect();
        if repeats.len() > variant.repeats.as_ref().map_or(1, |r| r.n) {
            let what = format!("has {} repeats of {:?}, more than result.json", repeats.len(), variant.name);
            return Err(self.flows.wrong(self.flows.column("repeat"), what));
        }
        // Series that are there have rows: names alone, however many a summary claims, take no memory.
        let named = repeats.len().saturating_mul(variant.flows.len() + variant.elements.len());
        if named > self.flows.row_count() + self.elements.row_count() {
            return Ok(Vec::new());
        }
        let wanted = || repeats.iter().map(|&repeat| (variant, repeat));
        let groups =
            |of: &[RepeatsOfGroup]| -> Vec<usize> { (0..of.len()).filter(|&i| mine(&of[i])).collect() };
        let mut flows = Slots::new(wanted(), flow_names, FlowSeries::new);
        read_flows(&self.flows, groups(&self.in_flows), &mut flows)?;
        let mut elements = Slots::new(wanted(), element_names, element_series);
        read_elements(&self.elements, groups(&self.in_elements), &mut elements)?;
        Ok(together(flows, elements))
    }
}

/// What each row group has rows of.
fn repeats_by_group(table: &ParquetTable) -> Result<Vec<RepeatsOfGroup>, SeriesError> {
    let of = |group| {
        let (names, of_names) = table.texts(group, table.column("variant"))?;
        let (clocks, of_clocks) = table.texts(group, table.column("clock"))?;
        let numbers: Vec<u64> = table.known(group, table.column("repeat"))?;
        let rows = numbers.iter().enumerate().map(|(row, &number)| (names[row], clocks[row], number));
        let mut keys: Vec<_> = rows.collect();
        keys.dedup();
        let named = |(name, clock, number)| (of_names[name].clone(), of_clocks[clock].clone(), number);
        Ok(keys.into_iter().map(named).collect())
    };
    (0..table.groups()).map(of).collect()
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

fn together(flows: Slots<FlowSeries>, elements: Slots<ElementSeries>) -> Vec<VariantSeries> {
    let flows = flows.finish(|s| s.time_s.is_empty());
    let elements = elements.finish(|s| s.time_s.is_empty());
    flows.into_iter().zip(elements).map(|(flows, elements)| VariantSeries { flows, elements }).collect()
}

/// Whether a file, given as its bytes, is of this run.
///
/// # Errors
/// It is of another one, or no such file.
pub fn check_run_id(file: File, bytes: &[u8], run: &Run) -> Result<(), SeriesError> {
    ParquetTable::open(file, bytes)?.of_run(&run.run_id).map(drop)
}

/// Series to be filled, of all variants.
struct Slots<'a, S> {
    all: Vec<S>,
    /// How many each variant has.
    counts: Vec<usize>,
    /// By variant, clock and name, and by repeat.
    index: BTreeMap<([&'a str; 3], u64), usize>,
}

impl<'a, S> Slots<'a, S> {
    /// For these repeats of these variants.
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
                let of = [&variant.name, variant.clock.name(), name];
                slots.index.insert((of, repeat), slots.all.len());
                slots.all.push(make(name));
            }
        }
        slots
    }

    /// Each variant's; none where all are without a row.
    fn finish(self, is_empty: impl Fn(&S) -> bool) -> Vec<Vec<S>> {
        let mut all = self.all.into_iter();
        let mut of = |n: usize| all.by_ref().take(n).collect::<Vec<S>>();
        let lists = self.counts.into_iter().map(&mut of);
        lists.map(|list| if list.iter().all(&is_empty) { Vec::new() } else { list }).collect()
    }
}

/// Rows of a group that belong to one series.
struct RowStretch {
    rows: Range<usize>,
    /// The series' slot.
    of: usize,
}

/// A row group and whose its rows are.
struct Group<'a> {
    table: &'a ParquetTable,
    group: usize,
    stretches: Vec<RowStretch>,
}

impl<'a> Group<'a> {
    fn new<S>(table: &'a ParquetTable, group: usize, slots: &Slots<S>) -> Result<Group<'a>, SeriesError> {
        let texts = |name| table.texts(group, table.column(name));
        let [variants, clocks, names] = [texts("variant")?, texts("clock")?, texts("name")?];
        let repeats: Vec<u64> = table.known(group, table.column("repeat"))?;
        let key = |row: usize| (variants.0[row], clocks.0[row], names.0[row], repeats[row]);
        let (mut stretches, mut begin) = (Vec::new(), 0);
        for row in 1..=repeats.len() {
            if row < repeats.len() && key(row) == key(begin) {
                continue;
            }
            let (variant, clock, name, repeat) = key(begin);
            let name = [&variants.1[variant], &clocks.1[clock], &names.1[name]].map(String::as_str);
            if let Some(&of) = slots.index.get(&(name, repeat)) {
                stretches.push(RowStretch { rows: begin..row, of });
            }
            begin = row;
        }
        Ok(Group { table, group, stretches })
    }

    /// Appends each stretch's rows of the series' columns, the time apart; where the file lacks one, what is unknown
    /// or 0.
    fn spread<S: Columns>(&self, slots: &mut Slots<S>) -> Result<(), SeriesError> {
        for (place, column) in S::COLUMNS.iter().enumerate().skip(1) {
            let read = self.read(column)?;
            for stretch in &self.stretches {
                let cells = slots.all[stretch.of].cells_mut().nth(place);
                if let Some((_, cells)) = cells {
                    read.append(cells, stretch.rows.clone());
                }
            }
        }
        Ok(())
    }

    fn read(&self, column: &Column) -> Result<Read, SeriesError> {
        Ok(match column.kind {
            _ if !self.table.has(column) => Read::Absent,
            ColumnKind::Real | ColumnKind::RealOrNull => Read::Reals(self.table.reals(self.group, column)?),
            _ => Read::Ints(self.table.counts(self.group, column)?),
        })
    }

    /// Times, which are numbers and do not fall within a series.
    fn times(&self, after: impl Fn(usize) -> f64) -> Result<Vec<f64>, SeriesError> {
        let column = self.table.column("time_s");
        let times = self.table.reals(self.group, column)?;
        let times: Vec<f64> = times.into_iter().map(|t| t.unwrap_or(f64::NAN)).collect();
        for stretch in &self.stretches {
            let mut last = after(stretch.of);
            for &t in &times[stretch.rows.clone()] {
                if !t.is_finite() || t < last {
                    return Err(self.table.wrong(column, format!("has {t} after {last}")));
                }
                last = t;
            }
        }
        Ok(times)
    }
}

/// A column's cells of a row group.
enum Read {
    Ints(Vec<Option<u64>>),
    Reals(Vec<Option<f64>>),
    /// The file has no such column.
    Absent,
}

impl Read {
    /// Appends `rows`. A column of one kind is read as such: the two agree.
    fn append(&self, cells: CellsMut, rows: Range<usize>) {
        match (cells, self) {
            (CellsMut::Int(to), Read::Ints(all)) => to.extend(all[rows].iter().map(|n| n.unwrap_or(0))),
            (CellsMut::IntOrNull(to), Read::Ints(all)) => to.extend_from_slice(&all[rows]),
            (CellsMut::Real(to), Read::Reals(all)) => to.extend(all[rows].iter().map(|x| x.unwrap_or(0.0))),
            (CellsMut::RealOrNull(to), Read::Reals(all)) => to.extend_from_slice(&all[rows]),
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
        let times = g.times(|of| last(&slots.all[of].time_s))?;
        for stretch in &g.stretches {
            slots.all[stretch.of].time_s.extend_from_slice(&times[stretch.rows.clone()]);
        }
        g.spread(slots)?;
        read_states(&g, slots)?;
    }
    Ok(())
}

/// States, numbered in each series by first appearance.
fn read_states(g: &Group, slots: &mut Slots<FlowSeries>) -> Result<(), SeriesError> {
    let column = g.table.column("state");
    let read = g.table.has(column).then(|| g.table.texts(g.group, column)).transpose()?;
    for stretch in &g.stretches {
        let series = &mut slots.all[stretch.of];
        // The series' number of each text, once it is known.
        let mut numbers: BTreeMap<&str, u8> = BTreeMap::new();
        for row in stretch.rows.clone() {
            let state = read.as_ref().map_or("", |(cells, texts)| &texts[cells[row]]);
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
        let times = g.times(|of| last(&slots.all[of].time_s))?;
        for stretch in &g.stretches {
            slots.all[stretch.of].time_s.extend_from_slice(&times[stretch.rows.clone()]);
        }
        g.spread(slots)?;
    }
    Ok(())
}

fn read_resent(table: &ParquetTable, slots: &mut Slots<FlowSeries>) -> Result<(), SeriesError> {
    for group in 0..table.groups() {
        let g = Group::new(table, group, slots)?;
        let times = g.times(|of| slots.all[of].resent.last().map_or(f64::NEG_INFINITY, |r| r.time_s))?;
        let bytes: Vec<u64> = table.known(group, table.column("byte"))?;
        let lens: Vec<u32> = table.known(group, table.column("bytes"))?;
        let senders: Vec<u32> = table.known(group, table.column("sender"))?;
        for stretch in &g.stretches {
            let row =
                |i: usize| Resent { time_s: times[i], byte: bytes[i], len: lens[i], sender: senders[i] };
            slots.all[stretch.of].resent.extend(stretch.rows.clone().map(row));
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
        for stretch in &g.stretches {
            for i in stretch.rows.clone() {
                let known = |all: &[Option<f64>], column| {
                    let number = all[i].filter(|x| x.is_finite() && *x >= 0.0);
                    number.ok_or_else(|| table.wrong(column, "has what is no time"))
                };
                let response = Response {
                    start_s: known(&starts, start)?,
                    seconds: known(&times, seconds)?,
                    what: texts[cells[i]].clone(),
                };
                slots.all[stretch.of].responses.push(response);
            }
        }
    }
    Ok(())
}
