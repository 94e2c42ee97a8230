//! Many captures diagnosed into one dataset: `flows.parquet`, a row a flow of any of them, and `captures.parquet`, a row a
//! capture. One that cannot be diagnosed is a row of both with its error. Beside them `diagnoses.json`, which is written last.
//!
//! 1. [`CaptureSet`] says which captures, and what of them is read; each has a name, a hash of all that determines its rows.
//! 2. [`CaptureFolder`] holds what is there already, as a sweep's does; [`diagnose_capture`] makes a row anywhere.
//! 3. [`CaptureFolder::finish`] makes the dataset: the same bytes whoever diagnosed which capture, and when.

use crate::CommandError;
use crate::diagnose::{CaptureSource, diagnosed};
use crate::sweep::batch::PartRow;
use crate::sweep::folder::{FinishedBy, HeldFolder};
use crate::sweep::grid::hash_of;
use crate::sweep::guard::{WorkSaid, apart};
use crate::tables::{ColumnKind, FLOW_DIAGNOSES, FieldValue, SheetColumn, SheetValues, flow_values};
use capture::{CaptureReader, PacketFilter};
use result::Diagnosis;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::Path;

/// What the JSON says it is.
pub const DIAGNOSES_SCHEMA: &str = "longfat-diagnoses/1";
const SUMMARY: &str = "diagnoses.json";

/// A capture, wherever it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCapture {
    /// Its path or URL.
    pub capture: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// What changes with its content: a checksum of the store's, or when it was written.
    pub stamp: String,
}

/// Captures, and what of them is read.
#[derive(Clone, Debug, Default)]
pub struct CaptureSet {
    /// The program, to the commit where that is known.
    pub program: String,
    /// Which packets are read.
    pub filter: PacketFilter,
    /// In the dataset's order.
    pub captures: Vec<StoredCapture>,
}

/// What came of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureRow {
    /// Its name: a hash of what determines the rest.
    pub name: String,
    /// Its path or URL.
    pub capture: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub figures: Option<CaptureFigures>,
}

/// What a capture holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureFigures {
    /// Format and compression.
    pub format: String,
    /// First record, seconds since 1970.
    pub start_s: f64,
    /// From first to last record, seconds.
    pub duration_s: f64,
    /// Records read.
    pub packets: u64,
    /// Those with TCP.
    pub tcp_packets: u64,
    /// TCP connections.
    pub connections: u64,
    /// Packets that the capture program says it dropped.
    pub dropped: Option<u64>,
    /// Why reading ended early; all before it counts.
    pub damage: Option<String>,
    /// Flow by flow a value for each column of [`FLOW_DIAGNOSES`].
    pub flows: Vec<Vec<FieldValue>>,
}

impl PartRow for CaptureRow {
    fn name(&self) -> &str {
        &self.name
    }
}

impl CaptureSet {
    /// The name of a capture's row.
    pub fn name(&self, of: &StoredCapture) -> String {
        let filter = format!("{:?}", self.filter);
        hash_of(&[&self.program, &filter, &of.capture, &of.bytes.to_string(), &of.stamp])
    }

