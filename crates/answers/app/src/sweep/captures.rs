//! Diagnoses many captures into one dataset: `flows.parquet`, a row for each flow of any capture, and
//! `captures.parquet`, a row for each capture. A capture that cannot be diagnosed has a row with its error in
//! both. The file `diagnoses.json` is written last.
//!
//! 1. [`CaptureSet`] lists the captures and the packets that are read. Each capture has a name, a hash of all
//!    that determines its rows.
//! 2. [`CaptureFolder`] holds the finished rows, as a sweep's folder does; [`diagnose_capture`] makes a row
//!    anywhere.
//! 3. [`CaptureFolder::finish`] writes the dataset: its bytes do not depend on where and in which order the
//!    captures were diagnosed.

use crate::CommandError;
use crate::diagnose::{CaptureSource, diagnosed};
use crate::sweep::batch::PartRow;
use crate::sweep::folder::{FinishedBy, HeldFolder};
use crate::sweep::grid::hash_of;
use crate::sweep::guard::{WorkEvent, run_guarded};
use crate::tables::{ColumnKind, FLOW_DIAGNOSES, FieldValue, SheetColumn, SheetValues, flow_values};
use capture::{CaptureReader, PacketFilter};
use result::Diagnosis;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::Path;

/// Name and version of the JSON's schema.
pub const DIAGNOSES_SCHEMA: &str = "longfat-diagnoses/1";
const SUMMARY: &str = "diagnoses.json";

/// A capture, identified by where it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCapture {
    /// The capture's path or URL.
    pub capture: String,
    /// Size in bytes.
    pub bytes: u64,
    /// A value that changes with the content: a checksum of the store, or the time of the last write.
    pub stamp: String,
}

/// The captures of a dataset, and the packets that are read.
#[derive(Clone, Debug, Default)]
pub struct CaptureSet {
    /// The program, with its commit where that is known.
    pub program: String,
    /// Filter of the packets that are read.
    pub filter: PacketFilter,
    /// The captures in the dataset's order.
    pub captures: Vec<StoredCapture>,
}

/// The row of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureRow {
    /// The row's name: a hash of what determines the rest.
    pub name: String,
    /// The capture's path or URL.
    pub capture: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The content of the capture.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub figures: Option<CaptureFigures>,
}

/// The content of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureFigures {
    /// Format and compression.
    pub format: String,
    /// Time of the first record, in seconds since 1970.
    pub start_s: f64,
    /// Time from the first to the last record, in seconds.
    pub duration_s: f64,
    /// Number of records read.
    pub packets: u64,
    /// Number of records with TCP.
    pub tcp_packets: u64,
    /// Number of TCP connections.
    pub connections: u64,
    /// Packets that the capturing program reports as dropped.
    pub dropped: Option<u64>,
    /// Why reading ended early; all records before that count.
    pub damage: Option<String>,
    /// For each flow, a value for each column of [`FLOW_DIAGNOSES`].
    pub flows: Vec<Vec<FieldValue>>,
}

impl PartRow for CaptureRow {
    fn name(&self) -> &str {
        &self.name
    }
}

impl CaptureSet {
    /// Returns the name of a capture's row.
    pub fn name(&self, capture: &StoredCapture) -> String {
        let filter = format!("{:?}", self.filter);
        hash_of(&[&self.program, &filter, &capture.capture, &capture.bytes.to_string(), &capture.stamp])
    }

