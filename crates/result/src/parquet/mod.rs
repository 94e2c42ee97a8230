//! Time series as Parquet, long format: one row per variant, clock, repeat, name and sample; and back.
//!
//! [`FILES`] says which files there are and what their columns mean; `docs/result-schema.md` is made of it.
//! The footers' key-value metadata hold `longfat.schema`, `longfat.scenario` and `longfat.seed`.
//!
//! Writing and reading are the crate `parquet`'s. It was made for files one trusts, and a report is made of files
//! that came by mail: `guard` holds pages to what their bytes can be, and turns panics into errors. What nothing here
//! keeps out is a footer whose columns are nested thousands deep, made so on purpose: it overflows the stack.

mod columns;
mod guard;
mod read;
mod table;
mod write;

pub use columns::{Column, ELEMENTS, FILES, FLOWS, File, Kind, RETRANSMISSIONS, STATES};
pub use read::{Series, read_series};
pub use table::SeriesError;
pub use write::{Origin, Sampled, write_elements, write_flows, write_retransmissions, write_states};