    /// All names, hashed.
    pub fn digest(&self) -> String {
        let names: Vec<String> = self.captures.iter().map(|c| self.name(c)).collect();
        hash_of(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The row of a capture that could not be had, and why.
    pub fn lost(&self, of: &StoredCapture, why: String) -> CaptureRow {
        CaptureRow {
            name: self.name(of),
            capture: of.capture.clone(),
            bytes: of.bytes,
            error: Some(why),
            figures: None,
        }
    }
}

/// Diagnoses a capture, which lies at `path` for now. What cannot be read, or panics, is a row that says so.
pub fn diagnose_capture(set: &CaptureSet, of: &StoredCapture, path: &Path) -> CaptureRow {
    let (filter, file, name) = (set.filter.clone(), path.to_path_buf(), of.capture.clone());
    let work =
        move |tell: &mut dyn FnMut(Result<CaptureFigures, String>)| tell(figures(&file, &name, filter));
    let told = apart(work).map_err(|e| format!("no thread: {e}"));
    let done = told.and_then(|told| match told.recv() {
        Ok(WorkSaid::Item(done)) => done,
        Ok(WorkSaid::Panicked(why)) => Err(format!("a fault of longfat's own: {why}")),
        Err(_) => Err("a fault of longfat's own: its thread ended".into()),
    });
    match done {
        Ok(figures) => CaptureRow { error: None, figures: Some(figures), ..set.lost(of, String::new()) },
        Err(why) => set.lost(of, why),
    }
}

fn figures(path: &Path, name: &str, filter: PacketFilter) -> Result<CaptureFigures, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let reader = CaptureReader::from_reader(Box::new(file), name).map_err(|e| e.to_string())?;
    let source = CaptureSource::One(Box::new(reader));
    let done = diagnosed(source, filter, &[], None, &mut |_, _| ());
    Ok(CaptureFigures::of(&done.map_err(|e| e.to_string())?))
}

impl CaptureFigures {
    fn of(d: &Diagnosis) -> CaptureFigures {
        let c = &d.capture;
        CaptureFigures {
            format: c.format.clone(),
            start_s: c.start_s,
            duration_s: c.duration_s,
            packets: c.packets,
            tcp_packets: c.tcp_packets,
            connections: c.connections,
            dropped: c.dropped,
            damage: c.damage.as_ref().map(|d| format!("at byte {}: {}", d.offset, d.what)),
            flows: flow_values(d),
        }
    }
}

/// The folder of such a dataset, which nobody else writes to.
pub struct CaptureFolder {
    set: CaptureSet,
    held: HeldFolder<CaptureRow>,
}

/// `diagnoses.json`.
#[derive(Serialize)]
struct DiagnosesSummary<'a> {
    schema: &'static str,
    program: &'a str,
    /// All names, hashed.
    captures_hash: String,
    captures: usize,
    failed: usize,
    flows: usize,
    files: [&'static str; 2],
}

impl CaptureFolder {
    /// Takes the folder; `force` replaces a finished dataset of something else.
    ///
    /// # Errors
    /// Another process has it, or it holds a dataset of other captures.
    pub fn open(set: CaptureSet, folder: &Path, force: bool) -> Result<CaptureFolder, CommandError> {
        let by = FinishedBy { what: "diagnoses", file: SUMMARY, key: "captures_hash", digest: set.digest() };
        Ok(CaptureFolder { held: HeldFolder::claim(folder, &by, force)?, set })
    }

    /// What is diagnosed.
    pub fn set(&self) -> &CaptureSet {
        &self.set
    }

    /// The numbers of captures whose row is missing.
    pub fn missing(&self) -> Vec<usize> {
        let all = self.set.captures.iter().enumerate();
        all.filter(|(_, c)| !self.held.known.contains_key(&self.set.name(c))).map(|(i, _)| i).collect()
    }

    /// Keeps rows that were made anywhere.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn keep(&mut self, rows: Vec<CaptureRow>) -> io::Result<()> {
        self.held.keep(rows)
    }

    /// Writes the dataset, when no row is missing, and gives `diagnoses.json`. The batches go.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&self) -> io::Result<String> {
        let rows: Vec<&CaptureRow> =
            self.set.captures.iter().filter_map(|c| self.held.known.get(&self.set.name(c))).collect();
        let flows: Vec<(&CaptureRow, Option<&Vec<FieldValue>>)> =
            rows.iter().flat_map(|r| of_flows(r)).collect();
        let meta = [("longfat.schema", DIAGNOSES_SCHEMA.to_string())];
        self.held.write_table("flows.parquet", &flow_columns(&flows), &meta)?;
        self.held.write_table("captures.parquet", &capture_columns(&rows), &meta)?;
        let summary = DiagnosesSummary {
            schema: DIAGNOSES_SCHEMA,
            program: &self.set.program,
            captures_hash: self.set.digest(),
            captures: rows.len(),
            failed: rows.iter().filter(|r| r.error.is_some()).count(),
            flows: flows.iter().filter(|(_, flow)| flow.is_some()).count(),
            files: ["flows.parquet", "captures.parquet"],
        };
        // Texts and numbers: nothing in it cannot be written.
        let json = serde_json::to_string_pretty(&summary).unwrap_or_default() + "\n";
        self.held.write(SUMMARY, json.as_bytes())?;
        self.held.store.clear();
        Ok(json)
    }
}