    /// Returns a hash of all names.
    pub fn digest(&self) -> String {
        let names: Vec<String> = self.captures.iter().map(|c| self.name(c)).collect();
        hash_of(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the row of a capture that could not be read, with the reason.
    pub fn lost(&self, capture: &StoredCapture, why: String) -> CaptureRow {
        CaptureRow {
            name: self.name(capture),
            capture: capture.capture.clone(),
            bytes: capture.bytes,
            error: Some(why),
            figures: None,
        }
    }
}

/// Diagnoses a capture, which is now the file `path`. A capture that cannot be read, or whose diagnosis
/// panics, becomes a row with an error.
pub fn diagnose_capture(set: &CaptureSet, capture: &StoredCapture, path: &Path) -> CaptureRow {
    let (filter, file, name) = (set.filter.clone(), path.to_path_buf(), capture.capture.clone());
    let work =
        move |emit: &mut dyn FnMut(Result<CaptureFigures, String>)| emit(figures(&file, &name, filter));
    let events = run_guarded(work).map_err(|e| format!("no thread: {e}"));
    let done = events.and_then(|events| match events.recv() {
        Ok(WorkEvent::Item(done)) => done,
        Ok(WorkEvent::Panicked(why)) => Err(format!("internal error: {why}")),
        Err(_) => Err("internal error: the thread ended".into()),
    });
    match done {
        Ok(figures) => CaptureRow { error: None, figures: Some(figures), ..set.lost(capture, String::new()) },
        Err(why) => set.lost(capture, why),
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

/// The locked folder of a dataset of captures.
pub struct CaptureFolder {
    set: CaptureSet,
    held: HeldFolder<CaptureRow>,
}

/// The content of `diagnoses.json`.
#[derive(Serialize)]
struct DiagnosesSummary<'a> {
    schema: &'static str,
    program: &'a str,
    /// Hash of all names.
    captures_hash: String,
    captures: usize,
    failed: usize,
    flows: usize,
    files: [&'static str; 2],
}

impl CaptureFolder {
    /// Locks the folder and reads its rows; `force` replaces a finished dataset of other captures.
    ///
    /// # Errors
    /// Fails when another process has locked the folder, or when it holds a dataset of other captures.
    pub fn open(set: CaptureSet, folder: &Path, force: bool) -> Result<CaptureFolder, CommandError> {
        let by = FinishedBy { what: "diagnoses", file: SUMMARY, key: "captures_hash", digest: set.digest() };
        Ok(CaptureFolder { held: HeldFolder::claim(folder, &by, force)?, set })
    }

    /// Returns the captures of the dataset.
    pub fn set(&self) -> &CaptureSet {
        &self.set
    }

    /// Returns the indexes of the captures without a row.
    pub fn missing(&self) -> Vec<usize> {
        let all = self.set.captures.iter().enumerate();
        all.filter(|(_, c)| !self.held.known.contains_key(&self.set.name(c))).map(|(i, _)| i).collect()
    }

    /// Stores rows, wherever they were made.
    ///
    /// # Errors
    /// Fails when the rows cannot be written.
    pub fn keep(&mut self, rows: Vec<CaptureRow>) -> io::Result<()> {
        self.held.keep(rows)
    }

    /// Writes the dataset once no row is missing, removes the batches, and returns the content of
    /// `diagnoses.json`.
    ///
    /// # Errors
    /// Fails when a file cannot be written.
    pub fn finish(&self) -> io::Result<String> {
        let rows: Vec<&CaptureRow> =
            self.set.captures.iter().filter_map(|c| self.held.known.get(&self.set.name(c))).collect();
        let flows: Vec<(&CaptureRow, Option<&Vec<FieldValue>>)> =
            rows.iter().flat_map(|r| flow_rows(r)).collect();
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
        // The summary consists of texts and numbers, which can always be serialised.
        let json = serde_json::to_string_pretty(&summary).unwrap_or_default() + "\n";
        self.held.write(SUMMARY, json.as_bytes())?;
        self.held.store.clear();
        Ok(json)
    }
}

/// Returns a capture's flows, or one row without a flow where the capture could not be diagnosed.
fn flow_rows(row: &CaptureRow) -> Vec<(&CaptureRow, Option<&Vec<FieldValue>>)> {
    match &row.figures {
        Some(figures) => figures.flows.iter().map(|flow| (row, Some(flow))).collect(),
        None => vec![(row, None)],
    }
}

/// Returns the columns `capture`, `error`, and those of `diagnose --out`.
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
    let texts = |name, figure: fn(&'a CaptureFigures) -> Option<&'a str>| SheetColumn {
        name,
        values: SheetValues::Text(figures().map(|f| f.and_then(figure)).collect()),
    };
    let ints = |name, figure: fn(&CaptureFigures) -> Option<u64>| SheetColumn {
        name,
        values: SheetValues::Int(figures().map(|f| f.and_then(figure)).collect()),
    };
    let reals = |name, figure: fn(&CaptureFigures) -> f64| SheetColumn {
        name,
        values: SheetValues::Real(figures().map(|f| f.map(figure)).collect()),
    };
    let column = |name, values| SheetColumn { name, values };
    vec![
        column("capture", SheetValues::Text(rows.iter().map(|r| Some(r.capture.as_str())).collect())),
        column("bytes", SheetValues::Int(rows.iter().map(|r| Some(r.bytes)).collect())),
        column("error", SheetValues::Text(rows.iter().map(|r| r.error.as_deref()).collect())),
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
