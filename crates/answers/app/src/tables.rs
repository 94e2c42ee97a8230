//! Writes time series as Parquet files in long format, one row per variant, clock, repeat, name and sample,
//! and reads them back.
//!
//! [`FILES`] describes the files and their columns; `docs/result-schema.md` is generated from it. The
//! footer's key-value metadata hold `longfat.schema`, `longfat.scenario`, `longfat.seed` and
//! `longfat.run_id`.
//!
//! The crate `parquet` writes and reads the files. It trusts its input, but a report may show files received
//! from others. `guard` therefore checks what a file claims against the bytes that it has, and accepts only
//! plain and dictionary pages. The crate still panics on some damage within a page (in 2 of 25,500 randomly
//! damaged files: a text cut short in a plain page, a run length of too many bytes), which the command line
//! reports as damage. A footer crafted with columns nested thousands deep overflows the stack. Neither
//! exhausts memory.

mod capture;
pub(crate) mod columns;
mod free;
mod guard;
mod read;
mod sheet;
mod swept;
pub(crate) mod table;
mod write;

pub use capture::{
    CAPTURE_FILES, FLOW_DIAGNOSES, FieldValue, PACKETS, PacketRecord, PacketWriter, flow_values,
    write_flow_diagnoses,
};
pub use columns::{Column, ColumnKind, ELEMENTS, FILES, FLOWS, File, RESPONSES, RETRANSMISSIONS, STATES};
pub use free::{SheetColumn, SheetValues, write_sheet};
pub use read::{RepeatFiles, VariantSeries, check_run_id, read_series};
pub use swept::{SweptColumns, read_swept};
pub use table::SeriesError;
pub use write::{
    FileOrigin, Sampled, write_elements, write_flows, write_responses, write_retransmissions, write_states,
};