/// A capture's flows; one row without a flow where it could not be diagnosed.
fn of_flows(row: &CaptureRow) -> Vec<(&CaptureRow, Option<&Vec<FieldValue>>)> {
    match &row.figures {
        Some(figures) => figures.flows.iter().map(|flow| (row, Some(flow))).collect(),
        None => vec![(row, None)],
    }
}

/// `capture`, `error`, and the columns of `diagnose --out`.
fn flow_columns<'a>(rows: &[(&'a CaptureRow, Option<&'a Vec<FieldValue>>)]) -> Vec<SheetColumn<'a>> {
    let mut all = vec![
        SheetColumn {
            name: "capture",
            values: SheetValues::Text(rows.iter().map(|(r, _)| Some(r.capture.as_str())).collect()),
        },
        SheetColumn {
            name: "error",
            values: SheetValues::Text(rows.iter().map(|(r, _)| r.error.as_deref()).collect()),
        },
    ];
    for (i, column) in FLOW_DIAGNOSES.columns.iter().enumerate() {
        let value = |(_, flow): &(&'a CaptureRow, Option<&'a Vec<FieldValue>>)| flow.and_then(|f| f.get(i));
        let cells = rows.iter().map(value);
        let values = match column.kind {
            ColumnKind::Text | ColumnKind::TextOrNull => SheetValues::Text(cells.map(as_text).collect()),
            ColumnKind::Int | ColumnKind::IntOrNull => SheetValues::Int(cells.map(as_int).collect()),
            ColumnKind::Real | ColumnKind::RealOrNull => SheetValues::Real(cells.map(as_real).collect()),
        };
        all.push(SheetColumn { name: column.name, values });
    }
    all
}

fn as_text(value: Option<&FieldValue>) -> Option<&str> {
    match value? {
        FieldValue::Text(text) => text.as_deref(),
        _ => None,
    }
}

fn as_int(value: Option<&FieldValue>) -> Option<u64> {
    match value? {
        FieldValue::Int(n) => *n,
        _ => None,
    }
}

fn as_real(value: Option<&FieldValue>) -> Option<f64> {
    match value? {
        FieldValue::Real(x) => *x,
        _ => None,
    }
}

fn capture_columns<'a>(rows: &[&'a CaptureRow]) -> Vec<SheetColumn<'a>> {
    let figures = || rows.iter().map(|r| r.figures.as_ref());
    let texts = |name, of: fn(&'a CaptureFigures) -> Option<&'a str>| SheetColumn {
        name,
        values: SheetValues::Text(figures().map(|f| f.and_then(of)).collect()),
    };
    let ints = |name, of: fn(&CaptureFigures) -> Option<u64>| SheetColumn {
        name,
        values: SheetValues::Int(figures().map(|f| f.and_then(of)).collect()),
    };
    let reals = |name, of: fn(&CaptureFigures) -> f64| SheetColumn {
        name,
        values: SheetValues::Real(figures().map(|f| f.map(of)).collect()),
    };
    let own = |name, values| SheetColumn { name, values };
    vec![
        own("capture", SheetValues::Text(rows.iter().map(|r| Some(r.capture.as_str())).collect())),
        own("bytes", SheetValues::Int(rows.iter().map(|r| Some(r.bytes)).collect())),
        own("error", SheetValues::Text(rows.iter().map(|r| r.error.as_deref()).collect())),
        texts("format", |f| Some(f.format.as_str())),
        reals("start_s", |f| f.start_s),
        reals("duration_s", |f| f.duration_s),
        ints("packets", |f| Some(f.packets)),
        ints("tcp_packets", |f| Some(f.tcp_packets)),
        ints("connections", |f| Some(f.connections)),
        ints("dropped", |f| f.dropped),
        texts("damage", |f| f.damage.as_deref()),
        ints("flows", |f| Some(f.flows.len() as u64)),
    ]
}
