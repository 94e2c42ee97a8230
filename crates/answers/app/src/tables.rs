//! Time series as Parquet, long format: one row per variant, clock, repeat, name and sample; and back.
//!
//! [`FILES`] says which files there are and what their columns mean; `docs/result-schema.md` is made of it.
//! The footers' key-value metadata hold `longfat.schema`, `longfat.scenario`, `longfat.seed` and
//! `longfat.run_id`.
//!
//! Writing and reading are the crate `parquet`'s. It was made for files one trusts, and a report is made of files
//! that came by mail: `guard` holds what they claim against the bytes there are, and lets only plain and dictionary
//! pages through. Still the crate panics on some damage within a page (2 of 25,500 broken at random: a text cut
//! short in a plain page, a run's length of too many bytes), which the command line tells as damage, and a footer whose columns are nested thousands deep,
//! made so on purpose, overflows the stack. Neither takes memory.

mod capture;
mod columns;
mod free;
mod guard;
mod read;
mod sheet;
mod swept;
mod table;
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
